// Log-probabilities and entropies of given programs, and back-propagation through time. A warp takes one program after
// another, a lane a unit of the network; what the weights get is added up in registers and in memory of the warp's own,
// in the order of the programs. Up to CHUNK programs of one run are an item of work for the warps of a block.

constexpr int UNITS = (H + LANES - 1) / LANES;   // of a lane
constexpr int TOKENS = (L + LANES - 1) / LANES;  // of a lane
constexpr int OUTPUT_ROW = L | 1;                // odd, to spread rows over the banks of shared memory

// The weights in shared memory, for all warps of a block.
struct Layers {
  float4* recurrent;   // [H, ROW]: from unit k to unit j at k * ROW + j
  float4* parent;      // [L + 1, ROW], biases added
  float4* sibling;     // [L + 1, ROW]
  float* output;       // [H, OUTPUT_ROW]
  float* output_bias;  // [L]
};
// What a warp shares among its lanes.
struct Exchange {
  float4* rows;     // [2, L + 1, H] the gradient by the inputs: parents, then siblings
  float4* slopes;   // [H] by the gates
  float* state;     // [H]
  float* logits;    // [L] their gradient
};
constexpr int LAYER_BYTES = ((H + 2 * (L + 1)) * ROW * 16 + (H * OUTPUT_ROW + L) * 4 + 15) / 16 * 16;
constexpr int EXCHANGE_BYTES = (2 * (L + 1) + 1) * H * 16 + ((H + L) * 4 + 15) / 16 * 16;

DEVICE Layers layers_in(char* memory) {
  Layers n;
  n.recurrent = (float4*)memory;
  n.parent = n.recurrent + H * ROW;
  n.sibling = n.parent + (L + 1) * ROW;
  n.output = (float*)(n.sibling + (L + 1) * ROW);
  n.output_bias = n.output + H * OUTPUT_ROW;
  return n;
}
DEVICE Exchange exchange_in(char* memory) {
  Exchange e;
  e.rows = (float4*)(memory + LAYER_BYTES + threadIdx.y * EXCHANGE_BYTES);
  e.slopes = e.rows + 2 * (L + 1) * H;
  e.state = (float*)(e.slopes + H);
  e.logits = e.state + H;
  return e;
}

// All threads of a block together; a barrier must follow.
DEVICE void load(const Layers& n, const float* flat) {
  const int thread = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
  for (int i = thread; i < H * H; i += threads)
    n.recurrent[i / H * ROW + i % H] = gates_at(flat + RECURRENT_AT + i / H * 4 * H, i % H);
  for (int i = thread; i < (L + 1) * H; i += threads) {
    const int token = i / H, unit = i % H;
    n.parent[token * ROW + unit] = plus(gates_at(flat + token * 4 * H, unit), gates_at(flat + BIAS_AT, unit));
    n.sibling[token * ROW + unit] = gates_at(flat + SIBLING_AT + token * 4 * H, unit);
  }
  for (int i = thread; i < H * L; i += threads) n.output[i / L * OUTPUT_ROW + i % L] = flat[OUTPUT_AT + i];
  for (int i = thread; i < L; i += threads) n.output_bias[i] = flat[OUTPUT_BIAS_AT + i];
}

// One item: which programs of which run, and how much each counts.
struct Item {
  const Token* tokens;          // [rows, T] of its run
  const int* chosen;            // [count] rows; null: the first ones
  const float *weight, *share;  // [count] of log-probability and entropy; null: 0
  float *log_probability, *entropy;  // [count] or null
  int count;
  float entropy_decay;
  DEVICE const Token* program(int number) const { return tokens + (long long)(chosen ? chosen[number] : number) * T; }
};

// What the rules say of every step of the programs of an item.
struct Step {
  uint64 allowed[WORDS];
  Token parent, sibling, token;
  Token last_open;  // whether this is the last open position
};
struct Route {
  Step step[T];
  int steps;
  int ruled_out;  // the step after the last is not allowed
};

