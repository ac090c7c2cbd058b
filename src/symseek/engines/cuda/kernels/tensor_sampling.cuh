// Drawing programs with the network on tensor cores: what `sample` draws, several times as fast, for H = 32 on a GPU.
//
// A warp draws 32 programs at a time. Its products with the recurrent weights are matrix products of 16 programs by 8
// units by 8 gates in tf32. Every factor is split into a high and a low part, and three of their four products are added:
// that is as exact as float32. The units are numbered so that the lane which computes the new state of a unit is the one
// which needs it in the next product: the state never leaves the registers.

#ifndef SYMSEEK_HOST

constexpr int UNIT_TILES = H / 8;              // of 8 units
constexpr int LOGIT_TILES = (L + 7) / 8;       // of 8 tokens
constexpr int LOGIT_ROW = LOGIT_TILES * 8 + 1;
constexpr int INPUT_ROW = 4 * H + 8;           // floats; the 8 spread rows over the banks of shared memory
constexpr int WARP_PROGRAMS = 32;
// One table for parent and sibling together where there is room for all pairs.
constexpr int INPUT_ROWS = COMBINED ? (L + 1) * (L + 1) : 2 * (L + 1);

struct TensorNetwork {
  float4* recurrent;  // [4 gates, UNIT_TILES out, UNIT_TILES in, 32 lanes]: two high parts, two low parts
  float4* output;     // [LOGIT_TILES, UNIT_TILES in, 32 lanes]
  float* inputs;      // [INPUT_ROWS, INPUT_ROW], biases added
  float* logits;      // [warps, WARP_PROGRAMS, LOGIT_ROW]
};

DEVICE TensorNetwork tensor_network_in(char* memory) {
  TensorNetwork n;
  n.recurrent = (float4*)memory;
  n.output = n.recurrent + 4 * UNIT_TILES * UNIT_TILES * 32;
  n.inputs = (float*)(n.output + LOGIT_TILES * UNIT_TILES * 32);
  n.logits = n.inputs + INPUT_ROWS * INPUT_ROW;
  return n;
}

DEVICE float high_part(float x) {
  uint32 bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return __uint_as_float(bits);
}

DEVICE float4 split_pair(float a, float b) {
  const float high_a = high_part(a), high_b = high_part(b);
  return float4{high_a, high_b, high_part(a - high_a), high_part(b - high_b)};
}

// All threads of a block together; a barrier must follow.
DEVICE void load(const TensorNetwork& n, const float* flat) {
  const int thread = threadIdx.x, threads = blockDim.x;
  for (int i = thread; i < 4 * UNIT_TILES * UNIT_TILES * 32; i += threads) {
    const int lane = i % 32, in = i / 32 % UNIT_TILES, out = i / 32 / UNIT_TILES % UNIT_TILES;
    const int gate = i / 32 / UNIT_TILES / UNIT_TILES, from = 8 * in + 2 * (lane % 4);
    const float* column = flat + RECURRENT_AT + gate * H + 8 * out + lane / 4;
    n.recurrent[i] = split_pair(column[from * 4 * H], column[(from + 1) * 4 * H]);
  }
  for (int i = thread; i < LOGIT_TILES * UNIT_TILES * 32; i += threads) {
    const int lane = i % 32, in = i / 32 % UNIT_TILES, token = i / 32 / UNIT_TILES * 8 + lane / 4;
    const int from = 8 * in + 2 * (lane % 4);
    const float* column = flat + OUTPUT_AT + token;
    n.output[i] = token < L ? split_pair(column[from * L], column[(from + 1) * L]) : float4{0.0f, 0.0f, 0.0f, 0.0f};
  }
  for (int i = thread; i < INPUT_ROWS * 4 * H; i += threads) {
    const int row = i / (4 * H), at = i % (4 * H);
    float value;
    if (COMBINED)
      value = flat[row / (L + 1) * 4 * H + at] + flat[SIBLING_AT + row % (L + 1) * 4 * H + at] + flat[BIAS_AT + at];
    else
      value = flat[row * 4 * H + at] + (row <= L ? flat[BIAS_AT + at] : 0.0f);
    n.inputs[row * INPUT_ROW + at] = value;
  }
}

