// Evaluating expressions: exactly, and over what is possible. The second is the first wherever all operands are known,
// and otherwise arithmetic of intervals in doubles. It is sound because rounding to the nearest is monotone: reals are
// computed at the ends as they are inside; integers are exact below 2^53, and from there the ends move outwards.
#include "core/expression.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/errors.hpp"

namespace heddle::core {

namespace {

using Kind = Scalar::Kind;

constexpr const char* no_number = "a number expected where a name stands";
constexpr const char* too_large = "the result does not fit 64 bits";
constexpr const char* not_finite = "the result is not a finite number";
constexpr const char* by_zero = "division by zero";
constexpr double two_53 = 9007199254740992.0, two_63 = 9223372036854775808.0;
constexpr double infinite = std::numeric_limits<double>::infinity();

Scalar of(std::int64_t value) {
  Scalar out;
  out.kind = Kind::integer, out.integer = value;
  return out;
}

Scalar of_truth(bool value) {
  Scalar out;
  out.kind = Kind::truth, out.integer = value;
  return out;
}

Scalar failed(const char* why) {
  Scalar out;
  out.failure = why;
  return out;
}

Scalar of(double value) {
  if (!std::isfinite(value)) return failed(not_finite);
  Scalar out;
  out.kind = Kind::real, out.real = value;
  return out;
}

Scalar of_name(const std::string& name) {
  Scalar out;
  out.kind = Kind::name, out.name = &name;
  return out;
}

Scalar of_rounded(double value) {
  if (!(value >= -two_63 && value < two_63)) return failed(too_large);
  return of(static_cast<std::int64_t>(value));
}

bool is_integer(const Scalar& s) { return s.kind == Kind::integer || s.kind == Kind::truth; }
bool is_number(const Scalar& s) { return is_integer(s) || s.kind == Kind::real; }
double as_real(const Scalar& s) { return s.kind == Kind::real ? s.real : static_cast<double>(s.integer); }

// Below, at or above zero, as a is to b. Exact: an integer is not rounded to be compared with a real number.
int order(std::int64_t a, double b) {
  if (b >= two_63) return -1;
  if (b < -two_63) return 1;
  const auto whole = static_cast<std::int64_t>(b);  // towards zero
  if (a != whole) return a < whole ? -1 : 1;
  const double rest = b - static_cast<double>(whole);
  return rest > 0 ? -1 : rest < 0 ? 1 : 0;
}

int order(const Scalar& a, const Scalar& b) {
  if (is_integer(a)) {
    if (is_integer(b)) return a.integer < b.integer ? -1 : a.integer > b.integer;
    return order(a.integer, b.real);
  }
  if (is_integer(b)) return -order(b.integer, a.real);
  return a.real < b.real ? -1 : a.real > b.real;
}

Scalar divide_integers(std::int64_t a, std::int64_t b) {
  if (b == 0) return failed(by_zero);
  if (b == -1) return a == std::numeric_limits<std::int64_t>::min() ? failed(too_large) : of(-a);
  return a % b == 0 ? of(a / b) : of(static_cast<double>(a) / static_cast<double>(b));
}

Scalar floor_divide_integers(std::int64_t a, std::int64_t b) {
  if (b == 0 || b == -1) return divide_integers(a, b);
  return of(a / b - (a % b != 0 && (a < 0) != (b < 0)));
}

Scalar modulo_integers(std::int64_t a, std::int64_t b) {
  if (b == 0) return failed(by_zero);
  if (b == -1) return of(std::int64_t{0});
  const std::int64_t rest = a % b;
  return of(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}

Scalar modulo_reals(double a, double b) {
  if (b == 0) return failed(by_zero);
  const double rest = std::fmod(a, b);
  return of(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}

// As Python does it, so that a == a // b * b + a % b as nearly as can be.
Scalar floor_divide_reals(double a, double b) {
  const Scalar rest = modulo_reals(a, b);
  if (rest.kind == Kind::failure) return rest;
  return of(std::nearbyint((a - rest.real) / b));
}

Scalar power_of_integers(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return failed(by_zero);
    return of(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  std::int64_t out = 1;
  for (std::int64_t square = base;;) {
    if (exponent % 2 == 1 && __builtin_mul_overflow(out, square, &out)) return failed(too_large);
    exponent /= 2;
    if (exponent == 0) return of(out);
    if (__builtin_mul_overflow(square, square, &square)) return failed(too_large);
  }
}

Possible a_number(double low, double high, bool whole, bool may_fail) {
  Possible out;
  out.kind = Possible::Kind::numbers, out.may_fail = may_fail, out.whole = whole;
  if (std::isnan(low) || std::isnan(high)) low = -infinite, high = infinite;
  if (std::fabs(low) >= two_53) low = std::nextafter(low, -infinite);
  if (std::fabs(high) >= two_53) high = std::nextafter(high, infinite);
  if (low < -two_63 || high >= two_63) out.may_fail = true;  // an integer overflows here
  out.low = low, out.high = high;
  return out;
}

Possible some_number(bool may_fail) { return a_number(-infinite, infinite, false, may_fail); }

Possible a_truth(Certain certain, bool may_fail) {
  Possible out =
      certain == Certain::unknown ? a_number(0, 1, true, false) : possible(of_truth(certain == Certain::yes));
  out.may_fail = may_fail;
  return out;
}

Certain certain_of(const Possible& p) {
  if (p.known) {
    const Scalar truth = truth_of(p.only);
    return truth.kind == Kind::failure ? Certain::unknown : is_true(truth) ? Certain::yes : Certain::no;
  }
  if (p.kind == Possible::Kind::numbers && (p.low > 0 || p.high < 0)) return Certain::yes;
  return Certain::unknown;
}

bool truth_may_fail(const Possible& p) { return p.may_fail || p.kind != Possible::Kind::numbers; }

Certain opposite(Certain c) {
  return c == Certain::yes ? Certain::no : c == Certain::no ? Certain::yes : Certain::unknown;
}

bool numbers(const Possible& p) { return p.kind == Possible::Kind::numbers; }
bool bounded(const Possible& p) { return numbers(p) && std::isfinite(p.low) && std::isfinite(p.high); }
bool small(const Possible& p) { return std::fabs(p.low) < two_53 / 2 && std::fabs(p.high) < two_53 / 2; }

}  // namespace

Scalar scalar_of(const Value& value) {
  if (const auto* i = std::get_if<std::int64_t>(&value)) return of(*i);
  if (const auto* d = std::get_if<double>(&value)) return of(*d);
  if (const auto* b = std::get_if<bool>(&value)) return of_truth(*b);
  return of_name(std::get<std::string>(value));
}

Value value_of(const Scalar& scalar) {
  switch (scalar.kind) {
    case Kind::integer:
      return scalar.integer;
    case Kind::real:
      return scalar.real;
    case Kind::truth:
      return scalar.integer != 0;
    case Kind::name:
      return *scalar.name;
    case Kind::failure:
      break;
  }
  throw InternalError(std::string("the value of a failure: ") + scalar.failure);
}

Scalar truth_of(const Scalar& s) {
  if (is_integer(s)) return of_truth(s.integer != 0);
  if (s.kind == Kind::real) return of_truth(s.real != 0);
  return s.kind == Kind::failure ? s : failed("a truth value expected where a name stands");
}

bool is_true(const Scalar& truth_value) { return truth_value.kind == Kind::truth && truth_value.integer != 0; }

Possible possible(const Scalar& value) {
  if (value.kind == Kind::failure) return {};
  Possible out = is_number(value) ? a_number(as_real(value), as_real(value), is_integer(value), false) : Possible{};
  if (value.kind == Kind::name) out.kind = Possible::Kind::names;
  out.may_fail = false, out.known = true, out.only = value;
  return out;
}

Possible either(const Possible& a, const Possible& b) {
  Possible out;
  if (numbers(a) && numbers(b)) {
    out = a;
    out.whole &= b.whole, out.low = std::min(a.low, b.low), out.high = std::max(a.high, b.high);
  } else if (a.kind == b.kind) {
    out = a;
  }
  // Not known even where both are and equal: 2 and 2.0 are, but they divide differently.
  out.known = false, out.may_fail = a.may_fail || b.may_fail;
  return out;
}

Scalar Expression::apply(Op op, const Scalar& a) {
  if (a.kind == Kind::failure) return a;
  if (op == Op::invert) {
    const Scalar truth = truth_of(a);
    return truth.kind == Kind::failure ? truth : of_truth(!is_true(truth));
  }
  if (!is_number(a)) return failed(no_number);
  if (op == Op::log2)
    return as_real(a) > 0 ? of(std::log2(as_real(a))) : failed("the logarithm of what is not positive");
  if (is_integer(a)) {
    const bool negative = op == Op::negate || (op == Op::absolute && a.integer < 0);
    if (!negative) return of(a.integer);
    return a.integer == std::numeric_limits<std::int64_t>::min() ? failed(too_large) : of(-a.integer);
  }
  switch (op) {
    case Op::negate:
      return of(-a.real);
    case Op::absolute:
      return of(std::fabs(a.real));
    case Op::ceiling:
      return of_rounded(std::ceil(a.real));
    case Op::floor:
      return of_rounded(std::floor(a.real));
    case Op::integer:
      return of_rounded(std::trunc(a.real));
    case Op::round:
      return of_rounded(std::nearbyint(a.real));  // halves to even, as Python
    default:
      throw InternalError("not an operation of one operand");
  }
}

Scalar Expression::apply(Op op, const Scalar& a, const Scalar& b) {
  if (a.kind == Kind::failure) return a;
  if (b.kind == Kind::failure) return b;
  if (!is_number(a) || !is_number(b)) return failed(no_number);
  if (op == Op::least || op == Op::greatest) {
    const Scalar& s = (op == Op::least ? order(b, a) < 0 : order(b, a) > 0) ? b : a;
    return is_integer(s) ? of(s.integer) : s;
  }
  if (is_integer(a) && is_integer(b)) {
    std::int64_t out = 0;
    switch (op) {
      case Op::add:
        return __builtin_add_overflow(a.integer, b.integer, &out) ? failed(too_large) : of(out);
      case Op::subtract:
        return __builtin_sub_overflow(a.integer, b.integer, &out) ? failed(too_large) : of(out);
      case Op::multiply:
        return __builtin_mul_overflow(a.integer, b.integer, &out) ? failed(too_large) : of(out);
      case Op::divide:
        return divide_integers(a.integer, b.integer);
      case Op::floor_divide:
        return floor_divide_integers(a.integer, b.integer);
      case Op::modulo:
        return modulo_integers(a.integer, b.integer);
      case Op::power:
        return power_of_integers(a.integer, b.integer);
      default:
        throw InternalError("not an operation of two operands");
    }
  }
  const double x = as_real(a), y = as_real(b);
  switch (op) {
    case Op::add:
      return of(x + y);
    case Op::subtract:
      return of(x - y);
    case Op::multiply:
      return of(x * y);
    case Op::divide:
      return y == 0 ? failed(by_zero) : of(x / y);
    case Op::floor_divide:
      return floor_divide_reals(x, y);
    case Op::modulo:
      return modulo_reals(x, y);
    case Op::power:
      return x == 0 && y < 0 ? failed(by_zero) : of(std::pow(x, y));
    default:
      throw InternalError("not an operation of two operands");
  }
}

Scalar Expression::compare(Compare how, const Scalar& a, const Scalar& b) {
  if (a.kind == Kind::failure) return a;
  if (b.kind == Kind::failure) return b;
  if (!is_number(a) || !is_number(b)) {
    const bool same = a.kind == b.kind && (a.name == b.name || *a.name == *b.name);
    if (how == Compare::equal) return of_truth(same);
    if (how == Compare::unequal) return of_truth(!same);
    return failed("names have no order: == or != expected");
  }
  const int sign = order(a, b);
  switch (how) {
    case Compare::equal:
      return of_truth(sign == 0);
    case Compare::unequal:
      return of_truth(sign != 0);
    case Compare::less:
      return of_truth(sign < 0);
    case Compare::at_most:
      return of_truth(sign <= 0);
    case Compare::greater:
      return of_truth(sign > 0);
    case Compare::at_least:
      return of_truth(sign >= 0);
  }
  throw InternalError("not a comparison");
}

Scalar Expression::evaluate(std::uint32_t node, const Scalar* slots) const {
  const Node& n = nodes_[node];
  switch (n.op) {
    case Op::constant:
      return constants_[n.a];
    case Op::literal:
      return of_name(literals_[n.a]);
    case Op::slot:
      return slots[n.a];
    case Op::all:
    case Op::any: {
      for (std::uint32_t i = 0; i < n.count; ++i) {
        const Scalar truth = truth_of(evaluate(kids_[n.a + i], slots));
        if (truth.kind == Kind::failure || is_true(truth) == (n.op == Op::any)) return truth;
      }
      return of_truth(n.op == Op::all);
    }
    case Op::choose: {
      const Scalar truth = truth_of(evaluate(n.a, slots));
      if (truth.kind == Kind::failure) return truth;
      return evaluate(is_true(truth) ? n.b : n.c, slots);
    }
    case Op::chain: {
      Scalar left = evaluate(kids_[n.a], slots), truth;
      for (std::uint32_t i = 1; i < n.count; i += 2) {
        const Scalar right = evaluate(kids_[n.a + i + 1], slots);
        truth = compare(static_cast<Compare>(kids_[n.a + i]), left, right);
        if (!is_true(truth)) break;
        left = right;
      }
      return truth;
    }
    case Op::in: {
      const Scalar what = evaluate(kids_[n.a], slots);
      if (what.kind == Kind::failure) return what;
      for (std::uint32_t i = 1; i < n.count; ++i) {
        const Scalar same = compare(Compare::equal, what, evaluate(kids_[n.a + i], slots));
        if (same.kind == Kind::failure || is_true(same)) return same;
      }
      return of_truth(false);
    }
    default:
      break;
  }
  const Scalar a = evaluate(n.a, slots);
  return n.count == 1 ? apply(n.op, a) : apply(n.op, a, evaluate(n.b, slots));
}

Possible Expression::apply(Op op, const Possible& a) {
  const bool fails = a.may_fail || !numbers(a);
  if (op == Op::invert) return a_truth(opposite(certain_of(a)), fails);
  if (a.known) {
    Possible out = possible(apply(op, a.only));
    out.may_fail |= a.may_fail;
    return out;
  }
  if (!bounded(a)) return some_number(true);
  const double low = a.low, high = a.high;
  switch (op) {
    case Op::negate:
      return a_number(-high, -low, a.whole, fails);
    case Op::absolute:
      return a_number(low > 0 ? low : high < 0 ? -high : 0, std::max(-low, high), a.whole, fails);
    case Op::ceiling:
      return a_number(std::ceil(low), std::ceil(high), true, fails);
    case Op::floor:
      return a_number(std::floor(low), std::floor(high), true, fails);
    case Op::integer:
      return a_number(std::trunc(low), std::trunc(high), true, fails);
    case Op::round:
      return a_number(std::nearbyint(low), std::nearbyint(high), true, fails);
    case Op::log2:  // one step outwards: no library promises that it is monotone
      if (low <= 0) return some_number(true);
      return a_number(std::nextafter(std::log2(low), -infinite), std::nextafter(std::log2(high), infinite), false,
                      fails);
    default:
      throw InternalError("not an operation of one operand");
  }
}

Possible Expression::apply(Op op, const Possible& a, const Possible& b) {
  const bool fails = a.may_fail || b.may_fail || !numbers(a) || !numbers(b), whole = a.whole && b.whole;
  if (a.known && b.known) {
    Possible out = possible(apply(op, a.only, b.only));
    out.may_fail |= fails;
    return out;
  }
  if (!bounded(a) || !bounded(b)) return some_number(true);
  const auto around = [](double p, double q, double r, double s) {
    return std::pair(std::min(std::min(p, q), std::min(r, s)), std::max(std::max(p, q), std::max(r, s)));
  };
  switch (op) {
    case Op::add:
      return a_number(a.low + b.low, a.high + b.high, whole, fails);
    case Op::subtract:
      return a_number(a.low - b.high, a.high - b.low, whole, fails);
    case Op::least:
      return a_number(std::min(a.low, b.low), std::min(a.high, b.high), whole, fails);
    case Op::greatest:
      return a_number(std::max(a.low, b.low), std::max(a.high, b.high), whole, fails);
    case Op::multiply: {
      const auto [low, high] = around(a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high);
      return a_number(low, high, whole, fails);
    }
    case Op::divide:
    case Op::floor_divide: {
      if (b.low <= 0 && b.high >= 0) return some_number(true);
      const auto [low, high] = around(a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high);
      if (op == Op::divide) return a_number(low, high, false, fails);
      if (!(std::fabs(low) < two_53 / 2 && std::fabs(high) < two_53 / 2)) return some_number(true);
      const double doubt = whole && small(a) && small(b) ? 0 : 1;  // rounding may reach the next whole number
      return a_number(std::floor(low) - doubt, std::floor(high) + doubt, whole, fails);
    }
    case Op::modulo: {
      if (b.low <= 0 && b.high >= 0) return some_number(true);
      const bool positive = b.low > 0;
      if (positive ? a.low >= 0 && a.high < b.low : a.high <= 0 && a.low > b.high) {
        return a_number(a.low, a.high, whole, fails);
      }
      const double one = whole && small(b) ? 1 : 0;
      return positive ? a_number(0, b.high - one, whole, fails) : a_number(b.low + one, 0, whole, fails);
    }
    case Op::power: {
      if (a.low < 1 || b.low < 0) return some_number(true);
      const double low = std::pow(a.low, b.low) * (1 - 1e-15), high = std::pow(a.high, b.high) * (1 + 1e-15);
      return a_number(low, high, whole, fails);
    }
    default:
      throw InternalError("not an operation of two operands");
  }
}

Possible Expression::compare(Compare how, const Possible& a, const Possible& b) {
  const bool equality = how == Compare::equal || how == Compare::unequal;
  const bool fails = a.may_fail || b.may_fail || (!equality && !(numbers(a) && numbers(b)));
  if (a.known && b.known) {
    Possible out = possible(compare(how, a.only, b.only));
    out.may_fail |= fails;
    return out;
  }
  Certain out = Certain::unknown;
  if (numbers(a) && numbers(b)) {
    const auto says = [](bool yes, bool no) { return yes ? Certain::yes : no ? Certain::no : Certain::unknown; };
    switch (how) {
      case Compare::equal:
      case Compare::unequal:
        out = says(a.low == b.high && a.high == b.low, a.high < b.low || a.low > b.high);
        if (how == Compare::unequal) out = opposite(out);
        break;
      case Compare::less:
        out = says(a.high < b.low, a.low >= b.high);
        break;
      case Compare::at_most:
        out = says(a.high <= b.low, a.low > b.high);
        break;
      case Compare::greater:
        out = says(a.low > b.high, a.high <= b.low);
        break;
      case Compare::at_least:
        out = says(a.low >= b.high, a.high < b.low);
        break;
    }
  } else if (equality && a.kind != b.kind && a.kind != Possible::Kind::anything && b.kind != Possible::Kind::anything) {
    out = how == Compare::equal ? Certain::no : Certain::yes;
  }
  return a_truth(out, fails);
}

Possible Expression::evaluate(std::uint32_t node, const Possible* slots) const {
  const Node& n = nodes_[node];
  bool fails = false, open = false;  // open: nothing before decided for certain
  switch (n.op) {
    case Op::constant:
      return possible_constants_[n.a];
    case Op::literal:
      return possible(of_name(literals_[n.a]));
    case Op::slot:
      return slots[n.a];
    case Op::all:
    case Op::any: {
      const Certain decisive = n.op == Op::any ? Certain::yes : Certain::no;
      for (std::uint32_t i = 0; i < n.count; ++i) {
        const Possible one = evaluate(kids_[n.a + i], slots);
        const Certain certain = certain_of(one);
        fails |= truth_may_fail(one), open |= certain == Certain::unknown;
        if (certain == decisive) return a_truth(decisive, fails);
      }
      return a_truth(open ? Certain::unknown : opposite(decisive), fails);
    }
    case Op::choose: {
      const Possible condition = evaluate(n.a, slots);
      const Certain certain = certain_of(condition);
      Possible out = certain == Certain::yes  ? evaluate(n.b, slots)
                     : certain == Certain::no ? evaluate(n.c, slots)
                                              : either(evaluate(n.b, slots), evaluate(n.c, slots));
      out.may_fail |= truth_may_fail(condition);
      return out;
    }
    case Op::chain: {
      Possible left = evaluate(kids_[n.a], slots);
      for (std::uint32_t i = 1; i < n.count; i += 2) {
        const Possible right = evaluate(kids_[n.a + i + 1], slots);
        const Possible one = compare(static_cast<Compare>(kids_[n.a + i]), left, right);
        const Certain certain = certain_of(one);
        fails |= one.may_fail, open |= certain == Certain::unknown;
        if (certain == Certain::no) return a_truth(Certain::no, fails);
        left = right;
      }
      return a_truth(open ? Certain::unknown : Certain::yes, fails);
    }
    case Op::in: {
      const Possible what = evaluate(kids_[n.a], slots);
      fails = what.may_fail;
      for (std::uint32_t i = 1; i < n.count; ++i) {
        const Possible one = compare(Compare::equal, what, evaluate(kids_[n.a + i], slots));
        const Certain certain = certain_of(one);
        fails |= one.may_fail, open |= certain == Certain::unknown;
        if (certain == Certain::yes) return a_truth(Certain::yes, fails);
      }
      return a_truth(open ? Certain::unknown : Certain::no, fails);
    }
    default:
      break;
  }
  const Possible a = evaluate(n.a, slots);
  return n.count == 1 ? apply(n.op, a) : apply(n.op, a, evaluate(n.b, slots));
}

Certain Expression::certain(const Possible* slots) const {
  const Possible out = evaluate(root_, slots);
  return truth_may_fail(out) ? Certain::unknown : certain_of(out);
}

void Expression::fail(const char* why, const Configuration& configuration) const {
  std::string values;
  for (const std::string& name : names_) values += " " + name + "=" + to_string(configuration.at(name));
  throw UsageError("expression '" + text_ + "'" + (values.empty() ? "" : " with" + values) + ": " + why);
}

Scalar Expression::evaluate_with(const Configuration& configuration) const {
  std::vector<Scalar> values(names_.empty() ? 0 : 1 + *std::max_element(slots_.begin(), slots_.end()));
  for (std::size_t i = 0; i < names_.size(); ++i) {
    try {
      values[slots_[i]] = scalar_of(configuration.at(names_[i]));
    } catch (const UsageError& e) {
      throw UsageError("expression '" + text_ + "': " + e.what());
    }
  }
  return evaluate(root_, values.data());
}

Value Expression::evaluate(const Configuration& configuration) const {
  const Scalar out = evaluate_with(configuration);
  if (out.kind == Kind::failure) fail(out.failure, configuration);
  return value_of(out);
}

bool Expression::holds(const Configuration& configuration) const {
  const Scalar out = truth_of(evaluate_with(configuration));
  if (out.kind == Kind::failure) fail(out.failure, configuration);
  return is_true(out);
}

}  // namespace heddle::core