DEVICE void walk_program(const Rules& rules, const Token* tokens, Route& route) {
  Walk walk;
  begin(rules, walk);
  int t = 0;
  route.ruled_out = 0;
  for (; t < T && walk.open > 0; ++t) {
    Step& step = route.step[t];
    const int token = tokens[t];
    step.parent = (Token)parent_of(walk);
    step.sibling = (Token)sibling_of(walk);
    step.token = (Token)token;
    step.last_open = walk.open == 1;
    if (!allowed_next(rules, walk, step.allowed) || token < 0 || token >= L || !is_in(step.allowed, token)) {
      route.ruled_out = 1;
      break;
    }
    extend(rules, walk, token);
  }
  route.steps = t;
}

// What the way forward of a program leaves for the way back.
constexpr int INPUT = 0, FORGET = 1, CANDIDATE = 2, OUTPUT = 3, CELL = 4, SQUASHED = 5, STATE = 6, FROM_LOGITS = 7;
struct Trace {
  float* numbers;  // [T, 8, H]
  DEVICE float& at(int step, int kind, int unit) const { return numbers[(step * 8 + kind) * H + unit]; }
};
constexpr int TRACE = T * 8 * H;  // floats

// The gradient of a warp's programs: of these weights in registers, of the inputs in Exchange::rows.
struct Sums {
  float4 recurrent[UNITS][H];  // to the lane's unit from each
  float output[UNITS][L];      // from the lane's unit to each token
  float output_bias[TOKENS];   // of the lane's tokens
};

DEVICE void add_scaled(float4& sum, float4 a, float scale) {
  sum.x += a.x * scale;
  sum.y += a.y * scale;
  sum.z += a.z * scale;
  sum.w += a.w * scale;
}
DEVICE float dot(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }

DEVICE void advance_state(const Layers& n, const Exchange& e, const Step& step, const Trace& trace, int t,
                          float (&cell)[UNITS]) {
  float4 gates[UNITS];
#pragma unroll
  for (int u = 0; u < UNITS; ++u) {
    const int unit = threadIdx.x + u * LANES;
    if (unit < H) gates[u] = plus(n.parent[step.parent * ROW + unit], n.sibling[step.sibling * ROW + unit]);
  }
#pragma unroll 8
  for (int k = 0; k < H; ++k) {
    const float state = e.state[k];
#pragma unroll
    for (int u = 0; u < UNITS; ++u)
      if (threadIdx.x + u * LANES < H) add_scaled(gates[u], n.recurrent[k * ROW + threadIdx.x + u * LANES], state);
  }
  __syncwarp();
#pragma unroll
  for (int u = 0; u < UNITS; ++u) {
    const int unit = threadIdx.x + u * LANES;
    if (unit >= H) continue;
    const float in = sigmoid(gates[u].x), forget = sigmoid(gates[u].y);
    const float candidate = squash(gates[u].z), out = sigmoid(gates[u].w);
    const float next = forget * cell[u] + in * candidate, flat = squash(next);
    cell[u] = next;
    e.state[unit] = out * flat;
    trace.at(t, INPUT, unit) = in;
    trace.at(t, FORGET, unit) = forget;
    trace.at(t, CANDIDATE, unit) = candidate;
    trace.at(t, OUTPUT, unit) = out;
    trace.at(t, CELL, unit) = next;
    trace.at(t, SQUASHED, unit) = flat;
    trace.at(t, STATE, unit) = out * flat;
  }
  __syncwarp();
}

