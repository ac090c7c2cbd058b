// The paper's way of fitting constants: BFGS on the reward, with the first steps, the line search and the end of
// SciPy's, so that a fit goes the way the paper's went, but with exact derivatives.

// The slope of the reward by any constant at which a fit ends; SciPy's default.
constexpr double FLAT_REWARD = 1e-5;

// A place along the line from x in the present direction.
struct Point {
  double step, loss;
  double value;  // minus the reward: 0 where the program is invalid
  double slope;  // of the value along the line; Fitter::slope holds it by each constant
};

DEVICE void Fitter::look(const double* x, double step_size, Point& point) {
  UP_TO(i, size) trial[i] = x[i] + step_size * direction[i];
  point = Point{step_size, 0.0, 0.0, 0.0};
  if (!look_at(trial, point.loss)) return;
  const double ratio = point.loss / (options.scale * share), error = options.power == 0.5 ? sqrt(ratio) : ratio;
  const double by_loss = point.loss > 0.0 ? options.power * error / (point.loss * (1.0 + error) * (1.0 + error)) : 0.0;
  point.value = -1.0 / (1.0 + error);
  take();
  UP_TO(i, size) {
    slope[i] = -2.0 * by_loss * gradient[i];
    point.slope += slope[i] * direction[i];
  }
}

// One end of the interval that a line search narrows.
struct End {
  double step, value, slope;

  // The function less the line of what is wanted, or back.
  DEVICE void tilt(double wanted) {
    value -= step * wanted;
    slope -= wanted;
  }
};

// The minimum of the cubic that has the values and slopes of two ends, seen from the second; `beyond` asks for it only
// where the cubic rises to infinity past the second end.
DEVICE double cubic_minimum(const End& a, const End& b, bool beyond, double otherwise) {
  const double theta = 3.0 * (a.value - b.value) / (b.step - a.step) + a.slope + b.slope;
  const double size = larger(larger(fabs(theta), fabs(a.slope)), fabs(b.slope));
  const double inside = (theta / size) * (theta / size) - (a.slope / size) * (b.slope / size);
  double root = size * sqrt(larger(0.0, inside));
  if (b.step > a.step) root = -root;
  const double up = root - b.slope + theta,
               down = beyond ? root + (a.slope - b.slope) : root - b.slope + root + a.slope;
  const double ratio = up / down;
  if (beyond && !(ratio < 0.0 && root != 0.0)) return otherwise;
  return b.step + ratio * (a.step - b.step);
}

DEVICE double secant_minimum(const End& a, const End& b) {
  return b.step + b.slope / (b.slope - a.slope) * (a.step - b.step);
}

DEVICE double between(double value, double low, double high) {
  return value < low ? low : high < value ? high : value;
}

