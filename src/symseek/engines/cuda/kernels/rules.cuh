// Constraints as tables, and the walk of a pre-order traversal that reads them: native/policy/rules.hpp for a GPU. The
// walk of one program is a stack of open operators, kept by one thread.
//
// `words` and `integers` hold the tables one after another; AT_NAME says where each begins (see rules.py).

struct Rules {
  const uint64* words;
  const int* integers;
  const float* bias;  // [T, 2, L] added to the logits; second index: is this the last open position?
};

DEVICE int arity_of(const Rules& rules, int token) { return rules.integers[AT_ARITY + token]; }

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
  walk.open = 1;
  walk.least = SIZED ? rules.integers[AT_SLOT_LEAST + L * ARITIES] : 0;
  walk.most = SIZED ? rules.integers[AT_SLOT_MOST + L * ARITIES] : 0;
  for (int rule = 0; rule < COUNTS; ++rule) walk.counted[rule] = 0;
}

DEVICE int parent_of(const Walk& walk) { return walk.depth ? walk.token[walk.depth - 1] : L; }
DEVICE int sibling_of(const Walk& walk) { return walk.depth ? walk.last[walk.depth - 1] : L; }

// Where the tables of room have the next open position: the set in force, and parent and place under it.
struct Slot {
  long long set, place;
};
DEVICE Slot slot_of(const Walk& walk) {
  if (walk.depth == 0) return Slot{0, (long long)L * ARITIES};
  const int top = walk.depth - 1;
  const long long set = EXACT_SETS ? (long long)walk.active[top] : 1;
  return Slot{set, (set * (L + 1) + walk.token[top]) * ARITIES + walk.filled[top]};
}

// Keeps the tokens whose subtrees leave room for the rest, and with whose help the rest can reach the least length.
DEVICE void keep_sizes(const Rules& rules, const Walk& walk, uint64* out) {
  const Slot slot = slot_of(walk);
  int room = T - walk.length - 1 - (walk.least - rules.integers[AT_SLOT_LEAST + slot.place]);
  int wanted = MIN_LENGTH - walk.length - 1 - (walk.most - rules.integers[AT_SLOT_MOST + slot.place]);
  room = room < 0 ? 0 : room > T ? T : room;
  wanted = wanted < 0 ? 0 : wanted > T ? T : wanted;
  for (int w = 0; w < WORDS; ++w)
    out[w] &= rules.words[AT_NEEDS_AT_MOST + (slot.set * (T + 1) + room) * WORDS + w] &
              rules.words[AT_HOLDS_AT_LEAST + (slot.set * (T + 1) + wanted) * WORDS + w];
}

DEVICE void keep_counts(const Rules& rules, const Walk& walk, uint64* out) {
  for (int rule = 0; rule < COUNTS; ++rule) {
    const int* about = rules.integers + AT_COUNTS + 4 * rule;  // cap; where `allowed`, `member` and the sets begin
    const int row = walk.length * (T + 1) + walk.open;
    const uint32 classes = (uint32)rules.integers[about[1] + row * (about[0] + 1) + walk.counted[rule]];
    uint64 set[WORDS] = {};
    for (uint32 left = classes; left; left &= left - 1)
      for (int w = 0; w < WORDS; ++w) set[w] |= rules.words[about[3] + (__ffsll((uint64)left) - 1) * WORDS + w];
    for (int w = 0; w < WORDS; ++w) out[w] &= set[w];
  }
}

// Writes the set of tokens that may come next; says whether there is any.
DEVICE bool allowed_next(const Rules& rules, const Walk& walk, uint64* out) {
  for (int w = 0; w < WORDS; ++w) out[w] = 0;
  if (walk.open < 1 || walk.open > T - walk.length) return false;
  const int top = walk.depth - 1;
  const long long child = walk.depth ? (long long)walk.token[top] * ARITIES + walk.filled[top] : (long long)L * ARITIES;
  for (int w = 0; w < WORDS; ++w)
    out[w] = rules.words[AT_LENGTHS + walk.length * WORDS + w] & rules.words[AT_CHILD + child * WORDS + w];
  if (walk.depth) {
    for (int w = 0; w < WORDS; ++w) out[w] &= walk.beside[top][w];
    if (NOT_ALL && walk.filled[top] + 1 == arity_of(rules, walk.token[top]))
      for (uint64 sets = walk.alike[top]; sets; sets &= sets - 1)
        for (int w = 0; w < WORDS; ++w) out[w] &= ~rules.words[AT_NOT_ALL + (__ffsll(sets) - 1) * WORDS + w];
    if (DESCENDANTS)
      for (uint64 active = walk.active[top]; active; active &= active - 1)
        for (int w = 0; w < WORDS; ++w) out[w] &= rules.words[AT_DESCENDANT + (__ffsll(active) - 1) * WORDS + w];
  }
  if (SIZED) keep_sizes(rules, walk, out);
  keep_counts(rules, walk, out);
  uint64 any = 0;
  for (int w = 0; w < WORDS; ++w) any |= out[w];
  return any != 0;
}

DEVICE bool is_in(const uint64* set, int token) { return set[token / 64] >> (token % 64) & 1; }

// The descendant rules in force inside an argument of a waiting operator.
DEVICE uint64 active_inside(const Rules& rules, const Walk& walk, int at, int token, int place) {
  return (at ? walk.active[at - 1] : 0) | rules.words[AT_IN_FORCE + token * ARITIES + place];
}

// One token more. Complete when `open` reaches 0.
DEVICE void extend(const Rules& rules, Walk& walk, int token) {
  const int arity = arity_of(rules, token);
  if (SIZED) {
    const Slot slot = slot_of(walk);
    walk.least += rules.integers[AT_NEEDS + slot.set * L + token] - rules.integers[AT_SLOT_LEAST + slot.place];
    walk.most += rules.integers[AT_HOLDS + slot.set * L + token] - rules.integers[AT_SLOT_MOST + slot.place];
  }
  for (int rule = 0; rule < COUNTS; ++rule) {
    const int* about = rules.integers + AT_COUNTS + 4 * rule;
    if (rules.integers[about[2] + token] && walk.counted[rule] < about[0]) ++walk.counted[rule];
  }
  walk.open += arity - 1;
  ++walk.length;
  if (arity > 0) {
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
  while (walk.depth && walk.filled[walk.depth - 1] + 1 == arity_of(rules, walk.token[walk.depth - 1]))
    complete = walk.token[--walk.depth];
  if (walk.depth == 0) return;
  const int top = walk.depth - 1;
  ++walk.filled[top];
  walk.active[top] = active_inside(rules, walk, top, walk.token[top], walk.filled[top]);
  walk.last[top] = (Token)complete;
  for (int w = 0; w < WORDS; ++w) walk.beside[top][w] &= rules.words[AT_SIBLING + complete * WORDS + w];
  if (NOT_ALL) walk.alike[top] &= rules.words[AT_ALIKE + complete];
}

// Whether a traversal is complete and obeys the tables at every step.
template <class Read>
DEVICE bool obeys(const Rules& rules, int length, const Read& token_at) {
  if (length > T) return false;
  Walk walk;
  begin(rules, walk);
  for (int i = 0; i < length; ++i) {
    const int token = token_at(i);
    uint64 allowed[WORDS];
    if (walk.open == 0 || token < 0 || token >= L || !allowed_next(rules, walk, allowed) || !is_in(allowed, token))
      return false;
    extend(rules, walk, token);
  }
  return walk.open == 0;
}
