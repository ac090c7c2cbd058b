// A short evolution in every run, as symseek/evolution.py has it: what is written or bred lies on a stage [R, rows] while it
// is graded, and then in the archive [R, SPAN] of all programs of this iteration, in order. The population and the best
// children are rows of the archive. A run whose evolution has ended is no longer `evolving` [R].

// The numbers of a run, each an array [R] of `ledger`.
constexpr int EXPRESSIONS = 0;  // graded so far
constexpr int SAMPLED = 1;      // programs of this iteration that the policy wrote
constexpr int SIZE = 2;         // these and what was proposed: the batch, and the children of a generation
constexpr int FILLED = 3;       // rows of the archive
constexpr int MARK = 4;         // rows of the archive before this generation
constexpr int STAGED = 5;       // programs on the stage
constexpr int MEMBERS = 6;      // of the population
constexpr int BEST = 7;         // children that are kept for learning
constexpr int OFFERED = 8;      // programs to learn from: the batch and these

constexpr double PERFECT = 1.0 - 1e-12, ROUNDING = 1e-12;

struct Ledger {
  int* all;
  int runs;
  DEVICE int& at(int name, int run) const { return all[(long long)name * runs + run]; }
};

DEVICE int least_of(int a, int b) { return a < b ? a : b; }
DEVICE double worst() { return -infinity(); }

// Whether the best program is exact: of those that only rounding tells apart, the simplest.
DEVICE bool is_exact(const double* front_reward, int run) {
  const double* reward = front_reward + (long long)run * C;
  double highest = -1.0;
  for (int c = 0; c < C; ++c) highest = fmax(highest, reward[c]);
  for (int c = 0; c < C; ++c)
    if (reward[c] >= 0.0 && reward[c] >= highest - ROUNDING * highest) return reward[c] >= PERFECT;
  return false;
}

// How many programs may still be graded: none once the budget is spent, or a fit has become exact.
DEVICE int room_of(const Ledger& ledger, int run, int budget, const double* front_reward, const uint8* was_exact) {
  const int left = budget - ledger.at(EXPRESSIONS, run);
  return left < 2 || (!was_exact[run] && is_exact(front_reward, run)) ? 0 : left;
}

// Begins an iteration: how many programs the policy writes, whether it is the one that never learns, by a share of all
// iterations, and which seed that has. One thread to a run.
KERNEL open_iteration(int* numbers, int runs, const uint8* active, const int* iterations, const uint64* seeds, int budget,
                      int batch, double fresh_share, const double* front_reward, uint8* evolving, uint8* was_exact,
                      uint8* fresh, uint64* seeds_now) {
  const Ledger ledger{numbers, runs};
  for (int run = blockIdx.x * blockDim.x + threadIdx.x; run < runs; run += gridDim.x * blockDim.x) {
    evolving[run] = active[run];
    if (!active[run]) continue;
    const int count = least_of(batch, budget - ledger.at(EXPRESSIONS, run)), number = iterations[run];
    ledger.at(SAMPLED, run) = ledger.at(STAGED, run) = count;
    ledger.at(EXPRESSIONS, run) += count;
    ledger.at(FILLED, run) = 0;
    was_exact[run] = is_exact(front_reward, run);
    fresh[run] = (long long)((number + 1) * fresh_share) > (long long)(number * fresh_share);
    seeds_now[run] = seeds[run] ^ (fresh[run] ? 1ull << 63 : 0ull);
  }
}

// The weights [R, size] that write the next batch. One thread to a weight.
KERNEL draw_from(const uint8* active, const uint8* fresh, const float* weights, const float* untrained, int runs, int size,
                 float* now) {
  const long long count = (long long)runs * size, threads = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads)
    if (active[i / size]) now[i] = fresh[i / size] ? untrained[i] : weights[i];
}

// Clears the rows of the stage beyond what is there. One thread to a row.
KERNEL trim(int* numbers, int runs, const uint8* evolving, int rows, int* lengths) {
  const Ledger ledger{numbers, runs};
  const long long count = (long long)runs * rows, threads = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads)
    if (evolving[i / rows] && i % rows >= ledger.at(STAGED, (int)(i / rows))) lengths[i] = 0;
}

