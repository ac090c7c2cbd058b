// What a search does with its graded batch: rewards, the best program of every complexity, what to learn from, and
// whether it goes on. A block serves one run.

// Rewards by their number in `learning.REWARDS`, from the mean squared error, the mean absolute one and the spread of
// y.
DEVICE double reward_of(int kind, double mse, double mae, double spread) {
  switch (kind) {
    case 0: return 1.0 / (1.0 + sqrt(mse) / spread);
    case 1: return 1.0 / (1.0 + mse / (spread * spread));
    case 2: return 1.0 / (1.0 + mse);
    case 3: return 1.0 / (1.0 + mae);
    default: return fmax(1.0 - mse / (spread * spread), 0.0);
  }
}

// rewards [R, rows] from the squared and absolute errors, losses [2, R, rows]; 0 where a program is invalid. total and
// spread [D] are of the data sets.
KERNEL grade(const double* losses, const uint8* ok, const uint8* active, const int* dataset, const double* total,
             const double* spread, int kind, int runs, int rows, int batch, double* rewards) {
  const long long count = (long long)runs * rows, threads = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads) {
    const int run = (int)(i / rows);
    if (!active[run] || i % rows >= batch) continue;
    const int data = dataset[run];
    rewards[i] = ok[i] ? reward_of(kind, losses[i] / total[data], losses[count + i] / total[data], spread[data]) : 0.0;
  }
}

// The best program of each complexity so far: front_reward [R, C], -1 where there is none, front_tokens [R, C, T],
// front_constants [R, C, K], front_found [R, C]: what `clock` [R] says, and so much later. A better one with a reward
// of at least `ask` sets `asks` [R]. front_source [R, C] is -1 for what was found here. Valid rewards are 0 or more, so
// their bits are ordered as they are. A run has `counts` [R] programs, or all have `most`.
KERNEL keep(const Token* tokens, const int* lengths, const double* constants, const uint8* ok, const double* rewards,
            const uint8* active, const int* clock, int later, const int* complexity, int rows, const int* counts,
            int most, double ask, double* front_reward, Token* front_tokens, double* front_constants, int* front_found,
            int* front_source, uint8* asks) {
  const int run = blockIdx.x;
  if (!active[run]) return;
  const int batch = counts ? counts[run] : most;
  uint64* best = (uint64*)shared_memory;  // [C]
  int* winner = (int*)(best + C);         // [C]
  const long long first = (long long)run * rows;
  for (int c = threadIdx.x; c < C; c += blockDim.x) {
    best[c] = 0;
    winner[c] = batch;
  }
  __syncthreads();
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = threadIdx.x; i < batch; i += blockDim.x) {
      if (!ok[first + i]) continue;
      int cost = 0;
      for (int t = 0; t < lengths[first + i]; ++t) cost += complexity[tokens[(first + i) * T + t]];
      if (cost >= C) continue;
      const uint64 bits = double_as_bits(rewards[first + i]) + 1;  // 0 stands for none
      if (pass == 0)
        atomicMax(&best[cost], bits);
      else if (best[cost] == bits)
        atomicMin(&winner[cost], i);
    }
    __syncthreads();
  }
  for (int c = threadIdx.x; c < C; c += blockDim.x) {
    const long long to = (long long)run * C + c;
    if (best[c] == 0) continue;
    const double reward = bits_as_double(best[c] - 1);
    if (!(reward > front_reward[to])) continue;
    const long long from = first + winner[c];
    front_reward[to] = reward;
    front_found[to] = clock[run] + later;
    front_source[to] = -1;
    for (int t = 0; t < T; ++t) front_tokens[to * T + t] = tokens[from * T + t];
    for (int k = 0; k < K; ++k) front_constants[to * K + k] = constants[from * K + k];
    if (reward >= ask) asks[run] = 1;
  }
}

// The value at this rank of an ascending order: as many as `rank` are smaller, not counting its equals.
DEVICE double at_rank(const double* values, int count, int rank, double* result) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    int smaller = 0, not_larger = 0;
    for (int j = 0; j < count; ++j) {
      smaller += values[j] < values[i];
      not_larger += values[j] <= values[i];
    }
    if (smaller <= rank && rank < not_larger) *result = values[i];  // equals write the same
  }
  __syncthreads();
  return *result;
}

// Writes the rows from `threshold` on to `chosen`, in order, and returns how many there are. `counts` is scratch for
// every thread.
DEVICE int list_from(const double* values, int count, double threshold, int* counts, int* chosen) {
  const int thread = threadIdx.x, threads = blockDim.x, part = (count + threads - 1) / threads;
  const int begin = thread * part, end = begin + part < count ? begin + part : count;
  int own = 0;
  for (int i = begin; i < end; ++i) own += values[i] >= threshold;
  counts[thread] = own;
  __syncthreads();
  int before = 0, all = 0;
  for (int i = 0; i < threads; ++i) {
    before += i < thread ? counts[i] : 0;
    all += counts[i];
  }
  for (int i = begin; i < end; ++i)
    if (values[i] >= threshold) chosen[before++] = i;
  __syncthreads();
  return all;
}

