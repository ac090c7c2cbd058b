// Pairs of programs whose values, added, subtracted, multiplied or divided, come near to the target.
#pragma once

#include "pool.hpp"
#include "simd/kernels.hpp"

namespace symseek {

// For each of some programs, with values [P, N], the candidate that completes it best, by each of the PAIR_KINDS.
struct PairSearch {
  int programs, rows, candidates;  // P, N, Q: Q is a multiple of DOUBLE_LANES
  const double* values;            // [P, N]
  const double* candidate_values;  // [N, Q]
  const double* inverses;          // [N, Q] 1 / candidate_values
  const double* target;            // [N]
  const double* weight;            // [N]
  const double* penalty;           // [P, Q] 0, or infinity for pairs that must not be taken
};

// Fills the squared errors [P, PAIR_KINDS] and the candidates [P, PAIR_KINDS]: infinity and -1 where there is none.
void find_pairs(const PairSearch& search, Pool& pool, double* error, int64_t* index);

}  // namespace symseek
