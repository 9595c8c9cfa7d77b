// Facts as JSON text and back. Whoever reads checks every number, since a damaged cache must not become a wrong range.
#include "core/facts.hpp"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "core/errors.hpp"

namespace heddle::core {

namespace {

using Json = nlohmann::json;

// Names of enumerators in the order of their declaration.
constexpr std::array symbol_names = {"group_id", "local_id", "local_size", "num_groups", "global_offset",
                                     "work_dim", "scalar",   "loop",       "function",   "opaque"};
constexpr std::array function_names = {"wrap_signed", "wrap_unsigned", "divide", "remainder", "floor_divide",
                                       "minimum",     "maximum",       "choose", "bit_and",   "bit_or"};
constexpr std::array guard_names = {"at_most_zero", "not_zero", "data", "opaque"};
constexpr std::array access_names = {"read", "write", "atomic"};
constexpr std::array space_names = {"value", "global", "constant", "local", "image", "sampler", "other"};

template <class Enum, std::size_t n>
const char* name_of(const std::array<const char*, n>& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

template <class Enum, std::size_t n>
Enum named(const std::array<const char*, n>& names, const Json& json) {
  const std::string text = json.get<std::string>();
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) throw UsageError("facts: '" + text + "' is no name there is");
  return static_cast<Enum>(found - names.begin());
}

Json write(const Polynomial& polynomial) {
  Json out = Json::array();
  for (const Term& term : polynomial) out.push_back({term.coefficient, term.symbols});
  return out;
}

Json write(const Dependence& d) {
  Json out = Json::array();
  const std::pair<bool, const char*> flags[] = {
      {d.arguments, "arguments"}, {d.sizes, "sizes"},           {d.group_id, "group_id"}, {d.local_id, "local_id"},
      {d.data, "data"},           {d.local_data, "local_data"}, {d.floating, "floating"}, {d.atomic, "atomic"}};
  for (const auto& [set, name] : flags) {
    if (set) out.push_back(name);
  }
  return {{"on", out}, {"sources", d.sources}};
}

Json write(const Symbol& symbol) {
  Json out = {{"kind", name_of(symbol_names, symbol.kind)}, {"index", symbol.index}};
  if (symbol.kind == SymbolKind::scalar)
    out.update({{"byte", symbol.byte}, {"size", symbol.size}, {"signed", symbol.is_signed}});
  if (symbol.known) out["known"] = {symbol.known->low, symbol.known->high};
  if (symbol.loaded_from) out["loaded_from"] = *symbol.loaded_from;
  return out;
}

Json write(const Function& function) {
  Json operands = Json::array();
  for (const Polynomial& p : function.operands) operands.push_back(write(p));
  return {{"kind", name_of(function_names, function.kind)}, {"bits", function.bits}, {"operands", operands}};
}

Json write(const LoopFacts& loop) {
  Json out = {{"parent", loop.parent}, {"single_exit", loop.single_exit}, {"trips", write(loop.trips)}};
  if (loop.last) out["last"] = write(*loop.last);
  if (loop.while_at_most_zero) {
    out["while_at_most_zero"] = write(*loop.while_at_most_zero);
    out["tested_first"] = loop.tested_first;
    out["conditions"] = Json::array();
    for (const Polynomial& p : loop.conditions) out["conditions"].push_back(write(p));
  }
  return out;
}

Json write(const AccessFacts& access) {
  Json out = {{"kind", name_of(access_names, access.kind)},
              {"argument", access.argument},
              {"bytes", access.bytes},
              {"guards", Json::array()},
              {"guards_suffice", access.guards_suffice},
              {"loops", access.loops},
              {"address", write(access.address)}};
  if (access.padding) out["padding"] = access.padding;
  if (access.alignment) out["alignment"] = access.alignment;
  if (access.index) out["index"] = write(*access.index);
  for (const Guard& guard : access.guards) {
    Json one = {{"kind", name_of(guard_names, guard.kind)}};
    if (!guard.value.empty()) one["value"] = write(guard.value);
    out["guards"].push_back(std::move(one));
  }
  if (!access.operation.empty()) out["operation"] = access.operation;
  if (access.kind == AccessKind::atomic)
    out.update({{"commutative", access.commutative}, {"result_used", access.result_used}});
  if (access.is_volatile) out["volatile"] = true;
  return out;
}

// Members of these two are written and read by one list each.
template <class Facts, class Visit>
void each_count(Facts& f, Visit visit) {
  visit("instructions", f.instructions), visit("loads", f.loads), visit("stores", f.stores);
  visit("local_loads", f.local_loads), visit("local_stores", f.local_stores), visit("branches", f.branches);
  visit("floating_operations", f.floating_operations), visit("integer_operations", f.integer_operations);
  visit("math_calls", f.math_calls), visit("atomics", f.atomics), visit("barriers", f.barriers);
  visit("loops", f.loops), visit("deepest_loop", f.deepest_loop);
}
template <class Facts, class Visit>
void each_use(Facts& u, Visit visit) {
  visit("global_id", u.global_id), visit("local_id", u.local_id), visit("group_id", u.group_id);
  visit("global_size", u.global_size), visit("local_size", u.local_size), visit("num_groups", u.num_groups);
  visit("global_offset", u.global_offset);
}

Json write(const KernelFacts& k) {
  Json out = {{"name", k.name},
              {"required_group", k.required_group},
              {"loaded", k.loaded},
              {"branches_on_data", k.branches_on_data},
              {"branches_on_group_id", k.branches_on_group_id},
              {"local_memory", k.local_memory},
              {"obstacles", k.obstacles},
              {"elsewhere", k.elsewhere},
              {"nest", {{"dimensions", k.nest.dimensions}, {"loops", k.nest.loops}, {"refused", k.nest.refused}}},
              {"arguments", Json::array()},
              {"symbols", Json::array()},
              {"functions", Json::array()},
              {"loops", Json::array()},
              {"accesses", Json::array()},
              {"uses", Json::object()},
              {"features", Json::object()}};
  for (const ArgumentFacts& a : k.arguments)
    out["arguments"].push_back(
        {{"name", a.name}, {"type", a.type}, {"space", name_of(space_names, a.space)}, {"size", a.size}});
  for (const Symbol& s : k.symbols) out["symbols"].push_back(write(s));
  for (const Function& f : k.functions) out["functions"].push_back(write(f));
  for (const LoopFacts& l : k.loops) out["loops"].push_back(write(l));
  for (const AccessFacts& a : k.accesses) out["accesses"].push_back(write(a));
  each_use(k.uses, [&](const char* name, bool value) { out["uses"][name] = value; });
  each_count(k.features, [&](const char* name, int value) { out["features"][name] = value; });
  return out;
}

// Reads one kernel. Every number that points somewhere is checked against the table it points into.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  KernelFacts read() {
    facts_.name = json_.at("name").get<std::string>();
    facts_.required_group = json_.at("required_group").get<std::vector<std::int64_t>>();
    require(facts_.required_group.empty() || facts_.required_group.size() == 3, "required_group");
    facts_.loaded = json_.at("loaded").get<std::vector<int>>();
    facts_.branches_on_data = json_.at("branches_on_data").get<bool>();
    facts_.branches_on_group_id = json_.at("branches_on_group_id").get<bool>();
    facts_.local_memory = json_.at("local_memory").get<Bytes>();
    facts_.obstacles = json_.at("obstacles").get<std::vector<std::string>>();
    facts_.elsewhere = json_.at("elsewhere").get<bool>();
    facts_.nest = nest(json_.at("nest"));
    for (const Json& a : json_.at("arguments")) {
      facts_.arguments.push_back({a.at("name").get<std::string>(), a.at("type").get<std::string>(),
                                  named<AddressSpace>(space_names, a.at("space")), a.at("size").get<Bytes>()});
    }
    loops_ = json_.at("loops").size();
    functions_ = json_.at("functions").size();
    for (const Json& s : json_.at("symbols")) facts_.symbols.push_back(symbol(s));
    for (const Json& f : json_.at("functions")) facts_.functions.push_back(function(f));
    for (const Json& l : json_.at("loops")) facts_.loops.push_back(loop(l));
    for (const Json& a : json_.at("accesses")) facts_.accesses.push_back(access(a));
    each_use(facts_.uses, [&](const char* name, bool& value) { value = json_.at("uses").at(name).get<bool>(); });
    each_count(facts_.features,
               [&](const char* name, int& value) { value = json_.at("features").at(name).get<int>(); });
    return std::move(facts_);
  }

