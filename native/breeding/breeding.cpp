#include "breeding/breeding.hpp"

#include <algorithm>

#include "shared/random.hpp"

namespace symseek {

namespace {

constexpr int TRIES = 8;       // to make a child that obeys the constraints
constexpr int NEW_TOKENS = 8;  // most tokens of a subtree that is grown anew
constexpr int GROUP = 16;      // children that a thread makes at a time

}  // namespace

struct Breeder::Child {
  std::vector<TokenId> tokens;
  std::vector<double> constants;
};

struct Breeder::Scratch {
  Child child, parent, other, grown, spliced;
  Frames frames;
  std::vector<Word> allowed;
  std::vector<TokenId> choices;
};

// The random numbers of one child, one after another.
class Breeder::RandomNumbers {
 public:
  RandomNumbers(const Draw& draw, uint32_t child) : draw_(draw), child_(child) {}
  uint32_t bits() {
    if (used_ == 4) {
      block_ = philox(draw_.seed, next_++, child_, draw_.iteration, EVOLUTION + (draw_.generation << 8));
      used_ = 0;
    }
    return block_.word[used_++];
  }
  int below(int n) { return static_cast<int>((uint64_t(bits()) * uint64_t(n)) >> 32); }
  bool chance(float p) { return uniform(bits()) < p; }

 private:
  Draw draw_;
  uint32_t child_, next_ = 0;
  Block4 block_{};
  int used_ = 4;
};

Breeder::Breeder(std::shared_ptr<const Rules> rules, int constant, std::shared_ptr<Pool> pool)
    : shared_rules_(std::move(rules)),
      rules_(*shared_rules_),
      constant_(constant),
      pool_(std::move(pool)),
      scratch_(pool_->threads()) {
  of_arity_.resize(rules_.max_arity + 1);
  for (int token = 0; token < rules_.tokens; ++token) {
    alphabet_.add(rules_.arity[token], token == constant_);
    of_arity_[rules_.arity[token]].push_back(static_cast<TokenId>(token));
    if (rules_.arity[token] > 0) operators_.push_back(static_cast<TokenId>(token));
  }
  for (Scratch& scratch : scratch_) scratch.allowed.resize(rules_.words);
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
    ok[i] = obeys(rules_, scratch.frames, scratch.allowed.data(), row, programs.lengths[i]) &&
            add_new(row, programs.lengths[i]);
  }
}