// Parts of 16 programs by 8 units, as a lane has them.
struct Tile {
  float v[4];  // programs lane / 4 and lane / 4 + 8, units 2 (lane % 4) and the next: (0, 0), (0, 1), (1, 0), (1, 1)
};

DEVICE void multiply(Tile& sum, const Tile& a, float b0, float b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(sum.v[0]), "+f"(sum.v[1]), "+f"(sum.v[2]), "+f"(sum.v[3])
      : "r"(__float_as_uint(a.v[0])), "r"(__float_as_uint(a.v[2])), "r"(__float_as_uint(a.v[1])),
        "r"(__float_as_uint(a.v[3])), "r"(__float_as_uint(b0)), "r"(__float_as_uint(b1)));
}

// State of both halves of a warp's programs, split.
struct SplitState {
  Tile high[2][UNIT_TILES], low[2][UNIT_TILES];
};

DEVICE void add_products(Tile (&sum)[2], const SplitState& state, int in, float4 b) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    multiply(sum[half], state.high[half][in], b.x, b.y);
    multiply(sum[half], state.high[half][in], b.z, b.w);
    multiply(sum[half], state.low[half][in], b.x, b.y);
  }
}

// exp(-x), cut so that a product of three cannot overflow.
DEVICE float cut_decay(float x) { return fast_exp(-fminf(fmaxf(x, -25.0f), 25.0f)); }

// The cell and the state after a step, over common denominators: two divisions instead of five.
DEVICE float cell_step(float in, float forget, float candidate, float out, float& cell) {
  const float i = 1.0f + cut_decay(in), f = 1.0f + cut_decay(forget), o = 1.0f + cut_decay(out);
  const float fall = cut_decay(2.0f * candidate), both = i * (1.0f + fall);
  cell = fast_divide(cell * both + (1.0f - fall) * f, both * f);
  const float drop = cut_decay(2.0f * cell);
  return fast_divide(1.0f - drop, o * (1.0f + drop));
}

DEVICE void put_inputs(const TensorNetwork& n, const int* row, const int* sibling_row, int at, Tile& sum) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float2 a = *(const float2*)(n.inputs + row[r] * INPUT_ROW + at);
    sum.v[2 * r] = a.x;
    sum.v[2 * r + 1] = a.y;
    if (COMBINED) continue;
    const float2 b = *(const float2*)(n.inputs + sibling_row[r] * INPUT_ROW + at);
    sum.v[2 * r] += b.x;
    sum.v[2 * r + 1] += b.y;
  }
}

// One step of the network for the 32 programs of a warp; parent and sibling are those of the lane's own program.
DEVICE void step(const TensorNetwork& n, int parent, int sibling, SplitState& state, Tile (&cell)[2][UNIT_TILES]) {
  const int lane = threadIdx.x % 32, unit = 2 * (lane % 4);
  const int own = COMBINED ? parent * (L + 1) + sibling : parent, beside = L + 1 + sibling;
  int row[2][2], sibling_row[2][2];
#pragma unroll
  for (int half = 0; half < 2; ++half)
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      row[half][r] = __shfl_sync(0xffffffffu, own, 16 * half + 8 * r + lane / 4);
      sibling_row[half][r] = COMBINED ? 0 : __shfl_sync(0xffffffffu, beside, 16 * half + 8 * r + lane / 4);
    }
  Tile next[2][UNIT_TILES];
