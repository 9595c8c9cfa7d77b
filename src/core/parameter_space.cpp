// The numbering of a space's configurations: rows of valid places per group, and a mixed-radix number over the groups.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "core/errors.hpp"
#include "core/parameters.hpp"
#include "core/valid_rows.hpp"

namespace heddle::core {

namespace {

constexpr std::uint64_t most_configurations = std::uint64_t{1} << 63;
constexpr std::size_t most_values = std::size_t{1} << 16;  // what a place can hold

// Parameters that constraints connect. One parameter without constraints has no rows: all its places are valid.
struct Group {
  std::vector<std::size_t> parameters;  // ascending
  bool free = false;
  std::vector<std::uint16_t> rows;  // places of the parameters, row after row, sorted
  std::uint64_t count = 0;          // of rows
  std::uint64_t stride = 1;         // of this group's row in a configuration's number

  const std::uint16_t* row(std::uint64_t number) const { return rows.data() + number * parameters.size(); }

  std::optional<std::uint64_t> find(const std::uint16_t* places) const {
    if (free) return places[0] < count ? std::optional<std::uint64_t>(places[0]) : std::nullopt;
    const std::size_t width = parameters.size();
    std::uint64_t begin = 0, end = count;
    while (begin < end) {
      const std::uint64_t middle = begin + (end - begin) / 2;
      const std::uint16_t* there = row(middle);
      std::size_t i = 0;
      while (i < width && there[i] == places[i]) ++i;
      if (i == width) return middle;
      if (there[i] < places[i]) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    return std::nullopt;
  }
};

void check(const std::vector<Parameter>& parameters) {
  for (auto p = parameters.begin(); p != parameters.end(); ++p) {
    if (!is_identifier(p->name)) throw UsageError("parameter name '" + p->name + "': an identifier expected");
    if (std::any_of(parameters.begin(), p, [&](const Parameter& q) { return q.name == p->name; })) {
      throw UsageError("parameter '" + p->name + "' is given twice");
    }
    if (p->values.empty()) throw UsageError("parameter '" + p->name + "' has no values");
    if (p->values.size() > most_values) {
      throw UsageError("parameter '" + p->name + "' has " + std::to_string(p->values.size()) + " values; at most " +
                       std::to_string(most_values) + " expected");
    }
    for (const Value& v : p->values) {
      if (v != v) throw UsageError("parameter '" + p->name + "': a number expected, not " + to_string(v));
      if (const auto* word = std::get_if<std::string>(&v); word && parse_value(*word) != v) {
        throw UsageError("parameter '" + p->name + "': the name '" + *word + "' reads as a number or truth value");
      }
      if (v.index() != p->values.front().index()) throw UsageError("parameter '" + p->name + "' mixes types of values");
    }
    std::vector<Value> sorted = p->values;
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end()) {
      throw UsageError("parameter '" + p->name + "' has the value " + to_string(*twice) + " twice");
    }
  }
}

// The texts as expressions over the slots; derived values see only the earlier ones.
Rules rules_of(std::vector<Parameter> parameters, const std::vector<Derived>& derived,
               const std::vector<std::string>& constraints) {
  Rules out;
  out.parameters = std::move(parameters);
  for (const Parameter& p : out.parameters) out.names.push_back(p.name);
  for (const Derived& d : derived) {
    if (!is_identifier(d.name)) throw UsageError("name of a derived value '" + d.name + "': an identifier expected");
    if (std::find(out.names.begin(), out.names.end(), d.name) != out.names.end()) {
      throw UsageError("derived value '" + d.name + "': a parameter or derived value has that name already");
    }
    out.derived.emplace_back(d.expression, out.names);
    out.names.push_back(d.name);
  }
  for (const std::string& c : constraints) out.constraints.emplace_back(c, out.names);
  return out;
}

[[noreturn]] void complain_of_contradiction(const std::vector<std::string>& constraints, std::size_t number) {
  throw UsageError("constraint '" + constraints[number] + "': no configuration is left" +
                   (number == 0 ? "" : " of those that the constraints before it allow"));
}

// The first constraint that, with those before it, leaves nothing of the group; nothing where that is hard to say.
std::optional<std::size_t> contradiction_in(const Rules& rules, const Group& group,
                                            const std::vector<std::size_t>& constraints) {
  for (std::size_t i = 1; i <= constraints.size(); ++i) {
    const std::vector<std::size_t> some(constraints.begin(), constraints.begin() + static_cast<std::ptrdiff_t>(i));
    const std::optional<bool> left = any_valid_row(rules, group.parameters, some);
    if (!left) return std::nullopt;
    if (!*left) return constraints[i - 1];
  }
  return std::nullopt;
}

std::vector<Group> groups_of(const Rules& rules, const std::vector<std::string>& texts) {
  // The group of a parameter is named by its smallest member.
  std::vector<std::size_t> group_of(rules.parameters.size());
  std::iota(group_of.begin(), group_of.end(), std::size_t{0});
  std::vector<std::vector<std::size_t>> depends;
  for (std::size_t c = 0; c < rules.constraints.size(); ++c) {
    depends.push_back(parameters_of(rules.constraints[c], rules));
    std::vector<std::size_t> joined;
    for (const std::size_t p : depends.back()) joined.push_back(group_of[p]);
    if (joined.empty()) continue;
    const std::size_t first = *std::min_element(joined.begin(), joined.end());
    for (std::size_t& g : group_of) {
      if (std::find(joined.begin(), joined.end(), g) != joined.end()) g = first;
    }
  }
  std::vector<Group> out;
  std::optional<std::size_t> contradiction;
  bool contradictory = false;
  const auto contradicts = [&](std::optional<std::size_t> constraint) {
    contradictory = true;
    if (constraint && (!contradiction || *constraint < *contradiction)) contradiction = constraint;
  };
  Configuration constants;
  for (std::size_t d = 0; d < rules.derived.size(); ++d) {
    if (!parameters_of(rules.derived[d], rules).empty()) continue;
    constants.values.emplace_back(rules.names[rules.parameters.size() + d], rules.derived[d].evaluate(constants));
  }
  for (std::size_t c = 0; c < rules.constraints.size(); ++c) {
    if (depends[c].empty() && !rules.constraints[c].holds(constants)) contradicts(c);
  }
  for (std::size_t g = 0; g < group_of.size(); ++g) {
    if (group_of[g] != g) continue;
    Group group;
    std::vector<std::size_t> mine;
    for (std::size_t p = g; p < group_of.size(); ++p) {
      if (group_of[p] == g) group.parameters.push_back(p);
    }
    for (std::size_t c = 0; c < rules.constraints.size(); ++c) {
      if (!depends[c].empty() && group_of[depends[c].front()] == g) mine.push_back(c);
    }
    group.free = mine.empty();
    if (!group.free) group.rows = valid_rows(rules, group.parameters, mine);
    group.count = group.free ? rules.parameters[g].values.size() : group.rows.size() / group.parameters.size();
    if (group.count == 0) contradicts(contradiction_in(rules, group, mine));
    out.push_back(std::move(group));
  }
  if (contradiction) complain_of_contradiction(texts, *contradiction);
  if (contradictory) throw UsageError("the constraints contradict each other: no configuration satisfies all of them");
  return out;
}

}  // namespace

struct ParameterSpace::Contents {
  Rules rules;
  std::vector<Derived> derived;
  std::vector<std::string> constraints;
  std::vector<Group> groups;
  std::vector<std::pair<std::size_t, std::size_t>> column_of;  // of each parameter: its group, and where in its rows
  std::uint64_t size = 1;