// Takes what was bred and is new: `kept` [R] programs or, if they are pairs, no more than there is room for. A block
// serves one run.
KERNEL take_new(int* numbers, int runs, const uint8* evolving, const int* kept, int limited, int budget,
              const double* front_reward, const uint8* was_exact, int rows, int* lengths) {
  const int run = blockIdx.x;
  if (!evolving[run]) return;
  const Ledger ledger{numbers, runs};
  const int room = limited ? room_of(ledger, run, budget, front_reward, was_exact) : kept[run];
  const int count = least_of(kept[run], room);
  __syncthreads();
  for (int i = count + threadIdx.x; i < rows; i += blockDim.x) lengths[(long long)run * rows + i] = 0;
  if (threadIdx.x != 0) return;
  ledger.at(STAGED, run) = count;
  ledger.at(EXPRESSIONS, run) += count;
}

// The programs and what is known of them, of the stage [R, rows] or the archive [R, SPAN].
struct Rows {
  Token* tokens;
  int* lengths;
  double* constants;
  DEVICE void copy(long long to, const Rows& from, long long row) const {
    lengths[to] = from.lengths[row];
    for (int t = 0; t < T; ++t) tokens[to * T + t] = from.tokens[row * T + t];
    for (int k = 0; k < K; ++k) constants[to * K + k] = from.constants[row * K + k];
  }
};

// In the first iteration, what the data of a run propose joins its batch, unless this is exact already: programs [D, P]
// that the constraints allow, and all of them the front: entries [D, F] by complexity. A block serves one run.
KERNEL join_proposals(int* numbers, int runs, const uint8* evolving, const int* iterations, const int* dataset, int budget,
                      const uint8* was_exact, Token* proposed_tokens, int* proposed_lengths, double* proposed_constants,
                      const double* proposed_rewards, const uint8* proposed_ok, const int* proposed_count,
                      const int* proposed_spent, int most, const int* entry_complexity, const double* entry_reward,
                      const int* entry_found, const int* entry_count, int most_entries, double ask, int rows,
                      Token* tokens, int* lengths, double* constants, double* rewards, uint8* ok, double* front_reward,
                      int* front_found, int* front_source, uint8* asks) {
  const int run = blockIdx.x;
  if (!evolving[run]) return;
  const Ledger ledger{numbers, runs};
  const int data = dataset[run], sampled = ledger.at(SAMPLED, run);
  const bool joins = iterations[run] == 0 && room_of(ledger, run, budget, front_reward, was_exact) > 0;
  const int count = joins ? proposed_count[data] : 0;
  const Rows stage{tokens, lengths, constants}, proposed{proposed_tokens, proposed_lengths, proposed_constants};
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    const long long from = (long long)data * most + i, to = (long long)run * rows + sampled + i;
    stage.copy(to, proposed, from);
    rewards[to] = proposed_rewards[from];
    ok[to] = proposed_ok[from];
  }
  if (threadIdx.x != 0) return;
  ledger.at(SIZE, run) = ledger.at(STAGED, run) = sampled + count;
  if (!joins) return;
  ledger.at(EXPRESSIONS, run) += proposed_spent[data];
  for (int i = 0; i < entry_count[data]; ++i) {
    const long long entry = (long long)data * most_entries + i, to = (long long)run * C + entry_complexity[entry];
    if (!(entry_reward[entry] > front_reward[to])) continue;
    front_reward[to] = entry_reward[entry];
    front_found[to] = entry_found[entry];
    front_source[to] = i;
    if (entry_reward[entry] >= ask) asks[run] = 1;
  }
}

// Puts the stage behind what is in the archive. The first ones are the batch, and the first population. A block serves
// one run.
KERNEL append(int* numbers, int runs, const uint8* evolving, int first, int rows, Token* tokens, int* lengths,
              double* constants, const double* rewards, const uint8* ok, Token* archive_tokens, int* archive_lengths,
              double* archive_constants, double* fitness, int most, int* members) {
  const int run = blockIdx.x;
  if (!evolving[run]) return;
  const Ledger ledger{numbers, runs};
  const int count = ledger.at(STAGED, run), filled = ledger.at(FILLED, run);
  const Rows stage{tokens, lengths, constants}, archive{archive_tokens, archive_lengths, archive_constants};
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    const long long from = (long long)run * rows + i, to = (long long)run * SPAN + filled + i;
    archive.copy(to, stage, from);
    fitness[to] = ok[from] ? rewards[from] : worst();
    if (first) members[(long long)run * most + i] = i;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  ledger.at(FILLED, run) = filled + count;
  if (!first) return;
  ledger.at(MARK, run) = ledger.at(MEMBERS, run) = count;
  ledger.at(BEST, run) = 0;
}

