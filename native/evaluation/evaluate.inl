// The evaluator in float64: a stack machine over blocks of rows. Variables are read where they lie; every other
// value has its own block, so the whole stack of a program stays in the first-level cache.
//
// A program is invalid as soon as any node is not finite. Most operations pass a NaN or an infinity on to the
// root (x + inf, inf * 0, sin(inf), ...), so only operands of operations that can hide one are looked at: the
// divisor (1/inf = 0), exponentials (exp(-inf) = 0), powers (nan^0 = 1), functions with finite limits (tanh(inf) = 1),
// choices between two operands (min(0, inf) = 0), and protected operations (0 in the place of exp(inf)).

// NaN where the value is not finite, 0 elsewhere.
SYMSEEK_INLINE f64x8 nan_unless_finite(const f64x8& a) { return a - a; }

#define SYMSEEK_UNARY(NAME, CHECK, FORMULA, SLOPE)                                 \
  SYMSEEK_INLINE f64x8 value_##NAME([[maybe_unused]] i64x8& bad, const f64x8& a) { \
    if (CHECK) bad = bad | as_integer(nan_unless_finite(a));                       \
    return FORMULA;                                                                \
  }                                                                                \
  SYMSEEK_INLINE f64x8 slope_##NAME([[maybe_unused]] const f64x8& a, [[maybe_unused]] const f64x8& v) { return SLOPE; }
enum class Hides { neither, second, both };  // which operands, not finite, may leave a finite value
#define SYMSEEK_BINARY(NAME, HIDES, FORMULA, SLOPE_A, SLOPE_B)                                          \
  SYMSEEK_INLINE f64x8 value_##NAME([[maybe_unused]] i64x8& bad, const f64x8& a, const f64x8& b) {      \
    if (Hides::HIDES != Hides::neither) bad = bad | as_integer(nan_unless_finite(b));                   \
    if (Hides::HIDES == Hides::both) bad = bad | as_integer(nan_unless_finite(a));                      \
    return FORMULA;                                                                                     \
  }                                                                                                     \
  SYMSEEK_INLINE f64x8 slope_a_##NAME([[maybe_unused]] const f64x8& a, [[maybe_unused]] const f64x8& b, \
                                      [[maybe_unused]] const f64x8& v) {                                \
    return SLOPE_A;                                                                                     \
  }                                                                                                     \
  SYMSEEK_INLINE f64x8 slope_b_##NAME([[maybe_unused]] const f64x8& a, [[maybe_unused]] const f64x8& b, \
                                      [[maybe_unused]] const f64x8& v) {                                \
    return SLOPE_B;                                                                                     \
  }
