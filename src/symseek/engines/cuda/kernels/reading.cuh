// The one reader of a program: its values on a few rows at once and, in a fit, their derivatives by its constants.
//
// Half of a program is leaves, so a tape folds them into the operators that take them: such an operator has an operand that
// is a leaf in the step itself and not on the stack. Only libraries with formulas have the steps as they are, and so has
// whoever reads tokens.
constexpr int OPCODE = 0xff;    // the bits of `Step::opcode` that say what to do, where steps are folded
constexpr int PUSH = 0xff;      // what is done: a leaf is put on the stack
constexpr int LEAF_FIRST = 0x100, LEAF_SECOND = 0x200, LEAF = LEAF_FIRST | LEAF_SECOND;  // which operand is a leaf
constexpr int STACKED = 0x400;  // the second operand is on the stack, below the first
constexpr int LEAF_KIND = 12;   // shifted by so many bits: VARIABLE, NUMBER or CONSTANT

struct alignas(8) Operands {  // of a step: the constants that they depend on, a bit each
  uint32 first, second;
};

DEVICE bool is_leaf(int opcode) { return opcode == VARIABLE || opcode == NUMBER || opcode == CONSTANT; }

// Loops over constants in sums over the rows. Few constants stay in registers, which needs loops that the compiler takes
// apart: they are as long as there is room for constants. Where there may be MANY, loops end with the last one.
constexpr bool MANY = MAX_K > 8;
constexpr int SUM_UNROLLED = MANY ? 1 : MAX_K;
#define SUM_UP_TO(i, end) \
  _Pragma("unroll SUM_UNROLLED") for (int i = 0; i < (MANY ? (end) : MAX_K); ++i) if (MANY || i < (end))

// So many constants are summed up of a program that has `constants`.
DEVICE int summed(int constants) { return MANY ? constants : MAX_K; }

// Rows of a table, from one of them on: offsets are as short as can be, since every step of a program adds them.
struct Rows {
  const double *columns, *target, *weight;
  long long stride;
  int count;

  DEVICE Rows(const Table& table, long long first, long long end)
      : columns(table.columns + first),
        target(table.target ? table.target + first : nullptr),
        weight(table.target ? table.weight + first : nullptr),
        stride(table.stride),
        count((int)(end - first)) {}
};

#define EACH_ROW _Pragma("unroll") for (int r = 0; r < ROWS; ++r)
#define EACH_OF(N) _Pragma("unroll") for (int r = 0; r < N; ++r)

// Multiplies the derivatives by these constants, a bit each, by a factor.
DEVICE void scale_slopes(double (&slopes)[MAX_K], uint32 constants, double by) {
  if constexpr (MANY)
    for (uint32 left = constants; left != 0; left &= left - 1) slopes[lowest_bit(left)] *= by;
  else
    SUM_UP_TO(k, MAX_K) if (constants >> k & 1) slopes[k] *= by;
}

