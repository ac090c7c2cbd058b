// Programs on data, in float64: sums of errors, and predictions. A group of threads works on one program, each of them
// on ROWS rows at a time, with the last value of the stack in registers.
//
// A program is invalid when any value at any node is not finite on any row; with STRICT, also where it underflows.

struct TokenSteps {
  Walk walk;

  DEVICE bool next(Step& step, Operands&) { return walk.next(step); }
};

// The values of a program on some rows.
DEVICE void run_rows(const Program& program, const Rows& rows, const int (&row)[ROWS], double (&top)[ROWS],
                     uint32& worst) {
  double none[ROWS][MAX_K];
  TokenSteps steps{Walk(program)};
  read_program<false, false, ROWS>(steps, rows, program.constants, 0, row, top, none, worst);
}

// The rows of this thread from `begin` on; beyond the end the last row again, which changes nothing.
DEVICE void take_rows(int begin, int end, int (&row)[ROWS]) {
  EACH_ROW {
    row[r] = begin + threadIdx.x + r * blockDim.x;
    if (row[r] >= end) row[r] = end - 1;
  }
}

// Sums of each loss over parts of the rows, by their weights: losses [LOSSES, parts, P], ok [parts, P]. A program that
// one part has found invalid is skipped by parts that begin later, where `stopped` [P] is given.
KERNEL errors(BATCH_PARAMETERS, TABLE_PARAMETERS, long long part_rows, const double* parameters, double* losses,
              uint8* ok, uint8* stopped) {
  const Batch batch BATCH;
  const Table tables TABLE;
  const long long parts = (rows + part_rows - 1) / part_rows;
  for (long long item = group_index(); item < programs * parts; item += group_count()) {
    const long long p = item % programs, start = item / programs * part_rows;
    if (!batch.has(p)) continue;
    bool good = !stopped || !group_any(stopped[p]);
    double sums[LOSSES] = {};
    if (good) {
      const Program program(batch, p);
      const Table table = tables.of(batch.data(p));
      const Rows part(table, start, start + part_rows < rows ? start + part_rows : rows);
      uint32 worst = 0;
      for (int begin = 0; begin < part.count && good; begin += blockDim.x * ROWS) {
        int row[ROWS];
        double value[ROWS];
        take_rows(begin, part.count, row);
        run_rows(program, part, row, value, worst);
        for (int r = 0; r < ROWS && target; ++r) {
          const double weight = part.weight[row[r]];
          // A row that weighs nothing must add nothing, even where its residual overflows.
          if (begin + threadIdx.x + r * blockDim.x >= part.count || weight == 0.0) continue;
          const double wanted = part.target[row[r]], residual = wanted - value[r];
#define X(PLACE, NAME) \
  sums[PLACE] += weight * NAME##_loss::value(row_of(wanted, value[r], residual, parameters[PLACE], 0.0));
          EACH_LOSS(X)
#undef X
        }
        good = !group_any(worst >= NOT_FINITE);
      }
      for (int loss = 0; loss < LOSSES; ++loss) sums[loss] = group_sum(sums[loss], sum_scratch());
    }
    if (threadIdx.x == 0) {
      for (int loss = 0; loss < LOSSES; ++loss)
        losses[loss * programs * parts + item] = good ? sums[loss] : infinity();
      ok[item] = good;
      if (stopped && !good) stopped[p] = 1;
    }
  }
}

// Adds up the parts in their order, on top of what is there already if `more`.
KERNEL add_parts(const double* part_losses, const uint8* part_ok, int parts, const int* lengths,
                 long long programs, int per_run, const uint8* active, int more, double* losses, uint8* ok) {
  for (long long p = (long long)blockIdx.x * blockDim.x + threadIdx.x; p < programs;
       p += (long long)gridDim.x * blockDim.x) {
    if (lengths[p] == 0 || (active && !active[p / per_run])) continue;
    bool good = more ? ok[p] : true;
    for (int part = 0; part < parts && good; ++part) good = part_ok[part * programs + p];
    for (int loss = 0; loss < LOSSES; ++loss) {
      double sum = more ? losses[loss * programs + p] : 0.0;
      for (int part = 0; part < parts && good; ++part) sum += part_losses[(loss * parts + part) * programs + p];
      losses[loss * programs + p] = good ? sum : infinity();
    }
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
    const Rows part(table, start, start + part_rows < rows ? start + part_rows : rows);
    uint32 worst = 0;
    for (int begin = 0; begin < part.count; begin += blockDim.x * ROWS) {
      int row[ROWS];
      double value[ROWS];
      take_rows(begin, part.count, row);
      run_rows(program, part, row, value, worst);
      for (int r = 0; r < ROWS; ++r)  // beyond the end another thread writes this row
        if (begin + threadIdx.x + r * blockDim.x < part.count) values[p * rows + start + row[r]] = value[r];
    }
    if (worst >= NOT_FINITE) ok[p] = 0;
  }
}

// A fit that found nothing valid has no errors, and one whose end is not valid has failed.
KERNEL judge_fits(const int* lengths, long long programs, int per_run, const uint8* active, uint8* status,
                  double* losses, uint8* ok) {
  const uint8 invalid = (uint8)FitStatus::invalid;
  for (long long p = (long long)blockIdx.x * blockDim.x + threadIdx.x; p < programs;
       p += (long long)gridDim.x * blockDim.x) {
    if (lengths[p] == 0 || (active && !active[p / per_run])) continue;
    if (status[p] != invalid && ok[p]) continue;
    status[p] = invalid;
    ok[p] = 0;
    for (int loss = 0; loss < LOSSES; ++loss) losses[loss * programs + p] = infinity();
  }
}
