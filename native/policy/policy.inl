// The policy's arithmetic in float32. Rows are programs (or distinct prefixes), lanes are hidden units or tokens.
// Every sum runs in one fixed order, whatever the tile or register width, so results do not depend on either.

#if defined(__AVX512F__)
constexpr int TILE_ROWS = 4, TILE_COLUMNS = 4;
#elif defined(__AVX2__)
constexpr int TILE_ROWS = 2, TILE_COLUMNS = 2;
#else
constexpr int TILE_ROWS = 1, TILE_COLUMNS = 2;
#endif

template <int ROWS, int COLUMNS>
SYMSEEK_INLINE void multiply_tile(int k, const float* a, int a_row, int a_step, const float* b, int b_row, float* c,
                                  int c_row) {
  f32x16 sums[ROWS][COLUMNS];
  for (int i = 0; i < ROWS; ++i)
    for (int j = 0; j < COLUMNS; ++j) sums[i][j] = f32x16::load(c + i * c_row + j * 16);
  for (int step = 0; step < k; ++step) {
    f32x16 right[COLUMNS];
    for (int j = 0; j < COLUMNS; ++j) right[j] = f32x16::load(b + step * b_row + j * 16);
    for (int i = 0; i < ROWS; ++i) {
      const f32x16 left = f32x16::all(a[i * a_row + step * a_step]);
      for (int j = 0; j < COLUMNS; ++j) sums[i][j] = sums[i][j] + left * right[j];
    }
  }
  for (int i = 0; i < ROWS; ++i)
    for (int j = 0; j < COLUMNS; ++j) sums[i][j].store(c + i * c_row + j * 16);
}

// Rows in tiles of ROWS, the rest in tiles of half as many, and so on.
template <int ROWS, int COLUMNS>
SYMSEEK_INLINE void multiply_rows(int n, int k, const float* a, int a_row, int a_step, const float* b, int b_row,
                                  float* c, int c_row) {
  int i = 0;
  for (; i + ROWS <= n; i += ROWS)
    multiply_tile<ROWS, COLUMNS>(k, a + i * a_row, a_row, a_step, b, b_row, c + i * c_row, c_row);
  if constexpr (ROWS > 1)
    multiply_rows<ROWS / 2, COLUMNS>(n - i, k, a + i * a_row, a_row, a_step, b, b_row, c + i * c_row, c_row);
}

static void multiply(int n, int k, int m, const float* a, int a_row, int a_step, const float* b, int b_row, float* c,
                     int c_row) {
  int j = 0;
  for (; j + 16 * TILE_COLUMNS <= m; j += 16 * TILE_COLUMNS)
    multiply_rows<TILE_ROWS, TILE_COLUMNS>(n, k, a, a_row, a_step, b + j, b_row, c + j, c_row);
  // A narrow strip is taller, so that as many sums are under way.
  for (; j < m; j += 16) multiply_rows<TILE_ROWS * TILE_COLUMNS, 1>(n, k, a, a_row, a_step, b + j, b_row, c + j, c_row);
}

static void add_inputs(int n, int m, const float* bias, const float* const* a, const float* const* b, float* gates) {
  for (int i = 0; i < n; ++i, gates += m)
    for (int j = 0; j < m; j += 16)
      (f32x16::load(bias + j) + f32x16::load(a[i] + j) + f32x16::load(b[i] + j)).store(gates + j);
}

static void cell_forward(int n, int hidden, float* gates, const float* cell_before, float* cell, float* squashed,
                         float* state) {
  for (int i = 0; i < n; ++i) {
    float* row = gates + size_t(i) * 4 * hidden;
    for (int j = 0; j < hidden; j += 16) {
      const f32x16 input = fsigmoid(f32x16::load(row + j));
      const f32x16 forget = fsigmoid(f32x16::load(row + hidden + j));
      const f32x16 candidate = ftanh(f32x16::load(row + 2 * hidden + j));
      const f32x16 output = fsigmoid(f32x16::load(row + 3 * hidden + j));
      const f32x16 next = forget * f32x16::load(cell_before + size_t(i) * hidden + j) + input * candidate;
      const f32x16 flat = ftanh(next);
      input.store(row + j);
      forget.store(row + hidden + j);
      candidate.store(row + 2 * hidden + j);
      output.store(row + 3 * hidden + j);
      next.store(cell + size_t(i) * hidden + j);
      flat.store(squashed + size_t(i) * hidden + j);
      (output * flat).store(state + size_t(i) * hidden + j);
    }
  }
}