 private:
  static void require(bool holds, const char* what) {
    if (!holds) throw UsageError(std::string("facts: ") + what + " out of range");
  }

  Polynomial polynomial(const Json& json) const {
    Polynomial out;
    for (const Json& t : json) {
      out.push_back({t.at(0).get<std::int64_t>(), t.at(1).get<std::vector<int>>()});
      for (int s : out.back().symbols) require(s >= 0 && s < static_cast<int>(facts_.symbols.size()), "a symbol");
    }
    return out;
  }

  Dependence dependence(const Json& json) const {
    Dependence d;
    const std::pair<const char*, bool*> flags[] = {{"arguments", &d.arguments}, {"sizes", &d.sizes},
                                                   {"group_id", &d.group_id},   {"local_id", &d.local_id},
                                                   {"data", &d.data},           {"local_data", &d.local_data},
                                                   {"floating", &d.floating},   {"atomic", &d.atomic}};
    for (const Json& on : json.at("on")) {
      const std::string name = on.get<std::string>();
      bool known = false;
      for (const auto& [flag, value] : flags) {
        if (name == flag) *value = known = true;
      }
      require(known, "a dependence");
    }
    d.sources = json.at("sources").get<std::vector<int>>();
    for (int s : d.sources) require(s >= -1 && s < static_cast<int>(facts_.arguments.size()), "a source");
    return d;
  }

