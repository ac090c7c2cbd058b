// Recombination by what is missing, in every run, as symseek/evolution.py has it: the best programs of the archive and the
// shortest, one of each reward, are joined in pairs whose values come near to the target.
//
// Mates [R, WHOLES + PARTS] are rows of the archive: first the best programs, then the shortest. `wholes` and `parts` [R] say
// how many there are.

constexpr int INDEX_BITS = 22;  // of a row of the archive, below the length of its program

// Counts over a block, by an array of one number for each thread.
DEVICE int block_count(int own, int* counts) {
  __syncthreads();  // they may still be read
  counts[threadIdx.x] = own;
  __syncthreads();
  int all = 0;
  for (int i = 0; i < blockDim.x; ++i) all += counts[i];
  return all;
}

// What is known of a program that may be a mate.
struct Mate {
  uint64 reward;  // its bits, which are ordered as it is
  int length, row;
};

// The least bits from which on, in descending order, there are `wanted` rewards or, ascending, up to which there are. All
// rewards are different, and `wanted` is not more than there are.
template <class Takes>
DEVICE uint64 reward_limit(const int* rows, int count, const double* fit, int wanted, bool descending, int* counts,
                           const Takes& takes) {
  uint64 low = 0, high = 0x7fefffffffffffffull;
  while (low < high) {
    const uint64 middle = descending ? low + (high - low + 1) / 2 : low + (high - low) / 2;
    int own = 0;
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
      const uint64 bits = double_as_bits(fit[rows[i]]);
      own += takes(rows[i]) && (descending ? bits >= middle : bits <= middle);
    }
    const bool enough = block_count(own, counts) >= wanted;
    if (descending)
      enough ? low = middle : high = middle - 1;
    else
      enough ? high = middle : low = middle + 1;
  }
  return low;
}

// Chooses the mates: `distinct` [R, SPAN] is scratch, and so are the tables keys and first [R, slots], which are empty. A
// block serves one run.
KERNEL choose_mates(int* numbers, int runs, const uint8* evolving, const int* archive_lengths, const double* fitness,
                    int slots, uint64* keys, int* first, int* distinct, int* mates, int* wholes, int* parts) {
  const int run = blockIdx.x;
  if (!evolving[run]) return;
  const int filled = Ledger{numbers, runs}.at(FILLED, run);
  Mate* found = (Mate*)shared_memory;        // [PARTS], which are not fewer than WHOLES
  int* counts = (int*)(found + PARTS);       // [threads]
  int* of_length = counts + blockDim.x;      // [T + 1]
  int* total = of_length + T + 1;            // [1]
  const int* length = archive_lengths + (long long)run * SPAN;
  const double* fit = fitness + (long long)run * SPAN;
  uint64* own_keys = keys + (long long)run * slots;
  int* own_first = first + (long long)run * slots;
  int* rows = distinct + (long long)run * SPAN;
  const auto code = [&](int row) { return length[row] << INDEX_BITS | row; };
  const auto may = [&](int row) { return fit[row] >= 0.0 && length[row] <= T - 2; };
  for (int i = threadIdx.x; i < filled; i += blockDim.x)  // of equal rewards, the shortest
    if (may(i)) atomicMin(own_first + slot_of(own_keys, slots, double_as_bits(fit[i]) + 1), code(i));
  if (threadIdx.x == 0) *total = 0;
  for (int t = threadIdx.x; t <= T; t += blockDim.x) of_length[t] = 0;
  __syncthreads();
  const int most_tokens = T / 2 - 1;
  for (int i = threadIdx.x; i < filled; i += blockDim.x) {
    if (!may(i) || own_first[slot_of(own_keys, slots, double_as_bits(fit[i]) + 1)] != code(i)) continue;
    rows[atomicAdd(total, 1)] = i;
    if (length[i] <= most_tokens) atomicAdd(of_length + length[i], 1);
  }
  __syncthreads();
  const int count = *total;
  int* own_mates = mates + (long long)run * (WHOLES + PARTS);
  // The best.
  const int best = least_of(count, WHOLES);
  const uint64 least = reward_limit(rows, count, fit, best, true, counts, [](int) { return true; });
  __syncthreads();
  if (threadIdx.x == 0) *total = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < count && best > 0; i += blockDim.x) {
    const uint64 bits = double_as_bits(fit[rows[i]]);
    if (bits >= least) found[atomicAdd(total, 1)] = Mate{bits, 0, rows[i]};
  }
  __syncthreads();
  for (int i = threadIdx.x; i < best; i += blockDim.x) {
    int place = 0;
    for (int j = 0; j < best; ++j) place += found[j].reward > found[i].reward;
    own_mates[place] = found[i].row;
  }
  // The shortest; of those that have the greatest length, the ones with the least rewards.
  int shortest = 0, longest = 0;
  for (; longest < most_tokens && shortest + of_length[longest] <= PARTS; ++longest) shortest += of_length[longest];
  const int more = longest <= most_tokens && longest >= 0 ? least_of(of_length[longest], PARTS - shortest) : 0;
  const uint64 limit =
      reward_limit(rows, count, fit, more, false, counts, [&](int row) { return length[row] == longest; });
  __syncthreads();
  if (threadIdx.x == 0) *total = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    const int row = rows[i];
    const uint64 bits = double_as_bits(fit[row]);
    if (length[row] <= most_tokens && (length[row] < longest || (length[row] == longest && more > 0 && bits <= limit)))
      found[atomicAdd(total, 1)] = Mate{bits, length[row], row};
  }
  __syncthreads();
  shortest += more;
  for (int i = threadIdx.x; i < shortest; i += blockDim.x) {
    int place = 0;
    for (int j = 0; j < shortest; ++j)
      place += found[j].length < found[i].length ||
               (found[j].length == found[i].length && found[j].reward < found[i].reward);
    own_mates[WHOLES + place] = found[i].row;
  }
  if (threadIdx.x != 0) return;
  wholes[run] = best;
  parts[run] = shortest;
}

