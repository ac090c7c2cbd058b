// The Python face of the native core. It converts and checks arguments, once a call, and releases the interpreter lock;
// no arithmetic here. What does not fit together is a ValueError, an argument of another type a TypeError.
#include <algorithm>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "breeding/breeding.hpp"
#include "breeding/pairing.hpp"
#include "checks.hpp"
#include "evaluation/evaluator.hpp"
#include "policy/policy.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace symseek;

namespace {

constexpr size_t MOST_CACHED = size_t(1) << 26;  // about 3 GB
constexpr int MOST_TRIES = 1 << 20;              // of restarts, steps and rivals: more would seem to hang
constexpr int MOST_OWN = 1 << 10;                // numbers of the groups' own that a library may have

nb::object entry(const nb::dict& tables, const char* name) {
  if (!tables.contains(name)) refuse("there is no table `" + std::string(name) + "`");
  return tables[name];
}

template <class T>
T converted(const nb::object& value, const char* name) {
  T out;
  if (!nb::try_cast<T>(value, out)) refuse("the table `" + std::string(name) + "` is of another type");
  return out;
}

template <class T>
T read(const nb::dict& tables, const char* name) {
  return converted<T>(entry(tables, name), name);
}

template <class T>
std::vector<T> copied(const nb::dict& tables, const char* name) {
  const auto array = read<In<T>>(tables, name);
  return {array.data(), array.data() + array.size()};
}

void read_units(const nb::dict& given, Rules& rules) {
  Units& units = rules.units;
  units.given = true;
  units.arity = rules.arity;
  units.words = rules.words;
  units.manner = copied<uint8_t>(given, "manner");
  units.dim = copied<uint64_t>(given, "dimension");
  const auto above = copied<int32_t>(given, "power_above"), below = copied<int32_t>(given, "power_below");
  if (above.size() != below.size()) refuse("the tables `power_above` and `power_below` differ in size");
  for (size_t token = 0; token < above.size(); ++token) units.power.push_back({above[token], below[token]});
  units.divides = copied<uint8_t>(given, "divides");
  units.argument = copied<uint64_t>(given, "argument");
  units.argument_known = copied<uint8_t>(given, "argument_known");
  units.fixed = copied<uint8_t>(given, "fixed");
  units.not_alone = read<bool>(given, "not_alone");
  units.limit = read<int>(given, "limit");
  units.limited = units.limit >= 0;
  units.target_known = read<bool>(given, "target_known");
  units.target = read<uint64_t>(given, "target");
}

std::shared_ptr<Rules> read_rules(const nb::dict& tables) {
  auto made = std::make_shared<Rules>();
  Rules& rules = *made;
  rules.arity = copied<int8_t>(tables, "arity");
  rules.tokens = static_cast<int>(rules.arity.size());
  rules.words = words_for(rules.tokens);
  rules.max_arity = read<int>(tables, "max_arity");
  rules.max_length = read<int>(tables, "max_length");
  rules.child = copied<Word>(tables, "child");
  rules.sibling = copied<Word>(tables, "sibling");
  rules.descendant = copied<Word>(tables, "descendant");
  rules.in_force = copied<uint64_t>(tables, "in_force");
  rules.at_length = copied<Word>(tables, "at_length");
  rules.bias = copied<float>(tables, "bias");
  rules.not_all = copied<Word>(tables, "not_all");
  rules.sized = read<bool>(tables, "sized");
  rules.exact_sets = read<bool>(tables, "exact_sets");
  rules.min_length = read<int>(tables, "min_length");
  rules.slot_least = copied<int32_t>(tables, "slot_least");
  rules.slot_most = copied<int32_t>(tables, "slot_most");
  rules.needs = copied<int32_t>(tables, "needs");
  rules.holds = copied<int32_t>(tables, "holds");
  rules.needs_at_most = copied<Word>(tables, "needs_at_most");
  rules.holds_at_least = copied<Word>(tables, "holds_at_least");
  for (nb::handle item : read<nb::list>(tables, "counts")) {
    const auto rule = converted<nb::dict>(nb::borrow(item), "counts");
    rules.counts.push_back({copied<uint32_t>(rule, "allowed"), copied<Word>(rule, "class_sets"),
                            copied<uint8_t>(rule, "member"), read<int>(rule, "cap")});
  }
  check_rules(rules);
  if (!entry(tables, "units").is_none()) {
    read_units(read<nb::dict>(tables, "units"), rules);
    check_units(rules);
    rules.units.prepare(rules.max_length, rules.child.data(), rules.max_arity);
  }
  return made;
}

// Programs that may be none: only where they lie is checked.
Traversals read_traversals(const In<TokenId>& tokens, const In<int32_t>& lengths) {
  const int programs = axis(tokens, "tokens", 0), width = axis(tokens, "tokens", 1);
  shaped(tokens, "tokens", {tokens.shape(0), tokens.shape(1)});
  shaped(lengths, "lengths", {tokens.shape(0)});
  check_lengths(lengths.data(), programs, 0, width);
  return {tokens.data(), lengths.data(), programs, width};
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
    if (answer.ndim() != 2 || answer.shape(0) != n || answer.shape(1) != static_cast<size_t>(tokens))
      throw std::invalid_argument("a constraint answered in the wrong shape");
    std::copy_n(answer.data(), answer.size(), logits);
  };
}

