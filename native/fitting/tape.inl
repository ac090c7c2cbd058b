// Values and derivatives of a program on its tape, in float64, blocks of rows at a time.

// Where the values of a node lie for the block that begins at row `first`.
SYMSEEK_INLINE double* tape_values(const Derivation& task, const double* block, int node) {
  return const_cast<double*>(block) + size_t(node) * task.stride;
}
SYMSEEK_INLINE const double* node_values(const Derivation& task, const double* block, int64_t first, int node) {
  const Term& it = task.nodes[node];
  return it.opcode == Opcode::variable ? task.columns[it.index] + first : tape_values(task, block, node);
}

// Computes the nodes that move, or those that do not, on one block.
static void compute(const Derivation& task, double* block, int64_t first, int n, bool moving, i64x8& flags) {
  i64x8 bad = flags;  // a copy of its own stays in a register
  const int *order = moving ? task.moving : task.fixed, count = moving ? task.moving_count : task.fixed_count;
  for (int at = 0; at < count; ++at) {
    const int i = order[at];
    const Term& node = task.nodes[i];
    double* out = tape_values(task, block, i);
    const double* operands[2] = {nullptr, nullptr};  // second, first: as they lie on a stack
    if (node.operand[1] >= 0) operands[0] = node_values(task, block, first, node.operand[1]);
    if (node.operand[0] >= 0) operands[1] = node_values(task, block, first, node.operand[0]);
    switch (node.opcode) {
#define X(NAME, ARITY)                                                                                            \
  case Opcode::NAME:                                                                                              \
    Apply<ARITY>::rows(n, operands + 1, out, bad, [](auto&&... v) SYMSEEK_LAMBDA { return value_##NAME(v...); }); \
    break;
      SYMSEEK_COMMON_OPERATIONS(X)
#undef X
#define X(NAME, ARITY) \
  case Opcode::NAME: bad = rows_##NAME<false>(n, operands + 1, out, bad); break;
      SYMSEEK_RARE_OPERATIONS(X)
#undef X
      default: {
        const f64x8 value = f64x8::all(node.opcode == Opcode::number ? node.value : task.constants[node.index]);
        for (int r = 0; r < n; r += 8) value.store(out + r);
        break;
      }
    }
    if (!moving)
      for (int r = 0; r < n; r += 8) bad = bad | as_integer(nan_unless_finite(f64x8::load(out + r)));
  }
  flags = bad;
}

static bool prepare(Derivation& task) {
  i64x8 bad = i64x8::all(0);
  for (int64_t first = 0; first < task.rows; first += TAPE_BLOCK) {
    const int n = static_cast<int>(task.rows - first < TAPE_BLOCK ? task.rows - first : TAPE_BLOCK);
    compute(task, task.block(first), first, n, false, bad);
    if (any_nan(bad)) return false;
  }
  return true;
}

SYMSEEK_INLINE Graded graded(const Derivation& task, const double* root, int64_t first) {
  return {root, task.target + first, task.weight + first, task.scale ? task.scale + first : nullptr};
}

static bool measure(Derivation& task) {
  i64x8 bad = i64x8::all(0);
  f64x8 losses = f64x8::all(0.0);
  double total = 0.0;
  for (int64_t first = 0; first < task.rows; first += TAPE_BLOCK) {
    const int n = static_cast<int>(task.rows - first < TAPE_BLOCK ? task.rows - first : TAPE_BLOCK);
    double* block = task.block(first);
    if (!task.whole) compute(task, block, first, n, false, bad);
    compute(task, block, first, n, true, bad);
    const double* root = node_values(task, block, first, task.root);
    add_losses(graded(task, root, first), n, &task.kind, 1, &losses, bad);
    if (any_nan(bad)) return false;
    if ((first + TAPE_BLOCK) % STRIPE == 0) {  // summed as the evaluator sums
      total += sum(losses);
      losses = f64x8::all(0.0);
    }
  }
  task.loss = total + sum(losses);
  return true;
}

// Hands the adjoint of a node on to one of its operands.
template <class F>
SYMSEEK_INLINE void pull(int n, const double* adjoint, double* out, bool again, F slope) {
  if (again)
    for (int i = 0; i < n; i += 8) (f64x8::load(out + i) + f64x8::load(adjoint + i) * slope(i)).store(out + i);
  else
    for (int i = 0; i < n; i += 8) (f64x8::load(adjoint + i) * slope(i)).store(out + i);
}

template <int ARITY>
struct Pull;
template <>
struct Pull<1> {
  template <class F, class G>
  static SYMSEEK_INLINE void rows(const Derivation& task, const double* block, int64_t first, int n, int at, F slope,
                                  G) {
    const Term& node = task.nodes[at];
    const double *a = node_values(task, block, first, node.operand[0]), *v = tape_values(task, block, at);
    pull(n, task.adjoint(at), task.adjoint(node.operand[0]), node.again[0],
         [&](int i) SYMSEEK_LAMBDA { return slope(f64x8::load(a + i), f64x8::load(v + i)); });
  }
};
template <>
struct Pull<2> {
  template <class F, class G>
  static SYMSEEK_INLINE void rows(const Derivation& task, const double* block, int64_t first, int n, int at, F slope_a,
                                  G slope_b) {
    const Term& node = task.nodes[at];
    const double *a = node_values(task, block, first, node.operand[0]),
                 *b = node_values(task, block, first, node.operand[1]), *v = tape_values(task, block, at);
    if (task.nodes[node.operand[0]].moves)
      pull(n, task.adjoint(at), task.adjoint(node.operand[0]), node.again[0],
           [&](int i) SYMSEEK_LAMBDA { return slope_a(f64x8::load(a + i), f64x8::load(b + i), f64x8::load(v + i)); });
    if (task.nodes[node.operand[1]].moves)
      pull(n, task.adjoint(at), task.adjoint(node.operand[1]), node.again[1],
           [&](int i) SYMSEEK_LAMBDA { return slope_b(f64x8::load(a + i), f64x8::load(b + i), f64x8::load(v + i)); });
  }
};

#define SYMSEEK_SLOPES_1(NAME) [](auto&&... v) SYMSEEK_LAMBDA { return slope_##NAME(v...); }, 0
#define SYMSEEK_SLOPES_2(NAME)                                     \
  [](auto&&... v) SYMSEEK_LAMBDA { return slope_a_##NAME(v...); }, \
      [](auto&&... v) SYMSEEK_LAMBDA { return slope_b_##NAME(v...); }

#define X(NAME, ARITY)                                                                                          \
  SYMSEEK_OUTLINE void pull_##NAME(const Derivation& task, const double* block, int64_t first, int n, int at) { \
    Pull<ARITY>::rows(task, block, first, n, at, SYMSEEK_SLOPES_##ARITY(NAME));                                 \
  }
SYMSEEK_RARE_OPERATIONS(X)
#undef X

// The derivative of the root by every node that moves.
static void pull_back(const Derivation& task, const double* block, int64_t first, int n) {
  double* root = task.adjoint(task.root);
  for (int i = 0; i < n; i += 8) f64x8::all(1.0).store(root + i);
  for (int i = task.moving_count - 1; i >= 0; --i) {
    const int at = task.moving[i];
    if (!task.nodes[at].used) {
      for (int r = 0; r < n; r += 8) f64x8::all(0.0).store(task.adjoint(at) + r);
      continue;
    }
    switch (task.nodes[at].opcode) {
#define X(NAME, ARITY) \
  case Opcode::NAME: Pull<ARITY>::rows(task, block, first, n, at, SYMSEEK_SLOPES_##ARITY(NAME)); break;
      SYMSEEK_COMMON_OPERATIONS(X)
#undef X
#define X(NAME, ARITY) \
  case Opcode::NAME: pull_##NAME(task, block, first, n, at); break;
      SYMSEEK_RARE_OPERATIONS(X)
#undef X
      default: break;
    }
  }
}

#undef SYMSEEK_SLOPES_1
#undef SYMSEEK_SLOPES_2

// Adds the products of two rows of numbers to eight sums, which stay in a register.
SYMSEEK_INLINE void add_products(int n, const double* a, const double* b, double* sums) {
  f64x8 total = f64x8::load(sums);
  for (int i = 0; i < n; i += 8) total = total + f64x8::load(a + i) * f64x8::load(b + i);
  total.store(sums);
}

template <class L>
SYMSEEK_INLINE void slope_rows(const Graded& rows, int n, double parameter, double blur, double* pull, double* bend) {
  for (int i = 0; i < n; i += 8) {
    const f64x8 weight = f64x8::load(rows.weight + i);
    const Slopes<f64x8> slopes = L::slopes(rows.at(i, weight, f64x8::all(parameter), blur));
    counted(weight, slopes.pull).store(pull + i);
    counted(weight, slopes.bend).store(bend + i);
  }
}

// The weights of n rows times the pull, and times the bend, of the loss there.
SYMSEEK_OUTLINE void slopes_of(const Graded& rows, int n, const Loss& loss, double blur, double* pull, double* bend) {
  switch (loss.kind) {
#define X(NAME) \
  case LossKind::NAME: slope_rows<NAME##_loss>(rows, n, loss.parameter, blur, pull, bend); break;
    SYMSEEK_LOSSES(X)
#undef X
  }
}

static void derive(Derivation& task) {
  const int k = task.constant_count, sums = k + k * (k + 1) / 2;
  for (int i = 0; i < 8 * sums; ++i) task.lanes[i] = 0.0;
  alignas(64) double scaled[TAPE_BLOCK];  // residuals or pulls, then slopes, times the weights
  alignas(64) double bends[TAPE_BLOCK];
  i64x8 ignored = i64x8::all(0);
  for (int64_t first = 0; first < task.rows; first += TAPE_BLOCK) {
    const int n = static_cast<int>(task.rows - first < TAPE_BLOCK ? task.rows - first : TAPE_BLOCK);
    double* block = task.block(first);
    if (!task.whole) {
      compute(task, block, first, n, false, ignored);
      compute(task, block, first, n, true, ignored);
    }
    pull_back(task, block, first, n);
    const Graded rows = graded(task, node_values(task, block, first, task.root), first);
    const bool squared = task.kind.kind == LossKind::squared;
    const double* bent = squared ? rows.weight : bends;
    for (int i = 0; squared && i < n; i += 8) {
      const f64x8 weight = f64x8::load(bent + i);
      (weight * rows.residual(i, weight)).store(scaled + i);
    }
    if (!squared) slopes_of(rows, n, task.kind, task.blur, scaled, bends);
    double* lanes = task.lanes;
    for (int p = 0; p < k; ++p, lanes += 8) {
      double* slopes = task.adjoint(task.constant_nodes[p]);
      // A derivative that is not finite (that of sqrt(c*x) where x is 0) tells nothing about its row.
      for (int i = 0; i < n; i += 8) {
        const f64x8 raw = f64x8::load(slopes + i);
        select(equal(nan_unless_finite(raw), f64x8::all(0.0)), raw, f64x8::all(0.0)).store(slopes + i);
      }
      add_products(n, scaled, slopes, lanes);
    }
    for (int p = 0; p < k; ++p) {
      const double* slopes = task.adjoint(task.constant_nodes[p]);
      for (int i = 0; i < n; i += 8) (f64x8::load(bent + i) * f64x8::load(slopes + i)).store(scaled + i);
      for (int q = 0; q <= p; ++q, lanes += 8) add_products(n, scaled, task.adjoint(task.constant_nodes[q]), lanes);
    }
  }
  for (int i = 0; i < sums; ++i) (i < k ? task.gradient[i] : task.normal[i - k]) = sum(f64x8::load(task.lanes + 8 * i));
}