SYMSEEK_INLINE f64x8 number(double value) { return f64x8::all(value); }
SYMSEEK_INLINE f64x8 one_where(const i64x8& mask) { return select(mask, number(1.0), number(0.0)); }
SYMSEEK_INLINE f64x8 slope_of_arc(const f64x8& a) {
  return number(1.0) / square_root((number(1.0) - a) * (number(1.0) + a));
}
// 1/sqrt(1 + a^2), where a^2 may overflow.
SYMSEEK_INLINE f64x8 slope_of_area(const f64x8& a) {
  const f64x8 size = absolute(a);
  return number(1.0) / select(less(size, number(0x1p500)), square_root(number(1.0) + a * a), size);
}
// c / (a^2 + b^2) for c = a or b, where the squares may overflow or underflow.
SYMSEEK_INLINE f64x8 inverse_of_point(const f64x8& a, const f64x8& b, const f64x8& c) {
  const f64x8 scale = maximum(absolute(a), absolute(b));
  const f64x8 x = a / scale, y = b / scale;
  return (c / scale) / ((x * x + y * y) * scale);
}
// Where a protected operation does what its name says; elsewhere it has a number for its value and the slope 0.
SYMSEEK_INLINE i64x8 is_large(const f64x8& a) { return less(number(0.001), absolute(a)); }
SYMSEEK_INLINE i64x8 is_small(const f64x8& a) { return less(absolute(a), number(1e6)); }
SYMSEEK_INLINE f64x8 value_or_0(const i64x8& mask, const f64x8& value) { return select(mask, value, number(0.0)); }
// clang-format off: it takes the products for pointers
// For each operation: whether it hides a non-finite operand, its value, and the value's derivative by each operand
// (v is the value itself).
SYMSEEK_BINARY(add, neither, a + b, number(1.0), number(1.0))
SYMSEEK_BINARY(sub, neither, a - b, number(1.0), number(-1.0))
SYMSEEK_BINARY(mul, neither, a * b, b, a)
SYMSEEK_BINARY(div, second, a / b, number(1.0) / b, -v / b)
SYMSEEK_BINARY(pow, both, vpow(a, b), b * vpow(a, b - number(1.0)), v * vlog(a))
SYMSEEK_UNARY(sin, false, vsin(a), vcos(a))
SYMSEEK_UNARY(cos, false, vcos(a), -vsin(a))
SYMSEEK_UNARY(tan, false, vtan(a), number(1.0) + v * v)
SYMSEEK_UNARY(tanh, true, vtanh(a), number(1.0) - v * v)
SYMSEEK_UNARY(exp, true, vexp(a), v)
SYMSEEK_UNARY(log, false, vlog(a), number(1.0) / a)
SYMSEEK_UNARY(sqrt, false, square_root(a), number(0.5) / v)
SYMSEEK_UNARY(square, false, a * a, number(2.0) * a)
SYMSEEK_UNARY(cube, false, a * a * a, number(3.0) * a * a)
SYMSEEK_UNARY(fourth, false, (a * a) * (a * a), number(4.0) * a * a * a)
SYMSEEK_UNARY(reciprocal, true, number(1.0) / a, -v * v)
SYMSEEK_UNARY(neg, false, -a, number(-1.0))
SYMSEEK_UNARY(abs, false, absolute(a), select(less(a, number(0.0)), number(-1.0), number(1.0)))
SYMSEEK_UNARY(neg_exp, true, vexp(-a), -v)
SYMSEEK_UNARY(asin, false, vasin(a), slope_of_arc(a))
SYMSEEK_UNARY(acos, false, vacos(a), -slope_of_arc(a))
SYMSEEK_UNARY(atan, true, vatan(a), number(1.0) / (number(1.0) + a * a))
SYMSEEK_UNARY(sinh, false, vsinh(a), vcosh(a))
SYMSEEK_UNARY(cosh, false, vcosh(a), vsinh(a))
SYMSEEK_UNARY(asinh, false, vasinh(a), slope_of_area(a))
SYMSEEK_UNARY(sign, true, vsign(a), number(0.0))
SYMSEEK_UNARY(floor, false, vfloor(a), number(0.0))
SYMSEEK_UNARY(erf, true, verf(a), number(0x1.20dd750429b6dp+0) * vexp(-(a * a)))  // 2/sqrt(pi)
SYMSEEK_BINARY(atan2, both, vatan2(a, b), inverse_of_point(a, b, b), -inverse_of_point(a, b, a))
SYMSEEK_BINARY(min, both, vmin(a, b), one_where(less(a, b)), number(1.0) - one_where(less(a, b)))
SYMSEEK_BINARY(max, both, vmax(a, b), one_where(less(b, a)), number(1.0) - one_where(less(b, a)))
SYMSEEK_BINARY(protected_div, both, select(is_large(b), a / b, number(1.0)),
               value_or_0(is_large(b), number(1.0) / b), value_or_0(is_large(b), -v / b))
SYMSEEK_UNARY(protected_exp, true, value_or_0(less(a, number(100.0)), vexp(a)), v)
SYMSEEK_UNARY(protected_log, true, value_or_0(is_large(a), vlog(absolute(a))),
              value_or_0(is_large(a), number(1.0) / a))
SYMSEEK_UNARY(protected_reciprocal, true, value_or_0(is_large(a), number(1.0) / a), -v * v)
SYMSEEK_UNARY(protected_square, true, value_or_0(is_small(a), a * a), value_or_0(is_small(a), number(2.0) * a))
SYMSEEK_UNARY(protected_cube, true, value_or_0(is_small(a), a * a * a), value_or_0(is_small(a), number(3.0) * a * a))
// clang-format on
#undef SYMSEEK_UNARY
#undef SYMSEEK_BINARY

