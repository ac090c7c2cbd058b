// The constants of a program, fitted to data by its exact derivatives. The threads of a group divide the rows among
// them. Everything else each of them computes for itself, from sums that are the same for all: so all take the same
// decisions, and nothing small is shared.
#ifdef SYMSEEK_HOST
#define NOINLINE
#else
#define NOINLINE __device__ __noinline__
#endif

constexpr uint8 CONVERGED = 0, LIMIT = 1, INVALID = 2;
constexpr uint8 LEFT = 3, GOES_ON = 4;  // between kernels, and within one; no fit ends so
constexpr int MIXED = 0, LEAST_SQUARES = 1, BFGS = 2, PROJECTED = 3;

constexpr int WATCH = 4;  // a descent that trails another is watched: how far it gains over this many steps
constexpr double SMALL_GAIN = 1e-13;    // of the loss, predicted and made: converged
constexpr double SMALL_COSINE = 1e-7;   // between residuals and derivatives: converged
constexpr double WORTH = 0.1;  // a trial is projected where that gains more than this share of what the trial gained
constexpr double FIRST_DAMPING = 1e-3;
constexpr double LEAST_DAMPING = 1e-9;  // below this, none
constexpr double MOST_DAMPING = 1e12;   // no step this short helps: a minimum as far as float64 can tell

DEVICE int triangle(int row, int column) { return row * (row + 1) / 2 + column; }
DEVICE double larger(double a, double b) { return a < b ? b : a; }
template <class N>
DEVICE N smaller(N a, N b) {
  return b < a ? b : a;
}

// What a look at all rows adds up: the loss, then the gradient, then the normal matrix row by row.
constexpr int SUMS = 1 + MAX_K + PAIRS, ALL_UNROLLED = MAX_K <= 8 ? SUMS : 1;

#ifndef SYMSEEK_HOST
// The sum over a warp of one of up to 32 values: lane i is given that of values[i]. In each round a lane hands half of
// what it has to another and takes the other half of that one's, so that there is half as much to do in the next.
template <int HALF>
DEVICE double warp_share(double (&values)[SUMS]) {
  const bool upper = threadIdx.x & HALF;
  _Pragma("unroll HALF") for (int i = 0; i < HALF; ++i) if (i < SUMS) {
    const double low = values[i], high = i + HALF < SUMS ? values[i + HALF < SUMS ? i + HALF : 0] : 0.0;
    values[i] = (upper ? high : low) + __shfl_xor_sync(0xffffffffu, upper ? low : high, HALF);
  }
  if constexpr (HALF > 1) return warp_share<HALF / 2>(values);
  return values[0];
}

// The sums of a group, each the same in all its threads.
DEVICE void share_sums(double (&sums)[SUMS]) {
  const double own = warp_share<16>(sums);
  const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
  if (warps == 1) {
    _Pragma("unroll ALL_UNROLLED") for (int i = 0; i < SUMS; ++i) sums[i] = __shfl_sync(0xffffffffu, own, i);
    return;
  }
  double* scratch = (double*)shared_memory;  // [warps, SUMS]
  __syncthreads();  // it may still be read
  if (lane < SUMS) scratch[threadIdx.x / 32 * SUMS + lane] = own;
  __syncthreads();
  if (threadIdx.x < SUMS) {
    double sum = 0.0;
    for (int warp = 0; warp < warps; ++warp) sum += scratch[warp * SUMS + threadIdx.x];
    scratch[threadIdx.x] = sum;
  }
  __syncthreads();
  _Pragma("unroll ALL_UNROLLED") for (int i = 0; i < SUMS; ++i) sums[i] = scratch[i];
}
#endif

// The sums of a group, or the first of them alone, each the same in all its threads.
template <bool ALL>
DEVICE void add_up(double (&sums)[SUMS]) {
#ifndef SYMSEEK_HOST
  double* scratch = (double*)shared_memory;
  if constexpr (!ALL)
    sums[0] = group_sum(sums[0], scratch);
  else if constexpr (SUMS <= 32)
    share_sums(sums);
  else
    for (int i = 0; i < SUMS; ++i) sums[i] = group_sum(sums[i], scratch);
#endif
}

