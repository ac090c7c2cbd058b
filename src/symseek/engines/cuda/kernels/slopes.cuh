// The values of a program on rows of the data and their derivatives by its constants: what a fit asks for most. A thread
// works on ROWS rows at a time, so that reading a step of the program serves all of them.
constexpr int PAIRS = MAX_K * (MAX_K + 1) / 2;
// Loops over constants. Few constants stay in registers, which needs loops that the compiler takes apart. Sums over the
// rows are worth it for more of them (SUM_UP_TO) than what is done once for all rows.
constexpr int UNROLLED = MAX_K <= 3 ? MAX_K : 1, SUM_UNROLLED = MAX_K <= 8 ? MAX_K : 1;
#define SUM_UP_TO(i, end) _Pragma("unroll SUM_UNROLLED") for (int i = 0; i < MAX_K; ++i) if (i < (end))
#define UP_TO(i, end) _Pragma("unroll UNROLLED") for (int i = 0; i < MAX_K; ++i) if (i < (end))
#define DOWN_FROM(i, end) _Pragma("unroll UNROLLED") for (int i = MAX_K - 1; i >= 0; --i) if (i < (end))

// Rows of a table, from one of them on: offsets are as short as can be, since every step of a program adds them.
struct Rows {
  const double *columns, *target, *weight;
  long long stride;
  int count;

  DEVICE Rows(const Table& table, long long first, long long end)
      : columns(table.columns + first),
        target(table.target + first),
        weight(table.weight + first),
        stride(table.stride),
        count((int)(end - first)) {}
};

#define EACH_ROW _Pragma("unroll") for (int r = 0; r < ROWS; ++r)

// Multiplies the derivatives by these constants, a bit each, by a factor.
DEVICE void scale_slopes(double (&slopes)[MAX_K], uint32 constants, double by) {
  SUM_UP_TO(k, MAX_K) if (constants >> k & 1) slopes[k] *= by;
}

// Values at `at` and, with SLOPES, their derivatives. A constant stands in one place of a program, so that one value on
// the stack depends on it at a time: slopes[k] is the derivative of that value, and slopes need no stack.
template <bool SLOPES>
DEVICE void run_once(const Rows& rows, const double* at, const int (&row)[ROWS], double (&top)[ROWS],
                     double (&slopes)[ROWS][MAX_K], uint32& worst) {
  const Tape& tape = own_tape();
  double stack[STACK][ROWS];  // below the top; the first entry is no value
  int height = 0;
  EACH_ROW {
    top[r] = 0.0;
    if (SLOPES) SUM_UP_TO(k, MAX_K) slopes[r][k] = k < tape.size ? 1.0 : 0.0;
  }
  for (int i = 0; i < tape.count; ++i) {
    const Step step = tape.steps[i];
    const Operands operands = SLOPES ? tape.operands[i] : Operands{0, 0};
    const uint32 first = operands.first, second = operands.second;
    const int opcode = step.opcode & OPCODE;
    double other[ROWS];  // the operand that is not on top
    if (step.opcode & LEAF || opcode == PUSH) {
      const int kind = step.opcode >> LEAF_KIND;
      if (kind == VARIABLE) {
        const double* column = rows.columns + step.index * rows.stride;
        EACH_ROW other[r] = __ldg(column + row[r]);
      } else {
        const double value = kind == CONSTANT ? at[step.index] : step.value;
        watch(worst, value);
        EACH_ROW other[r] = value;
      }
      if (opcode == PUSH) {
        EACH_ROW {
          stack[height][r] = top[r];
          top[r] = other[r];
        }
        ++height;
        continue;
      }
    } else if (step.opcode & STACKED) {
      --height;
      EACH_ROW other[r] = stack[height][r];
    }
    if (step.opcode & LEAF_FIRST) EACH_ROW {
      const double below = top[r];
      top[r] = other[r];
      other[r] = below;
    }
    if (SLOPES && first && (opcode == SIN || opcode == COS)) {  // each has the other for its slope
      EACH_ROW {
        double sine, cosine;
        sincos(top[r], &sine, &cosine);
        const double by = opcode == SIN ? cosine : -sine;
        top[r] = opcode == SIN ? sine : cosine;
        scale_slopes(slopes[r], first, by);
        watch(worst, top[r]);
      }
      continue;
    }
    switch (opcode) {
#define UNARY(CODE, VALUE, SLOPE, UNDERFLOW)                                                     \
  case CODE:                                                                                     \
    EACH_ROW {                                                                                   \
      const double a = top[r], v = VALUE;                                                        \
      if (SLOPES && CODE != SIN && CODE != COS && first) scale_slopes(slopes[r], first, SLOPE);  \
      top[r] = v;                                                                                \
    }                                                                                            \
    break;
#define BINARY(CODE, VALUE, SLOPE_A, SLOPE_B, UNDERFLOW)              \
  case CODE:                                                          \
    EACH_ROW {                                                        \
      const double a = top[r], b = other[r], v = VALUE;               \
      if (SLOPES && first) scale_slopes(slopes[r], first, SLOPE_A);   \
      if (SLOPES && second) scale_slopes(slopes[r], second, SLOPE_B); \
      top[r] = v;                                                     \
    }                                                                 \
    break;
      OPERATIONS(UNARY, BINARY)
#undef UNARY
#undef BINARY
    }
    EACH_ROW watch(worst, top[r]);
  }
}

