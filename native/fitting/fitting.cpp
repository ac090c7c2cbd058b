#include "fitting/fitting.hpp"

#include <algorithm>
#include <cmath>

#include "rng.hpp"

namespace symseek {

namespace {

constexpr int64_t WHOLE_TAPE = 1 << 16;  // values kept at once, 512 KiB: about half of a second-level cache

constexpr int STARTS_TRIED = 32;  // random places that a restart tries, to descend from the best
// A descent that trails another is watched: when its gain over this many steps would not catch up, it ends.
constexpr int WATCH = 4;

constexpr double SAME = 1e-9;  // losses that differ by less, relatively, are of the same minimum

// A trial is projected where that lowers the loss by more than this share of what the trial gained. Near a minimum it
// rarely does, and a look is saved.
constexpr double WORTH = 0.1;

constexpr double FIRST_DAMPING = 1e-3;
constexpr double LEAST_DAMPING = 1e-9;  // below this, none
constexpr double MOST_DAMPING = 1e12;   // no step this short helps: a minimum as far as float64 can tell

struct Best {
  double loss = HUGE_VAL;
  FitStatus status = FitStatus::invalid;
};

int triangle(int row, int column) { return row * (row + 1) / 2 + column; }

}  // namespace

// On many rows the search for a start, which takes most of the work, sees some of them only; the end is on all.
FitStatus Fitter::fit(const std::vector<Instruction>& code, const Table& table, const Table& sample,
                      const FitOptions& options, const Key& key, double* constants) {
  if (sample.rows == 0 || options.method == FitMethod::bfgs) {
    set_up(code, table);
    return kernels().prepare(task_) ? search(options, key, constants) : FitStatus::invalid;
  }
  set_up(code, sample);
  if (!kernels().prepare(task_)) return FitStatus::invalid;
  std::copy_n(constants, size_, guess_.data());
  search(options, key, guess_.data());
  set_up(code, table);
  if (!kernels().prepare(task_)) return FitStatus::invalid;
  double loss = HUGE_VAL, found;
  const bool valid = measure(constants, loss);
  if (!valid && !options.rescue) return FitStatus::invalid;
  const bool better = measure(guess_.data(), found) && found < loss;
  if (!valid && !better) return search(options, key, constants);  // the rows left out decide
  if (better) {
    std::copy_n(guess_.data(), size_, constants);
    loss = found;
  } else {
    measure(constants, loss);  // so that derivatives are taken here
  }
  return least_squares(options, HUGE_VAL, constants, loss);
}

FitStatus Fitter::search(const FitOptions& options, const Key& key, double* constants) {
  Best best;
  // The last descent of a mixed fit is BFGS from where the first began: on the reward it takes other ways, far ones
  // where the program is far off.
  const int last = options.restarts + (options.method == FitMethod::mixed);
  for (int start = 0; start <= last; ++start) {
    const bool again = start == 0 || start > options.restarts;
    double loss;
    std::copy_n(constants, size_, start_.data());
    const bool begun = again && measure(start_.data(), loss);
    if (start == 0 && !begun && !options.rescue) return FitStatus::invalid;
    if (!begun && !find_start(key, again ? 0 : start * STARTS_TRIED, start_.data(), loss)) continue;
    // The last one goes to its end: otherwise a fit with more restarts could come out worse.
    const double to_beat = start > options.restarts ? HUGE_VAL : best.loss;
    const FitStatus status = descend(options, start, to_beat, start_.data(), loss);
    const bool again_there = std::abs(loss - best.loss) <= SAME * loss;
    if (best.status == FitStatus::invalid || loss < best.loss) {
      best = {loss, status};
      std::copy_n(start_.data(), size_, best_.data());
    }
    // A restart that ends where the best one did is a sign that there is nothing else to find.
    if (again_there && start > 0 && start <= options.restarts) start = options.restarts;
    // Nothing better can be found where the fit is exact, or where there is one minimum only.
    if (best.loss <= exact_ || (all_linear_ && best.status == FitStatus::converged)) break;
  }
  if (best.status != FitStatus::invalid) std::copy_n(best_.data(), size_, constants);
  return best.status;
}

bool Fitter::derivatives_at(const std::vector<Instruction>& code, const Table& table, const double* constants,
                            double& loss, double* gradient, double* normal, int width) {
  set_up(code, table);
  if (!kernels().prepare(task_) || !measure(constants, loss)) return false;
  derive();
  std::copy_n(gradient_.data(), size_, gradient);
  for (int i = 0; i < size_; ++i)
    for (int j = 0; j <= i; ++j) normal[i * width + j] = normal[j * width + i] = normal_[triangle(i, j)];
  return true;
}

// A mixed fit goes down by least squares, but every other restart, and the last descent, by BFGS first.
FitStatus Fitter::descend(const FitOptions& options, int start, double to_beat, double* x, double& loss) {
  if (options.method == FitMethod::bfgs) return bfgs(options, x, loss);
  if (options.method == FitMethod::mixed && (start > options.restarts || (start > 0 && start % 2 == 0))) {
    bfgs(options, x, loss);
    measure(x, loss);  // so that derivatives are taken here
  }
  return least_squares(options, to_beat, x, loss);
}

void Fitter::set_up(const std::vector<Instruction>& code, const Table& table) {
  tape_.read(code);
  const int nodes = static_cast<int>(tape_.nodes.size());
  size_ = static_cast<int>(tape_.constant_nodes.size());
  const int64_t blocks = (table.rows + TAPE_BLOCK - 1) / TAPE_BLOCK, pairs = int64_t(size_) * (size_ + 1) / 2;
  const int stride = static_cast<int>(std::min<int64_t>(table.rows, TAPE_BLOCK)) + DOUBLE_LANES;
  const bool whole = blocks * stride * nodes <= WHOLE_TAPE;
  const auto grow = [](std::vector<double>& v, int64_t n) {
    if (static_cast<int64_t>(v.size()) < n) v.resize(n);
  };
  grow(values_, (whole ? blocks : 1) * stride * nodes);
  grow(adjoints_, int64_t(stride) * nodes);
  grow(lanes_, 8 * (size_ + pairs));
  for (auto* v : {&at_, &gradient_, &other_gradient_, &step_, &trial_, &best_, &start_, &guess_, &direction_, &slope_,
                  &slope_before_, &work_})
    grow(*v, size_);
  for (auto* v : {&normal_, &other_normal_, &factor_}) grow(*v, pairs);
  grow(inverse_, int64_t(size_) * size_);
  task_.nodes = tape_.nodes.data();
  task_.count = nodes;
  task_.root = tape_.root;
  task_.fixed = tape_.fixed.data();
  task_.fixed_count = static_cast<int>(tape_.fixed.size());
  task_.moving = tape_.moving.data();
  task_.moving_count = static_cast<int>(tape_.moving.size());
  task_.constant_nodes = tape_.constant_nodes.data();
  task_.constant_count = size_;
  task_.constants = at_.data();
  task_.columns = table.columns;
  task_.target = table.target;
  task_.weight = table.weight;
  task_.rows = table.rows;
  task_.whole = whole;
  task_.stride = stride;
  task_.values = values_.data();
  task_.adjoints = adjoints_.data();
  task_.lanes = lanes_.data();
  task_.gradient = gradient_.data();
  task_.normal = normal_.data();
  exact_ = table.exact;
  share_ = table.share;
  const auto linear = std::count(tape_.linear.begin(), tape_.linear.end(), 1);
  some_linear_ = linear > 0;
  all_linear_ = linear == size_;
}

bool Fitter::measure(const double* x, double& loss) {
  std::copy_n(x, size_, at_.data());
  if (!kernels().measure(task_) || !std::isfinite(task_.loss)) return false;
  loss = task_.loss;
  return true;
}

// A random start: either sign, sizes from 0.1 to 10, rather near 1.
void Fitter::draw(const Key& key, int number, double* x) const {
  Block bits{};
  for (int i = 0; i < size_; ++i) {
    if (i % 2 == 0)  // a block serves two constants
      bits = philox(key.low, {static_cast<uint32_t>(key.high), static_cast<uint32_t>(i), static_cast<uint32_t>(number),
                              static_cast<uint32_t>(Stream::constants)});
    const uint32_t one = bits[i % 2 * 2], other = bits[i % 2 * 2 + 1];
    const double u = uniform(one), size = 1.0 + 9.0 * u * u;
    x[i] = (other & 1 ? -1.0 : 1.0) * (other & 2 ? size : 1.0 / size);
  }
}

// The best of some random places, constants that enter linearly being solved for at each; false when the program is
// invalid at all of them.
bool Fitter::find_start(const Key& key, int first, double* x, double& loss) {
  bool found = false;
  for (int number = first; number < first + STARTS_TRIED; ++number) {
    double here, solved;
    draw(key, number, trial_.data());
    if (!measure(trial_.data(), here)) continue;
    if (some_linear_) {
      derive();
      if (solve(0.0, System::linear)) {
        for (int i = 0; i < size_; ++i) step_[i] += trial_[i];
        if (measure(step_.data(), solved) && solved < here) {
          here = solved;
          trial_.swap(step_);
        }
      }
    }
    if (found && here >= loss) continue;
    found = true;
    loss = here;
    std::copy_n(trial_.data(), size_, x);
  }
  return found && measure(x, loss);
}

// Solves (N + damping D) step = gradient by Cholesky's method; D is the diagonal of N where constants are damped. False
// when the matrix is singular as far as float64 shows. With `spares`, a linear constant that does what others before it
// do is held instead.
bool Fitter::solve(double damping, System system, bool spares) {
  const bool linear_only = system == System::linear;
  for (int i = 0; i < size_; ++i) {
    const bool held = (linear_only && !tape_.linear[i]) || !(normal_[triangle(i, i)] > 0.0);
    for (int j = 0; j <= i; ++j) {
      const bool apart = held || (linear_only && !tape_.linear[j]) || !(normal_[triangle(j, j)] > 0.0);
      double sum = i == j  ? (held ? 1.0 : normal_[triangle(i, i)] * (1.0 + (damped(i, system) ? damping : 0.0)))
                   : apart ? 0.0
                           : normal_[triangle(i, j)];
      for (int k = 0; k < j; ++k) sum -= factor_[triangle(i, k)] * factor_[triangle(j, k)];
      if (i == j) {
        const bool regular = sum > 1e-14 * (held ? 1.0 : normal_[triangle(i, i)]);
        if (!regular && !(spares && tape_.linear[i])) return false;
        factor_[triangle(i, i)] = regular ? std::sqrt(sum) : HUGE_VAL;  // divided by it, all that is linked to it is 0
      } else {
        factor_[triangle(i, j)] = sum / factor_[triangle(j, j)];
      }
    }
    double sum = held ? 0.0 : gradient_[i];
    for (int k = 0; k < i; ++k) sum -= factor_[triangle(i, k)] * step_[k];
    step_[i] = sum / factor_[triangle(i, i)];
  }
  for (int i = size_ - 1; i >= 0; --i) {
    for (int k = i + 1; k < size_; ++k) step_[i] -= factor_[triangle(k, i)] * step_[k];
    step_[i] /= factor_[triangle(i, i)];
    if (!std::isfinite(step_[i])) return false;
  }
  return true;
}

// Whether the residuals are at right angles to every derivative: no constant can make them smaller.
bool Fitter::flat(double loss) const {
  for (int i = 0; i < size_; ++i)
    if (std::abs(gradient_[i]) > SMALL_COSINE * std::sqrt(normal_[triangle(i, i)] * loss)) return false;
  return true;
}

void Fitter::swap_derivatives() {
  gradient_.swap(other_gradient_);
  normal_.swap(other_normal_);
  task_.gradient = gradient_.data();
  task_.normal = normal_.data();
}

// Moves the linear constants of the trial, where the loss was last measured, to their best values for the others that
// it has: the program is affine in them, so one step does it. False where that gains too little or cannot be solved
// for; then the trial stays. Its derivatives are the other ones afterwards.
bool Fitter::project(double loss, double found) {
  swap_derivatives();
  derive();
  bool worth = solve(0.0, System::linear, true);
  if (worth) {
    double gain = 0.0;
    for (int i = 0; i < size_; ++i) gain += step_[i] * gradient_[i];
    worth = gain > WORTH * (loss - found);
  }
  swap_derivatives();
  if (worth)
    for (int i = 0; i < size_; ++i) trial_[i] += step_[i];
  return worth;
}

// Levenberg and Marquardt's method. The first step solves for the constants that enter linearly alone, the others
// waiting where they are. It gives up when it will not come below `to_beat`.
//
// A projected fit is variable projection (Golub and Pereyra 1973, with Kaufman's approximation of the derivatives): the
// loss is a function of the constants that are not linear, the linear ones being at their best. So only the former are
// damped, and every trial has its linear constants solved for before it is judged. Where all constants are linear, or
// none is, there is nothing to project.
//
// Each measurement is a step: a trial is one, and two if it is projected. The last step that is left is not spent on a
// projection: the trial is judged as it is.
FitStatus Fitter::least_squares(const FitOptions& options, double to_beat, double* x, double& loss) {
  const bool projects = options.method == FitMethod::projected && some_linear_ && !all_linear_;
  bool linear_only = some_linear_, fresh = true, derived = false;
  double damping = linear_only ? 0.0 : FIRST_DAMPING, growth = 4.0;
  double watched = loss;  // the loss at the last multiple of WATCH steps
  int steps = 0;
  const auto gives_up = [&] {
    if (++steps % WATCH != 0) return false;
    const double needed = loss - to_beat, gain = watched - loss;
    watched = loss;
    return needed > 0.0 && gain * (options.max_steps - steps) < needed * WATCH;
  };
  while (steps < options.max_steps) {
    if (loss <= exact_) return FitStatus::converged;
    if (fresh && !derived) derive();
    if (fresh && flat(loss)) return FitStatus::converged;
    fresh = derived = false;
    double predicted = 0.0, found = 0.0;
    bool better = false;
    const System system = linear_only ? System::linear : projects ? System::projected : System::all;
    if (solve(damping, system, projects)) {
      for (int i = 0; i < size_; ++i) {
        const double pull = damped(i, system) ? damping * normal_[triangle(i, i)] * step_[i] : 0.0;
        predicted += step_[i] * (gradient_[i] + pull);
        trial_[i] = x[i] + step_[i];
      }
      bool valid = measure(trial_.data(), found);
      if (gives_up()) return FitStatus::limit;
      if (projects && valid && !linear_only && steps < options.max_steps) {
        derived = !project(loss, found);
        if (!derived) {
          found = 0.0;
          valid = measure(trial_.data(), found);
          if (gives_up()) return FitStatus::limit;
        }
      }
      better = valid && found < loss;
    }
    const bool small = predicted <= SMALL_GAIN * loss && loss - found <= SMALL_GAIN * loss;
    if (better) {
      const double ratio = (loss - found) / predicted;
      std::copy_n(trial_.data(), size_, x);
      loss = found;
      fresh = true;
      if (derived) swap_derivatives();
      damping *= ratio > 0.75 ? 0.1 : ratio > 0.25 ? 0.5 : 2.0;
      if (damping < LEAST_DAMPING) damping = 0.0;
      growth = 4.0;
    } else if (!linear_only) {
      damping = std::max(damping, 0.1 * FIRST_DAMPING) * growth;
      growth *= 2.0;
      if (damping > MOST_DAMPING) return FitStatus::converged;
    }
    if (linear_only)
      damping = FIRST_DAMPING;
    else if (small && predicted > 0.0)
      return FitStatus::converged;
    linear_only = false;
  }
  return FitStatus::limit;
}

}  // namespace symseek
