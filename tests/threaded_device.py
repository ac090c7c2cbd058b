"""A device of the CUDA engine without a GPU, with as many threads a block as a GPU would have.

The lanes of a block are threads of the host that meet at barriers, and a few blocks run at a time.
That is slow, but it takes the ways of the kernels that the host device, with one thread a block,
does not: sums over warps and blocks, memory that threads share, and who waits for whom.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

from host_device import HostDevice, _compiled, _passed
from symseek.engines.cuda.source import kernel_text

# What a GPU has, in the place of what `threads.cuh` begins with. Names begin with threaded_, since
# a process has only one variable of a name, and libraries of the host device use the others.
_HEAD = r"""
#undef SYMSEEK_HOST
#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <thread>
#include <utility>
#include <vector>
#define threadIdx threaded_lane
#define blockIdx threaded_block
#define blockDim threaded_size
#define gridDim threaded_blocks
#define shared_memory threaded_own->memory
#define __global__
#define __device__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
using std::isfinite;
using std::isnan;
struct Place {
  int x = 0, y = 0;
};
static thread_local Place threadIdx, blockIdx;
static Place blockDim, gridDim;
struct Block {  // what its threads share
  std::barrier<> whole;
  std::deque<std::barrier<>> warps;
  std::vector<double> given;  // by each thread
  std::unique_ptr<double[]> room{new double[1 << 17]};
  char* memory = (char*)room.get();
  explicit Block(int threads) : whole(threads), given(threads) {
    for (int i = 0; i < threads / 32; ++i) warps.emplace_back(32);
  }
};
static thread_local Block* threaded_own;
inline int lane() { return threadIdx.y * blockDim.x + threadIdx.x; }
inline void __syncthreads() { threaded_own->whole.arrive_and_wait(); }
inline void __threadfence() {}
inline unsigned atomicAdd(unsigned* to, unsigned value) {
  return __atomic_fetch_add(to, value, __ATOMIC_SEQ_CST);
}
inline void __syncwarp() { threaded_own->warps[lane() / 32].arrive_and_wait(); }
template <class T>
T __shfl_xor_sync(unsigned, T value, int offset) {
  threaded_own->given[lane()] = value;
  __syncwarp();
  const T found = (T)threaded_own->given[lane() ^ offset];
  __syncwarp();
  return found;
}
template <class T>
T __shfl_sync(unsigned, T value, int from) {
  threaded_own->given[lane()] = value;
  __syncwarp();
  const T found = (T)threaded_own->given[lane() / 32 * 32 + from];
  __syncwarp();
  return found;
}
template <class T>
T __ldg(const T* at) {
  return *at;
}
inline bool any_of(int begin, int end) {
  bool found = false;
  for (int i = begin; i < end; ++i) found = found || threaded_own->given[i] != 0.0;
  return found;
}
inline bool __any_sync(unsigned, bool value) {
  threaded_own->given[lane()] = value;
  __syncwarp();
  const bool found = any_of(lane() / 32 * 32, lane() / 32 * 32 + 32);
  __syncwarp();
  return found;
}
inline bool __syncthreads_or(bool value) {
  threaded_own->given[lane()] = value;
  __syncthreads();
  const bool found = any_of(0, (int)threaded_own->given.size());
  __syncthreads();
  return found;
}
constexpr int LANES = 32;
struct alignas(16) float4 {
  float x, y, z, w;
};
inline float fast_exp(float x) { return std::exp(x); }
inline float fast_divide(float a, float b) { return a / b; }
inline int __ffsll(unsigned long long bits) { return __builtin_ffsll((long long)bits); }
inline int __popcll(unsigned long long bits) { return __builtin_popcountll(bits); }
inline double bits_as_double(unsigned long long bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
inline unsigned long long double_as_bits(double value) {
  unsigned long long bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
constexpr auto ORDER = __ATOMIC_SEQ_CST;
template <class N>
N atomicCAS(N* at, N expected, N value) {
  __atomic_compare_exchange_n(at, &expected, value, false, ORDER, ORDER);
  return expected;
}
template <class N>
N atomicAdd(N* at, N value) {
  return __atomic_fetch_add(at, value, ORDER);
}
template <class N>
N atomicMin(N* at, N value) {
  N found = __atomic_load_n(at, ORDER);
  while (value < found && !__atomic_compare_exchange_n(at, &found, value, false, ORDER, ORDER)) {
  }
  return found;
}
template <class N>
N atomicMax(N* at, N value) {
  N found = __atomic_load_n(at, ORDER);
  while (found < value && !__atomic_compare_exchange_n(at, &found, value, false, ORDER, ORDER)) {
  }
  return found;
}
inline int __double2hiint(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (int)(bits >> 32);
}
"""

_TAIL = r"""
template <class... A, size_t... I>
void launch(int blocks, int x, int y, void (*kernel)(A...), void** arguments,
            std::index_sequence<I...>) {
  constexpr int AT_ONCE = 4;
  blockDim = {x, y};
  gridDim = {blocks, 1};
  for (int first = 0; first < blocks; first += AT_ONCE) {
    std::deque<Block> running;
    std::vector<std::thread> threads;
    for (int block = first; block < blocks && block < first + AT_ONCE; ++block) {
      Block* own = &running.emplace_back(x * y);
      for (int i = 0; i < x * y; ++i)
        threads.emplace_back([=] {
          threadIdx = {i % x, i / x};
          blockIdx = {block, 0};
          threaded_own = own;
          kernel(*(A*)arguments[I]...);
          own->whole.arrive_and_drop();
          own->warps[i / 32].arrive_and_drop();
        });
    }
    for (auto& each : threads) each.join();
  }
}
template <class... A>
void launch(int blocks, int x, int y, void (*kernel)(A...), void** arguments) {
  launch(blocks, x, y, kernel, arguments, std::index_sequence_for<A...>{});
}
"""

_ENTRY = """
extern "C" void launch_{name}(int blocks, int x, int y, void** arguments) {{
  launch(blocks, x, y, {name}, arguments);
}}
"""


class ThreadedDevice(HostDevice):
    """Runs kernels a few blocks at a time, each with all its threads."""

    name = "threads of the host"
    warp = 32

    def compile(self, source: str, names: Sequence[str]) -> Mapping[str, Any]:
        head, end, _ = kernel_text("threads.cuh").partition("\n#endif\n")
        body = source.replace(head + end, "")
        entries = "".join(_ENTRY.format(name=name) for name in names)
        library = ctypes.CDLL(str(_compiled(_HEAD + body + _TAIL + entries, "-std=c++20")))
        return {name: _Threaded(getattr(library, f"launch_{name}")) for name in names}


class _Threaded:
    def __init__(self, function: Any) -> None:
        self._function = function

    def __call__(
        self, blocks: int, threads: tuple[int, int], arguments: Sequence[Any], shared: int = 0
    ) -> None:
        assert shared <= 1 << 20
        held = [_passed(each) for each in arguments]
        places = (ctypes.c_void_p * len(held))(*map(ctypes.addressof, held))
        self._function(blocks, *threads, places)
