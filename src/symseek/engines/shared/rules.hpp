// What the constraints allow to come next in a pre-order traversal.
//
// A prefix of a traversal has one next open position. What may stand there follows from the parent, the place among its
// children, the siblings to the left, the ancestors, and how many tokens and open positions there are. An engine says
// how it keeps prefixes and where its tables are: `rules` has their sizes by name, and a set or number for each place.
#pragma once

#include "platform.hpp"

namespace symseek {

// The operator whose child comes next, the library's size at the root; children complete so far; and the descendant
// rules in force inside that argument.
struct Open {
  int token, filled;
  uint64 active;
};

// Where the tables of room have the next open position: the set in force, and parent and place under it. They depend on
// the set of descendant rules in force: their bits, or (not exact) 0 at the root and 1 elsewhere.
struct Slot {
  long long set, place;
};
template <class R>
SHARED Slot slot_of(const R& rules, const Open& open) {
  if (open.token == rules.tokens) return Slot{0, (long long)rules.tokens * rules.max_arity};
  const long long set = rules.exact_sets ? (long long)open.active : 1;
  return Slot{set, (set * (rules.tokens + 1) + open.token) * rules.max_arity + open.filled};
}

SHARED bool is_in(const uint64* set, int token) { return set[token / 64] >> (token % 64) & 1; }

// Nothing is there yet.
template <class R, class P>
SHARED void begin_prefix(const R& rules, P& prefix) {
  const long long root = (long long)rules.tokens * rules.max_arity;
  prefix.open = 1;
  prefix.least = rules.sized ? rules.least_at(root) : 0;
  prefix.most = rules.sized ? rules.most_at(root) : 0;
  for (int rule = 0; rule < rules.count_rules(); ++rule) prefix.counted[rule] = 0;
}

// Keeps the tokens whose subtrees leave room for the rest, and with whose help the rest can reach the least length.
template <class R, class P>
SHARED void keep_sizes(const R& rules, const Open& open, const P& prefix, int length, uint64* out) {
  const Slot slot = slot_of(rules, open);
  const auto bounded = [&](int tokens) {
    return tokens < 0 ? 0 : tokens > rules.max_length ? rules.max_length : tokens;
  };
  const int room = rules.max_length - length - 1 - (prefix.least - rules.least_at(slot.place));
  const int wanted = rules.min_length - length - 1 - (prefix.most - rules.most_at(slot.place));
  const uint64 *fits = rules.needs_at_most_set(slot.set, bounded(room)),
               *reaches = rules.holds_at_least_set(slot.set, bounded(wanted));
  for (int w = 0; w < rules.words; ++w) out[w] &= fits[w] & reaches[w];
}

// Keeps the tokens whose class can still lead to a complete program within the bounds of each count rule.
template <class R, class P>
SHARED void keep_counts(const R& rules, const P& prefix, int length, uint64* out) {
  for (int at = 0; at < rules.count_rules(); ++at) {
    const auto& rule = rules.count_rule(at);
    const long long row = (long long)length * (rules.max_length + 1) + prefix.open;
    const uint32 classes = rule.classes(row * (rule.cap() + 1) + prefix.counted[at]);
    for (int w = 0; w < rules.words; ++w) {
      uint64 set = 0;
      for (uint32 left = classes; left; left &= left - 1) set |= rule.class_word(lowest_bit(left) * rules.words + w);
      out[w] &= set;
    }
  }
}

// Writes the set of tokens that may come next, `length` tokens being there already; says whether there is any.
// `keep_siblings` keeps in it what the siblings to the left allow.
template <class R, class P, class Keep>
SHARED bool write_allowed(const R& rules, const Open& open, const P& prefix, int length, const Keep& keep_siblings,
                          uint64* out) {
  // Tables made well never lead to a prefix that cannot end in time; weights that are not numbers do, and the tables
  // have no place for it.
  if (prefix.open < 1 || prefix.open > rules.max_length - length) {
    for (int w = 0; w < rules.words; ++w) out[w] = 0;
    return false;
  }
  const uint64 *fixed = rules.length_set(length), *child = rules.child_set(open.token, open.filled);
  for (int w = 0; w < rules.words; ++w) out[w] = fixed[w] & child[w];
  if (open.token != rules.tokens) {
    keep_siblings();
    for (uint64 active = open.active; active; active &= active - 1) {
      const uint64* below = rules.descendant_set(lowest_bit(active));
      for (int w = 0; w < rules.words; ++w) out[w] &= below[w];
    }
  }
  if (rules.sized) keep_sizes(rules, open, prefix, length, out);
  keep_counts(rules, prefix, length, out);
  uint64 any = 0;
  for (int w = 0; w < rules.words; ++w) any |= out[w];
  return any != 0;
}

// Counts one token more: the open positions, what they need and can hold, and the tokens of each count rule.
template <class R, class P>
SHARED void count_token(const R& rules, const Open& open, P& prefix, int token) {
  if (rules.sized) {
    const Slot slot = slot_of(rules, open);
    prefix.least += rules.needs_of(slot.set, token) - rules.least_at(slot.place);
    prefix.most += rules.holds_of(slot.set, token) - rules.most_at(slot.place);
  }
  for (int at = 0; at < rules.count_rules(); ++at) {
    const auto& rule = rules.count_rule(at);
    if (rule.has(token) && prefix.counted[at] < rule.cap()) ++prefix.counted[at];
  }
  prefix.open += rules.arity_of(token) - 1;
}

// Whether a traversal is complete and obeys the tables at every step. `allowed` is room for one set.
template <class R, class W, class Read>
SHARED bool obeys(const R& rules, W& walk, uint64* allowed, int length, const Read& token_at) {
  if (length > rules.max_length) return false;
  begin(rules, walk);
  for (int i = 0; i < length; ++i) {
    const int token = token_at(i);
    if (walk.open == 0 || token < 0 || token >= rules.tokens) return false;
    if (!allowed_next(rules, walk, allowed) || !is_in(allowed, token)) return false;
    extend(rules, walk, token);
  }
  return walk.open == 0;
}

}  // namespace symseek