// Complete programs, with a value for every placeholder.
Batch read_batch(const In<TokenId>& tokens, const In<int32_t>& lengths, const In<double>& constants,
                 const Alphabet& alphabet) {
  const int programs = axis(tokens, "tokens", 0), width = axis(tokens, "tokens", 1);
  const int values = axis(constants, "constants", 1);
  shaped(tokens, "tokens", {tokens.shape(0), tokens.shape(1)});
  shaped(lengths, "lengths", {tokens.shape(0)});
  shaped(constants, "constants", {tokens.shape(0), constants.shape(1)});
  const Batch batch{tokens.data(), lengths.data(), constants.data(), programs, width, values};
  check_trees(batch, alphabet);
  return batch;
}

Batch without_constants(const Traversals& programs) {
  return {programs.tokens, programs.lengths, nullptr, programs.programs, programs.width, 0};
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
  for (int each : arity) {
    check_number("arity", each, 0, 8);
    out.arity.push_back(static_cast<int8_t>(each));
  }
  return out;
}

// The lists that Python reads, so that an order or a name is written once.
#define X(NAME) #NAME,
const std::vector<std::string> FIT_METHODS = {SYMSEEK_FIT_METHODS(X)};
const std::vector<std::string> FIT_STATUSES = {SYMSEEK_FIT_STATUSES(X)};
const std::vector<std::string> LOSSES = {SYMSEEK_LOSSES(X)};
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

