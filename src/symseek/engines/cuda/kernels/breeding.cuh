// Children of programs (shared/breeding.hpp), with the random numbers of the native core, so that they are the very same. A
// thread makes one child.

struct Tree {
  Node node[T];
  int size;
};

// Lists of tokens, rows of 1 + L numbers: a count and so many tokens.
struct Library {
  const Rules& rules;
  const int* alike;

  DEVICE int count(int list) const { return alike[list * (L + 1)]; }
  DEVICE int token(int list, int i) const { return alike[list * (L + 1) + 1 + i]; }
  // Programs with units are bred on the host.
  DEVICE int tries() const { return TRIES; }
  DEVICE bool agrees(const Tree&) const { return true; }
  DEVICE bool matches(const Tree&, int, const Tree&, int) const { return true; }
  template <class W>
  DEVICE void aim(W&, const Tree&, int) const {}
};

struct Room {
  Walk walk;
  uint64 allowed[WORDS];
  Tree other;
};

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
  const BreedOptions options{tournament, crossover, mutation};
  const long long from = (long long)run * parent_rows;
  const Parents parents{parent_tokens + from * parent_width,
                        parent_lengths + from,
                        parent_constants + from * parent_constant_width,
                        fitness + from,
                        members ? members + (long long)run * member_rows : nullptr,
                        parent_counts[run],
                        parent_width,
                        parent_constant_width,
                        CONSTANT_TOKEN};
  for (int i = (blockIdx.x % parts) * blockDim.x + threadIdx.x; i < wanted[run]; i += parts * blockDim.x) {
    const Numbers random{seeds[run], (uint32)i, (uint32)iterations[run], (uint32)generation};
    const long long row = (long long)run * rows + i;
    Room room;
    Tree child;
    lengths[row] = breed_one(library, parents, options, random, room, child, tokens + row * T,
                             constants + row * constant_width, constant_width);
  }
}
