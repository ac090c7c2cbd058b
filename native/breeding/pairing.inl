// Which of many programs does one program lack? Lanes run over the candidates b, rows in order.

static void pair(Pairing& task) {
  f64x8 lowest[PAIR_KINDS];
  i64x8 which[PAIR_KINDS];
  for (int k = 0; k < PAIR_KINDS; ++k) {
    lowest[k] = f64x8::all(__builtin_inf());
    which[k] = i64x8::all(-1);
  }
  i64x8 here;
  for (int q = 0; q < 8; ++q) here.r[q / i64x8::WIDTH][q % i64x8::WIDTH] = q;
  for (int first = 0; first < task.candidates; first += 8, here = here + INT64_C(8)) {
    f64x8 sum[PAIR_KINDS];
    const f64x8 start = f64x8::load(task.penalty + first);
    for (f64x8& each : sum) each = start;
    for (int n = 0; n < task.rows; ++n) {
      const f64x8 b = f64x8::load(task.values + size_t(n) * task.candidates + first);
      const f64x8 inverse = f64x8::load(task.inverses + size_t(n) * task.candidates + first);
      const double a = task.value[n], y = task.target[n], w = task.weight[n];
#define X(OPERATOR, SWAPPED, RESIDUAL) RESIDUAL,
      const f64x8 off[PAIR_KINDS] = {SYMSEEK_PAIR_KINDS(X)};
#undef X
      for (int k = 0; k < PAIR_KINDS; ++k) sum[k] = sum[k] + w * (off[k] * off[k]);
    }
    for (int k = 0; k < PAIR_KINDS; ++k) {
      const i64x8 better = less(sum[k], lowest[k]);  // never where the sum is not a number
      lowest[k] = select(better, sum[k], lowest[k]);
      which[k] = select(better, here, which[k]);
    }
  }
  for (int k = 0; k < PAIR_KINDS; ++k) {
    double error[8];
    int64_t index[8];
    lowest[k].store(error);
    which[k].store(index);
    int best = 0;
    for (int q = 1; q < 8; ++q)
      if (error[q] < error[best] || (error[q] == error[best] && index[q] < index[best])) best = q;
    task.error[k] = error[best];
    task.index[k] = index[best];
  }
}
