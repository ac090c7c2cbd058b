// The paper's way of fitting constants: BFGS on the reward.
#include <algorithm>
#include <cmath>

#include "fitting/fitting.hpp"

namespace symseek {

// The slope of the reward by any constant at which a fit ends; SciPy's default. A smaller one makes formulas that are
// wrong fit a little better, and a search on them worse; near an exact fit the slope of 1/(1 + NRMSE) stays large, so
// that one is followed to the end.
constexpr double FLAT_REWARD = 1e-5;

// Minus the reward, and its derivative by the loss.
static double minus_reward(const FitOptions& options, double share, double loss, double* slope) {
  const double ratio = loss / (options.scale * share), error = options.power == 0.5 ? std::sqrt(ratio) : ratio;
  *slope = loss > 0.0 ? options.power * error / (loss * (1.0 + error) * (1.0 + error)) : 0.0;
  return -1.0 / (1.0 + error);
}

// A place along the line from x in the present direction.
struct Fitter::Point {
  double step = 0.0;
  double loss = 0.0;
  double value = 0.0;  // minus the reward: 0 where the program is invalid
  double slope = 0.0;  // of the value along the line; slope_ holds it by each constant
};

void Fitter::look(const FitOptions& options, const double* x, double step, Point& point) {
  for (int i = 0; i < size_; ++i) trial_[i] = x[i] + step * direction_[i];
  point = {step};
  if (!measure(trial_.data(), point.loss)) return;
  double by_loss;
  point.value = minus_reward(options, share_, point.loss, &by_loss);
  derive();
  for (int i = 0; i < size_; ++i) {
    slope_[i] = -2.0 * by_loss * gradient_[i];
    point.slope += slope_[i] * direction_[i];
  }
}

namespace {

// One end of the interval that a line search narrows.
struct End {
  double step, value, slope;
};

// The minimum of the cubic that has the values and slopes of two ends, seen from the second; `beyond` asks for it
// only where the cubic rises to infinity past the second end.
double cubic_minimum(const End& a, const End& b, bool beyond, double otherwise) {
  const double theta = 3.0 * (a.value - b.value) / (b.step - a.step) + a.slope + b.slope;
  const double size = std::max({std::abs(theta), std::abs(a.slope), std::abs(b.slope)});
  const double inside = (theta / size) * (theta / size) - (a.slope / size) * (b.slope / size);
  double root = size * std::sqrt(std::max(0.0, inside));
  if (b.step > a.step) root = -root;
  const double up = root - b.slope + theta,
               down = beyond ? root + (a.slope - b.slope) : root - b.slope + root + a.slope;
  const double ratio = up / down;
  if (beyond && !(ratio < 0.0 && root != 0.0)) return otherwise;
  return b.step + ratio * (a.step - b.step);
}

double secant_minimum(const End& a, const End& b) { return b.step + b.slope / (b.slope - a.slope) * (a.step - b.step); }

// The next step to try, given the best end, the other end and the step just tried; moves the ends. More and Thuente's
// four cases ("Line search algorithms with guaranteed sufficient decrease", 1994), as MINPACK-2 and SciPy have them.
double next_step(End& best, End& other, const End& tried, bool& bracketed, double least, double most) {
  const bool opposite = tried.slope * best.slope < 0.0;
  double step;
  if (tried.value > best.value) {  // higher: the minimum lies between
    const double cubic = cubic_minimum(tried, best, false, 0.0);
    const double parabola = best.step + 0.5 * best.slope /
                                            ((best.value - tried.value) / (tried.step - best.step) + best.slope) *
                                            (tried.step - best.step);
    step = std::abs(cubic - best.step) < std::abs(parabola - best.step) ? cubic : cubic + 0.5 * (parabola - cubic);
    bracketed = true;
  } else if (opposite) {  // lower, and rising again: between, too
    const double cubic = cubic_minimum(best, tried, false, 0.0), secant = secant_minimum(best, tried);
    step = std::abs(cubic - tried.step) > std::abs(secant - tried.step) ? cubic : secant;
    bracketed = true;
  } else if (std::abs(tried.slope) < std::abs(best.slope)) {  // lower and flatter: further on
    const double cubic = cubic_minimum(best, tried, true, tried.step > best.step ? most : least);
    const double secant = secant_minimum(best, tried);
    const bool cubic_nearer = std::abs(cubic - tried.step) < std::abs(secant - tried.step);
    if (bracketed) {
      step = cubic_nearer ? cubic : secant;
      const double limit = tried.step + 0.66 * (other.step - tried.step);
      step = tried.step > best.step ? std::min(limit, step) : std::max(limit, step);
    } else {
      step = std::clamp(cubic_nearer ? secant : cubic, least, most);
    }
  } else {  // lower and steeper
    step = bracketed ? cubic_minimum(other, tried, false, 0.0) : tried.step > best.step ? most : least;
  }
  if (tried.value > best.value) {
    other = tried;
  } else {
    if (opposite) other = best;
    best = tried;
  }
  return step;
}

}  // namespace

// A step along the direction that satisfies the strong Wolfe conditions. `point` holds the place to start from with
// the first step to try, and then the place found.
bool Fitter::line_search(const FitOptions& options, const double* x, Point& point, int& steps) {
  constexpr double ENOUGH = 1e-4, FLAT = 0.9, LEAST = 1e-100, MOST = 1e100;
  const double value0 = point.value, slope0 = point.slope, wanted = ENOUGH * slope0;
  End best{0.0, value0, slope0}, other = best;
  bool bracketed = false, first_stage = true;
  double step = point.step, low = 0.0, high = step + 4.0 * step, width = MOST, width_before = 2.0 * MOST;
  while (steps < options.max_steps) {
    look(options, x, step, point);
    ++steps;
    const double allowed = value0 + step * wanted;
    if (first_stage && point.value <= allowed && point.slope >= 0.0) first_stage = false;
    if (point.value <= allowed && std::abs(point.slope) <= FLAT * -slope0) return true;
    if (bracketed && (step <= low || step >= high || high - low <= 1e-14 * high)) break;
    End tried{step, point.value, point.slope};
    if (first_stage && tried.value <= best.value && tried.value > allowed) {
      // While no step is good enough, the function less the line of what is wanted is searched instead.
      const auto tilt = [&](End& end, double sign) {
        end.value -= sign * end.step * wanted;
        end.slope -= sign * wanted;
      };
      tilt(tried, 1.0), tilt(best, 1.0), tilt(other, 1.0);
      step = next_step(best, other, tried, bracketed, low, high);
      tilt(best, -1.0), tilt(other, -1.0);
    } else {
      step = next_step(best, other, tried, bracketed, low, high);
    }
    if (bracketed) {
      if (std::abs(other.step - best.step) >= 0.66 * width_before) step = best.step + 0.5 * (other.step - best.step);
      width_before = width;
      width = std::abs(other.step - best.step);
      low = std::min(best.step, other.step);
      high = std::max(best.step, other.step);
    } else {
      low = step + 1.1 * (step - best.step);
      high = step + 4.0 * (step - best.step);
    }
    step = std::clamp(step, LEAST, MOST);
    if (!std::isfinite(step) || (bracketed && (step <= low || step >= high || high - low <= 1e-14 * high)))
      step = best.step;
    if (step == 0.0) break;
  }
  if (best.step > 0.0 && best.value < value0) {  // not flat enough, but lower: take it
    look(options, x, best.step, point);
    ++steps;
    return point.value < value0;
  }
  return false;
}

// Broyden, Fletcher, Goldfarb and Shanno's method with the first steps, the line search and the end of SciPy's, so that
// a fit goes the way the paper's went, but with exact derivatives.
FitStatus Fitter::bfgs(const FitOptions& options, double* x, double& loss) {
  const auto inverse = [this](int i, int j) -> double& { return inverse_[size_t(i) * size_ + j]; };
  for (int i = 0; i < size_; ++i)
    for (int j = 0; j < size_; ++j) inverse(i, j) = i == j;
  std::fill_n(direction_.data(), size_, 0.0);
  Point point;
  look(options, x, 0.0, point);
  double length = 0.0;
  for (int i = 0; i < size_; ++i) length += slope_[i] * slope_[i];
  double before = point.value + 0.5 * std::sqrt(length);
  for (int steps = 1; steps < options.max_steps;) {
    double steepest = 0.0;
    for (int i = 0; i < size_; ++i) steepest = std::max(steepest, std::abs(slope_[i]));
    if (loss <= exact_ || steepest <= FLAT_REWARD) return FitStatus::converged;
    point.slope = 0.0;
    for (int i = 0; i < size_; ++i) {
      direction_[i] = 0.0;
      for (int j = 0; j < size_; ++j) direction_[i] -= inverse(i, j) * slope_[j];
      point.slope += direction_[i] * slope_[i];
    }
    if (!(point.slope < 0.0)) return FitStatus::converged;  // rounding has eaten the curvature
    point.step = std::min(1.0, 2.02 * (point.value - before) / point.slope);
    if (!(point.step > 0.0)) point.step = 1.0;
    before = point.value;
    std::copy_n(slope_.data(), size_, slope_before_.data());
    if (!line_search(options, x, point, steps))
      return steps < options.max_steps ? FitStatus::converged : FitStatus::limit;
    // Next to an exact fit two losses can have the same reward: a step that gains nothing is not taken.
    if (!(point.loss < loss)) return FitStatus::converged;
    const bool small = loss - point.loss <= SMALL_GAIN * loss;
    loss = point.loss;
    double along = 0.0;
    for (int i = 0; i < size_; ++i) {
      step_[i] = point.step * direction_[i];
      x[i] = trial_[i];
      slope_before_[i] = slope_[i] - slope_before_[i];
      along += step_[i] * slope_before_[i];
    }
    if (small) return FitStatus::converged;
    if (along > 0.0) update_inverse(along);
  }
  return FitStatus::limit;
}

// H <- (I - s y'/y's) H (I - y s'/y's) + s s'/y's, with s the step, y the change of the slope and `along` y's.
void Fitter::update_inverse(double along) {
  double bent = 0.0;
  for (int i = 0; i < size_; ++i) {
    work_[i] = 0.0;
    for (int j = 0; j < size_; ++j) work_[i] += inverse_[size_t(i) * size_ + j] * slope_before_[j];
    bent += work_[i] * slope_before_[i];
  }
  const double curvature = (1.0 + bent / along) / along;
  for (int i = 0; i < size_; ++i)
    for (int j = 0; j < size_; ++j)
      inverse_[size_t(i) * size_ + j] +=
          curvature * step_[i] * step_[j] - (work_[i] * step_[j] + step_[i] * work_[j]) / along;
}

}  // namespace symseek
