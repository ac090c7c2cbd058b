// The constants of a program, fitted to data by its exact derivatives. The threads of a group divide the rows among
// them. Everything else each of them computes for itself, from sums that are the same for all: so all take the same
// decisions, and nothing small is shared.
#ifdef SYMSEEK_HOST
#define NOINLINE
#else
#define NOINLINE __device__ __noinline__
#endif

constexpr uint8 CONVERGED = 0, LIMIT = 1, INVALID = 2;
constexpr int MIXED = 0, LEAST_SQUARES = 1, BFGS = 2;

constexpr int WATCH = 4;  // a descent that trails another is watched: how far it gains over this many steps
constexpr double SMALL_GAIN = 1e-13;    // of the loss, predicted and made: converged
constexpr double SMALL_COSINE = 1e-7;   // between residuals and derivatives: converged
constexpr double FIRST_DAMPING = 1e-3;
constexpr double LEAST_DAMPING = 1e-9;  // below this, none
constexpr double MOST_DAMPING = 1e12;   // no step this short helps: a minimum as far as float64 can tell

constexpr int PAIRS = MAX_K * (MAX_K + 1) / 2;
// Loops over constants. Few constants stay in registers, which needs loops that the compiler takes apart. Sums over the
// rows are worth it for more of them (SUM_UP_TO) than what is done once for all rows.
constexpr int UNROLLED = MAX_K <= 3 ? MAX_K : 1, SUM_UNROLLED = MAX_K <= 8 ? MAX_K : 1;
#define SUM_UP_TO(i, end) _Pragma("unroll SUM_UNROLLED") for (int i = 0; i < MAX_K; ++i) if (i < (end))
#define UP_TO(i, end) _Pragma("unroll UNROLLED") for (int i = 0; i < MAX_K; ++i) if (i < (end))
#define DOWN_FROM(i, end) _Pragma("unroll UNROLLED") for (int i = MAX_K - 1; i >= 0; --i) if (i < (end))

DEVICE int triangle(int row, int column) { return row * (row + 1) / 2 + column; }
DEVICE double larger(double a, double b) { return a < b ? b : a; }
DEVICE double smaller(double a, double b) { return b < a ? b : a; }

// Out of line, since there are many sums.
NOINLINE double total(double value) { return group_sum(value, sum_scratch()); }

struct FitOptions {
  int method, restarts, max_steps, rescue;
  double scale, power;  // BFGS minimises -1 / (1 + (loss / scale)^power): minus the reward
};

struct Point;

struct Fitter {
  const Tape& tape;
  Table table;
  double exact;  // a loss that counts as none at all
  double share;  // of all rows, by weight
  int size;      // K
  bool some_linear, all_linear;
  bool whole;  // a thread has one row, whose values stay
  FitOptions options;
  uint64 key_low, key_high;  // name the program: random starts depend on nothing else

  double values[NODES], adjoints[NODES];
  double at[MAX_K], gradient[MAX_K], normal[PAIRS];
  double start[MAX_K], guess[MAX_K], best[MAX_K], trial[MAX_K], step[MAX_K];
  double direction[MAX_K], slope[MAX_K], slope_before[MAX_K], work[MAX_K], inverse[MAX_K * MAX_K];

  DEVICE Fitter(const Tape& one, const FitOptions& given, uint64 low, uint64 high)
      : tape(one), size(one.size), options(given), key_low(low), key_high(high) {
    some_linear = tape.linear != 0;
    all_linear = __popcll(tape.linear) == size;
  }

  DEVICE void copy(const double* from, double* to) const { UP_TO(i, size) to[i] = from[i]; }

  // Computes the nodes that move, those that do not, or all, on one row.
  DEVICE void compute(long long row, bool fixed, bool moving, uint32& worst) {
    for (int i = 0; i < tape.count; ++i) {
      const Node node = tape.nodes[i];
      if (node.flags & MOVES ? !moving : !fixed) continue;
      double v = 0.0;
      switch (node.opcode) {
        case VARIABLE: v = table.columns[node.index * table.stride + row]; break;
        case NUMBER: v = node.value; break;
        case CONSTANT: v = at[node.index]; break;
#define UNARY(CODE, VALUE, SLOPE, UNDERFLOW)  \
  case CODE: {                                \
    const double a = values[node.operand[0]]; \
    v = VALUE;                                \
    break;                                    \
  }
#define BINARY(CODE, VALUE, SLOPE_A, SLOPE_B, UNDERFLOW)                       \
  case CODE: {                                                                 \
    const double a = values[node.operand[0]], b = values[node.operand[1]];     \
    v = VALUE;                                                                 \
    break;                                                                     \
  }
          OPERATIONS(UNARY, BINARY)
#undef UNARY
#undef BINARY
      }
      values[i] = v;
      watch(worst, v);
    }
  }