// Where a result has underflowed: it is below the smallest normal number, though it is not 0 by its operands. Only
// products, quotients, powers and exponentials get there from ordinary numbers; no other operation is looked at.
template <Opcode OPCODE>
struct Underflow {
  template <class... V>
  static SYMSEEK_INLINE i64x8 at(const V&...) {
    return i64x8::all(0);
  }
};
SYMSEEK_INLINE i64x8 is_tiny(const f64x8& v) { return less(absolute(v), number(0x1p-1022)); }
SYMSEEK_INLINE i64x8 not_zero(const f64x8& a) { return less(number(0.0), absolute(a)); }
#define SYMSEEK_UNDERFLOW_1(NAME, CONDITION)                                          \
  template <>                                                                         \
  struct Underflow<Opcode::NAME> {                                                    \
    static SYMSEEK_INLINE i64x8 at(const f64x8& v, [[maybe_unused]] const f64x8& a) { \
      return is_tiny(v) & (CONDITION);                                                \
    }                                                                                 \
  };
#define SYMSEEK_UNDERFLOW_2(NAME, CONDITION)                                                          \
  template <>                                                                                         \
  struct Underflow<Opcode::NAME> {                                                                    \
    static SYMSEEK_INLINE i64x8 at(const f64x8& v, const f64x8& a, [[maybe_unused]] const f64x8& b) { \
      return is_tiny(v) & (CONDITION);                                                                \
    }                                                                                                 \
  };
SYMSEEK_UNDERFLOW_2(mul, not_zero(a) & not_zero(b))
SYMSEEK_UNDERFLOW_2(div, not_zero(a))
SYMSEEK_UNDERFLOW_2(pow, not_zero(a))
SYMSEEK_UNDERFLOW_2(atan2, not_zero(a))
SYMSEEK_UNDERFLOW_1(exp, i64x8::all(-1))
SYMSEEK_UNDERFLOW_1(neg_exp, i64x8::all(-1))
SYMSEEK_UNDERFLOW_1(square, not_zero(a))
SYMSEEK_UNDERFLOW_1(cube, not_zero(a))
SYMSEEK_UNDERFLOW_1(fourth, not_zero(a))
SYMSEEK_UNDERFLOW_1(reciprocal, i64x8::all(-1))
SYMSEEK_UNDERFLOW_2(protected_div, not_zero(a) & is_large(b))
SYMSEEK_UNDERFLOW_1(protected_exp, less(a, number(100.0)))
SYMSEEK_UNDERFLOW_1(protected_reciprocal, is_large(a))
SYMSEEK_UNDERFLOW_1(protected_square, not_zero(a) & is_small(a))
SYMSEEK_UNDERFLOW_1(protected_cube, not_zero(a) & is_small(a))
#undef SYMSEEK_UNDERFLOW_1
#undef SYMSEEK_UNDERFLOW_2

// The value of an operation; with STRICT, an underflow is marked like a value that is not finite.
#define SYMSEEK_VALUE(NAME)                                                 \
  [](i64x8& bad, const auto&... a) SYMSEEK_LAMBDA {                         \
    const f64x8 v = value_##NAME(bad, a...);                                \
    if constexpr (STRICT) bad = bad | Underflow<Opcode::NAME>::at(v, a...); \
    return v;                                                               \
  }

template <int ARITY>
struct Apply;
template <>
struct Apply<1> {
  template <class F>
  static SYMSEEK_INLINE void rows(int n, const double* const* top, double* out, i64x8& bad, F formula) {
    const double* a = top[0];
    for (int i = 0; i < n; i += 8) formula(bad, f64x8::load(a + i)).store(out + i);
  }
};
template <>
struct Apply<2> {
  template <class F>
  static SYMSEEK_INLINE void rows(int n, const double* const* top, double* out, i64x8& bad, F formula) {
    const double *a = top[0], *b = top[-1];
    for (int i = 0; i < n; i += 8) formula(bad, f64x8::load(a + i), f64x8::load(b + i)).store(out + i);
  }
};

#define X(NAME, ARITY)                                                                         \
  template <bool STRICT>                                                                       \
  SYMSEEK_OUTLINE i64x8 rows_##NAME(int n, const double* const* top, double* out, i64x8 bad) { \
    Apply<ARITY>::rows(n, top, out, bad, SYMSEEK_VALUE(NAME));                                 \
    return bad;                                                                                \
  }
SYMSEEK_RARE_OPERATIONS(X)
#undef X

