// Programs and tables as kernels are given them, and how a program is read.
struct Step {
  double value;
  int opcode, index;
};

// What programs are made of and which data they see; program p belongs to run p / per_run.
struct Batch {
  const Token* tokens;      // [P, width], -1 beyond the end
  const int* lengths;       // [P]; 0 where there is no program
  const double* constants;  // [P, constant_width]
  int width, constant_width, constant_token;
  long long programs;
  int per_run;
  const int* dataset;   // [R], or null: all of data set 0
  const uint8* active;  // [R], or null: all; programs of other runs are left alone
  const Step* steps;

  // Whether there is a program to work on: a row of length 0 is empty.
  DEVICE bool has(long long p) const { return lengths[p] > 0 && (!active || active[p / per_run]); }
  DEVICE int data(long long p) const { return dataset ? dataset[p / per_run] : 0; }
};

// Columns [D, variables, stride], target and weight [D, stride]; `rows` of them from `first`.
struct Table {
  const double *columns, *target, *weight;
  int variables;
  long long stride, first, rows;

  // The same for one data set.
  DEVICE Table of(int data) const {
    Table one = *this;
    one.columns += (long long)data * variables * stride + first;
    if (target) {
      one.target += data * stride + first;
      one.weight += data * stride + first;
    }
    return one;
  }
};

#define BATCH_PARAMETERS                                                                                       \
  const Token *tokens, const int *lengths, double *constants, int width, int constant_width, int constant_token, \
      long long programs, int per_run, const int *dataset, const uint8 *active, const Step *steps
#define BATCH \
  { tokens, lengths, constants, width, constant_width, constant_token, programs, per_run, dataset, active, steps }
#define TABLE_PARAMETERS                                                                                     \
  const double *columns, const double *target, const double *weight, int variables, long long stride,       \
      long long first, long long rows
#define TABLE \
  { columns, target, weight, variables, stride, first, rows }

// A double without its sign, by its upper half: numbers that are not finite are not below this.
constexpr uint32 NOT_FINITE = 0x7ff00000u;

DEVICE uint32 size_of(double value) {
#ifdef SYMSEEK_HOST
  uint64 bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint32)(bits >> 32) & 0x7fffffffu;
#else
  return (uint32)__double2hiint(value) & 0x7fffffffu;
#endif
}

DEVICE void watch(uint32& worst, double value) {
  const uint32 size = size_of(value);
  worst = size > worst ? size : worst;
}

// A value below the least normal number has underflowed, where it is not 0 by its operands.
DEVICE bool is_tiny(double value) { return size_of(value) < 0x00100000u; }

// Shared memory of this group, for sums over it.
DEVICE double* sum_scratch() { return (double*)shared_memory + threadIdx.y * (blockDim.x / 32); }

// How often a token occurs in a program; each warp counts for itself.
DEVICE int occurrences(const Token* tokens, int length, int token) {
  if (token < 0) return 0;
  int count = 0;
#ifdef SYMSEEK_HOST
  for (int i = 0; i < length; ++i) count += tokens[i] == token;
#else
  for (int i = threadIdx.x % 32; i < length; i += 32) count += tokens[i] == token;
  for (int offset = 16; offset > 0; offset /= 2) count += __shfl_xor_sync(0xffffffffu, count, offset);
#endif
  return count;
}

struct Program {
  const Token* tokens;
  int length;
  const double* constants;
  int constant_count;
  const Step* steps;

  DEVICE Program(const Batch& batch, long long p)
      : tokens(batch.tokens + p * batch.width),
        length(batch.lengths[p]),
        constants(batch.constants + p * batch.constant_width),
        constant_count(occurrences(tokens, length, batch.constant_token)),
        steps(batch.steps) {}
};

// The steps of a program. Tokens are read right to left, so that operands are there before their operator, the first of
// them on top of the stack, and constants come last to first.
struct Walk {
  const Program& program;
  int at, constant, inner = 0, inner_end = 0;

  DEVICE Walk(const Program& one) : program(one), at(one.length - 1), constant(one.constant_count) {}

  DEVICE bool next(Step& step) {
    if (FORMULAS && inner < inner_end) {
      step = program.steps[inner++];
      return true;
    }
    if (at < 0) return false;
    step = program.steps[program.tokens[at--]];
    if (FORMULAS && step.opcode == FORMULA) {
      inner = step.index;
      inner_end = inner + (int)step.value;
      step = program.steps[inner++];
    }
    if (step.opcode == CONSTANT) step.index = --constant;
    return true;
  }
};