// The values at `at` of the program that `steps` gives, on N rows. A constant stands in one place of a program: where steps
// are FOLDED, one value on the stack depends on it at a time, slopes[k] is the derivative of that value, and slopes need no
// stack. A formula may use an operand twice, so otherwise slopes go with the values, those of what depends on no constant
// left out.
template <bool FOLDED, bool SLOPES, int N, class Steps>
DEVICE void read_program(Steps& steps, const Rows& rows, const double* at, int constants, const int (&row)[N],
                         double (&top)[N], double (&slopes)[N][MAX_K], uint32& worst) {
  constexpr bool CARRIED = SLOPES && !FOLDED;
  double stack[STACK][N], beneath[CARRIED ? STACK : 1][N][MAX_K];  // below the top; the first entry is no value
  bool moving[CARRIED ? STACK : 1], moves = false;
  int height = 0;
  const int count = summed(constants);
  EACH_OF(N) {
    top[r] = 0.0;
    if (SLOPES && FOLDED) SUM_UP_TO(k, count) slopes[r][k] = k < constants ? 1.0 : 0.0;
  }
  Step step;
  Operands operands{0, 0};
  while (steps.next(step, operands)) {
    const int opcode = FOLDED ? step.opcode & OPCODE : step.opcode;
    const bool pushes = FOLDED ? opcode == PUSH : is_leaf(opcode) || opcode == ARGUMENT;
    double other[N];  // the operand that is not on top, or what is put there
    if (FOLDED ? pushes || step.opcode & LEAF : is_leaf(opcode)) {
      const int kind = FOLDED ? step.opcode >> LEAF_KIND : opcode;
      if (kind == VARIABLE) {
        const double* column = rows.columns + step.index * rows.stride;
        EACH_OF(N) other[r] = __ldg(column + row[r]);
      } else {
        const double value = kind == CONSTANT ? at[step.index] : step.value;
        watch(worst, value);
        EACH_OF(N) other[r] = value;
      }
    } else if (FOLDED && step.opcode & STACKED) {
      --height;
      EACH_OF(N) other[r] = stack[height][r];
    }
    if (pushes) {
      EACH_OF(N) {
        stack[height][r] = top[r];
        if (CARRIED && moves) SUM_UP_TO(k, count) beneath[height][r][k] = slopes[r][k];
      }
      if (CARRIED) {
        moving[height] = moves;
        moves = opcode == CONSTANT;
        if (moves) EACH_OF(N) SUM_UP_TO(k, count) slopes[r][k] = k == step.index ? 1.0 : 0.0;
      }
      ++height;
      if (!FOLDED && opcode == ARGUMENT) {  // a copy of an operand of the formula
        const int from = height - 1 - step.index;
        if (CARRIED) moves = moving[from];
        EACH_OF(N) {
          other[r] = stack[from][r];
          if (CARRIED && moves) SUM_UP_TO(k, count) slopes[r][k] = beneath[from][r][k];
        }
      }
      EACH_OF(N) {
        top[r] = other[r];
        if (!FOLDED) watch(worst, top[r]);
      }
      continue;
    }
    if (!FOLDED && opcode == FINISH) {  // the value of the formula replaces its operands
      height -= step.index;
      continue;
    }
    if (FOLDED && step.opcode & LEAF_FIRST) EACH_OF(N) {
      const double below = top[r];
      top[r] = other[r];
      other[r] = below;
    }
    const uint32 first = !SLOPES ? 0 : FOLDED ? operands.first : moves ? ~0u : 0, second = SLOPES ? operands.second : 0;
    if (SLOPES && first && (opcode == SIN || opcode == COS)) {  // each has the other for its slope
      EACH_OF(N) {
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
    EACH_OF(N) {                                                                                 \
      const double a = top[r], v = VALUE;                                                        \
      if (SLOPES && CODE != SIN && CODE != COS && first) scale_slopes(slopes[r], first, SLOPE);  \
      if (STRICT && is_tiny(v) && (UNDERFLOW)) worst = NOT_FINITE;                               \
      top[r] = v;                                                                                \
    }                                                                                            \
    break;
#define BINARY(CODE, VALUE, SLOPE_A, SLOPE_B, UNDERFLOW)                                                           \
  case CODE:                                                                                                       \
    if (!FOLDED) --height;                                                                                         \
    EACH_OF(N) {                                                                                                   \
      const double a = top[r], b = FOLDED ? other[r] : stack[height][r], v = VALUE;                                \
      if (CARRIED && moving[height]) {                                                                             \
        const double by_a = moves ? SLOPE_A : 0.0, by_b = SLOPE_B;                                                 \
        SUM_UP_TO(k, count) slopes[r][k] = (moves ? slopes[r][k] * by_a : 0.0) + beneath[height][r][k] * by_b;     \
      } else {                                                                                                     \
        if (SLOPES && first) scale_slopes(slopes[r], first, SLOPE_A);                                              \
        if (SLOPES && second) scale_slopes(slopes[r], second, SLOPE_B);                                            \
      }                                                                                                            \
      if (STRICT && is_tiny(v) && (UNDERFLOW)) worst = NOT_FINITE;                                                 \
      top[r] = v;                                                                                                  \
    }                                                                                                              \
    if (CARRIED) moves = moves || moving[height];                                                                  \
    break;
      OPERATIONS(UNARY, BINARY)
#undef UNARY
#undef BINARY
    }
    EACH_OF(N) watch(worst, top[r]);
  }
  if (CARRIED && !moves) EACH_OF(N) SUM_UP_TO(k, count) slopes[r][k] = 0.0;
}
