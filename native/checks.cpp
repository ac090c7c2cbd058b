#include "checks.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <stdexcept>

namespace symseek {

namespace {

constexpr int MOST_TOKENS = std::numeric_limits<TokenId>::max();
constexpr int MOST_LENGTH = 1 << 20;
constexpr int MOST_DESCENDANTS = 64;  // bits of a Word

// Without a branch but for the loop's end: a tree has open positions before each of its tokens, and none after the
// last.
bool is_tree(const TokenId* tokens, int length, const Alphabet& alphabet) {
  const unsigned known = static_cast<unsigned>(alphabet.tokens());
  int64_t open = 1, lowest = 1;
  for (int i = 0; i < length; ++i) {
    lowest = std::min(lowest, open);
    const unsigned token = static_cast<uint16_t>(tokens[i]);  // a negative id becomes one that is too large
    open += alphabet.opens[std::min(token, known)];
  }
  return lowest > 0 && open == 0;
}

int constants_in(const TokenId* tokens, int length, const Alphabet& alphabet) {
  int count = 0;
  for (int i = 0; i < length; ++i) count += alphabet.constant[tokens[i]];
  return count;
}

void check_size(const char* name, size_t size, size_t wanted) {
  if (size != wanted)
    refuse("the table `" + std::string(name) + "` has " + std::to_string(size) + " entries; it must have " +
           std::to_string(wanted));
}

// The bits of the last word that stand for no token must be 0.
void check_sets(const char* name, const std::vector<Word>& sets, size_t rows, const Rules& rules) {
  check_size(name, sets.size(), rows * rules.words);
  const int used = rules.tokens % 64;
  if (used == 0) return;
  for (size_t last = rules.words - 1; last < sets.size(); last += rules.words)
    if (sets[last] >> used) refuse("the table `" + std::string(name) + "` allows a token that there is not");
}

void check_counts(const Rules& rules) {
  if (rules.counts.size() > MAX_COUNT_RULES) refuse("there are more count rules than a prefix has counters");
  const size_t classes = 2 * (size_t(rules.max_arity) + 1), length = rules.max_length;
  for (const CountRule& rule : rules.counts) {
    check_number("cap", rule.most, 0, std::numeric_limits<uint8_t>::max());
    check_size("allowed", rule.allowed.size(), length * (length + 1) * (size_t(rule.most) + 1));
    check_sets("class_sets", rule.class_sets, classes, rules);
    check_size("member", rule.member.size(), rules.tokens);
    for (uint32_t allowed : rule.allowed)
      if (allowed >> classes) refuse("the table `allowed` names a class of token that there is not");
  }
}

void check_room(const Rules& rules, size_t sets) {
  if (!rules.sized) return;
  const size_t places = (size_t(rules.tokens) + 1) * rules.max_arity, spans = size_t(rules.max_length) + 1;
  check_size("slot_least", rules.slot_least.size(), sets * places);
  check_size("slot_most", rules.slot_most.size(), sets * places);
  check_size("needs", rules.needs.size(), sets * rules.tokens);
  check_size("holds", rules.holds.size(), sets * rules.tokens);
  check_sets("needs_at_most", rules.needs_at_most, sets * spans, rules);
  check_sets("holds_at_least", rules.holds_at_least, sets * spans, rules);
  for (const auto* sizes : {&rules.slot_least, &rules.slot_most, &rules.needs, &rules.holds})
    for (int32_t size : *sizes)  // sums of them stay within 32 bits
      check_number("size", size, 0, 8 * MOST_LENGTH);
}

}  // namespace

void refuse(const std::string& sentence) { throw std::invalid_argument(sentence); }

void check_number(const char* name, double value, double low, double high) {
  if (value >= low && value <= high) return;
  const auto text = [](double number) {
    std::string out = std::to_string(number);
    return out.substr(0, out.find(".000000"));
  };
  refuse("`" + std::string(name) + "` is " + text(value) + "; it must be from " + text(low) + " to " + text(high));
}

void check_lengths(const int32_t* lengths, int programs, int least, int width) {
  for (int i = 0; i < programs; ++i)
    if (lengths[i] < least || lengths[i] > width)
      refuse("program " + std::to_string(i) + " has length " + std::to_string(lengths[i]) + "; it must be from " +
             std::to_string(least) + " to " + std::to_string(width));
}

void check_ids(const TokenId* tokens, const int32_t* lengths, int programs, int width, int known) {
  for (int i = 0; i < programs; ++i)
    for (int at = 0; at < lengths[i]; ++at)
      if (const int token = tokens[size_t(i) * width + at]; token < 0 || token >= known)
        refuse("program " + std::to_string(i) + " has token " + std::to_string(token) + "; there are tokens 0 to " +
               std::to_string(known - 1));
}

void check_trees(const Batch& batch, const Alphabet& alphabet) {
  check_lengths(batch.lengths, batch.programs, 1, batch.width);
  const bool may_lack = alphabet.has_constants && batch.constant_width < batch.width;
  for (int i = 0; i < batch.programs; ++i) {
    const TokenId* tokens = batch.tokens + size_t(i) * batch.width;
    const int length = batch.lengths[i];
    if (!is_tree(tokens, length, alphabet)) {
      check_ids(batch.tokens, batch.lengths, batch.programs, batch.width, alphabet.tokens());
      refuse("program " + std::to_string(i) + " is no complete tree of its length");
    }
    const int constants = may_lack ? constants_in(tokens, length, alphabet) : 0;
    if (constants > batch.constant_width)
      refuse("program " + std::to_string(i) + " has " + std::to_string(constants) + " placeholders, and there are " +
             std::to_string(batch.constant_width) + " values for them");
  }
}

void check_rules(const Rules& rules) {
  check_number("tokens", rules.tokens, 1, MOST_TOKENS);
  check_number("max_length", rules.max_length, 1, MOST_LENGTH);
  check_number("min_length", rules.min_length, 0, MOST_LENGTH);
  check_number("max_arity", rules.max_arity, 1, 8);
  bool terminal = false;
  for (int8_t arity : rules.arity) {
    check_number("arity", arity, 0, rules.max_arity);
    terminal = terminal || arity == 0;
  }
  if (!terminal) refuse("there is no token without arguments");
  const size_t tokens = rules.tokens, length = rules.max_length;
  check_sets("child", rules.child, (tokens + 1) * rules.max_arity, rules);
  check_sets("sibling", rules.sibling, tokens + 1, rules);
  check_sets("at_length", rules.at_length, length, rules);
  check_size("bias", rules.bias.size(), length * 2 * tokens);
  const size_t descendants = rules.descendant.size() / rules.words;
  check_number("descendant", static_cast<double>(descendants), 0, MOST_DESCENDANTS);
  check_sets("descendant", rules.descendant, descendants, rules);
  check_sets("not_all", rules.not_all, rules.not_all.size() / rules.words, rules);
  check_size("in_force", rules.in_force.size(), tokens * rules.max_arity);
  Word triggered = 0;
  for (Word active : rules.in_force) triggered |= active;
  if (descendants < MOST_DESCENDANTS && triggered >> descendants)
    refuse("the table `in_force` names a rule that there is not");
  if (rules.sized && rules.exact_sets && descendants > 16) refuse("there are too many rules for a table of their sets");
  check_counts(rules);
  check_room(rules, rules.exact_sets ? size_t(1) << std::min<size_t>(descendants, 16) : 2);
}

void check_units(const Rules& rules) {
  const Units& units = rules.units;
  const size_t tokens = rules.tokens;
  check_number("max_length", rules.max_length, 1, LONGEST);
  check_size("manner", units.manner.size(), tokens);
  check_size("dimension", units.dim.size(), tokens);
  check_size("power_above", units.power.size(), tokens);
  check_size("divides", units.divides.size(), tokens);
  check_size("fixed", units.fixed.size(), tokens);
  check_number("limit", units.limit, -1, static_cast<double>(rules.counts.size()) - 1);
  check_size("argument", units.argument.size(), rules.max_arity);
  check_size("argument_known", units.argument_known.size(), rules.max_arity);
  for (size_t token = 0; token < tokens; ++token) {
    check_number("manner", units.manner[token], 0, MANNERS - 1);
    const auto how = static_cast<Manner>(units.manner[token]);
    const bool terminal =
        how == Manner::TERMINAL || how == Manner::WILD || how == Manner::NUMBER || how == Manner::BANNED;
    if (terminal != (rules.arity[token] == 0)) refuse("the table `manner` does not suit the arities");
    if (how == Manner::POWER || how == Manner::RAISED)
      check_number("arity", rules.arity[token], how == Manner::RAISED ? 2 : 1, how == Manner::RAISED ? 2 : 1);
    check_number("power_above", units.power[token].num, -MOST_EXPONENT, MOST_EXPONENT);
    check_number("power_below", units.power[token].den, how == Manner::POWER ? 1 : 0, GRAIN);
    if (how == Manner::POWER) check_number("power_above", std::abs(units.power[token].num), 1, MOST_EXPONENT);
  }
}

void check_begins(const std::vector<int64_t>& begins, int64_t rows) {
  bool good = begins.size() > 1 && begins.front() == 0 && begins.back() == rows;
  for (size_t g = 0; good && g < begins.size(); ++g)
    good = begins[g] % DOUBLE_LANES == 0 && (g == 0 || begins[g] >= begins[g - 1]);
  if (!good) refuse("`begins` must rise from 0 to the number of rows in multiples of " + std::to_string(DOUBLE_LANES));
}

void check_code(const TokenCode& code, int variables) {
  check_number("tokens", static_cast<double>(code.code.size()), 1, MOST_TOKENS);
  if (code.arity.size() != code.code.size()) refuse("there must be an arity for the code of each token");
  for (size_t token = 0; token < code.code.size(); ++token) {
    const auto& steps = code.code[token];
    const int arity = code.arity[token];
    const std::string where = "the code of token " + std::to_string(token);
    int height = arity;  // values on the stack that this code may touch
    if (steps.empty() || steps.size() >= MAX_STACK)
      refuse(where + " has " + std::to_string(steps.size()) + " instructions; it must have from 1 to " +
             std::to_string(MAX_STACK - 1));
    for (const Instruction& step : steps) {
      int taken = arity_of(step.opcode), left = 1;
      if (step.opcode == Opcode::finish) taken = step.index < 0 || step.index >= height ? height + 1 : step.index + 1;
      if (step.opcode == Opcode::argument && (step.index < 0 || step.index >= height)) taken = height + 1;
      if (taken > height) refuse(where + " reads an operand that is not there");
      if (step.opcode == Opcode::variable && (step.index < 0 || step.index >= variables))
        refuse(where + " reads column " + std::to_string(step.index) + " of " + std::to_string(variables));
      if (step.opcode == Opcode::constant && steps.size() > 1)
        refuse(where + " has a placeholder beside other instructions");
      height += left - taken;
    }
    if (height != 1) refuse(where + " leaves " + std::to_string(height) + " values; it must leave one");
  }
}

}  // namespace symseek