  // Rows that weigh nothing have no residual, even where it overflows.
  DEVICE double residual(long long row, double weight) const {
    return weight == 0.0 ? 0.0 : table.target[row] - values[tape.root];
  }

  // False when a value is not finite on some row, or the loss is not.
  NOINLINE bool sweep(bool fixed, bool moving, double& loss) {
    uint32 worst = 0;
    double sum = 0.0;
    int pass = 0;
    for (long long begin = 0; begin < table.rows; begin += blockDim.x) {
      const long long row = begin + threadIdx.x;
      if (row < table.rows) {
        compute(row, fixed, moving, worst);
        const double weight = table.weight[row], off = moving ? residual(row, weight) : 0.0;
        sum += weight * (off * off);
      }
      if (++pass % 8 == 0 && group_any(worst >= NOT_FINITE)) return false;
    }
    if (group_any(worst >= NOT_FINITE)) return false;
    sum = total(sum);
    if (!isfinite(sum)) return false;
    loss = sum;
    return true;
  }

  // Looks at what does not depend on the constants; false when that is not finite, whatever they are.
  DEVICE bool prepare(const Table& data, double no_loss, double part) {
    table = data;
    exact = no_loss;
    share = part;
    whole = table.rows <= blockDim.x;
    double ignored;
    return sweep(true, false, ignored);
  }

  // The loss at x; false where the program is invalid.
  DEVICE bool measure(const double* x, double& loss) {
    copy(x, at);
    return sweep(!whole, true, loss);
  }

  // The derivative of the root by every node that moves, on the row whose values are there.
  DEVICE void pull_back() {
    for (int i = 0; i < tape.count; ++i) adjoints[i] = 0.0;
    adjoints[tape.root] = 1.0;
    for (int i = tape.count - 1; i >= 0; --i) {
      const Node node = tape.nodes[i];
      if (!(node.flags & MOVES) || !(node.flags & USED)) continue;
      const double adjoint = adjoints[i], v = values[i];
      switch (node.opcode) {
#define UNARY(CODE, VALUE, SLOPE, UNDERFLOW)       \
  case CODE: {                                     \
    const double a = values[node.operand[0]];      \
    adjoints[node.operand[0]] += adjoint * (SLOPE); \
    break;                                         \
  }
#define BINARY(CODE, VALUE, SLOPE_A, SLOPE_B, UNDERFLOW)                                             \
  case CODE: {                                                                                       \
    const double a = values[node.operand[0]], b = values[node.operand[1]];                           \
    if (tape.nodes[node.operand[0]].flags & MOVES) adjoints[node.operand[0]] += adjoint * (SLOPE_A); \
    if (tape.nodes[node.operand[1]].flags & MOVES) adjoints[node.operand[1]] += adjoint * (SLOPE_B); \
    break;                                                                                           \
  }
        OPERATIONS(UNARY, BINARY)
#undef UNARY
#undef BINARY
      }
    }
  }

  // Gradient (sum of w r df/dc) and normal matrix (sum of w df/dc df/dc') where the loss was last measured.
  NOINLINE void derive() {
    double along[MAX_K], squares[PAIRS];
    SUM_UP_TO(i, MAX_K) along[i] = 0.0;
    SUM_UP_TO(i, MAX_K) SUM_UP_TO(j, i + 1) squares[triangle(i, j)] = 0.0;
    uint32 ignored = 0;
    for (long long row = threadIdx.x; row < table.rows; row += blockDim.x) {
      if (!whole) compute(row, true, true, ignored);
      pull_back();
      const double weight = table.weight[row], off = weight * residual(row, weight);
      double slopes[MAX_K];
      SUM_UP_TO(i, MAX_K) {
        // A derivative that is not finite (that of sqrt(c*x) where x is 0) tells nothing about its row.
        const double raw = i < size ? adjoints[tape.constant_nodes[i]] : 0.0;
        slopes[i] = isfinite(raw) ? raw : 0.0;
      }
      SUM_UP_TO(i, size) {
        along[i] += off * slopes[i];
        SUM_UP_TO(j, i + 1) squares[triangle(i, j)] += weight * slopes[i] * slopes[j];
      }
    }
    SUM_UP_TO(i, size) {
      gradient[i] = total(along[i]);
      SUM_UP_TO(j, i + 1) normal[triangle(i, j)] = total(squares[triangle(i, j)]);
    }
  }

  DEVICE bool is_linear(int constant) const { return tape.linear >> constant & 1; }

