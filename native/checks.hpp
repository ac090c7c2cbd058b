// What a caller hands to the core, looked at before the core reads it: a batch that is none is refused with a sentence
// (std::invalid_argument, Python's ValueError), and what is taken cannot lead the core outside its arrays.
#pragma once

#include <string>
#include <vector>

#include "evaluation/evaluator.hpp"
#include "policy/rules.hpp"

namespace symseek {

[[noreturn]] void refuse(const std::string& sentence);

// Refuses a number that is not from `low` to `high`; NaN never is.
void check_number(const char* name, double value, double low, double high);

// Refuses lengths that are not from `least` to the width of the batch.
void check_lengths(const int32_t* lengths, int programs, int least, int width);
// Refuses ids, within the lengths, of tokens that there are not.
void check_ids(const TokenId* tokens, const int32_t* lengths, int programs, int width, int known);
// Refuses programs that are not complete trees, or that have more placeholders than there are values for them.
void check_trees(const Batch& batch, const Alphabet& alphabet);

// Refuses tables whose sizes disagree, or that name a token, class or rule that there is not.
void check_rules(const Rules& rules);
// Refuses units that are not given for each token, or a manner or power that there is not.
void check_units(const Rules& rules);
// Refuses beginnings of groups of rows, and their end, that are not in order or no multiples of DOUBLE_LANES.
void check_begins(const std::vector<int64_t>& begins, int64_t rows);
// Refuses instructions that read an operand or a column that is not there, or leave more or less than one value.
void check_code(const TokenCode& code, int variables);

}  // namespace symseek
