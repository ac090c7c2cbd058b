// Which of many candidates does one program lack? A group works on one program, its threads on candidates, rows in order.
constexpr int WAYS = 6;

struct Found {
  double error;     // sum of w r^2, infinity if there is none
  long long index;  // the candidate, -1 if there is none
};

// Values [P, N] of programs; values and inverses [N, Q] of candidates; outputs [P, WAYS].
KERNEL pair(const double* values, const double* candidates, const double* inverses, const double* target,
            const double* weight, const uint8* allowed, long long programs, long long rows, long long count,
            double* error, long long* index) {
  Found* found = (Found*)shared_memory + threadIdx.y * WAYS * blockDim.x;  // [blockDim.x, WAYS]
  for (long long p = group_index(); p < programs; p += group_count()) {
    Found best[WAYS];
    for (int k = 0; k < WAYS; ++k) best[k] = Found{infinity(), -1};
    for (long long q = threadIdx.x; q < count; q += blockDim.x) {
      if (!allowed[p * count + q]) continue;
      double sum[WAYS] = {};
      for (long long n = 0; n < rows; ++n) {
        const double a = values[p * rows + n], y = target[n], w = weight[n];
        const double b = candidates[n * count + q], inverse = inverses[n * count + q];
        // In the order of `symseek.engines.interface.PAIRS`: how far a joined with b is from the target.
        const double off[WAYS] = {b + (a - y), (a - y) - b, b - (a + y), a * b - y, a * inverse - y, b * (1.0 / a) - y};
        for (int k = 0; k < WAYS; ++k) sum[k] += w * (off[k] * off[k]);
      }
      for (int k = 0; k < WAYS; ++k)
        if (sum[k] < best[k].error) best[k] = Found{sum[k], q};  // never where the sum is not a number
    }
    group_sync();  // others may still read what was found before
    for (int k = 0; k < WAYS; ++k) found[threadIdx.x * WAYS + k] = best[k];
    group_sync();
    for (int k = threadIdx.x; k < WAYS; k += blockDim.x) {
      Found first = found[k];
      for (int thread = 1; thread < blockDim.x; ++thread) {
        const Found other = found[thread * WAYS + k];
        if (other.error < first.error || (other.error == first.error && other.index < first.index)) first = other;
      }
      error[p * WAYS + k] = first.error;
      index[p * WAYS + k] = first.index;
    }
  }
}
