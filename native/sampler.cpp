#include "sampling.hpp"

namespace symseek {

namespace {

bool none(const Word* allowed, int words) {
  Word any = 0;
  for (int w = 0; w < words; ++w) any |= allowed[w];
  return any == 0;
}

}  // namespace

void Policy::sample(const float* weights, uint64_t seed, uint32_t iteration, int batch, const Ask& ask, TokenId* tokens,
                    int32_t* lengths, float* entropy) {
  weights_.pack(weights);
  std::fill(tokens, tokens + size_t(batch) * rules_.max_length, TokenId{-1});
  std::fill(entropy, entropy + batch, 0.0f);
  // A user's constraint is asked about the whole batch at once, so the batch is not divided then.
  const int parts = ask ? 1 : std::min(pool_.threads(), batch);
  pool_.each(parts, [&](int part, int thread) {
    const int first = static_cast<int>(int64_t(batch) * part / parts);
    const int last = static_cast<int>(int64_t(batch) * (part + 1) / parts);
    sample_range(seed, iteration, first, last - first, ask, sample_scratch_[thread], tokens, lengths, entropy);
  });
}

// Level by level: all prefixes of one length, each with the samples that share it.
void Policy::sample_range(uint64_t seed, uint32_t iteration, int first, int count, const Ask& ask, SampleScratch& s,
                          TokenId* tokens, int32_t* lengths, float* entropy) {
  const Kernels& k = kernels();
  const int width = rules_.max_length, words = rules_.words;
  s.may_skip = !ask;
  s.start(rules_, count, weights_.hidden_p, weights_.tokens_p);
  for (int depth = 0; !s.nodes.empty(); ++depth) {
    if (depth % 4 == 0)
      for (int sample : s.samples)
        s.random[sample] = random_block(seed, Stream::sampling, iteration, uint32_t(first + sample), uint32_t(depth / 4));
    const float* said = ask ? s.consult(rules_, ask, depth, tokens + size_t(first) * width, width) : nullptr;
    s.bias.start(rules_, weights_.output_bias(), weights_.tokens_p, depth);
    const int nodes = static_cast<int>(s.nodes.size());
    for (int start = 0; start < nodes; start += BLOCK) {
      const int n = std::min(BLOCK, nodes - start);
      s.gather(rules_, start, n);
      for (int i = 0; i < n; ++i) {
        const Node& node = s.nodes[start + i];
        Word* allowed = &s.allowed[size_t(i) * words];
        s.random_now[i] = uniform(s.random[s.samples[node.first]][depth % 4]);
        allowed_next(rules_, s.frames, node.prefix, depth, allowed);
        s.bias.write(rules_, node.prefix, said ? said + size_t(start + i) * rules_.tokens : nullptr, s.logits_row(i),
                     allowed);
        if (none(allowed, words)) {
          const TokenId* row = tokens + size_t(first + s.samples[node.first]) * width;
          throw DeadEnd({row, row + depth});
        }
      }
      step(n, s.parent, s.sibling, s.state_before.data(), s.cell_before.data(), s.gates.data(), s.cell_row(start),
           nullptr, s.state_row(start), s.logits.data());
      k.choose(n, rules_.tokens, weights_.tokens_p, s.logits.data(), s.allowed.data(), words, s.random_now,
               s.cumulative.data(), s.total, s.entropy, s.choice);
      for (int i = 0; i < n; ++i) {
        const Node& node = s.nodes[start + i];
        for (int j = node.first; j < node.first + node.count; ++j) {
          const int sample = s.samples[j];
          s.drawn[j] = j == node.first ? s.checked(i, std::min(s.choice[i], rules_.tokens - 1))
                                       : s.draw(i, rules_.tokens, uniform(s.random[sample][depth % 4]));
          tokens[size_t(first + sample) * width + depth] = s.drawn[j];
          entropy[first + sample] += s.entropy[i];
        }
        s.branch(rules_, start + i, depth, tokens + size_t(first) * width, lengths + first);
      }
    }
    s.descend();
  }
}

}  // namespace symseek
