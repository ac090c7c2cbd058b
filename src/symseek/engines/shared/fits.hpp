// How the constants of a program are fitted, and how a fit can end.
#pragma once

#include "shared/keys.hpp"

// By name and in order: Python reads these lists from the native module. What is remembered of a fit depends on the
// number of its method, so a new one comes last.
#define SYMSEEK_FIT_METHODS(X) X(mixed) X(least_squares) X(bfgs) X(projected)
#define SYMSEEK_FIT_STATUSES(X) X(converged) X(limit) X(invalid)

namespace symseek {

#define X(NAME) NAME,
enum class FitMethod : int { SYMSEEK_FIT_METHODS(X) };
// The last two are for the course of a fit; none ends so.
enum class FitStatus : unsigned char { SYMSEEK_FIT_STATUSES(X) left, goes_on };
#undef X

struct FitOptions {
  FitMethod method = FitMethod::mixed;
  int restarts = 0;    // further starts, drawn at random
  int max_steps = 0;   // most looks at the loss in one descent
  bool rescue = true;  // look elsewhere when the program is invalid where it starts
  // BFGS minimises -1 / (1 + (loss / scale)^power): minus the reward.
  double scale = 1.0;
  double power = 1.0;
  // [K] between which each constant stays; null for no bounds. Only the native core has any.
  const double* low = nullptr;
  const double* high = nullptr;
  double own_low = 0.0, own_high = 0.0;  // the same for every number that groups have of their own
  uint64 bounds = 0;                     // names these of all programs; 0: none

  // What tells the results of different options apart.
  SHARED uint64 purpose() const {
    const uint64 words[] = {(uint64)method, (uint64)restarts,      (uint64)max_steps,
                            (uint64)rescue, double_as_bits(scale), double_as_bits(power)};
    uint64 h = 0x452821e638d01377ull;
    for (uint64 word : words) h = mixed(h, word, 0x9e3779b97f4a7c15ull);
    if (bounds != 0) h = mixed(h, bounds, 0x9e3779b97f4a7c15ull);
    return h;
  }
};

constexpr int FIT_SAMPLE = 1024;       // rows on which starts are sought where there are several times as many
constexpr double EXACT_SHARE = 1e-30;  // every residual of a perfect fit is off by a few roundings of its target

}  // namespace symseek
