// Working memory of scoring: the prefix tree of one group of programs, with what back-propagation needs of each node.
// It keeps its capacity between calls.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "policy/policy.hpp"
#include "policy/prefixes.hpp"

namespace symseek {

constexpr int GROUP = 16;  // distinct programs whose gradient is computed together

struct Choice {
  int32_t program, node;
  TokenId token;
  float decay;  // how much the entropy at this step counts
};

struct Policy::ScoreScratch : PrefixTree {
  std::vector<int> parent, sibling;  // [nodes]
  std::vector<Choice> choices;       // one per program and step
  LevelBias bias;
  std::vector<Word> allowed;
  std::vector<float> state_before, cell_before, gates, cell, squashed, state, logits, probability, entropy;
  std::vector<float> weight, entropy_weight;  // [nodes] summed over the programs through each
  std::vector<float> grad_state, grad_cell, grad_gates, grad_before;

  void start(int count, int max_length, int hidden, int tokens, int words) {
    const size_t most = size_t(count) * max_length + BLOCK;
    PrefixTree::start(count, max_length);
    choices.clear();
    for (auto* rows : {&parent, &sibling}) rows->resize(most);
    for (auto* rows : {&state_before, &cell_before, &cell, &squashed, &state}) rows->resize(most * hidden);
    std::fill_n(state_before.begin(), hidden, 0.0f);  // the root's; every other row is copied in
    std::fill_n(cell_before.begin(), hidden, 0.0f);
    for (auto* rows : {&gates, &grad_gates}) rows->resize(most * 4 * hidden);
    for (auto* rows : {&logits, &probability}) rows->resize(most * tokens);
    entropy.resize(most);
    allowed.resize(most * words);
    grad_before.resize(size_t(count + BLOCK) * hidden);
  }
  // Turns probabilities into the gradient with respect to the logits:
  // sum over programs through the node of w (1[chosen] - p), plus e dH/dlogit = -e p (log p + H).
  void differentiate_logits(const Distinct* programs, int count, int tokens) {
    weight.assign(count, 0.0f);
    entropy_weight.assign(count, 0.0f);
    for (const Choice& choice : choices) {
      weight[choice.node] += programs[choice.program].weight;
      entropy_weight[choice.node] += choice.decay * programs[choice.program].entropy_weight;
    }
    for (int i = 0; i < count; ++i) {
      float* p = &probability[size_t(i) * tokens];
      const float* log_p = &logits[size_t(i) * tokens];
      for (int j = 0; j < tokens; ++j) p[j] *= -(weight[i] + entropy_weight[i] * (log_p[j] + entropy[i]));
    }
    for (const Choice& choice : choices)
      probability[size_t(choice.node) * tokens + choice.token] += programs[choice.program].weight;
  }
  // Adds the gradients of a level's incoming states to the prefixes they came from.
  void add_to_parents(int begin, int n, int hidden) {
    for (int i = begin; i < begin + n; ++i) {
      float* state_to = &grad_state[size_t(nodes[i].before) * hidden];
      float* cell_to = &grad_cell[size_t(nodes[i].before) * hidden];
      const float *state_from = &grad_before[size_t(i - begin) * hidden], *cell_from = &grad_cell[size_t(i) * hidden];
      for (int j = 0; j < hidden; ++j) state_to[j] += state_from[j];
      for (int j = 0; j < hidden; ++j) cell_to[j] += cell_from[j];
    }
  }
  // Gradients of biases and of the one-hot inputs: sums of rows.
  void add_rows(int count, int hidden, int tokens, Weights& gradient) const {
    const auto add = [](float* to, const float* from, int n) {
      for (int j = 0; j < n; ++j) to[j] += from[j];
    };
    for (int i = 0; i < count; ++i) {
      const float* row = &grad_gates[size_t(i) * 4 * hidden];
      add(gradient.bias(), row, 4 * hidden);
      add(gradient.parent(parent[i]), row, 4 * hidden);
      add(gradient.sibling(sibling[i]), row, 4 * hidden);
      add(gradient.output_bias(), &probability[size_t(i) * tokens], tokens);
    }
  }
};

}  // namespace symseek
