// Remembers the errors of programs seen before, and the constants fitted to them, in a table of fixed size: four
// entries to a set, the oldest gives way. Programs are known by their keys.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "shared/keys.hpp"
#include "shared/losses.hpp"

namespace symseek {

struct Errors {
  double sums[MOST_LOSSES] = {};  // of each loss
  bool ok = false;
  uint8_t status = 0;  // of the fit, where there was one

  // Those of more rows.
  void add(const Errors& more) {
    for (int i = 0; i < MOST_LOSSES; ++i) sums[i] += more.sums[i];
    ok = more.ok;
  }
};

class Cache {
 public:
  explicit Cache(size_t entries) {
    size_t sets = 0;
    for (size_t s = 1; s * WAYS <= entries; s *= 2) sets = s;
    tags_.resize(sets * WAYS);
    entries_.resize(sets * WAYS);
    next_.resize(sets);
  }
  // Makes room for as many constants to a program; what was known is forgotten when there was less.
  void widen(int constants) {
    if (constants <= width_) return;
    width_ = constants;
    constants_.assign(entries_.size() * width_, 0.0);
    for (Entry& entry : entries_) entry.used = false;
  }
  // Asks memory for the set of a key that will be looked up soon.
  void prefetch(const Key& key) const {
    if (!tags_.empty()) __builtin_prefetch(&tags_[set_of(key) * WAYS]);
  }
  // What is known, and `count` fitted constants; null when nothing is.
  const Errors* find(const Key& key, double* constants = nullptr, int count = 0) const {
    if (tags_.empty()) return nullptr;
    const size_t first = set_of(key) * WAYS;
    for (size_t way = first; way < first + WAYS; ++way)
      if (tags_[way] == key.high && entries_[way].used && entries_[way].low == key.low) {
        std::copy_n(constants_.data() + way * width_, count, constants);
        return &entries_[way].errors;
      }
    return nullptr;
  }
  // Inserts where the set of the key is in the range given, and does nothing elsewhere: threads with ranges of their
  // own do not meet.
  void insert(const Key& key, int begin, int end, const Errors& errors, const double* constants = nullptr,
              int count = 0) {
    const size_t set = set_of(key);
    if (set < size_t(begin) || set >= size_t(end)) return;
    const size_t way = set * WAYS + next_[set];
    tags_[way] = key.high;
    entries_[way] = {key.low, errors, true};
    std::copy_n(constants, count, constants_.data() + way * width_);
    next_[set] = static_cast<uint8_t>((next_[set] + 1) % WAYS);
  }
  // Asks memory for what an insertion will write.
  void prefetch_insertion(const Key& key, int begin, int end) const {
    const size_t set = set_of(key);
    if (set >= size_t(begin) && set < size_t(end)) __builtin_prefetch(&entries_[set * WAYS + next_[set]], 1);
  }
  int sets() const { return static_cast<int>(next_.size()); }

 private:
  static constexpr size_t WAYS = 4;
  struct Entry {
    uint64_t low = 0;
    Errors errors;
    bool used = false;
  };
  size_t set_of(const Key& key) const { return key.low & (next_.size() - 1); }
  std::vector<uint64_t> tags_;  // the high half of each key, apart: most look-ups read no more than these
  std::vector<Entry> entries_;
  std::vector<double> constants_;  // [entries, width]
  int width_ = 0;
  std::vector<uint8_t> next_;  // [sets] the way to replace next
};

}  // namespace symseek
