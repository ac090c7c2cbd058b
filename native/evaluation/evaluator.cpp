#include "evaluation/evaluator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace symseek {

namespace {

constexpr int64_t STRIPES_BETWEEN_CHECKS = 16;  // some tens of milliseconds of a usual batch
constexpr int64_t GROUP_SAMPLE = 16;            // rows of a group at least, where starts are sought on some

Doubles padded_copy(const double* values, int64_t rows, int64_t padded_rows, double fill) {
  Doubles out(padded_rows, fill);
  std::copy(values, values + rows, out.begin());
  return out;
}

}  // namespace

Evaluator::Evaluator(TokenCode code, const double* columns, int variables, int64_t rows, const double* target,
                     const double* weight, const double* scale, std::vector<Loss> losses, std::shared_ptr<Pool> pool,
                     size_t cache_entries, bool underflow_invalid, std::vector<int64_t> begins, int own)
    : code_(std::move(code)),
      rows_(rows),
      padded_rows_((rows + DOUBLE_LANES - 1) / DOUBLE_LANES * DOUBLE_LANES),
      begins_(std::move(begins)),
      own_(own),
      unknown_(own > 0 ? padded_rows_ : 0, std::numeric_limits<double>::quiet_NaN()),
      losses_(std::move(losses)),
      underflow_invalid_(underflow_invalid),
      pool_(std::move(pool)),
      cache_(cache_entries),
      scratch_(pool_->threads()) {
  for (size_t token = 0; token < code_.code.size(); ++token) {
    const auto& steps = code_.code[token];
    const int operands =
        steps.size() > 1 ? code_.arity[token] - 1 : 0;  // they stay while a formula of several steps runs
    room_.push_back(static_cast<int>(steps.size()) + operands);
    alphabet_.add(code_.arity[token], steps.size() == 1 && steps[0].opcode == Opcode::constant);
  }
  // Padding rows repeat the last row, so they are valid wherever it is, and weigh nothing.
  for (int v = 0; v < variables; ++v)
    columns_.push_back(padded_copy(columns + v * rows, rows, padded_rows_, columns[v * rows + rows - 1]));
  if (target) {
    target_ = padded_copy(target, rows, padded_rows_, 0.0);
    weight_ = padded_copy(weight, rows, padded_rows_, 0.0);
    if (scale) scale_ = padded_copy(scale, rows, padded_rows_, 1.0);
    for (int64_t i = 0; i < rows; ++i) exact_ += no_loss(target[i], weight[i]);
    draw_sample();
  }
  for (Scratch& scratch : scratch_) {
    scratch.stack.resize(size_t(MAX_STACK) * ROW_BLOCK);
    scratch.predictions.resize(STRIPE);
    scratch.columns.resize(columns_.size() + own_ + 1);
    scratch.own.resize(own_);
    forget_own(scratch);
    for (Doubles& each : scratch.own) each.resize(padded_rows_);
  }
}

// What a row counts of which the value is off by a few roundings only.
double Evaluator::no_loss(double target, double weight) const {
  const double rounding = std::sqrt(EXACT_SHARE);
  switch (losses_[0].kind) {
    case LossKind::absolute:
    case LossKind::quantile:
    case LossKind::poisson: return rounding * weight * std::fabs(target);
    case LossKind::relative: return EXACT_SHARE * weight;
    case LossKind::logistic: return rounding * weight;
    default: return EXACT_SHARE * weight * target * target;
  }
}

int Evaluator::constants_in(const Batch& batch, int program) const {
  if (batch.constant_width == 0) return 0;
  int count = 0;
  const TokenId* tokens = batch.tokens + size_t(program) * batch.width;
  for (int i = 0; i < batch.lengths[program]; ++i) count += alphabet_.constant[tokens[i]];
  return count;
}

bool Evaluator::has_own(const Batch& batch, int program) const {
  if (own_ == 0) return false;
  const int variables = static_cast<int>(columns_.size());
  const TokenId* tokens = batch.tokens + size_t(program) * batch.width;
  return std::any_of(tokens, tokens + batch.lengths[program], [&](TokenId token) {
    const Instruction& step = code_.code[token][0];
    return step.opcode == Opcode::variable && step.index >= variables;
  });
}

void Evaluator::forget_own(Scratch& scratch) const { scratch.own_columns.assign(own_, unknown_.data()); }

// Makes columns of the groups' own numbers of the program that was fitted last, and keeps them in own [J, G] if asked.
void Evaluator::spread_own(Scratch& scratch, double* own) const {
  const auto& numbers = scratch.fitter.own_numbers();
  if (own) std::fill_n(own, size_t(own_) * groups(), std::numeric_limits<double>::quiet_NaN());
  for (size_t at = 0; at < numbers.size(); ++at) {
    const int j = numbers[at];
    for (int g = 0; g < groups(); ++g) {
      const double value = scratch.fitter.own_value(static_cast<int>(at), g);
      std::fill(scratch.own[j].begin() + begins_[g], scratch.own[j].begin() + begins_[g + 1], value);
      if (own) own[size_t(j) * groups() + g] = value;
    }
    scratch.own_columns[j] = scratch.own[j].data();
  }
}

