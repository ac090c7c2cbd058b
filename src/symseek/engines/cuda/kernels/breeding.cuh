// New programs from others: crossover and mutation of subtrees, as native/breeding/breeding.cpp makes them and with its
// random numbers, so that the children are the very same. A thread makes one child. Arrays of R runs lie side by side.

constexpr int TRIES = 8;       // to make a child that obeys the constraints
constexpr int NEW_TOKENS = 8;  // most tokens of a subtree that is grown anew
constexpr short NEW_VALUE = -1;

// A token and, where it is a constant, whose value it has: from 0 on those of the first parent in their order, from T on
// those of the second, and NEW_VALUE for 1.
struct Node {
  Token token;
  short value;
};

struct Tree {
  Node node[T];
  int size;
};

// The random numbers of one child, one after another.
struct Numbers {
  uint64 seed;
  uint32 child, iteration, stream, next;
  int used;
  Block4 block;

  DEVICE uint32 bits() {
    if (used == 4) {
      block = philox(seed, next++, child, iteration, stream);
      used = 0;
    }
    return block.word[used++];
  }
  DEVICE int below(int n) { return (int)(((uint64)bits() * (uint64)n) >> 32); }
  DEVICE bool chance(float p) { return uniform(bits()) < p; }
};

// The programs of one run, and which of them may have children.
struct Parents {
  const Token* tokens;      // [rows, width]
  const int* lengths;       // [rows]
  const double* constants;  // [rows, constant_width]
  const double* fitness;    // [rows]
  const int* members;       // [count] rows, or null: the first ones
  int count, width, constant_width;

  DEVICE int drawn(Numbers& random) const {
    const int member = random.below(count);
    return members ? members[member] : member;
  }
};

// What breeding asks of a library: rows of 1 + L numbers, a count and so many tokens: those of each arity, then all
// operators.
struct Library {
  const Rules& rules;
  const int* alike;

  DEVICE int arity(int token) const { return arity_of(rules, token); }
  DEVICE int count(int row) const { return alike[row * (L + 1)]; }
  DEVICE Token drawn(int row, Numbers& random) const {
    return (Token)alike[row * (L + 1) + 1 + random.below(count(row))];
  }
};
constexpr int OPERATORS = ARITIES + 1;  // the row of all operators

DEVICE Node fresh(Token token) { return Node{token, NEW_VALUE}; }

DEVICE int subtree_end(const Library& library, const Tree& tree, int at) {
  for (int open = 1; open > 0; ++at) open += library.arity(tree.node[at].token) - 1;
  return at;
}

DEVICE void copy(const Parents& parents, int row, int first_value, Tree& to) {
  to.size = parents.lengths[row];
  int value = first_value;
  for (int i = 0; i < to.size; ++i) {
    const Token token = parents.tokens[(long long)row * parents.width + i];
    to.node[i] = Node{token, token == CONSTANT_TOKEN ? (short)value++ : NEW_VALUE};
  }
}

// Puts `count` nodes in the place of the tree's from `begin` to `end`. They may be nodes of the tree itself if these lie
// behind `begin` and are not more than what they replace.
DEVICE void splice(Tree& tree, int begin, int end, const Node* piece, int count) {
  const int shift = count - (end - begin);
  if (shift > 0)
    for (int i = tree.size - 1; i >= end; --i) tree.node[i + shift] = tree.node[i];
  for (int i = 0; i < count; ++i) tree.node[begin + i] = piece[i];
  if (shift < 0)
    for (int i = end; i < tree.size; ++i) tree.node[i + shift] = tree.node[i];
  tree.size += shift;
}

DEVICE bool cross(const Library& library, Tree& child, const Tree& other, Numbers& random) {
  const int at = random.below(child.size), end = subtree_end(library, child, at);
  const int from = random.below(other.size), count = subtree_end(library, other, from) - from;
  if (child.size - (end - at) + count > T) return false;
  splice(child, at, end, other.node + from, count);
  return true;
}

