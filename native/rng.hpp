// Counter-based random numbers (Philox4x32-10; Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
// A number is a pure function of (seed, stream, iteration, sample, block): whoever computes it, on whichever
// thread and in whichever order, gets the same one.
#pragma once

#include <array>
#include <cstdint>

namespace symseek {

using Block = std::array<uint32_t, 4>;

inline Block philox(uint64_t seed, Block counter) {
  uint32_t key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key0, static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key1, static_cast<uint32_t>(a)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return counter;
}

// The stream keeps the uses of one seed apart; add a name here for each new use.
enum class Stream : uint32_t { sampling = 0, constants = 1, evolution = 2 };

inline Block random_block(uint64_t seed, Stream stream, uint32_t iteration, uint32_t sample, uint32_t block) {
  return philox(seed, {block, sample, iteration, static_cast<uint32_t>(stream)});
}

// Uniform on [0, 1) with 24 bits: every value is an exact float.
inline float uniform(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }

}  // namespace symseek
