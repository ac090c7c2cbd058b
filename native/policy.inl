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

template <int COLUMNS>
SYMSEEK_INLINE void multiply_columns(int n, int k, const float* a, int a_row, int a_step, const float* b, int b_row,
                                     float* c, int c_row) {
  int i = 0;
  for (; i + TILE_ROWS <= n; i += TILE_ROWS)
    multiply_tile<TILE_ROWS, COLUMNS>(k, a + i * a_row, a_row, a_step, b, b_row, c + i * c_row, c_row);
  for (; i < n; ++i) multiply_tile<1, COLUMNS>(k, a + i * a_row, a_row, a_step, b, b_row, c + i * c_row, c_row);
}

static void multiply(int n, int k, int m, const float* a, int a_row, int a_step, const float* b, int b_row, float* c,
                     int c_row) {
  int j = 0;
  for (; j + 16 * TILE_COLUMNS <= m; j += 16 * TILE_COLUMNS)
    multiply_columns<TILE_COLUMNS>(n, k, a, a_row, a_step, b + j, b_row, c + j, c_row);
  for (; j < m; j += 16) multiply_columns<1>(n, k, a, a_row, a_step, b + j, b_row, c + j, c_row);
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
  alignas(64) static const int32_t lane_bit[16] = {1,      2,      4,      8,       16,      32,      64,     128,
                                                   1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15};
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

static void softmax(int n, int m, float* logits, const uint64_t* allowed, int words, float* total, float* entropy) {
  for (int i = 0; i < n; ++i, allowed += words) {
    float* row = logits + size_t(i) * m;
    const float top = row_maximum(m, row, allowed);
    float mass = 0.0f, moment = 0.0f;
    for (int j = 0; j < m; j += 16) {
      const f32x16 shifted = f32x16::load(row + j) - top;
      const f32x16 weight = select(lanes_allowed(allowed, j / 16), fexp(shifted), f32x16::all(0.0f));
      weight.store(row + j);
      mass += sum(weight);
      moment += sum(weight * shifted);
    }
    total[i] = mass;
    entropy[i] = moment / mass;
  }
  for (int i = 0; i < n; i += 16) {  // entropy = log(total) - E[logit]; the arrays are padded to 16
    (flog(f32x16::load(total + i)) - f32x16::load(entropy + i)).store(entropy + i);
  }
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
      const f32x16 log_p = select(lanes_allowed(allowed, j / 16), f32x16::load(row + j) - top - log_mass[0],
                                  f32x16::all(0.0f));
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
