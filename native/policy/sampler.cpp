#include <numeric>

#include "policy/sampling.hpp"

namespace symseek {

namespace {

constexpr int MOST_ATTEMPTS = 40;  // at one program
constexpr int ATTEMPT_BITS = 20;   // of the count of blocks of random numbers that one attempt may use

bool none(const Word* allowed, int words) {
  Word any = 0;
  for (int w = 0; w < words; ++w) any |= allowed[w];
  return any == 0;
}

}  // namespace

// Where units are given, a program may come to a point at which nothing suits any more: it is begun anew then, and
// after many attempts it becomes a copy of another.
void Policy::sample(const float* weights, uint64_t seed, uint32_t iteration, int batch, const Ask& ask, TokenId* tokens,
                    int32_t* lengths, float* entropy) {
  weights_.pack(weights);
  drawn_ids_.resize(batch);
  std::iota(drawn_ids_.begin(), drawn_ids_.end(), 0);
  for (int attempt = 0; !drawn_ids_.empty() && attempt < MOST_ATTEMPTS; ++attempt) {
    for (SampleScratch& scratch : sample_scratch_) scratch.given_up.clear();
    sample_all({seed, iteration, ask, tokens, lengths, entropy, attempt}, drawn_ids_);
    drawn_ids_.clear();
    for (const SampleScratch& scratch : sample_scratch_)
      drawn_ids_.insert(drawn_ids_.end(), scratch.given_up.begin(), scratch.given_up.end());
    std::sort(drawn_ids_.begin(), drawn_ids_.end());
    restarts_ += static_cast<int64_t>(drawn_ids_.size());
  }
  if (static_cast<int>(drawn_ids_.size()) == batch && batch > 0) throw DeadEnd(dead_end());
  std::vector<char> missing(drawn_ids_.empty() ? 0 : batch);
  for (int id : drawn_ids_) missing[id] = 1;
  for (int id : drawn_ids_) {
    int from = id;
    while (missing[from]) from = (from + 1) % batch;
    std::copy_n(tokens + size_t(from) * rules_.max_length, rules_.max_length, tokens + size_t(id) * rules_.max_length);
    lengths[id] = lengths[from];
    entropy[id] = entropy[from];
  }
}

// Some point at which nothing suited.
std::vector<TokenId> Policy::dead_end() const {
  for (const SampleScratch& scratch : sample_scratch_)
    if (!scratch.given_up.empty()) return scratch.dead_end;
  return {};
}

// The first two levels have few prefixes and are sampled here; they put the samples in order, so that dividing the
// batch among the threads hardly divides what its samples share.
void Policy::sample_all(const Drawing& drawing, const std::vector<int>& ids) {
  SampleScratch& root = sample_scratch_.back();
  root.start(rules_, ids, weights_.hidden_p, weights_.tokens_p);
  // A user's constraint is asked about the whole batch at once, so the batch is not divided then.
  const int parts = drawing.ask || pool_->threads() == 1 ? 1 : 2 * pool_->threads();
  while (!root.nodes.empty() && (parts == 1 || root.depth < 2)) sample_level(drawing, root);
  pool_->each(root.nodes.empty() ? 0 : parts, [&](int part, int thread) {
    SampleScratch& own = sample_scratch_[thread];
    own.take_part(rules_, root, part, parts, weights_.hidden_p, weights_.tokens_p);
    while (!own.nodes.empty()) sample_level(drawing, own);
  });
}

// All prefixes of one length, each with the samples that share it: run the network, draw, and branch.
void Policy::sample_level(const Drawing& d, SampleScratch& s) {
  const Kernels& k = kernels();
  const int width = rules_.max_length, words = rules_.words, depth = s.depth;
  if (depth >= width) throw TooLong();
  if (depth % 4 == 0)
    for (int sample : s.samples)
      s.random[sample] = random_block(d.seed, SAMPLING, d.iteration, uint32_t(s.ids[sample]),
                                      uint32_t(depth / 4) + (uint32_t(d.attempt) << ATTEMPT_BITS));
  const float* said = d.ask ? s.consult(rules_, d.ask) : nullptr;
  s.may_skip = !d.ask;
  s.bias.start(rules_, weights_.output_bias(), weights_.tokens_p, depth);
  const int nodes = static_cast<int>(s.nodes.size());
  for (int start = 0; start < nodes; start += BLOCK) {
    const int n = std::min(BLOCK, nodes - start);
    s.gather(rules_, start, n);
    for (int i = 0; i < n; ++i) {
      const Node& node = s.nodes[start + i];
      Word* allowed = &s.allowed[size_t(i) * words];
      s.random_now[i] = uniform(s.random[s.samples[node.first]].word[depth % 4]);
      allowed_next(rules_, s.frames, node.prefix, depth, allowed);
      s.bias.write(rules_, node.prefix, said ? said + size_t(start + i) * rules_.tokens : nullptr, s.logits_row(i),
                   allowed);
      s.dead[i] = none(allowed, words);
      if (s.dead[i] && rules_.units.given) {
        s.give_up(start + i, width);
        allowed[0] = 1;  // for the arithmetic of the block
      } else if (s.dead[i]) {
        const TokenId* row = &s.rows[size_t(s.samples[node.first]) * width];
        throw DeadEnd({row, row + depth});
      }
    }
    step(n, s.parent, s.sibling, s.state_before.data(), s.cell_before.data(), s.gates.data(), s.cell_row(start),
         nullptr, s.state_row(start), s.logits.data());
    k.choose(n, rules_.tokens, weights_.tokens_p, s.logits.data(), s.allowed.data(), words, s.random_now,
             s.cumulative.data(), s.total, s.entropy, s.choice);
    for (int i = 0; i < n; ++i) {
      if (s.dead[i]) continue;
      const Node& node = s.nodes[start + i];
      for (int j = node.first; j < node.first + node.count; ++j) {
        const int sample = s.samples[j];
        s.drawn[j] = j == node.first ? s.checked(i, std::min(s.choice[i], rules_.tokens - 1))
                                     : s.draw(i, rules_.tokens, uniform(s.random[sample].word[depth % 4]));
        s.rows[size_t(sample) * width + depth] = s.drawn[j];
        s.entropies[sample] += s.entropy[i];
      }
      s.branch(rules_, start + i, d);
    }
  }
  s.descend();
}

}  // namespace symseek