// The log-probability and the entropy of a step. Leaves in Exchange::logits the gradient by the logits, which is
// w (1[chosen] - p) - v p (log p + H), with v the weight of this step's entropy.
DEVICE void read_logits(const Layers& n, const Rules& rules, const Exchange& e, const Step& step, int t, float weight,
                        float share, Sums& sums, float& log_probability, float& entropy) {
  const float* bias = rules.bias + (t * 2 + step.last_open) * L;
  float logits[TOKENS], top = -3.0e38f, mass = 0.0f, moment = 0.0f, chosen = 0.0f;
#pragma unroll
  for (int i = 0; i < TOKENS; ++i) {
    const int token = threadIdx.x + i * LANES;
    if (token >= L) continue;
    float sum = n.output_bias[token] + bias[token], odd = 0.0f;  // two sums, so that they need not wait
#pragma unroll
    for (int k = 0; k + 1 < H; k += 2) {
      sum += e.state[k] * n.output[k * OUTPUT_ROW + token];
      odd += e.state[k + 1] * n.output[(k + 1) * OUTPUT_ROW + token];
    }
    if (H % 2) sum += e.state[H - 1] * n.output[(H - 1) * OUTPUT_ROW + token];
    logits[i] = sum += odd;
    if (is_in(step.allowed, token)) top = fmaxf(top, sum);
  }
  top = warp_max(top);
#pragma unroll
  for (int i = 0; i < TOKENS; ++i) {
    const int token = threadIdx.x + i * LANES;
    if (token >= L || !is_in(step.allowed, token)) continue;
    logits[i] -= top;
    const float mine = fast_exp(logits[i]);
    mass += mine;
    moment += mine * logits[i];
    if (token == step.token) chosen = logits[i];
  }
  mass = warp_sum(mass);
  moment = warp_sum(moment);
  const float log_mass = logf(mass);
  entropy = log_mass - moment / mass;
  log_probability = warp_sum(chosen) - log_mass;
#pragma unroll
  for (int i = 0; i < TOKENS; ++i) {
    const int token = threadIdx.x + i * LANES;
    if (token >= L) continue;
    float slope = 0.0f;
    if (is_in(step.allowed, token)) {
      const float log_p = logits[i] - log_mass;
      slope = (token == step.token ? weight : 0.0f) - fast_exp(log_p) * (weight + share * (log_p + entropy));
    }
    e.logits[token] = slope;
    sums.output_bias[i] += slope;
  }
  __syncwarp();
}

// The way forward of one program.
DEVICE void forward(const Layers& n, const Rules& rules, const Exchange& e, const Item& item, int program,
                    const Route& route, const Trace& trace, bool learn, Sums& sums) {
  const float weight = item.weight ? item.weight[program] : 0.0f, share = item.share ? item.share[program] : 0.0f;
  float cell[UNITS], decay = 1.0f, log_probability = 0.0f, entropy = 0.0f;
#pragma unroll
  for (int u = 0; u < UNITS; ++u) {
    cell[u] = 0.0f;
    if (threadIdx.x + u * LANES < H) e.state[threadIdx.x + u * LANES] = 0.0f;
  }
  __syncwarp();
  for (int t = 0; t < route.steps; ++t, decay *= item.entropy_decay) {
    const Step& step = route.step[t];
    float here, variety;
    advance_state(n, e, step, trace, t, cell);
    read_logits(n, rules, e, step, t, weight, share * decay, sums, here, variety);
    log_probability += here;
    entropy += decay * variety;
    if (!learn) continue;
#pragma unroll
    for (int u = 0; u < UNITS; ++u) {
      const int unit = threadIdx.x + u * LANES;
      if (unit >= H) continue;
      const float state = e.state[unit];
      float slope = 0.0f;
#pragma unroll
      for (int token = 0; token < L; ++token) {
        const float by_logit = e.logits[token];
        sums.output[u][token] += state * by_logit;
        slope += by_logit * n.output[unit * OUTPUT_ROW + token];
      }
      trace.at(t, FROM_LOGITS, unit) = slope;
    }
    __syncwarp();
  }
  if (threadIdx.x != 0) return;
  if (item.log_probability) item.log_probability[program] = route.ruled_out ? -1.0f / 0.0f : log_probability;
  if (item.entropy) item.entropy[program] = entropy;
}