// Copies the mates from the archive, so that they can be evaluated: rows that are none have length 0. One thread to a row.
KERNEL gather_mates(const uint8* evolving, int runs, const int* mates, const int* wholes, const int* parts,
                    Token* archive_tokens, int* archive_lengths, double* archive_constants, Token* tokens, int* lengths,
                    double* constants) {
  const long long count = (long long)runs * (WHOLES + PARTS), threads = (long long)gridDim.x * blockDim.x;
  const Rows archive{archive_tokens, archive_lengths, archive_constants}, to{tokens, lengths, constants};
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads) {
    const int run = (int)(i / (WHOLES + PARTS)), at = (int)(i % (WHOLES + PARTS));
    if (!evolving[run]) continue;
    if (at < WHOLES ? at < wholes[run] : at - WHOLES < parts[run])
      to.copy(i, archive, (long long)run * SPAN + mates[i]);
    else
      lengths[i] = 0;
  }
}

// Which of the parts does each of the wholes lack? values [R, WHOLES + PARTS, rows]; target and weight [D, rows]; error and
// partner [R, WHOLES, PAIR_KINDS]. A block serves one of the wholes, its threads the parts.
KERNEL pair_mates(const uint8* evolving, const int* wholes, const int* parts, const int* lengths, const double* values,
                  const int* dataset, const double* target, const double* weight, int rows, double* error,
                  int* partner) {
  const int run = blockIdx.x / WHOLES, whole = blockIdx.x % WHOLES;
  if (!evolving[run] || whole >= wholes[run]) return;
  const long long first = (long long)run * (WHOLES + PARTS);
  const long long data = (long long)dataset[run] * rows, to = ((long long)run * WHOLES + whole) * PAIR_KINDS;
  const double* own = values + (first + WHOLES) * rows;  // of the parts
  find_partners(
      values + (first + whole) * rows, target + data, weight + data, rows, parts[run],
      [&](long long q) { return lengths[first + whole] + lengths[first + WHOLES + q] + 1 <= T; },
      [&](long long q, long long n, double& b, double& inverse) {
        b = own[q * rows + n];
        inverse = 1.0 / b;
      },
      error + to, partner + to);
}

// Writes the best pairs, at most `pairs`, as programs: an operator, then one program, then the other. `operators` [PAIR_KINDS]
// are tokens, -1 for ways that the library does not have. Constants beyond K are left out: such a program breaks the
// constraints. A block serves one run.
KERNEL join_mates(int* numbers, int runs, const uint8* evolving, const int* wholes, const Token* mate_tokens,
                  const int* mate_lengths, const double* mate_constants, const double* error, const int* partner,
                  const int* operators, int pairs, int rows, Token* tokens, int* lengths, double* constants) {
  const int run = blockIdx.x;
  if (!evolving[run]) return;
  double* values = (double*)shared_memory;           // [WHOLES, PAIR_KINDS]: minus the errors
  int* counts = (int*)(values + WHOLES * PAIR_KINDS);      // [threads]
  const long long first = (long long)run * (WHOLES + PARTS), from = (long long)run * WHOLES * PAIR_KINDS;
  const int count = wholes[run] * PAIR_KINDS;
  int own = 0;
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    values[i] = operators[i % PAIR_KINDS] < 0 ? worst() : -error[from + i];
    own += values[i] > worst();
  }
  const int made = least_of(block_count(own, counts), pairs);
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    const int place = place_of(values, count, i);
    if (place >= made) continue;
#define X(OPERATOR, SWAPPED, RESIDUAL) SWAPPED,
    const bool swaps[PAIR_KINDS] = {SYMSEEK_PAIR_KINDS(X)};
#undef X
    const bool swapped = swaps[i % PAIR_KINDS];
    const long long one = first + i / PAIR_KINDS, other = first + WHOLES + partner[from + i];
    const long long row = (long long)run * rows + place;
    int length = 0, constant = 0;
    tokens[row * T + length++] = (Token)operators[i % PAIR_KINDS];
    for (int side = 0; side < 2; ++side) {
      const long long mate = (side == 1) == swapped ? one : other;
      for (int t = 0, k = 0; t < mate_lengths[mate]; ++t) {
        const Token token = mate_tokens[mate * T + t];
        tokens[row * T + length++] = token;
        if (token == CONSTANT_TOKEN && constant < K) constants[row * K + constant++] = mate_constants[mate * K + k++];
      }
    }
    lengths[row] = length;
    for (int t = length; t < T; ++t) tokens[row * T + t] = -1;
    for (; constant < K; ++constant) constants[row * K + constant] = 1.0;
  }
  if (threadIdx.x == 0) Ledger{numbers, runs}.at(STAGED, run) = made;
}
