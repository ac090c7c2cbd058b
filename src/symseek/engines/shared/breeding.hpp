// New programs from others: crossover and mutation of subtrees, under the same constraint tables as sampling.
//
// An engine says before this file what a `Value` is, and gives: `Library`, with `rules` and lists of tokens, those of
// each arity and then all operators (`count`, `token`), and what is known of units: whether the whole of a tree agrees
// with them (`agrees`), whether one of its parts may stand for another (`matches`), that what is grown next shall have
// the dimension of a part (`aim`), and how many attempts at a child are made (`tries`); `Tree`, nodes and their `size`;
// and `Room` to work in: a `walk`, a set of tokens `allowed`, and another tree. Trees have room for the longest parent
// and the longest program.
#pragma once

#include "shared/random.hpp"
#include "shared/rules.hpp"

namespace symseek {

constexpr int TRIES = 8;       // to make a child that obeys the constraints
constexpr int NEW_TOKENS = 8;  // most tokens of a subtree that is grown anew
constexpr int DRAWS = 16;      // of a token, to find one that an argument may have
constexpr int NEW_VALUE = -1;

// A token and, where it is a constant, whose value it has: from 0 on those of the first parent in their order, from the
// width of the parents on those of the second, and NEW_VALUE for 1.
struct Node {
  Token token;
  Value value;
};

struct BreedOptions {
  int tournament;   // parents are the best of so many drawn at random
  float crossover;  // chance that a child gets a subtree of a second parent
  float mutation;   // chance that it is changed further
};

// The random numbers of one child, one after another.
struct Numbers {
  uint64 seed;
  uint32 child, iteration, generation;
  uint32 next = 0;
  int used = 4;
  Block4 block = {};

  SHARED uint32 bits() {
    if (used == 4) {
      block = philox(seed, next++, child, iteration, EVOLUTION + (generation << 8));
      used = 0;
    }
    return block.word[used++];
  }
  SHARED int below(int n) { return (int)(((uint64)bits() * (uint64)n) >> 32); }
  SHARED bool chance(float p) { return uniform(bits()) < p; }
};

// The programs of one run, and which of them may have children.
struct Parents {
  const Token* tokens;      // [rows, width]
  const int* lengths;       // [rows]
  const double* constants;  // [rows, constant_width]
  const double* fitness;    // [rows]
  const int* members;       // [count] rows, or null: the first ones
  int count, width, constant_width;
  int constant;  // the token of a placeholder, -1 if there is none