// What the way back reads of a step, for the unit of a lane.
struct Past {
  float in, forget, candidate, out, flat, from_logits;
  float cell_before, state_before;
};
DEVICE Past past_of(const Trace& trace, int t, int unit) {
  return Past{trace.at(t, INPUT, unit),    trace.at(t, FORGET, unit),
              trace.at(t, CANDIDATE, unit), trace.at(t, OUTPUT, unit),
              trace.at(t, SQUASHED, unit),  trace.at(t, FROM_LOGITS, unit),
              t ? trace.at(t - 1, CELL, unit) : 0.0f, t ? trace.at(t - 1, STATE, unit) : 0.0f};
}

// The way back of one program. The next step is read while the present one is worked on.
DEVICE void backward(const Layers& n, const Exchange& e, const Route& route, const Trace& trace, Sums& sums) {
  float to_state[UNITS], to_cell[UNITS];
  Past past[UNITS];
  const int last = route.steps - 1;
  if (last < 0) return;
#pragma unroll
  for (int u = 0; u < UNITS; ++u) {
    to_state[u] = to_cell[u] = 0.0f;
    if (threadIdx.x + u * LANES < H) past[u] = past_of(trace, last, threadIdx.x + u * LANES);
  }
  for (int t = last; t >= 0; --t) {
    float4 slopes[UNITS];
#pragma unroll
    for (int u = 0; u < UNITS; ++u) {
      const int unit = threadIdx.x + u * LANES;
      if (unit >= H) continue;
      const Past now = past[u];
      if (t > 0) past[u] = past_of(trace, t - 1, unit);
      const float by_state = to_state[u] + now.from_logits;
      const float by_cell = to_cell[u] + by_state * now.out * (1.0f - now.flat * now.flat);
      to_cell[u] = by_cell * now.forget;
      float4 d;
      d.x = by_cell * now.candidate * now.in * (1.0f - now.in);
      d.y = by_cell * now.cell_before * now.forget * (1.0f - now.forget);
      d.z = by_cell * now.in * (1.0f - now.candidate * now.candidate);
      d.w = by_state * now.flat * now.out * (1.0f - now.out);
      slopes[u] = e.slopes[unit] = d;
      e.state[unit] = now.state_before;
      add_scaled(e.rows[route.step[t].parent * H + unit], d, 1.0f);
      add_scaled(e.rows[(L + 1 + route.step[t].sibling) * H + unit], d, 1.0f);
      to_state[u] = 0.0f;
    }
    __syncwarp();
#pragma unroll
    for (int k = 0; k < H; ++k) {
      const float state = e.state[k];
      const float4 slope = e.slopes[k];
#pragma unroll
      for (int u = 0; u < UNITS; ++u) {
        const int unit = threadIdx.x + u * LANES;
        if (unit >= H) continue;
        add_scaled(sums.recurrent[u][k], slopes[u], state);
        to_state[u] += dot(slope, n.recurrent[unit * ROW + k]);
      }
    }
    __syncwarp();
  }
}

DEVICE void clear(const Exchange& e, Sums& sums) {
#pragma unroll
  for (int u = 0; u < UNITS; ++u) {
#pragma unroll
    for (int k = 0; k < H; ++k) sums.recurrent[u][k] = float4{0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int token = 0; token < L; ++token) sums.output[u][token] = 0.0f;
  }
#pragma unroll
  for (int i = 0; i < TOKENS; ++i) sums.output_bias[i] = 0.0f;
  for (int i = threadIdx.x; i < 2 * (L + 1) * H; i += LANES) e.rows[i] = float4{0.0f, 0.0f, 0.0f, 0.0f};
  __syncwarp();
}

