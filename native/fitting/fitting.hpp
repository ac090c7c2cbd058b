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
    const double* scale = nullptr;    // of the parameter of the loss
    int variables = 0;                // columns; a higher index is that of a number of the groups' own
    const int64_t* begins = nullptr;  // [groups + 1] the row where each group begins, multiples of DOUBLE_LANES
    int groups = 0;
  };

  FitOptions options;
  Key key{};  // names the program
  double exact = 0.0, share = 1.0;
  double blur = 0.0;  // of the slopes of a corner
  bool some_linear = false, all_linear = false;
  int size = 0, stride = 0;  // numbers to fit: K, or those of every group and then those that all share
  double *at, *gradient, *normal, *next_gradient, *next_normal, *start, *guess, *best, *trial, *step, *factor;
  double *direction, *slope, *slope_before, *work, *inverse;

  // False when the program is invalid on these rows whatever its constants are.
  bool prepare(const std::vector<Instruction>& code, const Table& table);

  bool measure(const double* x, double& loss);
  bool look_at(const double* x, double& loss) {
    seen_ = false;
    return measure(x, loss);
  }
  void pair(bool) {}  // the matrix costs little beside the rest
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
  bool is_linear(int number) const {
    return tape_.linear[number >= border_ ? number - border_ : shared_ + number % own_];
  }
  // Rows of the matrix from the first column that is linked to them on.
  int first(int row) const { return firsts_[row]; }
  int entry(int row, int column) const { return offsets_[row] + column; }
  // The next row below that has entries in the same columns: of its block, then of the border.
  int next_linked(int row) const { return ++row < border_ && row % own_ == 0 ? border_ : row; }
  bool cornered() const { return has_corner(task_.kind.kind); }
  bool squares() const { return is_square(task_.kind.kind); }
  double rows() const { return static_cast<double>(table_->rows); }
  double low(int i) const { return i < border_ ? options.own_low : options.low[i - border_]; }
  double high(int i) const { return i < border_ ? options.own_high : options.high[i - border_]; }
  void alike(double* x) const {
    for (int i = own_; i < border_; ++i) x[i] = x[i - own_];
  }

 protected:
  const Tape& tape() const { return tape_; }
  int groups_ = 1, own_ = 0, shared_ = 0, border_ = 0;  // border_: own numbers of all groups together

 private:
  void derive();
  bool is_empty(int group) const { return table_->begins[group + 1] == table_->begins[group]; }
  void turn_to(int group);
  int place(int constant, int group) const {
    return constant < shared_ ? border_ + constant : group * own_ + constant - shared_;
  }

  bool seen_ = false;  // next_gradient and next_normal are those of the last look
  Tape tape_;
  Derivation task_{};
  const Table* table_ = nullptr;
  int64_t values_of_block_ = 0;
  std::vector<int> firsts_, offsets_;
  std::vector<const double*> columns_;  // [variables] of the present group
  std::vector<int64_t> blocks_;         // [groups + 1] where the values of each group's blocks begin
  Doubles part_;                        // gradient and normal matrix of one group
  Doubles values_, adjoints_, lanes_;   // see Derivation
  Doubles room_;                        // for all the arrays above
};

struct Solution {
  explicit Solution(Looks& fitter) : factor(fitter.factor), found(fitter.step) {}
  double *factor, *found;
};

#define UP_TO(i, end) FROM_TO(i, 0, end)
#define FROM_TO(i, begin, end) for (int i = (begin); i < (end); ++i)
#define LINKED_BELOW(k, i) for (int k = next_linked(i); k < size; k = next_linked(k))
#define DOWN_FROM(i, end) for (int i = (end) - 1; i >= 0; --i)

}  // namespace symseek

#include "shared/fitting.hpp"

#undef UP_TO
#undef FROM_TO
#undef LINKED_BELOW
#undef DOWN_FROM

namespace symseek {

// One for each thread; memory is kept from program to program.
class ProgramFitter : Fitter {
 public:
  using Looks::Table;

  // Starts from `constants` [K] and leaves the best ones there. `sample` is some of the rows, or none. `key` names the
  // program. Numbers that groups have of their own begin as in `own` [J, G], or as 1 where that is NaN or null.
  FitStatus fit(const std::vector<Instruction>& code, const Table& table, const Table& sample,
                const FitOptions& options, const Key& key, double* constants, const double* own = nullptr);
  // The numbers of the groups' own in the program that was fitted last: which they are, counted from 0, and their
  // values.
  const std::vector<int>& own_numbers() const { return tape().own; }
  double own_value(int number, int group) const { return place_[group * own_ + number]; }

  // What a fit would see at `constants`: false where the program is invalid.
  bool derivatives_at(const std::vector<Instruction>& code, const Table& table, const double* constants, double& loss,
                      double* gradient, double* normal, int width);

 private:
  FitStatus fit_from(const std::vector<Instruction>& code, const Table& table, bool sampled, double* x);
  Doubles place_;  // numbers of a program with own ones
};

}  // namespace symseek
