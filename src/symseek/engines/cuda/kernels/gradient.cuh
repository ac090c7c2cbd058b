// Log-probabilities and entropies of given programs, and back-propagation through time. Up to CHUNK programs of one run
// are an item of work: each has a thread for the way forward and back, then all threads of the block add up what the
// weights get from all of them. What the way forward leaves for the way back lies in a piece of memory for every block,
// programs side by side, so that threads read neighbouring words.

constexpr int CHUNK = 64;
constexpr int GATES_AT = 0, CELL_AT = 4 * H, SQUASHED_AT = 5 * H, STATE_AT = 6 * H, LOGITS_AT = 7 * H;
constexpr int STEP_ROWS = 7 * H + L;                                  // numbers of a program in a step
constexpr long long TRACE = (long long)T * STEP_ROWS * CHUNK;         // floats
constexpr long long TRACE_TOKENS = (long long)T * 2 * CHUNK;          // parent and sibling in every step

// One item: which programs of which run, and how much each counts.
struct Item {
  const Token* tokens;          // [rows, T] of its run
  const int* chosen;            // [count] rows; null: the first ones
  const float *weight, *share;  // [count] of log-probability and entropy; null: 0
  float *log_probability, *entropy;  // [count] or null
  int count;
  float entropy_decay;
};

struct Trace {
  float* numbers;  // [T, STEP_ROWS, CHUNK]
  Token* tokens;   // [T, 2, CHUNK]
  DEVICE float& at(int step, int row, int program) const {
    return numbers[((long long)step * STEP_ROWS + row) * CHUNK + program];
  }
};

// From logits to the gradient by them: w (1[chosen] - p) - v p (log p + H), with v the weight of this step's entropy.
DEVICE void differentiate(const uint64* allowed, float top, int chosen, float weight, float share, float* logits,
                          float& log_probability, float& entropy) {
  float mass = 0.0f, moment = 0.0f;
  for (int token = 0; token < L; ++token) {
    if (!is_in(allowed, token)) continue;
    const float shifted = logits[token] - top, e = fast_exp(shifted);
    mass += e;
    moment += e * shifted;
  }
  const float log_mass = logf(mass);
  entropy = log_mass - moment / mass;
  log_probability = logits[chosen] - top - log_mass;
  for (int token = 0; token < L; ++token) {
    if (!is_in(allowed, token)) {
      logits[token] = 0.0f;
      continue;
    }
    const float log_p = logits[token] - top - log_mass, p = fast_exp(log_p);
    logits[token] = (token == chosen ? weight : 0.0f) - p * (weight + share * (log_p + entropy));
  }
}

// The way forward of one program. Returns its steps; beyond them its gradients are 0.
DEVICE int forward(const Network& n, const Rules& rules, const Item& item, int program, const Trace& trace) {
  const Token* tokens = item.tokens + (long long)(item.chosen ? item.chosen[program] : program) * T;
  const float weight = item.weight ? item.weight[program] : 0.0f;
  float share = item.share ? item.share[program] : 0.0f, decay = 1.0f;
  float state[1][H], cell[1][H], logits[L], log_probability = 0.0f, entropy = 0.0f;
  uint64 allowed[WORDS];
  Walk walk;
  begin(rules, walk);
#pragma unroll
  for (int k = 0; k < H; ++k) state[0][k] = cell[0][k] = 0.0f;
  int t = 0;
  for (; t < T && walk.open > 0; ++t) {
    const int parent = parent_of(walk), sibling = sibling_of(walk), token = tokens[t];
    if (!allowed_next(rules, walk, allowed) || token < 0 || token >= L || !is_in(allowed, token)) {
      log_probability = -1.0f / 0.0f;  // nothing that follows has a place in the tables
      break;
    }
    step<1>(n, &parent, &sibling, state, cell, [&](int, int unit, float4 g, float c, float flat, float h) {
      trace.at(t, GATES_AT + unit, program) = g.x;
      trace.at(t, GATES_AT + H + unit, program) = g.y;
      trace.at(t, GATES_AT + 2 * H + unit, program) = g.z;
      trace.at(t, GATES_AT + 3 * H + unit, program) = g.w;
      trace.at(t, CELL_AT + unit, program) = c;
      trace.at(t, SQUASHED_AT + unit, program) = flat;
      trace.at(t, STATE_AT + unit, program) = h;
    });
    const float top = write_logits(n, state[0], bias_at(rules, walk), allowed, logits);
    float here, variety;
    differentiate(allowed, top, token, weight, share * decay, logits, here, variety);
    for (int l = 0; l < L; ++l) trace.at(t, LOGITS_AT + l, program) = logits[l];
    trace.tokens[(t * 2) * CHUNK + program] = (Token)parent;
    trace.tokens[(t * 2 + 1) * CHUNK + program] = (Token)sibling;
    log_probability += here;
    entropy += decay * variety;
    decay *= item.entropy_decay;
    extend(rules, walk, token);
  }
  if (item.log_probability) item.log_probability[program] = log_probability;
  if (item.entropy) item.entropy[program] = entropy;
  return t;
}

