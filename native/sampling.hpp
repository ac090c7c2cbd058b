// Working memory of sampling: the distinct prefixes of one length, each with the samples that share it. It keeps
// its capacity, so a search allocates in its first iterations only.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "prefixes.hpp"
#include "rng.hpp"

namespace symseek {

struct Node {
  Prefix prefix;
  int32_t before;        // row of its network state one level up
  int32_t first, count;  // its samples
};

struct Policy::SampleScratch {
  std::vector<Node> nodes, next_nodes;
  std::vector<int> samples, next_samples;
  std::vector<Block> random;            // [samples] four numbers, for four steps
  std::vector<TokenId> drawn;           // [samples], in the order of `samples`
  std::vector<int> sorted, tally;
  Frames frames;
  Consultation consultation;
  LevelBias bias;
  std::vector<float> state, cell, last_state, last_cell;          // [nodes, hidden] this level and the one before
  std::vector<float> state_before, cell_before, gates;            // [BLOCK, ...]
  std::vector<float> logits;                                      // [BLOCK, tokens]
  std::vector<float> cumulative;                                  // [tokens, BLOCK]
  std::vector<Word> allowed;                                      // [BLOCK, words]
  std::vector<TokenId> rest;                                      // [max_length]
  int parent[BLOCK], sibling[BLOCK];
  float random_now[BLOCK] = {}, total[BLOCK], entropy[BLOCK];
  int32_t choice[BLOCK];
  int hidden = 0, tokens = 0;
  bool may_skip = true;  // a user's constraint wants to be asked about every token

  void start(const Rules& rules, int count, int hidden_p, int tokens_p) {
    hidden = hidden_p;
    tokens = tokens_p;
    nodes.assign(1, Node{empty_prefix(rules), 0, 0, count});
    samples.resize(count);
    for (int i = 0; i < count; ++i) samples[i] = i;
    random.resize(count);
    drawn.resize(count);
    frames.clear();
    for (auto* rows : {&state, &cell, &last_state, &last_cell}) rows->resize(size_t(count + BLOCK) * hidden);
    std::fill_n(last_state.begin(), hidden, 0.0f);
    std::fill_n(last_cell.begin(), hidden, 0.0f);
    for (auto* rows : {&state_before, &cell_before}) rows->resize(size_t(BLOCK) * hidden);
    gates.resize(size_t(BLOCK) * 4 * hidden);
    logits.resize(size_t(BLOCK) * tokens);
    allowed.resize(size_t(BLOCK) * rules.words);
    cumulative.resize(size_t(tokens) * BLOCK);
    rest.resize(rules.max_length);
    tally.resize(tokens + 1);
    sorted.resize(count);
  }
  float* state_row(int i) { return &state[size_t(i) * hidden]; }
  float* cell_row(int i) { return &cell[size_t(i) * hidden]; }
  float* logits_row(int i) { return &logits[size_t(i) * tokens]; }

  const float* consult(const Rules& rules, const Ask& ask, int depth, const TokenId* tokens_drawn, int width) {
    consultation.start(depth, static_cast<int>(nodes.size()), rules.tokens);
    for (size_t i = 0; i < nodes.size(); ++i)
      consultation.add(rules, frames, nodes[i].prefix, static_cast<int>(i),
                       tokens_drawn + size_t(samples[nodes[i].first]) * width, depth);
    return consultation.ask(ask, depth);
  }
  void gather(const Rules& rules, int start, int n) {
    for (int i = 0; i < n; ++i) {
      const Node& node = nodes[start + i];
      parent[i] = parent_of(rules, frames, node.prefix);
      sibling[i] = sibling_of(rules, frames, node.prefix);
      std::memcpy(&state_before[size_t(i) * hidden], &last_state[size_t(node.before) * hidden], sizeof(float) * hidden);
      std::memcpy(&cell_before[size_t(i) * hidden], &last_cell[size_t(node.before) * hidden], sizeof(float) * hidden);
    }
  }
  // The token that one more sample of lane i draws.
  TokenId draw(int i, int library, float random_number) const {
    const float target = random_number * total[i];
    int token = 0;
    while (token < library - 1 && cumulative[size_t(token) * BLOCK + i] <= target) ++token;
    return checked(i, token);
  }
  // Rounding can carry a target up to the total: then it is the last token of positive weight.
  TokenId checked(int i, int token) const {
    while (token > 0 && cumulative[size_t(token) * BLOCK + i] == cumulative[size_t(token - 1) * BLOCK + i]) --token;
    return static_cast<TokenId>(token);
  }
  void add_child(const Rules& rules, int node, int depth, TokenId token, const int* members, int count,
                 TokenId* drawn_rows, int32_t* lengths) {
    const Prefix prefix = extend(rules, frames, nodes[node].prefix, token);
    int length = depth + 1;
    bool complete = prefix.open == 0;
    if (!complete && may_skip && completes_itself(rules, frames, prefix, length, rest.data())) {
      for (int i = 0; i < count; ++i)
        std::copy_n(rest.data(), rules.max_length - length, drawn_rows + size_t(members[i]) * rules.max_length + length);
      length = rules.max_length;
      complete = true;
    }
    if (complete) {
      for (int i = 0; i < count; ++i) lengths[members[i]] = length;
      return;
    }
    next_nodes.push_back({prefix, node, static_cast<int32_t>(next_samples.size()), count});
    next_samples.insert(next_samples.end(), members, members + count);
  }
  // Divides the samples of a prefix by the token they drew.
  void branch(const Rules& rules, int node, int depth, TokenId* drawn_rows, int32_t* lengths) {
    const int first = nodes[node].first, count = nodes[node].count;
    if (count == 1) return add_child(rules, node, depth, drawn[first], &samples[first], 1, drawn_rows, lengths);
    std::fill(tally.begin(), tally.end(), 0);
    for (int j = first; j < first + count; ++j) ++tally[drawn[j] + 1];
    for (int token = 0; token < rules.tokens; ++token) tally[token + 1] += tally[token];
    for (int j = first; j < first + count; ++j) sorted[tally[drawn[j]]++] = samples[j];
    for (int token = 0, begin = 0; token < rules.tokens; begin = tally[token++])
      if (tally[token] > begin)
        add_child(rules, node, depth, static_cast<TokenId>(token), &sorted[begin], tally[token] - begin,
                  drawn_rows, lengths);
  }
  void descend() {
    nodes.swap(next_nodes);
    samples.swap(next_samples);
    state.swap(last_state);
    cell.swap(last_cell);
    next_nodes.clear();
    next_samples.clear();
  }
};

}  // namespace symseek
