// simd/: vector arithmetic, compiled once for each instruction set and chosen at run time.
//
// The arithmetic, behind one table of function pointers per instruction set. kernels.cpp is compiled once for
// each; `kernels()` picks the best one the machine has, or the one that SYMSEEK_SIMD names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evaluation/opcodes.hpp"
#include "fitting/tape.hpp"
#include "shared/losses.hpp"
#include "shared/pairs.hpp"

namespace symseek {

constexpr int FLOAT_LANES = 16;  // policy rows are padded to this many floats
constexpr int DOUBLE_LANES = 8;  // data rows are padded to this many doubles
constexpr int MAX_STACK = 128;   // deepest stack of values a program may need
constexpr int ROW_BLOCK = 256;   // rows evaluated at a time: a value is 2 KiB, a whole stack stays in the L1 cache
// Rows are cut into stripes: the columns of one stripe stay in the second-level cache while all programs read them.
constexpr int64_t STRIPE = 8 * ROW_BLOCK;

inline int padded(int n, int lanes) { return (n + lanes - 1) / lanes * lanes; }

// One program on one range of rows.
struct Evaluation {
  const Instruction* code;  // right-to-left order: operands before their operator
  int instructions;
  const double* constants;       // values of the placeholders, in pre-order
  const double* const* columns;  // one pointer per input variable, already at the first row
  const double* target;          // may be null when only predictions are wanted
  const double* weight;          // 0 on padding rows
  const double* scale;           // null, or what the parameters of the losses are multiplied by in each row
  int rows;                      // a multiple of DOUBLE_LANES
  double* stack;                 // [depth, ROW_BLOCK]
  double* predictions;           // null, or [rows]
  bool underflow_invalid;        // whether an underflow is as bad as an overflow
  const Loss* losses;
  int loss_count;
  double sums[MOST_LOSSES];  // out: of each loss, over the rows by their weights
};

// The loss of one program as a function of its constants, on all rows.
struct Derivation {
  const Term* nodes;  // the tape
  int count;
  int root;
  const int* fixed;  // nodes to compute once
  int fixed_count;
  const int* moving;  // nodes that depend on the constants
  int moving_count;
  const int* constant_nodes;  // [K]
  int constant_count;         // K
  const double* constants;    // [K] where to look
  const double* const* columns;
  const double* target;
  const double* weight;  // 0 on padding rows
  const double* scale;   // null, or what the parameter of the loss is multiplied by in each row
  int64_t rows;          // a multiple of DOUBLE_LANES
  bool whole;            // `values` has room for all blocks, so nodes that do not move are computed once
  int stride;            // from one node to the next: a block of rows, and a little to spread them in the cache
  double* values;        // [blocks or 1, nodes, stride]
  double* adjoints;      // [nodes, stride] scratch
  double* lanes;         // [K + K (K + 1) / 2, 8] scratch
  Loss kind;
  double blur;       // see Row
  double loss;       // out: its sum over the rows
  double* gradient;  // out: [K] sum of w p df/dc, w the weights and p the pull of the loss
  double* normal;    // out: [K (K + 1) / 2] sum of w b df/dc df/dc', b its bend, row by row, up to the diagonal

  double* block(int64_t first) const { return whole ? values + first / TAPE_BLOCK * count * stride : values; }
  double* adjoint(int node) const { return adjoints + int64_t(node) * stride; }
};

// One program a and many candidates b: for each way to combine them the candidate that comes nearest to the target.
struct Pairing {
  int rows, candidates;       // candidates: a multiple of DOUBLE_LANES
  const double* value;        // [rows] of a
  const double* values;       // [rows, candidates] of b
  const double* inverses;     // [rows, candidates] 1 / b
  const double* target;       // [rows]
  const double* weight;       // [rows]
  const double* penalty;      // [candidates] 0, or infinity for those that must not be taken
  double error[PAIR_KINDS];   // out: sum of w r^2, infinity if there is none
  int64_t index[PAIR_KINDS];  // out: the candidate, -1 if there is none
};

struct Kernels {
  const char* name;
  // c[i][j] += sum_k a[i * a_row + k * a_step] * b[k][j], k in order; m is a multiple of FLOAT_LANES.
  void (*multiply)(int n, int k, int m, const float* a, int a_row, int a_step, const float* b, int b_row, float* c,
                   int c_row);
  // gates [n][j] = bias[j] + a[i][j] + b[i][j].
  void (*add_inputs)(int n, int m, const float* bias, const float* const* a, const float* const* b, float* gates);
  // gates [n, 4, hidden]: pre-activations in, activations out; order input, forget, candidate, output.
  void (*cell_forward)(int n, int hidden, float* gates, const float* cell_before, float* cell, float* squashed,
                       float* state);
  // The same for sampling, which needs the cell and the state only: fewer divisions, the gates are left as they are.
  void (*cell_sample)(int n, int hidden, const float* gates, const float* cell_before, float* cell, float* state);
  // grad_cell: from the children in, to the cell before out.
  void (*cell_backward)(int n, int hidden, const float* gates, const float* cell_before, const float* squashed,
                        const float* grad_state, float* grad_cell, float* grad_gates);
  // Softmax over the allowed tokens of n <= FLOAT_LANES rows of logits [n, m], and a draw from each: choice[i] is
  // the token at which the running sum passes random[i] * total[i]. cumulative [tokens, FLOAT_LANES] keeps the
  // running sums for further draws. Rows beyond n are computed and mean nothing.
  void (*choose)(int n, int tokens, int m, const float* logits, const uint64_t* allowed, int words, const float* random,
                 float* cumulative, float* total, float* entropy, int32_t* choice);
  // Log-probabilities in place of logits [n, m] (0 where not allowed), probabilities beside them, entropy [n].
  void (*log_softmax)(int n, int m, float* logits, const uint64_t* allowed, int words, float* probability,
                      float* entropy);
  void (*adam)(int n, float* weights, float* mean, float* variance, const float* gradient, float step, float beta1,
               float beta2, float epsilon);
  // False when any value at any node is not finite, or, if the task says so, has underflowed.
  bool (*evaluate)(Evaluation& task);
  // Computes what does not depend on the constants; false when that is not finite, whatever they are.
  bool (*prepare)(Derivation& task);
  // The loss at the constants; false when any value at any node is not finite.
  bool (*measure)(Derivation& task);
  // Gradient and normal matrix where the loss was last measured.
  void (*derive)(Derivation& task);
  void (*pair)(Pairing& task);
};

const Kernels& kernels();
std::vector<std::string> available_variants();

}  // namespace symseek
