// fitting/: the constants of a program, fitted to data by its exact derivatives. The way of a fit is shared with the
// CUDA kernels (shared/fitting.hpp); here is how the core looks at a program.
#pragma once

#include <cstdint>
#include <vector>

#include "aligned.hpp"
#include "shared/fits.hpp"
#include "simd/kernels.hpp"

namespace symseek {

struct Looks {
  // The data that all programs are fitted to; `exact` is a loss that counts as none at all.
  struct Table {
    const double* const* columns = nullptr;
    const double* target = nullptr;
    const double* weight = nullptr;
    int64_t rows = 0;
    double exact = 0.0;
    double share = 1.0;  // of all rows, by weight
    Loss loss;
  };

  FitOptions options;
  Key key{};  // names the program
  double exact = 0.0, share = 1.0;
  bool some_linear = false, all_linear = false;
  int size = 0, stride = 0;  // K
  double *at, *gradient, *normal, *next_gradient, *next_normal, *start, *guess, *best, *trial, *step, *factor;
  double *direction, *slope, *slope_before, *work, *inverse;

  // False when the program is invalid on these rows whatever its constants are.
  bool prepare(const std::vector<Instruction>& code, const Table& table);

  bool measure(const double* x, double& loss);
  bool look_at(const double* x, double& loss) {
    seen_ = false;
    return measure(x, loss);
  }
  void see_slopes() {
    if (!seen_) derive();
    seen_ = true;
  }
  void take() {
    see_slopes();
    std::swap(gradient, next_gradient);
    std::swap(normal, next_normal);
    seen_ = false;
  }
  bool is_linear(int constant) const { return tape_.linear[constant]; }

 private:
  void derive();

  bool seen_ = false;  // next_gradient and next_normal are those of the last look
  Tape tape_;
  Derivation task_{};
  Doubles values_, adjoints_, lanes_;  // see Derivation
  Doubles room_;                       // for all the arrays above
};

struct Solution {
  explicit Solution(Looks& fitter) : factor(fitter.factor), found(fitter.step) {}
  double *factor, *found;
};

#define UP_TO(i, end) for (int i = 0; i < (end); ++i)
#define DOWN_FROM(i, end) for (int i = (end) - 1; i >= 0; --i)

}  // namespace symseek

#include "shared/fitting.hpp"

#undef UP_TO
#undef DOWN_FROM

namespace symseek {

// One for each thread; memory is kept from program to program.
class ProgramFitter : Fitter {
 public:
  using Looks::Table;

  // Starts from `constants` [K] and leaves the best ones there. `sample` is some of the rows, or none. `key` names the
  // program.
  FitStatus fit(const std::vector<Instruction>& code, const Table& table, const Table& sample,
                const FitOptions& options, const Key& key, double* constants);

  // What a fit would see at `constants`: false where the program is invalid.
  bool derivatives_at(const std::vector<Instruction>& code, const Table& table, const double* constants, double& loss,
                      double* gradient, double* normal, int width);
};

}  // namespace symseek
