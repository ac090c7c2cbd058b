// The ways to combine a program a with a candidate b, in order: the operator, whether b comes first, and how far the
// result is from the target y. Python reads operators and order from the native module.
#pragma once

// clang-format off: it takes the products for pointers
#define SYMSEEK_PAIR_KINDS(X)    \
  X(add, false, b + (a - y))     \
  X(sub, false, (a - y) - b)     \
  X(sub, true, b - (a + y))      \
  X(mul, false, a * b - y)       \
  X(div, false, a * inverse - y) \
  X(div, true, b * (1.0 / a) - y)
// clang-format on

namespace symseek {

#define X(OPERATOR, SWAPPED, RESIDUAL) +1
constexpr int PAIR_KINDS = SYMSEEK_PAIR_KINDS(X);
#undef X

}  // namespace symseek
