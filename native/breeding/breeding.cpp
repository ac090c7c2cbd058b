#include "breeding/breeding.hpp"

#include <algorithm>

#include "shared/breeding.hpp"
#include "shared/keys.hpp"

namespace symseek {

static constexpr int GROUP = 16;  // children that a thread makes at a time
static constexpr int TRIES_WITH_UNITS = 64;

namespace {

struct Tree {
  std::vector<Node> node;
  int size = 0;
};

struct Library {
  const Rules& rules;
  const std::vector<std::vector<TokenId>>& alike;

  int count(int list) const { return static_cast<int>(alike[list].size()); }
  int token(int list, int i) const { return alike[list][i]; }
  // Units make most attempts fail, and are looked at first.
  int tries() const { return rules.units.given ? TRIES_WITH_UNITS : TRIES; }

  int end(const Tree& tree, int at) const {
    for (int open = 1; open > 0; ++at) open += rules.arity[tree.node[at].token] - 1;
    return at;
  }
  bool dimension(const Tree& tree, int at, Quantity& out) const {
    return rules.units.dimension([&](int i) { return tree.node[i].token; }, at, end(tree, at), out);
  }
  bool agrees(const Tree& tree) const {
    Quantity found;
    return !rules.units.given || (dimension(tree, 0, found) && rules.units.suits(found));
  }
  bool matches(const Tree& tree, int at, const Tree& other, int from) const {
    Quantity one, two;
    if (!rules.units.given || !dimension(tree, at, one) || !dimension(other, from, two)) return true;
    return one.wild || two.wild || one.dim == two.dim;
  }
  void aim(Walk& walk, const Tree& tree, int at) const {
    Quantity found;
    if (rules.units.given && walk.frame >= 0 && dimension(tree, at, found) && !found.wild)
      walk.frames.aim(walk.frame, found.dim);
  }
};

struct Room {
  Walk walk;
  std::vector<Word> words;
  Word* allowed = nullptr;
  Tree other, child;
};

}  // namespace

struct Breeder::Scratch : Room {};

Breeder::Breeder(std::shared_ptr<const Rules> rules, int constant, std::shared_ptr<Pool> pool)
    : shared_rules_(std::move(rules)),
      rules_(*shared_rules_),
      constant_(constant),
      pool_(std::move(pool)),
      scratch_(pool_->threads()) {
  alike_.resize(rules_.max_arity + 2);
  for (int token = 0; token < rules_.tokens; ++token) {
    alphabet_.add(rules_.arity[token], token == constant_);
    alike_[rules_.arity[token]].push_back(static_cast<TokenId>(token));
    if (rules_.arity[token] > 0) alike_.back().push_back(static_cast<TokenId>(token));
  }
  for (Scratch& scratch : scratch_) {
    scratch.words.resize(rules_.words);
    scratch.allowed = scratch.words.data();
  }
}
Breeder::~Breeder() = default;

bool Breeder::add_new(const TokenId* tokens, int length) {
  return seen_.insert(program_key(tokens, length, nullptr, 0, 0).low).second;
}

void Breeder::begin(const Batch& programs) {
  seen_.clear();
  for (int i = 0; i < programs.programs; ++i)
    add_new(programs.tokens + size_t(i) * programs.width, programs.lengths[i]);
}

void Breeder::admit(const Batch& programs, bool* ok) {
  Scratch& scratch = scratch_[0];
  for (int i = 0; i < programs.programs; ++i) {
    const TokenId* row = programs.tokens + size_t(i) * programs.width;
    ok[i] = obeys(rules_, scratch.walk, scratch.allowed, programs.lengths[i], [&](int t) { return row[t]; }) &&
            add_new(row, programs.lengths[i]);
  }
}

int Breeder::breed(const Batch& batch, const double* fitness, const Draw& draw, const BreedOptions& options,
                   int children, TokenId* tokens, int32_t* lengths, double* constants, int width) {
  const Library library{rules_, alike_};
  const Parents parents{batch.tokens,   batch.lengths, batch.constants,      fitness,  nullptr,
                        batch.programs, batch.width,   batch.constant_width, constant_};
  const size_t longest = std::max(batch.width, rules_.max_length);
  pool_->each((children + GROUP - 1) / GROUP, [&](int group, int thread) {
    Scratch& scratch = scratch_[thread];
    for (Tree* tree : {&scratch.child, &scratch.other})
      if (tree->node.size() < longest) tree->node.resize(longest);
    for (int i = group * GROUP; i < std::min(children, (group + 1) * GROUP); ++i) {
      const Numbers random{draw.seed, static_cast<uint32_t>(i), draw.iteration, draw.generation};
      lengths[i] = breed_one(library, parents, options, random, static_cast<Room&>(scratch), scratch.child,
                             tokens + size_t(i) * rules_.max_length, constants + size_t(i) * width, width);
    }
  });
  int count = 0;
  for (int i = 0; i < children; ++i) {  // in order, so that who comes first does not depend on the threads
    const TokenId* row = tokens + size_t(i) * rules_.max_length;
    if (lengths[i] == 0 || !add_new(row, lengths[i])) continue;
    std::copy_n(row, rules_.max_length, tokens + size_t(count) * rules_.max_length);
    std::copy_n(constants + size_t(i) * width, width, constants + size_t(count) * width);
    lengths[count++] = lengths[i];
  }
  return count;
}

}  // namespace symseek
