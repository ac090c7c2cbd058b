// How a fit looks at a program: the threads of a group divide the rows among them. Everything else each of them computes
// for itself (shared/fitting.hpp), from sums that are the same for all: so all take the same decisions, and nothing small
// is shared.

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

// The sums of a group, or the first of them alone, each the same in all its threads. Where there may be MANY constants,
// those of so many and of so many elements of the normal matrix.
template <bool ALL>
DEVICE void add_up(double (&sums)[SUMS], int constants, int pairs) {
#ifndef SYMSEEK_HOST
  double* scratch = (double*)shared_memory;
  if constexpr (!ALL)
    sums[0] = group_sum(sums[0], scratch);
  else if constexpr (SUMS <= 32)
    share_sums(sums);
  else {
    for (int i = 0; i <= constants; ++i) sums[i] = group_sum(sums[i], scratch);
    for (int i = 0; i < pairs; ++i) sums[1 + MAX_K + i] = group_sum(sums[1 + MAX_K + i], scratch);
  }
#endif
}

struct Looks {
  const Tape& tape;
  Table table;
  long long first_row, end_row;  // that a sweep looks at
  double exact;  // a loss that counts as none at all
  double share;  // of all rows, by weight
  double loss_parameter;
  double blur = 0.0;  // of the slopes of a corner
  int size;      // K
  static constexpr int stride = MAX_K;
  bool some_linear, all_linear;
  bool paired = true;  // whether a look with derivatives gives the normal matrix, too
  FitOptions options;
  Key key;  // names the program

  double at[MAX_K], gradient[MAX_K], normal[PAIRS];
  double next_gradient[MAX_K], next_normal[PAIRS];  // where the program was last looked at with slopes
  double start[MAX_K], best[MAX_K], trial[MAX_K], step[MAX_K];
  double direction[MAX_K], slope[MAX_K], slope_before[MAX_K], work[MAX_K], inverse[MAX_K * MAX_K];

  DEVICE Looks(const Tape& one, const FitOptions& given, const Key& name)
      : tape(one), size(one.size), options(given), key(name) {
    some_linear = tape.linear != 0;
    all_linear = __popcll(tape.linear) == size;
  }

  // Looks at the program on its rows: its loss at `at` and, with SLOPES, next_gradient and next_normal. False when a value is not finite on some row, or the loss is not.
  template <bool SLOPES>
  DEVICE bool sweep(double& loss) {
    uint32 worst = 0;
    int pass = 0;
    const int count = summed(size), pairs = MANY && !paired ? 0 : triangle(count, 0);
    double sums[SUMS];
    if constexpr (MANY) {
      for (int i = 0; i <= count; ++i) sums[i] = 0.0;
      for (int i = 0; i < pairs; ++i) sums[1 + MAX_K + i] = 0.0;
    } else {
      _Pragma("unroll ALL_UNROLLED") for (int i = 0; i < SUMS; ++i) sums[i] = 0.0;
    }
    const Rows rows(table, first_row, end_row);
    for (int begin = threadIdx.x; begin - (int)threadIdx.x < rows.count; begin += blockDim.x * ROWS) {
      int row[ROWS];
      double value[ROWS], slopes[ROWS][MAX_K];
      // Beyond the end the last row comes again, and counts nothing.
      EACH_ROW row[r] = smaller(begin + r * (int)blockDim.x, rows.count - 1);
      run<SLOPES>(rows, at, row, value, slopes, worst);
      EACH_ROW {
        const double weight = begin + r * (int)blockDim.x < rows.count ? __ldg(rows.weight + row[r]) : 0.0;
        const bool counts = weight != 0.0;  // rows that weigh nothing have no loss, even where it overflows
        const double wanted = __ldg(rows.target + row[r]), off = counts ? wanted - value[r] : 0.0;
        const Row<double> one = row_of(wanted, value[r], off, loss_parameter, blur);
        sums[0] += counts ? weight * FIT_LOSS::value(one) : 0.0;
        if (SLOPES) {
          const Slopes<double> of_loss = FIT_LOSS::slopes(one);
          const double pull = counts ? of_loss.pull : 0.0, bend = counts ? of_loss.bend : 0.0;
          SUM_UP_TO(i, count) {
            // A derivative that is not finite (that of sqrt(c*x) where x is 0) tells nothing about its row.
            if (!isfinite(slopes[r][i])) slopes[r][i] = 0.0;
            sums[1 + i] += weight * slopes[r][i] * pull;
            const double weighted = weight * bend * slopes[r][i];
            if (!MANY || paired) SUM_UP_TO(j, i + 1) sums[1 + MAX_K + triangle(i, j)] += weighted * slopes[r][j];
          }
        }
      }
      if (++pass % 8 == 0 && group_any(worst >= NOT_FINITE)) return false;
    }
    if (group_any(worst >= NOT_FINITE)) return false;
    add_up<SLOPES>(sums, count, pairs);
    loss = sums[0];
    if (SLOPES) SUM_UP_TO(i, count) {
      next_gradient[i] = sums[1 + i];
      if (!MANY || paired) SUM_UP_TO(j, i + 1) next_normal[triangle(i, j)] = sums[1 + MAX_K + triangle(i, j)];
    }
    return isfinite(loss);
  }
  NOINLINE bool plain_sweep(double& loss) { return sweep<false>(loss); }
  NOINLINE bool sloped_sweep(double& loss) { return sweep<true>(loss); }

  // From now on these rows count.
  DEVICE void prepare(const Table& data, double no_loss, double part, double parameter) {
    table = data;
    first_row = 0;
    end_row = data.rows;
    exact = no_loss;
    share = part;
    loss_parameter = parameter;
  }

  // The loss at x; false where the program is invalid.
  DEVICE bool measure(const double* x, double& loss) {
    UP_TO(i, size) at[i] = x[i];
    double found;
    if (!plain_sweep(found)) return false;
    loss = found;
    return true;
  }

  // The same, with derivatives. Most steps are good ones, so that each trial is looked at so.
  DEVICE bool look_at(const double* x, double& loss) {
    UP_TO(i, size) at[i] = x[i];
    double found;
    if (!sloped_sweep(found)) return false;
    loss = found;
    return true;
  }
  DEVICE void see_slopes() {}
  // BFGS needs no normal matrix, whose sums are most of what a look at MANY constants takes.
  DEVICE void pair(bool wanted) { paired = wanted; }
  DEVICE void take() {
    SUM_UP_TO(i, summed(size)) {
      gradient[i] = next_gradient[i];
      if (!MANY || paired) SUM_UP_TO(j, i + 1) normal[triangle(i, j)] = next_normal[triangle(i, j)];
    }
  }

  DEVICE bool is_linear(int constant) const { return tape.linear >> constant & 1; }
  DEVICE int first(int) const { return 0; }  // no numbers of groups here: the matrix is full
  DEVICE int entry(int row, int column) const { return triangle(row, column); }
  DEVICE void alike(double*) const {}
  DEVICE bool cornered() const { return has_corner(LossKind::FIT_LOSS_NAME); }
  DEVICE bool squares() const { return is_square(LossKind::FIT_LOSS_NAME); }
  DEVICE double rows() const { return double(table.rows); }
  DEVICE double low(int i) const { return options.low[i]; }
  DEVICE double high(int i) const { return options.high[i]; }
};

struct Solution {
  DEVICE explicit Solution(const Looks&) {}
  double factor[PAIRS], found[MAX_K];
};
