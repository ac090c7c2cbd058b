// A program as a list of nodes, each naming its operands: the form in which derivatives are taken. Going down the
// list gives the values, going up it gives the derivative of the root by every placeholder constant at once.
#pragma once

#include <cstdint>
#include <vector>

#include "evaluation/opcodes.hpp"

namespace symseek {

constexpr int TAPE_BLOCK = 128;  // rows at a time: all nodes of a usual program stay in the first-level cache

struct Term {
  Opcode opcode;
  bool moves = false;  // depends on a constant, so its value changes during a fit
  bool used = false;   // the root depends on it; an operator given by a formula may ignore an argument
  bool again[2] = {};  // whether a node further up has already written to the adjoint of this operand
  int32_t operand[2] = {-1, -1};
  int32_t index = 0;  // column, or number of the constant in pre-order
  double value = 0.0;
};

struct Tape {
  std::vector<Term> nodes;
  int root = 0;
  std::vector<int> fixed, moving;  // nodes to compute once, and whenever a constant changes; in order
  // [K] where each constant is, pre-order; then, where rows are in groups, each number of the groups' own that is used.
  std::vector<int> constant_nodes;
  std::vector<int> own;  // which of the groups' own numbers those are
  // [K] constants in which the program is linear, all of them together; the others are held when these are solved for.
  std::vector<char> linear;

  // Reads the instructions of the evaluator's stack machine; variables from `variables` on are numbers of the groups'
  // own. Memory is kept from program to program.
  void read(const std::vector<Instruction>& code, int variables);

 private:
  void mark_linear();
  std::vector<int> stack_;
  std::vector<char> begun_, reached_;
};

}  // namespace symseek