void Evaluator::lower(const Batch& batch, int program, Scratch& scratch) const {
  scratch.code.clear();
  const TokenId* tokens = batch.tokens + size_t(program) * batch.width;
  int depth = 0;
  for (int i = batch.lengths[program] - 1; i >= 0; --i) {
    const auto& steps = code_.code[tokens[i]];
    scratch.code.insert(scratch.code.end(), steps.begin(), steps.end());
    depth += 1 - code_.arity[tokens[i]];
    if (depth + room_[tokens[i]] >= MAX_STACK)
      throw std::length_error("a program nests too deeply to be evaluated; lower the maximum length");
  }
}

bool Evaluator::run(const double* constants, int64_t first, int rows, Scratch& scratch, double* predictions,
                    Errors& out) const {
  for (size_t v = 0; v < columns_.size(); ++v) scratch.columns[v] = columns_[v].data() + first;
  for (int j = 0; j < own_; ++j) scratch.columns[columns_.size() + j] = scratch.own_columns[j] + first;
  Evaluation task{};
  task.code = scratch.code.data();
  task.instructions = static_cast<int>(scratch.code.size());
  task.constants = constants;
  task.columns = scratch.columns.data();
  task.target = target_.empty() || predictions ? nullptr : target_.data() + first;
  task.weight = weight_.data() + first;
  task.scale = scale_.empty() ? nullptr : scale_.data() + first;
  task.rows = rows;
  task.stack = scratch.stack.data();
  task.predictions = predictions;
  task.underflow_invalid = underflow_invalid_;
  task.losses = losses_.data();
  task.loss_count = static_cast<int>(losses_.size());
  out.ok = kernels().evaluate(task);
  std::copy_n(task.sums, MOST_LOSSES, out.sums);
  return out.ok;
}

// Stripe after stripe, dropping programs once they are found invalid. Each program's sums belong to one thread at
// a time and grow in row order, so they do not depend on the number of threads.
void Evaluator::grade(const Batch& batch, const std::vector<int>& programs, const std::function<void()>& check) {
  alive_ = programs;
  for (int i : alive_) results_[i] = {{}, true};
  for (int64_t first = 0; first < padded_rows_ && !alive_.empty(); first += STRIPE) {
    const int rows = static_cast<int>(std::min(STRIPE, padded_rows_ - first));
    const int count = static_cast<int>(alive_.size());
    if (check && first > 0 && first % (STRIPES_BETWEEN_CHECKS * STRIPE) == 0) check();
    const int group = std::clamp(count / (4 * pool_->threads()), 1, 32);
    pool_->each((count + group - 1) / group, [&](int item, int thread) {
      for (int i = item * group; i < std::min(count, (item + 1) * group); ++i) {
        Errors part;
        lower(batch, alive_[i], scratch_[thread]);
        run(batch.constants + size_t(alive_[i]) * batch.constant_width, first, rows, scratch_[thread], nullptr, part);
        Errors& total = results_[alive_[i]];
        total.add(part);
      }
    });
    std::erase_if(alive_, [&](int i) { return !results_[i].ok; });
  }
}

// Finds the distinct programs of the batch. Those that the cache knows have their results; the others are left in
// distinct_. In order, so that what is found does not depend on the threads.
int Evaluator::recognise(const Batch& batch, uint64_t purpose, double* fitted, bool anew) {
  const int count = batch.programs;
  size_t table = 16;
  while (table < size_t(count) * 2) table *= 2;
  keys_.resize(count);
  first_.resize(count);
  results_.resize(count);
  known_.resize(count);
  slots_.assign(table, -1);
  distinct_.clear();
  pool_->divide(count, [&](int begin, int end) {
    for (int i = begin; i < end; ++i)
      keys_[i] = program_key(batch.tokens + size_t(i) * batch.width, batch.lengths[i],
                             batch.constants + size_t(i) * batch.constant_width, constants_in(batch, i), purpose);
  });
  for (int i = 0; i < count; ++i) {
    size_t slot = keys_[i].high & (table - 1);
    while (slots_[slot] >= 0 && !(keys_[slots_[slot]] == keys_[i])) slot = (slot + 1) & (table - 1);
    if (slots_[slot] < 0) {
      slots_[slot] = i;
      distinct_.push_back(i);
    }
    first_[i] = slots_[slot];
  }
  const int distinct = static_cast<int>(distinct_.size());
  pool_->divide(distinct, [&](int begin, int end) {
    for (int at = begin; at < end; ++at) cache_.prefetch(keys_[distinct_[at]]);
    for (int at = begin; at < end; ++at) {
      const int i = distinct_[at];
      double* constants = fitted ? fitted + size_t(i) * batch.constant_width : nullptr;
      const Errors* found = anew ? nullptr : cache_.find(keys_[i], constants, fitted ? constants_in(batch, i) : 0);
      known_[i] = found != nullptr;
      if (found) results_[i] = *found;
    }
  });
  std::erase_if(distinct_, [&](int i) { return known_[i]; });
  return distinct;
}

