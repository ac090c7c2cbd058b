#include "policy/constraints.hpp"

#include "policy/prefixes.hpp"

namespace symseek {

namespace {

constexpr int CHECKED_TOGETHER = 64;  // programs that a thread takes at a time

void obey_tables(const Rules& rules, const Traversals& programs, Pool& pool, bool* ok) {
  pool.each((programs.programs + CHECKED_TOGETHER - 1) / CHECKED_TOGETHER, [&](int group, int) {
    Walk walk;
    std::vector<Word> allowed(rules.words);
    const int end = std::min(programs.programs, (group + 1) * CHECKED_TOGETHER);
    for (int i = group * CHECKED_TOGETHER; i < end; ++i)
      ok[i] = obeys(rules, walk, allowed.data(), programs.lengths[i], [&](int t) { return programs.row(i)[t]; });
  });
}

}  // namespace

void permits(const Rules& rules, const Traversals& programs, Pool& pool, const Ask& ask, bool* ok) {
  obey_tables(rules, programs, pool, ok);
  if (!ask) return;
  std::vector<int> kept;
  for (int i = 0; i < programs.programs; ++i)
    if (ok[i]) kept.push_back(i);
  sort_by_prefix(programs, kept);
  const int count = static_cast<int>(kept.size());
  const auto row = [&](int i) { return programs.row(kept[i]); };
  const auto length = [&](int i) { return programs.lengths[kept[i]]; };
  PrefixTree tree;
  tree.may_skip = false;
  tree.start(count, rules.max_length);
  for (int depth = 0; tree.open_level(rules, depth, count, row, length); ++depth) {
    const float* said = tree.consult(rules, ask, depth, row);
    for (int i = 0; i < count; ++i) {
      if (tree.node_of[i] < 0) continue;
      const int node = tree.node_of[i] - tree.level_start[depth];
      if (said[size_t(node) * rules.tokens + row(i)[depth]] != -std::numeric_limits<float>::infinity()) continue;
      ok[kept[i]] = false;
      tree.done[i] = 1;
    }
  }
}

}  // namespace symseek
