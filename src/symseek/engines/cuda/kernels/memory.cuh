// Which programs a run has met: a table of hashes to each run, and among programs with one hash the first counts. Threads
// may come in any order, since the number of the offer decides who was first.
//
// keys [R, slots], 0 where a slot is empty; first [R, slots]: the number of the offer that came first; offered [R].

constexpr int NOBODY = 0x7fffffff;

// The hash by which the native core knows a program in breeding; never 0.
DEVICE uint64 hash_of(const Token* tokens, int length) {
  const uint64 low = program_key(tokens, length, nullptr, 0, 0).low;
  return low ? low : 1;
}

// The slot of a key, taken if it is new. There is always an empty one; `slots` is a power of two.
DEVICE int slot_of(uint64* keys, int slots, uint64 key) {
  for (uint32 at = (uint32)(key >> 32) & (slots - 1);; at = (at + 1) & (slots - 1)) {
    const uint64 found = atomicCAS(keys + at, 0ull, key);
    if (found == 0 || found == key) return (int)at;
  }
}

// Empties the tables of active runs. One thread to a slot, in a loop.
KERNEL forget(const uint8* active, int runs, int slots, uint64* keys, int* first, int* offered) {
  const long long count = (long long)runs * slots, threads = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads) {
    const int run = (int)(i / slots);
    if (active && !active[run]) continue;
    keys[i] = 0;
    first[i] = NOBODY;
    if (i % slots == 0) offered[run] = 0;
  }
}

// Moves the one table `keys` to a larger one, which is empty.
KERNEL rehash(const uint64* keys, const int* first, int slots, uint64* new_keys, int* new_first, int new_slots) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < slots; i += gridDim.x * blockDim.x)
    if (keys[i]) new_first[slot_of(new_keys, new_slots, keys[i])] = first[i];
}

// Offers the programs [R, rows, width], of which each run has `counts` [R]: places [R, rows] are their slots, or -1 for
// those of length 0 and, with `check`, those that break the constraints.
KERNEL offer(const uint64* rule_words, const int* rule_integers, const Token* tokens, const int* lengths,
             const int* counts, const uint8* active, int rows, int width, int parts, int check, int slots, uint64* keys,
             int* first, const int* offered, int* places) {
  const int run = blockIdx.x / parts;
  if (active && !active[run]) return;
  const Rules rules{rule_words, rule_integers, nullptr};
  for (int i = (blockIdx.x % parts) * blockDim.x + threadIdx.x; i < counts[run]; i += parts * blockDim.x) {
    const long long row = (long long)run * rows + i;
    const Token* program = tokens + row * width;
    const int length = lengths[row];
    Walk walk;
    uint64 allowed[WORDS];
    if (length == 0 || (check && !obeys(rules, walk, allowed, length, [&](int t) { return (int)program[t]; }))) {
      places[row] = -1;
      continue;
    }
    const long long table = (long long)run * slots;
    const int slot = slot_of(keys + table, slots, hash_of(program, length));
    atomicMin(first + table + slot, offered[run] + i);
    places[row] = slot;
  }
}

// Turns the places of what was offered into those among the programs that were new, in order, or -1; `kept` [R] says how
// many these are. A block serves one run.
KERNEL sift(const int* counts, const uint8* active, int rows, int slots, const int* first, int* offered, int* places,
            int* kept) {
  const int run = blockIdx.x;
  if (active && !active[run]) return;
  int* own = (int*)shared_memory;  // [threads] how many each thread keeps
  const int thread = threadIdx.x, threads = blockDim.x, count = counts[run], base = offered[run];
  const int part = (count + threads - 1) / threads, start = thread * part;
  const int end = start + part < count ? start + part : count;
  const int* order = first + (long long)run * slots;
  int* place = places + (long long)run * rows;
  own[thread] = 0;
  for (int i = start; i < end; ++i) own[thread] += place[i] >= 0 && order[place[i]] == base + i;
  __syncthreads();
  int before = 0, all = 0;
  for (int i = 0; i < threads; ++i) {
    before += i < thread ? own[i] : 0;
    all += own[i];
  }
  for (int i = start; i < end; ++i) place[i] = place[i] >= 0 && order[place[i]] == base + i ? before++ : -1;
  if (thread != 0) return;
  kept[run] = all;
  offered[run] = base + count;
}

// Copies the programs that have a place [R, rows] there, in arrays of `to_rows` rows to a run.
KERNEL gather(const Token* tokens, const int* lengths, const double* constants, const int* places, const int* counts,
              const uint8* active, int rows, int constant_width, int parts, int to_rows, Token* to_tokens,
              int* to_lengths, double* to_constants) {
  const int run = blockIdx.x / parts;
  if (active && !active[run]) return;
  for (int i = (blockIdx.x % parts) * blockDim.x + threadIdx.x; i < counts[run]; i += parts * blockDim.x) {
    const long long row = (long long)run * rows + i, to = (long long)run * to_rows + places[row];
    if (places[row] < 0) continue;
    to_lengths[to] = lengths[row];
    for (int t = 0; t < T; ++t) to_tokens[to * T + t] = tokens[row * T + t];
    for (int k = 0; k < constant_width; ++k) to_constants[to * constant_width + k] = constants[row * constant_width + k];
  }
}
