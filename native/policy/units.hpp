// Physical dimensions while programs are written: what each open position must have, and the least tokens that make it.
//
// A dimension is eight powers, in twelfths. An open position is known (its dimension is given), loose (any will do) or
// linked: its dimension d decides what the product of other open positions must have. From a table of the least tokens
// that make each dimension, and each product of two to four, follows what can still be completed within the length.
// Where the table or these three forms do not reach, what is said is the least that may be needed, never more.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace symseek {

using Dim = uint64_t;  // 8 powers of one byte each; 0 is dimensionless

constexpr int LANES = 8;
constexpr int GRAIN = 12;  // a power of 1
constexpr int MOST_POWER = 127;
constexpr int MOST_EXPONENT = 1 << 16;  // any power of a dimension is out of bounds then
constexpr int LONGEST = 1000;           // programs with units
constexpr int MOST_ARGUMENTS = 8;
constexpr int NEVER = 1 << 12;  // tokens: more than any program has

// The product of two powers of dimensions, each power num/GRAIN; false where it is out of bounds.
inline bool product(Dim a, int power_a, Dim b, int power_b, Dim& out) {
  int8_t x[LANES], y[LANES], z[LANES];
  std::memcpy(x, &a, sizeof a);
  std::memcpy(y, &b, sizeof b);
  bool fits = true;
  for (int i = 0; i < LANES; ++i) {
    const int sum = x[i] * power_a + y[i] * power_b;
    const int whole = sum / GRAIN;
    fits &= whole * GRAIN == sum && whole >= -MOST_POWER && whole <= MOST_POWER;
    z[i] = static_cast<int8_t>(whole);
  }
  std::memcpy(&out, z, sizeof out);
  return fits;
}
// The same where both powers are 1 or -1.
inline bool combined(Dim a, Dim b, int sign, Dim& out) { return product(a, GRAIN, b, sign * GRAIN, out); }

struct Ratio {
  int32_t num = 1, den = 1;
};
// A dimension to a power; false where it is out of bounds.
inline bool raised(Dim a, Ratio power, Dim& out) {
  int8_t x[LANES], z[LANES];
  std::memcpy(x, &a, sizeof a);
  bool fits = true;
  for (int i = 0; i < LANES; ++i) {
    const int full = x[i] * power.num, whole = full / power.den;
    fits &= whole * power.den == full && whole >= -MOST_POWER && whole <= MOST_POWER;
    z[i] = static_cast<int8_t>(whole);
  }
  std::memcpy(&out, z, sizeof out);
  return fits;
}

// The dimension of a finished part: wild if it may have any.
struct Quantity {
  Dim dim = 0;
  bool wild = false;
};

// What a token does with dimensions.
enum class Manner : uint8_t {
  TERMINAL,  // has one
  WILD,      // a number that takes any
  NUMBER,    // has none, and is a known exponent
  PLAIN,     // takes and gives none
  SIGN,      // takes any, gives none
  RATIO,     // takes arguments alike, gives none
  ALIKE,     // takes arguments alike, gives the same
  PRODUCT,   // multiplies, or divides by the arguments after the first
  POWER,     // raises its argument to a known power
  RAISED,    // raises the first argument to the second
  FORM,      // the root of a given form, whose arguments have dimensions of their own
  BANNED,    // has one that is out of bounds
};
constexpr int MANNERS = 12;

constexpr int FACTORS = 4;  // products of so many open positions are in the table
constexpr int SHAPES = 14;  // numerators and denominators that these can have
// A row of the table also has what may stand below each of so many powers, which do not take every operator.
constexpr int MOST_POWERS = 4;
constexpr int WIDTH = SHAPES + MOST_POWERS;
inline int shape_of(int above, int below) {
  const int all = above + below;
  return (all - 1) * (all + 2) / 2 + below;
}

enum class Bound : uint8_t { KNOWN, LOOSE, LINKED, NONE };  // NONE: nothing suits

// Tokens that are needed, if none, one, two or three numbers to fit may be used for it, or any number of them.
constexpr int NUMBERS = 4;
struct Need {
  int32_t with[NUMBERS + 1] = {};