DEVICE void put_gates(float* row, int unit, float4 g) {
  row[unit] = g.x;
  row[H + unit] = g.y;
  row[2 * H + unit] = g.z;
  row[3 * H + unit] = g.w;
}

// The warp's part of the gradient, in the order of PolicyWeights.
DEVICE void write(const Exchange& e, const Sums& sums, float* gradient) {
#pragma unroll
  for (int u = 0; u < UNITS; ++u) {
    const int unit = threadIdx.x + u * LANES;
    if (unit >= H) continue;
    float4 bias{0.0f, 0.0f, 0.0f, 0.0f};  // every step has one parent
    for (int token = 0; token <= L; ++token) add_scaled(bias, e.rows[token * H + unit], 1.0f);
    for (int row = 0; row < 2 * (L + 1); ++row) put_gates(gradient + row * 4 * H, unit, e.rows[row * H + unit]);
    put_gates(gradient + BIAS_AT, unit, bias);
#pragma unroll
    for (int k = 0; k < H; ++k) put_gates(gradient + RECURRENT_AT + k * 4 * H, unit, sums.recurrent[u][k]);
#pragma unroll
    for (int token = 0; token < L; ++token) gradient[OUTPUT_AT + unit * L + token] = sums.output[u][token];
  }
#pragma unroll
  for (int i = 0; i < TOKENS; ++i)
    if (threadIdx.x + i * LANES < L) gradient[OUTPUT_BIAS_AT + threadIdx.x + i * LANES] = sums.output_bias[i];
}

// Works through items; each warp of block b has a piece of the traces, and the block its own routes in shared memory.
// Items of run r are first_item[r] ... first_item[r + 1] - 1, the programs of an item CHUNK of those chosen for its run.
// tokens [R, rows, T]; chosen, weight, share, log_probability and entropy [R, rows], each but tokens may be null. partial
// [items, warps, WEIGHTS] or null: scores alone.
KERNEL score(const uint64* rule_words, const int* rule_integers, const float* rule_bias, const float* weights,
             const Token* tokens, int rows, int runs, const int* first_item, const int* counts, const int* chosen,
             const float* weight, const float* share, float entropy_decay, float* traces, float* log_probability,
             float* entropy, float* partial) {
  const Rules rules{rule_words, rule_integers, rule_bias};
  const Layers layers = layers_in(shared_memory);
  const Exchange exchange = exchange_in(shared_memory);
  const int warp = threadIdx.y, warps = blockDim.y, thread = warp * blockDim.x + threadIdx.x;
  Route* route = (Route*)(shared_memory + LAYER_BYTES + warps * EXCHANGE_BYTES);  // [CHUNK]
  const Trace trace{traces + ((long long)blockIdx.x * warps + warp) * TRACE};
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
    __syncthreads();  // the last item still uses the weights and routes
    load(layers, weights + (long long)run * WEIGHTS);
    for (int p = thread; p < item.count; p += blockDim.x * warps) walk_program(rules, item.program(p), route[p]);
    __syncthreads();
    Sums sums;
    clear(exchange, sums);
    for (int p = warp; p < item.count; p += warps) {
      forward(layers, rules, exchange, item, p, route[p], trace, partial != nullptr, sums);
      if (partial) backward(layers, exchange, route[p], trace, sums);
    }
    if (partial) write(exchange, sums, partial + ((long long)number * warps + warp) * WEIGHTS);
  }
}

// Adds up the parts of each run's gradient, in order. gradient [R, WEIGHTS].
KERNEL add_parts(const float* partial, const int* first_item, int runs, int warps, float* gradient) {
  const long long count = (long long)runs * WEIGHTS, threads = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads) {
    const int run = (int)(i / WEIGHTS), at = (int)(i % WEIGHTS);
    float sum = 0.0f;
    for (long long part = (long long)first_item[run] * warps; part < (long long)first_item[run + 1] * warps; ++part)
      sum += partial[part * WEIGHTS + at];
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