// Is any lane a NaN? A flag of 0 may carry a sign, so the sign bit does not count.
SYMSEEK_INLINE bool any_nan(const i64x8& bad) { return any(bad & i64x8::all(INT64_C(0x7fffffffffffffff))); }

// Runs the program on rows first ... first + n - 1; the root's values lie where the result points. Inlined into its one
// caller, so that `bad` stays in a register.
template <bool STRICT>
SYMSEEK_INLINE const double* run_block(const Evaluation& task, int first, int n, i64x8& bad) {
  const double* values[MAX_STACK];  // where each stack entry lies
  values[0] = task.stack;
  int top = -1;
  // Instructions run right to left, so placeholders come last to first.
  int constant = 0;
  for (int k = 0; k < task.instructions; ++k) constant += task.code[k].opcode == Opcode::constant;
  for (int k = 0; k < task.instructions; ++k) {
    const Instruction& step = task.code[k];
    switch (step.opcode) {
#define X(NAME, ARITY)                                                  \
  case Opcode::NAME: {                                                  \
    double* out = task.stack + size_t(top - ARITY + 1) * ROW_BLOCK;     \
    Apply<ARITY>::rows(n, values + top, out, bad, SYMSEEK_VALUE(NAME)); \
    top -= ARITY - 1;                                                   \
    values[top] = out;                                                  \
    break;                                                              \
  }
      SYMSEEK_COMMON_OPERATIONS(X)
#undef X
#define X(NAME, ARITY)                                              \
  case Opcode::NAME: {                                              \
    double* out = task.stack + size_t(top - ARITY + 1) * ROW_BLOCK; \
    bad = rows_##NAME<STRICT>(n, values + top, out, bad);           \
    top -= ARITY - 1;                                               \
    values[top] = out;                                              \
    break;                                                          \
  }
      SYMSEEK_RARE_OPERATIONS(X)
#undef X
      case Opcode::variable: values[++top] = task.columns[step.index] + first; break;
      case Opcode::number:
      case Opcode::constant: {
        double* out = task.stack + size_t(++top) * ROW_BLOCK;
        const f64x8 value = f64x8::all(step.opcode == Opcode::number ? step.value : task.constants[--constant]);
        for (int i = 0; i < n; i += 8) value.store(out + i);
        values[top] = out;
        break;
      }
      case Opcode::argument: {  // read-only, so pointing at the operand is enough
        values[top + 1] = values[top - step.index];
        ++top;
        break;
      }
      case Opcode::finish: {
        const double* result = values[top];
        for (int k = 1; k <= step.index; ++k)  // the formula may have ignored an argument
          for (int i = 0; i < n; i += 8) bad = bad | as_integer(nan_unless_finite(f64x8::load(values[top - k] + i)));
        top -= step.index;
        double* out = task.stack + size_t(top) * ROW_BLOCK;
        for (int i = 0; i < n; i += 8) f64x8::load(result + i).store(out + i);
        values[top] = out;
        break;
      }
    }
  }
  return values[0];
}

SYMSEEK_INLINE f64x8 alike(const f64x8&, double value) { return f64x8::all(value); }
SYMSEEK_INLINE f64x8 exp_of(const f64x8& a) { return vexp(a); }
SYMSEEK_INLINE f64x8 log_of(const f64x8& a) { return vlog(a); }
SYMSEEK_INLINE f64x8 tanh_of(const f64x8& a) { return vtanh(a); }

// Rows and what they should be.
struct Graded {
  const double *value, *target, *weight;
  const double* scale = nullptr;  // of the losses' parameters

  // One residual vector. A row that weighs nothing must add nothing, even where its residual overflows (0 * inf is
  // NaN).
  SYMSEEK_INLINE f64x8 residual(int row, const f64x8& weights) const {
    return select(equal(weights, f64x8::all(0.0)), weights, f64x8::load(target + row) - f64x8::load(value + row));
  }

  // What a loss sees of the rows of a vector. Those that weigh nothing may have any loss.
  SYMSEEK_INLINE Row<f64x8> at(int row, const f64x8& weights, const f64x8& parameter, double blur = 0.0) const {
    const f64x8 own = scale ? parameter * f64x8::load(scale + row) : parameter;
    return row_of(f64x8::load(target + row), f64x8::load(value + row), residual(row, weights), own, f64x8::all(blur));
  }
};

