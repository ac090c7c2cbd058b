// The recurrent network, one thread a program. Its weights lie in shared memory so that all threads read the same word
// at the same time; the state of a program is in the registers of its thread.

// In shared memory: the four gates of a unit (input, forget, candidate, output) side by side.
struct Network {
  float4* recurrent;    // [H, H]: to unit j from unit k at j * H + k
  float4* parent;       // [L + 1, H + 1], biases added; a row has one place more, to spread rows over the banks
  float4* sibling;      // [L + 1, H + 1]
  float* output;        // [L, H]
  float* output_bias;   // [L]
};
constexpr int ROW = H + 1;
constexpr int WEIGHTS = 4 * H * (2 * (L + 1) + H + 1) + (H + 1) * L;  // as PolicyWeights has them, flat
constexpr int SIBLING_AT = (L + 1) * 4 * H, RECURRENT_AT = 2 * SIBLING_AT, BIAS_AT = RECURRENT_AT + 4 * H * H;
constexpr int OUTPUT_AT = BIAS_AT + 4 * H, OUTPUT_BIAS_AT = OUTPUT_AT + H * L;

DEVICE Network network_in(char* memory) {
  Network n;
  n.recurrent = (float4*)memory;
  n.parent = n.recurrent + H * H;
  n.sibling = n.parent + (L + 1) * ROW;
  n.output = (float*)(n.sibling + (L + 1) * ROW);
  n.output_bias = n.output + L * H;
  return n;
}

DEVICE float4 gates_at(const float* row, int unit) {
  float4 g;
  g.x = row[unit];
  g.y = row[H + unit];
  g.z = row[2 * H + unit];
  g.w = row[3 * H + unit];
  return g;
}
DEVICE float4 plus(float4 a, float4 b) {
  a.x += b.x;
  a.y += b.y;
  a.z += b.z;
  a.w += b.w;
  return a;
}

// All threads of a block together; a barrier must follow.
DEVICE void load(const Network& n, const float* flat) {
  const int thread = threadIdx.x, threads = blockDim.x;
  for (int i = thread; i < H * H; i += threads) n.recurrent[i] = gates_at(flat + RECURRENT_AT + (i % H) * 4 * H, i / H);
  for (int i = thread; i < (L + 1) * H; i += threads) {
    const int token = i / H, unit = i % H;
    n.parent[token * ROW + unit] = plus(gates_at(flat + token * 4 * H, unit), gates_at(flat + BIAS_AT, unit));
    n.sibling[token * ROW + unit] = gates_at(flat + SIBLING_AT + token * 4 * H, unit);
  }
  for (int i = thread; i < L * H; i += threads) n.output[i] = flat[OUTPUT_AT + (i % H) * L + i / H];
  for (int i = thread; i < L; i += threads) n.output_bias[i] = flat[OUTPUT_BIAS_AT + i];
}

// exp(-x), cut where a sigmoid in float32 no longer changes, so that no quotient of infinities arises.
DEVICE float decay(float x) { return fast_exp(-fminf(fmaxf(x, -30.0f), 30.0f)); }
DEVICE float sigmoid(float x) { return fast_divide(1.0f, 1.0f + decay(x)); }
DEVICE float squash(float x) {
  const float e = decay(2.0f * x);
  return fast_divide(1.0f - e, 1.0f + e);
}

// One step of the network for several programs of a thread: `state` [H] and `cell` [H] of each become those after
// reading its parent and sibling.
template <int PROGRAMS>
DEVICE void step(const Network& n, const int* parent, const int* sibling, float (&state)[PROGRAMS][H],
                 float (&cell)[PROGRAMS][H]) {
  float next[PROGRAMS][H];
  for (int unit = 0; unit < H; ++unit) {
    float4 gates[PROGRAMS];
#pragma unroll
    for (int p = 0; p < PROGRAMS; ++p)
      gates[p] = plus(n.parent[parent[p] * ROW + unit], n.sibling[sibling[p] * ROW + unit]);
    const float4* row = n.recurrent + unit * H;
#pragma unroll
    for (int k = 0; k < H; ++k) {
      const float4 w = row[k];
#pragma unroll
      for (int p = 0; p < PROGRAMS; ++p) {
        gates[p].x += w.x * state[p][k];
        gates[p].y += w.y * state[p][k];
        gates[p].z += w.z * state[p][k];
        gates[p].w += w.w * state[p][k];
      }
    }
#pragma unroll
    for (int p = 0; p < PROGRAMS; ++p) {
      const float in = sigmoid(gates[p].x), forget = sigmoid(gates[p].y);
      const float candidate = squash(gates[p].z), out = sigmoid(gates[p].w);
      cell[p][unit] = forget * cell[p][unit] + in * candidate;
      next[p][unit] = out * squash(cell[p][unit]);
    }
  }
#pragma unroll
  for (int p = 0; p < PROGRAMS; ++p)
#pragma unroll
    for (int k = 0; k < H; ++k) state[p][k] = next[p][k];
}

// The logits of all tokens, without biases.
DEVICE void write_logits(const Network& n, const float (&state)[H], float* logits) {
  for (int token = 0; token < L; ++token) {
    float sum = 0.0f;
    const float* row = n.output + token * H;
#pragma unroll
    for (int k = 0; k < H; ++k) sum += row[k] * state[k];
    logits[token] = sum;
  }
}

DEVICE const float* bias_at(const Rules& rules, const Walk& walk) {
  return rules.bias + (walk.length * 2 + (walk.open == 1)) * L;
}
