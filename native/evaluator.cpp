#include "evaluator.hpp"

#include <algorithm>
#include <stdexcept>

namespace symseek {

namespace {

// Rows are cut into stripes: the columns of one stripe stay in the second-level cache while all programs read them.
constexpr int64_t STRIPE = 8 * ROW_BLOCK;
constexpr int64_t BREATH = 16;  // stripes between two breaths: some tens of milliseconds of a usual batch

std::vector<double> padded_copy(const double* values, int64_t rows, int64_t padded_rows, double fill) {
  std::vector<double> out(padded_rows, fill);
  std::copy(values, values + rows, out.begin());
  return out;
}

}  // namespace

Evaluator::Evaluator(TokenCode code, const double* columns, int variables, int64_t rows, const double* target,
                     const double* weight, std::shared_ptr<Pool> pool, size_t cache_entries)
    : code_(std::move(code)),
      rows_(rows),
      padded_rows_((rows + DOUBLE_LANES - 1) / DOUBLE_LANES * DOUBLE_LANES),
      pool_(std::move(pool)),
      cache_(cache_entries),
      scratch_(pool_->threads()) {
  // Padding rows repeat the last row, so they are valid wherever it is, and weigh nothing.
  for (int v = 0; v < variables; ++v)
    columns_.push_back(padded_copy(columns + v * rows, rows, padded_rows_, columns[v * rows + rows - 1]));
  if (target) {
    target_ = padded_copy(target, rows, padded_rows_, 0.0);
    weight_ = padded_copy(weight, rows, padded_rows_, 0.0);
  }
  for (Scratch& scratch : scratch_) {
    scratch.stack.resize(size_t(MAX_STACK) * ROW_BLOCK);
    scratch.predictions.resize(STRIPE);
    scratch.columns.resize(columns_.size() + 1);
  }
}

int Evaluator::constants_in(const Batch& batch, int program) const {
  if (batch.constant_width == 0) return 0;
  int count = 0;
  const TokenId* tokens = batch.tokens + size_t(program) * batch.width;
  for (int i = 0; i < batch.lengths[program]; ++i)
    count += code_.code[tokens[i]].size() == 1 && code_.code[tokens[i]][0].opcode == Opcode::constant;
  return std::min(count, batch.constant_width);
}

void Evaluator::lower(const Batch& batch, int program, Scratch& scratch) const {
  scratch.code.clear();
  const TokenId* tokens = batch.tokens + size_t(program) * batch.width;
  int depth = 0;
  for (int i = batch.lengths[program] - 1; i >= 0; --i) {
    const auto& steps = code_.code[tokens[i]];
    scratch.code.insert(scratch.code.end(), steps.begin(), steps.end());
    depth += 1 - code_.arity[tokens[i]];
    if (depth + static_cast<int>(steps.size()) >= MAX_STACK)
      throw std::length_error("a program nests too deeply to be evaluated; lower the maximum length");
  }
}

bool Evaluator::run(const Batch& batch, int program, int64_t first, int rows, Scratch& scratch, double* predictions,
                    Errors& out) const {
  for (size_t v = 0; v < columns_.size(); ++v) scratch.columns[v] = columns_[v].data() + first;
  Evaluation task{};
  task.code = scratch.code.data();
  task.instructions = static_cast<int>(scratch.code.size());
  task.constants = batch.constants + size_t(program) * batch.constant_width;
  task.columns = scratch.columns.data();
  task.target = target_.empty() || predictions ? nullptr : target_.data() + first;
  task.weight = weight_.data() + first;
  task.rows = rows;
  task.stack = scratch.stack.data();
  task.predictions = predictions;
  out.ok = kernels().evaluate(task);
  out.squared = task.squared_error;
  out.absolute = task.absolute_error;
  return out.ok;
}

// Stripe after stripe, dropping programs once they are found invalid. Each program's sums belong to one thread at
// a time and grow in row order, so they do not depend on the number of threads.
void Evaluator::grade(const Batch& batch, const std::function<void()>& breathe) {
  alive_ = distinct_;
  for (int i : alive_) results_[i] = {0.0, 0.0, true};
  for (int64_t first = 0; first < padded_rows_ && !alive_.empty(); first += STRIPE) {
    const int rows = static_cast<int>(std::min(STRIPE, padded_rows_ - first));
    const int count = static_cast<int>(alive_.size());
    if (breathe && first > 0 && first % (BREATH * STRIPE) == 0) breathe();
    const int group = std::clamp(count / (4 * pool_->threads()), 1, 32);
    pool_->each((count + group - 1) / group, [&](int item, int thread) {
      for (int i = item * group; i < std::min(count, (item + 1) * group); ++i) {
        Errors part;
        lower(batch, alive_[i], scratch_[thread]);
        run(batch, alive_[i], first, rows, scratch_[thread], nullptr, part);
        Errors& total = results_[alive_[i]];
        total = {total.squared + part.squared, total.absolute + part.absolute, part.ok};
      }
    });
    std::erase_if(alive_, [&](int i) { return !results_[i].ok; });
  }
}

int Evaluator::errors(const Batch& batch, double* squared, double* absolute, bool* ok,
                      const std::function<void()>& breathe) {
  const int count = batch.programs;
  size_t table = 16;
  while (table < size_t(count) * 2) table *= 2;
  keys_.resize(count);
  first_.resize(count);
  results_.resize(count);
  slots_.assign(table, -1);
  distinct_.clear();
  int distinct = 0;
  for (int i = 0; i < count; ++i) {
    keys_[i] = program_key(batch.tokens + size_t(i) * batch.width, batch.lengths[i],
                           batch.constants + size_t(i) * batch.constant_width, constants_in(batch, i));
    cache_.prefetch(keys_[i]);
  }
  for (int i = 0; i < count; ++i) {  // in order, so that what is found does not depend on the threads
    size_t slot = keys_[i].high & (table - 1);
    while (slots_[slot] >= 0 && !(keys_[slots_[slot]] == keys_[i])) slot = (slot + 1) & (table - 1);
    if (slots_[slot] < 0) {
      slots_[slot] = i;
      ++distinct;
      if (const Errors* known = cache_.find(keys_[i]))
        results_[i] = *known;
      else
        distinct_.push_back(i);
    }
    first_[i] = slots_[slot];
  }
  grade(batch, breathe);
  for (int i : distinct_) cache_.insert(keys_[i], results_[i]);
  for (int i = 0; i < count; ++i) {
    const Errors& result = results_[first_[i]];
    squared[i] = result.squared;
    absolute[i] = result.absolute;
    ok[i] = result.ok;
  }
  return distinct;
}

void Evaluator::predict(const Batch& batch, double* predictions, bool* ok) {
  pool_->each(batch.programs, [&](int program, int thread) {
    Scratch& scratch = scratch_[thread];
    lower(batch, program, scratch);
    ok[program] = true;
    for (int64_t first = 0; first < padded_rows_; first += STRIPE) {
      const int rows = static_cast<int>(std::min(STRIPE, padded_rows_ - first));
      Errors ignored;
      // An invalid block does not stop the rest: predictions show where they are finite.
      for (int at = 0; at < rows; at += ROW_BLOCK) {
        const int n = std::min(ROW_BLOCK, rows - at);
        if (!run(batch, program, first + at, n, scratch, scratch.predictions.data() + at, ignored)) ok[program] = false;
      }
      const int64_t real = std::min<int64_t>(rows, rows_ - first);
      std::copy_n(scratch.predictions.data(), real, predictions + program * rows_ + first);
    }
  });
}

}  // namespace symseek
