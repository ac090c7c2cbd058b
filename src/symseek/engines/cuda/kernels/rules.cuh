// Constraints as tables, and the walk of a pre-order traversal that reads them (shared/rules.hpp). The walk of one program
// is a stack of open operators, kept by one thread.
//
// `sets` and `numbers` hold the tables one after another; AT_NAME says where each begins (see rules.py).

struct CountRule {
  const uint64* sets;
  const int *numbers, *about;  // cap; where the classes, the members and the sets of the classes begin

  DEVICE int cap() const { return about[0]; }
  DEVICE uint32 classes(long long row) const { return (uint32)numbers[about[1] + row]; }
  DEVICE bool has(int token) const { return numbers[about[2] + token]; }
  DEVICE uint64 class_word(int at) const { return sets[about[3] + at]; }
};

struct Rules {
  const uint64* sets;
  const int* numbers;
  const float* bias;  // [T, 2, L] added to the logits; second index: is this the last open position?

  static constexpr int tokens = L, words = WORDS, max_arity = ARITIES, max_length = T, min_length = MIN_LENGTH;
  static constexpr bool sized = SIZED, exact_sets = EXACT_SETS;

  DEVICE const uint64* child_set(int parent, int place) const { return sets + AT_CHILD + (parent * ARITIES + place) * WORDS; }
  DEVICE const uint64* length_set(int length) const { return sets + AT_LENGTHS + length * WORDS; }
  DEVICE const uint64* descendant_set(int rule) const { return sets + AT_DESCENDANT + rule * WORDS; }
  DEVICE const uint64* needs_at_most_set(long long set, int room) const {
    return sets + AT_NEEDS_AT_MOST + (set * (T + 1) + room) * WORDS;
  }
  DEVICE const uint64* holds_at_least_set(long long set, int wanted) const {
    return sets + AT_HOLDS_AT_LEAST + (set * (T + 1) + wanted) * WORDS;
  }
  DEVICE int arity_of(int token) const { return numbers[AT_ARITY + token]; }
  DEVICE int least_at(long long place) const { return numbers[AT_SLOT_LEAST + place]; }
  DEVICE int most_at(long long place) const { return numbers[AT_SLOT_MOST + place]; }
  DEVICE int needs_of(long long set, int token) const { return numbers[AT_NEEDS + set * L + token]; }
  DEVICE int holds_of(long long set, int token) const { return numbers[AT_HOLDS + set * L + token]; }
  DEVICE static constexpr int count_rules() { return COUNTS; }
  DEVICE CountRule count_rule(int rule) const { return {sets, numbers, numbers + AT_COUNTS + 4 * rule}; }
};

struct Walk {
  int length;  // tokens so far
  int open;    // open positions
  int depth;   // operators that wait for children
  int least, most;  // tokens that the open positions need, and can hold (only if rules are sized)
  uint8 counted[COUNTS];
  // Of each operator that waits:
  Token token[T];
  Token last[T];  // its last complete child; L if there is none
  uint8 filled[T];
  uint64 beside[T][WORDS];  // allowed beside the children so far
  uint64 alike[T];          // bits over the sets of NOT_ALL that have all children so far
  uint64 active[T];         // descendant rules in force inside the argument of it that comes next
};

DEVICE void begin(const Rules& rules, Walk& walk) {
  walk.length = walk.depth = 0;
  begin_prefix(rules, walk);
}

DEVICE int parent_of(const Walk& walk) { return walk.depth ? walk.token[walk.depth - 1] : L; }
DEVICE int sibling_of(const Walk& walk) { return walk.depth ? walk.last[walk.depth - 1] : L; }

DEVICE Open open_of(const Walk& walk) {
  const int top = walk.depth - 1;
  return top < 0 ? Open{L, 0, 0} : Open{walk.token[top], walk.filled[top], DESCENDANTS ? walk.active[top] : 0};
}

// Writes the set of tokens that may come next; says whether there is any.
DEVICE bool allowed_next(const Rules& rules, const Walk& walk, uint64* out) {
  const auto keep_siblings = [&] {
    const int top = walk.depth - 1;
    for (int w = 0; w < WORDS; ++w) out[w] &= walk.beside[top][w];
    if (NOT_ALL && walk.filled[top] + 1 == rules.arity_of(walk.token[top]))
      for (uint64 sets = walk.alike[top]; sets; sets &= sets - 1)
        for (int w = 0; w < WORDS; ++w) out[w] &= ~rules.sets[AT_NOT_ALL + lowest_bit(sets) * WORDS + w];
  };
  return write_allowed(rules, open_of(walk), walk, walk.length, keep_siblings, out);
}

// The descendant rules in force inside an argument of a waiting operator.
DEVICE uint64 active_inside(const Rules& rules, const Walk& walk, int at, int token, int place) {
  return (at ? walk.active[at - 1] : 0) | rules.sets[AT_IN_FORCE + token * ARITIES + place];
}

// One token more. Complete when `open` reaches 0.
DEVICE void extend(const Rules& rules, Walk& walk, int token) {
  count_token(rules, open_of(walk), walk, token);
  ++walk.length;
  if (rules.arity_of(token) > 0) {
    const int top = walk.depth++;
    walk.token[top] = (Token)token;
    walk.last[top] = L;
    walk.filled[top] = 0;
    for (int w = 0; w < WORDS; ++w) walk.beside[top][w] = ~0ull;
    walk.alike[top] = NOT_ALL < 64 ? (1ull << (NOT_ALL % 64)) - 1 : ~0ull;
    walk.active[top] = active_inside(rules, walk, top, token, 0);
    return;
  }
  int complete = token;
  while (walk.depth && walk.filled[walk.depth - 1] + 1 == rules.arity_of(walk.token[walk.depth - 1]))
    complete = walk.token[--walk.depth];
  if (walk.depth == 0) return;
  const int top = walk.depth - 1;
  ++walk.filled[top];
  walk.active[top] = active_inside(rules, walk, top, walk.token[top], walk.filled[top]);
  walk.last[top] = (Token)complete;
  for (int w = 0; w < WORDS; ++w) walk.beside[top][w] &= rules.sets[AT_SIBLING + complete * WORDS + w];
  if (NOT_ALL) walk.alike[top] &= rules.sets[AT_ALIKE + complete];
}
