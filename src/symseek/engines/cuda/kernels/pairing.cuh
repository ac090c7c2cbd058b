// Which of many candidates does one program lack? A group works on one program, its threads on candidates, rows in order.

struct Found {
  double error;     // sum of w r^2, infinity if there is none
  long long index;  // the candidate, -1 if there is none
};

// For a program of values a [rows], the best of `count` candidates by each way to combine the two: error and index
// [PAIR_KINDS]. `may` says which candidates are allowed, and `value` gives one on a row, and 1 / it.
template <class Index, class May, class Value>
DEVICE void find_partners(const double* a_values, const double* target, const double* weight, long long rows,
                          long long count, const May& may, const Value& value, double* error, Index* index) {
  Found* found = (Found*)shared_memory + threadIdx.y * PAIR_KINDS * blockDim.x;  // [blockDim.x, PAIR_KINDS]
  Found best[PAIR_KINDS];
  for (int k = 0; k < PAIR_KINDS; ++k) best[k] = Found{infinity(), -1};
  for (long long q = threadIdx.x; q < count; q += blockDim.x) {
    if (!may(q)) continue;
    double sum[PAIR_KINDS] = {};
    for (long long n = 0; n < rows; ++n) {
      const double a = a_values[n], y = target[n], w = weight[n];
      double b, inverse;
      value(q, n, b, inverse);
#define X(OPERATOR, SWAPPED, RESIDUAL) RESIDUAL,
      const double off[PAIR_KINDS] = {SYMSEEK_PAIR_KINDS(X)};
#undef X
      for (int k = 0; k < PAIR_KINDS; ++k) sum[k] += w * (off[k] * off[k]);
    }
    for (int k = 0; k < PAIR_KINDS; ++k)
      if (sum[k] < best[k].error) best[k] = Found{sum[k], q};  // never where the sum is not a number
  }
  group_sync();  // others may still read what was found before
  for (int k = 0; k < PAIR_KINDS; ++k) found[threadIdx.x * PAIR_KINDS + k] = best[k];
  group_sync();
  for (int k = threadIdx.x; k < PAIR_KINDS; k += blockDim.x) {
    Found first = found[k];
    for (int thread = 1; thread < blockDim.x; ++thread) {
      const Found other = found[thread * PAIR_KINDS + k];
      if (other.error < first.error || (other.error == first.error && other.index < first.index)) first = other;
    }
    error[k] = first.error;
    index[k] = (Index)first.index;
  }
}

// Values [P, N] of programs; values and inverses [N, Q] of candidates; outputs [P, PAIR_KINDS].
KERNEL pair(const double* values, const double* candidates, const double* inverses, const double* target,
            const double* weight, const uint8* allowed, long long programs, long long rows, long long count,
            double* error, long long* index) {
  for (long long p = group_index(); p < programs; p += group_count())
    find_partners(
        values + p * rows, target, weight, rows, count, [&](long long q) { return allowed[p * count + q] != 0; },
        [&](long long q, long long n, double& b, double& inverse) {
          b = candidates[n * count + q];
          inverse = inverses[n * count + q];
        },
        error + p * PAIR_KINDS, index + p * PAIR_KINDS);
}