#pragma unroll
  for (int out = 0; out < UNIT_TILES; ++out) {
    Tile gates[4][2];
#pragma unroll
    for (int gate = 0; gate < 4; ++gate) {
#pragma unroll
      for (int half = 0; half < 2; ++half)
        put_inputs(n, row[half], sibling_row[half], gate * H + 8 * out + unit, gates[gate][half]);
#pragma unroll
      for (int in = 0; in < UNIT_TILES; ++in)
        add_products(gates[gate], state, in, n.recurrent[((gate * UNIT_TILES + out) * UNIT_TILES + in) * 32 + lane]);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        next[half][out].v[e] = cell_step(gates[0][half].v[e], gates[1][half].v[e], gates[2][half].v[e],
                                         gates[3][half].v[e], cell[half][out].v[e]);
  }
#pragma unroll
  for (int half = 0; half < 2; ++half)
#pragma unroll
    for (int out = 0; out < UNIT_TILES; ++out)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float value = next[half][out].v[e], high = high_part(value);
        state.high[half][out].v[e] = high;
        state.low[half][out].v[e] = high_part(value - high);
      }
}

// Writes the logits of all programs, without biases, to the warp's part of shared memory.
DEVICE void write_logits(const TensorNetwork& n, const SplitState& state, float* logits) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int tile = 0; tile < LOGIT_TILES; ++tile) {
    Tile sum[2] = {};
#pragma unroll
    for (int in = 0; in < UNIT_TILES; ++in) add_products(sum, state, in, n.output[(tile * UNIT_TILES + in) * 32 + lane]);
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        logits[(16 * half + 8 * (e / 2) + lane / 4) * LOGIT_ROW + 8 * tile + 2 * (lane % 4) + e % 2] = sum[half].v[e];
  }
  __syncwarp();
}

// As `sample`; a warp takes programs warp * 32 + lane and every parts * blockDim.x-th after them.
KERNEL tensor_sample(const uint64* rule_words, const int* rule_integers, const float* rule_bias, const float* weights,
                     const uint64* seeds, const int* iterations, const uint8* active, int batch, int rows, int parts,
                     Token* tokens, int* lengths, float* entropy) {
  const int run = blockIdx.x / parts;
  if (active && !active[run]) return;
  const Rules rules{rule_words, rule_integers, rule_bias};
  const TensorNetwork network = tensor_network_in(shared_memory);
  const float* flat = weights + (long long)run * WEIGHTS;
  load(network, flat);
  __syncthreads();
  const int lane = threadIdx.x % 32, stride = parts * blockDim.x;
  float* logits = network.logits + (threadIdx.x / 32) * WARP_PROGRAMS * LOGIT_ROW;
  const Drawn drawn{tokens, lengths, entropy};
  const uint64 seed = seeds[run];
  const uint32 iteration = (uint32)iterations[run];
  Draw draw;
  draw.number = (blockIdx.x % parts) * blockDim.x + threadIdx.x;
  draw.entropy = 0.0f;
  begin(rules, draw.walk);
  SplitState state = {};
  Tile cell[2][UNIT_TILES] = {};
  while (__any_sync(0xffffffffu, draw.number < batch)) {
    step(network, parent_of(draw.walk), sibling_of(draw.walk), state, cell);
    write_logits(network, state, logits);
    bool ended = false;
    if (draw.number < batch) {
      const float random = random_for(draw, seed, iteration);
      const int token = choose(rules, flat + OUTPUT_BIAS_AT, logits + lane * LOGIT_ROW, random, draw);
      const long long row = (long long)run * rows + draw.number;
      ended = put_token(rules, token, row, stride, drawn, draw);
    }
    __syncwarp();
    const uint32 fresh = __ballot_sync(0xffffffffu, ended);
    if (fresh == 0) continue;
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        if (!(fresh >> (16 * half + 8 * (e / 2) + lane / 4) & 1)) continue;
#pragma unroll
        for (int unit = 0; unit < UNIT_TILES; ++unit)
          state.high[half][unit].v[e] = state.low[half][unit].v[e] = cell[half][unit].v[e] = 0.0f;
      }
  }
}

#endif
