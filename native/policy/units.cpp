#include "policy/units.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

namespace symseek {

namespace {

constexpr size_t MOST_ROWS = size_t(1) << 15;
constexpr int64_t MOST_WORK = 3'000'000;  // pairs of dimensions looked at, well below a second

Place known(Dim dim, const Need& after) {
  Place place;
  place.bound = Bound::KNOWN;
  place.x = dim;
  place.after = after;
  return place;
}
Place loose(const Need& after) {
  Place place;
  place.after = after;
  return place;
}
Ratio inverse(Ratio power) { return power.num < 0 ? Ratio{-power.den, -power.num} : Ratio{power.den, power.num}; }
int open_besides(const Place& place) { return place.above + place.below + place.same; }

// Gives up what is said of `same`, but for their number.
void forget_same(Place& place) {
  place.after = place.after + place.same;
  place.same = 0;
  place.y = 0;
  place.q = GRAIN;
}

// With d replaced by got * d^(power/GRAIN); false if what depends on it cannot be held.
bool substitute(Dim& constant, int8_t& exponent, Dim got, int power) {
  Dim moved;
  const int changed = exponent * power;
  if (!product(constant, GRAIN, got, exponent, moved)) return false;
  if (changed % GRAIN != 0 || changed / GRAIN > MOST_POWER || changed / GRAIN < -MOST_POWER) return false;
  constant = moved;
  exponent = static_cast<int8_t>(changed / GRAIN);
  return true;
}
Place substituted(Place place, Dim got, int power) {
  if (place.same > 0 && !substitute(place.y, place.q, got, power)) forget_same(place);
  if (place.bound == Bound::LINKED && !substitute(place.x, place.p, got, power))
    return loose(place.after + open_besides(place));
  return place;
}

// Below a power.
Place bent(Place place) {
  place.bent = static_cast<uint8_t>(std::abs(place.p) == GRAIN ? 0 : place.bent + 1);
  return place;
}

}  // namespace

Place Units::root() const { return target_known ? known(target, {}) : loose({}); }

Need Units::rest(const Place& place, const Quantity& value) const {
  if (place.bound == Bound::NONE) return IMPOSSIBLE;
  if (value.wild) return place.after + open_besides(place);
  if (place.bound == Bound::KNOWN) return value.dim == place.x ? place.after : IMPOSSIBLE;
  Need need = place.after;
  Dim dim;
  if (place.same > 0) {
    if (!product(place.y, GRAIN, value.dim, place.q, dim)) return IMPOSSIBLE;
    need = need + least(dim) * place.same;
  }
  if (place.bound == Bound::LINKED) {
    if (!product(place.x, GRAIN, value.dim, place.p, dim)) return IMPOSSIBLE;
    need = need + (least(dim, place.above, place.below) + -place.credit).at_least(place.above + place.below);
  }
  return need;
}

Need Units::total(const Place& place) const {
  if (place.bound == Bound::NONE) return IMPOSSIBLE;
  if (place.bound == Bound::KNOWN && place.under >= 0) return place.after + least_below(place.under, place.x);
  if (place.bound == Bound::KNOWN) return place.after + (place.bare ? bare(place.x) : least(place.x));
  const Need besides = place.after + place.same;
  return place.bound == Bound::LOOSE ? besides + 1 : besides + linked(place, 1, 0);
}

// The open positions that are linked, in place of this one so many that stand above and below for it.
Need Units::linked(const Place& place, int above, int below) const {
  const int factors = place.above + place.below + above + below;
  const int over = place.above + (place.p < 0 ? above : below), under = place.below + (place.p < 0 ? below : above);
  return (least(place.x, over, under) + -(place.credit + place.bent * (above + below))).at_least(factors);
}

// The dimensions that a base may have, to be this when raised to a number: how many, and one of them.
int Units::bases_of(Dim dim, Dim& base) const {
  int count = 0;
  const auto found = [&](Dim each) {
    if (count == 0 || each != base) ++count;
    base = each;
  };
  if (dim == 0) found(0);
  for (const int16_t number : numbers) {
    Dim each;
    if (power[number].num == 0)
      count += dim == 0 ? 2 : 0;  // any base
    else if (raised(dim, inverse(power[number]), each) && made(each))
      found(each);
  }
  return count;
}

// The base and the exponent together.
Need Units::total_of_power(Dim dim) const {
  Need need = dim == 0 ? least(0) + bare(0) : IMPOSSIBLE;
  for (const int16_t number : numbers) {
    Dim each;
    if (power[number].num == 0)
      need = dim == 0 ? Need{} + 2 : need;
    else if (raised(dim, inverse(power[number]), each))
      need = lower(need, least(each) + 1);
  }
  return need;
}

Need Units::total_with(const Place& place, int token) const {
  const int count = arity[token];
  const Manner how = manner_of(token);
  if (place.bound == Bound::NONE) return IMPOSSIBLE;
  switch (how) {
    case Manner::FORM: return {};
    case Manner::PLAIN: return rest(place, {}) + least(0) * (count - 1) + bare(0) + 1;
    case Manner::SIGN:
    case Manner::RATIO: return rest(place, {}) + (1 + count);
    default: break;
  }
  const int below = how == Manner::PRODUCT && divides[token] ? count - 1 : 0;
  const int above = how == Manner::PRODUCT ? count - below : 1, others = how == Manner::ALIKE ? count - 1 : 0;
  const Need simple = place.after + (1 + count + open_besides(place));
  if (place.bound == Bound::KNOWN) {
    Dim dim = place.x;
    if (how == Manner::RAISED) return place.after + total_of_power(dim) + 1;
    if (how == Manner::ALIKE) return place.after + least(dim) * (count - 1) + bare(dim) + 1;
    if (how == Manner::POWER)
      return raised(dim, inverse(power[token]), dim) ? place.after + least_below(under[token], dim) + 1 : IMPOSSIBLE;
    Need need = least(dim, above, below);
    if (dim == 0 && !wild && least_with.zero[token]) need = Need::of(need.with[0], least_with.zero[token]);
    return place.after + need + 1;
  }
  if (place.bound == Bound::LOOSE || how == Manner::RAISED) return simple;
  if (how != Manner::POWER) return place.after + (1 + place.same + others) + linked(place, above, below);
  const Place inside = substituted(place, 0, GRAIN * power[token].num / power[token].den);
  return total(bent(inside)) + 1;
}

Place Units::next(const Measure& m, int token, int filled) const {
  Place place = next_of(m, token, filled);
  place.under = under[token];
  place.bare = not_alone && filled + 1 == arity[token] && (filled == 0 || m.fixed);
  return place;
}

Place Units::next_of(const Measure& m, int token, int filled) const {
  const int left = arity[token] - filled - 1;  // arguments after this one
  const Place& at = m.at;
  if (at.bound == Bound::NONE) return nothing();
  switch (manner_of(token)) {
    case Manner::PLAIN: return known(0, rest(at, {}) + least(0) * left);
    case Manner::SIGN: return loose(rest(at, {}) + left);
    case Manner::RATIO: {
      if (m.some) return known(m.got.dim, rest(at, {}) + least(m.got.dim) * left);
      Place place = loose(rest(at, {}));
      place.same = static_cast<uint8_t>(left);
      return place;
    }
    case Manner::ALIKE: {
      if (at.bound == Bound::KNOWN) return known(at.x, at.after + least(at.x) * left);
      if (m.some) return known(m.got.dim, rest(at, m.got) + least(m.got.dim) * left);
      Place place = at;
      if (place.same > 0 && (place.y != 0 || place.q != GRAIN)) forget_same(place);
      place.same = static_cast<uint8_t>(place.same + left);
      return place;
    }
    case Manner::PRODUCT: {
      if (m.got.wild) return loose(rest(at, m.got) + left);
      const int sign = divides[token] && filled > 0 ? -1 : 1;
      const int below = divides[token] ? left : 0, above = left - below;
      Dim x;
      if (at.bound == Bound::KNOWN) {
        if (!combined(at.x, m.got.dim, -1, x)) return nothing();
        if (left == 0) return raised(x, {sign, 1}, x) ? known(x, at.after) : nothing();
        Place place = loose(at.after);
        place.bound = Bound::LINKED;
        place.x = x;
        place.p = static_cast<int8_t>(-sign * GRAIN);
        place.above = static_cast<uint8_t>(above);
        place.below = static_cast<uint8_t>(below);
        return place;
      }
      if (left == 0) return substituted(at, m.got.dim, sign * GRAIN);
      Place place = at;
      forget_same(place);
      if (at.bound == Bound::LOOSE) return loose(place.after + left);
      if (!substitute(place.x, place.p, m.got.dim, sign * GRAIN))
        return loose(place.after + open_besides(place) + left);
      place.above = static_cast<uint8_t>(place.above + (at.p > 0 ? below : above));
      place.below = static_cast<uint8_t>(place.below + (at.p > 0 ? above : below));
      place.credit = static_cast<int16_t>(place.credit + at.bent * left);
      return place;
    }
    case Manner::POWER: {
      const Ratio e = power[token];
      Dim x;
      if (at.bound == Bound::KNOWN) return raised(at.x, inverse(e), x) ? known(x, at.after) : nothing();
      if (GRAIN * e.num % e.den != 0) return loose(at.after + open_besides(at));
      return bent(substituted(at, 0, GRAIN * e.num / e.den));
    }
    case Manner::RAISED: {
      if (numbers.empty()) return known(0, rest(at, {}) + least(0) * left);
      if (filled == 0) {
        Dim base = 0;
        if (at.bound != Bound::KNOWN || bases_of(at.x, base) != 1) return loose(at.after + (open_besides(at) + 1));
        return known(base, at.after + 1);
      }
      const bool plain = m.got.wild || m.got.dim == 0;
      Need after = plain ? rest(at, {}) : IMPOSSIBLE;
      for (const int16_t number : numbers) {
        Dim x;
        if (m.got.wild)
          after = lower(after, rest(at, {0, true}));
        else if (raised(m.got.dim, power[number], x))
          after = lower(after, rest(at, {x, false}));
      }
      if (after.some() >= NEVER) return nothing();
      Place place = known(0, after);
      place.exponent = true;
      return place;
    }
    case Manner::FORM: {
      Need after = at.after;
      for (int later = filled + 1; later < arity[token]; ++later)
        after = after + (argument_known[later] ? least(argument[later]) : Need{} + 1);
      return argument_known[filled] ? known(argument[filled], after) : loose(after);
    }
    default: return nothing();
  }
}

bool Units::take(Measure& m, int token, int filled, const Quantity& value, int outermost) const {
  m.fixed = (filled == 0 || m.fixed) && fixed[outermost];
  switch (manner_of(token)) {
    case Manner::RATIO:
    case Manner::ALIKE:
      if (!value.wild && !m.some) {
        m.got = value;
        m.some = true;
      }
      if (filled + 1 == arity[token]) {
        if (manner_of(token) == Manner::RATIO)
          m.got = {};
        else
          m.got.wild = !m.some;
      }
      return true;
    case Manner::PRODUCT:
      m.got.wild = m.got.wild || value.wild;
      return m.got.wild || combined(m.got.dim, value.dim, divides[token] && filled > 0 ? -1 : 1, m.got.dim);
    case Manner::POWER: m.got.wild = value.wild; return value.wild || raised(value.dim, power[token], m.got.dim);
    case Manner::RAISED: {
      if (numbers.empty()) return true;
      if (filled == 0) {
        m.got = value;
        return true;
      }
      const bool plain = m.got.wild || m.got.dim == 0;
      if (manner_of(outermost) != Manner::NUMBER || power[outermost].den == 0) {
        m.got = {};
        return plain;
      }
      if (m.got.wild) {
        if (power[outermost].num == 0) m.got = {};
        return true;
      }
      return raised(m.got.dim, power[outermost], m.got.dim);
    }
    case Manner::FORM: m.got = {target, !target_known}; return true;
    default: return true;  // takes and gives none
  }
}

bool Units::combine(int token, const Dim* dims, const bool* free, const int16_t* outermost, Quantity& out) const {
  Measure m;
  for (int i = 0; i < arity[token]; ++i) {
    const Quantity each{dims[i], free[i]};
    const Manner how = manner_of(token);
    const bool plain = each.wild || each.dim == 0;
    if (!plain && (how == Manner::PLAIN || (how == Manner::RAISED && (i == 1 || numbers.empty())))) return false;
    if ((how == Manner::ALIKE || how == Manner::RATIO) && m.some && !each.wild && each.dim != m.got.dim) return false;
    if (how == Manner::FORM && argument_known[i] && !each.wild && each.dim != argument[i]) return false;
    if (!take(m, token, i, each, outermost[i])) return false;
  }
  out = m.got;
  return true;
}

namespace {

// Works out the least tokens level by level: all that can be made of so many tokens, from what fewer make.
struct Levels {
  const Units& units;
  LeastTable& table;
  const std::vector<std::vector<bool>>& takes;  // [places, L] which tokens each power takes
  bool numbers;                                 // whether there are numbers to fit
  int pure[SHAPES] = {};                        // tokens of two factors without dimension together, and with one each
  std::vector<Dim> made[WIDTH][256] = {};       // by shape and cost, each dimension at its least
  std::vector<Dim> dims;                        // [rows]
  int64_t work = 0;