int Breeder::breed(const Batch& parents, const double* fitness, const Draw& draw, const BreedOptions& options,
                   int children, TokenId* tokens, int32_t* lengths, double* constants, int width) {
  pool_->each((children + GROUP - 1) / GROUP, [&](int group, int thread) {
    Scratch& scratch = scratch_[thread];
    for (int i = group * GROUP; i < std::min(children, (group + 1) * GROUP); ++i) {
      RandomNumbers random(draw, static_cast<uint32_t>(i));
      lengths[i] = 0;
      if (!make(parents, fitness, options, random, scratch)) continue;
      const Child& child = scratch.child;
      TokenId* row = tokens + size_t(i) * rules_.max_length;
      std::fill(std::copy(child.tokens.begin(), child.tokens.end(), row), row + rules_.max_length, TokenId{-1});
      lengths[i] = static_cast<int32_t>(child.tokens.size());
      double* values = constants + size_t(i) * width;
      std::fill(std::copy(child.constants.begin(), child.constants.end(), values), values + width, 1.0);
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

// One child; false when no attempt obeys the constraints and differs from its parent.
bool Breeder::make(const Batch& parents, const double* fitness, const BreedOptions& options, RandomNumbers& random,
                   Scratch& scratch) const {
  const auto select = [&] {
    int best = random.below(parents.programs);
    for (int k = 1; k < options.tournament; ++k) {
      const int other = random.below(parents.programs);
      if (fitness[other] > fitness[best]) best = other;
    }
    return best;
  };
  copy(parents, select(), scratch.parent);
  for (int attempt = 0; attempt < TRIES; ++attempt) {
    scratch.child = scratch.parent;
    bool made = true;
    if (random.chance(options.crossover)) {
      copy(parents, select(), scratch.other);
      made = cross(scratch.child, scratch.other, random, scratch);
    }
    if (made && random.chance(options.mutation)) made = mutate(scratch.child, random, scratch);
    if (made && scratch.child.tokens != scratch.parent.tokens &&
        obeys(rules_, scratch.frames, scratch.allowed.data(), scratch.child.tokens.data(),
              static_cast<int>(scratch.child.tokens.size())))
      return true;
  }
  return false;
}

void Breeder::copy(const Batch& parents, int parent, Child& to) const {
  const TokenId* row = parents.tokens + size_t(parent) * parents.width;
  to.tokens.assign(row, row + parents.lengths[parent]);
  const auto count = std::count(to.tokens.begin(), to.tokens.end(), static_cast<TokenId>(constant_));
  const double* values = parents.constants + size_t(parent) * parents.constant_width;
  to.constants.assign(values, values + count);
}

int Breeder::subtree_end(const Child& child, int at) const {
  for (int open = 1; open > 0; ++at) open += rules_.arity[child.tokens[at]] - 1;
  return at;
}

int Breeder::constants_before(const Child& child, int at) const {
  return static_cast<int>(std::count(child.tokens.begin(), child.tokens.begin() + at, static_cast<TokenId>(constant_)));
}

// Puts tokens of `from` in the place of child's, constants with them.
void Breeder::splice(Child& child, int begin, int end, const Child& from, int from_begin, int from_end,
                     Scratch& scratch) const {
  Child& out = scratch.spliced;
  const auto join = [](auto& to, const auto& a, int begin, int end, const auto& b, int from_begin, int from_end) {
    to.assign(a.begin(), a.begin() + begin);
    to.insert(to.end(), b.begin() + from_begin, b.begin() + from_end);
    to.insert(to.end(), a.begin() + end, a.end());
  };
  join(out.constants, child.constants, constants_before(child, begin), constants_before(child, end), from.constants,
       constants_before(from, from_begin), constants_before(from, from_end));
  join(out.tokens, child.tokens, begin, end, from.tokens, from_begin, from_end);
  std::swap(child, out);
}

bool Breeder::cross(Child& child, const Child& other, RandomNumbers& random, Scratch& scratch) const {
  const int at = random.below(static_cast<int>(child.tokens.size())), end = subtree_end(child, at);
  const int from = random.below(static_cast<int>(other.tokens.size())), from_end = subtree_end(other, from);
  if (static_cast<int>(child.tokens.size()) - (end - at) + (from_end - from) > rules_.max_length) return false;
  splice(child, at, end, other, from, from_end, scratch);
  return true;
}

bool Breeder::mutate(Child& child, RandomNumbers& random, Scratch& scratch) const {
  switch (random.below(4)) {
    case 0: return regrow(child, random, scratch);
    case 1: return exchange(child, random);
    case 2: return insert(child, random, scratch);
    default: return hoist(child, random, scratch);
  }
}

// Grows a subtree of at most about `most` tokens for place `at` of the child, token by token as the tables allow.
bool Breeder::grow(const Child& child, int at, int most, RandomNumbers& random, Scratch& scratch) const {
  Frames& frames = scratch.frames;
  frames.clear();
  Prefix prefix = empty_prefix(rules_);
  for (int i = 0; i < at; ++i) prefix = extend(rules_, frames, prefix, child.tokens[i]);
  Child& grown = scratch.grown;
  grown.tokens.clear();
  grown.constants.clear();
  for (int open = 1; open > 0;) {
    const int length = at + static_cast<int>(grown.tokens.size());
    if (length >= rules_.max_length) return false;
    allowed_next(rules_, frames, prefix, length, scratch.allowed.data());
    const bool small = static_cast<int>(grown.tokens.size()) + open >= most;
    scratch.choices.clear();
    for (int token = 0; token < rules_.tokens; ++token)
      if ((scratch.allowed[token / 64] >> (token % 64) & 1) && !(small && rules_.arity[token] > 0))
        scratch.choices.push_back(static_cast<TokenId>(token));
    if (scratch.choices.empty()) return false;
    const TokenId token = scratch.choices[random.below(static_cast<int>(scratch.choices.size()))];
    grown.tokens.push_back(token);
    if (token == constant_) grown.constants.push_back(1.0);
    open += rules_.arity[token] - 1;
    prefix = extend(rules_, frames, prefix, token);
  }
  return true;
}

// A subtree gives way to a new one.
bool Breeder::regrow(Child& child, RandomNumbers& random, Scratch& scratch) const {
  const int at = random.below(static_cast<int>(child.tokens.size())), end = subtree_end(child, at);
  if (!grow(child, at, 1 + random.below(NEW_TOKENS), random, scratch)) return false;
  const int size = static_cast<int>(scratch.grown.tokens.size());
  if (static_cast<int>(child.tokens.size()) - (end - at) + size > rules_.max_length) return false;
  splice(child, at, end, scratch.grown, 0, size, scratch);
  return true;
}

// A token gives way to another of its arity.
bool Breeder::exchange(Child& child, RandomNumbers& random) const {
  const int at = random.below(static_cast<int>(child.tokens.size()));
  const auto& alike = of_arity_[rules_.arity[child.tokens[at]]];
  const TokenId token = alike[random.below(static_cast<int>(alike.size()))];
  if (token == child.tokens[at]) return false;
  const auto place = child.constants.begin() + constants_before(child, at);
  if (child.tokens[at] == constant_)
    child.constants.erase(place);
  else if (token == constant_)
    child.constants.insert(place, 1.0);
  child.tokens[at] = token;
  return true;
}

// An operator comes between a node and its parent; its other operands are terminals.
bool Breeder::insert(Child& child, RandomNumbers& random, Scratch& scratch) const {
  if (operators_.empty()) return false;
  const int at = random.below(static_cast<int>(child.tokens.size())), end = subtree_end(child, at);
  const TokenId above = operators_[random.below(static_cast<int>(operators_.size()))];
  const int arity = rules_.arity[above], place = random.below(arity);
  if (static_cast<int>(child.tokens.size()) + arity > rules_.max_length) return false;
  Child& grown = scratch.grown;
  grown.tokens.assign(1, above);
  grown.constants.clear();
  const auto& terminals = of_arity_[0];
  for (int k = 0; k < arity; ++k) {
    if (k == place) {
      grown.tokens.insert(grown.tokens.end(), child.tokens.begin() + at, child.tokens.begin() + end);
      grown.constants.insert(grown.constants.end(), child.constants.begin() + constants_before(child, at),
                             child.constants.begin() + constants_before(child, end));
    } else {
      const TokenId token = terminals[random.below(static_cast<int>(terminals.size()))];
      grown.tokens.push_back(token);
      if (token == constant_) grown.constants.push_back(1.0);
    }
  }
  splice(child, at, end, grown, 0, static_cast<int>(grown.tokens.size()), scratch);
  return true;
}

// An operator gives way to one of its operands.
bool Breeder::hoist(Child& child, RandomNumbers& random, Scratch& scratch) const {
  const int at = random.below(static_cast<int>(child.tokens.size())), arity = rules_.arity[child.tokens[at]];
  if (arity == 0) return false;
  int from = at + 1;
  for (int place = random.below(arity); place > 0; --place) from = subtree_end(child, from);
  scratch.grown = child;
  splice(child, at, subtree_end(child, at), scratch.grown, from, subtree_end(scratch.grown, from), scratch);
  return true;
}

}  // namespace symseek
