#include "policy/policy.hpp"

#include "policy/sampling.hpp"
#include "policy/scoring.hpp"

namespace symseek {

Weights::Weights(int tokens, int hidden)
    : tokens(tokens), hidden(hidden), tokens_p(padded(tokens, FLOAT_LANES)), hidden_p(padded(hidden, FLOAT_LANES)) {
  const size_t gates = size_t(4) * hidden_p;
  sibling_ = size_t(tokens + 1) * gates;
  recurrent_ = 2 * sibling_;
  bias_ = recurrent_ + size_t(hidden) * gates;
  output_ = bias_ + gates;
  output_bias_ = output_ + size_t(hidden) * tokens_p;
  values_.resize(output_bias_ + tokens_p);
}

// Calls copy(padded, flat offset, count) for each unpadded run of the arrays, in Python's order.
template <class Copy>
void Weights::visit(Copy copy) {
  size_t flat = 0;
  const auto rows = [&](float* start, int count, int pieces, int piece, int piece_padded) {
    for (int i = 0; i < count * pieces; ++i, flat += piece) copy(start + size_t(i) * piece_padded, flat, piece);
  };
  rows(parent(0), tokens + 1, 4, hidden, hidden_p);
  rows(sibling(0), tokens + 1, 4, hidden, hidden_p);
  rows(recurrent(), hidden, 4, hidden, hidden_p);
  rows(bias(), 1, 4, hidden, hidden_p);
  rows(output(), hidden, 1, tokens, tokens_p);
  rows(output_bias(), 1, 1, tokens, tokens_p);
}

void Weights::pack(const float* flat) {
  visit([flat](float* to, size_t from, int count) { std::memcpy(to, flat + from, sizeof(float) * count); });
}

void Weights::unpack(float* flat) const {
  const_cast<Weights*>(this)->visit(
      [flat](float* from, size_t to, int count) { std::memcpy(flat + to, from, sizeof(float) * count); });
}

void Weights::transpose() {
  recurrent_t_.assign(size_t(4) * hidden_p * hidden_p, 0.0f);
  output_t_.assign(size_t(tokens_p) * hidden_p, 0.0f);
  for (int i = 0; i < hidden; ++i) {
    for (int j = 0; j < 4 * hidden_p; ++j) recurrent_t_[size_t(j) * hidden_p + i] = recurrent()[i * 4 * hidden_p + j];
    for (int j = 0; j < tokens_p; ++j) output_t_[size_t(j) * hidden_p + i] = output()[i * tokens_p + j];
  }
}

void Weights::add(const Weights& other) {
  for (size_t i = 0; i < values_.size(); ++i) values_[i] += other.values_[i];
}

Policy::Policy(std::shared_ptr<const Rules> rules, int hidden, std::shared_ptr<Pool> pool)
    : shared_rules_(std::move(rules)),
      rules_(*shared_rules_),
      hidden_(hidden),
      pool_(std::move(pool)),
      weights_(rules_.tokens, hidden),
      sample_scratch_(pool_->threads() + 1),
      score_scratch_(pool_->threads()) {}

Policy::~Policy() = default;

// One step of the network for n prefixes. logits come in holding whatever is to be added to them. Without
// `squashed` the gates are not needed afterwards, as when sampling.
void Policy::step(int n, const int* parent, const int* sibling, const float* state_before, const float* cell_before,
                  float* gates, float* cell, float* squashed, float* state, float* logits) {
  const Kernels& k = kernels();
  const int width = 4 * weights_.hidden_p;
  const float *parents[BLOCK], *siblings[BLOCK];
  for (int start = 0; start < n; start += BLOCK) {
    const int count = std::min(BLOCK, n - start);
    for (int i = 0; i < count; ++i) {
      parents[i] = weights_.parent(parent[start + i]);
      siblings[i] = weights_.sibling(sibling[start + i]);
    }
    k.add_inputs(count, width, weights_.bias(), parents, siblings, gates + size_t(start) * width);
  }
  k.multiply(n, hidden_, width, state_before, weights_.hidden_p, 1, weights_.recurrent(), width, gates, width);
  if (squashed)
    k.cell_forward(n, weights_.hidden_p, gates, cell_before, cell, squashed, state);
  else
    k.cell_sample(n, weights_.hidden_p, gates, cell_before, cell, state);
  k.multiply(n, hidden_, weights_.tokens_p, state, weights_.hidden_p, 1, weights_.output(), weights_.tokens_p, logits,
             weights_.tokens_p);
}

}  // namespace symseek
