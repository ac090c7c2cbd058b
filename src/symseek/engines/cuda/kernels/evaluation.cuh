// Programs on data, in float64: sums of errors, and predictions. A group of threads works on one program, each of them
// on ROWS rows at a time, with the last value of the stack in registers.
//
// A program is invalid when any value at any node is not finite on any row; with STRICT, also where it underflows.

// A value below the least normal number has underflowed, where it is not 0 by its operands.
DEVICE bool is_tiny(double value) { return size_of(value) < 0x00100000u; }

// The values of a program on some rows.
DEVICE void run_rows(const Program& program, const Table& table, const long long (&row)[ROWS], double (&top)[ROWS],
                     uint32& worst) {
  double stack[STACK][ROWS];  // below the top; the first entry is no value
  int height = 0;
  for (int r = 0; r < ROWS; ++r) top[r] = 0.0;
  Step step;
  for (Walk walk(program); walk.next(step);) {
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
        const double value = program.constants[step.index];
        for (int r = 0; r < ROWS; ++r) top[r] = value;
        break;
      }
      case ARGUMENT:  // a copy of an operand of the formula
        for (int r = 0; r < ROWS; ++r) top[r] = stack[height - 1 - step.index][r];
        break;
      case FINISH: height -= step.index; break;  // the value of the formula replaces its operands
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
#define X(PLACE, NAME) sums[PLACE] += weight * NAME##_loss::value(residual, parameters[PLACE]);
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
    const long long end = start + part_rows < rows ? start + part_rows : rows;
    uint32 worst = 0;
    for (long long begin = start; begin < end; begin += (long long)blockDim.x * ROWS) {
      long long row[ROWS];
      double value[ROWS];
      take_rows(begin, end, row);
      run_rows(program, table, row, value, worst);
      for (int r = 0; r < ROWS; ++r)  // beyond the end another thread writes this row
        if (begin + threadIdx.x + (long long)r * blockDim.x < end) values[p * rows + row[r]] = value[r];
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