// Grows a subtree of at most about `most` tokens for place `at` of the child, token by token as the tables allow.
DEVICE bool grow(const Library& library, const Tree& child, int at, int most, Numbers& random, Tree& grown) {
  const Rules& rules = library.rules;
  Walk walk;
  begin(rules, walk);
  for (int i = 0; i < at; ++i) extend(rules, walk, child.node[i].token);
  grown.size = 0;
  for (int open = 1; open > 0;) {
    if (at + grown.size >= T) return false;
    uint64 allowed[WORDS];
    allowed_next(rules, walk, allowed);
    const bool small = grown.size + open >= most;
    int choices = 0;
    for (int token = 0; token < L; ++token) choices += is_in(allowed, token) && !(small && library.arity(token) > 0);
    if (choices == 0) return false;
    int left = random.below(choices), token = 0;
    for (;; ++token)
      if (is_in(allowed, token) && !(small && library.arity(token) > 0) && left-- == 0) break;
    grown.node[grown.size++] = fresh((Token)token);
    open += library.arity(token) - 1;
    extend(rules, walk, token);
  }
  return true;
}

// A subtree gives way to a new one.
DEVICE bool regrow(const Library& library, Tree& child, Numbers& random, Tree& grown) {
  const int at = random.below(child.size), end = subtree_end(library, child, at);
  if (!grow(library, child, at, 1 + random.below(NEW_TOKENS), random, grown)) return false;
  if (child.size - (end - at) + grown.size > T) return false;
  splice(child, at, end, grown.node, grown.size);
  return true;
}

// A token gives way to another of its arity.
DEVICE bool exchange(const Library& library, Tree& child, Numbers& random) {
  const int at = random.below(child.size);
  const Token token = library.drawn(library.arity(child.node[at].token), random);
  if (token == child.node[at].token) return false;
  child.node[at] = fresh(token);
  return true;
}

// An operator comes between a node and its parent; its other operands are terminals.
DEVICE bool insert(const Library& library, Tree& child, Numbers& random, Tree& grown) {
  if (library.count(OPERATORS) == 0) return false;
  const int at = random.below(child.size), end = subtree_end(library, child, at);
  const Token above = library.drawn(OPERATORS, random);
  const int arity = library.arity(above), place = random.below(arity);
  if (child.size + arity > T) return false;
  grown.node[0] = fresh(above);
  grown.size = 1;
  for (int k = 0; k < arity; ++k) {
    if (k == place)
      for (int i = at; i < end; ++i) grown.node[grown.size++] = child.node[i];
    else
      grown.node[grown.size++] = fresh(library.drawn(0, random));
  }
  splice(child, at, end, grown.node, grown.size);
  return true;
}

// An operator gives way to one of its operands.
DEVICE bool hoist(const Library& library, Tree& child, Numbers& random) {
  const int at = random.below(child.size), arity = library.arity(child.node[at].token);
  if (arity == 0) return false;
  int from = at + 1;
  for (int place = random.below(arity); place > 0; --place) from = subtree_end(library, child, from);
  const int count = subtree_end(library, child, from) - from;
  splice(child, at, subtree_end(library, child, at), child.node + from, count);
  return true;
}

DEVICE bool mutate(const Library& library, Tree& child, Numbers& random, Tree& scratch) {
  switch (random.below(4)) {
    case 0: return regrow(library, child, random, scratch);
    case 1: return exchange(library, child, random);
    case 2: return insert(library, child, random, scratch);
    default: return hoist(library, child, random);
  }
}

DEVICE bool differs(const Tree& child, const Parents& parents, int row) {
  if (child.size != parents.lengths[row]) return true;
  for (int i = 0; i < child.size; ++i)
    if (child.node[i].token != parents.tokens[(long long)row * parents.width + i]) return true;
  return false;
}