  // Solves (N + damping diag N) step = gradient by Cholesky's method, for all constants or for the linear ones alone.
  // False when the matrix is singular as far as float64 shows.
  NOINLINE bool solve(double damping, bool linear_only) {
    double factor[PAIRS], found[MAX_K];
    bool regular = true;
    UP_TO(i, size) {
      const double diagonal = normal[triangle(i, i)];
      const bool held = (linear_only && !is_linear(i)) || !(diagonal > 0.0);
      UP_TO(j, i + 1) {
        const bool apart = held || (linear_only && !is_linear(j)) || !(normal[triangle(j, j)] > 0.0);
        double sum = i == j ? (held ? 1.0 : diagonal * (1.0 + damping)) : apart ? 0.0 : normal[triangle(i, j)];
        UP_TO(k, j) sum -= factor[triangle(i, k)] * factor[triangle(j, k)];
        if (i == j) {
          if (!(sum > 1e-14 * (held ? 1.0 : diagonal))) regular = false;
          factor[triangle(i, i)] = sqrt(sum);
        } else {
          factor[triangle(i, j)] = sum / factor[triangle(j, j)];
        }
      }
      double sum = held ? 0.0 : gradient[i];
      UP_TO(k, i) sum -= factor[triangle(i, k)] * found[k];
      found[i] = sum / factor[triangle(i, i)];
    }
    if (!regular) return false;
    DOWN_FROM(i, size) {
      UP_TO(k, size) if (k > i) found[i] -= factor[triangle(k, i)] * found[k];
      found[i] /= factor[triangle(i, i)];
      if (!isfinite(found[i])) regular = false;
    }
    UP_TO(i, size) step[i] = found[i];
    return regular;
  }

  // Whether the residuals are at right angles to every derivative: no constant can make them smaller.
  DEVICE bool flat(double loss) const {
    bool all = true;
    UP_TO(i, size) if (fabs(gradient[i]) > SMALL_COSINE * sqrt(normal[triangle(i, i)] * loss)) all = false;
    return all;
  }

  // Levenberg and Marquardt's method. The first step solves for the constants that enter linearly alone, the others
  // waiting where they are. It gives up when it will not come below `to_beat`.
  NOINLINE uint8 least_squares(double to_beat, double* x, double& loss) {
    bool linear_only = some_linear, fresh = true;
    double damping = linear_only ? 0.0 : FIRST_DAMPING, growth = 4.0;
    double watched = loss;  // the loss at the last multiple of WATCH steps
    for (int steps = 0; steps < options.max_steps;) {
      if (loss <= exact) return CONVERGED;
      if (fresh) derive();
      if (fresh && flat(loss)) return CONVERGED;
      fresh = false;
      double predicted = 0.0, found = 0.0;
      bool better = false;
      if (solve(damping, linear_only)) {
        UP_TO(i, size) {
          predicted += step[i] * (gradient[i] + damping * normal[triangle(i, i)] * step[i]);
          trial[i] = x[i] + step[i];
        }
        better = measure(trial, found) && found < loss;
        ++steps;
        if (steps % WATCH == 0) {
          const double needed = loss - to_beat, gain = watched - loss;
          if (needed > 0.0 && gain * (options.max_steps - steps) < needed * WATCH) return LIMIT;
          watched = loss;
        }
      }
      const bool small = predicted <= SMALL_GAIN * loss && loss - found <= SMALL_GAIN * loss;
      if (better) {
        const double ratio = (loss - found) / predicted;
        copy(trial, x);
        loss = found;
        fresh = true;
        damping *= ratio > 0.75 ? 0.1 : ratio > 0.25 ? 0.5 : 2.0;
        if (damping < LEAST_DAMPING) damping = 0.0;
        growth = 4.0;
      } else if (!linear_only) {
        damping = larger(damping, 0.1 * FIRST_DAMPING) * growth;
        growth *= 2.0;
        if (damping > MOST_DAMPING) return CONVERGED;
      }
      if (linear_only)
        damping = FIRST_DAMPING;
      else if (small && predicted > 0.0)
        return CONVERGED;
      linear_only = false;
    }
    return LIMIT;
  }

  DEVICE void look(const double* x, double step_size, Point& point);
  NOINLINE bool line_search(const double* x, Point& point, int& steps);
  DEVICE void update_inverse(double along);
  NOINLINE uint8 bfgs(double* x, double& loss);

  DEVICE void draw(int number, double* x) const;
  NOINLINE bool find_start(int first, double* x, double& loss);
  DEVICE uint8 descend(int start_number, double to_beat, double* x, double& loss);
  NOINLINE uint8 search(double* constants);
  DEVICE uint8 fit(const Table& data, const Table& sample, double no_loss, double no_sample_loss, double part,
                   double* constants);
};
