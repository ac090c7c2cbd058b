// Row losses: what a row counts by its residual r = y - f. A sum of them over the rows grades a program, and constants
// are fitted by it. To add one, write its line here and in symseek/losses.py.
//
// The same text serves one row at a time and, in the native core, vectors of rows.
#pragma once

#include "platform.hpp"

namespace symseek {

SHARED double absolute(double a) { return fabs(a); }
SHARED bool less(double a, double b) { return a < b; }
SHARED double select(bool chosen, double yes, double no) { return chosen ? yes : no; }
SHARED double alike(double, double value) { return value; }

// For each loss, of r, a = |r| and its parameter p: what a row counts, and half the derivative of that by r, over r.
// The squared error has 1 there: any loss is, around a place, a squared error of rows with such weights.
// clang-format off: one line for each
#define SYMSEEK_LOSSES(X)                                                                          \
  X(squared, r * r, one)                                                                           \
  X(absolute, a, select(less(zero, a), half / a, zero))                                            \
  X(huber, select(less(a, p), r * r, p * (a + a - p)), select(less(a, p), one, p / a))
// clang-format on

#define X(NAME, VALUE, BEND)                                              \
  struct NAME##_loss {                                                    \
    template <class V>                                                    \
    static SHARED V value(const V& r, [[maybe_unused]] const V& p) {      \
      [[maybe_unused]] const V a = absolute(r);                           \
      return VALUE;                                                       \
    }                                                                     \
    template <class V>                                                    \
    static SHARED V bend(const V& r, [[maybe_unused]] const V& p) {       \
      [[maybe_unused]] const V a = absolute(r), zero = alike(r, 0.0);     \
      [[maybe_unused]] const V one = alike(r, 1.0), half = alike(r, 0.5); \
      return BEND;                                                        \
    }                                                                     \
  };
SYMSEEK_LOSSES(X)
#undef X

#define X(NAME, VALUE, BEND) NAME,
enum class LossKind : int { SYMSEEK_LOSSES(X) };
#undef X

struct Loss {
  LossKind kind = LossKind::squared;
  double parameter = 1.0;
};

constexpr int MOST_LOSSES = 2;  // that programs are graded by at once

}  // namespace symseek