// A program that is not there, or a step after its end, adds nothing.
DEVICE void clear(const Trace& trace, int from, int program) {
  for (int t = from; t < T; ++t) {
    for (int row = 0; row < 4 * H; ++row) trace.at(t, GATES_AT + row, program) = 0.0f;
    for (int row = STATE_AT; row < STEP_ROWS; ++row) trace.at(t, row, program) = 0.0f;
    trace.tokens[(t * 2) * CHUNK + program] = trace.tokens[(t * 2 + 1) * CHUNK + program] = (Token)L;
  }
}

// The way back of one program: gates become the gradient by what went into them.
DEVICE void backward(const Network& n, int steps, int program, const Trace& trace) {
  float to_state[H], to_cell[H];
#pragma unroll
  for (int k = 0; k < H; ++k) to_state[k] = 0.0f;
  for (int k = 0; k < H; ++k) to_cell[k] = 0.0f;
  for (int t = steps - 1; t >= 0; --t) {
    float here[H], before[H];
#pragma unroll
    for (int k = 0; k < H; ++k) before[k] = to_state[k];
    for (int l = 0; l < L; ++l) {
      const float slope = trace.at(t, LOGITS_AT + l, program);
      const float* row = n.output + l * H;
#pragma unroll
      for (int k = 0; k < H; ++k) before[k] += slope * row[k];
    }
#pragma unroll
    for (int k = 0; k < H; ++k) {
      here[k] = before[k];
      to_state[k] = 0.0f;
    }
    for (int unit = 0; unit < H; ++unit) {
      float4 g;
      g.x = trace.at(t, GATES_AT + unit, program);
      g.y = trace.at(t, GATES_AT + H + unit, program);
      g.z = trace.at(t, GATES_AT + 2 * H + unit, program);
      g.w = trace.at(t, GATES_AT + 3 * H + unit, program);
      const float flat = trace.at(t, SQUASHED_AT + unit, program);
      const float cell_before = t ? trace.at(t - 1, CELL_AT + unit, program) : 0.0f;
      const float d_state = here[unit], d_cell = to_cell[unit] + d_state * g.w * (1.0f - flat * flat);
      to_cell[unit] = d_cell * g.y;
      float4 d;
      d.x = d_cell * g.z * g.x * (1.0f - g.x);
      d.y = d_cell * cell_before * g.y * (1.0f - g.y);
      d.z = d_cell * g.x * (1.0f - g.z * g.z);
      d.w = d_state * flat * g.w * (1.0f - g.w);
      trace.at(t, GATES_AT + unit, program) = d.x;
      trace.at(t, GATES_AT + H + unit, program) = d.y;
      trace.at(t, GATES_AT + 2 * H + unit, program) = d.z;
      trace.at(t, GATES_AT + 3 * H + unit, program) = d.w;
      const float4* row = n.recurrent + unit * H;
#pragma unroll
      for (int k = 0; k < H; ++k) to_state[k] += d.x * row[k].x + d.y * row[k].y + d.z * row[k].z + d.w * row[k].w;
    }
  }
}

DEVICE float dot(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }

// sum over steps and programs of left[a + i] right[b + j], `later` steps after left, for i and j below TILE.
constexpr int TILE = 4;
DEVICE void add_products(const Trace& trace, int steps, int a, int a_end, int b, int b_end, int later, float* out,
                         int out_row) {
  float sum[TILE][TILE] = {};
  for (int t = 0; t + later < steps; ++t)
    for (int p = 0; p < CHUNK; p += 4) {
      float4 left[TILE], right[TILE];
#pragma unroll
      for (int i = 0; i < TILE; ++i) left[i] = *(const float4*)&trace.at(t, a + i < a_end ? a + i : a, p);
#pragma unroll
      for (int j = 0; j < TILE; ++j) right[j] = *(const float4*)&trace.at(t + later, b + j < b_end ? b + j : b, p);
#pragma unroll
      for (int i = 0; i < TILE; ++i)
#pragma unroll
        for (int j = 0; j < TILE; ++j) sum[i][j] += dot(left[i], right[j]);
    }
  for (int i = 0; i < TILE && a + i < a_end; ++i)
    for (int j = 0; j < TILE && b + j < b_end; ++j) out[i * out_row + j] = sum[i][j];
}

