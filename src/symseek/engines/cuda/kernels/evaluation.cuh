// Programs on data, in float64: sums of errors, and predictions. A group of threads works on one program, each of them
// on ROWS rows at a time, with the last value of the stack in registers.
//
// A program is invalid when any value at any node is not finite on any row; with STRICT, also where it underflows.
struct Step {
  double value;
  int opcode, index;
};

// What programs are made of and which data they see; program p belongs to run p / per_run.
struct Batch {
  const Token* tokens;      // [P, width], -1 beyond the end
  const int* lengths;       // [P]
  const double* constants;  // [P, constant_width]
  int width, constant_width, constant_token;
  long long programs;
  int per_run;
  const int* dataset;   // [R], or null: all of data set 0
  const uint8* active;  // [R], or null: all; programs of other runs are left alone
  const Step* steps;

  DEVICE bool has(long long p) const { return !active || active[p / per_run]; }
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

// The values of a program on some rows. Tokens run right to left, so that operands are there before their operator,
// the first of them on top, and constants come last to first.
DEVICE void run_rows(const Program& program, const Table& table, const long long (&row)[ROWS], double (&top)[ROWS],
                     uint32& worst) {
  double stack[STACK][ROWS];  // below the top; the first entry is no value
  int height = 0, constant = program.constant_count, inner = 0, inner_end = 0;
  for (int r = 0; r < ROWS; ++r) top[r] = 0.0;
  for (int at = program.length - 1; at >= 0 || inner < inner_end;) {
    const Step step = inner < inner_end ? program.steps[inner++] : program.steps[program.tokens[at--]];
    if (step.opcode == VARIABLE || step.opcode == NUMBER || step.opcode == CONSTANT || step.opcode == ARGUMENT) {
      for (int r = 0; r < ROWS; ++r) stack[height][r] = top[r];
      ++height;
    }
    switch (step.opcode) {
      case VARIABLE: {
        const double* column = table.columns + step.index * table.stride;
        for (int r = 0; r < ROWS; ++r) top[r] = column[row[r]];
        break;
      }
      case NUMBER:
        for (int r = 0; r < ROWS; ++r) top[r] = step.value;
        break;
      case CONSTANT: {
        const double value = program.constants[--constant];
        for (int r = 0; r < ROWS; ++r) top[r] = value;
        break;
      }
      case ARGUMENT:  // a copy of an operand of the formula
        for (int r = 0; r < ROWS; ++r) top[r] = stack[height - 1 - step.index][r];
        break;
      case FINISH: height -= step.index; break;  // the value of the formula replaces its operands
      case FORMULA:
        if (FORMULAS) {
          inner = step.index;
          inner_end = inner + (int)step.value;
        }
        break;
#define UNARY(CODE, VALUE, SLOPE, UNDERFLOW)                      \
  case CODE:                                                      \
    for (int r = 0; r < ROWS; ++r) {                              \
      const double a = top[r], v = VALUE;                         \
      if (STRICT && is_tiny(v) && (UNDERFLOW)) worst = NOT_FINITE; \
      top[r] = v;                                                 \
    }                                                             \
    break;
#define BINARY(CODE, VALUE, SLOPE_A, SLOPE_B, UNDERFLOW)          \
  case CODE:                                                      \
    --height;                                                     \
    for (int r = 0; r < ROWS; ++r) {                              \
      const double a = top[r], b = stack[height][r], v = VALUE;   \
      if (STRICT && is_tiny(v) && (UNDERFLOW)) worst = NOT_FINITE; \
      top[r] = v;                                                 \
    }                                                             \
    break;
        OPERATIONS(UNARY, BINARY)
#undef UNARY
#undef BINARY
    }
    for (int r = 0; r < ROWS; ++r) watch(worst, top[r]);
  }
}

// The rows of this thread from `begin` on; beyond the end the last row again, which changes nothing.
DEVICE void take_rows(long long begin, long long end, long long (&row)[ROWS]) {
  for (int r = 0; r < ROWS; ++r) {
    row[r] = begin + threadIdx.x + (long long)r * blockDim.x;
    if (row[r] >= end) row[r] = end - 1;
  }
}

// Sums of weighted squared and absolute errors over parts of the rows: outputs [parts, P]. A program that one part has
// found invalid is skipped by parts that begin later, where `stopped` [P] is given.
KERNEL errors(BATCH_PARAMETERS, TABLE_PARAMETERS, long long part_rows, double* squared, double* absolute, uint8* ok,
              uint8* stopped) {
  const Batch batch BATCH;
  const Table tables TABLE;
  const long long parts = (rows + part_rows - 1) / part_rows;
  for (long long item = group_index(); item < programs * parts; item += group_count()) {
    const long long p = item % programs, start = item / programs * part_rows;
    if (!batch.has(p)) continue;
    bool good = !stopped || !group_any(stopped[p]);
    double sum = 0.0, absolute_sum = 0.0;
    if (good) {
      const Program program(batch, p);
      const Table table = tables.of(batch.data(p));
      const long long end = start + part_rows < rows ? start + part_rows : rows;
      uint32 worst = 0;
      for (long long begin = start; begin < end && good; begin += (long long)blockDim.x * ROWS) {
        long long row[ROWS];
        double value[ROWS];
        take_rows(begin, end, row);
        run_rows(program, table, row, value, worst);
        for (int r = 0; r < ROWS && target; ++r) {
          const double weight = table.weight[row[r]];
          // A row that weighs nothing must add nothing, even where its residual overflows.
          if (begin + threadIdx.x + (long long)r * blockDim.x >= end || weight == 0.0) continue;
          const double residual = table.target[row[r]] - value[r];
          sum += weight * (residual * residual);
          absolute_sum += weight * fabs(residual);
        }
        good = !group_any(worst >= NOT_FINITE);
      }
      sum = group_sum(sum, sum_scratch());
      absolute_sum = group_sum(absolute_sum, sum_scratch());
    }
    if (threadIdx.x == 0) {
      squared[item] = good ? sum : infinity();
      absolute[item] = good ? absolute_sum : infinity();
      ok[item] = good;
      if (stopped && !good) stopped[p] = 1;
    }
  }
}

// Adds up the parts in their order, on top of what is there already if `more`.
KERNEL add_parts(const double* part_squared, const double* part_absolute, const uint8* part_ok, int parts,
                 long long programs, int per_run, const uint8* active, int more, double* squared, double* absolute,
                 uint8* ok) {
  for (long long p = (long long)blockIdx.x * blockDim.x + threadIdx.x; p < programs;
       p += (long long)gridDim.x * blockDim.x) {
    if (active && !active[p / per_run]) continue;
    double sum = more ? squared[p] : 0.0, absolute_sum = more ? absolute[p] : 0.0;
    bool good = more ? ok[p] : true;
    for (int part = 0; part < parts && good; ++part) {
      const long long at = part * programs + p;
      good = part_ok[at];
      sum += part_squared[at];
      absolute_sum += part_absolute[at];
    }
    squared[p] = good ? sum : infinity();
    absolute[p] = good ? absolute_sum : infinity();
    ok[p] = good;
  }
}

// Values [P, rows]; ok [P] is 1 before, and 0 after where a program is invalid on one of these rows.
KERNEL predict(BATCH_PARAMETERS, TABLE_PARAMETERS, long long part_rows, double* values, uint8* ok) {
  const Batch batch BATCH;
  const Table tables TABLE;
  const long long parts = (rows + part_rows - 1) / part_rows;
  for (long long item = group_index(); item < programs * parts; item += group_count()) {
    const long long p = item % programs, start = item / programs * part_rows;
    if (!batch.has(p)) continue;
    const Program program(batch, p);
    const Table table = tables.of(batch.data(p));
    const long long end = start + part_rows < rows ? start + part_rows : rows;
    uint32 worst = 0;
    for (long long begin = start; begin < end; begin += (long long)blockDim.x * ROWS) {
      long long row[ROWS];
      double value[ROWS];
      take_rows(begin, end, row);
      run_rows(program, table, row, value, worst);
      for (int r = 0; r < ROWS; ++r) values[p * rows + row[r]] = value[r];
    }
    if (worst >= NOT_FINITE) ok[p] = 0;
  }
}