  uint8_t* row(Dim dim) {
    if (2 * (dims.size() + 1) > table.keys.size()) grow();
    size_t at = table.slot(dim);
    for (; table.rows[at] >= 0; at = (at + 1) & (table.keys.size() - 1))
      if (table.keys[at] == dim) return &table.cost[size_t(table.rows[at]) * WIDTH];
    table.keys[at] = dim;
    table.rows[at] = static_cast<int32_t>(dims.size());
    dims.push_back(dim);
    table.cost.resize(dims.size() * WIDTH, 0);
    return &table.cost[(dims.size() - 1) * WIDTH];
  }
  void grow() {
    const size_t size = std::max<size_t>(256, 2 * table.keys.size());
    table.keys.assign(size, 0);
    table.rows.assign(size, -1);
    for (size_t i = 0; i < dims.size(); ++i) {
      size_t at = table.slot(dims[i]);
      while (table.rows[at] >= 0) at = (at + 1) & (size - 1);
      table.keys[at] = dims[i];
      table.rows[at] = static_cast<int32_t>(i);
    }
  }
  void add(Dim dim, int shape, int tokens) {
    ++work;
    uint8_t& least = row(dim)[shape];
    if (least) return;
    least = static_cast<uint8_t>(tokens);
    made[shape][tokens].push_back(dim);
  }
  void add_below_powers(int token, Dim dim, int tokens) {
    for (size_t place = 0; place < units.selective.size(); ++place)
      if (takes[place][token]) add(dim, SHAPES + static_cast<int>(place), tokens);
  }
  // What an operator makes.
  void add_by(int token, Dim dim, int tokens) {
    add(dim, 0, tokens);
    add_below_powers(token, dim, tokens);
    if (dim != 0) return;
    if (!table.bare) table.bare = tokens;
    if (!table.zero[token]) table.zero[token] = static_cast<uint8_t>(tokens - 1);
  }
  // Tokens of so many arguments without dimension, which are not all numbers to fit; 0 if that is not known yet.
  int plain(int count) {
    const uint8_t* found = table.row(0);
    return found && found[0] && table.bare ? (count - 1) * found[0] + table.bare : 0;
  }
  // Operators over what is made of fewer tokens.
  void apply(int token, int tokens) {
    const int count = units.arity[token], inside = tokens - 1, zero = plain(count);
    Dim dim;
    switch (units.manner_of(token)) {
      case Manner::PLAIN:
        if (zero && zero <= inside) add_by(token, 0, tokens);
        return;
      case Manner::SIGN:
      case Manner::RATIO:
        if (count <= inside) add_by(token, 0, tokens);
        return;
      case Manner::ALIKE:
        if (zero && zero <= inside) add_by(token, 0, tokens);
        if (inside % count == 0)
          for (const Dim each : made[0][inside / count])
            if (each != 0) add_by(token, each, tokens);
        return;
      case Manner::PRODUCT: {
        if (count > FACTORS) return;
        const int shape = shape_of(units.divides[token] ? 1 : count, units.divides[token] ? count - 1 : 0);
        for (const Dim each : made[shape][inside])
          if (each != 0 || count != 2) add_by(token, each, tokens);
        if (count == 2 && ((zero && zero <= inside) || (pure[shape] && pure[shape] <= inside)))
          add_by(token, 0, tokens);
        return;
      }
      case Manner::POWER:
        for (const Dim each : made[units.under[token] < 0 ? 0 : SHAPES + units.under[token]][inside])
          if (each != 0 && raised(each, units.power[token], dim)) add_by(token, dim, tokens);
        if (zero && zero <= inside) add_by(token, 0, tokens);
        return;
      case Manner::RAISED:
        if (zero && zero <= inside) add_by(token, 0, tokens);
        if (inside > 1)
          for (const Dim each : made[0][inside - 1])
            for (const int16_t number : units.numbers)
              if (raised(each, units.power[number], dim)) add_by(token, dim, tokens);
        return;
      default: return;
    }
  }
  // Products of several open positions, of so many tokens together.
  void multiply(int above, int below, int tokens) {
    const int to = shape_of(above, below);
    if (above == 0) {
      for (const Dim each : made[shape_of(below, 0)][tokens]) {
        Dim dim;
        if (raised(each, {-1, 1}, dim)) add(dim, to, tokens);
      }
      return;
    }
    const bool divide = below > 0;
    const int from = divide ? shape_of(above, below - 1) : shape_of(above - 1, 0);
    for (int first = 1; first < tokens; ++first)
      for (const Dim one : made[from][first])
        for (const Dim other : made[0][tokens - first]) {
          Dim dim;
          if (!combined(one, other, divide ? -1 : 1, dim)) continue;
          add(dim, to, tokens);
          if (dim == 0 && one != 0 && above + below == 2 && !pure[to]) pure[to] = tokens;
        }
  }
  // How many pairs the products of so many factors take to work out.
  int64_t ahead(int factors, int tokens) const {
    int64_t sum = 0;
    for (int below = 0; below < factors; ++below) {
      const int from = below > 0 ? shape_of(factors - below, below - 1) : shape_of(factors - 1, 0);
      for (int first = 1; first < tokens; ++first)
        sum += int64_t(made[from][first].size()) * int64_t(made[0][tokens - first].size());
    }
    return sum;
  }
  // All that has this many tokens; false once that is too much, and then for products of `most` factors at most.
  bool level(int tokens, int& most) {
    for (; most > 1; --most) {
      int64_t sum = work;
      for (int factors = 2; factors <= most; ++factors) sum += ahead(factors, tokens);
      // More factors are of use where little room is left, so that they get a part of the work.
      if (sum <= (most > 2 ? MOST_WORK / 3 : MOST_WORK) && dims.size() < MOST_ROWS) break;
    }
    if (most == 1) return false;
    if (tokens == 1)
      for (size_t token = 0; token < units.manner.size(); ++token) {
        const Quantity each = units.value_of(static_cast<int>(token));
        if (units.arity[token] > 0 || units.manner_of(static_cast<int>(token)) == Manner::BANNED || each.wild) continue;
        if (units.fixed[token] && !numbers) continue;
        add(each.dim, 0, 1);
        add_below_powers(static_cast<int>(token), each.dim, 1);
        if (each.dim == 0 && (!units.fixed[token] || !units.not_alone)) table.bare = 1;
      }
    for (const int16_t op : units.operators)
      if (tokens > 1) apply(op, tokens);
    for (int factors = 1; factors <= std::min(most, tokens); ++factors)
      for (int below = 0; below <= factors; ++below)
        if (factors > 1 || below > 0) multiply(factors - below, below, tokens);
    table.known_to[1] = tokens;
    for (int factors = 2; factors <= most; ++factors) table.known_to[factors] = tokens;
    return true;
  }
};

}  // namespace

void Units::prepare(int max_length, const uint64_t* child, int max_arity) {
  suitable.assign(words, 0);
  for (size_t token = 0; token < manner.size(); ++token) {
    const Manner how = manner_of(static_cast<int>(token));
    if (how != Manner::BANNED) suitable[token / 64] |= uint64_t(1) << (token % 64);
    if (arity[token] > 0) operators.push_back(static_cast<int16_t>(token));
    if (how == Manner::NUMBER && power[token].den != 0) numbers.push_back(static_cast<int16_t>(token));
    if (arity[token] > 0 || how == Manner::BANNED) continue;
    const Quantity value = value_of(static_cast<int>(token));
    size_t at = 0;
    const auto same = [&](const Class& each) {
      return each.value.dim == value.dim && each.value.wild == value.wild && each.fixed == bool(fixed[token]);
    };
    while (at < classes.size() && !same(classes[at])) ++at;
    if (at == classes.size()) {
      classes.push_back({value, bool(fixed[token])});
      members.resize(classes.size() * words, 0);
    }
    members[at * words + token / 64] |= uint64_t(1) << (token % 64);
    wild = wild || value.wild;
  }
  find_lattice();
  std::vector<std::vector<bool>> takes;
  under.assign(arity.size(), -1);
  for (const int16_t op : operators) {
    if (manner_of(op) != Manner::POWER || selective.size() == MOST_POWERS) continue;
    const uint64_t* below = child + size_t(op) * max_arity * words;
    std::vector<bool> taken(arity.size());
    for (size_t token = 0; token < arity.size(); ++token) taken[token] = below[token / 64] >> (token % 64) & 1;
    if (std::find(taken.begin(), taken.end(), false) == taken.end()) continue;
    under[op] = static_cast<int8_t>(selective.size());
    selective.push_back(op);
    takes.push_back(taken);
  }
  for (LeastTable* table : {&least_with, &least_without}) {
    const bool numbers = table == &least_with;
    if (numbers ? wild : !limited) continue;
    table->zero.assign(arity.size(), 0);
    Levels levels{*this, *table, takes, numbers, {}, {}, {}, 0};
    levels.grow();
    for (int tokens = 1, most = FACTORS; tokens <= std::min(max_length, 255); ++tokens)
      if (!levels.level(tokens, most)) break;
  }
}

// Columns generate sums of their powers, in whole numbers; roots, fractions of these.
void Units::find_lattice() {
  std::vector<std::array<int64_t, LANES>> left;
  for (const Class& each : classes) {
    int8_t powers[LANES];
    std::memcpy(powers, &each.value.dim, sizeof powers);
    left.push_back({});
    std::copy_n(powers, LANES, left.back().begin());
  }
  for (int pivot = 0; pivot < LANES; ++pivot) {
    auto& row = lattice[pivot];
    std::fill_n(row, LANES, 0);
    for (auto& each : left)
      while (each[pivot] != 0) {  // Euclid's algorithm
        const int64_t times = row[pivot] / each[pivot];
        for (int i = 0; i < LANES; ++i) row[i] -= times * each[i];
        for (int i = 0; i < LANES; ++i) std::swap(row[i], each[i]);
      }
  }
  bool raises = false;
  for (const int16_t token : operators) raises = raises || manner_of(token) == Manner::RAISED;
  int64_t below = 1;
  for (size_t token = 0; token < manner.size(); ++token)
    if (manner_of(token) == Manner::POWER || (raises && manner_of(token) == Manner::NUMBER && power[token].den))
      below *= power[token].den / std::gcd(below, int64_t(power[token].den));
  // Halves of halves are held, of a third no thirds.
  roots = below % 2 == 0 ? std::lcm(below, int64_t(4)) : below;
}

bool Units::made(Dim dim) const {
  int8_t powers[LANES];
  std::memcpy(powers, &dim, sizeof powers);
  int64_t left[LANES];
  for (int i = 0; i < LANES; ++i) left[i] = roots * powers[i];
  for (int pivot = 0; pivot < LANES; ++pivot) {
    const auto& row = lattice[pivot];
    if (left[pivot] == 0) continue;
    if (row[pivot] == 0 || left[pivot] % row[pivot] != 0) return false;
    const int64_t times = left[pivot] / row[pivot];
    for (int i = pivot; i < LANES; ++i) left[i] -= times * row[i];
  }
  return true;
}

}  // namespace symseek