  void number() {
    column_of.resize(rules.parameters.size());
    for (std::size_t g = groups.size(); g-- > 0;) {
      groups[g].stride = size;
      if (size > most_configurations / groups[g].count) {
        throw UsageError("the parameter space has more than 2^63 configurations");
      }
      size *= groups[g].count;
      for (std::size_t c = 0; c < groups[g].parameters.size(); ++c) column_of[groups[g].parameters[c]] = {g, c};
    }
  }

  std::uint64_t row_number(const Group& group, std::uint64_t number_of_all) const {
    if (number_of_all >= size) {
      throw InternalError("configuration " + std::to_string(number_of_all) + " of a space of " + std::to_string(size));
    }
    return number_of_all / group.stride % group.count;
  }
};

ParameterSpace::ParameterSpace() : ParameterSpace(std::vector<Parameter>{}) {}

ParameterSpace::ParameterSpace(std::shared_ptr<const Contents> contents) : contents_(std::move(contents)) {}

ParameterSpace::ParameterSpace(std::vector<Parameter> parameters, std::vector<Derived> derived,
                               std::vector<std::string> constraints) {
  check(parameters);
  auto contents = std::make_shared<Contents>();
  contents->rules = rules_of(std::move(parameters), derived, constraints);
  contents->derived = std::move(derived);
  contents->constraints = std::move(constraints);
  contents->groups = groups_of(contents->rules, contents->constraints);
  contents->number();
  contents_ = std::move(contents);
}

ParameterSpace ParameterSpace::of(std::vector<Parameter> parameters, const std::vector<Places>& configurations) {
  check(parameters);
  if (configurations.empty()) throw UsageError("a recorded parameter space: at least one configuration expected");
  std::vector<Places> sorted = configurations;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  auto contents = std::make_shared<Contents>();
  contents->rules = rules_of(std::move(parameters), {}, {});
  const std::vector<Parameter>& all = contents->rules.parameters;
  Group group;
  group.parameters.resize(all.size());
  std::iota(group.parameters.begin(), group.parameters.end(), std::size_t{0});
  group.count = sorted.size();
  for (const Places& places : sorted) {
    if (places.size() != all.size()) {
      throw UsageError("a recorded configuration has " + std::to_string(places.size()) + " values; " +
                       std::to_string(all.size()) + " expected");
    }
    for (std::size_t p = 0; p < all.size(); ++p) {
      if (places[p] >= all[p].values.size()) {
        throw UsageError("a recorded configuration has value " + std::to_string(places[p]) + " of parameter '" +
                         all[p].name + "', which has " + std::to_string(all[p].values.size()));
      }
    }
    group.rows.insert(group.rows.end(), places.begin(), places.end());
  }
  contents->groups.push_back(std::move(group));
  contents->number();
  return ParameterSpace(std::move(contents));
}

const std::vector<Parameter>& ParameterSpace::parameters() const { return contents_->rules.parameters; }
const std::vector<Derived>& ParameterSpace::derived() const { return contents_->derived; }
const std::vector<std::string>& ParameterSpace::constraints() const { return contents_->constraints; }
std::uint64_t ParameterSpace::size() const { return contents_->size; }

Places ParameterSpace::places(std::uint64_t number) const {
  Places out(parameters().size());
  for (const Group& group : contents_->groups) {
    const std::uint64_t row = contents_->row_number(group, number);
    for (std::size_t c = 0; c < group.parameters.size(); ++c) {
      out[group.parameters[c]] = group.free ? static_cast<std::uint16_t>(row) : group.row(row)[c];
    }
  }
  return out;
}

Configuration ParameterSpace::at(std::uint64_t number) const {
  const Places here = places(number);
  Configuration out;
  for (std::size_t p = 0; p < here.size(); ++p) {
    out.values.emplace_back(parameters()[p].name, parameters()[p].values[here[p]]);
  }
  return out;
}

std::optional<std::uint64_t> ParameterSpace::find(const Places& places) const {
  if (places.size() != parameters().size()) {
    throw InternalError(std::to_string(places.size()) + " places in a space of " + std::to_string(parameters().size()) +
                        " parameters");
  }
  std::uint64_t number = 0;
  Places row;
  for (const Group& group : contents_->groups) {
    row.clear();
    for (const std::size_t p : group.parameters) row.push_back(places[p]);
    const auto found = group.find(row.data());
    if (!found) return std::nullopt;
    number += *found * group.stride;
  }
  return number;
}

std::uint64_t ParameterSpace::number_of(const Configuration& configuration) const {
  if (configuration.values.size() != parameters().size()) {
    throw UsageError("configuration '" + to_string(configuration) + "' has " +
                     std::to_string(configuration.values.size()) + " values; " + std::to_string(parameters().size()) +
                     " expected");
  }
  Places here;
  for (const Parameter& p : parameters()) {
    const Value& value = configuration.at(p.name);
    const auto found = std::find(p.values.begin(), p.values.end(), value);
    if (found == p.values.end()) throw UsageError("parameter " + p.name + ": no value " + to_string(value));
    here.push_back(static_cast<std::uint16_t>(found - p.values.begin()));
  }
  if (const auto number = find(here)) return *number;
  std::vector<Scalar> values;
  for (const Parameter& p : parameters()) values.push_back(scalar_of(configuration.at(p.name)));
  for (const Expression& d : contents_->rules.derived) values.push_back(d.evaluate(values.data()));
  for (const Expression& c : contents_->rules.constraints) {
    const Scalar truth = truth_of(c.evaluate(values.data()));
    if (truth.kind == Scalar::Kind::truth && !is_true(truth)) {
      throw UsageError("configuration '" + to_string(configuration) + "' breaks the constraint '" + c.text() + "'");
    }
  }
  throw UsageError("configuration '" + to_string(configuration) + "' is none of the recorded ones");
}

Configuration ParameterSpace::with_derived(const Configuration& configuration) const {
  Configuration out = configuration;
  for (std::size_t d = 0; d < contents_->derived.size(); ++d) {
    out.values.emplace_back(contents_->derived[d].name, contents_->rules.derived[d].evaluate(out));
  }
  return out;
}

std::vector<std::uint64_t> ParameterSpace::neighbours(std::uint64_t number) const {
  std::vector<std::uint64_t> out;
  Places row;
  for (std::size_t p = 0; p < parameters().size(); ++p) {
    const auto [g, column] = contents_->column_of[p];
    const Group& group = contents_->groups[g];
    const std::uint64_t own = contents_->row_number(group, number), rest = number - own * group.stride;
    if (group.free) {
      row.assign(1, static_cast<std::uint16_t>(own));
    } else {
      row.assign(group.row(own), group.row(own) + group.parameters.size());
    }
    for (std::size_t place = 0, mine = row[column]; place < parameters()[p].values.size(); ++place) {
      if (place == mine) continue;
      row[column] = static_cast<std::uint16_t>(place);
      if (const auto found = group.find(row.data())) out.push_back(rest + *found * group.stride);
    }
  }
  return out;
}

double ParameterSpace::distance(std::uint64_t a, std::uint64_t b) const {
  const Places from = places(a), to = places(b);
  double out = 0;
  for (std::size_t p = 0; p < from.size(); ++p) {
    if (from[p] == to[p]) continue;
    const std::vector<Value>& values = parameters()[p].values;
    const bool number = std::holds_alternative<std::int64_t>(values[0]) || std::holds_alternative<double>(values[0]);
    out += number ? std::abs(from[p] - to[p]) / static_cast<double>(values.size() - 1) : 1;
  }
  return out;
}

}  // namespace heddle::core
