// Draws programs, one or a few to a thread. When a program is complete its thread begins the next, so that long and short
// ones do not wait for each other. A program depends on its run's weights, seed and iteration and on its own number.

constexpr int DEAD_END = -1;  // as a length: no token may follow

// What a thread draws at a time.
struct Draw {
  Walk walk;
  int number;  // of the program in its batch; beyond the batch: nothing left to do
  float entropy;
};

DEVICE void put(Token* row, int from, int token) {
  for (int t = from; t < T; ++t) row[t] = (Token)token;
}

// Draws one token by the logits [L], to which the biases are added here, or -1 at a dead end. The logits become the
// cumulative mass.
DEVICE int choose(const Rules& rules, const float* output_bias, float* logits, float random, Draw& draw) {
  uint64 allowed[WORDS];
  if (!allowed_next(rules, draw.walk, allowed)) return -1;
  const float* bias = bias_at(rules, draw.walk);
  float top = -3.0e38f, mass = 0.0f, moment = 0.0f;
  for (int token = 0; token < L; ++token) {
    const float value = logits[token] + output_bias[token] + bias[token];
    logits[token] = value;
    if (is_in(allowed, token)) top = fmaxf(top, value);
  }
  for (int token = 0; token < L; ++token) {
    if (!is_in(allowed, token)) continue;
    const float shifted = logits[token] - top, e = fast_exp(shifted);
    mass += e;
    moment += e * shifted;
    logits[token] = mass;
  }
  draw.entropy += logf(mass) - moment / mass;
  const float target = random * mass;
  int chosen = -1;
  for (int token = 0; token < L; ++token)
    if (is_in(allowed, token)) {
      chosen = token;
      if (logits[token] > target) break;
    }
  return chosen;
}

// Puts a token, or a dead end, to the program being drawn. Once it is complete it is written, the next one begins, and
// this says so. tokens [R, rows, T], lengths and entropy [R, rows].
struct Drawn {
  Token* tokens;
  int* lengths;
  float* entropy;
};
DEVICE bool put_token(const Rules& rules, int token, long long row, int stride, const Drawn& to, Draw& draw) {
  if (token >= 0) {
    to.tokens[row * T + draw.walk.length] = (Token)token;
    extend(rules, draw.walk, token);
    if (draw.walk.open > 0) return false;
  }
  put(to.tokens + row * T, draw.walk.length, -1);
  to.lengths[row] = token < 0 ? DEAD_END : draw.walk.length;
  to.entropy[row] = draw.entropy;
  draw.number += stride;
  draw.entropy = 0.0f;
  begin(rules, draw.walk);
  return true;
}

// The random number for the next token of a program.
DEVICE float random_for(const Draw& draw, uint64 seed, uint32 iteration) {
  const int place = draw.walk.length;
  const Block4 bits = random_block(seed, SAMPLING, iteration, (uint32)draw.number, (uint32)(place / 4));
  return uniform(bits.word[place % 4]);
}

// tokens [R, rows, T], lengths and entropy [R, rows]; the first `batch` rows of every run are drawn. `parts` blocks serve
// one run. Runs that are not active are left alone.
KERNEL sample(const uint64* rule_words, const int* rule_integers, const float* rule_bias, const float* weights,
              const uint64* seeds, const int* iterations, const uint8* active, int batch, int rows, int parts,
              Token* tokens, int* lengths, float* entropy) {
  const int run = blockIdx.x / parts;
  if (active && !active[run]) return;
  const Rules rules{rule_words, rule_integers, rule_bias};
  const Network network = network_in(shared_memory);
  load(network, weights + (long long)run * WEIGHTS);
  __syncthreads();
  const int thread = (blockIdx.x % parts) * blockDim.x + threadIdx.x, stride = parts * blockDim.x * SAMPLES;
  const Drawn drawn{tokens, lengths, entropy};
  const uint64 seed = seeds[run];
  const uint32 iteration = (uint32)iterations[run];
  Draw draws[SAMPLES];
  float state[SAMPLES][H], cell[SAMPLES][H];
  bool busy = false;
#pragma unroll
  for (int s = 0; s < SAMPLES; ++s) {
    draws[s].number = thread * SAMPLES + s;
    draws[s].entropy = 0.0f;
    begin(rules, draws[s].walk);
    busy = busy || draws[s].number < batch;
#pragma unroll
    for (int k = 0; k < H; ++k) state[s][k] = cell[s][k] = 0.0f;
  }
  while (busy) {
    int parent[SAMPLES], sibling[SAMPLES];
#pragma unroll
    for (int s = 0; s < SAMPLES; ++s) {
      parent[s] = parent_of(draws[s].walk);
      sibling[s] = sibling_of(draws[s].walk);
    }
    step<SAMPLES>(network, parent, sibling, state, cell);
    busy = false;
#pragma unroll
    for (int s = 0; s < SAMPLES; ++s) {
      Draw& draw = draws[s];
      if (draw.number >= batch) continue;
      float logits[L];
      write_logits(network, state[s], logits);
      const float random = random_for(draw, seed, iteration);
      const int token = choose(rules, network.output_bias, logits, random, draw);
      const long long row = (long long)run * rows + draw.number;
      if (put_token(rules, token, row, stride, drawn, draw)) {
#pragma unroll
        for (int k = 0; k < H; ++k) state[s][k] = cell[s][k] = 0.0f;
      }
      busy = busy || draw.number < batch;
    }
  }
}
