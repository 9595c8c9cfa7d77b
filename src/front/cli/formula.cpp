// Names for symbols, and the few rules that make sums of them short.
#include "front/cli/formula.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace heddle::front::cli {

using core::Polynomial;
using core::Symbol;
using core::SymbolKind;
using core::Term;

namespace {

constexpr char axis_names[] = {'x', 'y', 'z'};

class Printer {
 public:
  explicit Printer(const core::KernelFacts& facts) : facts_(facts) {}

  std::string print(const Polynomial& polynomial) const {
    std::string out;
    for (const auto& [factors, coefficient] : shortened(polynomial)) {
      const bool minus = coefficient < 0;
      const auto bits = static_cast<unsigned long long>(coefficient);
      const unsigned long long size = minus ? 0 - bits : bits;
      std::string term;
      for (const std::string& factor : factors) term += (term.empty() ? "" : "*") + factor;
      if (term.empty())
        term = std::to_string(size);
      else if (size != 1)
        term = std::to_string(size) + "*" + term;
      out += out.empty() ? (minus ? "-" + term : term) : (minus ? " - " : " + ") + term;
    }
    return out.empty() ? "0" : out;
  }

 private:
  // Terms by their factors; constants last.
  struct Order {
    bool operator()(const std::vector<std::string>& a, const std::vector<std::string>& b) const {
      if (a.empty() != b.empty()) return b.empty();
      return a < b;
    }
  };
  using Terms = std::map<std::vector<std::string>, std::int64_t, Order>;

  const Symbol& at(int symbol) const { return facts_.symbols[static_cast<std::size_t>(symbol)]; }

  static Polynomial::const_iterator find(const Polynomial& polynomial, std::vector<int> symbols) {
    std::sort(symbols.begin(), symbols.end());
    return std::find_if(polynomial.begin(), polynomial.end(), [&](const Term& t) { return t.symbols == symbols; });
  }

  int number(SymbolKind kind, int dimension) const {
    for (std::size_t i = 0; i < facts_.symbols.size(); ++i) {
      if (facts_.symbols[i].kind == kind && facts_.symbols[i].index == dimension) return static_cast<int>(i);
    }
    return -1;
  }

  // group * size + local, with the same other factors, is the global id; an offset that is added goes into it.
  Terms shortened(Polynomial left) const {
    Terms out;
    for (int d = 0; d < 3; ++d) {
      const int group = number(SymbolKind::group_id, d), local = number(SymbolKind::local_id, d);
      const int size = number(SymbolKind::local_size, d), offset = number(SymbolKind::global_offset, d);
      if (group < 0 || local < 0 || size < 0) continue;
      for (bool again = true; again;) {
        again = false;
        for (const Term& term : Polynomial(left)) {
          if (std::count(term.symbols.begin(), term.symbols.end(), local) != 1) continue;
          std::vector<int> others = term.symbols;
          others.erase(std::find(others.begin(), others.end(), local));
          auto with = [&](std::initializer_list<int> more) {
            std::vector<int> all = others;
            all.insert(all.end(), more);
            return find(left, all);
          };
          const auto whole = with({group, size});
          if (whole == left.end() || whole->coefficient != term.coefficient) continue;
          std::vector<std::string> factors = names(others);
          factors.push_back(std::string(1, axis_names[d]));
          std::sort(factors.begin(), factors.end());
          out[factors] += term.coefficient;
          left.erase(whole);
          left.erase(find(left, term.symbols));
          if (const auto shift = with({offset});
              offset >= 0 && shift != left.end() && shift->coefficient == term.coefficient)
            left.erase(shift);
          again = true;
          break;
        }
      }
    }
    for (const Term& term : left) out[names(term.symbols)] += term.coefficient;
    std::erase_if(out, [](const auto& term) { return term.second == 0; });
    return out;
  }

  std::vector<std::string> names(const std::vector<int>& symbols) const {
    std::vector<std::string> out;
    for (int s : symbols) out.push_back(name(at(s)));
    std::sort(out.begin(), out.end());
    return out;
  }

  std::string name(const Symbol& s) const {
    const char axis = s.index < 3 ? axis_names[s.index] : '?';
    switch (s.kind) {
      case SymbolKind::group_id:
        return fmt::format("g{}", axis);
      case SymbolKind::local_id:
        return fmt::format("l{}", axis);
      case SymbolKind::local_size:
        return fmt::format("s{}", axis);
      case SymbolKind::num_groups:
        return fmt::format("n{}", axis);
      case SymbolKind::global_offset:
        return fmt::format("o{}", axis);
      case SymbolKind::work_dim:
        return "dimensions";
      case SymbolKind::scalar: {
        const core::ArgumentFacts& a = facts_.arguments[static_cast<std::size_t>(s.index)];
        return a.size == static_cast<core::Bytes>(s.size) ? a.name : fmt::format("{}@{}", a.name, s.byte);
      }
      case SymbolKind::loop:
        return fmt::format("i{}", s.index);
      case SymbolKind::function:
        return function(facts_.functions[static_cast<std::size_t>(s.index)]);
      case SymbolKind::opaque:
        return fmt::format("data{}", s.index);
    }
    return "?";
  }

