// Working memory of scoring: all distinct prefixes of one group of programs, level by level, with what
// back-propagation needs of each. It keeps its capacity between calls.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "prefixes.hpp"

namespace symseek {

constexpr int GROUP = 16;  // distinct programs whose gradient is computed together

struct Trail {
  Prefix prefix;
  int32_t before;   // its prefix one token shorter, -1 at the root
  int32_t program;  // one of the programs that begin so
};

struct Choice {
  int32_t program, node;
  TokenId token;
  float heed;  // how much the entropy at this step counts
};

struct Policy::ScoreScratch {
  std::vector<Trail> trail;            // all levels, one after another
  std::vector<int> level_start, node_of, parent, sibling;
  std::vector<char> settled;           // [programs] nothing is left to choose
  std::vector<TokenId> rest;           // [max_length]
  bool may_skip = true;                // a user's constraint wants to be asked about every token
  std::vector<Choice> choices;         // one per program and step
  Frames frames;
  Consultation consultation;
  LevelBias bias;
  std::vector<Word> allowed;
  std::vector<float> state_before, cell_before, gates, cell, squashed, state, logits, probability, entropy;
  std::vector<float> weight, entropy_weight;  // [nodes] summed over the programs through each
  std::vector<float> grad_state, grad_cell, grad_gates, grad_before;

  void start(int count, int max_length, int hidden, int tokens, int words) {
    const size_t most = size_t(count) * max_length + BLOCK;
    trail.clear();
    level_start.assign(1, 0);
    node_of.assign(count, -1);
    settled.assign(count, 0);
    rest.resize(max_length);
    choices.clear();
    frames.clear();
    for (auto* rows : {&parent, &sibling}) rows->resize(most);
    for (auto* rows : {&state_before, &cell_before, &cell, &squashed, &state}) rows->resize(most * hidden);
    std::fill_n(state_before.begin(), hidden, 0.0f);  // the root's; every other row is copied in
    std::fill_n(cell_before.begin(), hidden, 0.0f);
    for (auto* rows : {&gates, &grad_gates}) rows->resize(most * 4 * hidden);
    for (auto* rows : {&logits, &probability}) rows->resize(most * tokens);
    entropy.resize(most);
    allowed.resize(most * words);
    grad_before.resize(size_t(count + BLOCK) * hidden);
  }
  // Opens the level of prefixes with `depth` tokens; false when no program is that long.
  template <class Row, class Length>
  bool open_level(const Rules& rules, int depth, int count, Row row, Length length) {
    const int begin = static_cast<int>(trail.size());
    int last_before = -2, last_token = -1;
    for (int i = 0; i < count; ++i) {
      if (length(i) <= depth || settled[i]) {
        node_of[i] = -1;
        continue;
      }
      const int before = node_of[i], token = depth == 0 ? -1 : row(i)[depth - 1];
      if (before != last_before || token != last_token) {
        Prefix prefix = empty_prefix(rules);
        if (depth > 0) prefix = extend(rules, frames, trail[before].prefix, static_cast<TokenId>(token));
        settled[i] = may_skip && completes_itself(rules, frames, prefix, depth, rest.data()) &&
                     std::equal(rest.begin(), rest.begin() + rules.max_length - depth, row(i) + depth);
        if (settled[i]) {
          node_of[i] = -1;
          continue;
        }
        trail.push_back({prefix, before, i});
        last_before = before;
        last_token = token;
      }
      node_of[i] = static_cast<int>(trail.size()) - 1;
    }
    if (static_cast<int>(trail.size()) == begin) return false;
    level_start.push_back(static_cast<int>(trail.size()));
    return true;
  }
  template <class Row>
  const float* consult(const Rules& rules, const Ask& ask, int depth, Row row) {
    const int begin = level_start[depth], n = level_start[depth + 1] - begin;
    consultation.start(depth, n, rules.tokens);
    for (int i = 0; i < n; ++i)
      consultation.add(rules, frames, trail[begin + i].prefix, i, row(trail[begin + i].program), depth);
    return consultation.ask(ask, depth);
  }

  // Turns probabilities into the gradient with respect to the logits:
  // sum over programs through the node of w (1[chosen] - p), plus e dH/dlogit = -e p (log p + H).
  void differentiate_logits(const Distinct* programs, int nodes, int tokens) {
    weight.assign(nodes, 0.0f);
    entropy_weight.assign(nodes, 0.0f);
    for (const Choice& choice : choices) {
      weight[choice.node] += programs[choice.program].weight;
      entropy_weight[choice.node] += choice.heed * programs[choice.program].entropy_weight;
    }
    for (int i = 0; i < nodes; ++i) {
      float* p = &probability[size_t(i) * tokens];
      const float* log_p = &logits[size_t(i) * tokens];
      for (int j = 0; j < tokens; ++j) p[j] *= -(weight[i] + entropy_weight[i] * (log_p[j] + entropy[i]));
    }
    for (const Choice& choice : choices)
      probability[size_t(choice.node) * tokens + choice.token] += programs[choice.program].weight;
  }
  // Adds the gradients of a level's incoming states to the prefixes they came from.
  void hand_up(int begin, int n, int hidden) {
    for (int i = begin; i < begin + n; ++i) {
      float* state_to = &grad_state[size_t(trail[i].before) * hidden];
      float* cell_to = &grad_cell[size_t(trail[i].before) * hidden];
      const float *state_from = &grad_before[size_t(i - begin) * hidden], *cell_from = &grad_cell[size_t(i) * hidden];
      for (int j = 0; j < hidden; ++j) state_to[j] += state_from[j];
      for (int j = 0; j < hidden; ++j) cell_to[j] += cell_from[j];
    }
  }
  // Gradients of biases and of the one-hot inputs: sums of rows.
  void add_rows(int nodes, int hidden, int tokens, Weights& gradient) const {
    const auto add = [](float* to, const float* from, int n) {
      for (int j = 0; j < n; ++j) to[j] += from[j];
    };
    for (int i = 0; i < nodes; ++i) {
      const float* row = &grad_gates[size_t(i) * 4 * hidden];
      add(gradient.bias(), row, 4 * hidden);
      add(gradient.parent(parent[i]), row, 4 * hidden);
      add(gradient.sibling(sibling[i]), row, 4 * hidden);
      add(gradient.output_bias(), &probability[size_t(i) * tokens], tokens);
    }
  }
};

}  // namespace symseek