// How many children to breed; where there is room for none, the evolution ends. One thread to a run.
KERNEL plan_generation(int* numbers, int runs, int budget, const double* front_reward, const uint8* was_exact,
                       uint8* evolving) {
  const Ledger ledger{numbers, runs};
  for (int run = blockIdx.x * blockDim.x + threadIdx.x; run < runs; run += gridDim.x * blockDim.x) {
    if (!evolving[run]) continue;
    const int room = room_of(ledger, run, budget, front_reward, was_exact);
    ledger.at(STAGED, run) = least_of(ledger.at(SIZE, run), room);
    if (room == 0) evolving[run] = 0;
  }
}

// The place of a value in descending order; of equals the first comes first.
DEVICE int place_of(const double* values, int count, int i) {
  int place = 0;
  for (int j = 0; j < count; ++j) place += values[j] > values[i] || (values[j] == values[i] && j < i);
  return place;
}

// The next population: all that is new and the best of the one before, best first. And the best children so far. Where
// nothing is new the evolution ends. A block serves one run.
KERNEL survive(int* numbers, int runs, const double* fitness, int elite, int kept, int most, const int* members,
               int* next_members, int* best, uint8* evolving) {
  const int run = blockIdx.x;
  if (!evolving[run]) return;
  const Ledger ledger{numbers, runs};
  const int mark = ledger.at(MARK, run), fresh = ledger.at(FILLED, run) - mark, old = ledger.at(MEMBERS, run);
  const int known = ledger.at(BEST, run);
  double* values = (double*)shared_memory;  // [most + kept]
  int* who = (int*)(values + most + kept);  // [most + kept]
  const double* fit = fitness + (long long)run * SPAN;
  const int* before = members + (long long)run * most;
  int* after = next_members + (long long)run * most;
  int* own = best + (long long)run * kept;
  __syncthreads();
  if (fresh == 0) {
    if (threadIdx.x == 0) evolving[run] = 0;
    return;
  }
  for (int i = threadIdx.x; i < old; i += blockDim.x) values[i] = fit[before[i]];
  __syncthreads();
  for (int i = threadIdx.x; i < old; i += blockDim.x) {
    const int place = place_of(values, old, i);
    if (place < elite) after[fresh + place] = before[i];
  }
  for (int i = threadIdx.x; i < fresh; i += blockDim.x) after[i] = mark + i;
  __syncthreads();
  for (int i = threadIdx.x; i < known + fresh; i += blockDim.x) {
    who[i] = i < known ? own[i] : mark + i - known;
    values[i] = fit[who[i]];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < known + fresh; i += blockDim.x) {
    const int place = place_of(values, known + fresh, i);
    if (place < kept) own[place] = who[i];
  }
  if (threadIdx.x != 0) return;
  ledger.at(MEMBERS, run) = fresh + least_of(elite, old);
  ledger.at(BEST, run) = least_of(kept, known + fresh);
  ledger.at(MARK, run) = mark + fresh;
}

// Puts the batch and the best children on the stage, to learn from. A block serves one run.
KERNEL restore(int* numbers, int runs, const uint8* active, const Token* archive_tokens, const double* fitness,
               const int* best, int kept, int rows, Token* tokens, double* rewards) {
  const int run = blockIdx.x;
  if (!active[run]) return;
  const Ledger ledger{numbers, runs};
  const int size = ledger.at(SIZE, run), count = size + ledger.at(BEST, run);
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    const int row = i < size ? i : best[(long long)run * kept + i - size];
    const long long from = (long long)run * SPAN + row, to = (long long)run * rows + i;
    for (int t = 0; t < T; ++t) tokens[to * T + t] = archive_tokens[from * T + t];
    rewards[to] = fmax(fitness[from], 0.0);  // an invalid program has none
  }
  if (threadIdx.x == 0) ledger.at(OFFERED, run) = count;
}

// Counts the iteration; a run that asks or has spent its budget is no longer active. One thread to a run.
KERNEL close_iteration(int* numbers, int runs, int budget, const uint8* asks, int* iterations, uint8* active) {
  const Ledger ledger{numbers, runs};
  for (int run = blockIdx.x * blockDim.x + threadIdx.x; run < runs; run += gridDim.x * blockDim.x) {
    if (!active[run]) continue;
    ++iterations[run];
    if (asks[run] || budget - ledger.at(EXPRESSIONS, run) < 2) active[run] = 0;
  }
}