// Each thread has a range of the cache to itself, and fills it in the order of the batch.
void Evaluator::remember(const Batch& batch, const double* fitted) {
  pool_->divide(cache_.sets(), [&](int begin, int end) {
    for (int i : distinct_) cache_.prefetch_insertion(keys_[i], begin, end);
    for (int i : distinct_)
      cache_.insert(keys_[i], begin, end, results_[i], fitted ? fitted + size_t(i) * batch.constant_width : nullptr,
                    fitted ? constants_in(batch, i) : 0);
  });
}

void Evaluator::report(int programs, double* sums, bool* ok) const {
  for (int i = 0; i < programs; ++i) {
    const Errors& result = results_[first_[i]];
    for (size_t loss = 0; loss < losses_.size(); ++loss) sums[loss * programs + i] = result.sums[loss];
    ok[i] = result.ok;
  }
}

int Evaluator::errors(const Batch& batch, double* sums, bool* ok, const std::function<void()>& check) {
  const int distinct = recognise(batch, 0, nullptr);
  grade(batch, distinct_, check);
  remember(batch, nullptr);
  report(batch.programs, sums, ok);
  return distinct;
}

int Evaluator::fit(const Batch& batch, const FitOptions& options, double* fitted, double* own, FitStatus* status,
                   double* sums, bool* ok, const std::function<void()>& check) {
  require_target();
  const size_t width = batch.constant_width;
  cache_.widen(std::min(batch.constant_width, batch.width));  // no program has more placeholders than tokens
  std::copy_n(batch.constants, batch.programs * width, fitted);
  const size_t numbers = size_t(own_) * groups();
  const int distinct = recognise(batch, options.purpose(), fitted, own != nullptr);
  fixed_.clear();
  fittable_.clear();
  for (int i : distinct_) (constants_in(batch, i) > 0 || has_own(batch, i) ? fittable_ : fixed_).push_back(i);
  grade(batch, fixed_, check);
  fit_all(batch, options, fitted, own, check);
  for (int i : fixed_)
    results_[i].status = static_cast<uint8_t>(results_[i].ok ? FitStatus::converged : FitStatus::invalid);
  remember(batch, fitted);
  report(batch.programs, sums, ok);
  for (int i = 0; i < batch.programs; ++i) {
    status[i] = static_cast<FitStatus>(results_[first_[i]].status);
    if (first_[i] == i) continue;
    std::copy_n(fitted + first_[i] * width, width, fitted + i * width);
    if (own) std::copy_n(own + first_[i] * numbers, numbers, own + i * numbers);
  }
  return distinct;
}

void Evaluator::require_target() const {
  if (target_.empty()) throw std::invalid_argument("constants cannot be fitted without a target; give y");
}

ProgramFitter::Table Evaluator::table(Scratch& scratch) const {
  for (size_t v = 0; v < columns_.size(); ++v) scratch.columns[v] = columns_[v].data();
  return {scratch.columns.data(),
          target_.data(),
          weight_.data(),
          padded_rows_,
          exact_,
          1.0,
          losses_[0],
          scale_.empty() ? nullptr : scale_.data(),
          static_cast<int>(columns_.size()),
          begins_.data(),
          groups()};
}

