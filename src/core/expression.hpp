// Expressions over parameters: constraints, derived values, extents of groups. They are read once and evaluated
// millions of times, with values or with what is still possible for each parameter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/parameters.hpp"

namespace heddle::core {

// A value as evaluation handles it: it owns nothing. A name points to a string that must outlive it; a failure to the
// words that say why there is no value.
struct Scalar {
  enum class Kind : std::uint8_t { integer, real, truth, name, failure };

  Kind kind = Kind::failure;
  union {
    std::int64_t integer;  // of a truth value: 0 or 1
    double real;
    const std::string* name;
    const char* failure = "no value";
  };
};

Scalar scalar_of(const Value& value);     // a failure for what is not finite
Scalar truth_of(const Scalar& scalar);    // numbers other than zero are true; a failure for names
Value value_of(const Scalar& scalar);     // not of a failure
bool is_true(const Scalar& truth_value);  // of a Scalar that is a truth value, or a failure: not true

// What a value can be when not all parameters are known: a superset, if in doubt of everything.
struct Possible {
  enum class Kind : std::uint8_t { numbers, names, anything };

  Kind kind = Kind::anything;
  bool may_fail = true;      // at some of the points there may be no value
  bool known = false;        // it is `only` wherever there is a value
  bool whole = false;        // the numbers are integers and truth values
  double low = 0, high = 0;  // of numbers
  Scalar only;
};

Possible possible(const Scalar& value);
Possible either(const Possible& a, const Possible& b);

enum class Certain { no, yes, unknown };

// Grammar, from the loosest binding:
//   a ? b : c      || or      && and      not      == != < <= > >= in, not in      + -      * / // %      - ! +      **
// Operands are integers, reals, true, false (True, False), 'names' in single or double quotes, parameters, and the
// functions min max abs ceil floor log2 int round. The right side of `in` is a list: [1, 2] or (1, 2).
//   - Comparisons chain as in Python: 1 < a <= 8. `!` binds as in C, `not` as in Python.
//   - `/` of integers that divide is an integer, else a real number; `//` rounds down, `%` has the divisor's sign.
//   - Truth values count as 0 and 1. Names can only be compared for being equal; to a number they never are.
//   - What overflows, divides by zero or is not a number is an error, not a value. `&&`, `||`, `?:`, `in` and chains do
//     not evaluate what they need not.
class Expression {
 public:
  // UsageError says what was expected and at which column. Slots are numbered as names() lists them.
  explicit Expression(const std::string& text);
  // Slots are numbered as `known` is; UsageError for a name that is not in it.
  Expression(const std::string& text, const std::vector<std::string>& known);

  const std::string& text() const { return text_; }
  const std::vector<std::string>& names() const { return names_; }    // each once, as they appear
  const std::vector<std::uint32_t>& slots() const { return slots_; }  // of the names
  Value evaluate(const Configuration& configuration) const;           // UsageError names expression and values
  bool holds(const Configuration& configuration) const;               // evaluated, as a truth value

  Scalar evaluate(const Scalar* slots) const { return evaluate(root_, slots); }
  Possible evaluate(const Possible* slots) const { return evaluate(root_, slots); }
  // Whether it is true at all points that `slots` allow, or false at all, and has a value at all of them.
  Certain certain(const Possible* slots) const;

 private:
  friend class ExpressionParser;

  enum class Op : std::uint8_t {
    constant,
    literal,
    slot,
    negate,
    invert,
    all,
    any,
    choose,
    chain,
    in,
    add,
    subtract,
    multiply,
    divide,
    floor_divide,
    modulo,
    power,
    least,
    greatest,
    absolute,
    ceiling,
    floor,
    log2,
    integer,
    round
  };
  enum class Compare : std::uint32_t { equal, unequal, less, at_most, greater, at_least };

  // One or two operands are in `a` and `b`, three in `a` to `c`; of a list, `a` is where it begins in kids_. A chain's
  // list alternates operands and comparisons.
  struct Node {
    Op op;
    std::uint32_t count = 0, a = 0, b = 0, c = 0;
  };

  static Scalar apply(Op op, const Scalar& a);
  static Scalar apply(Op op, const Scalar& a, const Scalar& b);
  static Scalar compare(Compare how, const Scalar& a, const Scalar& b);
  static Possible apply(Op op, const Possible& a);
  static Possible apply(Op op, const Possible& a, const Possible& b);
  static Possible compare(Compare how, const Possible& a, const Possible& b);
  Scalar evaluate(std::uint32_t node, const Scalar* slots) const;
  Possible evaluate(std::uint32_t node, const Possible* slots) const;
  Scalar evaluate_with(const Configuration& configuration) const;
  [[noreturn]] void fail(const char* why, const Configuration& configuration) const;

  std::string text_;
  std::vector<std::string> names_, literals_;
  std::vector<std::uint32_t> slots_;
  std::vector<Node> nodes_;
  std::vector<Scalar> constants_;
  std::vector<Possible> possible_constants_;
  std::vector<std::uint32_t> kids_;
  std::uint32_t root_ = 0;
};

}  // namespace heddle::core
