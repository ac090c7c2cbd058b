// What the algorithms that the core shares with the CUDA kernels (src/symseek/engines/shared) ask of a compiler. For
// the kernels, threads.cuh says it.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#ifdef SYMSEEK_ISA  // no copy of a function may be left over that only some machines can run
#define SHARED inline __attribute__((always_inline))
#else
#define SHARED inline
#endif
#define NOINLINE inline

namespace symseek {

using std::exp;
using std::fabs;
using std::isfinite;
using std::log;
using std::sqrt;
using std::tanh;

using uint8 = uint8_t;
using uint32 = uint32_t;
using uint64 = uint64_t;
using Token = int16_t;
using Value = int32_t;  // of a node in breeding

SHARED double infinity() { return HUGE_VAL; }
SHARED int lowest_bit(uint64 bits) { return __builtin_ctzll(bits); }
SHARED uint64 double_as_bits(double value) {
  uint64 bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

}  // namespace symseek