// What rows count, by their weights: nothing where these are 0.
SYMSEEK_INLINE f64x8 counted(const f64x8& weights, const f64x8& values) {
  return select(equal(weights, f64x8::all(0.0)), weights, weights * values);
}

// Adds the losses of n rows to a sum for each, and looks whether the values are finite.
template <class... L>
SYMSEEK_INLINE void add_rows(const Graded& rows, int n, const Loss* losses, f64x8* sums, i64x8& bad) {
  f64x8 total[sizeof...(L)], parameter[sizeof...(L)];
  for (size_t k = 0; k < sizeof...(L); ++k) {
    total[k] = sums[k];
    parameter[k] = f64x8::all(losses[k].parameter);
  }
  for (int i = 0; i < n; i += 8) {
    const f64x8 weight = f64x8::load(rows.weight + i), residual = rows.residual(i, weight);
    bad = bad | as_integer(nan_unless_finite(f64x8::load(rows.value + i)));
    int k = 0;
    ((total[k] = total[k] + weight * L::value(row_of(residual, residual, residual, parameter[k], parameter[k])), ++k),
     ...);
  }
  for (size_t k = 0; k < sizeof...(L); ++k) sums[k] = total[k];
}

template <class L>
SYMSEEK_INLINE void add_any_rows(const Graded& rows, int n, const Loss& loss, f64x8& sum, i64x8& bad) {
  f64x8 total = sum;
  for (int i = 0; i < n; i += 8) {
    const f64x8 weight = f64x8::load(rows.weight + i);
    bad = bad | as_integer(nan_unless_finite(f64x8::load(rows.value + i)));
    total = total + counted(weight, L::value(rows.at(i, weight, f64x8::all(loss.parameter))));
  }
  sum = total;
}

SYMSEEK_OUTLINE void add_rare_losses(const Graded& rows, int n, const Loss* losses, int count, f64x8* sums,
                                     i64x8* bad) {
  for (int k = 0; k < count; ++k) switch (losses[k].kind) {
#define X(NAME) \
  case LossKind::NAME: add_any_rows<NAME##_loss>(rows, n, losses[k], sums[k], *bad); break;
      SYMSEEK_LOSSES(X)
#undef X
    }
}

// The losses of residuals alone that are usual have code of their own; the others would take registers from it.
SYMSEEK_INLINE void add_losses(const Graded& rows, int n, const Loss* losses, int count, f64x8* sums, i64x8& bad) {
  const bool squared = losses[0].kind == LossKind::squared;
  if (squared && count == 1) return add_rows<squared_loss>(rows, n, losses, sums, bad);
  if (squared && count == 2 && losses[1].kind == LossKind::absolute)
    return add_rows<squared_loss, absolute_loss>(rows, n, losses, sums, bad);
  f64x8 own[MOST_LOSSES];
  i64x8 flags = bad;
  for (int k = 0; k < count; ++k) own[k] = sums[k];
  add_rare_losses(rows, n, losses, count, own, &flags);
  for (int k = 0; k < count; ++k) sums[k] = own[k];
  bad = flags;
}

template <bool STRICT>
static bool evaluate_rows(Evaluation& task) {
  i64x8 bad = i64x8::all(0);
  f64x8 sums[MOST_LOSSES];
  for (f64x8& each : sums) each = f64x8::all(0.0);
  for (int first = 0; first < task.rows; first += ROW_BLOCK) {
    const int n = task.rows - first < ROW_BLOCK ? task.rows - first : ROW_BLOCK;
    const double* root = run_block<STRICT>(task, first, n, bad);
    if (task.target)
      add_losses({root, task.target + first, task.weight + first, task.scale ? task.scale + first : nullptr}, n,
                 task.losses, task.loss_count, sums, bad);
    else
      for (int i = 0; i < n; i += 8) {
        const f64x8 value = f64x8::load(root + i);
        bad = bad | as_integer(nan_unless_finite(value));
        if (task.predictions) value.store(task.predictions + first + i);
      }
    if (any_nan(bad)) return false;
  }
  for (int i = 0; i < task.loss_count; ++i) task.sums[i] = sum(sums[i]);
  return true;
}

static bool evaluate(Evaluation& task) {
  return task.underflow_invalid ? evaluate_rows<true>(task) : evaluate_rows<false>(task);
}