  static Need of(int none, int some) { return {{none, some, some, some, some}}; }
  int by(int numbers) const { return with[std::min(numbers, NUMBERS)]; }
  int some() const { return with[NUMBERS]; }
  Need at_least(int tokens) const {
    Need need = *this;
    for (int32_t& each : need.with) each = std::max(each, tokens);
    return need;
  }
  Need operator+(int tokens) const {
    Need sum = *this;
    for (int32_t& each : sum.with) each += tokens;
    return sum;
  }
  // The numbers go where they save most.
  Need operator+(const Need& other) const {
    Need sum = *this + other.with[0];
    for (int all = 1; all < NUMBERS; ++all)
      for (int here = 0; here < all; ++here)
        sum.with[all] = std::min(sum.with[all], with[here] + other.with[all - here]);
    sum.with[NUMBERS] = with[NUMBERS] + other.with[NUMBERS];
    return sum;
  }
  Need operator*(int times) const {
    Need sum;
    for (; times > 0; --times) sum = sum + *this;
    return sum;
  }
};
constexpr Need IMPOSSIBLE{{NEVER, NEVER, NEVER, NEVER, NEVER}};
inline Need lower(Need a, const Need& b) {
  for (int i = 0; i <= NUMBERS; ++i) a.with[i] = std::min(a.with[i], b.with[i]);
  return a;
}

// An open position, by its dimension d.
struct Place {
  Dim x = 0;   // known: d must be x; linked: the product of the open positions above over those below is x d^p
  Dim y = 0;   // `same` further open positions must have y d^q
  Need after;  // that the other open positions need besides
  int8_t p = GRAIN, q = GRAIN;  // in parts of GRAIN
  uint8_t above = 0, below = 0, same = 0;
  // Some of these, and d, count as powers of themselves. A power takes one token more than what is raised, so that what
  // the table says is too much by as many tokens: those of the open positions together, and that of d.
  int16_t credit = 0;
  uint8_t bent = 0;
  Bound bound = Bound::LOOSE;
  bool exponent = false;  // of a base that may have a dimension
  int8_t under = -1;      // what it is below, of the powers that do not take every operator
  bool bare = false;      // not for a number to fit, since there is nothing else beside it
};

inline Place nothing() {
  Place place;
  place.bound = Bound::NONE;
  return place;
}

// The same position, of one dimension only.
inline Place aimed(Place place, Dim dim) {
  if (place.bound == Bound::NONE || place.bound == Bound::KNOWN) return place;
  place.bound = Bound::KNOWN;
  place.x = dim;
  place.same = place.above = place.below = 0;
  return place;
}

// An open operator.
struct Measure {
  Place at;            // its own
  Place next;          // that of its next argument
  Quantity got;        // what its finished arguments come to
  bool some = false;   // whether any of them has said what it is
  bool fixed = false;  // whether all of them are numbers to fit
};

// The least tokens of each dimension and product.
struct LeastTable {
  std::vector<Dim> keys;           // open addressing
  std::vector<int32_t> rows;       // [keys] row, -1 where free
  std::vector<uint8_t> cost;       // [rows, WIDTH]; 0: more than known_to
  std::vector<uint8_t> zero;       // [L] of an operator's arguments, if its value has no dimension; the same
  int known_to[FACTORS + 1] = {};  // by factors: every cost up to this is in the table
  int bare = 0;                    // what has no dimension and is no number to fit

  size_t slot(Dim dim) const { return (dim * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (keys.size() - 1); }
  const uint8_t* row(Dim dim) const {
    for (size_t at = slot(dim);; at = (at + 1) & (keys.size() - 1)) {
      if (rows[at] < 0) return nullptr;
      if (keys[at] == dim) return &cost[size_t(rows[at]) * WIDTH];
    }
  }
};

struct Class {
  Quantity value;
  bool fixed;
};

struct Units {
  bool given = false;
  std::vector<uint8_t> manner;   // [L]
  std::vector<Dim> dim;          // [L] of terminals
  std::vector<Ratio> power;      // [L] of powers; of numbers, as an exponent: den 0 if it is none that can be held
  std::vector<uint8_t> divides;  // [L] whether all arguments but the first divide
  std::vector<uint8_t> argument_known;  // [max_arity] of the form's root
  std::vector<Dim> argument;            // [max_arity]
  std::vector<uint8_t> fixed;           // [L] numbers to fit
  bool not_alone = false;               // an operator's arguments must not all be such
  bool target_known = false;
  Dim target = 0;