struct FitOptions {
  int method, restarts, max_steps, rescue;
  double scale, power;  // BFGS minimises -1 / (1 + (loss / scale)^power): minus the reward
};

struct Point;

// What a step is solved for: all constants, damped; the linear ones alone, the others held; or all, of which only those
// that are not linear are damped.
enum class System { all, linear, projected };

// Where a descent by least squares is.
struct Progress {
  double to_beat, damping, growth;
  double watched;    // the loss at the last multiple of WATCH steps
  double predicted;  // gain of the step that is tried
  int steps;
  bool linear_only;  // the constants that enter linearly are solved for, the others wait
  bool fresh;        // the derivatives are new
  bool again;        // the trial is projected and waits for its second look

  // A shorter step next time; false when it is as short as can be.
  DEVICE bool shorten() {
    damping = larger(damping, 0.1 * FIRST_DAMPING) * growth;
    growth *= 2.0;
    return !(damping > MOST_DAMPING);
  }
};

struct Fitter {
  const Tape& tape;
  Table table;
  long long first_row, end_row;  // that a sweep looks at
  double exact;  // a loss that counts as none at all
  double share;  // of all rows, by weight
  int size;      // K
  bool some_linear, all_linear;
  FitOptions options;
  uint64 key_low, key_high;  // name the program: random starts depend on nothing else

  double at[MAX_K], gradient[MAX_K], normal[PAIRS];
  double next_gradient[MAX_K], next_normal[PAIRS];  // where the program was last looked at with slopes
  double start[MAX_K], best[MAX_K], trial[MAX_K], step[MAX_K];
  double direction[MAX_K], slope[MAX_K], slope_before[MAX_K], work[MAX_K], inverse[MAX_K * MAX_K];

  DEVICE Fitter(const Tape& one, const FitOptions& given, uint64 low, uint64 high)
      : tape(one), size(one.size), options(given), key_low(low), key_high(high) {
    some_linear = tape.linear != 0;
    all_linear = __popcll(tape.linear) == size;
  }

  DEVICE void copy(const double* from, double* to) const { UP_TO(i, size) to[i] = from[i]; }

  // Looks at the program on its rows: its loss at `at` and, with SLOPES, next_gradient (sum of w r df/dc) and next_normal
  // (sum of w df/dc df/dc'). False when a value is not finite on some row, or the loss is not.
  template <bool SLOPES>
  DEVICE bool sweep(double& loss) {
    uint32 worst = 0;
    int pass = 0;
    double sums[SUMS];
    _Pragma("unroll ALL_UNROLLED") for (int i = 0; i < SUMS; ++i) sums[i] = 0.0;
    const Rows rows(table, first_row, end_row);
    for (int begin = threadIdx.x; begin - (int)threadIdx.x < rows.count; begin += blockDim.x * ROWS) {
      int row[ROWS];
      double value[ROWS], slopes[ROWS][MAX_K];
      // Beyond the end the last row comes again, and counts nothing.
      EACH_ROW row[r] = smaller(begin + r * (int)blockDim.x, rows.count - 1);
      run<SLOPES>(rows, at, row, value, slopes, worst);
      EACH_ROW {
        const double weight = begin + r * (int)blockDim.x < rows.count ? __ldg(rows.weight + row[r]) : 0.0;
        // Rows that weigh nothing have no residual, even where it overflows.
        const double off = weight == 0.0 ? 0.0 : __ldg(rows.target + row[r]) - value[r];
        sums[0] += weight * (off * off);
        if (SLOPES) SUM_UP_TO(i, MAX_K) {
          // A derivative that is not finite (that of sqrt(c*x) where x is 0) tells nothing about its row.
          if (!isfinite(slopes[r][i])) slopes[r][i] = 0.0;
          const double weighted = weight * slopes[r][i];
          sums[1 + i] += weighted * off;
          SUM_UP_TO(j, i + 1) sums[1 + MAX_K + triangle(i, j)] += weighted * slopes[r][j];
        }
      }
      if (++pass % 8 == 0 && group_any(worst >= NOT_FINITE)) return false;
    }
    if (group_any(worst >= NOT_FINITE)) return false;
    add_up<SLOPES>(sums);
    loss = sums[0];
    if (SLOPES) SUM_UP_TO(i, MAX_K) {
      next_gradient[i] = sums[1 + i];
      SUM_UP_TO(j, i + 1) next_normal[triangle(i, j)] = sums[1 + MAX_K + triangle(i, j)];
    }
    return isfinite(loss);
  }
  NOINLINE bool plain_sweep(double& loss) { return sweep<false>(loss); }
  NOINLINE bool sloped_sweep(double& loss) { return sweep<true>(loss); }

