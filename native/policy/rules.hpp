// Constraints as tables, and the walk of a pre-order traversal that reads them (shared/rules.hpp).
//
// Open operators form a linked list of immutable frames, so a prefix is extended in constant time and prefixes share
// what they have in common.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/units.hpp"
#include "shared/rules.hpp"

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
  int most = 0;                   // counting stops here

  int cap() const { return most; }
  uint32_t classes(int64_t row) const { return allowed[row]; }
  bool has(int token) const { return member[token]; }
  Word class_word(int at) const { return class_sets[at]; }
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

  Units units;

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
  const Word* descendant_set(int rule) const { return &descendant[size_t(rule) * words]; }
  const Word* length_set(int length) const { return &at_length[size_t(length) * words]; }
  const Word* needs_at_most_set(size_t set, int room) const {
    return &needs_at_most[(set * (max_length + 1) + room) * words];
  }
  const Word* holds_at_least_set(size_t set, int wanted) const {
    return &holds_at_least[(set * (max_length + 1) + wanted) * words];
  }
  int arity_of(int token) const { return arity[token]; }
  int least_at(size_t place) const { return slot_least[place]; }
  int most_at(size_t place) const { return slot_most[place]; }
  int needs_of(size_t set, int token) const { return needs[set * tokens + token]; }
  int holds_of(size_t set, int token) const { return holds[set * tokens + token]; }
  int count_rules() const { return static_cast<int>(counts.size()); }
  const CountRule& count_rule(int rule) const { return counts[rule]; }
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
  begin_prefix(rules, prefix);
  return prefix;
}

class Frames {
 public:
  void clear() {
    frames_.clear();
    measures_.clear();
  }
  const Frame& operator[](int32_t i) const { return frames_[i]; }
  const Measure& measure(int32_t i) const { return measures_[i]; }
  // Lets the next argument of an operator have this dimension only.
  void aim(int32_t i, Dim dim) { measures_[i].next = aimed(measures_[i].next, dim); }
  // Beside the frame that is added next.
  void add_measure(const Measure& measure) { measures_.push_back(measure); }
  int32_t add(const Frame& frame) {
    frames_.push_back(frame);
    return static_cast<int32_t>(frames_.size()) - 1;
  }

 private:
  std::vector<Frame> frames_;      // keeps its capacity between batches
  std::vector<Measure> measures_;  // [frames] where units are given
};

inline int parent_of(const Rules& rules, const Frames& frames, const Prefix& prefix) {
  return prefix.frame < 0 ? rules.tokens : frames[prefix.frame].token;
}
inline int sibling_of(const Rules& rules, const Frames& frames, const Prefix& prefix) {
  return prefix.frame < 0 ? rules.tokens : frames[prefix.frame].last_child;
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
      all = is_in(alike, at->last_child);
    for (int w = 0; all && w < rules.words; ++w) out[w] &= ~alike[w];
  }
}

inline Open open_of(const Rules& rules, const Frames& frames, const Prefix& prefix) {
  if (prefix.frame < 0) return {rules.tokens, 0, 0};
  const Frame& frame = frames[prefix.frame];
  return {frame.token, frame.filled, frame.active};
}

inline Place place_of(const Rules& rules, const Frames& frames, const Prefix& prefix) {
  return prefix.frame < 0 ? rules.units.root() : frames.measure(prefix.frame).next;
}

// What a finished part, with this token outermost, leaves to be done: the operator that still lacks an argument, and
// its measure. Gives -1 where the program is complete, and -2 where a dimension does not suit.
inline int32_t closed(const Rules& rules, const Frames& frames, int32_t at, Quantity value, int token,
                      Measure& measure) {
  for (; at >= 0; at = frames[at].up) {
    const Frame& frame = frames[at];
    measure = frames.measure(at);
    if (!rules.units.take(measure, frame.token, frame.filled, value, token)) return -2;
    if (frame.filled + 1 < frame.arity) {
      measure.next = rules.units.next(measure, frame.token, frame.filled + 1);
      return at;
    }
    value = measure.got;
    token = frame.token;
    if (measure.at.bound == Bound::KNOWN && !value.wild && value.dim != measure.at.x) return -2;
  }
  return -1;
}

