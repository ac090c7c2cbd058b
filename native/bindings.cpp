// The Python face of the native core. It converts arguments and releases the interpreter lock; no arithmetic here.
#include <algorithm>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "breeding/breeding.hpp"
#include "breeding/pairing.hpp"
#include "evaluation/evaluator.hpp"
#include "policy/policy.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace symseek;

namespace {

template <class T>
using In = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

template <class T>
std::vector<T> copied(const nb::dict& tables, const char* name) {
  const auto array = nb::cast<In<T>>(tables[name]);
  return {array.data(), array.data() + array.size()};
}

std::shared_ptr<Rules> read_rules(const nb::dict& tables) {
  auto made = std::make_shared<Rules>();
  Rules& rules = *made;
  rules.arity = copied<int8_t>(tables, "arity");
  rules.tokens = static_cast<int>(rules.arity.size());
  rules.words = words_for(rules.tokens);
  rules.max_arity = nb::cast<int>(tables["max_arity"]);
  rules.max_length = nb::cast<int>(tables["max_length"]);
  rules.child = copied<Word>(tables, "child");
  rules.sibling = copied<Word>(tables, "sibling");
  rules.descendant = copied<Word>(tables, "descendant");
  rules.triggers = copied<uint64_t>(tables, "triggers");
  rules.at_length = copied<Word>(tables, "at_length");
  rules.bias = copied<float>(tables, "bias");
  rules.not_all = copied<Word>(tables, "not_all");
  rules.sized = nb::cast<bool>(tables["sized"]);
  rules.exact_sets = nb::cast<bool>(tables["exact_sets"]);
  rules.min_length = nb::cast<int>(tables["min_length"]);
  rules.slot_least = copied<int32_t>(tables, "slot_least");
  rules.slot_most = copied<int32_t>(tables, "slot_most");
  rules.needs = copied<int32_t>(tables, "needs");
  rules.holds = copied<int32_t>(tables, "holds");
  rules.needs_at_most = copied<Word>(tables, "needs_at_most");
  rules.holds_at_least = copied<Word>(tables, "holds_at_least");
  for (nb::handle item : nb::cast<nb::list>(tables["counts"])) {
    const auto rule = nb::cast<nb::dict>(item);
    rules.counts.push_back({copied<uint32_t>(rule, "allowed"), copied<Word>(rule, "class_sets"),
                            copied<uint8_t>(rule, "member"), nb::cast<int>(rule["cap"])});
  }
  return made;
}

Traversals read_traversals(const In<TokenId>& tokens, const In<int32_t>& lengths) {
  return {tokens.data(), lengths.data(), static_cast<int>(tokens.shape(0)), static_cast<int>(tokens.shape(1))};
}

// A user's constraint as the core sees it: numpy arrays out, logits [n, L] back, under the interpreter lock.
Ask read_ask(const nb::object& ask, int tokens) {
  if (ask.is_none()) return {};
  return [ask = ask.ptr(), tokens](const Question& q, float* logits) {
    nb::gil_scoped_acquire lock;
    const size_t n = static_cast<size_t>(q.prefixes), depth = static_cast<size_t>(q.depth);
    nb::object said = nb::handle(ask)(nb::ndarray<nb::numpy, const TokenId>(q.tokens, {n, depth}, nb::none()),
                                      nb::ndarray<nb::numpy, const TokenId>(q.parent, {n}, nb::none()),
                                      nb::ndarray<nb::numpy, const TokenId>(q.sibling, {n}, nb::none()),
                                      nb::ndarray<nb::numpy, const int32_t>(q.open, {n}, nb::none()));
    const auto answer = nb::cast<In<float>>(said);
    if (answer.size() != n * static_cast<size_t>(tokens))
      throw std::invalid_argument("a constraint answered in the wrong shape");
    std::copy_n(answer.data(), answer.size(), logits);
  };
}

Batch read_batch(const In<TokenId>& tokens, const In<int32_t>& lengths, const In<double>& constants) {
  return {tokens.data(),
          lengths.data(),
          constants.data(),
          static_cast<int>(tokens.shape(0)),
          static_cast<int>(tokens.shape(1)),
          static_cast<int>(constants.shape(1))};
}

TokenCode read_code(const std::vector<std::vector<std::tuple<std::string, int, double>>>& code,
                    const std::vector<int>& arity) {
  static const std::vector<std::string> names = {
#define X(NAME, ARITY) #NAME,
      SYMSEEK_OPERATIONS(X)
#undef X
          "number",
      "variable", "constant", "argument", "finish"};
  TokenCode out;
  for (const auto& steps : code) {
    out.code.emplace_back();
    for (const auto& [name, index, value] : steps) {
      const auto found = std::find(names.begin(), names.end(), name);
      if (found == names.end()) throw std::invalid_argument("the native engine has no operation named '" + name + "'");
      out.code.back().push_back({static_cast<Opcode>(found - names.begin()), index, value});
    }
  }
  out.arity.assign(arity.begin(), arity.end());
  return out;
}

// The lists that Python reads, so that an order or a name is written once.
#define X(NAME) #NAME,
const std::vector<std::string> FIT_METHODS = {SYMSEEK_FIT_METHODS(X)};
const std::vector<std::string> FIT_STATUSES = {SYMSEEK_FIT_STATUSES(X)};
#undef X
#define X(OPERATOR, SWAPPED, RESIDUAL) {#OPERATOR, SWAPPED},
const std::vector<std::pair<std::string, bool>> PAIR_KIND_NAMES = {SYMSEEK_PAIR_KINDS(X)};
#undef X

FitMethod read_method(const std::string& name) {
  const auto found = std::find(FIT_METHODS.begin(), FIT_METHODS.end(), name);
  if (found == FIT_METHODS.end())
    throw std::invalid_argument("the native engine has no method of fitting named '" + name + "'");
  return static_cast<FitMethod>(found - FIT_METHODS.begin());
}

// Called now and then during long work, so that Ctrl-C ends it.
void check_signals() {
  nb::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

std::vector<std::pair<std::string, int>> operations() {
  return {
#define X(NAME, ARITY) {#NAME, ARITY},
      SYMSEEK_OPERATIONS(X)
#undef X
  };
}

}  // namespace

NB_MODULE(_native, m) {
  m.doc() = "The native core of symseek: sampling, scoring and evaluation of batches of programs.";
  m.def("simd", [] { return std::string(kernels().name); }, "The instruction set in use.");
  m.def("simd_variants", &available_variants, "The instruction sets this machine can run.");
  m.def(
      "operations",
      [] {
        nb::dict out;
        for (const auto& [name, arity] : operations()) out[name.c_str()] = arity;
        return out;
      },
      "Names and arities of the operations the evaluator has.");
  m.def("fit_methods", [] { return FIT_METHODS; }, "The ways to fit constants, by name.");
  m.def("fit_statuses", [] { return FIT_STATUSES; }, "How a fit can end: the name of each status code.");
  m.def(
      "pair_kinds", [] { return PAIR_KIND_NAMES; },
      "The ways in which `pair` combines two values: operator, and whether the operands are swapped.");
  m.def(
      "adam",
      [](Out<float> weights, Out<float> mean, Out<float> variance, In<float> gradient, float step, float beta1,
         float beta2, float epsilon) {
        kernels().adam(static_cast<int>(weights.size()), weights.data(), mean.data(), variance.data(), gradient.data(),
                       step, beta1, beta2, epsilon);
      },
      "weights"_a, "mean"_a, "variance"_a, "gradient"_a, "step"_a, "beta1"_a, "beta2"_a, "epsilon"_a,
      "One ascending Adam step, in place.");

  nb::class_<Pool>(m, "Pool", "Threads that serve all stages of one search.").def(nb::init<int>(), "threads"_a);

  nb::class_<Rules>(m, "Rules", "Compiled constraints, which several objects may share.")
      .def(nb::new_([](const nb::dict& tables) { return read_rules(tables); }), "tables"_a)
      .def(
          "permits",
          [](const Rules& self, In<TokenId> tokens, In<int32_t> lengths, Pool& pool, Out<bool> ok,
             const nb::object& ask) {
            const Ask question = read_ask(ask, self.tokens);
            const Traversals programs = read_traversals(tokens, lengths);
            nb::gil_scoped_release unlock;
            permits(self, programs, pool, question, ok.data());
          },
          "tokens"_a, "lengths"_a, "pool"_a, "ok"_a, "ask"_a = nb::none(),
          "Which programs are complete and obey the constraints at every step, the custom ones too if `ask` is given.");

  nb::class_<Policy>(m, "Policy")
      .def(
          "__init__",
          [](Policy* self, std::shared_ptr<Rules> rules, int hidden, std::shared_ptr<Pool> pool) {
            new (self) Policy(std::move(rules), hidden, std::move(pool));
          },
          "rules"_a, "hidden"_a, "pool"_a)
      .def(
          "sample",
          [](Policy& self, In<float> weights, uint64_t seed, uint32_t iteration, Out<TokenId> tokens,
             Out<int32_t> lengths, Out<float> entropy, const nb::object& ask) -> nb::object {
            const Ask question = read_ask(ask, self.rules().tokens);
            std::vector<TokenId> dead_end;
            bool dead = false;
            {
              nb::gil_scoped_release unlock;
              try {
                self.sample(weights.data(), seed, iteration, static_cast<int>(lengths.size()), question, tokens.data(),
                            lengths.data(), entropy.data());
              } catch (const DeadEnd& end) {
                dead_end = end.prefix;
                dead = true;
              }
            }
            return dead ? nb::cast(dead_end) : nb::none();
          },
          "weights"_a, "seed"_a, "iteration"_a, "tokens"_a, "lengths"_a, "entropy"_a, "ask"_a.none(),
          "Fills the arrays with a batch; returns None, or the prefix after which no token is allowed.")
      .def(
          "score",
          [](Policy& self, In<float> weights, In<TokenId> tokens, In<int32_t> lengths, In<float> weight,
             In<float> entropy_weight, float entropy_decay, Out<float> log_probability, Out<float> entropy,
             const nb::object& gradient, const nb::object& ask) {
            const Ask question = read_ask(ask, self.rules().tokens);
            float* gradient_data = gradient.is_none() ? nullptr : nb::cast<Out<float>>(gradient).data();
            const Traversals programs = read_traversals(tokens, lengths);
            nb::gil_scoped_release unlock;
            self.score(weights.data(), programs, weight.data(), entropy_weight.data(), entropy_decay, question,
                       log_probability.data(), entropy.data(), gradient_data);
          },
          "weights"_a, "tokens"_a, "lengths"_a, "weight"_a, "entropy_weight"_a, "entropy_decay"_a, "log_probability"_a,
          "entropy"_a, "gradient"_a.none(), "ask"_a.none(),
          "Log-probability and entropy of programs; with `gradient`, also that of their weighted sum.");

  m.def(
      "pair",
      [](In<double> values, In<double> candidates, In<double> inverses, In<double> target, In<double> weight,
         In<double> penalty, std::shared_ptr<Pool> pool, Out<double> error, Out<int64_t> index) {
        const PairSearch search{static_cast<int>(values.shape(0)),
                                static_cast<int>(values.shape(1)),
                                static_cast<int>(candidates.shape(1)),
                                values.data(),
                                candidates.data(),
                                inverses.data(),
                                target.data(),
                                weight.data(),
                                penalty.data()};
        nb::gil_scoped_release unlock;
        find_pairs(search, *pool, error.data(), index.data());
      },
      "values"_a, "candidates"_a, "inverses"_a, "target"_a, "weight"_a, "penalty"_a, "pool"_a, "error"_a, "index"_a,
      "For each row of values [P, N] the candidate [N, Q] that completes it best, by each way to combine two.");

  nb::class_<Breeder>(m, "Breeder")
      .def(
          "__init__",
          [](Breeder* self, std::shared_ptr<Rules> rules, int constant, std::shared_ptr<Pool> pool) {
            new (self) Breeder(std::move(rules), constant, std::move(pool));
          },
          "rules"_a, "constant"_a, "pool"_a)
      .def(
          "breed",
          [](Breeder& self, In<TokenId> tokens, In<int32_t> lengths, In<double> constants, In<double> fitness,
             uint64_t seed, uint32_t iteration, uint32_t generation, int tournament, float crossover, float mutation,
             Out<TokenId> child_tokens, Out<int32_t> child_lengths, Out<double> child_constants) {
            const Batch parents = read_batch(tokens, lengths, constants);
            nb::gil_scoped_release unlock;
            return self.breed(parents, fitness.data(), {seed, iteration, generation}, {tournament, crossover, mutation},
                              static_cast<int>(child_lengths.size()), child_tokens.data(), child_lengths.data(),
                              child_constants.data(), static_cast<int>(child_constants.shape(1)));
          },
          "tokens"_a, "lengths"_a, "constants"_a, "fitness"_a, "seed"_a, "iteration"_a, "generation"_a, "tournament"_a,
          "crossover"_a, "mutation"_a, "child_tokens"_a, "child_lengths"_a, "child_constants"_a,
          "Fills the arrays with one generation of new children; returns how many there are.")
      .def(
          "admit",
          [](Breeder& self, In<TokenId> tokens, In<int32_t> lengths, Out<bool> ok) {
            self.admit({tokens.data(), lengths.data(), nullptr, static_cast<int>(tokens.shape(0)),
                        static_cast<int>(tokens.shape(1)), 0},
                       ok.data());
          },
          "tokens"_a, "lengths"_a, "ok"_a, "Which programs obey the constraints and are new.")
      .def(
          "begin",
          [](Breeder& self, In<TokenId> tokens, In<int32_t> lengths) {
            self.begin({tokens.data(), lengths.data(), nullptr, static_cast<int>(tokens.shape(0)),
                        static_cast<int>(tokens.shape(1)), 0});
          },
          "tokens"_a, "lengths"_a, "Forgets the programs seen so far, and remembers these.");

  nb::class_<Evaluator>(m, "Evaluator")
      .def(
          "__init__",
          [](Evaluator* self, const std::vector<std::vector<std::tuple<std::string, int, double>>>& code,
             const std::vector<int>& arity, In<double> columns, In<double> target, In<double> weight,
             std::shared_ptr<Pool> pool, size_t cache) {
            const bool graded = target.size() > 0;
            new (self) Evaluator(read_code(code, arity), columns.data(), static_cast<int>(columns.shape(0)),
                                 static_cast<int64_t>(columns.shape(1)), graded ? target.data() : nullptr,
                                 graded ? weight.data() : nullptr, std::move(pool), cache);
          },
          "code"_a, "arity"_a, "columns"_a, "target"_a, "weight"_a, "pool"_a, "cache"_a)
      .def(
          "errors",
          [](Evaluator& self, In<TokenId> tokens, In<int32_t> lengths, In<double> constants, Out<double> squared,
             Out<double> absolute, Out<bool> ok) {
            const Batch batch = read_batch(tokens, lengths, constants);
            nb::gil_scoped_release unlock;
            return self.errors(batch, squared.data(), absolute.data(), ok.data(), check_signals);
          },
          "tokens"_a, "lengths"_a, "constants"_a, "squared"_a, "absolute"_a, "ok"_a,
          "Fills the error sums of each program; returns how many programs are distinct.")
      .def(
          "fit",
          [](Evaluator& self, In<TokenId> tokens, In<int32_t> lengths, In<double> constants, const std::string& method,
             int restarts, int max_steps, bool rescue, double scale, double power, Out<double> fitted,
             Out<uint8_t> status, Out<double> squared, Out<double> absolute, Out<bool> ok) {
            const Batch batch = read_batch(tokens, lengths, constants);
            const FitOptions options{read_method(method), restarts, max_steps, rescue, scale, power};
            nb::gil_scoped_release unlock;
            return self.fit(batch, options, fitted.data(), reinterpret_cast<FitStatus*>(status.data()), squared.data(),
                            absolute.data(), ok.data(), check_signals);
          },
          "tokens"_a, "lengths"_a, "constants"_a, "method"_a, "restarts"_a, "max_steps"_a, "rescue"_a, "scale"_a,
          "power"_a, "fitted"_a, "status"_a, "squared"_a, "absolute"_a, "ok"_a,
          "Fits the constants, then fills what `errors` does; returns how many programs are distinct.")
      .def(
          "derivatives",
          [](Evaluator& self, In<TokenId> tokens, In<int32_t> lengths, In<double> constants, Out<double> squared,
             Out<double> gradient, Out<double> normal, Out<bool> ok) {
            const Batch batch = read_batch(tokens, lengths, constants);
            nb::gil_scoped_release unlock;
            self.derivatives(batch, squared.data(), gradient.data(), normal.data(), ok.data());
          },
          "tokens"_a, "lengths"_a, "constants"_a, "squared"_a, "gradient"_a, "normal"_a, "ok"_a,
          "Fills the sums that fitting goes by, where the constants stand.")
      .def(
          "predict",
          [](Evaluator& self, In<TokenId> tokens, In<int32_t> lengths, In<double> constants, Out<double> predictions,
             Out<bool> ok) {
            const Batch batch = read_batch(tokens, lengths, constants);
            nb::gil_scoped_release unlock;
            self.predict(batch, predictions.data(), ok.data());
          },
          "tokens"_a, "lengths"_a, "constants"_a, "predictions"_a, "ok"_a,
          "Fills predictions [B, N] and whether every node was finite.");
}