// The weights' gradient from all programs of an item; every sum has one thread, so its order is fixed.
DEVICE void accumulate(const Trace& trace, int steps, float* gradient) {
  const int thread = threadIdx.x, threads = blockDim.x;
  constexpr int DOWN = (H + TILE - 1) / TILE, ACROSS = 4 * H / TILE, OUT = (L + TILE - 1) / TILE;
  for (int tile = thread; tile < DOWN * ACROSS; tile += threads) {
    const int k = tile / ACROSS * TILE, column = tile % ACROSS * TILE;
    add_products(trace, steps, STATE_AT + k, STATE_AT + H, GATES_AT + column, GATES_AT + 4 * H, 1,
                 gradient + RECURRENT_AT + k * 4 * H + column, 4 * H);
  }
  for (int tile = thread; tile < DOWN * OUT; tile += threads) {
    const int k = tile / OUT * TILE, token = tile % OUT * TILE;
    add_products(trace, steps, STATE_AT + k, STATE_AT + H, LOGITS_AT + token, LOGITS_AT + L, 0,
                 gradient + OUTPUT_AT + k * L + token, L);
  }
  for (int token = thread; token < L; token += threads) {
    float sum = 0.0f;
    for (int t = 0; t < steps; ++t)
      for (int p = 0; p < CHUNK; ++p) sum += trace.at(t, LOGITS_AT + token, p);
    gradient[OUTPUT_BIAS_AT + token] = sum;
  }
  // What the one-hot inputs get: a row for every token, in the memory that the network had. A thread owns a column.
  float* rows = (float*)shared_memory;  // [2, L + 1, 4 H]
  for (int column = thread; column < 4 * H; column += threads) {
    for (int row = 0; row < 2 * (L + 1); ++row) rows[row * 4 * H + column] = 0.0f;
    float sum = 0.0f;
    for (int t = 0; t < steps; ++t)
      for (int p = 0; p < CHUNK; p += 4) {
        const float4 d = *(const float4*)&trace.at(t, GATES_AT + column, p);
        const float slope[4] = {d.x, d.y, d.z, d.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          rows[trace.tokens[(t * 2) * CHUNK + p + i] * 4 * H + column] += slope[i];
          rows[(L + 1 + trace.tokens[(t * 2 + 1) * CHUNK + p + i]) * 4 * H + column] += slope[i];
          sum += slope[i];
        }
      }
    gradient[BIAS_AT + column] = sum;
    for (int row = 0; row < 2 * (L + 1); ++row) gradient[row * 4 * H + column] = rows[row * 4 * H + column];
  }
}

// Works through items; block b uses piece b of the memory. Items of run r are first_item[r] ... first_item[r + 1] - 1, the
// programs of an item CHUNK of those chosen for its run. tokens [R, rows, T]; chosen, weight, share, log_probability and
// entropy [R, rows], each but tokens may be null. partial [items, WEIGHTS] or null: scores alone.
KERNEL score(const uint64* rule_words, const int* rule_integers, const float* rule_bias, const float* weights,
             const Token* tokens, int rows, int runs, const int* first_item, const int* counts, const int* chosen,
             const float* weight, const float* share, float entropy_decay, float* traces, Token* trace_tokens,
             float* log_probability, float* entropy, float* partial) {
  const Rules rules{rule_words, rule_integers, rule_bias};
  const Network network = network_in(shared_memory);
  const Trace trace{traces + blockIdx.x * TRACE, trace_tokens + blockIdx.x * TRACE_TOKENS};
  int run = 0;
  for (int number = blockIdx.x; number < first_item[runs]; number += gridDim.x) {
    while (first_item[run + 1] <= number) ++run;
    const int first = (number - first_item[run]) * CHUNK, left = counts[run] - first;
    const long long at = (long long)run * rows + first;
    const Item item{tokens + ((long long)run * rows + (chosen ? 0 : first)) * T,
                    chosen ? chosen + at : nullptr,
                    weight ? weight + at : nullptr,
                    share ? share + at : nullptr,
                    log_probability ? log_probability + at : nullptr,
                    entropy ? entropy + at : nullptr,
                    left < CHUNK ? left : CHUNK,
                    entropy_decay};
    __syncthreads();  // the last item's sums are in the network's memory
    load(network, weights + (long long)run * WEIGHTS);
    __syncthreads();
    for (int program = threadIdx.x; program < CHUNK; program += blockDim.x) {
      const int steps = program < item.count ? forward(network, rules, item, program, trace) : 0;
      if (!partial) continue;
      clear(trace, steps, program);
      backward(network, steps, program, trace);
    }
    __syncthreads();
    if (partial) accumulate(trace, T, partial + (long long)number * WEIGHTS);
  }
}

// Adds up the parts of each run's gradient, in order. gradient [R, WEIGHTS].
KERNEL add_parts(const float* partial, const int* first_item, int runs, float* gradient) {
  const long long count = (long long)runs * WEIGHTS, threads = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads) {
    const int run = (int)(i / WEIGHTS), at = (int)(i % WEIGHTS);
    float sum = 0.0f;
    for (int item = first_item[run]; item < first_item[run + 1]; ++item) sum += partial[(long long)item * WEIGHTS + at];
    gradient[i] = sum;
  }
}

// One step of Adam up the gradient; step [R] is the corrected learning rate. A run without items stays.
KERNEL ascend(float* weights, float* mean, float* variance, const float* gradient, const int* first_item,
              const float* step, int runs, int size, float beta1, float beta2, float epsilon) {
  const long long count = (long long)runs * size, threads = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads) {
    const int run = (int)(i / size);
    if (first_item[run] == first_item[run + 1]) continue;
    const float g = gradient[i];
    mean[i] = beta1 * mean[i] + (1.0f - beta1) * g;
    variance[i] = beta2 * variance[i] + (1.0f - beta2) * g * g;
    weights[i] += step[run] * mean[i] / (sqrtf(variance[i]) + epsilon);
  }
}
