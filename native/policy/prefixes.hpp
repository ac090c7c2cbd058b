// What sampling, scoring and checking share: the prefixes of a group of programs as a tree, and the questions put to a
// user's own constraint.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "policy/constraints.hpp"

namespace symseek {

constexpr int BLOCK = 16;  // prefixes that go through the network together: their gates fit the L1 cache

// What is added to the network's logits at one step: the output bias and the soft priors, which differ between the
// last open position and others. [2, padded tokens]
struct LevelBias {
  std::vector<float> rows;
  int width = 0;

  void start(const Rules& rules, const float* output_bias, int tokens_p, int depth) {
    width = tokens_p;
    rows.assign(size_t(2) * width, 0.0f);
    for (int last = 0; last < 2; ++last)
      for (int j = 0; j < rules.tokens; ++j)
        rows[size_t(last) * width + j] = output_bias[j] + rules.bias[(size_t(depth) * 2 + last) * rules.tokens + j];
  }
  // The row for a prefix, with what a user's constraint said about it (may be null).
  void write(const Rules& rules, const Prefix& prefix, const float* said, float* row, Word* allowed) const {
    std::memcpy(row, &rows[prefix.open == 1 ? width : 0], sizeof(float) * width);
    if (!said) return;
    for (int j = 0; j < rules.tokens; ++j) {
      if (said[j] == -std::numeric_limits<float>::infinity())
        allowed[j / 64] &= ~(Word{1} << (j % 64));
      else
        row[j] += said[j];
    }
  }
};

inline TokenId or_none(int token, int tokens) { return static_cast<TokenId>(token == tokens ? -1 : token); }

// What a user's constraint is shown, and what it says.
struct Consultation {
  std::vector<TokenId> tokens, parent, sibling;
  std::vector<int32_t> open;
  std::vector<float> said;

  void start(int depth, int prefixes, int library) {
    tokens.resize(size_t(depth) * prefixes);
    parent.resize(prefixes);
    sibling.resize(prefixes);
    open.resize(prefixes);
    said.assign(size_t(prefixes) * library, 0.0f);
  }
  void add(const Rules& rules, const Frames& frames, const Prefix& prefix, int i, const TokenId* row, int depth) {
    std::copy_n(row, depth, tokens.begin() + size_t(i) * depth);
    parent[i] = or_none(parent_of(rules, frames, prefix), rules.tokens);
    sibling[i] = or_none(sibling_of(rules, frames, prefix), rules.tokens);
    open[i] = prefix.open;
  }
  const float* ask(const Ask& question, int depth) {
    question({depth, static_cast<int>(parent.size()), tokens.data(), parent.data(), sibling.data(), open.data()},
             said.data());
    return said.data();
  }
};

// Sorts program numbers so that programs which begin alike lie together, equal ones in the order of their numbers.
inline void sort_by_prefix(const Traversals& programs, std::vector<int>& order) {
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    const int length = std::min(programs.lengths[a], programs.lengths[b]);
    const auto [x, y] = std::mismatch(programs.row(a), programs.row(a) + length, programs.row(b));
    if (x != programs.row(a) + length) return *x < *y;
    return programs.lengths[a] != programs.lengths[b] ? programs.lengths[a] < programs.lengths[b] : a < b;
  });
}

struct TreeNode {
  Prefix prefix;
  int32_t before;   // its prefix one token shorter, -1 at the root
  int32_t program;  // one of the programs that begin so
};

// All distinct prefixes of some programs that are sorted by prefix, level by level.
struct PrefixTree {
  std::vector<TreeNode> nodes;   // all levels, one after another
  std::vector<int> level_start;  // [levels + 1]
  std::vector<int> node_of;      // [programs] the node in the level opened last, -1 for none
  std::vector<char> done;        // [programs] nothing is left to choose, or a constraint is broken
  std::vector<TokenId> rest;     // [max_length]
  bool may_skip = true;          // a user's constraint must be asked about every token
  Frames frames;
  Consultation consultation;

  void start(int count, int max_length) {
    nodes.clear();
    level_start.assign(1, 0);
    node_of.assign(count, -1);
    done.assign(count, 0);
    rest.resize(max_length);
    frames.clear();
  }
  // Opens the level of prefixes with `depth` tokens; false when no program is that long.
  template <class Row, class Length>
  bool open_level(const Rules& rules, int depth, int count, Row row, Length length) {
    const int begin = static_cast<int>(nodes.size());
    int last_before = -2, last_token = -1;
    for (int i = 0; i < count; ++i) {
      if (length(i) <= depth || done[i]) {
        node_of[i] = -1;
        continue;
      }
      const int before = node_of[i], token = depth == 0 ? -1 : row(i)[depth - 1];
      if (before != last_before || token != last_token) {
        Prefix prefix = empty_prefix(rules);
        if (depth > 0) prefix = extend(rules, frames, nodes[before].prefix, static_cast<TokenId>(token));
        done[i] = may_skip && length(i) == rules.max_length &&
                  completes_itself(rules, frames, prefix, depth, rest.data()) &&
                  std::equal(rest.begin(), rest.begin() + rules.max_length - depth, row(i) + depth);
        if (done[i]) {
          node_of[i] = -1;
          continue;
        }
        nodes.push_back({prefix, before, i});
        last_before = before;
        last_token = token;
      }
      node_of[i] = static_cast<int>(nodes.size()) - 1;
    }
    if (static_cast<int>(nodes.size()) == begin) return false;
    level_start.push_back(static_cast<int>(nodes.size()));
    return true;
  }
  template <class Row>
  const float* consult(const Rules& rules, const Ask& ask, int depth, Row row) {
    const int begin = level_start[depth], n = level_start[depth + 1] - begin;
    consultation.start(depth, n, rules.tokens);
    for (int i = 0; i < n; ++i)
      consultation.add(rules, frames, nodes[begin + i].prefix, i, row(nodes[begin + i].program), depth);
    return consultation.ask(ask, depth);
  }
};

}  // namespace symseek
