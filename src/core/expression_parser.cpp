// Reads expressions: recursive descent, with limits so that no text can exhaust the stack here or in evaluation.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <string_view>

#include "core/errors.hpp"
#include "core/expression.hpp"

namespace heddle::core {

namespace {

// Far above what anyone writes by hand (a list of a thousand alternatives has about 10,000 characters), and far below
// what a stack of 512 KiB bears.
constexpr std::size_t longest_text = 1 << 16;
constexpr int deepest_nesting = 200;
constexpr std::uint32_t deepest_node = 500;

constexpr std::array<std::string_view, 8> reserved{"and", "or", "not", "in", "true", "false", "True", "False"};

bool begins_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

class ExpressionParser {
 public:
  ExpressionParser(Expression& out, const std::vector<std::string>* known)
      : out_(out), text_(out.text_), known_(known) {
    if (text_.size() > longest_text) {
      throw UsageError("expression '" + text_.substr(0, 60) + "...': " + std::to_string(text_.size()) +
                       " characters; at most " + std::to_string(longest_text) + " expected");
    }
    out_.root_ = choice();
    if (at_ != text_.size()) expected("an operator or the end");
  }

 private:
  using Op = Expression::Op;
  using Compare = Expression::Compare;
  using Id = std::uint32_t;

  struct Nested {
    explicit Nested(ExpressionParser& parser) : depth(parser.nesting_) {
      if (++depth > deepest_nesting) parser.too_deep();
    }
    ~Nested() { --depth; }
    int& depth;
  };

  [[noreturn]] void expected(const std::string& what) {
    skip_blanks();
    const std::string shown = text_.size() <= 200 ? text_ : text_.substr(0, 200) + "...";
    throw UsageError("expression '" + shown + "': " + what + " expected at column " + std::to_string(at_ + 1));
  }
  [[noreturn]] void too_deep() {
    expected("at most " + std::to_string(deepest_nesting) + " operators inside each other");
  }

  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }

  bool next_is(std::string_view token) {
    skip_blanks();
    if (text_.compare(at_, token.size(), token) != 0) return false;
    return !begins_word(token[0]) || at_ + token.size() == text_.size() || !in_word(text_[at_ + token.size()]);
  }
  bool take(std::string_view token) {
    if (!next_is(token)) return false;
    at_ += token.size();
    return true;
  }
  void require(std::string_view token) {
    if (!take(token)) expected("'" + std::string(token) + "'");
  }

  Id add(Expression::Node node, const std::vector<Id>& operands) {
    std::uint32_t depth = 0;
    for (const Id id : operands) depth = std::max(depth, depth_[id]);
    if (depth + 1 > deepest_node) expected("at most " + std::to_string(deepest_node) + " operators after each other");
    depth_.push_back(depth + 1);
    out_.nodes_.push_back(node);
    return static_cast<Id>(out_.nodes_.size() - 1);
  }
  Id add_list(Op op, const std::vector<Id>& list, const std::vector<Id>& operands) {
    const auto begin = static_cast<Id>(out_.kids_.size());
    out_.kids_.insert(out_.kids_.end(), list.begin(), list.end());
    return add({.op = op, .count = static_cast<Id>(list.size()), .a = begin}, operands);
  }
  Id add_one(Op op, Id a) { return add({.op = op, .count = 1, .a = a}, {a}); }
  Id add_two(Op op, Id a, Id b) { return add({.op = op, .count = 2, .a = a, .b = b}, {a, b}); }
  Id add_constant(const Scalar& value) {
    out_.constants_.push_back(value);
    out_.possible_constants_.push_back(possible(value));
    return add({.op = Op::constant, .a = static_cast<Id>(out_.constants_.size() - 1)}, {});
  }

  Id choice() {
    const Nested nested(*this);
    const Id condition = alternatives();
    if (!take("?")) return condition;
    const Id yes = choice();
    require(":");
    const Id no = choice();
    return add({.op = Op::choose, .count = 3, .a = condition, .b = yes, .c = no}, {condition, yes, no});
  }

  Id alternatives() {
    std::vector<Id> all{conditions()};
    while (take("||") || take("or")) all.push_back(conditions());
    return all.size() == 1 ? all[0] : add_list(Op::any, all, all);
  }

  Id conditions() {
    std::vector<Id> all{condition()};
    while (take("&&") || take("and")) all.push_back(condition());
    return all.size() == 1 ? all[0] : add_list(Op::all, all, all);
  }

  Id condition() {
    if (!take("not")) return comparison();
    const Nested nested(*this);
    return add_one(Op::invert, condition());
  }

  std::optional<Compare> comparison_sign() {
    constexpr std::array<std::pair<std::string_view, Compare>, 6> signs{{{"==", Compare::equal},
                                                                         {"!=", Compare::unequal},
                                                                         {"<=", Compare::at_most},
                                                                         {">=", Compare::at_least},
                                                                         {"<", Compare::less},
                                                                         {">", Compare::greater}}};
    for (const auto& [sign, compare] : signs) {
      if (take(sign)) return compare;
    }
    if (next_is("=")) expected("'=='");
    return std::nullopt;
  }

  Id comparison() {
    std::vector<Id> operands{sum()}, chain = operands;
    while (const auto sign = comparison_sign()) {
      operands.push_back(sum());
      chain.push_back(static_cast<Id>(*sign));
      chain.push_back(operands.back());
    }
    const bool inverted = next_is("not");
    if (!inverted && !next_is("in")) return operands.size() == 1 ? operands[0] : add_list(Op::chain, chain, operands);
    if (operands.size() > 1) expected("parentheses around the comparison before 'in'");
    if (inverted) require("not");
    require("in");
    const bool square = take("[");
    if (!square && !take("(")) expected("a list such as [1, 2]");
    do operands.push_back(choice());
    while (take(",") && !next_is(square ? "]" : ")"));
    require(square ? "]" : ")");
    const Id in = add_list(Op::in, operands, operands);
    return inverted ? add_one(Op::invert, in) : in;
  }