// Rows at even distances, of each group enough to fit its own numbers; none when there are too few for that to pay.
void Evaluator::draw_sample() {
  if (rows_ < 4 * FIT_SAMPLE) return;
  std::vector<int64_t> chosen;
  if (begins_.empty())
    for (int64_t i = 0; i < FIT_SAMPLE; ++i) chosen.push_back(i * rows_ / FIT_SAMPLE);
  for (int g = 0; g < groups(); ++g) {
    const int64_t begin = begins_[g], size = begins_[g + 1] - begin;
    const int64_t share = (size * FIT_SAMPLE / rows_ + DOUBLE_LANES - 1) / DOUBLE_LANES * DOUBLE_LANES;
    const int64_t count = std::min(size, std::max<int64_t>(share, GROUP_SAMPLE));
    sample_begins_.push_back(static_cast<int64_t>(chosen.size()));
    for (int64_t i = 0; i < count; ++i) chosen.push_back(begin + i * size / count);
  }
  if (!begins_.empty()) sample_begins_.push_back(static_cast<int64_t>(chosen.size()));
  const int64_t rows = static_cast<int64_t>(chosen.size());
  if (2 * rows > rows_) return;
  const auto some = [&](const Doubles& all) {
    Doubles out(rows);
    for (int64_t i = 0; i < rows; ++i) out[i] = all[chosen[i]];
    return out;
  };
  for (const auto& column : columns_) sample_columns_.push_back(some(column));
  for (const auto& column : sample_columns_) sample_pointers_.push_back(column.data());
  sample_target_ = some(target_);
  sample_weight_ = some(weight_);
  if (!scale_.empty()) sample_scale_ = some(scale_);
  double all = 0.0, here = 0.0, exact = 0.0;
  for (double weight : weight_) all += weight;
  for (int64_t i = 0; i < rows; ++i) {
    here += sample_weight_[i];
    exact += no_loss(sample_target_[i], sample_weight_[i]);
  }
  if (here > 0.0)
    sample_ = {sample_pointers_.data(),
               sample_target_.data(),
               sample_weight_.data(),
               rows,
               exact,
               here / all,
               losses_[0],
               sample_scale_.empty() ? nullptr : sample_scale_.data(),
               static_cast<int>(columns_.size()),
               sample_begins_.data(),
               groups()};
}

// A program is fitted by one thread, on all rows.
void Evaluator::fit_all(const Batch& batch, const FitOptions& options, double* fitted, double* own,
                        const std::function<void()>& check) {
  const int count = static_cast<int>(fittable_.size());
  // Between two checks as many programs as take some tens of milliseconds, but enough to keep every thread busy.
  const int portion =
      std::max<int>(4 * pool_->threads(), static_cast<int>((STRIPES_BETWEEN_CHECKS << 16) / padded_rows_));
  for (int begin = 0; begin < count; begin += portion) {
    if (check && begin > 0) check();
    const int here = std::min(portion, count - begin), group = std::clamp(here / (8 * pool_->threads()), 1, 8);
    pool_->each((here + group - 1) / group, [&](int item, int thread) {
      Scratch& scratch = scratch_[thread];
      for (int at = item * group; at < std::min(here, (item + 1) * group); ++at) {
        const int i = fittable_[begin + at];
        double* constants = fitted + size_t(i) * batch.constant_width;
        lower(batch, i, scratch);
        FitOptions bounded = options;
        if (options.low != nullptr) {
          bounded.low += size_t(i) * (batch.constant_width + 1);
          bounded.high += size_t(i) * (batch.constant_width + 1);
          bounded.own_low = bounded.low[batch.constant_width];
          bounded.own_high = bounded.high[batch.constant_width];
        }
        // Random starts follow from the program alone: more restarts begin with the same ones, and so cannot do worse
        // unless the starts are chosen on a sample of the rows.
        const Key seed = program_key(batch.tokens + size_t(i) * batch.width, batch.lengths[i], constants, 0, 0);
        double* mine = own ? own + size_t(i) * own_ * groups() : nullptr;
        const FitStatus status =
            scratch.fitter.fit(scratch.code, table(scratch), sample_, bounded, seed, constants, mine);
        spread_own(scratch, mine);
        Errors& total = results_[i];
        total = {{}, status != FitStatus::invalid, static_cast<uint8_t>(status)};
        for (int64_t first = 0; first < padded_rows_ && total.ok; first += STRIPE) {
          Errors part;
          run(constants, first, static_cast<int>(std::min(STRIPE, padded_rows_ - first)), scratch, nullptr, part);
          total.add(part);
        }
        forget_own(scratch);
        if (!total.ok) total.status = static_cast<uint8_t>(FitStatus::invalid);
      }
    });
  }
}

void Evaluator::derivatives(const Batch& batch, double* loss, double* gradient, double* normal, bool* ok) {
  require_target();
  const size_t k = batch.constant_width;
  std::fill_n(gradient, batch.programs * k, 0.0);
  std::fill_n(normal, batch.programs * k * k, 0.0);
  pool_->each(batch.programs, [&](int i, int thread) {
    Scratch& scratch = scratch_[thread];
    lower(batch, i, scratch);
    ok[i] = scratch.fitter.derivatives_at(scratch.code, table(scratch), batch.constants + i * k, loss[i],
                                          gradient + i * k, normal + i * k * k, batch.constant_width);
  });
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
        const double* constants = batch.constants + size_t(program) * batch.constant_width;
        if (!run(constants, first + at, n, scratch, scratch.predictions.data() + at, ignored)) ok[program] = false;
      }
      const int64_t real = std::min<int64_t>(rows, rows_ - first);
      std::copy_n(scratch.predictions.data(), real, predictions + program * rows_ + first);
    }
  });
}

}  // namespace symseek
