#include "fitting/fitting.hpp"

#include <algorithm>
#include <limits>

namespace symseek {

static constexpr int64_t WHOLE_TAPE = 1 << 16;  // values kept at once, 512 KiB: about half of a second-level cache

bool Looks::prepare(const std::vector<Instruction>& code, const Table& table) {
  tape_.read(code, table.variables);
  const int nodes = static_cast<int>(tape_.nodes.size()), constants = static_cast<int>(tape_.constant_nodes.size());
  table_ = &table;
  own_ = static_cast<int>(tape_.own.size());
  shared_ = constants - own_;
  groups_ = own_ > 0 ? table.groups : 1;
  border_ = groups_ * own_;
  size = stride = border_ + shared_;
  firsts_.resize(size);
  offsets_.resize(size);
  int pairs = 0;
  for (int i = 0; i < size; ++i) {
    firsts_[i] = i < border_ ? i / own_ * own_ : 0;
    offsets_[i] = pairs - firsts_[i];
    pairs += i + 1 - firsts_[i];
  }
  int64_t blocks = 0, longest = 0;
  blocks_.assign(1, 0);
  for (int group = 0; group < groups_; ++group) {
    const int64_t rows = own_ > 0 ? table.begins[group + 1] - table.begins[group] : table.rows;
    blocks += (rows + TAPE_BLOCK - 1) / TAPE_BLOCK;
    longest = std::max(longest, rows);
    blocks_.push_back(blocks);
  }
  const int row = static_cast<int>(std::min<int64_t>(longest, TAPE_BLOCK)) + DOUBLE_LANES;
  const bool whole = blocks * row * nodes <= WHOLE_TAPE;
  const auto grow = [](Doubles& v, int64_t n) {
    if (static_cast<int64_t>(v.size()) < n) v.resize(n);
  };
  values_of_block_ = whole ? int64_t(row) * nodes : 0;
  const int64_t sums = constants + int64_t(constants) * (constants + 1) / 2;
  grow(values_, (whole ? blocks : 1) * row * nodes);
  grow(adjoints_, int64_t(row) * nodes);
  grow(lanes_, 8 * sums);
  grow(part_, own_ > 0 ? sums : 0);
  grow(room_, 11 * int64_t(size) + int64_t(groups_) * constants + 3 * pairs + (own_ > 0 ? 0 : int64_t(size) * size));
  double* next = room_.data();
  for (double** array :
       {&gradient, &next_gradient, &start, &guess, &best, &trial, &step, &direction, &slope, &slope_before, &work}) {
    *array = next;
    next += size;
  }
  at = next;
  next += int64_t(groups_) * constants;
  for (double** array : {&normal, &next_normal, &factor}) {
    *array = next;
    next += pairs;
  }
  inverse = next;  // none where there are own numbers: least squares does without
  task_.nodes = tape_.nodes.data();
  task_.count = nodes;
  task_.root = tape_.root;
  task_.fixed = tape_.fixed.data();
  task_.fixed_count = static_cast<int>(tape_.fixed.size());
  task_.moving = tape_.moving.data();
  task_.moving_count = static_cast<int>(tape_.moving.size());
  task_.constant_nodes = tape_.constant_nodes.data();
  task_.constant_count = constants;
  task_.constants = at;
  task_.columns = table.columns;
  task_.target = table.target;
  task_.weight = table.weight;
  task_.scale = table.scale;
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
  all_linear = linear == constants;
  if (own_ == 0) return kernels().prepare(task_);
  for (int group = 0; group < groups_; ++group) {
    if (is_empty(group)) continue;
    turn_to(group);
    if (!kernels().prepare(task_)) return false;
  }
  return true;
}

// Makes the task that of one group's rows, with its numbers.
void Looks::turn_to(int group) {
  const int64_t begin = table_->begins[group];
  columns_.resize(table_->variables);
  for (int v = 0; v < table_->variables; ++v) columns_[v] = table_->columns[v] + begin;
  task_.columns = columns_.data();
  task_.target = table_->target + begin;
  task_.weight = table_->weight + begin;
  task_.scale = table_->scale ? table_->scale + begin : nullptr;
  task_.rows = table_->begins[group + 1] - begin;
  task_.values = values_.data() + blocks_[group] * values_of_block_;
  task_.constants = at + int64_t(group) * task_.constant_count;
}

bool Looks::measure(const double* x, double& loss) {
  if (own_ == 0) {
    std::copy_n(x, size, at);
    if (!kernels().measure(task_) || !isfinite(task_.loss)) return false;
    loss = task_.loss;
    return true;
  }
  const int constants = task_.constant_count;
  double total = 0.0;
  for (int group = 0; group < groups_; ++group) {
    for (int i = 0; i < constants; ++i) at[group * constants + i] = x[place(i, group)];
    if (is_empty(group)) continue;
    turn_to(group);
    if (!kernels().measure(task_)) return false;
    total += task_.loss;
  }
  if (!isfinite(total)) return false;
  loss = total;
  return true;
}

void Looks::derive() {
  task_.blur = blur;
  if (own_ == 0) {
    task_.gradient = next_gradient;
    task_.normal = next_normal;
    kernels().derive(task_);
    return;
  }
  const int constants = task_.constant_count;
  std::fill_n(next_gradient, size, 0.0);
  std::fill_n(next_normal, offsets_[size - 1] + size, 0.0);
  task_.gradient = part_.data();
  task_.normal = part_.data() + constants;
  for (int group = 0; group < groups_; ++group) {
    if (is_empty(group)) continue;
    turn_to(group);
    kernels().derive(task_);
    const double* sum = task_.normal;
    for (int p = 0; p < constants; ++p) {
      const int i = place(p, group);
      next_gradient[i] += task_.gradient[p];
      for (int q = 0; q <= p; ++q) {
        const int j = place(q, group);
        next_normal[entry(std::max(i, j), std::min(i, j))] += *sum++;
      }
    }
  }
}

FitStatus ProgramFitter::fit(const std::vector<Instruction>& code, const Table& table, const Table& sample,
                             const FitOptions& how, const Key& name, double* constants, const double* own) {
  options = how;
  key = name;
  const bool sampled = sample.rows > 0 && options.method != FitMethod::bfgs;
  if (!prepare(code, sampled ? sample : table)) {
    place_.assign(size, std::numeric_limits<double>::quiet_NaN());  // its own numbers are not known
    return FitStatus::invalid;
  }
  if (own_ == 0) return fit_from(code, table, sampled, constants);
  if (options.method != FitMethod::projected) options.method = FitMethod::least_squares;
  place_.assign(size, 1.0);
  for (int i = 0; own && i < border_; ++i) {
    const double value = own[tape().own[i % own_] * groups_ + i / own_];
    if (isfinite(value)) place_[i] = value;
  }
  std::copy_n(constants, shared_, place_.data() + border_);
  const FitStatus status = fit_from(code, table, sampled, place_.data());
  std::copy_n(place_.data() + border_, shared_, constants);
  return status;
}

// On many rows the search for a start, which takes most of the work, sees some of them only; the end is on all. The
// program has been prepared on the rows that the search begins with.
FitStatus ProgramFitter::fit_from(const std::vector<Instruction>& code, const Table& table, bool sampled, double* x) {
  if (bounded()) confine(x);
  if (!sampled) return search(x);
  copy(x, guess);
  search(guess);
  if (!prepare(code, table)) return FitStatus::invalid;
  double loss = HUGE_VAL, found;
  const bool valid = measure(x, loss);
  if (!valid && !options.rescue) return FitStatus::invalid;
  const bool better = look_at(guess, found) && found < loss;
  if (!valid && !better) return search(x);  // the rows left out decide
  if (better) {
    copy(guess, x);
    loss = found;
  }
  return least_squares(HUGE_VAL, better, x, loss);
}

bool ProgramFitter::derivatives_at(const std::vector<Instruction>& code, const Table& table, const double* constants,
                                   double& loss, double* gradient_out, double* normal_out, int width) {
  blur = 0.0;
  if (!prepare(code, table) || own_ > 0 || !look_at(constants, loss)) return false;
  take();
  copy(gradient, gradient_out);
  for (int i = 0; i < size; ++i)
    for (int j = 0; j <= i; ++j) normal_out[i * width + j] = normal_out[j * width + i] = normal[triangle(i, j)];
  return true;
}

}  // namespace symseek
