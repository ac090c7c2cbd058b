// What a program is known by: a hash of 128 bits. Two different programs collide with a chance of about 1e-26 in a run
// of two million.
#pragma once

#include "platform.hpp"

namespace symseek {

struct Key {
  uint64 low, high;
};
SHARED bool operator==(const Key& a, const Key& b) { return a.low == b.low && a.high == b.high; }

SHARED uint64 mixed(uint64 h, uint64 word, uint64 odd) {
  h = (h ^ word) * odd;
  return h ^ (h >> 29);
}

SHARED void add_word(Key& key, uint64 word) {
  key.low = mixed(key.low, word, 0x9e3779b97f4a7c15ull);
  key.high = mixed(key.high, word + 0xa4093822299f31d0ull, 0xc2b2ae3d27d4eb4full);
}

// Some of the constants may be left out. `purpose` keeps apart what is known of a program as it stands from what is
// known of it once it is fitted.
SHARED Key program_key(const Token* tokens, int length, const double* constants, int constant_count, uint64 purpose) {
  Key key{0x243f6a8885a308d3ull ^ (uint64)length ^ purpose, 0x13198a2e03707344ull + (uint64)length};
  const auto bits = [tokens](int i) { return (uint64)(unsigned short)tokens[i]; };
  int i = 0;
  for (; i + 4 <= length; i += 4) add_word(key, bits(i) | bits(i + 1) << 16 | bits(i + 2) << 32 | bits(i + 3) << 48);
  if (i < length) {
    uint64 word = 0;
    for (int place = 0; i < length; ++i, place += 16) word |= bits(i) << place;
    add_word(key, word);
  }
  for (int k = 0; k < constant_count; ++k) add_word(key, double_as_bits(constants[k]));
  key.low = mixed(key.low, key.high, 0xff51afd7ed558ccdull);
  return key;
}

}  // namespace symseek