  Symbol symbol(const Json& json) const {
    Symbol s;
    s.kind = named<SymbolKind>(symbol_names, json.at("kind"));
    s.index = json.at("index").get<int>();
    require(s.index >= 0, "a symbol's index");
    const auto below = [&](std::size_t n) { require(s.index < static_cast<int>(n), "a symbol's index"); };
    switch (s.kind) {
      case SymbolKind::group_id:
      case SymbolKind::local_id:
      case SymbolKind::local_size:
      case SymbolKind::num_groups:
      case SymbolKind::global_offset:
        below(3);
        break;
      case SymbolKind::scalar:
        below(facts_.arguments.size());
        s.byte = json.at("byte").get<int>(), s.size = json.at("size").get<int>();
        s.is_signed = json.at("signed").get<bool>();
        require(s.byte >= 0 && (s.size == 1 || s.size == 2 || s.size == 4 || s.size == 8), "a scalar's bytes");
        break;
      case SymbolKind::loop:
        below(loops_);
        break;
      case SymbolKind::function:
        below(functions_);
        break;
      case SymbolKind::work_dim:
      case SymbolKind::opaque:
        break;
    }
    if (json.contains("known")) {
      s.known = Interval{json.at("known").at(0).get<std::int64_t>(), json.at("known").at(1).get<std::int64_t>()};
      require(s.known->low <= s.known->high, "a known interval");
    }
    if (json.contains("loaded_from")) {
      s.loaded_from = json.at("loaded_from").get<std::vector<int>>();
      for (int n : *s.loaded_from) require(n >= 0 && n < static_cast<int>(facts_.symbols.size()), "a place's symbol");
    }
    return s;
  }

  static Nest nest(const Json& json) {
    Nest n{json.at("dimensions").get<std::vector<int>>(), json.at("loops").get<int>(),
           json.at("refused").get<std::string>()};
    for (std::size_t i = 0; i < n.dimensions.size(); ++i)
      require(n.dimensions[i] >= 0 && n.dimensions[i] < 3 && (i == 0 || n.dimensions[i - 1] < n.dimensions[i]),
              "a nest's dimensions");
    require(n.loops >= 0 && n.loops <= most_nested_loops, "a nest's loops");
    return n;
  }