  // From now on these rows count.
  DEVICE void prepare(const Table& data, double no_loss, double part) {
    table = data;
    first_row = 0;
    end_row = data.rows;
    exact = no_loss;
    share = part;
  }

  // The loss at x; false where the program is invalid.
  DEVICE bool measure(const double* x, double& loss) {
    copy(x, at);
    double found;
    if (!plain_sweep(found)) return false;
    loss = found;
    return true;
  }

  // The same, with derivatives that `take` makes the present ones.
  DEVICE bool look_at(const double* x, double& loss) {
    copy(x, at);
    double found;
    if (!sloped_sweep(found)) return false;
    loss = found;
    return true;
  }
  DEVICE void take() {
    SUM_UP_TO(i, MAX_K) {
      gradient[i] = next_gradient[i];
      SUM_UP_TO(j, i + 1) normal[triangle(i, j)] = next_normal[triangle(i, j)];
    }
  }

  DEVICE bool is_linear(int constant) const { return tape.linear >> constant & 1; }

  DEVICE bool damped(int constant, System system) const { return system == System::all || !is_linear(constant); }

  // Solves (N + damping D) step = gradient by Cholesky's method; D is the diagonal of N where constants are damped. False
  // when the matrix is singular as far as float64 shows. With `spares`, a linear constant that does what others before it
  // do is held instead. `of_trial` takes the derivatives of the last look.
  NOINLINE bool solve(double damping, System system, bool spares, bool of_trial) {
    const double *const gradient = of_trial ? next_gradient : this->gradient;
    const double *const normal = of_trial ? next_normal : this->normal;
    const bool linear_only = system == System::linear;
    double factor[PAIRS], found[MAX_K];
    bool regular = true;
    UP_TO(i, size) {
      const double diagonal = normal[triangle(i, i)];
      const double added = damped(i, system) ? damping : 0.0;
      const bool held = (linear_only && !is_linear(i)) || !(diagonal > 0.0);
      UP_TO(j, i + 1) {
        const bool apart = held || (linear_only && !is_linear(j)) || !(normal[triangle(j, j)] > 0.0);
        double sum = i == j ? (held ? 1.0 : diagonal * (1.0 + added)) : apart ? 0.0 : normal[triangle(i, j)];
        UP_TO(k, j) sum -= factor[triangle(i, k)] * factor[triangle(j, k)];
        if (i == j) {
          const bool spare = !(sum > 1e-14 * (held ? 1.0 : diagonal));
          if (spare && !(spares && is_linear(i))) regular = false;
          factor[triangle(i, i)] = spare ? infinity() : sqrt(sum);  // divided by it, all that is linked to it is 0
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
  DEVICE bool solve(double damping, bool linear_only) {
    return solve(damping, linear_only ? System::linear : System::all, false, false);
  }

  // Moves the linear constants of the trial, which was looked at last, to their best values for the others that it has:
  // the program is affine in them, so one step does it. False where that gains too little or cannot be solved for.
  NOINLINE bool project(double loss, double found) {
    if (!solve(0.0, System::linear, true, true)) return false;
    double gain = 0.0;
    UP_TO(i, size) gain += step[i] * next_gradient[i];
    if (!(gain > WORTH * (loss - found))) return false;
    UP_TO(i, size) trial[i] += step[i];
    return true;
  }

  // Whether the residuals are at right angles to every derivative: no constant can make them smaller.
  DEVICE bool flat(double loss) const {
    bool all = true;
    UP_TO(i, size) if (fabs(gradient[i]) > SMALL_COSINE * sqrt(normal[triangle(i, i)] * loss)) all = false;
    return all;
  }

  // Levenberg and Marquardt's method, in parts between which the program is looked at. The first step solves for the
  // constants that enter linearly alone, the others waiting where they are. Variable projection damps only the others
  // from then on, and looks at a trial a second time with its linear constants solved for. Each look is a step.
  DEVICE Progress begin(double to_beat, double loss) const {
    return Progress{to_beat, some_linear ? 0.0 : FIRST_DAMPING, 4.0, loss, 0.0, 0, some_linear, true, false};
  }

  // Puts the next place to look at into `trial`, or says how the descent has ended.
  NOINLINE uint8 propose(Progress& now, const double* x, double loss) {
    if (now.again) return GOES_ON;  // `judge` has put it there
    while (now.steps < options.max_steps) {
      if (loss <= exact || (now.fresh && flat(loss))) return CONVERGED;
      now.fresh = false;
      const System system = now.linear_only ? System::linear : projects() ? System::projected : System::all;
      if (solve(now.damping, system, projects(), false)) {
        now.predicted = 0.0;
        UP_TO(i, size) {
          const double pull = damped(i, system) ? now.damping * normal[triangle(i, i)] * step[i] : 0.0;
          now.predicted += step[i] * (gradient[i] + pull);
          trial[i] = x[i] + step[i];
        }
        return GOES_ON;
      }
      if (!now.linear_only && !now.shorten()) return CONVERGED;
      if (now.linear_only) now.damping = FIRST_DAMPING;
      now.linear_only = false;
    }
    return LIMIT;
  }

  DEVICE bool projects() const { return options.method == PROJECTED && some_linear && !all_linear; }

  // Goes to the trial if it is better: `found` is its loss, 0 where it is invalid. Gives up when the descent will not
  // come below what it must beat. A projected fit first asks for a second look, unless no step is left for it.
  NOINLINE uint8 judge(Progress& now, bool valid, double found, double* x, double& loss) {
    if (++now.steps % WATCH == 0) {
      const double needed = loss - now.to_beat, gain = now.watched - loss;
      if (needed > 0.0 && gain * (options.max_steps - now.steps) < needed * WATCH) return LIMIT;
      now.watched = loss;
    }
    const bool first = projects() && !now.linear_only && !now.again;
    now.again = first && valid && now.steps < options.max_steps && project(loss, found);
    if (now.again) return GOES_ON;
    const bool small = now.predicted <= SMALL_GAIN * loss && loss - found <= SMALL_GAIN * loss;
    if (valid && found < loss) {
      const double ratio = (loss - found) / now.predicted;
      copy(trial, x);
      take();
      loss = found;
      now.fresh = true;
      now.damping *= ratio > 0.75 ? 0.1 : ratio > 0.25 ? 0.5 : 2.0;
      if (now.damping < LEAST_DAMPING) now.damping = 0.0;
      now.growth = 4.0;
    } else if (!now.linear_only && !now.shorten()) {
      return CONVERGED;
    }
    if (now.linear_only)
      now.damping = FIRST_DAMPING;
    else if (small && now.predicted > 0.0)
      return CONVERGED;
    now.linear_only = false;
    return GOES_ON;
  }

  // Most steps are good ones, so that each trial is looked at with its derivatives, which the next step needs; `looked`
  // says that x was the last one.
  NOINLINE uint8 least_squares(double to_beat, bool looked, double* x, double& loss) {
    if (!looked) look_at(x, loss);
    take();
    Progress now = begin(to_beat, loss);
    uint8 ended = propose(now, x, loss);
    while (ended == GOES_ON) {
      double found = 0.0;
      const bool valid = look_at(trial, found);
      ended = judge(now, valid, found, x, loss);
      if (ended == GOES_ON) ended = propose(now, x, loss);
    }
    return ended;
  }

  DEVICE void look(const double* x, double step_size, Point& point);
  NOINLINE bool line_search(const double* x, Point& point, int& steps);
  DEVICE void update_inverse(double along);
  NOINLINE uint8 bfgs(double* x, double& loss);

  DEVICE void draw(int number, double* x) const;
  NOINLINE bool find_start(int first, double* x, double& loss);
  DEVICE uint8 descend(int start_number, double to_beat, bool looked, double* x, double& loss);
  NOINLINE uint8 search(double* constants);
};
