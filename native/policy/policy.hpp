// policy/: the recurrent network that writes programs, and the constraints under which it does.
//
// The recurrent policy: samples programs, and gives log-probabilities, entropies and their gradient.
//
// Everything the network says about a prefix depends on that prefix alone, so each distinct prefix of a batch is
// computed once: programs that begin alike share their first steps, and copies of one program cost one.
#pragma once

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <vector>

#include "policy/constraints.hpp"
#include "pool.hpp"
#include "simd/kernels.hpp"

namespace symseek {

// No token may follow this prefix.
struct DeadEnd : std::runtime_error {
  explicit DeadEnd(std::vector<TokenId> tokens)
      : std::runtime_error("no token may follow"), prefix(std::move(tokens)) {}
  std::vector<TokenId> prefix;
};

// Weights that are not numbers, or tables that do not end, led beyond the greatest length.
struct TooLong : std::invalid_argument {
  TooLong() : std::invalid_argument("the policy's weights or tables let programs grow beyond the greatest length") {}
};

// The weight arrays, rows padded to whole vectors. One flat array holds them all, so gradients add up in one loop.
class Weights {
 public:
  Weights(int tokens, int hidden);
  void pack(const float* flat);  // from Python's layout: unpadded arrays one after another
  void unpack(float* flat) const;
  void transpose();  // refreshes the transposed copies that back-propagation reads
  void clear() { std::fill(values_.begin(), values_.end(), 0.0f); }
  void add(const Weights& other);

  float* parent(int token) { return &values_[size_t(token) * 4 * hidden_p]; }
  float* sibling(int token) { return &values_[sibling_ + size_t(token) * 4 * hidden_p]; }
  float* recurrent() { return &values_[recurrent_]; }  // [H, 4 hidden_p]
  float* bias() { return &values_[bias_]; }            // [4 hidden_p]
  float* output() { return &values_[output_]; }        // [H, tokens_p]
  float* output_bias() { return &values_[output_bias_]; }
  size_t flat_size() const {  // of Python's layout
    return size_t(4) * hidden * (2 * (tokens + 1) + hidden + 1) + size_t(hidden + 1) * tokens;
  }
  const float* recurrent_t() const { return recurrent_t_.data(); }  // [4 hidden_p, hidden_p]
  const float* output_t() const { return output_t_.data(); }        // [tokens_p, hidden_p]

  int tokens, hidden, tokens_p, hidden_p;

 private:
  template <class Copy>
  void visit(Copy copy);
  size_t sibling_, recurrent_, bias_, output_, output_bias_;
  std::vector<float> values_, recurrent_t_, output_t_;
};

class Policy {
 public:
  Policy(std::shared_ptr<const Rules> rules, int hidden, std::shared_ptr<Pool> pool);
  ~Policy();
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;

  // tokens [batch, max_length] (-1 beyond the end), lengths and entropy [batch].
  void sample(const float* weights, uint64_t seed, uint32_t iteration, int batch, const Ask& ask, TokenId* tokens,
              int32_t* lengths, float* entropy);

  // log_probability and entropy [n] of given programs; the entropy of step t counts entropy_decay^t. With `gradient`
  // (flat, Python's layout) not null, also the gradient of sum_i weight_i log p_i + entropy_weight_i H_i.
  void score(const float* weights, const Traversals& programs, const float* weight, const float* entropy_weight,
             float entropy_decay, const Ask& ask, float* log_probability, float* entropy, float* gradient);

  const Rules& rules() const { return rules_; }
  size_t weights() const { return weights_.flat_size(); }  // how many there are
  // Programs begun anew, since nothing with fitting units was left to continue them with.
  int64_t restarts() const { return restarts_; }

 private:
  struct SampleScratch;
  struct ScoreScratch;
  struct Distinct {
    int program;
    float weight, entropy_weight;
  };

  // A batch being drawn: where its random numbers come from and where its programs go.
  struct Drawing {
    uint64_t seed;
    uint32_t iteration;
    const Ask& ask;
    TokenId* tokens;
    int32_t* lengths;
    float* entropy;
    int attempt = 0;
  };

  std::vector<TokenId> dead_end() const;
  void sample_all(const Drawing& drawing, const std::vector<int>& ids);
  void sample_level(const Drawing& drawing, SampleScratch& scratch);
  void step(int n, const int* parent, const int* sibling, const float* state_before, const float* cell_before,
            float* gates, float* cell, float* squashed, float* state, float* logits);
  void forward(const Traversals& programs, const Distinct* first, int count, float entropy_decay, const Ask& ask,
               ScoreScratch& scratch, float* log_probability, float* entropy);
  void backward(const Distinct* programs, ScoreScratch& scratch, Weights& gradient);
  void find_distinct(const Traversals& programs, const float* weight, const float* entropy_weight);

  std::shared_ptr<const Rules> shared_rules_;
  const Rules& rules_;
  int hidden_;
  std::shared_ptr<Pool> pool_;
  Weights weights_;
  std::vector<SampleScratch> sample_scratch_;  // one a thread, and one for the levels before the batch is divided
  std::vector<ScoreScratch> score_scratch_;
  std::vector<Weights> gradients_;
  int64_t restarts_ = 0;
  std::vector<int> drawn_ids_;
  std::vector<int> order_, copy_of_;
  std::vector<Distinct> distinct_;
};

}  // namespace symseek
