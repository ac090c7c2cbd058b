// The kernels that fit a batch. On few rows one kernel does a whole fit. On many, the search for a start, which takes
// most of the looks, sees a sample of the rows. The descent on all rows follows, a launch for each look: blocks share
// out the rows in chunks of fixed size, and the last block that is done with a program adds up the chunks in their order
// and takes the step. So a few programs keep all blocks busy, and sums do not depend on how many blocks there are.
constexpr int WHOLE = 0, START = 1, REST = 2;                      // what a launch of `fit` does
constexpr int BEGINNING = 0, GUESSING = 1, DESCENDING = 2, DONE = 3;  // what a descent looks at next

// Programs `from` to `to` of a batch are fitted; descents are theirs.
#define FIT_PARAMETERS                                                                                          \
  const double *exact, double loss_parameter, const double *scale, double power, int method, int restarts, int max_steps, int rescue, \
      uint8 *status, char *descents, long long from, long long to

struct Descent {  // in global memory, one for each program
  Progress now;
  double x[MAX_K], trial[MAX_K], guess[MAX_K];
  double loss, gradient[MAX_K], normal[PAIRS];
  int phase;
  uint32 arrived;  // blocks that are done with their chunk
  Tape tape;
};
static_assert(sizeof(Descent) <= DESCENT_BYTES, "the host reserves too little memory");

DEVICE Descent& descent_of(char* descents, long long number) { return *(Descent*)(descents + number * DESCENT_BYTES); }

// By all threads of a group.
DEVICE void copy_tape(const Tape& from, Tape& to) {
  for (int i = threadIdx.x; i < from.count; i += blockDim.x) {
    to.steps[i] = from.steps[i];
    to.operands[i] = from.operands[i];
  }
  if (threadIdx.x > 0) return;
  to.count = from.count;
  to.size = from.size;
  to.linear = from.linear;
}

// Fits programs with LEAST_K to MAX_K constants, from those that they have, in place: the WHOLE fit on all rows, the
// START of a descent from what a sample tells, or the REST, what a descent has LEFT. The kernel for the fewest also
// says of programs without constants that there was nothing to fit, and of those with more than `most` that they were
// left as they are.
KERNEL __launch_bounds__(MOST_THREADS) fit(BATCH_PARAMETERS, TABLE_PARAMETERS, FIT_PARAMETERS,
                                           const double* sample_columns, const double* sample_target,
                                           const double* sample_weight, long long sample_rows,
                                           const double* sample_exact, const double* share, int most, int task) {
  const Batch batch BATCH;
  const Table tables TABLE;
  const Table samples{sample_columns, sample_target, sample_weight, variables, sample_rows, 0, sample_rows};
  Tape& tape = own_tape();
  for (long long p = from + group_index(); p < to; p += group_count()) {
    Descent* descent = task == START ? &descent_of(descents, p - from) : nullptr;
    if (descent && threadIdx.x == 0) descent->phase = DONE;
    if (!batch.has(p)) continue;
    const Program program(batch, p);
    const int count = program.constant_count;
    if (count < LEAST_K || count > MAX_K) {
      if (LEAST_K == 1 && threadIdx.x == 0 && (count == 0 || count > most))
        status[p] = uint8(count == 0 ? FitStatus::converged : FitStatus::limit);
      continue;
    }
    const int data = batch.data(p);
    if (task == REST && status[p] != uint8(FitStatus::left)) continue;
    group_sync();  // others may still read the tape before, and the status
    if (task == START && !(share[data] > 0.0)) {  // the sample tells nothing
      if (threadIdx.x == 0) status[p] = uint8(FitStatus::left);
      continue;
    }
    if (threadIdx.x == 0) read_tape(tape, program);
    group_sync();
    const FitOptions options{FitMethod(method), restarts, max_steps, rescue != 0, scale[data], power};
    Fitter fitter(tape, options, program_key(program.tokens, program.length, nullptr, 0, 0));
    if (descent)
      fitter.prepare(samples.of(data), sample_exact[data], share[data], loss_parameter);
    else
      fitter.prepare(tables.of(data), exact[data], 1.0, loss_parameter);
    double* own = constants + p * constant_width;
    double x[MAX_K];
    fitter.copy(own, x);
    const FitStatus ended = fitter.search(x);
    group_sync();  // all have read the constants
    if (descent) copy_tape(tape, descent->tape);
    if (threadIdx.x > 0) continue;
    if (descent) {
      fitter.copy(own, descent->trial);
      fitter.copy(x, descent->guess);
      descent->arrived = 0;
      descent->now.blur = 0.0;
      descent->phase = BEGINNING;
    } else {
      status[p] = uint8(ended);
      if (ended != FitStatus::invalid) fitter.copy(x, own);
    }
  }
}