  // Follows from these.
  std::vector<int8_t> arity;           // [L]
  std::vector<int16_t> operators;      // ids
  std::vector<int8_t> under;           // [L] the place of a power among those that do not take every operator, or -1
  std::vector<int16_t> selective;      // [places] and which it is
  std::vector<int16_t> numbers;        // ids of those that are exponents
  std::vector<Class> classes;          // distinct dimensions of terminals
  std::vector<uint64_t> members;       // [classes, words]
  std::vector<uint64_t> suitable;      // [words] the tokens that have a dimension, all others being out of bounds
  bool wild = false;                   // some terminal takes any dimension
  int words = 0;                       // of a set of tokens
  int64_t lattice[LANES][LANES] = {};  // what columns generate: rows, of which row i is 0 before its pivot i
  int64_t roots = 1;                   // every dimension to this power is generated by the columns
  bool limited = false;                // whether numbers to fit are limited, by this rule on counts
  int limit = -1;
  LeastTable least_with, least_without;  // numbers to fit

  void find_lattice();
  // Works out the table, for programs of up to so many tokens.
  void prepare(int max_length, const uint64_t* child, int max_arity);

  Quantity value_of(int token) const {  // of a terminal
    return {manner_of(token) == Manner::TERMINAL ? dim[token] : 0, manner_of(token) == Manner::WILD};
  }
  Manner manner_of(int token) const { return static_cast<Manner>(manner[token]); }
  // Whether any program of the columns has it, however long.
  bool made(Dim dim) const;
  // The least tokens for open positions whose product is this.
  Need least(Dim dim, int above = 1, int below = 0) const {
    const int factors = above + below;
    if (factors <= FACTORS) return least_in(dim, shape_of(above, below), factors);
    return wild || made(dim) ? Need{} + factors : IMPOSSIBLE;
  }
  Need least_in(Dim dim, int column, int factors) const {
    const int some = wild ? factors : least_in(least_with, dim, column, factors);
    return Need::of(limited ? least_in(least_without, dim, column, factors) : some, some);
  }
  int least_in(const LeastTable& table, Dim dim, int column, int factors) const {
    const uint8_t* found = table.row(dim);
    if (found && found[column]) return found[column];
    return found || made(dim) ? std::max(factors, table.known_to[factors] + 1) : NEVER;
  }
  // The same for the argument of a power.
  Need least_below(int place, Dim dim) const {
    return place < 0 || dim == 0 ? bare(dim) : least_in(dim, SHAPES + place, 1);
  }
  // The same for one position that is no number to fit.
  Need bare(Dim dim) const {
    const Need need = least(dim);
    if (!not_alone) return need;
    const int none = need.with[0];
    if (wild) return Need::of(none, std::min(3, none));
    return dim != 0 ? need : Need::of(none, least_with.bare ? least_with.bare : least_with.known_to[1] + 1);
  }
  Place root() const;
  // Tokens that all other open positions need once this one has a value.
  Need rest(const Place& place, const Quantity& value) const;
  // Tokens that all open positions need, this one included.
  Need total(const Place& place) const;
  // The operator's next argument, `filled` being finished.
  Place next(const Measure& measure, int token, int filled) const;
  Need linked(const Place& place, int above, int below) const;
  int bases_of(Dim dim, Dim& base) const;
  Need total_of_power(Dim dim) const;
  Place next_of(const Measure& measure, int token, int filled) const;
  // Takes in a finished argument, whose outermost token is given; false where it is out of bounds.
  bool take(Measure& measure, int token, int filled, const Quantity& value, int outermost) const;
  // What an operator makes of its arguments, whose outermost tokens are given; false where these do not suit.
  bool combine(int token, const Dim* dims, const bool* wild, const int16_t* outermost, Quantity& out) const;
  // The dimension of a finished part, from token `begin` to `end`; false if its parts do not agree.
  template <class Read>
  bool dimension(const Read& token_at, int begin, int end, Quantity& out) const {
    Dim dims[LONGEST + MOST_ARGUMENTS];
    bool free[LONGEST + MOST_ARGUMENTS];
    int16_t outermost[LONGEST + MOST_ARGUMENTS];
    if (end - begin > LONGEST) return false;
    int top = LONGEST;  // of a stack that grows downwards, so that arguments lie in their order
    for (int at = end - 1; at >= begin; --at) {
      const int token = token_at(at), count = arity[token];
      Quantity made = value_of(token);
      if (manner_of(token) == Manner::BANNED) return false;
      if (count > 0 && !combine(token, dims + top, free + top, outermost + top, made)) return false;
      top += count - 1;
      dims[top] = made.dim;
      free[top] = made.wild;
      outermost[top] = static_cast<int16_t>(token);
    }
    out = {dims[top], free[top]};
    return true;
  }
  bool suits(const Quantity& whole) const { return !target_known || whole.wild || whole.dim == target; }
  // The tokens that an operator at this place brings with it and leaves to be done.
  Need total_with(const Place& place, int token) const;
};

}  // namespace symseek