// Keeps the tokens whose dimensions suit, and that leave enough room for what they ask for.
inline void keep_units(const Rules& rules, const Frames& frames, const Prefix& prefix, int length, Word* out) {
  const Units& units = rules.units;
  const Place place = place_of(rules, frames, prefix);
  const int room = rules.max_length - length;
  // Numbers to fit that may still be used.
  const int numbers = units.limited ? rules.counts[units.limit].most - prefix.counted[units.limit] : NUMBERS;
  const auto fits = [&](const Need& need, int used, int spare) {
    return need.by(std::max(0, numbers - used)) <= spare;
  };
  const auto ends = [&](const Quantity& value, int token) {
    if (place.bound == Bound::NONE) return false;
    if (place.bound == Bound::KNOWN && !value.wild && value.dim != place.x) return false;
    Measure measure;
    const int32_t at = closed(rules, frames, prefix.frame, value, token, measure);
    return at == -1 || (at >= 0 && fits(units.total(measure.next), units.limited && units.fixed[token], room - 1));
  };
  for (size_t each = 0; each < units.classes.size(); ++each) {
    int said = -1;
    for (int w = 0; w < rules.words; ++w) {
      const Word members = units.members[each * rules.words + w];
      for (Word left = out[w] & members; left; left &= left - 1) {
        const int token = 64 * w + lowest_bit(left);
        // Tokens of a class are alike, but for an exponent's value.
        if (said < 0 || place.exponent) said = ends(units.classes[each].value, token);
        if (!said) out[w] &= ~(Word{1} << (token % 64));
      }
    }
  }
  const bool banned = place.exponent && !frames.measure(prefix.frame).got.wild && frames.measure(prefix.frame).got.dim;
  for (const int16_t token : units.operators)
    if (is_in(out, token) && (banned || !fits(units.total_with(place, token), 0, room)))
      out[token / 64] &= ~(Word{1} << (token % 64));
  for (int w = 0; w < rules.words; ++w) out[w] &= units.suitable[w];
}

// Writes the set of tokens that may come next, `length` tokens being there already; says whether there is any.
inline bool allowed_next(const Rules& rules, const Frames& frames, const Prefix& prefix, int length, Word* out) {
  const auto keep = [&] { keep_siblings(rules, frames, frames[prefix.frame], out); };
  const bool any = write_allowed(rules, open_of(rules, frames, prefix), prefix, length, keep, out);
  if (!any || !rules.units.given) return any;
  keep_units(rules, frames, prefix, length, out);
  Word kept = 0;
  for (int w = 0; w < rules.words; ++w) kept |= out[w];
  return kept != 0;
}

// The descendant rules in force inside an argument of an operator that stands below the frame `up`.
inline uint64_t active_inside(const Rules& rules, const Frames& frames, int32_t up, TokenId token, int place) {
  return (up < 0 ? 0 : frames[up].active) | rules.in_force[size_t(token) * rules.max_arity + place];
}

// The prefix one token longer. Complete when `open` reaches 0.
inline Prefix extend(const Rules& rules, Frames& frames, const Prefix& prefix, TokenId token) {
  Prefix next = prefix;
  const int arity = rules.arity[token];
  count_token(rules, open_of(rules, frames, prefix), next, token);
  if (arity > 0) {
    const uint64_t active = active_inside(rules, frames, prefix.frame, token, 0);
    if (rules.units.given) {
      Measure measure;
      measure.at = place_of(rules, frames, prefix);
      measure.next = rules.units.next(measure, token, 0);
      frames.add_measure(measure);
    }
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
    if (rules.units.given) {
      Measure measure;
      if (closed(rules, frames, prefix.frame, rules.units.value_of(token), token, measure) != at)
        measure.next = nothing();
      frames.add_measure(measure);
    }
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

// One prefix that grows, with frames of its own.
struct Walk : Prefix {
  Frames frames;
  int length = 0;
};
inline void begin(const Rules& rules, Walk& walk) {
  walk.frames.clear();
  static_cast<Prefix&>(walk) = empty_prefix(rules);
  walk.length = 0;
}
inline bool allowed_next(const Rules& rules, const Walk& walk, Word* out) {
  return allowed_next(rules, walk.frames, walk, walk.length, out);
}
inline void extend(const Rules& rules, Walk& walk, int token) {
  static_cast<Prefix&>(walk) = extend(rules, walk.frames, walk, static_cast<TokenId>(token));
  ++walk.length;
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
