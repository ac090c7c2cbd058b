// What sampling and scoring share: sizes, and the questions put to a user's own constraint.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "policy.hpp"

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

}  // namespace symseek
