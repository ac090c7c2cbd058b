// Row losses: what a row counts by its target y and the value f of a program there. A sum of them over the rows grades
// a program, and constants are fitted by it. To add one, write its struct and its name in the list here, and its line
// in symseek/losses.py.
//
// The same text serves one row at a time and, in the native core, vectors of rows.
#pragma once

#include "platform.hpp"

namespace symseek {

SHARED double absolute(double a) { return fabs(a); }
SHARED bool less(double a, double b) { return a < b; }
SHARED double select(bool chosen, double yes, double no) { return chosen ? yes : no; }
SHARED double alike(double, double value) { return value; }
SHARED double exp_of(double a) { return exp(a); }
SHARED double log_of(double a) { return log(a); }
SHARED double tanh_of(double a) { return tanh(a); }

// A row: target and value, r = y - f, a = |r|, and the parameter of the loss. Slopes of a loss with a corner are taken
// as if it were a square where a is below `blur`: a corner has none.
template <class V>
struct Row {
  V y, f, r, a, p, blur;
};
template <class V>
SHARED Row<V> row_of(const V& y, const V& f, const V& r, const V& p, const V& blur) {
  return {y, f, r, absolute(r), p, blur};
}

template <class V>
SHARED V bend_of_corner(const Row<V>& at) {
  const V size = select(less(at.a, at.blur), at.blur, at.a), zero = alike(at.r, 0.0);
  return select(less(zero, size), alike(at.r, 0.5) / size, zero);
}

// How a loss falls at a row: half its derivative by f, downhill, and a weight that is not negative. Around a place any
// loss is as bend * (f + pull / bend - f')^2: the squared error has r and 1.
template <class V>
struct Slopes {
  V pull, bend;
};

struct squared_loss {
  template <class V>
  static SHARED V value(const Row<V>& at) {
    return at.r * at.r;
  }
  template <class V>
  static SHARED Slopes<V> slopes(const Row<V>& at) {
    return {at.r, alike(at.r, 1.0)};
  }
};

struct absolute_loss {
  template <class V>
  static SHARED V value(const Row<V>& at) {
    return at.a;
  }
  template <class V>
  static SHARED Slopes<V> slopes(const Row<V>& at) {
    const V bend = bend_of_corner(at);
    return {bend * at.r, bend};
  }
};

// The square up to p, and straight beyond.
struct huber_loss {
  template <class V>
  static SHARED V value(const Row<V>& at) {
    return select(less(at.a, at.p), at.r * at.r, at.p * (at.a + at.a - at.p));
  }
  template <class V>
  static SHARED Slopes<V> slopes(const Row<V>& at) {
    const V bend = select(less(at.a, at.p), alike(at.r, 1.0), at.p / at.a);
    return {bend * at.r, bend};
  }
};

// The absolute error, 2 p times where the target is above and 2 (1 - p) times where it is below: least at quantile p.
struct quantile_loss {
  template <class V>
  static SHARED V share(const Row<V>& at) {
    return select(less(alike(at.r, 0.0), at.r), at.p + at.p, alike(at.r, 2.0) - (at.p + at.p));
  }
  template <class V>
  static SHARED V value(const Row<V>& at) {
    return share(at) * at.a;
  }
  template <class V>
  static SHARED Slopes<V> slopes(const Row<V>& at) {
    const V bend = share(at) * bend_of_corner(at);
    return {bend * at.r, bend};
  }
};

// The square of the error as a part of the target.
struct relative_loss {
  template <class V>
  static SHARED V value(const Row<V>& at) {
    const V part = at.r / at.y;
    return part * part;
  }
  template <class V>
  static SHARED Slopes<V> slopes(const Row<V>& at) {
    const V bend = alike(at.r, 1.0) / (at.y * at.y);
    return {bend * at.r, bend};
  }
};

// 2 p^2 log cosh(r / p): the square where r is small, and straight where it is large, without a corner between.
struct log_cosh_loss {
  template <class V>
  static SHARED V value(const Row<V>& at) {
    const V u = at.a / at.p, v = u * u, scale = at.p * at.p;
    // The series of log cosh, where the logarithm would leave few digits.
    const V small =
        v * (alike(u, 1.0) - v * (alike(u, 1.0 / 6) -
                                  v * (alike(u, 2.0 / 45) - v * (alike(u, 17.0 / 1260) - v * alike(u, 62.0 / 14175)))));
    const V large = u + log_of(alike(u, 1.0) + exp_of(alike(u, -2.0) * u)) - alike(u, 0.6931471805599453);
    return scale * select(less(u, alike(u, 0.1)), small, large + large);
  }
  template <class V>
  static SHARED Slopes<V> slopes(const Row<V>& at) {
    const V u = at.a / at.p, one = alike(u, 1.0);
    const V bend = select(less(alike(u, 0.0), u), tanh_of(u) / u, one);
    return {bend * at.r, bend};
  }
};

// The deviance of counts y with the rate f: infinite where that is not positive.
struct poisson_loss {
  template <class V>
  static SHARED V value(const Row<V>& at) {
    const V zero = alike(at.r, 0.0), ratio = select(less(zero, at.y), at.y / at.f, alike(at.r, 1.0));
    const V half = at.y * log_of(ratio) - at.r;
    return select(less(zero, at.f), select(less(half, zero), zero, half + half), alike(at.r, infinity()));
  }
  template <class V>
  static SHARED Slopes<V> slopes(const Row<V>& at) {
    const V bend = alike(at.r, 1.0) / at.f;  // what the second derivative is in the mean
    return {bend * at.r, bend};
  }
};

// The deviance of y = 0 or 1, where f is the logarithm of the odds of 1.
struct logistic_loss {
  template <class V>
  static SHARED V value(const Row<V>& at) {
    const V zero = alike(at.f, 0.0), one = alike(at.f, 1.0);
    const V wrong = (one - (at.y + at.y)) * at.f;  // the logarithm of the odds of what did not come
    const V e = exp_of(-absolute(at.f)), sum = one + e;
    const V rest = select(less(one, sum), log_of(sum) * (e / (sum - one)), e);  // log(1 + e), to the last digit
    const V half = select(less(zero, wrong), wrong, zero) + rest;
    return half + half;
  }
  template <class V>
  static SHARED Slopes<V> slopes(const Row<V>& at) {
    const V zero = alike(at.f, 0.0), one = alike(at.f, 1.0);
    const V e = exp_of(-absolute(at.f)), rare = e / (one + e), chance = select(less(at.f, zero), rare, one - rare);
    return {at.y - chance, rare * (one - rare)};
  }
};

#define SYMSEEK_LOSSES(X) X(squared) X(absolute) X(huber) X(quantile) X(relative) X(log_cosh) X(poisson) X(logistic)

#define X(NAME) NAME,
enum class LossKind : int { SYMSEEK_LOSSES(X) };
#undef X

struct Loss {
  LossKind kind = LossKind::squared;
  double parameter = 1.0;
};

SHARED bool has_corner(LossKind kind) { return kind == LossKind::absolute || kind == LossKind::quantile; }

SHARED bool is_square(LossKind kind) { return kind == LossKind::squared || kind == LossKind::relative; }

constexpr int MOST_LOSSES = 2;  // that programs are graded by at once

}  // namespace symseek