  std::string function(const core::Function& f) const {
    std::vector<std::string> of;
    for (const Polynomial& p : f.operands) of.push_back(print(p));
    const auto listed = [&](const char* name) { return fmt::format("{}({})", name, fmt::join(of, ", ")); };
    const auto between = [&](const char* sign) { return fmt::format("(({}) {} ({}))", of[0], sign, of[1]); };
    switch (f.kind) {
      case core::FunctionKind::wrap_signed:
      case core::FunctionKind::wrap_unsigned:
        return of[0].find(' ') == std::string::npos ? of[0] : "(" + of[0] + ")";  // whether it fits is tested at launch
      case core::FunctionKind::divide:
      case core::FunctionKind::floor_divide:
        return between("/");
      case core::FunctionKind::remainder:
        return between("%");
      case core::FunctionKind::minimum:
        return listed("min");
      case core::FunctionKind::maximum:
        return listed("max");
      case core::FunctionKind::choose:
        return listed("either");
      case core::FunctionKind::bit_and:
        return between("&");
      case core::FunctionKind::bit_or:
        return between("|");
    }
    return "?";
  }

  const core::KernelFacts& facts_;
};

// A wrap around all of a polynomial says nothing to a reader.
Polynomial unwrapped(const core::KernelFacts& facts, const Polynomial& polynomial) {
  Polynomial out;
  for (const Term& term : polynomial) {
    const Symbol* only = term.symbols.size() == 1 ? &facts.symbols[static_cast<std::size_t>(term.symbols[0])] : nullptr;
    const core::Function* f =
        only && only->kind == SymbolKind::function ? &facts.functions[static_cast<std::size_t>(only->index)] : nullptr;
    if (!f || (f->kind != core::FunctionKind::wrap_signed && f->kind != core::FunctionKind::wrap_unsigned)) {
      out.push_back(term);
      continue;
    }
    for (Term inner : unwrapped(facts, f->operands[0])) {
      inner.coefficient *= term.coefficient;
      const auto same = std::find_if(out.begin(), out.end(), [&](const Term& t) { return t.symbols == inner.symbols; });
      if (same == out.end())
        out.push_back(std::move(inner));
      else
        same->coefficient += inner.coefficient;
    }
  }
  std::erase_if(out, [](const Term& term) { return term.coefficient == 0; });
  return out;
}

}  // namespace

std::string readable(const core::KernelFacts& facts, const Polynomial& polynomial) {
  return Printer(facts).print(unwrapped(facts, polynomial));
}

std::string readable(const core::KernelFacts& facts, const core::Guard& guard) {
  if (guard.kind == core::GuardKind::data) return "data decides";
  if (guard.kind == core::GuardKind::opaque) return "something else decides";
  Polynomial left, right;
  for (Term term : unwrapped(facts, guard.value)) {
    if (term.coefficient > 0) {
      left.push_back(std::move(term));
    } else {
      term.coefficient = -term.coefficient;
      right.push_back(std::move(term));
    }
  }
  const char* sign = guard.kind == core::GuardKind::not_zero ? "!=" : "<=";
  // a + 1 <= b is a < b
  const auto one = std::find(left.begin(), left.end(), Term{1, {}});
  if (guard.kind == core::GuardKind::at_most_zero && one != left.end()) left.erase(one), sign = "<";
  return fmt::format("{} {} {}", readable(facts, left), sign, readable(facts, right));
}

std::string readable(const core::KernelFacts& facts, const core::AccessFacts& access) {
  const std::string name =
      access.argument < 0 ? "any argument" : facts.arguments[static_cast<std::size_t>(access.argument)].name;
  if (!access.index) return name + ", anywhere";
  Polynomial index = unwrapped(facts, *access.index);
  const int size = access.bytes + access.padding;
  const bool elements =
      size > 0 && std::all_of(index.begin(), index.end(), [&](const Term& t) { return t.coefficient % size == 0; });
  if (elements) {
    for (Term& t : index) t.coefficient /= size;
  }
  return fmt::format("{}[{}]{}", name, Printer(facts).print(index), elements ? "" : " (offset in bytes)");
}

}  // namespace heddle::front::cli