// 2^f = 1 + sum_i DECAY[i] f^(i+1) on |f| <= 1/2, relative error 9e-08.
constexpr float DECAY[5] = {0.693146978f, 0.240222421f, 0.0555073373f, 0.00967151271f, 0.00132647316f};

// exp(-x) for the gates, by powers of two: 2^n times a polynomial for the rest. Arguments beyond 25 change nothing in
// a float32 sigmoid and are cut there, so that a product of three such factors cannot overflow.
SYMSEEK_INLINE f32x16 decay(const f32x16& x) {
  constexpr float ROUND = 0x1.8p23f;  // adding it leaves the nearest integer in the low bits
  const f32x16 power = detail::clamp(x * -1.44269504f, -120.0f, 36.0f);
  const f32x16 shifted = power + ROUND;
  const f32x16 f = power - (shifted - ROUND);
  const f32x16 f2 = f * f;
  const f32x16 low = 1.0f + f * DECAY[0];
  const f32x16 middle = DECAY[1] + f * DECAY[2];
  const f32x16 high = DECAY[3] + f * DECAY[4];
  const f32x16 y = low + f2 * (middle + f2 * high);
  return as_float(as_integer(y) + (as_integer(shifted) << 23));
}

// With e = exp(-x): sigmoid = 1/(1 + e), tanh = (1 - e(2x))/(1 + e(2x)). Each result is brought over one common
// denominator: two divisions instead of five.
static void cell_sample(int n, int hidden, const float* gates, const float* cell_before, float* cell, float* state) {
  const f32x16 one = f32x16::all(1.0f);
  for (int i = 0; i < n; ++i) {
    const float* row = gates + size_t(i) * 4 * hidden;
    for (int j = 0; j < hidden; j += 16) {
      const f32x16 candidate = f32x16::load(row + 2 * hidden + j);
      const f32x16 input = one + decay(f32x16::load(row + j));
      const f32x16 forget = one + decay(f32x16::load(row + hidden + j));
      const f32x16 output = one + decay(f32x16::load(row + 3 * hidden + j));
      const f32x16 fall = decay(candidate + candidate);
      const f32x16 both = input * (one + fall);
      const f32x16 next =
          (f32x16::load(cell_before + size_t(i) * hidden + j) * both + (one - fall) * forget) / (both * forget);
      const f32x16 drop = decay(next + next);
      next.store(cell + size_t(i) * hidden + j);
      ((one - drop) / (output * (one + drop))).store(state + size_t(i) * hidden + j);
    }
  }
}

static void cell_backward(int n, int hidden, const float* gates, const float* cell_before, const float* squashed,
                          const float* grad_state, float* grad_cell, float* grad_gates) {
  const f32x16 one = f32x16::all(1.0f);
  for (int i = 0; i < n; ++i) {
    const float* row = gates + size_t(i) * 4 * hidden;
    float* grad = grad_gates + size_t(i) * 4 * hidden;
    for (int j = 0; j < hidden; j += 16) {
      const size_t at = size_t(i) * hidden + j;
      const f32x16 input = f32x16::load(row + j), forget = f32x16::load(row + hidden + j);
      const f32x16 candidate = f32x16::load(row + 2 * hidden + j), output = f32x16::load(row + 3 * hidden + j);
      const f32x16 flat = f32x16::load(squashed + at), d_state = f32x16::load(grad_state + at);
      const f32x16 d_cell = f32x16::load(grad_cell + at) + d_state * output * (one - flat * flat);
      (d_cell * candidate * input * (one - input)).store(grad + j);
      (d_cell * f32x16::load(cell_before + at) * forget * (one - forget)).store(grad + hidden + j);
      (d_cell * input * (one - candidate * candidate)).store(grad + 2 * hidden + j);
      (d_state * flat * output * (one - output)).store(grad + 3 * hidden + j);
      (d_cell * forget).store(grad_cell + at);
    }
  }
}

// All-ones in the lanes of tokens 16 * block ... 16 * block + 15 that are in the set.
SYMSEEK_INLINE i32x16 lanes_allowed(const uint64_t* allowed, int block) {
  const int32_t bits = static_cast<int32_t>((allowed[block / 4] >> (16 * (block % 4))) & 0xffff);
  alignas(64) static const int32_t lane_bit[16] = {
      1, 2, 4, 8, 16, 32, 64, 128, 1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15};
  return not_equal(i32x16::all(bits) & i32x16::load(lane_bit), i32x16::all(0));
}

