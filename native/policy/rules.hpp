// Constraints as tables, and the walk of a pre-order traversal that reads them.
//
// A prefix of a traversal has one next open position. What may stand there follows from the parent, the place
// among its children, the sibling to the left, the ancestors, and how many tokens and open positions there are.
// Open operators form a linked list of immutable frames, so a prefix is extended in constant time and prefixes
// share what they have in common.
#pragma once

#include <cstdint>
#include <vector>

namespace symseek {

using TokenId = int16_t;
using Word = uint64_t;  // 64 tokens of an allowed-set

inline int words_for(int tokens) { return (tokens + 63) / 64; }

constexpr int MAX_COUNT_RULES = 16;

// A count rule bounds how many tokens of a set occur. `allowed` says, for a prefix with so many tokens, open
// positions and counted tokens, which classes of token can still lead to a complete program inside both the
// length limits and the bounds. Class of a token: arity, plus max_arity + 1 if it belongs to the set.
struct CountRule {
  std::vector<uint32_t> allowed;  // [max_length, max_length + 1, cap + 1] bits over classes
  std::vector<Word> class_sets;   // [classes, words]
  std::vector<uint8_t> member;    // [L]
  int cap = 0;                    // counting stops here
};

struct Rules {
  int tokens = 0;  // L
  int words = 0;   // ceil(L / 64)
  int max_arity = 0;
  int max_length = 0;  // T: no prefix grows beyond this

  std::vector<int8_t> arity;       // [L]
  std::vector<Word> child;         // [L + 1, max_arity, words] allowed under this parent at this place; L = no parent
  std::vector<Word> sibling;       // [L + 1, words] allowed to the right of this sibling
  std::vector<Word> descendant;    // [rules, words] allowed where the rule is in force
  std::vector<uint64_t> in_force;  // [L, max_arity] bits over the descendant rules in force inside this argument
  std::vector<Word> at_length;     // [max_length, words] allowed as the token of this place in the traversal
  std::vector<CountRule> counts;
  std::vector<float> bias;  // [max_length, 2, L] added to the logits; second index: is this the last open position?

  std::vector<Word> not_all;  // [sets, words] the children of an operator are not all in such a set

  // Least and most tokens per open position; kept only when some position cannot take a lone terminal or is bounded.
  // They depend on the set S of descendant rules in force: their bits, or (not exact) 0 at the root and 1 elsewhere.
  bool sized = false, exact_sets = true;
  int min_length = 1;
  std::vector<int32_t> slot_least, slot_most;  // [S, L + 1, max_arity]
  std::vector<int32_t> needs, holds;           // [S, L] least and most tokens below each token
  std::vector<Word> needs_at_most;             // [S, max_length + 1, words] tokens that need no more than this below
  std::vector<Word> holds_at_least;            // [S, max_length + 1, words] tokens that can hold this much below

  const Word* child_set(int parent, int place) const { return &child[(size_t(parent) * max_arity + place) * words]; }
  const Word* sibling_set(int sibling_token) const { return &sibling[size_t(sibling_token) * words]; }
};

struct Frame {
  uint64_t active;   // descendant rules in force inside the argument that comes next
  int32_t up;        // the frame of the enclosing operator, -1 at the root
  int32_t previous;  // this operator's frame with one child less, -1 without children
  TokenId token;
  TokenId last_child;  // L while no child is complete
  int8_t arity;
  int8_t filled;  // children complete so far
};

struct Prefix {
  int32_t frame = -1;  // the operator whose child comes next, -1 before the first token
  int32_t open = 1;    // open positions
  int32_t least = 0;   // tokens that the open positions need, and can hold (only when rules are sized)
  int32_t most = 0;
  uint8_t counted[MAX_COUNT_RULES] = {};
};

inline Prefix empty_prefix(const Rules& rules) {
  Prefix prefix;
  if (rules.sized) {
    prefix.least = rules.slot_least[size_t(rules.tokens) * rules.max_arity];
    prefix.most = rules.slot_most[size_t(rules.tokens) * rules.max_arity];
  }
  return prefix;
}

class Frames {
 public:
  void clear() { frames_.clear(); }
  const Frame& operator[](int32_t i) const { return frames_[i]; }
  int32_t add(const Frame& frame) {
    frames_.push_back(frame);
    return static_cast<int32_t>(frames_.size()) - 1;
  }

