// Counter-based random numbers, Philox4x32-10, as the native core has them: a number is a pure function of the seed,
// the stream, the iteration, the sample and the block, whichever thread asks for it.
struct Block4 {
  uint32 word[4];
};

DEVICE uint32 high_product(uint32 a, uint32 b) { return (uint32)(((uint64)a * b) >> 32); }

DEVICE Block4 philox(uint64 seed, uint32 c0, uint32 c1, uint32 c2, uint32 c3) {
  uint32 key0 = (uint32)seed, key1 = (uint32)(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint32 a_high = high_product(0xD2511F53u, c0), a_low = 0xD2511F53u * c0;
    const uint32 b_high = high_product(0xCD9E8D57u, c2), b_low = 0xCD9E8D57u * c2;
    c0 = b_high ^ c1 ^ key0;
    c1 = b_low;
    c2 = a_high ^ c3 ^ key1;
    c3 = a_low;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return Block4{{c0, c1, c2, c3}};
}

// What a seed is used for; the first three are those of the native core.
constexpr uint32 SAMPLING = 0, CONSTANTS = 1, EVOLUTION = 2, QUEUE = 3, REWARD_NOISE = 4;

DEVICE Block4 random_block(uint64 seed, uint32 stream, uint32 iteration, uint32 sample, uint32 block) {
  return philox(seed, block, sample, iteration, stream);
}

// Uniform on [0, 1) with 24 bits: every value is an exact float.
DEVICE float uniform(uint32 bits) { return (float)(bits >> 8) * 5.9604644775390625e-08f; }
