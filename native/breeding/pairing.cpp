#include "breeding/pairing.hpp"

#include <algorithm>

namespace symseek {

void find_pairs(const PairSearch& search, Pool& pool, double* error, int64_t* index) {
  pool.each(search.programs, [&](int i, int) {
    Pairing task{search.rows,
                 search.candidates,
                 search.values + size_t(i) * search.rows,
                 search.candidate_values,
                 search.inverses,
                 search.target,
                 search.weight,
                 search.penalty + size_t(i) * search.candidates,
                 {},
                 {}};
    kernels().pair(task);
    std::copy_n(task.error, PAIR_KINDS, error + size_t(i) * PAIR_KINDS);
    std::copy_n(task.index, PAIR_KINDS, index + size_t(i) * PAIR_KINDS);
  });
}

}  // namespace symseek
