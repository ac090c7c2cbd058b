// evaluation/: programs on data, in float64, with a cache of results.
//
// Grades batches of programs on one data set, fitting their constants if asked: each distinct program once, rows in
// blocks, all cores.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "evaluation/cache.hpp"
#include "fitting/fitting.hpp"
#include "policy/rules.hpp"
#include "pool.hpp"
#include "simd/kernels.hpp"

namespace symseek {

// A batch as it comes from Python: rows of padded token ids.
struct Batch {
  const TokenId* tokens;    // [B, T]
  const int32_t* lengths;   // [B]
  const double* constants;  // [B, K]
  int programs;             // B
  int width;                // T
  int constant_width;       // K
};

// What each token of a library does: its instructions, operands already on the stack.
struct TokenCode {
  std::vector<std::vector<Instruction>> code;  // [L]
  std::vector<int8_t> arity;                   // [L]
};

// What makes a sequence of tokens a program: all that a check of one must know.
struct Alphabet {
  static constexpr int32_t UNKNOWN = -(1 << 29);  // no program opens so many positions

  std::vector<int32_t> opens = {UNKNOWN};  // [L + 1] positions that a token opens for its own, last an unknown token
  std::vector<uint8_t> constant;           // [L] whether the token is a placeholder
  bool has_constants = false;

  int tokens() const { return static_cast<int>(constant.size()); }
  void add(int arity, bool is_constant) {
    opens.back() = arity - 1;
    opens.push_back(UNKNOWN);
    constant.push_back(is_constant);
    has_constants = has_constants || is_constant;
  }
};

class Evaluator {
 public:
  // columns [n, rows]; target and weight [rows], or null to predict only; what rows count: constants are fitted by the
  // first loss. The parameters of the losses are multiplied by `scale` [rows] unless that is null. A program may be
  // invalid by underflow too; a fit then looks at its last constants only.
  //
  // `begins` has where each group of rows begins, and the end, all multiples of DOUBLE_LANES; none where there are no
  // groups. Variables with an index from `variables` on, `own` of them, are numbers that each group has of its own: a
  // fit finds them, and everywhere else they are not known, so that programs with them are invalid.
  Evaluator(TokenCode code, const double* columns, int variables, int64_t rows, const double* target,
            const double* weight, const double* scale, std::vector<Loss> losses, std::shared_ptr<Pool> pool,
            size_t cache_entries, bool underflow_invalid, std::vector<int64_t> begins = {}, int own = 0);

  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // Fills sums [losses, B] and ok [B]; returns the number of distinct programs in the batch. On long data `check` is
  // called now and then on the calling thread; it may throw to end the work.
  int errors(const Batch& batch, double* sums, bool* ok, const std::function<void()>& check);
  // Fits the constants first, starting from those of the batch: fills fitted [B, K] and status [B] too. A program
  // that cannot be fitted, being invalid wherever it was tried, keeps its own. The groups' own numbers are read from
  // own [B, J, G] unless it is null, 1 for NaN, and written there, NaN for those that a program does not have. They are
  // not remembered.
  int fit(const Batch& batch, const FitOptions& options, double* fitted, double* own, FitStatus* status, double* sums,
          bool* ok, const std::function<void()>& check);
  // The first loss [B] where the constants stand, half its gradient downhill [B, K] and the normal matrix [B, K, K]:
  // the sums that fitting goes by, for whoever wants to look at them.
  void derivatives(const Batch& batch, double* loss, double* gradient, double* normal, bool* ok);
  // Fills predictions [B, rows] and ok [B].
  void predict(const Batch& batch, double* predictions, bool* ok);

  const Alphabet& alphabet() const { return alphabet_; }
  int64_t rows() const { return rows_; }
  size_t losses() const { return losses_.size(); }
  int own() const { return own_; }
  int groups() const { return begins_.empty() ? 0 : static_cast<int>(begins_.size()) - 1; }

 private:
  struct Scratch {
    std::vector<Instruction> code;
    Doubles stack;        // [MAX_STACK, ROW_BLOCK]
    Doubles predictions;  // [STRIPE]
    std::vector<const double*> columns;
    std::vector<Doubles> own;                // [J, rows] the groups' own numbers of the program that is at hand
    std::vector<const double*> own_columns;  // [J] these, or nothing known
    ProgramFitter fitter;
  };
  void lower(const Batch& batch, int program, Scratch& scratch) const;
  int constants_in(const Batch& batch, int program) const;
  bool has_own(const Batch& batch, int program) const;
  void spread_own(Scratch& scratch, double* own) const;
  ProgramFitter::Table table(Scratch& scratch) const;
  double no_loss(double target, double weight) const;
  void draw_sample();
  void require_target() const;
  int recognise(const Batch& batch, uint64_t purpose, double* fitted, bool anew = false);
  void remember(const Batch& batch, const double* fitted);
  void report(int programs, double* sums, bool* ok) const;
  bool run(const double* constants, int64_t first, int rows, Scratch& scratch, double* predictions, Errors& out) const;
  void forget_own(Scratch& scratch) const;
  void grade(const Batch& batch, const std::vector<int>& programs, const std::function<void()>& check);
  void fit_all(const Batch& batch, const FitOptions& options, double* fitted, double* own,
               const std::function<void()>& check);

  TokenCode code_;
  Alphabet alphabet_;
  std::vector<int> room_;  // [L] of the stack, that a token may need beyond what it leaves
  int64_t rows_, padded_rows_;
  std::vector<Doubles> columns_;
  Doubles target_, weight_, scale_;              // scale_ is empty where there is none
  std::vector<int64_t> begins_, sample_begins_;  // [G + 1] of the groups of rows
  int own_;                                      // J
  Doubles unknown_;                              // [rows] NaN: numbers of the groups' own that were not fitted
  double exact_ = 0.0;                           // a loss that is none, as far as float64 can tell
  std::vector<Doubles> sample_columns_;          // some of the rows
  std::vector<const double*> sample_pointers_;
  Doubles sample_target_, sample_weight_, sample_scale_;
  ProgramFitter::Table sample_;
  std::vector<Loss> losses_;
  bool underflow_invalid_;
  std::shared_ptr<Pool> pool_;
  Cache cache_;
  std::vector<Scratch> scratch_;
  // Reused between batches, so that grading allocates nothing once it has warmed up.
  std::vector<Key> keys_;
  std::vector<int> slots_, first_, distinct_, alive_, fixed_, fittable_;
  std::vector<char> known_;  // [B] whether the cache had it
  std::vector<Errors> results_;
};

}  // namespace symseek
