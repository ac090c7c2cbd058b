// Counter-based random numbers (Philox4x32-10; Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
// A number is a pure function of (seed, stream, iteration, sample, block): whoever computes it, on whichever thread
// and in whichever order, gets the same one.
#pragma once

#include "platform.hpp"

namespace symseek {

struct Block4 {
  uint32 word[4];
};

SHARED Block4 philox(uint64 seed, uint32 c0, uint32 c1, uint32 c2, uint32 c3) {
  uint32 key0 = (uint32)seed, key1 = (uint32)(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64 a = (uint64)0xD2511F53u * c0, b = (uint64)0xCD9E8D57u * c2;
    c0 = (uint32)(b >> 32) ^ c1 ^ key0;
    c1 = (uint32)b;
    c2 = (uint32)(a >> 32) ^ c3 ^ key1;
    c3 = (uint32)a;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return Block4{{c0, c1, c2, c3}};
}

// The stream keeps the uses of one seed apart; add a name here for each new use.
constexpr uint32 SAMPLING = 0, CONSTANTS = 1, EVOLUTION = 2, QUEUE = 3, REWARD_NOISE = 4;

SHARED Block4 random_block(uint64 seed, uint32 stream, uint32 iteration, uint32 sample, uint32 block) {
  return philox(seed, block, sample, iteration, stream);
}

// Uniform on [0, 1) with 24 bits: every value is an exact float.
SHARED float uniform(uint32 bits) { return (float)(bits >> 8) * 5.9604644775390625e-08f; }

}  // namespace symseek