  SHARED int drawn(Numbers& random) const {
    const int member = random.below(count);
    return members ? members[member] : member;
  }
  // The best of some drawn at random.
  SHARED int selected(int tournament, Numbers& random) const {
    int best = drawn(random);
    for (int k = 1; k < tournament; ++k) {
      const int other = drawn(random);
      if (fitness[other] > fitness[best]) best = other;
    }
    return best;
  }
};

SHARED Node fresh(int token) { return Node{(Token)token, NEW_VALUE}; }

// Where a child is changed: inside one argument of its outermost operator if no other operator may be outermost, since
// each argument may have tokens of its own then; anywhere (root -1) otherwise.
struct Part {
  int root, argument;
};

// The tokens that may begin the argument.
template <class L>
SHARED const uint64* own_tokens(const L& library, const Part& part) {
  return library.rules.child_set(part.root, part.argument);
}

template <class L>
SHARED int count_tokens(const L& library, const uint64* set) {
  int count = 0;
  for (int w = 0; w < library.rules.words; ++w)
    for (uint64 left = set[w]; left; left &= left - 1) ++count;
  return count;
}

// Draws an argument that can be changed.
template <class L>
SHARED Part drawn_part(const L& library, Numbers& random) {
  const auto& rules = library.rules;
  const uint64* outermost = rules.child_set(rules.tokens, 0);
  if (count_tokens(library, outermost) != 1) return Part{-1, 0};
  int root = 0, free = 0;
  while (!is_in(outermost, root)) ++root;
  const int arity = rules.arity_of(root);
  const auto varies = [&](int argument) {
    return count_tokens(library, own_tokens(library, Part{root, argument})) > 1;
  };
  for (int argument = 0; argument < arity; ++argument) free += varies(argument);
  if (free == 0) return Part{-1, 0};
  int left = random.below(free), argument = 0;
  for (;; ++argument)
    if (varies(argument) && left-- == 0) return Part{root, argument};
}

template <class L>
SHARED int drawn(const L& library, int list, const Part& part, Numbers& random) {
  int token = library.token(list, random.below(library.count(list)));
  for (int draw = 1; part.root >= 0 && draw < DRAWS && !is_in(own_tokens(library, part), token); ++draw)
    token = library.token(list, random.below(library.count(list)));
  return token;
}

template <class L, class T>
SHARED int subtree_end(const L& library, const T& tree, int at) {
  for (int open = 1; open > 0; ++at) open += library.rules.arity_of(tree.node[at].token) - 1;
  return at;
}

// Draws a node, inside the part.
template <class L, class T>
SHARED int drawn_place(const L& library, const T& tree, const Part& part, Numbers& random) {
  if (part.root < 0) return random.below(tree.size);
  int begin = 1;
  for (int argument = 0; argument < part.argument; ++argument) begin = subtree_end(library, tree, begin);
  return begin + random.below(subtree_end(library, tree, begin) - begin);
}

template <class T>
SHARED void copy(const Parents& parents, int row, int first_value, T& to) {
  to.size = parents.lengths[row];
  int value = first_value;
  for (int i = 0; i < to.size; ++i) {
    const Token token = parents.tokens[(long long)row * parents.width + i];
    to.node[i] = Node{token, (Value)(token == parents.constant ? value++ : NEW_VALUE)};
  }
}

// Puts `count` nodes in the place of the tree's from `begin` to `end`. They may be nodes of the tree itself if these
// lie behind `begin` and are not more than what they replace.
template <class T>
SHARED void splice(T& tree, int begin, int end, const Node* piece, int count) {
  const int shift = count - (end - begin);
  if (shift > 0)
    for (int i = tree.size - 1; i >= end; --i) tree.node[i + shift] = tree.node[i];
  for (int i = 0; i < count; ++i) tree.node[begin + i] = piece[i];
  if (shift < 0)
    for (int i = end; i < tree.size; ++i) tree.node[i + shift] = tree.node[i];
  tree.size += shift;
}

template <class L, class T>
SHARED bool cross(const L& library, T& child, const T& other, const Part& part, Numbers& random) {
  const int at = drawn_place(library, child, part, random), end = subtree_end(library, child, at);
  int from = drawn_place(library, other, part, random);
  for (int draw = 1; draw < DRAWS && !library.matches(child, at, other, from); ++draw)
    from = drawn_place(library, other, part, random);
  const int count = subtree_end(library, other, from) - from;
  if (child.size - (end - at) + count > library.rules.max_length) return false;
  splice(child, at, end, &other.node[from], count);
  return true;
}

// Grows a subtree of at most about `most` tokens for place `at` of the child, token by token as the tables allow.
template <class L, class T, class R>
SHARED bool grow(const L& library, const T& child, int at, int most, Numbers& random, R& room) {
  const auto& rules = library.rules;
  T& grown = room.other;
  begin(rules, room.walk);
  for (int i = 0; i < at; ++i) extend(rules, room.walk, child.node[i].token);
  grown.size = 0;
  library.aim(room.walk, child, at);
  for (int open = 1; open > 0;) {
    if (at + grown.size >= rules.max_length) return false;
    allowed_next(rules, room.walk, room.allowed);
    const bool small = grown.size + open >= most;
    const auto may = [&](int token) { return is_in(room.allowed, token) && !(small && rules.arity_of(token) > 0); };
    int choices = 0;
    for (int token = 0; token < rules.tokens; ++token) choices += may(token);
    if (choices == 0) return false;
    int left = random.below(choices), token = 0;
    for (;; ++token)
      if (may(token) && left-- == 0) break;
    grown.node[grown.size++] = fresh(token);
    open += rules.arity_of(token) - 1;
    extend(rules, room.walk, token);
  }
  return true;
}

// A subtree gives way to a new one.
template <class L, class T, class R>
SHARED bool regrow(const L& library, T& child, const Part& part, Numbers& random, R& room) {
  const int at = drawn_place(library, child, part, random), end = subtree_end(library, child, at);
  if (!grow(library, child, at, 1 + random.below(NEW_TOKENS), random, room)) return false;
  if (child.size - (end - at) + room.other.size > library.rules.max_length) return false;
  splice(child, at, end, &room.other.node[0], room.other.size);
  return true;
}

// A token gives way to another of its arity.
template <class L, class T>
SHARED bool exchange(const L& library, T& child, const Part& part, Numbers& random) {
  const int at = drawn_place(library, child, part, random);
  const int token = drawn(library, library.rules.arity_of(child.node[at].token), part, random);
  if (token == child.node[at].token) return false;
  child.node[at] = fresh(token);
  return true;
}

// An operator comes between a node and its parent; its other operands are terminals.
template <class L, class T, class R>
SHARED bool insert(const L& library, T& child, const Part& part, Numbers& random, R& room) {
  const int operators = library.rules.max_arity + 1;
  if (library.count(operators) == 0) return false;
  const int at = drawn_place(library, child, part, random), end = subtree_end(library, child, at);
  const int above = drawn(library, operators, part, random);
  const int arity = library.rules.arity_of(above), place = random.below(arity);
  if (child.size + arity > library.rules.max_length) return false;
  T& grown = room.other;
  grown.node[0] = fresh(above);
  grown.size = 1;
  for (int k = 0; k < arity; ++k) {
    if (k == place)
      for (int i = at; i < end; ++i) grown.node[grown.size++] = child.node[i];
    else
      grown.node[grown.size++] = fresh(drawn(library, 0, part, random));
  }
  splice(child, at, end, &grown.node[0], grown.size);
  return true;
}

// An operator gives way to one of its operands.
template <class L, class T>
SHARED bool hoist(const L& library, T& child, const Part& part, Numbers& random) {
  const int at = drawn_place(library, child, part, random), arity = library.rules.arity_of(child.node[at].token);
  if (arity == 0) return false;
  int from = at + 1;
  for (int place = random.below(arity); place > 0; --place) from = subtree_end(library, child, from);
  const int count = subtree_end(library, child, from) - from;
  splice(child, at, subtree_end(library, child, at), &child.node[from], count);
  return true;
}

template <class L, class T, class R>
SHARED bool mutate(const L& library, T& child, const Part& part, Numbers& random, R& room) {
  switch (random.below(4)) {
    case 0: return regrow(library, child, part, random, room);
    case 1: return exchange(library, child, part, random);
    case 2: return insert(library, child, part, random, room);
    default: return hoist(library, child, part, random);
  }
}

template <class T>
SHARED bool differs(const T& child, const Parents& parents, int row) {
  if (child.size != parents.lengths[row]) return true;
  for (int i = 0; i < child.size; ++i)
    if (child.node[i].token != parents.tokens[(long long)row * parents.width + i]) return true;
  return false;
}

// One child, of the rows in `parent`; false when no attempt obeys the constraints and differs from its parent.
template <class L, class T, class R>
SHARED bool make(const L& library, const Parents& parents, const BreedOptions& options, Numbers& random, R& room,
                 T& child, int (&parent)[2]) {
  parent[0] = parent[1] = parents.selected(options.tournament, random);
  for (int attempt = 0; attempt < library.tries(); ++attempt) {
    copy(parents, parent[0], 0, child);
    const Part part = drawn_part(library, random);
    bool made = true;
    if (random.chance(options.crossover)) {
      parent[1] = parents.selected(options.tournament, random);
      copy(parents, parent[1], parents.width, room.other);
      made = cross(library, child, room.other, part, random);
    }
    if (made && random.chance(options.mutation)) made = mutate(library, child, part, random, room);
    if (made && differs(child, parents, parent[0]) && library.agrees(child) &&
        obeys(library.rules, room.walk, room.allowed, child.size, [&](int i) { return (int)child.node[i].token; }))
      return true;
  }
  return false;
}

// Makes a child and writes its tokens [max_length], -1 beyond the end, and its constants [constant_width], 1 beyond the
// last. Gives its length, 0 if there is none.
template <class L, class T, class R>
SHARED int breed_one(const L& library, const Parents& parents, const BreedOptions& options, Numbers random, R& room,
                     T& child, Token* tokens, double* constants, int constant_width) {
  int parent[2], count = 0;
  if (!make(library, parents, options, random, room, child, parent)) return 0;
  for (int i = 0; i < library.rules.max_length; ++i) {
    tokens[i] = i < child.size ? child.node[i].token : (Token)-1;
    if (i >= child.size || child.node[i].token != parents.constant) continue;
    const int value = child.node[i].value;
    const long long row = parent[value >= parents.width];
    constants[count++] =
        value == NEW_VALUE ? 1.0 : parents.constants[row * parents.constant_width + value % parents.width];
  }
  for (; count < constant_width; ++count) constants[count] = 1.0;
  return child.size;
}

}  // namespace symseek
