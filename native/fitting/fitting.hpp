// fitting/: the constants of a program, fitted to data by its exact derivatives.
//
// Fits the placeholder constants of one program to the data: by BFGS on the reward as the paper has it, by Levenberg
// and Marquardt's least squares, with the linear constants projected out or not, or by one after the other. A fit never
// ends worse than it began, and its work is bounded.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "evaluation/cache.hpp"
#include "simd/kernels.hpp"

namespace symseek {

// How constants are fitted and how a fit can end, by name and in order: Python reads these lists from the module. What
// is remembered of a fit depends on the number of its method, so a new one comes last.
#define SYMSEEK_FIT_METHODS(X) X(mixed) X(least_squares) X(bfgs) X(projected)
#define SYMSEEK_FIT_STATUSES(X) X(converged) X(limit) X(invalid)

#define X(NAME) NAME,
enum class FitMethod : int { SYMSEEK_FIT_METHODS(X) };
enum class FitStatus : uint8_t { SYMSEEK_FIT_STATUSES(X) };
#undef X

struct FitOptions {
  FitMethod method = FitMethod::mixed;
  int restarts = 0;    // further starts, drawn at random
  int max_steps = 0;   // most measurements of the loss in one descent
  bool rescue = true;  // look elsewhere when the program is invalid where it starts
  // BFGS minimises -1 / (1 + (loss / scale)^power): minus the reward.
  double scale = 1.0;
  double power = 1.0;

  // What tells the results of different options apart.
  uint64_t purpose() const {
    uint64_t bits[2], h = 0x452821e638d01377u;
    std::memcpy(&bits[0], &scale, sizeof scale);
    std::memcpy(&bits[1], &power, sizeof power);
    for (uint64_t word :
         {uint64_t(method), uint64_t(restarts), uint64_t(max_steps), uint64_t(rescue), bits[0], bits[1]})
      h = mixed(h, word, 0x9e3779b97f4a7c15u);
    return h;
  }
};

// One for each thread; memory is kept from program to program.
class Fitter {
 public:
  // The data that all programs are fitted to; `exact` is a loss that counts as none at all.
  struct Table {
    const double* const* columns = nullptr;
    const double* target = nullptr;
    const double* weight = nullptr;
    int64_t rows = 0;
    double exact = 0.0;
    double share = 1.0;  // of all rows, by weight
  };

  // Starts from `constants` [K] and leaves the best ones there. `sample` is some of the rows, or none. `key` names the
  // program: random starts depend on nothing else, so a program has the same fit in whichever batch it comes.
  FitStatus fit(const std::vector<Instruction>& code, const Table& table, const Table& sample,
                const FitOptions& options, const Key& key, double* constants);

  // What a fit would see at `constants`: false where the program is invalid.
  bool derivatives_at(const std::vector<Instruction>& code, const Table& table, const double* constants, double& loss,
                      double* gradient, double* normal, int width);

 private:
  static constexpr double SMALL_GAIN = 1e-13;   // of the loss, predicted and made: converged
  static constexpr double SMALL_COSINE = 1e-7;  // between residuals and derivatives: converged

  // What a step is solved for: all constants, damped; the linear ones alone, the others held; or all, of which only
  // those that are not linear are damped.
  enum class System { all, linear, projected };

  struct Point;
  void set_up(const std::vector<Instruction>& code, const Table& table);
  bool measure(const double* at, double& loss);  // false where the program is invalid
  void derive() { kernels().derive(task_); }     // where the loss was last measured
  bool flat(double loss) const;
  void draw(const Key& key, int number, double* x) const;
  bool find_start(const Key& key, int first, double* x, double& loss);
  FitStatus search(const FitOptions& options, const Key& key, double* constants);
  FitStatus descend(const FitOptions& options, int start, double to_beat, double* x, double& loss);
  FitStatus least_squares(const FitOptions& options, double to_beat, double* x, double& loss);
  bool damped(int constant, System system) const { return system == System::all || !tape_.linear[constant]; }
  bool solve(double damping, System system, bool spares = false);
  bool project(double loss, double found);
  void swap_derivatives();
  FitStatus bfgs(const FitOptions& options, double* x, double& loss);
  void look(const FitOptions& options, const double* x, double step, Point& point);
  bool line_search(const FitOptions& options, const double* x, Point& point, int& steps);
  void update_inverse(double along);

  Tape tape_;
  Derivation task_{};
  double exact_ = 0.0, share_ = 1.0;
  bool some_linear_ = false, all_linear_ = false;
  int size_ = 0;                                                 // K
  std::vector<double> values_, adjoints_, lanes_;                // see Derivation
  std::vector<double> at_, gradient_, normal_;                   // see Derivation
  std::vector<double> other_gradient_, other_normal_;            // of another place
  std::vector<double> start_, guess_, best_, trial_, step_;      // [K]
  std::vector<double> factor_;                                   // Cholesky's, as `normal`
  std::vector<double> direction_, slope_, slope_before_, work_;  // [K] of BFGS
  std::vector<double> inverse_;  // [K, K] its picture of the inverse of the second derivatives
};

}  // namespace symseek