// The same on one row for libraries with formulas. A formula may use an operand twice, so slopes go with the values on
// the stack, those of what depends on no constant left out.
template <bool SLOPES>
DEVICE double run_formulas(const Rows& rows, const double* at, int row, double (&slopes)[MAX_K], uint32& worst) {
  const Tape& tape = own_tape();
  double stack[STACK], beneath[SLOPES ? STACK : 1][MAX_K];  // below the top; the first entry is no value
  bool moving[STACK], moves = false;
  double top = 0.0;
  int height = 0;
  for (int i = 0; i < tape.count; ++i) {
    const Step step = tape.steps[i];
    if (step.opcode == VARIABLE || step.opcode == NUMBER || step.opcode == CONSTANT || step.opcode == ARGUMENT) {
      stack[height] = top;
      moving[height] = moves;
      if (SLOPES && moves) SUM_UP_TO(k, MAX_K) beneath[height][k] = slopes[k];
      ++height;
      moves = step.opcode == CONSTANT;
    }
    if (SLOPES && moves && (step.opcode == SIN || step.opcode == COS)) {  // each has the other for its slope
      double sine, cosine;
      sincos(top, &sine, &cosine);
      top = step.opcode == SIN ? sine : cosine;
      const double by = step.opcode == SIN ? cosine : -sine;
      SUM_UP_TO(k, MAX_K) slopes[k] *= by;
      watch(worst, top);
      continue;
    }
    switch (step.opcode) {
      case VARIABLE: top = rows.columns[step.index * rows.stride + row]; break;
      case NUMBER: top = step.value; break;
      case CONSTANT:
        top = at[step.index];
        if (SLOPES) SUM_UP_TO(k, MAX_K) slopes[k] = k == step.index ? 1.0 : 0.0;
        break;
      case ARGUMENT: {  // a copy of an operand of the formula
        const int from = height - 1 - step.index;
        top = stack[from];
        moves = moving[from];
        if (SLOPES && moves) SUM_UP_TO(k, MAX_K) slopes[k] = beneath[from][k];
        break;
      }
      case FINISH: height -= step.index; break;  // the value of the formula replaces its operands
#define UNARY(CODE, VALUE, SLOPE, UNDERFLOW)              \
  case CODE: {                                            \
    const double a = top, v = VALUE;                      \
    if (SLOPES && moves) {                                \
      const double by = SLOPE;                            \
      SUM_UP_TO(k, MAX_K) slopes[k] *= by;                \
    }                                                     \
    top = v;                                              \
    break;                                                \
  }
#define BINARY(CODE, VALUE, SLOPE_A, SLOPE_B, UNDERFLOW)                                      \
  case CODE: {                                                                                \
    --height;                                                                                 \
    const double a = top, b = stack[height], v = VALUE;                                       \
    if (SLOPES && moving[height]) {                                                           \
      const double by_a = moves ? SLOPE_A : 0.0, by_b = SLOPE_B;                              \
      SUM_UP_TO(k, MAX_K) slopes[k] = (moves ? slopes[k] * by_a : 0.0) + beneath[height][k] * by_b; \
      moves = true;                                                                           \
    } else if (SLOPES && moves) {                                                             \
      const double by_a = SLOPE_A;                                                            \
      SUM_UP_TO(k, MAX_K) slopes[k] *= by_a;                                                  \
    }                                                                                         \
    top = v;                                                                                  \
    break;                                                                                    \
  }
        OPERATIONS(UNARY, BINARY)
#undef UNARY
#undef BINARY
    }
    watch(worst, top);
  }
  if (SLOPES && !moves) SUM_UP_TO(k, MAX_K) slopes[k] = 0.0;
  return top;
}

template <bool SLOPES>
DEVICE void run(const Rows& rows, const double* at, const int (&row)[ROWS], double (&value)[ROWS],
                double (&slopes)[ROWS][MAX_K], uint32& worst) {
  if constexpr (FORMULAS != 0)
    EACH_ROW value[r] = run_formulas<SLOPES>(rows, at, row[r], slopes[r], worst);
  else
    run_once<SLOPES>(rows, at, row, value, slopes, worst);
}