std::vector<Loss> read_losses(const std::vector<std::pair<std::string, double>>& given) {
  check_number("number of losses", static_cast<double>(given.size()), 1, MOST_LOSSES);
  std::vector<Loss> out;
  for (const auto& [name, parameter] : given) {
    const auto found = std::find(LOSSES.begin(), LOSSES.end(), name);
    if (found == LOSSES.end()) throw std::invalid_argument("the native engine has no loss named '" + name + "'");
    check_number("parameter of a loss", parameter, 0.0, std::numeric_limits<double>::max());
    out.push_back({static_cast<LossKind>(found - LOSSES.begin()), parameter});
  }
  return out;
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
  m.attr("FIT_SAMPLE") = FIT_SAMPLE;
  m.attr("EXACT_SHARE") = EXACT_SHARE;
  m.attr("DOUBLE_LANES") = DOUBLE_LANES;
  m.def("losses", [] { return LOSSES; }, "What a row may count by its residual, by name.");
  m.def("fit_statuses", [] { return FIT_STATUSES; }, "How a fit can end: the name of each status code.");
  m.def(
      "pair_kinds", [] { return PAIR_KIND_NAMES; },
      "The ways in which `pair` combines two values: operator, and whether the operands are swapped.");
  m.def(
      "adam",
      [](Out<float> weights, Out<float> mean, Out<float> variance, In<float> gradient, float step, float beta1,
         float beta2, float epsilon) {
        const size_t size = weights.size();
        shaped(weights, "weights", {size});
        shaped(mean, "mean", {size});
        shaped(variance, "variance", {size});
        shaped(gradient, "gradient", {size});
        if (size > INT_MAX) refuse("there are more weights than can be counted");
        kernels().adam(static_cast<int>(weights.size()), weights.data(), mean.data(), variance.data(), gradient.data(),
                       step, beta1, beta2, epsilon);
      },
      "weights"_a.noconvert(), "mean"_a.noconvert(), "variance"_a.noconvert(), "gradient"_a, "step"_a, "beta1"_a,
      "beta2"_a, "epsilon"_a, "One ascending Adam step, in place.");

  nb::class_<Pool>(m, "Pool", "Threads that serve all stages of one search.")
      .def(
          "__init__",
          [](Pool* self, int threads) {
            check_number("threads", threads, 1, 1024);
            new (self) Pool(threads);
          },
          "threads"_a);

  nb::class_<Rules>(m, "Rules", "Compiled constraints, which several objects may share.")
      .def(nb::new_([](const nb::dict& tables) { return read_rules(tables); }), "tables"_a)
      .def(
          "permits",
          [](const Rules& self, In<TokenId> tokens, In<int32_t> lengths, Pool& pool, Out<bool> ok,
             const nb::object& ask) {
            const Ask question = read_ask(ask, self.tokens);
            const Traversals programs = read_traversals(tokens, lengths);
            shaped(ok, "ok", {tokens.shape(0)});
            check_apart({ok}, {tokens, lengths});
            nb::gil_scoped_release unlock;
            permits(self, programs, pool, question, ok.data());
          },
          "tokens"_a, "lengths"_a, "pool"_a, "ok"_a.noconvert(), "ask"_a = nb::none(),
          "Which programs are complete and obey the constraints at every step, the custom ones too if `ask` is given.");

  nb::class_<Policy>(m, "Policy")
      .def(
          "__init__",
          [](Policy* self, std::shared_ptr<Rules> rules, int hidden, std::shared_ptr<Pool> pool) {
            check_number("hidden", hidden, 1, 4096);
            new (self) Policy(std::move(rules), hidden, std::move(pool));
          },
          "rules"_a, "hidden"_a, "pool"_a)
      .def(
          "sample",
          [](Policy& self, In<float> weights, uint64_t seed, uint32_t iteration, Out<TokenId> tokens,
             Out<int32_t> lengths, Out<float> entropy, const nb::object& ask) -> nb::object {
            const Ask question = read_ask(ask, self.rules().tokens);
            const size_t batch = static_cast<size_t>(axis(tokens, "tokens", 0));
            shaped(weights, "weights", {self.weights()});
            shaped(tokens, "tokens", {batch, static_cast<size_t>(self.rules().max_length)});
            shaped(lengths, "lengths", {batch});
            shaped(entropy, "entropy", {batch});
            check_apart({tokens, lengths, entropy}, {weights});
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
          "weights"_a, "seed"_a, "iteration"_a, "tokens"_a.noconvert(), "lengths"_a.noconvert(),
          "entropy"_a.noconvert(), "ask"_a.none(),
          "Fills the arrays with a batch; returns None, or the prefix after which no token is allowed.")
      .def(
          "score",
          [](Policy& self, In<float> weights, In<TokenId> tokens, In<int32_t> lengths, In<float> weight,
             In<float> entropy_weight, float entropy_decay, Out<float> log_probability, Out<float> entropy,
             const std::optional<Out<float>>& gradient, const nb::object& ask) {
            const Ask question = read_ask(ask, self.rules().tokens);
            const Traversals programs = read_traversals(tokens, lengths);
            const size_t batch = tokens.shape(0);
            check_ids(programs.tokens, programs.lengths, programs.programs, programs.width, self.rules().tokens);
            shaped(weights, "weights", {self.weights()});
            shaped(weight, "weight", {batch});
            shaped(entropy_weight, "entropy_weight", {batch});
            shaped(log_probability, "log_probability", {batch});
            shaped(entropy, "entropy", {batch});
            check_apart({log_probability, entropy}, {weights, tokens, lengths, weight, entropy_weight});
            if (gradient) {
              shaped(*gradient, "gradient", {self.weights()});
              check_apart({*gradient}, {weights, tokens, lengths, weight, entropy_weight, log_probability, entropy});
            }
            float* gradient_data = gradient ? gradient->data() : nullptr;
            nb::gil_scoped_release unlock;
            self.score(weights.data(), programs, weight.data(), entropy_weight.data(), entropy_decay, question,
                       log_probability.data(), entropy.data(), gradient_data);
          },
          "weights"_a, "tokens"_a, "lengths"_a, "weight"_a, "entropy_weight"_a, "entropy_decay"_a,
          "log_probability"_a.noconvert(), "entropy"_a.noconvert(), "gradient"_a.noconvert().none(), "ask"_a.none(),
          "Log-probability and entropy of programs; with `gradient`, also that of their weighted sum.")
      .def_prop_ro("restarts", &Policy::restarts, "Programs begun anew, since nothing with fitting units was left.");

  m.def(
      "pair",
      [](In<double> values, In<double> candidates, In<double> inverses, In<double> target, In<double> weight,
         In<double> penalty, std::shared_ptr<Pool> pool, Out<double> error, Out<int64_t> index) {
        const int programs = axis(values, "values", 0), rows = axis(values, "values", 1);
        const int count = axis(candidates, "candidates", 1);
        const size_t p = values.shape(0), n = values.shape(1), q = candidates.shape(1), kinds = PAIR_KINDS;
        if (q % DOUBLE_LANES != 0) refuse("`candidates` must have a multiple of 8 columns");
        shaped(values, "values", {p, n});
        shaped(candidates, "candidates", {n, q});
        shaped(inverses, "inverses", {n, q});
        shaped(target, "target", {n});
        shaped(weight, "weight", {n});
        shaped(penalty, "penalty", {p, q});
        shaped(error, "error", {p, kinds});
        shaped(index, "index", {p, kinds});
        check_apart({error, index}, {values, candidates, inverses, target, weight, penalty});
        const PairSearch search{programs,        rows,          count,         values.data(), candidates.data(),
                                inverses.data(), target.data(), weight.data(), penalty.data()};
        nb::gil_scoped_release unlock;
        find_pairs(search, *pool, error.data(), index.data());
      },
      "values"_a, "candidates"_a, "inverses"_a, "target"_a, "weight"_a, "penalty"_a, "pool"_a, "error"_a.noconvert(),
      "index"_a.noconvert(),
      "For each row of values [P, N] the candidate [N, Q] that completes it best, by each way to combine two.");

  nb::class_<Breeder>(m, "Breeder")
      .def(
          "__init__",
          [](Breeder* self, std::shared_ptr<Rules> rules, int constant, std::shared_ptr<Pool> pool) {
            check_number("constant", constant, -1, rules->tokens - 1);
            if (constant >= 0 && rules->arity[constant] != 0) refuse("`constant` is a token with arguments");
            new (self) Breeder(std::move(rules), constant, std::move(pool));
          },
          "rules"_a, "constant"_a, "pool"_a)
      .def(
          "breed",
          [](Breeder& self, In<TokenId> tokens, In<int32_t> lengths, In<double> constants, In<double> fitness,
             uint64_t seed, uint32_t iteration, uint32_t generation, int tournament, float crossover, float mutation,
             Out<TokenId> child_tokens, Out<int32_t> child_lengths, Out<double> child_constants) {
            const Batch parents = read_batch(tokens, lengths, constants, self.alphabet());
            const size_t children = static_cast<size_t>(axis(child_tokens, "child_tokens", 0));
            const int width = axis(child_constants, "child_constants", 1);
            shaped(fitness, "fitness", {tokens.shape(0)});
            shaped(child_tokens, "child_tokens", {children, static_cast<size_t>(self.rules().max_length)});
            shaped(child_lengths, "child_lengths", {children});
            shaped(child_constants, "child_constants", {children, child_constants.shape(1)});
            check_apart({child_tokens, child_lengths, child_constants}, {tokens, lengths, constants, fitness});
            if (parents.programs == 0 && children > 0) refuse("there are no parents");
            check_number("width of child_constants", width, self.most_constants(), INT_MAX);
            check_number("tournament", tournament, 1, MOST_TRIES);
            check_number("crossover", crossover, 0.0, 1.0);
            check_number("mutation", mutation, 0.0, 1.0);
            nb::gil_scoped_release unlock;
            return self.breed(parents, fitness.data(), {seed, iteration, generation}, {tournament, crossover, mutation},
                              static_cast<int>(child_lengths.size()), child_tokens.data(), child_lengths.data(),
                              child_constants.data(), static_cast<int>(child_constants.shape(1)));
          },
          "tokens"_a, "lengths"_a, "constants"_a, "fitness"_a, "seed"_a, "iteration"_a, "generation"_a, "tournament"_a,
          "crossover"_a, "mutation"_a, "child_tokens"_a.noconvert(), "child_lengths"_a.noconvert(),
          "child_constants"_a.noconvert(),
          "Fills the arrays with one generation of new children; returns how many there are.")
      .def(
          "admit",
          [](Breeder& self, In<TokenId> tokens, In<int32_t> lengths, Out<bool> ok) {
            const Traversals programs = read_traversals(tokens, lengths);
            shaped(ok, "ok", {tokens.shape(0)});
            check_apart({ok}, {tokens, lengths});
            self.admit(without_constants(programs), ok.data());
          },
          "tokens"_a, "lengths"_a, "ok"_a.noconvert(), "Which programs obey the constraints and are new.")
      .def(
          "begin",
          [](Breeder& self, In<TokenId> tokens, In<int32_t> lengths) {
            self.begin(without_constants(read_traversals(tokens, lengths)));
          },
          "tokens"_a, "lengths"_a, "Forgets the programs seen so far, and remembers these.");

  nb::class_<Evaluator>(m, "Evaluator")
      .def(
          "__init__",
          [](Evaluator* self, const std::vector<std::vector<std::tuple<std::string, int, double>>>& code,
             const std::vector<int>& arity, In<double> columns, In<double> target, In<double> weight,
             const std::vector<std::pair<std::string, double>>& losses, std::shared_ptr<Pool> pool, size_t cache,
             bool underflow_invalid, std::vector<int64_t> begins, int own, const std::optional<In<double>>& scale) {
            const bool graded = target.size() > 0;
            const int variables = axis(columns, "columns", 0);
            const size_t rows = columns.shape(1);
            TokenCode tokens = read_code(code, arity);
            check_number("own", own, 0, begins.empty() ? 0 : MOST_OWN);
            check_code(tokens, variables + own);
            if (rows == 0) refuse("there are no rows to evaluate programs on");
            if (cache > MOST_CACHED) refuse("`cache` is more entries than memory can hold");
            shaped(columns, "columns", {columns.shape(0), rows});
            if (graded) {
              shaped(target, "target", {rows});
              shaped(weight, "weight", {rows});
              if (scale) shaped(*scale, "scale", {rows});
            }
            if (!begins.empty()) check_begins(begins, static_cast<int64_t>(rows));
            new (self) Evaluator(std::move(tokens), columns.data(), variables, static_cast<int64_t>(rows),
                                 graded ? target.data() : nullptr, graded ? weight.data() : nullptr,
                                 graded && scale ? scale->data() : nullptr, read_losses(losses), std::move(pool), cache,
                                 underflow_invalid, std::move(begins), own);
          },
          "code"_a, "arity"_a, "columns"_a, "target"_a, "weight"_a, "losses"_a, "pool"_a, "cache"_a,
          "underflow_invalid"_a = false, "begins"_a = std::vector<int64_t>(), "own"_a = 0, "scale"_a = nb::none())
      .def_prop_ro("rows", &Evaluator::rows)
      .def(
          "errors",
          [](Evaluator& self, In<TokenId> tokens, In<int32_t> lengths, In<double> constants, Out<double> sums,
             Out<bool> ok) {
            const Batch batch = read_batch(tokens, lengths, constants, self.alphabet());
            const size_t count = tokens.shape(0);
            shaped(sums, "sums", {self.losses(), count});
            shaped(ok, "ok", {count});
            check_apart({sums, ok}, {tokens, lengths, constants});
            nb::gil_scoped_release unlock;
            return self.errors(batch, sums.data(), ok.data(), check_signals);
          },
          "tokens"_a, "lengths"_a, "constants"_a, "sums"_a.noconvert(), "ok"_a.noconvert(),
          "Fills the sums of each loss of each program; returns how many programs are distinct.")
      .def(
          "fit",
          [](Evaluator& self, In<TokenId> tokens, In<int32_t> lengths, In<double> constants, const std::string& method,
             int restarts, int max_steps, bool rescue, double scale, double power, In<double> low, In<double> high,
             uint64_t bounds, Out<double> fitted, Out<uint8_t> status, Out<double> sums, Out<bool> ok,
             const std::optional<Out<double>>& own) {
            const Batch batch = read_batch(tokens, lengths, constants, self.alphabet());
            const size_t count = tokens.shape(0);
            shaped(fitted, "fitted", {count, constants.shape(1)});
            shaped(status, "status", {count});
            shaped(sums, "sums", {self.losses(), count});
            shaped(ok, "ok", {count});
            check_apart({fitted, status, sums, ok}, {tokens, lengths, constants});
            if (own) {
              shaped(*own, "own", {count, static_cast<size_t>(self.own()), static_cast<size_t>(self.groups())});
              check_apart({*own}, {tokens, lengths, constants, fitted, status, sums, ok});
            }
            check_number("restarts", restarts, 0, MOST_TRIES);
            check_number("max_steps", max_steps, 1, MOST_TRIES);
            FitOptions options{read_method(method), restarts, max_steps, rescue, scale, power};
            if (bounds != 0) {
              shaped(low, "low", {count, constants.shape(1) + 1});
              shaped(high, "high", {count, constants.shape(1) + 1});
              for (size_t i = 0; i < low.size(); ++i)
                if (!(low.data()[i] <= high.data()[i])) throw std::invalid_argument("a bound is above the other");
              options.low = low.data();
              options.high = high.data();
              options.bounds = bounds;
            }
            double* own_data = own ? own->data() : nullptr;
            nb::gil_scoped_release unlock;
            return self.fit(batch, options, fitted.data(), own_data, reinterpret_cast<FitStatus*>(status.data()),
                            sums.data(), ok.data(), check_signals);
          },
          "tokens"_a, "lengths"_a, "constants"_a, "method"_a, "restarts"_a, "max_steps"_a, "rescue"_a, "scale"_a,
          "power"_a, "low"_a, "high"_a, "bounds"_a, "fitted"_a.noconvert(), "status"_a.noconvert(),
          "sums"_a.noconvert(), "ok"_a.noconvert(), "own"_a.noconvert().none() = nb::none(),
          "Fits the constants, then fills what `errors` does; returns how many programs are distinct.")
      .def(
          "derivatives",
          [](Evaluator& self, In<TokenId> tokens, In<int32_t> lengths, In<double> constants, Out<double> loss,
             Out<double> gradient, Out<double> normal, Out<bool> ok) {
            const Batch batch = read_batch(tokens, lengths, constants, self.alphabet());
            const size_t count = tokens.shape(0), k = constants.shape(1);
            shaped(loss, "loss", {count});
            shaped(gradient, "gradient", {count, k});
            shaped(normal, "normal", {count, k, k});
            shaped(ok, "ok", {count});
            check_apart({loss, gradient, normal, ok}, {tokens, lengths, constants});
            nb::gil_scoped_release unlock;
            self.derivatives(batch, loss.data(), gradient.data(), normal.data(), ok.data());
          },
          "tokens"_a, "lengths"_a, "constants"_a, "loss"_a.noconvert(), "gradient"_a.noconvert(),
          "normal"_a.noconvert(), "ok"_a.noconvert(), "Fills the sums that fitting goes by, where the constants stand.")
      .def(
          "predict",
          [](Evaluator& self, In<TokenId> tokens, In<int32_t> lengths, In<double> constants, Out<double> predictions,
             Out<bool> ok) {
            const Batch batch = read_batch(tokens, lengths, constants, self.alphabet());
            shaped(predictions, "predictions", {tokens.shape(0), static_cast<size_t>(self.rows())});
            shaped(ok, "ok", {tokens.shape(0)});
            check_apart({predictions, ok}, {tokens, lengths, constants});
            nb::gil_scoped_release unlock;
            self.predict(batch, predictions.data(), ok.data());
          },
          "tokens"_a, "lengths"_a, "constants"_a, "predictions"_a.noconvert(), "ok"_a.noconvert(),
          "Fills predictions [B, N] and whether every node was finite.");
}