  Function function(const Json& json) const {
    Function f;
    f.kind = named<FunctionKind>(function_names, json.at("kind"));
    f.bits = json.at("bits").get<int>();
    require(f.bits >= 1 && f.bits <= 64, "bits");
    for (const Json& p : json.at("operands")) {
      f.operands.push_back(polynomial(p));
      // Only functions before this one: nothing can go round in circles.
      for (const Term& t : f.operands.back()) {
        for (int s : t.symbols) {
          const Symbol& of = facts_.symbols[static_cast<std::size_t>(s)];
          require(of.kind != SymbolKind::function || of.index < static_cast<int>(facts_.functions.size()),
                  "an operand");
        }
      }
    }
    const bool wraps = f.kind == FunctionKind::wrap_signed || f.kind == FunctionKind::wrap_unsigned;
    const std::size_t n = f.operands.size();
    const bool many =
        f.kind == FunctionKind::minimum || f.kind == FunctionKind::maximum || f.kind == FunctionKind::choose;
    require(wraps ? n == 1 : many ? n >= 1 : n == 2, "operands");
    return f;
  }

  LoopFacts loop(const Json& json) const {
    LoopFacts l;
    l.parent = json.at("parent").get<int>();
    require(l.parent >= -1 && l.parent < static_cast<int>(facts_.loops.size()), "a parent");
    l.single_exit = json.at("single_exit").get<bool>();
    l.trips = dependence(json.at("trips"));
    if (json.contains("last")) l.last = polynomial(json.at("last"));
    if (json.contains("while_at_most_zero")) {
      l.while_at_most_zero = polynomial(json.at("while_at_most_zero"));
      l.tested_first = json.at("tested_first").get<bool>();
      for (const Json& p : json.at("conditions")) l.conditions.push_back(polynomial(p));
    }
    return l;
  }

  AccessFacts access(const Json& json) const {
    AccessFacts a;
    a.kind = named<AccessKind>(access_names, json.at("kind"));
    a.argument = json.at("argument").get<int>();
    require(a.argument >= -1 && a.argument < static_cast<int>(facts_.arguments.size()), "an argument");
    a.bytes = json.at("bytes").get<int>();
    require(a.bytes >= 0, "bytes");
    a.padding = json.value("padding", 0);
    require(a.padding >= 0, "padding");
    a.alignment = json.value("alignment", 0);
    require(a.alignment >= 0, "alignment");
    if (json.contains("index")) a.index = polynomial(json.at("index"));
    for (const Json& g : json.at("guards")) {
      a.guards.push_back({named<GuardKind>(guard_names, g.at("kind")),
                          g.contains("value") ? polynomial(g.at("value")) : Polynomial{}});
    }
    a.guards_suffice = json.at("guards_suffice").get<bool>();
    a.loops = json.at("loops").get<std::vector<int>>();
    for (int l : a.loops) require(l >= 0 && l < static_cast<int>(loops_), "a loop");
    a.address = dependence(json.at("address"));
    a.operation = json.value("operation", "");
    a.commutative = json.value("commutative", false);
    a.result_used = json.value("result_used", false);
    a.is_volatile = json.value("volatile", false);
    return a;
  }

  const Json& json_;
  KernelFacts facts_;
  std::size_t loops_ = 0, functions_ = 0;
};

}  // namespace

const char* to_string(AddressSpace space) { return name_of(space_names, space); }

bool offset_is_enough(const KernelFacts& facts) {
  const IdUses& u = facts.uses;
  return !u.group_id && !u.global_size && !u.num_groups && !u.global_offset;
}

std::string to_json(const ProgramFacts& facts) {
  Json kernels = Json::array();
  for (const KernelFacts& k : facts.kernels) kernels.push_back(write(k));
  // Names in a source may hold bytes that are no UTF-8: replaced, not refused.
  return Json{{"kernels", kernels}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

ProgramFacts program_facts_from_json(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    ProgramFacts out;
    for (const Json& k : json.at("kernels")) out.kernels.push_back(Reader(k).read());
    return out;
  } catch (const Json::exception& error) {
    throw UsageError(std::string("facts: ") + error.what());
  }
}

}  // namespace heddle::core
