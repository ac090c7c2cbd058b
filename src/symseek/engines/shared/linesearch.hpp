// The next step of a line search. More and Thuente's four cases ("Line search algorithms with guaranteed sufficient
// decrease", 1994), as MINPACK-2 and SciPy have them. Also the small functions that all of fitting uses.
#pragma once

#include "platform.hpp"

namespace symseek {

SHARED int triangle(int row, int column) { return row * (row + 1) / 2 + column; }
SHARED int larger_of(int a, int b) { return a > b ? a : b; }
SHARED double larger(double a, double b) { return a < b ? b : a; }
template <class N>
SHARED N smaller(N a, N b) {
  return b < a ? b : a;
}
SHARED double between(double value, double low, double high) { return value < low ? low : high < value ? high : value; }

// One end of the interval that a line search narrows.
struct End {
  double step, value, slope;

  // The function less the line of what is wanted, or back.
  SHARED void tilt(double wanted) {
    if (wanted == 0.0) return;  // not even the sign of a zero may change
    value -= step * wanted;
    slope -= wanted;
  }
};

// The minimum of the cubic that has the values and slopes of two ends, seen from the second; `beyond` asks for it only
// where the cubic rises to infinity past the second end.
SHARED double cubic_minimum(const End& a, const End& b, bool beyond, double otherwise) {
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

SHARED double secant_minimum(const End& a, const End& b) {
  return b.step + b.slope / (b.slope - a.slope) * (a.step - b.step);
}

// The next step to try, given the best end, the other end and the step just tried; moves the ends.
SHARED double next_step(End& best, End& other, const End& tried, bool& bracketed, double least, double most) {
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

}  // namespace symseek