// What each run has of its own, whatever runs beside it: a row of `own` [R], as `learning.Own` has it.
struct Own {
  double epsilon, beta, imitation, queue, entropy_weight, learning_rate, reward_noise;
};

// The queue of the best programs: queue_reward [R, Q], queue_tokens [R, Q, T], queue_size [R]. It holds `most` of them.
struct Queue {
  double* reward;
  Token* tokens;
  int* size;
  int most;
};

DEVICE bool alike(const Token* a, const Token* b) {
  for (int t = 0; t < T; ++t)
    if (a[t] != b[t]) return false;
  return true;
}

// One thread. Of equal rewards the earlier stays in front; of equal programs the better one stays.
DEVICE void enter(const Queue& queue, const Token* tokens, double reward) {
  int size = *queue.size;
  if (size == queue.most && !(reward > queue.reward[size - 1])) return;
  for (int i = 0; i < size; ++i)
    if (alike(queue.tokens + i * T, tokens)) {
      if (queue.reward[i] >= reward) return;
      for (int j = i + 1; j < size; ++j) {
        queue.reward[j - 1] = queue.reward[j];
        for (int t = 0; t < T; ++t) queue.tokens[(j - 1) * T + t] = queue.tokens[j * T + t];
      }
      --size;
      break;
    }
  int at = size < queue.most ? size : queue.most - 1;
  for (; at > 0 && queue.reward[at - 1] < reward; --at) {
    queue.reward[at] = queue.reward[at - 1];
    for (int t = 0; t < T; ++t) queue.tokens[at * T + t] = queue.tokens[(at - 1) * T + t];
  }
  queue.reward[at] = reward;
  for (int t = 0; t < T; ++t) queue.tokens[at * T + t] = tokens[t];
  *queue.size = size < queue.most ? size + 1 : queue.most;
}

