// breeding/: new programs from others: crossover, mutation, and pairs of matching values.
//
// Children of programs: crossover and mutation of subtrees, under the same constraint tables as sampling.
#pragma once

#include <memory>
#include <unordered_set>
#include <vector>

#include "evaluation/evaluator.hpp"
#include "policy/rules.hpp"
#include "pool.hpp"
#include "shared/breeding.hpp"

namespace symseek {

// Where the random numbers of a generation come from.
struct Draw {
  uint64_t seed;
  uint32_t iteration, generation;
};

class Breeder {
 public:
  // `constant` is the id of the placeholder, -1 if there is none.
  Breeder(std::shared_ptr<const Rules> rules, int constant, std::shared_ptr<Pool> pool);
  ~Breeder();
  Breeder(const Breeder&) = delete;
  Breeder& operator=(const Breeder&) = delete;

  // Forgets the programs seen so far, and remembers these.
  void begin(const Batch& programs);
  // Which programs obey the constraints and are new; they count as seen afterwards.
  void admit(const Batch& programs, bool* ok);
  // Fills tokens [children, max_length], lengths [children] and constants [children, width] with children that have
  // not been seen since `begin`, and returns how many there are. All obey the constraints.
  int breed(const Batch& parents, const double* fitness, const Draw& draw, const BreedOptions& options, int children,
            TokenId* tokens, int32_t* lengths, double* constants, int width);

  const Alphabet& alphabet() const { return alphabet_; }
  const Rules& rules() const { return rules_; }
  // How many constants the child with most of them may have.
  int most_constants() const { return constant_ < 0 ? 0 : rules_.max_length; }

 private:
  struct Scratch;
  bool add_new(const TokenId* tokens, int length);

  std::shared_ptr<const Rules> shared_rules_;
  const Rules& rules_;
  int constant_;
  std::shared_ptr<Pool> pool_;
  Alphabet alphabet_;
  std::vector<std::vector<TokenId>> alike_;  // tokens of each arity, then all operators
  std::vector<Scratch> scratch_;
  std::unordered_set<uint64_t> seen_;  // hashes of token sequences; two that collide cost one child
};

}  // namespace symseek