// The next step to try, given the best end, the other end and the step just tried; moves the ends. More and Thuente's
// four cases ("Line search algorithms with guaranteed sufficient decrease", 1994), as MINPACK-2 and SciPy have them.
DEVICE double next_step(End& best, End& other, const End& tried, bool& bracketed, double least, double most) {
  const bool opposite = tried.slope * best.slope < 0.0;
  double step;
  if (tried.value > best.value) {  // higher: the minimum lies between
    const double cubic = cubic_minimum(tried, best, false, 0.0);
    const double fall = (best.value - tried.value) / (tried.step - best.step);
    const double parabola = best.step + 0.5 * best.slope / (fall + best.slope) * (tried.step - best.step);
    step = fabs(cubic - best.step) < fabs(parabola - best.step) ? cubic : cubic + 0.5 * (parabola - cubic);
    bracketed = true;
  } else if (opposite) {  // lower, and rising again: between, too
    const double cubic = cubic_minimum(best, tried, false, 0.0), secant = secant_minimum(best, tried);
    step = fabs(cubic - tried.step) > fabs(secant - tried.step) ? cubic : secant;
    bracketed = true;
  } else if (fabs(tried.slope) < fabs(best.slope)) {  // lower and flatter: further on
    const double cubic = cubic_minimum(best, tried, true, tried.step > best.step ? most : least);
    const double secant = secant_minimum(best, tried);
    const bool cubic_nearer = fabs(cubic - tried.step) < fabs(secant - tried.step);
    if (bracketed) {
      step = cubic_nearer ? cubic : secant;
      const double limit = tried.step + 0.66 * (other.step - tried.step);
      step = tried.step > best.step ? smaller(limit, step) : larger(limit, step);
    } else {
      step = between(cubic_nearer ? secant : cubic, least, most);
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

// A step along the direction that satisfies the strong Wolfe conditions. `point` holds the place to start from with the
// first step to try, and then the place found.
NOINLINE bool Fitter::line_search(const double* x, Point& point, int& steps) {
  constexpr double ENOUGH = 1e-4, FLAT = 0.9, LEAST = 1e-100, MOST = 1e100;
  const double value0 = point.value, slope0 = point.slope, wanted = ENOUGH * slope0;
  End best{0.0, value0, slope0}, other = best;
  bool bracketed = false, first_stage = true;
  double along = point.step, low = 0.0, high = along + 4.0 * along, width = MOST, width_before = 2.0 * MOST;
  while (steps < options.max_steps) {
    look(x, along, point);
    ++steps;
    const double allowed = value0 + along * wanted;
    if (first_stage && point.value <= allowed && point.slope >= 0.0) first_stage = false;
    if (point.value <= allowed && fabs(point.slope) <= FLAT * -slope0) return true;
    if (bracketed && (along <= low || along >= high || high - low <= 1e-14 * high)) break;
    End tried{along, point.value, point.slope};
    // While no step is good enough, the function less the line of what is wanted is searched instead.
    const double tilt = first_stage && tried.value <= best.value && tried.value > allowed ? wanted : 0.0;
    tried.tilt(tilt), best.tilt(tilt), other.tilt(tilt);
    along = next_step(best, other, tried, bracketed, low, high);
    best.tilt(-tilt), other.tilt(-tilt);
    if (bracketed) {
      if (fabs(other.step - best.step) >= 0.66 * width_before) along = best.step + 0.5 * (other.step - best.step);
      width_before = width;
      width = fabs(other.step - best.step);
      low = smaller(best.step, other.step);
      high = larger(best.step, other.step);
    } else {
      low = along + 1.1 * (along - best.step);
      high = along + 4.0 * (along - best.step);
    }
    along = between(along, LEAST, MOST);
    if (!isfinite(along) || (bracketed && (along <= low || along >= high || high - low <= 1e-14 * high)))
      along = best.step;
    if (along == 0.0) break;
  }
  if (best.step > 0.0 && best.value < value0) {  // not flat enough, but lower: take it
    look(x, best.step, point);
    ++steps;
    return point.value < value0;
  }
  return false;
}

NOINLINE uint8 Fitter::bfgs(double* x, double& loss) {
  UP_TO(i, size) {
    UP_TO(j, size) inverse[i * MAX_K + j] = i == j;
    direction[i] = 0.0;
  }
  Point point;
  look(x, 0.0, point);
  double length = 0.0;
  UP_TO(i, size) length += slope[i] * slope[i];
  double before = point.value + 0.5 * sqrt(length);
  for (int steps = 1; steps < options.max_steps;) {
    double steepest = 0.0;
    UP_TO(i, size) steepest = larger(steepest, fabs(slope[i]));
    if (loss <= exact || steepest <= FLAT_REWARD) return CONVERGED;
    point.slope = 0.0;
    UP_TO(i, size) {
      double downhill = 0.0;
      UP_TO(j, size) downhill -= inverse[i * MAX_K + j] * slope[j];
      direction[i] = downhill;
      point.slope += downhill * slope[i];
    }
    if (!(point.slope < 0.0)) return CONVERGED;  // rounding has eaten the curvature
    point.step = smaller(1.0, 2.02 * (point.value - before) / point.slope);
    if (!(point.step > 0.0)) point.step = 1.0;
    before = point.value;
    copy(slope, slope_before);
    if (!line_search(x, point, steps)) return steps < options.max_steps ? CONVERGED : LIMIT;
    // Next to an exact fit two losses can have the same reward: a step that gains nothing is not taken.
    if (!(point.loss < loss)) return CONVERGED;
    const bool small = loss - point.loss <= SMALL_GAIN * loss;
    loss = point.loss;
    double along = 0.0;
    UP_TO(i, size) {
      step[i] = point.step * direction[i];
      x[i] = trial[i];
      slope_before[i] = slope[i] - slope_before[i];
      along += step[i] * slope_before[i];
    }
    if (small) return CONVERGED;
    if (along > 0.0) update_inverse(along);
  }
  return LIMIT;
}

// H <- (I - s y'/y's) H (I - y s'/y's) + s s'/y's, with s the step, y the change of the slope and `along` y's.
DEVICE void Fitter::update_inverse(double along) {
  double bent = 0.0;
  UP_TO(i, size) {
    double sum = 0.0;
    UP_TO(j, size) sum += inverse[i * MAX_K + j] * slope_before[j];
    work[i] = sum;
    bent += sum * slope_before[i];
  }
  const double curvature = (1.0 + bent / along) / along;
  UP_TO(i, size)
    UP_TO(j, size)
      inverse[i * MAX_K + j] += curvature * step[i] * step[j] - (work[i] * step[j] + step[i] * work[j]) / along;
}
