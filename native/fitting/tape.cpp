#include "fitting/tape.hpp"

#include <algorithm>

namespace symseek {

void Tape::read(const std::vector<Instruction>& code, int variables) {
  nodes.clear();
  stack_.clear();
  // Instructions run right to left, so constants come last to first.
  int constant = static_cast<int>(
      std::count_if(code.begin(), code.end(), [](const Instruction& step) { return step.opcode == Opcode::constant; }));
  const int placeholders = constant;
  constant_nodes.resize(placeholders);
  own.clear();
  for (const Instruction& step : code) {
    if (step.opcode == Opcode::argument) {  // nothing to copy: the operand is a node
      stack_.push_back(stack_[stack_.size() - 1 - step.index]);
      continue;
    }
    if (step.opcode == Opcode::finish) {
      const int result = stack_.back();
      stack_.resize(stack_.size() - step.index);
      stack_.back() = result;
      continue;
    }
    const bool is_own = step.opcode == Opcode::variable && step.index >= variables;
    const int number = step.index - variables;
    const auto known = std::find(own.begin(), own.end(), number) - own.begin();
    if (is_own && known < static_cast<std::ptrdiff_t>(own.size())) {  // one number, wherever it stands
      stack_.push_back(constant_nodes[placeholders + known]);
      continue;
    }
    Term node{is_own ? Opcode::constant : step.opcode};
    node.index = step.index;
    node.value = step.value;
    if (is_own) {
      node.moves = true;
      node.index = placeholders + static_cast<int>(own.size());
      own.push_back(number);
      constant_nodes.push_back(static_cast<int>(nodes.size()));
    }
    if (step.opcode == Opcode::constant) {
      node.moves = true;
      node.index = --constant;
      constant_nodes[constant] = static_cast<int>(nodes.size());
    }
    for (int i = 0; i < arity_of(step.opcode); ++i) {
      node.operand[i] = stack_.back();
      node.moves = node.moves || nodes[stack_.back()].moves;
      stack_.pop_back();
    }
    stack_.push_back(static_cast<int>(nodes.size()));
    nodes.push_back(node);
  }
  fixed.clear();
  moving.clear();
  for (size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].opcode != Opcode::variable) (nodes[i].moves ? moving : fixed).push_back(static_cast<int>(i));
  root = stack_.back();
  nodes[root].used = true;
  for (size_t i = nodes.size(); i-- > 0;)
    for (int operand : nodes[i].operand)
      if (operand >= 0 && nodes[i].used) nodes[operand].used = true;
  begun_.assign(nodes.size(), false);
  for (size_t i = nodes.size(); i-- > 0;)
    for (int k = 0; k < 2; ++k) {
      const int operand = nodes[i].operand[k];
      if (!nodes[i].used || operand < 0 || !nodes[operand].moves) continue;
      nodes[i].again[k] = begun_[operand];
      begun_[operand] = true;
    }
  mark_linear();
}

// Down from the root through sums, and through products and quotients on one side. A node that is used twice may be
// reached by a way that is linear and by one that is not, so only nodes used once are followed.
void Tape::mark_linear() {
  reached_.assign(nodes.size(), false);
  linear.assign(constant_nodes.size(), false);
  reached_[root] = true;
  for (size_t i = nodes.size(); i-- > 0;) {
    const Term& node = nodes[i];
    if (!reached_[i] || !node.moves) continue;
    const auto follow = [&](int k) {
      const int operand = node.operand[k];
      const bool once = std::count_if(nodes.begin(), nodes.end(),
                                      [&](const Term& each) {
                                        return each.operand[0] == operand || each.operand[1] == operand;
                                      }) == 1 &&
                        node.operand[0] != node.operand[1];
      if (once) reached_[operand] = true;
    };
    switch (node.opcode) {
      case Opcode::constant: linear[node.index] = true; break;
      case Opcode::add:
      case Opcode::sub:
        follow(0);
        follow(1);
        break;
      case Opcode::neg:
      case Opcode::div: follow(0); break;
      case Opcode::mul:  // linear in both factors is not linear in both at once
        follow(nodes[node.operand[0]].moves ? 0 : 1);
        break;
      default: break;
    }
  }
}

}  // namespace symseek