// The best of some programs drawn at random.
DEVICE int selected(const Parents& parents, int tournament, Numbers& random) {
  int best = parents.drawn(random);
  for (int k = 1; k < tournament; ++k) {
    const int other = parents.drawn(random);
    if (parents.fitness[other] > parents.fitness[best]) best = other;
  }
  return best;
}

struct Options {
  int tournament;
  float crossover, mutation;
};

// One child, of the rows in `parent`; false when no attempt obeys the constraints and differs from its parent.
DEVICE bool make(const Library& library, const Parents& parents, const Options& options, Numbers& random, Tree& child,
                 int (&parent)[2]) {
  Tree other;
  parent[0] = parent[1] = selected(parents, options.tournament, random);
  for (int attempt = 0; attempt < TRIES; ++attempt) {
    copy(parents, parent[0], 0, child);
    bool made = true;
    if (random.chance(options.crossover)) {
      parent[1] = selected(parents, options.tournament, random);
      copy(parents, parent[1], T, other);
      made = cross(library, child, other, random);
    }
    if (made && random.chance(options.mutation)) made = mutate(library, child, random, other);
    if (made && differs(child, parents, parent[0]) &&
        obeys(library.rules, child.size, [&](int i) { return (int)child.node[i].token; }))
      return true;
  }
  return false;
}

// Writes a child: its tokens [T], -1 beyond the end, and its constants [constant_width], 1 beyond the last.
DEVICE void put_child(const Tree& child, const Parents& parents, const int (&parent)[2], Token* tokens, double* constants,
                  int constant_width) {
  int count = 0;
  for (int i = 0; i < T; ++i) {
    tokens[i] = i < child.size ? child.node[i].token : (Token)-1;
    if (i >= child.size || child.node[i].token != CONSTANT_TOKEN) continue;
    const int value = child.node[i].value;
    const long long row = parent[value >= T];
    constants[count++] = value == NEW_VALUE ? 1.0 : parents.constants[row * parents.constant_width + value % T];
  }
  for (; count < constant_width; ++count) constants[count] = 1.0;
}

// Children [R, rows, T], [R, rows] and [R, rows, constant_width] of the programs [R, parent_rows] of every run: of the first
// `parent_counts` [R], or of so many rows in `members` [R, member_rows]. `wanted` [R] children, of which those that could
// not be made have length 0. `parts` blocks serve one run. Runs that are not active are left alone.
KERNEL breed(const uint64* rule_words, const int* rule_integers, const int* alike, const Token* parent_tokens,
             const int* parent_lengths, const double* parent_constants, const double* fitness, const int* parent_counts,
             const int* members, int member_rows, int parent_rows, int parent_width, int parent_constant_width,
             const uint64* seeds, const int* iterations, const uint8* active, int generation, int tournament,
             float crossover, float mutation, const int* wanted, int rows, int constant_width, int parts, Token* tokens,
             int* lengths, double* constants) {
  const int run = blockIdx.x / parts;
  if (active && !active[run]) return;
  const Rules rules{rule_words, rule_integers, nullptr};
  const Library library{rules, alike};
  const Options options{tournament, crossover, mutation};
  const long long from = (long long)run * parent_rows;
  const Parents parents{parent_tokens + from * parent_width,
                        parent_lengths + from,
                        parent_constants + from * parent_constant_width,
                        fitness + from,
                        members ? members + (long long)run * member_rows : nullptr,
                        parent_counts[run],
                        parent_width,
                        parent_constant_width};
  for (int i = (blockIdx.x % parts) * blockDim.x + threadIdx.x; i < wanted[run]; i += parts * blockDim.x) {
    const uint32 stream = EVOLUTION + ((uint32)generation << 8);
    Numbers random{seeds[run], (uint32)i, (uint32)iterations[run], stream, 0, 4, {}};
    const long long row = (long long)run * rows + i;
    Tree child;
    int parent[2];
    const bool made = make(library, parents, options, random, child, parent);
    lengths[row] = made ? child.size : 0;
    if (made) put_child(child, parents, parent, tokens + row * T, constants + row * constant_width, constant_width);
  }
}