 private:
  std::vector<Frame> frames_;  // keeps its capacity between batches
};

inline int parent_of(const Rules& rules, const Frames& frames, const Prefix& prefix) {
  return prefix.frame < 0 ? rules.tokens : frames[prefix.frame].token;
}
inline int sibling_of(const Rules& rules, const Frames& frames, const Prefix& prefix) {
  return prefix.frame < 0 ? rules.tokens : frames[prefix.frame].last_child;
}

// Where the tables of room have the next open position: the set in force, and parent and place under it.
struct Slot {
  size_t set, place;
};
inline Slot slot_of(const Rules& rules, const Frames& frames, const Prefix& prefix) {
  if (prefix.frame < 0) return {0, size_t(rules.tokens) * rules.max_arity};
  const Frame& frame = frames[prefix.frame];
  const size_t set = rules.exact_sets ? frame.active : 1;
  return {set, (set * (rules.tokens + 1) + frame.token) * rules.max_arity + frame.filled};
}

// Keeps the tokens whose subtrees leave room for the rest, and with whose help the rest can reach the least length.
inline void keep_sizes(const Rules& rules, const Frames& frames, const Prefix& prefix, int length, Word* out) {
  const Slot slot = slot_of(rules, frames, prefix);
  const auto row = [&](int tokens) {
    const int bounded = tokens < 0 ? 0 : tokens > rules.max_length ? rules.max_length : tokens;
    return (slot.set * (rules.max_length + 1) + bounded) * rules.words;
  };
  const int room = rules.max_length - length - 1 - (prefix.least - rules.slot_least[slot.place]);
  const int wanted = rules.min_length - length - 1 - (prefix.most - rules.slot_most[slot.place]);
  const Word* fits = &rules.needs_at_most[row(room)];
  const Word* reaches = &rules.holds_at_least[row(wanted)];
  for (int w = 0; w < rules.words; ++w) out[w] &= fits[w] & reaches[w];
}

// Keeps what the siblings to the left allow.
inline void keep_siblings(const Rules& rules, const Frames& frames, const Frame& frame, Word* out) {
  for (const Frame* at = &frame; at->previous >= 0; at = &frames[at->previous]) {
    const Word* beside = rules.sibling_set(at->last_child);
    for (int w = 0; w < rules.words; ++w) out[w] &= beside[w];
  }
  if (frame.filled + 1 < frame.arity) return;
  for (size_t set = 0; set < rules.not_all.size(); set += rules.words) {
    const Word* alike = &rules.not_all[set];
    bool all = true;
    for (const Frame* at = &frame; all && at->previous >= 0; at = &frames[at->previous])
      all = alike[at->last_child / 64] >> (at->last_child % 64) & 1;
    for (int w = 0; all && w < rules.words; ++w) out[w] &= ~alike[w];
  }
}

// Writes the set of tokens that may come next; `length` tokens are there already.
inline void allowed_next(const Rules& rules, const Frames& frames, const Prefix& prefix, int length, Word* out) {
  const int words = rules.words;
  // Tables made well never lead to a prefix that cannot end in time; weights that are not numbers do, and the tables
  // have no place for it.
  if (prefix.open < 1 || prefix.open > rules.max_length - length) {
    for (int w = 0; w < words; ++w) out[w] = 0;
    return;
  }
  const Word* fixed = &rules.at_length[size_t(length) * words];
  if (prefix.frame < 0) {
    const Word* root = rules.child_set(rules.tokens, 0);
    for (int w = 0; w < words; ++w) out[w] = fixed[w] & root[w];
  } else {
    const Frame& frame = frames[prefix.frame];
    const Word* child = rules.child_set(frame.token, frame.filled);
    for (int w = 0; w < words; ++w) out[w] = fixed[w] & child[w];
    keep_siblings(rules, frames, frame, out);
    for (uint64_t active = frame.active; active; active &= active - 1) {
      const Word* below = &rules.descendant[size_t(__builtin_ctzll(active)) * words];
      for (int w = 0; w < words; ++w) out[w] &= below[w];
    }
  }
  if (rules.sized) keep_sizes(rules, frames, prefix, length, out);
  for (size_t r = 0; r < rules.counts.size(); ++r) {
    const CountRule& rule = rules.counts[r];
    const size_t row = size_t(length) * (rules.max_length + 1) + prefix.open;
    uint32_t classes = rule.allowed[row * (rule.cap + 1) + prefix.counted[r]];
    if (words == 1) {
      Word set = 0;
      for (; classes; classes &= classes - 1) set |= rule.class_sets[__builtin_ctz(classes)];
      out[0] &= set;
    } else {
      for (int w = 0; w < words; ++w) {
        Word set = 0;
        for (uint32_t left = classes; left; left &= left - 1)
          set |= rule.class_sets[size_t(__builtin_ctz(left)) * words + w];
        out[w] &= set;
      }
    }
  }
}

// The descendant rules in force inside an argument of an operator that stands below the frame `up`.
inline uint64_t active_inside(const Rules& rules, const Frames& frames, int32_t up, TokenId token, int place) {
  return (up < 0 ? 0 : frames[up].active) | rules.in_force[size_t(token) * rules.max_arity + place];
}

// The prefix one token longer. Complete when `open` reaches 0.
inline Prefix extend(const Rules& rules, Frames& frames, const Prefix& prefix, TokenId token) {
  Prefix next = prefix;
  const int arity = rules.arity[token];
  next.open += arity - 1;
  if (rules.sized) {
    const Slot slot = slot_of(rules, frames, prefix);
    next.least += rules.needs[slot.set * rules.tokens + token] - rules.slot_least[slot.place];
    next.most += rules.holds[slot.set * rules.tokens + token] - rules.slot_most[slot.place];
  }
  for (size_t r = 0; r < rules.counts.size(); ++r)
    if (rules.counts[r].member[token] && next.counted[r] < rules.counts[r].cap) ++next.counted[r];
  if (arity > 0) {
    const uint64_t active = active_inside(rules, frames, prefix.frame, token, 0);
    next.frame = frames.add(
        {active, prefix.frame, -1, token, static_cast<TokenId>(rules.tokens), static_cast<int8_t>(arity), 0});
    return next;
  }
  TokenId complete = token;
  int32_t at = prefix.frame;
  while (at >= 0 && frames[at].filled + 1 == frames[at].arity) {
    complete = frames[at].token;
    at = frames[at].up;
  }
  if (at >= 0) {
    Frame frame = frames[at];
    frame.previous = at;
    frame.last_child = complete;
    ++frame.filled;
    frame.active = active_inside(rules, frames, frame.up, frame.token, frame.filled);
    at = frames.add(frame);
  }
  next.frame = at;
  return next;
}

// Whether a traversal is complete and obeys the tables at every step. `allowed` has room for one set.
inline bool obeys(const Rules& rules, Frames& frames, Word* allowed, const TokenId* tokens, int length) {
  if (length > rules.max_length) return false;
  frames.clear();
  Prefix prefix = empty_prefix(rules);
  for (int depth = 0; depth < length; ++depth) {
    const TokenId token = tokens[depth];
    if (prefix.open == 0 || token < 0 || token >= rules.tokens) return false;
    allowed_next(rules, frames, prefix, depth, allowed);
    if (!(allowed[token / 64] >> (token % 64) & 1)) return false;
    prefix = extend(rules, frames, prefix, token);
  }
  return prefix.open == 0;
}

// When the open positions just fill the greatest length, only terminals can follow; if there is but one choice for
// each, the rest of the program is decided. Writes it to `rest` (max_length - length tokens) and says so: such tokens
// have probability 1, so the policy need not be asked about them.
inline bool completes_itself(const Rules& rules, Frames& frames, Prefix prefix, int length, TokenId* rest) {
  if (prefix.open != rules.max_length - length || rules.words != 1) return false;
  for (int at = 0; prefix.open > 0; ++at) {
    Word allowed;
    allowed_next(rules, frames, prefix, length + at, &allowed);
    if (allowed == 0 || (allowed & (allowed - 1)) != 0) return false;
    rest[at] = static_cast<TokenId>(__builtin_ctzll(allowed));
    prefix = extend(rules, frames, prefix, rest[at]);
  }
  return true;
}

}  // namespace symseek
