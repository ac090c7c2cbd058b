// Which programs the constraints permit: the tables of rules.hpp, and a user's own constraint, asked step by step.
#pragma once

#include <functional>

#include "policy/rules.hpp"
#include "pool.hpp"

namespace symseek {

// Programs as pre-order traversals.
struct Traversals {
  const TokenId* tokens;   // [n, width]
  const int32_t* lengths;  // [n]
  int programs, width;

  const TokenId* row(int i) const { return tokens + size_t(i) * width; }
};

// A user's own constraint, asked once a step about all distinct prefixes: adds to logits [n, L], -inf forbids.
struct Question {
  int depth, prefixes;
  const TokenId* tokens;   // [prefixes, depth]
  const TokenId* parent;   // [prefixes], -1 for none
  const TokenId* sibling;  // [prefixes], -1 for none
  const int32_t* open;     // [prefixes]
};
using Ask = std::function<void(const Question&, float* logits)>;

// Fills ok [n]: which programs are complete and obey the tables at every step, and the user's constraint if there is
// one. It is asked on the calling thread, about programs that obey the tables.
void permits(const Rules& rules, const Traversals& programs, Pool& pool, const Ask& ask, bool* ok);

}  // namespace symseek
