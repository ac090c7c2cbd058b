// Working memory of sampling: the distinct prefixes of one length, each with the samples that share it. It keeps
// its capacity, so a search allocates in its first iterations only.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "policy/policy.hpp"
#include "policy/prefixes.hpp"
#include "shared/random.hpp"

namespace symseek {

struct Node {
  Prefix prefix;
  int32_t before;        // row of its network state one level up
  int32_t first, count;  // its samples
};

struct Policy::SampleScratch {
  std::vector<Node> nodes, next_nodes;
  std::vector<int> samples, next_samples;
  // Per sample, by its place here. Programs grow in these rows and are copied out once when complete: neighbouring
  // samples of a batch grow on different threads, and their rows share cache lines.
  std::vector<int> ids;          // [count] its place in the batch
  std::vector<TokenId> rows;     // [count, max_length]
  std::vector<float> entropies;  // [count]
  std::vector<Block4> random;    // [count] four numbers, for four steps
  std::vector<TokenId> drawn;    // [samples], in the order of `samples`
  std::vector<int> sorted, tally;
  Frames frames;
  Consultation consultation;
  LevelBias bias;
  std::vector<float> state, cell, last_state, last_cell;  // [nodes, hidden] this level and the one before
  std::vector<float> state_before, cell_before, gates;    // [BLOCK, ...]
  std::vector<float> logits;                              // [BLOCK, tokens]
  std::vector<float> cumulative;                          // [tokens, BLOCK]
  std::vector<Word> allowed;                              // [BLOCK, words]
  std::vector<TokenId> rest;                              // [max_length]
  int parent[BLOCK], sibling[BLOCK];
  float random_now[BLOCK] = {}, total[BLOCK], entropy[BLOCK];
  int32_t choice[BLOCK];
  bool dead[BLOCK];
  std::vector<int> given_up;      // ids of samples that nothing could continue
  std::vector<TokenId> dead_end;  // the beginning of the first of them
  int hidden = 0, tokens = 0;
  int depth = 0;         // tokens of each prefix of this level
  bool may_skip = true;  // a user's constraint wants to be asked about every token

  void start(const Rules& rules, const std::vector<int>& chosen, int hidden_p, int tokens_p) {
    const int count = static_cast<int>(chosen.size());
    reserve(rules, count, hidden_p, tokens_p);
    depth = 0;
    nodes.assign(1, Node{empty_prefix(rules), 0, 0, count});
    forget_next();
    samples.resize(count);
    for (int i = 0; i < count; ++i) samples[i] = i;
    ids = chosen;
    std::fill(entropies.begin(), entropies.end(), 0.0f);
    frames.clear();
    std::fill_n(last_state.begin(), hidden, 0.0f);
    std::fill_n(last_cell.begin(), hidden, 0.0f);
  }
  void reserve(const Rules& rules, int count, int hidden_p, int tokens_p) {
    hidden = hidden_p;
    tokens = tokens_p;
    drawn.resize(count);
    ids.resize(count);
    rows.resize(size_t(count) * rules.max_length);
    entropies.resize(count);
    random.resize(count);
    for (auto* rows : {&state, &cell, &last_state, &last_cell}) rows->resize(size_t(count + BLOCK) * hidden);
    for (auto* rows : {&state_before, &cell_before}) rows->resize(size_t(BLOCK) * hidden);
    gates.resize(size_t(BLOCK) * 4 * hidden);
    logits.resize(size_t(BLOCK) * tokens);
    allowed.resize(size_t(BLOCK) * rules.words);
    cumulative.resize(size_t(tokens) * BLOCK);
    rest.resize(rules.max_length);
    tally.resize(tokens + 1);
    sorted.resize(count);
  }
  // Takes over one part of the samples. They lie in the order of their prefixes, so parts share few of them.
  void take_part(const Rules& rules, const SampleScratch& root, int part, int parts, int hidden_p, int tokens_p) {
    const int64_t total = static_cast<int64_t>(root.samples.size());
    const int begin = static_cast<int>(total * part / parts), end = static_cast<int>(total * (part + 1) / parts);
    depth = root.depth;
    frames = root.frames;
    forget_next();
    nodes.clear();
    samples.clear();
    for (const Node& node : root.nodes) {
      const int first = std::max(node.first, begin), last = std::min(node.first + node.count, end);
      if (first >= last) continue;
      nodes.push_back({node.prefix, node.before, static_cast<int32_t>(samples.size()), last - first});
      samples.insert(samples.end(), root.samples.begin() + first, root.samples.begin() + last);
    }
    const int width = rules.max_length;
    reserve(rules, static_cast<int>(samples.size()), hidden_p, tokens_p);
    for (int i = 0; i < static_cast<int>(samples.size()); ++i) {
      const int from = samples[i];
      ids[i] = root.ids[from];
      entropies[i] = root.entropies[from];
      random[i] = root.random[from];
      std::copy_n(&root.rows[size_t(from) * width], depth, &rows[size_t(i) * width]);
      samples[i] = i;
    }
    for (size_t i = 0; i < nodes.size(); ++i) {
      std::copy_n(&root.last_state[size_t(nodes[i].before) * hidden], hidden, &last_state[i * hidden]);
      std::copy_n(&root.last_cell[size_t(nodes[i].before) * hidden], hidden, &last_cell[i * hidden]);
      nodes[i].before = static_cast<int32_t>(i);
    }
  }
  float* state_row(int i) { return &state[size_t(i) * hidden]; }
  float* cell_row(int i) { return &cell[size_t(i) * hidden]; }
  float* logits_row(int i) { return &logits[size_t(i) * tokens]; }