SYMSEEK_INLINE float largest(const f32x16& a) {
  float lanes[16];
  a.store(lanes);
  for (int half = 8; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lanes[i] = lanes[i] < lanes[i + half] ? lanes[i + half] : lanes[i];
  return lanes[0];
}

constexpr float NEVER = -3.0e38f;  // stands for the logit of a token that is not allowed

SYMSEEK_INLINE float row_maximum(int m, const float* row, const uint64_t* allowed) {
  f32x16 top = f32x16::all(NEVER);
  for (int j = 0; j < m; j += 16)
    top = maximum(top, select(lanes_allowed(allowed, j / 16), f32x16::load(row + j), f32x16::all(NEVER)));
  return largest(top);
}

// Token by token with one prefix to a lane: every sum is a running sum in token order.
static void choose(int n, int tokens, int m, const float* logits, const uint64_t* allowed, int words,
                   const float* random, float* cumulative, float* total, float* entropy, int32_t* choice) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < tokens; ++j) cumulative[j * 16 + i] = logits[size_t(i) * m + j];
  int32_t halves[16] = {};
  i32x16 bits = i32x16::all(0);
  const auto lanes = [&](int j) SYMSEEK_LAMBDA {
    if (j % 32 == 0) {
      for (int i = 0; i < n; ++i) halves[i] = static_cast<int32_t>(allowed[i * words + j / 64] >> (j % 64));
      bits = i32x16::load(halves);
    }
    return not_equal(bits & i32x16::all(static_cast<int32_t>(1u << (j % 32))), i32x16::all(0));
  };
  f32x16 top = f32x16::all(NEVER);
  for (int j = 0; j < tokens; ++j)
    top = maximum(top, select(lanes(j), f32x16::load(cumulative + j * 16), f32x16::all(NEVER)));
  f32x16 mass = f32x16::all(0.0f), moment = f32x16::all(0.0f);
  for (int j = 0; j < tokens; ++j) {
    const f32x16 shifted = f32x16::load(cumulative + j * 16) - top;
    const f32x16 weight = select(lanes(j), fexp(shifted), f32x16::all(0.0f));
    mass = mass + weight;
    moment = moment + weight * shifted;
    mass.store(cumulative + j * 16);
  }
  const f32x16 target = f32x16::load(random) * mass;
  i32x16 passed = i32x16::all(0);
  for (int j = 0; j < tokens; ++j) passed = passed - less_equal(f32x16::load(cumulative + j * 16), target);
  mass.store(total);
  (flog(mass) - moment / mass).store(entropy);
  passed.store(choice);
}

static void log_softmax(int n, int m, float* logits, const uint64_t* allowed, int words, float* probability,
                        float* entropy) {
  for (int i = 0; i < n; ++i, allowed += words) {
    float* row = logits + size_t(i) * m;
    float* out = probability + size_t(i) * m;
    const float top = row_maximum(m, row, allowed);
    float mass = 0.0f;
    for (int j = 0; j < m; j += 16) {
      const f32x16 weight =
          select(lanes_allowed(allowed, j / 16), fexp(f32x16::load(row + j) - top), f32x16::all(0.0f));
      weight.store(out + j);
      mass += sum(weight);
    }
    float log_mass[16];
    flog(f32x16::all(mass)).store(log_mass);
    float mean = 0.0f;
    for (int j = 0; j < m; j += 16) {
      const f32x16 p = f32x16::load(out + j) / mass;
      const f32x16 log_p =
          select(lanes_allowed(allowed, j / 16), f32x16::load(row + j) - top - log_mass[0], f32x16::all(0.0f));
      p.store(out + j);
      log_p.store(row + j);
      mean += sum(p * log_p);
    }
    entropy[i] = -mean;
  }
}

static void adam(int n, float* weights, float* mean, float* variance, const float* gradient, float step, float beta1,
                 float beta2, float epsilon) {
  for (int i = 0; i < n; ++i) {
    mean[i] = beta1 * mean[i] + (1.0f - beta1) * gradient[i];
    variance[i] = beta2 * variance[i] + (1.0f - beta2) * gradient[i] * gradient[i];
    weights[i] += step * mean[i] / (__builtin_sqrtf(variance[i]) + epsilon);
  }
}
