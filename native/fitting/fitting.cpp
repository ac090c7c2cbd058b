#include "fitting/fitting.hpp"

#include <algorithm>

namespace symseek {

static constexpr int64_t WHOLE_TAPE = 1 << 16;  // values kept at once, 512 KiB: about half of a second-level cache

bool Looks::prepare(const std::vector<Instruction>& code, const Table& table) {
  tape_.read(code);
  const int nodes = static_cast<int>(tape_.nodes.size());
  size = stride = static_cast<int>(tape_.constant_nodes.size());
  const int64_t blocks = (table.rows + TAPE_BLOCK - 1) / TAPE_BLOCK, pairs = int64_t(size) * (size + 1) / 2;
  const int row = static_cast<int>(std::min<int64_t>(table.rows, TAPE_BLOCK)) + DOUBLE_LANES;
  const bool whole = blocks * row * nodes <= WHOLE_TAPE;
  const auto grow = [](Doubles& v, int64_t n) {
    if (static_cast<int64_t>(v.size()) < n) v.resize(n);
  };
  grow(values_, (whole ? blocks : 1) * row * nodes);
  grow(adjoints_, int64_t(row) * nodes);
  grow(lanes_, 8 * (size + pairs));
  grow(room_, 12 * int64_t(size) + 3 * pairs + int64_t(size) * size);
  double* next = room_.data();
  for (double** array : {&at, &gradient, &next_gradient, &start, &guess, &best, &trial, &step, &direction, &slope,
                         &slope_before, &work}) {
    *array = next;
    next += size;
  }
  for (double** array : {&normal, &next_normal, &factor}) {
    *array = next;
    next += pairs;
  }
  inverse = next;
  task_.nodes = tape_.nodes.data();
  task_.count = nodes;
  task_.root = tape_.root;
  task_.fixed = tape_.fixed.data();
  task_.fixed_count = static_cast<int>(tape_.fixed.size());
  task_.moving = tape_.moving.data();
  task_.moving_count = static_cast<int>(tape_.moving.size());
  task_.constant_nodes = tape_.constant_nodes.data();
  task_.constant_count = size;
  task_.constants = at;
  task_.columns = table.columns;
  task_.target = table.target;
  task_.weight = table.weight;
  task_.rows = table.rows;
  task_.kind = table.loss;
  task_.whole = whole;
  task_.stride = row;
  task_.values = values_.data();
  task_.adjoints = adjoints_.data();
  task_.lanes = lanes_.data();
  exact = table.exact;
  share = table.share;
  const auto linear = std::count(tape_.linear.begin(), tape_.linear.end(), 1);
  some_linear = linear > 0;
  all_linear = linear == size;
  return kernels().prepare(task_);
}

bool Looks::measure(const double* x, double& loss) {
  std::copy_n(x, size, at);
  if (!kernels().measure(task_) || !isfinite(task_.loss)) return false;
  loss = task_.loss;
  return true;
}

void Looks::derive() {
  task_.gradient = next_gradient;
  task_.normal = next_normal;
  kernels().derive(task_);
}

// On many rows the search for a start, which takes most of the work, sees some of them only; the end is on all.
FitStatus ProgramFitter::fit(const std::vector<Instruction>& code, const Table& table, const Table& sample,
                             const FitOptions& how, const Key& name, double* constants) {
  options = how;
  key = name;
  if (sample.rows == 0 || options.method == FitMethod::bfgs)
    return prepare(code, table) ? search(constants) : FitStatus::invalid;
  if (!prepare(code, sample)) return FitStatus::invalid;
  copy(constants, guess);
  search(guess);
  if (!prepare(code, table)) return FitStatus::invalid;
  double loss = HUGE_VAL, found;
  const bool valid = measure(constants, loss);
  if (!valid && !options.rescue) return FitStatus::invalid;
  const bool better = look_at(guess, found) && found < loss;
  if (!valid && !better) return search(constants);  // the rows left out decide
  if (better) {
    copy(guess, constants);
    loss = found;
  }
  return least_squares(HUGE_VAL, better, constants, loss);
}

bool ProgramFitter::derivatives_at(const std::vector<Instruction>& code, const Table& table, const double* constants,
                                   double& loss, double* gradient_out, double* normal_out, int width) {
  if (!prepare(code, table) || !look_at(constants, loss)) return false;
  take();
  copy(gradient, gradient_out);
  for (int i = 0; i < size; ++i)
    for (int j = 0; j <= i; ++j) normal_out[i * width + j] = normal_out[j * width + i] = normal[triangle(i, j)];
  return true;
}

}  // namespace symseek
