// Log-probabilities and entropies of given programs, and back-propagation through time. A group of programs is
// laid out as a tree of prefixes; a gradient flows from the longest prefixes to the root.
#include <numeric>

#include "policy/scoring.hpp"

namespace symseek {

// Sorts the programs, so that those which begin alike lie together, and merges equal ones.
void Policy::find_distinct(const Traversals& programs, const float* weight, const float* entropy_weight) {
  order_.resize(programs.programs);
  copy_of_.resize(programs.programs);
  std::iota(order_.begin(), order_.end(), 0);
  sort_by_prefix(programs, order_);
  distinct_.clear();
  for (int i : order_) {
    const bool fresh = distinct_.empty() || programs.lengths[distinct_.back().program] != programs.lengths[i] ||
                       std::memcmp(programs.row(distinct_.back().program), programs.row(i),
                                   sizeof(TokenId) * programs.lengths[i]) != 0;
    if (fresh) distinct_.push_back({i, 0.0f, 0.0f});
    distinct_.back().weight += weight[i];
    distinct_.back().entropy_weight += entropy_weight[i];
    copy_of_[i] = distinct_.back().program;
  }
}

void Policy::score(const float* weights, const Traversals& programs, const float* weight, const float* entropy_weight,
                   float entropy_decay, const Ask& ask, float* log_probability, float* entropy, float* gradient) {
  weights_.pack(weights);
  if (gradient) weights_.transpose();
  find_distinct(programs, weight, entropy_weight);
  const int count = static_cast<int>(distinct_.size());
  // Groups depend on the programs alone, never on the threads, and their gradients are added in order.
  const int groups = (count + GROUP - 1) / GROUP;
  if (gradient)
    while (static_cast<int>(gradients_.size()) < groups) gradients_.emplace_back(rules_.tokens, hidden_);
  const auto work = [&](int group, int thread) {
    const int first = static_cast<int>(int64_t(count) * group / groups);
    const int last = static_cast<int>(int64_t(count) * (group + 1) / groups);
    ScoreScratch& scratch = score_scratch_[thread];
    forward(programs, &distinct_[first], last - first, entropy_decay, ask, scratch, log_probability, entropy);
    if (gradient) backward(&distinct_[first], scratch, gradients_[group]);
  };
  if (ask)
    for (int group = 0; group < groups; ++group) work(group, 0);
  else
    pool_->each(groups, work);
  for (int i = 0; i < programs.programs; ++i) {
    log_probability[i] = log_probability[copy_of_[i]];
    entropy[i] = entropy[copy_of_[i]];
  }
  if (!gradient || groups == 0) return;
  for (int group = 1; group < groups; ++group) gradients_[0].add(gradients_[group]);
  gradients_[0].unpack(gradient);
}

void Policy::forward(const Traversals& programs, const Distinct* first, int count, float entropy_decay, const Ask& ask,
                     ScoreScratch& s, float* log_probability, float* entropy) {
  const Kernels& k = kernels();
  const int hidden = weights_.hidden_p, tokens = weights_.tokens_p, words = rules_.words;
  s.may_skip = !ask;
  s.start(count, rules_.max_length, hidden, tokens, words);
  const auto row = [&](int i) { return programs.row(first[i].program); };
  for (int i = 0; i < count; ++i) log_probability[first[i].program] = entropy[first[i].program] = 0.0f;
  float decay = 1.0f;
  for (int depth = 0;
       s.open_level(rules_, depth, count, row, [&](int i) { return programs.lengths[first[i].program]; });
       ++depth, decay *= entropy_decay) {
    if (depth >= rules_.max_length) throw TooLong();
    const float* said = ask ? s.consult(rules_, ask, depth, row) : nullptr;
    s.bias.start(rules_, weights_.output_bias(), tokens, depth);
    const int begin = s.level_start[depth], n = s.level_start[depth + 1] - begin;
    for (int i = 0; i < n; ++i) {
      TreeNode& node = s.nodes[begin + i];
      Word* allowed = &s.allowed[size_t(begin + i) * words];
      allowed_next(rules_, s.frames, node.prefix, depth, allowed);
      s.bias.write(rules_, node.prefix, said ? said + size_t(i) * rules_.tokens : nullptr,
                   &s.logits[size_t(begin + i) * tokens], allowed);
      s.parent[begin + i] = parent_of(rules_, s.frames, node.prefix);
      s.sibling[begin + i] = sibling_of(rules_, s.frames, node.prefix);
      if (node.before >= 0) {
        std::memcpy(&s.state_before[size_t(begin + i) * hidden], &s.state[size_t(node.before) * hidden],
                    sizeof(float) * hidden);
        std::memcpy(&s.cell_before[size_t(begin + i) * hidden], &s.cell[size_t(node.before) * hidden],
                    sizeof(float) * hidden);
      }
    }
    const size_t at = begin;
    step(n, &s.parent[at], &s.sibling[at], &s.state_before[at * hidden], &s.cell_before[at * hidden],
         &s.gates[at * 4 * hidden], &s.cell[at * hidden], &s.squashed[at * hidden], &s.state[at * hidden],
         &s.logits[at * tokens]);
    k.log_softmax(n, tokens, &s.logits[at * tokens], &s.allowed[at * words], words, &s.probability[at * tokens],
                  &s.entropy[at]);
    for (int i = 0; i < count; ++i) {
      if (s.node_of[i] < 0) continue;
      const int node = s.node_of[i], token = row(i)[depth];
      const bool allowed = s.allowed[size_t(node) * words + token / 64] >> (token % 64) & 1;
      if (!allowed) {  // nothing that follows has a place in the tables
        log_probability[first[i].program] = -std::numeric_limits<float>::infinity();
        s.done[i] = 1;
        continue;
      }
      log_probability[first[i].program] += s.logits[size_t(node) * tokens + token];
      entropy[first[i].program] += decay * s.entropy[node];
      s.choices.push_back({i, node, static_cast<TokenId>(token), decay});
    }
  }
}

void Policy::backward(const Distinct* programs, ScoreScratch& s, Weights& gradient) {
  const Kernels& k = kernels();
  const int hidden = weights_.hidden_p, tokens = weights_.tokens_p, nodes = s.level_start.back();
  gradient.clear();
  s.differentiate_logits(programs, nodes, tokens);
  s.grad_state.assign(size_t(nodes) * hidden, 0.0f);
  s.grad_cell.assign(size_t(nodes) * hidden, 0.0f);
  for (int depth = static_cast<int>(s.level_start.size()) - 2; depth >= 0; --depth) {
    const size_t at = s.level_start[depth];
    const int n = s.level_start[depth + 1] - s.level_start[depth];
    k.multiply(n, rules_.tokens, hidden, &s.probability[at * tokens], tokens, 1, weights_.output_t(), hidden,
               &s.grad_state[at * hidden], hidden);
    k.cell_backward(n, hidden, &s.gates[at * 4 * hidden], &s.cell_before[at * hidden], &s.squashed[at * hidden],
                    &s.grad_state[at * hidden], &s.grad_cell[at * hidden], &s.grad_gates[at * 4 * hidden]);
    if (depth == 0) break;
    std::fill_n(s.grad_before.begin(), size_t(n) * hidden, 0.0f);
    k.multiply(n, 4 * hidden, hidden, &s.grad_gates[at * 4 * hidden], 4 * hidden, 1, weights_.recurrent_t(), hidden,
               s.grad_before.data(), hidden);
    s.add_to_parents(static_cast<int>(at), n, hidden);
  }
  k.multiply(hidden_, nodes, tokens, s.state.data(), 1, hidden, s.probability.data(), tokens, gradient.output(),
             tokens);
  k.multiply(hidden_, nodes, 4 * hidden, s.state_before.data(), 1, hidden, s.grad_gates.data(), 4 * hidden,
             gradient.recurrent(), 4 * hidden);
  s.add_rows(nodes, hidden, tokens, gradient);
}

}  // namespace symseek