// Takes a descent on from where its trial was looked at; by one thread. `valid` says whether, with the loss `found`.
DEVICE FitStatus stepped(Fitter& fitter, Descent& descent, bool valid, double found) {
  fitter.copy(descent.trial, fitter.trial);
  if (descent.phase == BEGINNING) {
    if (!valid && !fitter.options.rescue) return FitStatus::invalid;
    fitter.copy(descent.trial, descent.x);
    descent.loss = valid ? found : infinity();
    fitter.take();
    fitter.copy(descent.guess, fitter.trial);
    descent.phase = GUESSING;
    return FitStatus::goes_on;
  }
  if (descent.phase == DESCENDING) {
    const FitStatus ended = fitter.judge(descent.now, valid, valid ? found : 0.0, descent.x, descent.loss);
    return ended == FitStatus::goes_on ? fitter.propose(descent.now, descent.x, descent.loss) : ended;
  }
  const bool better = valid && found < descent.loss;
  if (better) {
    fitter.copy(descent.guess, descent.x);
    descent.loss = found;
  }
  if (!isfinite(descent.loss)) return FitStatus::left;  // the rows left out of the sample decide
  descent.phase = DESCENDING;
  descent.now = fitter.begin(infinity(), descent.loss, better);
  return fitter.propose(descent.now, descent.x, descent.loss);
}

// The same with what is kept between launches; `sums` are those of all rows.
DEVICE void take_step(Fitter& fitter, Descent& descent, const double* sums, double* own, uint8* status) {
  SUM_UP_TO(i, summed(fitter.size)) {
    fitter.next_gradient[i] = sums[1 + i];
    fitter.gradient[i] = descent.gradient[i];
  }
  const int pairs = triangle(summed(fitter.size), 0);
  for (int i = 0; i < pairs; ++i) {
    fitter.next_normal[i] = sums[1 + MAX_K + i];
    fitter.normal[i] = descent.normal[i];
  }
  const FitStatus ended = stepped(fitter, descent, isfinite(sums[0]), sums[0]);
  if (ended == FitStatus::goes_on) {
    fitter.copy(fitter.trial, descent.trial);
    SUM_UP_TO(i, summed(fitter.size)) descent.gradient[i] = fitter.gradient[i];
    for (int i = 0; i < pairs; ++i) descent.normal[i] = fitter.normal[i];
    return;
  }
  descent.phase = DONE;
  *status = uint8(ended);
  if (ended == FitStatus::converged || ended == FitStatus::limit) fitter.copy(descent.x, own);
}

// One look at all rows, and the step after it, for every descent that goes on. parts is [P, chunks, SUMS].
KERNEL __launch_bounds__(MOST_THREADS)
    take_steps(BATCH_PARAMETERS, TABLE_PARAMETERS, FIT_PARAMETERS, long long chunk_rows, int chunks, double* parts) {
  const Batch batch BATCH;
  const Table tables TABLE;
  Tape& tape = own_tape();
  for (long long item = blockIdx.x; item < (to - from) * chunks; item += gridDim.x) {
    const long long number = item / chunks, p = from + number;
    Descent& descent = descent_of(descents, number);
    if (descent.phase == DONE) continue;
    group_sync();  // others may still read the tape before
    copy_tape(descent.tape, tape);
    group_sync();
    const int data = batch.data(p);
    const FitOptions options{FitMethod(method), restarts, max_steps, rescue != 0, scale[data], power};
    Fitter fitter(tape, options, Key{0, 0});
    fitter.prepare(tables.of(data), exact[data], 1.0, loss_parameter);
    fitter.first_row = item % chunks * chunk_rows;
    fitter.end_row = fitter.first_row + chunk_rows < rows ? fitter.first_row + chunk_rows : rows;
    double loss = 0.0;
    fitter.blur = descent.now.blur;
    const bool valid = fitter.look_at(descent.trial, loss);
    double* sums = parts + item * SUMS;
    if (threadIdx.x == 0) {
      sums[0] = valid ? loss : infinity();
      const int count = summed(fitter.size), pairs = triangle(count, 0);
      SUM_UP_TO(i, count) sums[1 + i] = fitter.next_gradient[i];
      for (int i = 0; i < pairs; ++i) sums[1 + MAX_K + i] = fitter.next_normal[i];
    }
    if (!last_to_arrive(descent.arrived, chunks)) continue;
    double* whole = (double*)shared_memory;  // [SUMS]
    for (int i = threadIdx.x; i < SUMS; i += blockDim.x) {
      double sum = 0.0;
      _Pragma("unroll 16")  // so that reads need not wait for one another
      for (int chunk = 0; chunk < chunks; ++chunk) sum += parts[(number * chunks + chunk) * SUMS + i];
      whole[i] = sum;
    }
    group_sync();
    if (threadIdx.x > 0) continue;
    descent.arrived = 0;
    take_step(fitter, descent, whole, constants + p * constant_width, status + p);
  }
}