  Id sum() {
    Id left = product();
    for (;;) {
      if (take("+")) {
        left = add_two(Op::add, left, product());
      } else if (take("-")) {
        left = add_two(Op::subtract, left, product());
      } else {
        return left;
      }
    }
  }

  Id product() {
    Id left = sign();
    for (;;) {
      if (take("//")) {
        left = add_two(Op::floor_divide, left, sign());
      } else if (take("/")) {
        left = add_two(Op::divide, left, sign());
      } else if (take("*")) {
        left = add_two(Op::multiply, left, sign());
      } else if (take("%")) {
        left = add_two(Op::modulo, left, sign());
      } else {
        return left;
      }
    }
  }

  Id sign() {
    const Nested nested(*this);
    if (take("-")) return add_one(Op::negate, sign());
    if (take("+")) return sign();
    if (!next_is("!=") && take("!")) return add_one(Op::invert, sign());
    const Id base = operand();
    return take("**") ? add_two(Op::power, base, sign()) : base;
  }

  Id operand() {
    skip_blanks();
    if (at_ == text_.size()) expected("a value");
    const char c = text_[at_];
    if (take("(")) {
      const Id inside = choice();
      require(")");
      return inside;
    }
    if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) return number();
    if (c == '\'' || c == '"') return literal(c);
    if (begins_word(c)) return word();
    expected("a value");
  }

  Id number() {
    const char *begin = text_.data() + at_, *end = text_.data() + text_.size();
    std::int64_t integer = 0;
    double real = 0;
    const auto whole = std::from_chars(begin, end, integer);
    const auto full = std::from_chars(begin, end, real);
    const bool is_whole = whole.ptr == full.ptr;
    if ((is_whole ? whole.ec : full.ec) != std::errc()) expected("a number that fits 64 bits");
    const char* after = is_whole ? whole.ptr : full.ptr;
    if (after != end && (in_word(*after) || *after == '.')) expected("a number");
    at_ += static_cast<std::size_t>(after - begin);
    return add_constant(scalar_of(is_whole ? Value(integer) : Value(real)));
  }

  Id literal(char quote) {
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string::npos) expected(std::string("a name with a closing ") + quote);
    const std::string name = text_.substr(at_ + 1, end - at_ - 1);
    const bool odd = std::any_of(name.begin(), name.end(),
                                 [](unsigned char c) { return c <= ' ' || c == '=' || c == '\'' || c == '"'; });
    if (name.empty() || odd) expected("a name without blanks, quotes or '='");
    at_ = end + 1;
    out_.literals_.push_back(name);
    return add({.op = Op::literal, .a = static_cast<Id>(out_.literals_.size() - 1)}, {});
  }

  Id word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && in_word(text_[at_])) ++at_;
    const std::string word = text_.substr(begin, at_ - begin);
    if (word == "true" || word == "True") return add_constant(scalar_of(true));
    if (word == "false" || word == "False") return add_constant(scalar_of(false));
    if (next_is("(")) return call(word, begin);
    if (std::find(reserved.begin(), reserved.end(), word) != reserved.end()) {
      at_ = begin;
      expected("a value");
    }
    return slot(word);
  }

  Id call(const std::string& name, std::size_t begin) {
    constexpr std::array<std::pair<std::string_view, Op>, 8> functions{{{"min", Op::least},
                                                                        {"max", Op::greatest},
                                                                        {"abs", Op::absolute},
                                                                        {"ceil", Op::ceiling},
                                                                        {"floor", Op::floor},
                                                                        {"log2", Op::log2},
                                                                        {"int", Op::integer},
                                                                        {"round", Op::round}}};
    const auto* found =
        std::find_if(functions.begin(), functions.end(), [&](const auto& f) { return f.first == name; });
    if (found == functions.end()) {
      at_ = begin;
      expected("a function (min, max, abs, ceil, floor, log2, int, round)");
    }
    const Op op = found->second;
    require("(");
    Id left = choice();
    if (op == Op::least || op == Op::greatest) {
      if (!next_is(",")) expected("a second argument of " + name);
      while (take(",")) left = add_two(op, left, choice());
    } else {
      left = add_one(op, left);
    }
    require(")");
    return left;
  }

  Id slot(const std::string& name) {
    std::size_t place =
        static_cast<std::size_t>(std::find(out_.names_.begin(), out_.names_.end(), name) - out_.names_.begin());
    if (place == out_.names_.size()) {
      out_.names_.push_back(name);
      out_.slots_.push_back(static_cast<Id>(known_ ? place_among_known(name) : place));
    }
    return add({.op = Op::slot, .a = out_.slots_[place]}, {});
  }

  std::size_t place_among_known(const std::string& name) {
    std::string all;
    for (std::size_t i = 0; i < known_->size(); ++i) {
      if ((*known_)[i] == name) return i;
      all += (i == 0 ? "" : ", ") + (*known_)[i];
    }
    throw UsageError("expression '" + text_ + "': no parameter '" + name +
                     "'; there are: " + (all.empty() ? "none" : all));
  }

  Expression& out_;
  const std::string& text_;
  const std::vector<std::string>* known_;
  std::size_t at_ = 0;
  int nesting_ = 0;
  std::vector<std::uint32_t> depth_;  // of each node
};

Expression::Expression(const std::string& text) : text_(text) { ExpressionParser(*this, nullptr); }

Expression::Expression(const std::string& text, const std::vector<std::string>& known) : text_(text) {
  ExpressionParser(*this, &known);
}

}  // namespace heddle::core