  const float* consult(const Rules& rules, const Ask& ask) {
    consultation.start(depth, static_cast<int>(nodes.size()), rules.tokens);
    for (size_t i = 0; i < nodes.size(); ++i)
      consultation.add(rules, frames, nodes[i].prefix, static_cast<int>(i),
                       &rows[size_t(samples[nodes[i].first]) * rules.max_length], depth);
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
  // The members of a node drew this token: they are complete, or the next level's node.
  void add_child(const Rules& rules, int node, TokenId token, const int* members, int count, const Drawing& out) {
    const Prefix prefix = extend(rules, frames, nodes[node].prefix, token);
    if (prefix.open == 0) return finish(rules, members, count, depth + 1, 0, out);
    if (may_skip && completes_itself(rules, frames, prefix, depth + 1, rest.data()))
      return finish(rules, members, count, depth + 1, rules.max_length - depth - 1, out);
    next_nodes.push_back({prefix, node, static_cast<int32_t>(next_samples.size()), count});
    next_samples.insert(next_samples.end(), members, members + count);
  }
  // Copies complete programs out: `own` tokens that were drawn and `more` that follow from them.
  void finish(const Rules& rules, const int* members, int count, int own, int more, const Drawing& out) {
    for (int i = 0; i < count; ++i) {
      const TokenId* row = &rows[size_t(members[i]) * rules.max_length];
      const int id = ids[members[i]];
      TokenId* to = out.tokens + size_t(id) * rules.max_length;
      std::fill(std::copy_n(rest.data(), more, std::copy_n(row, own, to)), to + rules.max_length, TokenId{-1});
      out.lengths[id] = own + more;
      out.entropy[id] = entropies[members[i]];
    }
  }
  // Divides the samples of a prefix by the token they drew.
  void branch(const Rules& rules, int node, const Drawing& out) {
    const int first = nodes[node].first, count = nodes[node].count;
    if (count == 1) return add_child(rules, node, drawn[first], &samples[first], 1, out);
    std::fill(tally.begin(), tally.end(), 0);
    for (int j = first; j < first + count; ++j) ++tally[drawn[j] + 1];
    for (int token = 0; token < rules.tokens; ++token) tally[token + 1] += tally[token];
    for (int j = first; j < first + count; ++j) sorted[tally[drawn[j]]++] = samples[j];
    for (int token = 0, begin = 0; token < rules.tokens; begin = tally[token++])
      if (tally[token] > begin)
        add_child(rules, node, static_cast<TokenId>(token), &sorted[begin], tally[token] - begin, out);
  }
  void descend() {
    ++depth;
    nodes.swap(next_nodes);
    samples.swap(next_samples);
    state.swap(last_state);
    cell.swap(last_cell);
    forget_next();
  }
  // Also at the start: a dead end leaves a level half done.
  void give_up(int node, int width) {
    const TokenId* row = &rows[size_t(samples[nodes[node].first]) * width];
    if (given_up.empty()) dead_end.assign(row, row + depth);
    for (int j = 0; j < nodes[node].count; ++j) given_up.push_back(ids[samples[nodes[node].first + j]]);
  }
  void forget_next() {
    next_nodes.clear();
    next_samples.clear();
  }
};

}  // namespace symseek