DEVICE double normal(uint64 seed, uint32 iteration, uint32 number) {
  const Block4 bits = random_block(seed, REWARD_NOISE, iteration, number, 0);
  const double u = (bits.word[0] + 1.0) * 2.3283064365386963e-10, v = bits.word[1] * 2.3283064365386963e-10;
  return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

// The place in ascending order from which on programs are the best `epsilon` of so many.
DEVICE int rank_of(double epsilon, int count) { return (int)ceil((1.0 - epsilon) * (count - 1)); }

// What to learn from: chosen, weight and share [R, rows], counts [R]. Rows from `batch` on hold programs of the queue.
// OBJECTIVE: 0 risk-seeking, 1 vanilla, 2 one of the queue, 3 the whole queue. stats [R, iterations, 6]: the mean
// reward of the batch, that of its best share, its best, the mean entropy, the expressions graded, the best reward so
// far.
//
// A run has `offered` [R] programs to choose from; the first `shown` [R] of them are the batch, and the first `samples`
// [R] of these were sampled. Where these arrays are null, all have `batch`, and `expressions` [R] is a multiple of it.
KERNEL choose_programs(const double* rewards, const uint8* active, const uint64* seeds, const int* iterations, int rows,
                       int batch, const int* offered, const int* shown, const int* samples, const int* expressions,
                       const double* front_reward, const Own* own_numbers, const float* entropy, Token* tokens,
                       double* baseline, double* queue_reward, Token* queue_tokens, int* queue_size, int* chosen,
                       float* weight, float* share, int* counts, float* stats, int stats_rows) {
  const int run = blockIdx.x;
  if (!active[run]) {
    if (threadIdx.x == 0) counts[run] = 0;
    return;
  }
  const Own& numbers = own_numbers[run];
  const double epsilon = numbers.epsilon, noise = numbers.reward_noise;
  const float entropy_weight = (float)numbers.entropy_weight;
  const long long first = (long long)run * rows;
  const int count = offered ? offered[run] : batch, known = shown ? shown[run] : batch;
  const int sampled = samples ? samples[run] : batch;
  double* values = (double*)shared_memory;  // [count], of `rows`
  double* scratch = values + rows;          // [32]
  double* result = scratch + 32;            // [1]
  int* places = (int*)(result + 1);         // [threads]
  const uint32 iteration = (uint32)iterations[run];
  double sum = 0.0, mean_entropy = 0.0;
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    values[i] = rewards[first + i];
    if (i < known) sum += values[i];
    if (i < sampled) mean_entropy += entropy[first + i];
  }
  __syncthreads();
  const double mean = group_sum(sum, scratch) / known;
  mean_entropy = group_sum(mean_entropy, scratch) / sampled;
  double threshold = at_rank(values, known, rank_of(epsilon, known), result);
  double top_sum = 0.0, top_count = 0.0, best = 0.0;
  for (int i = threadIdx.x; i < known; i += blockDim.x)
    if (values[i] >= threshold) {
      top_sum += values[i];
      top_count += 1.0;
    }
  top_sum = group_sum(top_sum, scratch);
  top_count = group_sum(top_count, scratch);
  for (int i = 0; i < known; ++i) best = fmax(best, values[i]);
  if (threadIdx.x == 0) {
    float* row = stats + ((long long)run * stats_rows + iteration % stats_rows) * 6;
    row[0] = (float)mean;
    row[1] = (float)(top_sum / top_count);
    row[2] = (float)best;
    row[3] = (float)mean_entropy;
    row[4] = (float)(expressions ? expressions[run] : (iterations[run] + 1) * batch);
    double highest = 0.0;
    for (int c = 0; c < C; ++c) highest = fmax(highest, front_reward[(long long)run * C + c]);
    row[5] = (float)highest;
  }
  __syncthreads();
  if (noise > 0.0) {
    for (int i = threadIdx.x; i < count; i += blockDim.x)
      if (values[i] > 0.0) values[i] += noise * normal(seeds[run], iteration, i);
    __syncthreads();
  }
  if (noise > 0.0 || count > known) threshold = at_rank(values, count, rank_of(epsilon, count), result);
  const Queue queue{queue_reward + (long long)run * Q, queue_tokens + (long long)run * Q * T, queue_size + run,
                    (int)numbers.queue};
  int* own = chosen + first;
  if (OBJECTIVE == 1) {
    double noisy = 0.0;
    for (int i = threadIdx.x; i < count; i += blockDim.x) noisy += values[i];
    const double now = group_sum(noisy, scratch) / count;
    const double b = iteration == 0 ? now : numbers.beta * now + (1.0 - numbers.beta) * baseline[run];
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
      own[i] = i;
      weight[first + i] = (float)((values[i] - b) / count);
      share[first + i] = entropy_weight / count;
    }
    if (threadIdx.x == 0) {
      baseline[run] = b;
      counts[run] = count;
    }
    return;
  }
  if (OBJECTIVE == 3) {
    if (threadIdx.x == 0) {
      for (int i = 0; i < count; ++i) enter(queue, tokens + (first + i) * T, values[i]);
      for (int i = 0; i < *queue.size; ++i) {
        for (int t = 0; t < T; ++t) tokens[(first + batch + i) * T + t] = queue.tokens[i * T + t];
        own[i] = batch + i;
        weight[first + i] = 1.0f / *queue.size;
        share[first + i] = entropy_weight / *queue.size;
      }
      counts[run] = *queue.size;
    }
    return;
  }
  const int imitated = OBJECTIVE == 2;  // one place in front for the program of the queue
  const int kept = list_from(values, count, threshold, places, own + imitated);
  for (int i = threadIdx.x; i < kept; i += blockDim.x) {
    weight[first + imitated + i] = imitated ? 0.0f : (float)((values[own[i]] - threshold) / kept);
    share[first + imitated + i] = entropy_weight / kept;
  }
  if (threadIdx.x != 0) return;
  counts[run] = kept + imitated;
  if (!imitated) return;
  int leader = 0;
  for (int i = 1; i < count; ++i)
    if (values[i] > values[leader]) leader = i;
  enter(queue, tokens + (first + leader) * T, values[leader]);
  const uint32 drawn = random_block(seeds[run], QUEUE, iteration, 0, 0).word[0] % (uint32)*queue.size;
  for (int t = 0; t < T; ++t) tokens[(first + batch) * T + t] = queue.tokens[drawn * T + t];
  own[0] = batch;
  weight[first] = (float)numbers.imitation;
  share[first] = 0.0f;
}

// The items of work that the chosen programs make: first_item [R + 1]. And Adam's step [R] in this iteration. One
// block.
KERNEL plan_items(const int* counts, const int* iterations, int runs, int chunk, const Own* own_numbers, double beta1,
                  double beta2, int* first_item, float* step) {
  int* parts = (int*)shared_memory;  // [threads + 1]
  const int thread = threadIdx.x, threads = blockDim.x, part = (runs + threads - 1) / threads;
  const int begin = thread * part, end = begin + part < runs ? begin + part : runs;
  int own = 0;
  for (int run = begin; run < end; ++run) {
    own += (counts[run] + chunk - 1) / chunk;
    const double steps = iterations[run] + 1.0;
    step[run] = (float)(own_numbers[run].learning_rate * sqrt(1.0 - pow(beta2, steps)) / (1.0 - pow(beta1, steps)));
  }
  parts[thread] = own;
  __syncthreads();
  int before = 0;
  for (int i = 0; i < thread; ++i) before += parts[i];
  for (int run = begin; run < end; ++run) {
    first_item[run] = before;
    before += (counts[run] + chunk - 1) / chunk;
  }
  if (begin < runs && end == runs) first_item[runs] = before;
}

// Counts the iteration; a run that asks or has reached its end is no longer active.
KERNEL count_iteration(uint8* active, const uint8* asks, int* iterations, const int* last, int runs) {
  for (int run = blockIdx.x * blockDim.x + threadIdx.x; run < runs; run += gridDim.x * blockDim.x) {
    if (!active[run]) continue;
    ++iterations[run];
    if (asks[run] || iterations[run] >= last[run]) active[run] = 0;
  }
}
