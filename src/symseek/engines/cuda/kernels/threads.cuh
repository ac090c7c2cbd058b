// Threads, and what they share: the one place that knows whether kernels run on a GPU or, for tests, on the host.
//
// A kernel is written for any number of threads. A group is the threads that work on one program: threadIdx.x says
// which of them this is, and threadIdx.y which group of the block. A group is one warp, or the block is one group. On
// the host (SYMSEEK_HOST) every block has one thread, so loops over lanes become plain loops and sums are what they are.
#ifdef SYMSEEK_HOST
#include <cmath>
#include <cstdint>
#include <cstring>
using std::isfinite;
using std::isnan;
struct Place {
  int x = 0, y = 0;
};
inline Place threadIdx, blockIdx, blockDim{1, 1}, gridDim{1, 1};
#define __global__
#define __device__
#define __forceinline__ inline
#define __restrict__
#define __launch_bounds__(...)
inline void __syncthreads() {}
inline void __syncwarp() {}
template <class N>
N __ldg(const N* at) {
  return *at;
}
inline int __ffsll(unsigned long long bits) { return __builtin_ffsll(static_cast<long long>(bits)); }
inline int __popcll(unsigned long long bits) { return __builtin_popcountll(bits); }
inline float fast_exp(float x) { return std::exp(x); }
inline float fast_divide(float a, float b) { return a / b; }
inline void sincos(double a, double* sine, double* cosine) {
  *sine = std::sin(a);
  *cosine = std::cos(a);
}
inline double bits_as_double(unsigned long long bits) {
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline unsigned long long double_as_bits(double value) {
  unsigned long long bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
template <class N>
N atomicMax(N* at, N value) {
  const N found = *at;
  if (found < value) *at = value;
  return found;
}
template <class N>
N atomicMin(N* at, N value) {
  const N found = *at;
  if (value < found) *at = value;
  return found;
}
template <class N>
N atomicAdd(N* at, N value) {
  const N found = *at;
  *at += value;
  return found;
}
template <class N>
N atomicCAS(N* at, N expected, N value) {
  const N found = *at;
  if (found == expected) *at = value;
  return found;
}
alignas(16) inline char shared_memory[1 << 20];
struct alignas(16) float4 {
  float x, y, z, w;
};
constexpr int LANES = 1;  // of a warp
#else
constexpr int LANES = 32;
__device__ __forceinline__ float fast_exp(float x) { return __expf(x); }
__device__ __forceinline__ float fast_divide(float a, float b) { return __fdividef(a, b); }
__device__ __forceinline__ double bits_as_double(unsigned long long bits) {
  return __longlong_as_double((long long)bits);
}
__device__ __forceinline__ unsigned long long double_as_bits(double value) {
  return (unsigned long long)__double_as_longlong(value);
}
extern __shared__ __align__(16) char shared_memory[];
#endif

typedef unsigned int uint32;
typedef unsigned long long uint64;
typedef signed char int8;
typedef unsigned char uint8;
typedef short Token;  // as NumPy's int16; -1 beyond the end
typedef short Value;  // of a node in breeding, where programs are short

#define DEVICE __device__ __forceinline__
#define SHARED DEVICE  // of the text that the native core has too: engines/shared
#ifdef SYMSEEK_HOST
#define NOINLINE
#else
#define NOINLINE __device__ __noinline__
#endif
#define KERNEL extern "C" __global__ void

namespace symseek {}
using namespace symseek;

DEVICE int lowest_bit(uint64 bits) { return __ffsll(bits) - 1; }

// A number that stands for "no valid value" in the kernels.
DEVICE double infinity() { return 1.0 / 0.0 * 1.0; }

// The group of this thread among those of all blocks, and how many there are.
DEVICE long long group_index() { return (long long)blockIdx.x * blockDim.y + threadIdx.y; }
DEVICE long long group_count() { return (long long)gridDim.x * blockDim.y; }

// Makes what one thread of a group wrote to memory visible to the others.
DEVICE void group_sync() {
  if (blockDim.x <= 32)
    __syncwarp();
  else
    __syncthreads();
}

// The sum of a value over a group, the same in all its threads. Its order is fixed by the number of threads alone.
// `scratch` is shared memory for blockDim.x / 32 numbers of this group; a group of one warp needs none.
DEVICE double group_sum(double value, double* scratch) {
#ifndef SYMSEEK_HOST
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  if (blockDim.x > 32) {
    __syncthreads();  // the scratch may still be read
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0.0;
    for (int warp = 0; warp < blockDim.x / 32; ++warp) value += scratch[warp];
  }
#endif
  return value;
}

// Whether it is true for any thread of a group.
DEVICE bool group_any(bool value) {
#ifndef SYMSEEK_HOST
  if (blockDim.x > 32) return __syncthreads_or(value);
  return __any_sync(0xffffffffu, value);
#else
  return value;
#endif
}

// The sum and the largest of a value over a warp, the same in all its lanes.
DEVICE float warp_sum(float value) {
#ifndef SYMSEEK_HOST
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
#endif
  return value;
}
DEVICE float warp_max(float value) {
#ifndef SYMSEEK_HOST
  for (int offset = 16; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
#endif
  return value;
}

// Whether this block is the last of `count` that arrive; it then sees what the others wrote before they did.
DEVICE bool last_to_arrive(uint32& arrived, int count) {
#ifdef SYMSEEK_HOST
  return ++arrived == (uint32)count;
#else
  __threadfence();
  __syncthreads();
  const bool last = __syncthreads_or(threadIdx.x == 0 && atomicAdd(&arrived, 1u) + 1 == (uint32)count);
  __threadfence();
  return last;
#endif
}
