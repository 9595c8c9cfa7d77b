// Bytes, then entries in the form of either tuner, then one table: values get their places in order of appearance while
// the file is read, and their final ones when all are known.
#include "profile/recorded.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <unordered_set>

#include <fmt/format.h>
#include <zlib.h>

#include "core/errors.hpp"
#include "profile/json_parts.hpp"
#include "profile/printable.hpp"

namespace heddle::profile {

namespace {

using core::UsageError;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t line = 200;  // columns of a message's quotation

std::string shown(std::string_view text) {
  return cut(printable(std::string(text.substr(0, 4 * line))), line);  // 4: bytes of a character at most
}

void skip(Recorded& out, const std::string& what) {
  if (++out.skipped_count <= most_skipped) out.skipped.push_back(what);
}

// gzread passes on what is not compressed as it is.
std::string read_bytes(const std::string& path, std::size_t most_bytes, Recorded& out) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw UsageError(fmt::format("{}: there is no such file", path));
  if (std::filesystem::is_directory(status)) throw UsageError(fmt::format("{}: a file expected, not a folder", path));
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(::gzopen(path.c_str(), "rbe"), ::gzclose);
  if (!file) throw UsageError(fmt::format("{} cannot be read: {}", path, std::strerror(errno)));
  std::string text;
  char piece[16384];  // small, as a piece with an error in it is lost as a whole
  int n;
  while ((n = ::gzread(file.get(), piece, sizeof piece)) > 0) {
    text.append(piece, static_cast<std::size_t>(n));
    if (text.size() > most_bytes) throw UsageError(fmt::format("{}: more than {} bytes, unpacked", path, most_bytes));
  }
  int code = Z_OK;
  const char* why = ::gzerror(file.get(), &code);
  if (code == Z_ERRNO) why = std::strerror(errno);
  if (code != Z_OK && code != Z_STREAM_END) {
    if (text.empty()) throw UsageError(fmt::format("{} cannot be read: {}", path, why));
    skip(out, fmt::format("the file is damaged: {} bytes were read, then {}", text.size(), shown(why)));
  }
  return text;
}

// What the rest of this file makes of an entry.
struct Entry {
  std::vector<std::optional<core::Value>> values;  // in the order of the names
  double ms = nan, compile_ms = nan;
  std::string failure;
  std::string wrong;  // why the entry cannot be used, if it cannot
};

// The table while it grows.
class Table {
 public:
  explicit Table(Recorded& out) : out_(out) {}

  bool has_names() const { return has_names_; }
  void set_names(const std::vector<std::string>& names) {
    has_names_ = true;
    for (const std::string& name : names) {
      if (!index_.emplace(name, index_.size()).second) continue;
      out_.parameters.push_back({name, {}});
      if (width() > most_parameters) throw UsageError(fmt::format("more than {} parameters", most_parameters));
    }
    seen_.resize(width());
  }
  std::optional<std::size_t> index(const std::string& name) const {
    const auto found = index_.find(name);
    if (found == index_.end()) return {};
    return found->second;
  }
  std::size_t width() const { return index_.size(); }

  void add(const std::string& label, Entry& entry) {
    for (std::size_t i = 0; i < width() && entry.wrong.empty(); ++i) {
      const auto& value = entry.values[i];
      const double* real = value ? std::get_if<double>(&*value) : nullptr;
      if (!value || (real && !std::isfinite(*real))) {
        entry.wrong = fmt::format("parameter '{}' is missing, or no number, truth value or string",
                                  shown(out_.parameters[i].name));
      }
    }
    if (entry.wrong.empty() && entry.failure.empty() && !(entry.ms > 0 && std::isfinite(entry.ms)))
      entry.wrong = fmt::format("its time is {}; a finite number of milliseconds above 0 expected", entry.ms);
    if (!entry.wrong.empty()) return skip(out_, fmt::format("entry '{}': {}", shown(label), entry.wrong));
    std::vector<std::uint16_t> places;
    for (std::size_t i = 0; i < width(); ++i) places.push_back(place(i, std::move(*entry.values[i])));
    out_.places.push_back(std::move(places));
    out_.times.push_back(entry.failure.empty() ? entry.ms : nan);
    out_.failures.push_back(std::move(entry.failure));
    out_.compile_ms.push_back(entry.compile_ms >= 0 && std::isfinite(entry.compile_ms) ? entry.compile_ms : nan);
  }

  void finish() {
    for (std::size_t i = 0; i < width(); ++i) order(i);
    drop_duplicates();
  }

 private:
  std::uint16_t place(std::size_t i, core::Value value) {
    const auto [at, is_new] = seen_[i].emplace(std::move(value), static_cast<std::uint16_t>(seen_[i].size()));
    if (seen_[i].size() > most_values) {
      throw UsageError(
          fmt::format("parameter '{}' has more than {} values", shown(out_.parameters[i].name), most_values));
    }
    if (is_new) out_.parameters[i].values.push_back(at->first);
    return at->second;
  }

  // Numbers ascending: what searches take for neighbours is near each other.
  void order(std::size_t i) {
    auto& values = out_.parameters[i].values;
    const auto holds_number = [](const core::Value& v) { return v.index() <= 1; };
    if (std::all_of(values.begin(), values.end(), holds_number)) {
      if (std::any_of(values.begin(), values.end(), [](const core::Value& v) { return v.index() == 1; })) {
        for (auto& v : values) {
          if (const auto* whole = std::get_if<std::int64_t>(&v)) v = static_cast<double>(*whole);
        }
      }
    } else {
      for (const auto& v : values) {
        if (v.index() == values.front().index()) continue;
        throw UsageError(fmt::format("parameter '{}' mixes types of values: {} and {}", shown(out_.parameters[i].name),
                                     shown(described(values.front())), shown(described(v))));
      }
    }
    if (std::holds_alternative<std::string>(values.front())) return;
    auto sorted = values;
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    std::vector<std::uint16_t> moved;
    for (const auto& v : values) {
      moved.push_back(static_cast<std::uint16_t>(std::lower_bound(sorted.begin(), sorted.end(), v) - sorted.begin()));
    }
    for (auto& places : out_.places) places[i] = moved[places[i]];
    values = std::move(sorted);
  }

  static std::string described(const core::Value& value) {
    constexpr const char* types[] = {"the integer", "the real number", "the truth value", "the name"};
    return fmt::format("{} {}", types[value.index()], core::to_string(value));
  }

  void drop_duplicates() {
    std::unordered_set<std::string_view> known;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < out_.places.size(); ++i) {
      const auto& places = out_.places[i];
      const std::string_view bytes(reinterpret_cast<const char*>(places.data()), places.size() * sizeof places[0]);
      if (!known.insert(bytes).second) {
        skip(out_, fmt::format("configuration '{}' is given again; its first time counts",
                               shown(core::to_string(configuration(out_, i)))));
        continue;
      }
      if (kept != i) {  // the views stay valid: a moved vector keeps its bytes
        out_.places[kept] = std::move(out_.places[i]);
        out_.times[kept] = out_.times[i];
        out_.failures[kept] = std::move(out_.failures[i]);
        out_.compile_ms[kept] = out_.compile_ms[i];
      }
      ++kept;
    }
    out_.places.resize(kept);
    out_.times.resize(kept);
    out_.failures.resize(kept);
    out_.compile_ms.resize(kept);
  }

  static constexpr std::size_t most_values = std::numeric_limits<std::uint16_t>::max();
  static constexpr std::size_t most_parameters = 1000;  // a kernel has tens; a hostile file would cost its square
  Recorded& out_;
  std::map<std::string, std::size_t> index_;
  std::vector<std::map<core::Value, std::uint16_t>> seen_;
  bool has_names_ = false;
};

// "4096x4096" of [4096, 4096]; a single value as it is.
std::string size_text(std::string_view text) {
  std::string out;
  Parts parts(text);
  for (Part part; parts.next(part) && out.size() < line;) out += (out.empty() ? "" : "x") + std::string(part.text);
  return shown(out.empty() ? word(text).value_or(std::string(text)) : out);
}

std::string name_text(std::string_view text) { return shown(word(text).value_or("")); }

// What each entry of a list says, and what is wrong with the list itself.
template <class Each>
void each_entry(std::string_view text, Recorded& out, Each each) {
  Parts parts(text);
  std::size_t number = 0;
  for (Part part; parts.next(part);) {
    const std::string label = part.name.empty() ? fmt::format("results[{}]", number) : part.name;
    ++number;
    if (!part.torn) {
      each(label, part.text);
    } else {
      skip(out, fmt::format("entry '{}' is cut off; nothing behind it can be read", shown(label)));
    }
  }
  if (parts.spoilt()) {
    skip(out, fmt::format("{} bytes between entries are no JSON, first: '{}'", parts.spoilt(),
                          shown(text.substr(parts.first_spoilt(), line))));
  }
}

constexpr std::pair<const char*, const char*> kernel_tuner_failures[] = {
    {"CompilationFailedConfig", "compile"}, {"RuntimeFailedConfig", "runtime"}, {"InvalidConfig", "constraints"}};

// Fields that Kernel Tuner adds to the parameters' values.
constexpr std::string_view kernel_tuner_fields[] = {"time",           "times",          "compile_time",
                                                    "benchmark_time", "framework_time", "strategy_time",
                                                    "timestamp",      "__error__",      "verification_time"};

// In a file without any list of parameters: as many fields of an entry as its key has values, other than Kernel Tuner's
// own. False where it has fewer.
bool names_from_entry(const std::string& key, std::string_view text, Table& table) {
  const std::size_t values = key.empty() ? 0 : static_cast<std::size_t>(std::count(key.begin(), key.end(), ',')) + 1;
  std::vector<std::string> names;
  Parts fields(text);
  for (Part field; names.size() < values && fields.next(field);) {
    const auto* known = std::find(std::begin(kernel_tuner_fields), std::end(kernel_tuner_fields), field.name);
    if (known == std::end(kernel_tuner_fields) && scalar(field.text)) names.push_back(field.name);
  }
  if (names.size() < values) return false;
  table.set_names(names);
  return true;
}

Entry kernel_tuner_entry(std::string_view text, const Table& table) {
  Entry out{.values = std::vector<std::optional<core::Value>>(table.width())};
  if (text.empty() || text[0] != '{') out.wrong = fmt::format("an object expected, not {}", shown(text));
  std::optional<std::string_view> time;
  Parts fields(text);
  for (Part field; fields.next(field);) {
    if (const auto i = table.index(field.name)) {
      out.values[*i] = scalar(field.text);
      continue;
    }
    if (field.name == "time") time = field.text;
    if (field.name == "compile_time") out.compile_ms = number(field.text).value_or(nan);
    // Under __error__, or in place of whatever was to be measured.
    const auto failure = word(field.text);
    for (const auto& [theirs, ours] : kernel_tuner_failures) {
      if (failure == theirs) out.failure = ours;
    }
    if (field.name == "__error__" && out.failure.empty())
      out.wrong = fmt::format("unknown error {}", shown(field.text));
  }
  if (!out.failure.empty() || !out.wrong.empty()) return out;
  if (!time) {
    out.wrong = "it has no time";
  } else if (const auto ms = number(*time)) {
    out.ms = *ms;
  } else {
    out.wrong = fmt::format("its time is {}; a number expected", shown(*time));
  }
  return out;
}

struct Top {
  std::map<std::string, std::string_view> members;  // those of interest
  bool has(const char* name) const { return members.count(name) != 0; }
  std::string_view at(const char* name) const { return has(name) ? members.at(name) : std::string_view(); }
};

void read_kernel_tuner(const Top& top, Recorded& out, Table& table) {
  out.kernel = name_text(top.at("kernel_name"));
  out.device = name_text(top.at("device_name"));
  out.problem = size_text(top.at("problem_size"));
  Parts keys(top.at("tune_params_keys")), values(top.at("tune_params"));
  std::vector<std::string> names;
  for (Part part; keys.next(part);) {
    if (const auto name = word(part.text)) names.push_back(*name);
  }
  for (Part part; values.next(part);) names.push_back(part.name);
  if (!names.empty()) table.set_names(names);
  each_entry(top.at("cache"), out, [&](const std::string& key, std::string_view text) {
    Entry entry;
    if (table.has_names() || names_from_entry(key, text, table)) {
      entry = kernel_tuner_entry(text, table);
    } else {
      entry.wrong = "it has fewer values than its key";
    }
    table.add(key, entry);
  });
}

// Milliseconds in a unit of time; nothing for a unit of something else. Public files misspell the first.
std::optional<double> milliseconds(const std::string& unit) {
  constexpr std::pair<const char*, double> units[] = {
      {"miliseconds", 1}, {"milliseconds", 1},    {"ms", 1},    {"seconds", 1e3},     {"s", 1e3},
      {"us", 1e-3},       {"microseconds", 1e-3}, {"ns", 1e-6}, {"nanoseconds", 1e-6}};
  for (const auto& [name, ms] : units) {
    if (unit == name) return ms;
  }
  return {};
}

struct Measurement {
  std::string name, unit;
  std::string_view value;
};

// The time among the measurements: the first objective, or what is called "time" where that is not one.
void t4_time(const std::string& objective, const std::vector<Measurement>& measurements, double default_unit,
             Entry& out) {
  out.wrong = fmt::format("no measurement of '{}'", shown(objective));
  for (const std::string& name : {objective, std::string("time")}) {
    for (const Measurement& m : measurements) {
      if (m.name != name) continue;
      const auto unit = m.unit.empty() ? default_unit : milliseconds(m.unit);
      const auto value = number(m.value);
      if (unit && value) {
        out.ms = *value * *unit;
        out.wrong.clear();
        return;
      }
      out.wrong = fmt::format("its {} is {} '{}'; a number in a unit of time expected", shown(name), shown(m.value),
                              shown(m.unit));
    }
  }
}

Entry t4_entry(std::string_view text, double default_unit, Table& table) {
  Entry out;
  std::string_view configuration;
  std::string objective = "time", invalidity = "correct";
  std::vector<Measurement> measurements;
  bool is_correct = true;
  Parts members(text);
  for (Part member; members.next(member);) {
    Parts inner(member.text);
    Part part;
    if (member.name == "configuration") configuration = member.text;
    if (member.name == "invalidity") invalidity = word(member.text).value_or(std::string(member.text));
    if (member.name == "correctness") is_correct = member.text != "false" && number(member.text) != 0.0;
    if (member.name == "objectives" && inner.next(part)) objective = word(part.text).value_or(objective);
    if (member.name == "times") {
      while (inner.next(part)) {
        if (part.name == "compilation_time" || part.name == "compilation")
          out.compile_ms = number(part.text).value_or(nan) * default_unit;
      }
    }
    if (member.name == "measurements") {
      while (inner.next(part)) {
        Measurement m;
        Parts fields(part.text);
        for (Part field; fields.next(field);) {
          if (field.name == "name") m.name = word(field.text).value_or("");
          if (field.name == "unit") m.unit = word(field.text).value_or("");
          if (field.name == "value") m.value = field.text;
        }
        measurements.push_back(std::move(m));
      }
    }
  }
  if (configuration.empty() || configuration[0] != '{') {
    out.wrong = "it has no configuration";
    return out;
  }
  if (is_failure_word(invalidity)) {
    out.failure = invalidity;
  } else if (invalidity != "correct") {
    out.wrong = fmt::format("unknown invalidity '{}'", shown(invalidity));
    return out;
  } else if (!is_correct) {
    out.failure = "correctness";
  } else {
    t4_time(objective, measurements, default_unit, out);
    if (!out.wrong.empty()) return out;
  }
  std::vector<std::string> names;
  std::vector<std::optional<core::Value>> values;
  Parts parts(configuration);
  for (Part part; parts.next(part);) {
    names.push_back(part.name);
    values.push_back(scalar(part.text));
    if (!values.back()) out.wrong = fmt::format("parameter '{}' is {}", shown(part.name), shown(part.text));
  }
  if (!out.wrong.empty()) return out;
  if (!table.has_names()) table.set_names(names);  // those of the first are those of all
  out.values.resize(table.width());
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (const auto place = table.index(names[i])) {
      out.values[*place] = std::move(values[i]);
    } else {
      out.wrong = fmt::format("parameter '{}' is not one of the first entry's", shown(names[i]));
    }
  }
  return out;
}

void read_t4(const Top& top, Recorded& out, Table& table) {
  std::string unit = "milliseconds";
  Parts metadata(top.at("metadata"));
  for (Part part; metadata.next(part);) {
    if (part.name == "timeunit") unit = word(part.text).value_or(std::string(part.text));
    if (part.name == "kernel_name") out.kernel = name_text(part.text);
    if (part.name == "device_name") out.device = name_text(part.text);
    if (part.name == "problem_size") out.problem = size_text(part.text);
  }
  const auto ms = milliseconds(unit);
  if (!ms) {
    throw UsageError(fmt::format(
        "metadata.timeunit is '{}'; seconds, milliseconds, microseconds or nanoseconds expected", shown(unit)));
  }
  each_entry(top.at("results"), out, [&](const std::string& label, std::string_view text) {
    Entry entry = t4_entry(text, *ms, table);
    table.add(label, entry);
  });
}

Recorded read_text(std::string_view text, Recorded out) {
  constexpr std::string_view mark = "\xef\xbb\xbf";  // of UTF-8, which some editors put in front
  if (text.substr(0, mark.size()) == mark) text.remove_prefix(mark.size());
  const std::string_view begin = text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  if (begin.empty()) throw UsageError("the file is empty");
  if (begin[0] != '{')
    throw UsageError(fmt::format("a JSON object expected, not '{}'", cut(shown(begin.substr(0, line)), 40)));
  constexpr const char* interesting[] = {"cache",       "results",     "metadata",         "kernel_name",
                                         "device_name", "tune_params", "tune_params_keys", "problem_size"};
  Top top;
  Parts members(begin);
  for (Part part; members.next(part);) {
    const auto* end = std::end(interesting);
    if (std::find(std::begin(interesting), end, part.name) != end) top.members.emplace(part.name, part.text);
  }
  Table table(out);
  const char* entries = top.has("cache") ? "cache" : "results";
  if (!top.has(entries)) {
    throw UsageError("neither a Kernel Tuner cache, which has a member 'cache', nor T4 results, which have 'results'");
  }
  const char opening = top.has("cache") ? '{' : '[';
  if (top.at(entries).substr(0, 1) != std::string_view(&opening, 1)) {
    throw UsageError(fmt::format("'{}' is {}; {} expected", entries, cut(shown(top.at(entries)), 40),
                                 opening == '{' ? "an object" : "an array"));
  }
  top.has("cache") ? read_kernel_tuner(top, out, table) : read_t4(top, out, table);
  if (const auto rest = begin.substr(members.position());
      members.closed() && rest.find_first_not_of(" \t\r\n") != rest.npos)
    skip(out, fmt::format("{} bytes behind the end of the object", rest.size()));
  if (out.places.empty()) {
    throw UsageError(fmt::format("no configuration in '{}' can be read{}{}", entries, out.skipped.empty() ? "" : "; ",
                                 out.skipped.empty() ? "" : out.skipped.front()));
  }
  table.finish();
  return out;
}

}  // namespace

bool is_failure_word(const std::string& word) {
  return std::find(std::begin(failure_words), std::end(failure_words), word) != std::end(failure_words);
}

core::Configuration configuration(const Recorded& recorded, std::size_t number) {
  core::Configuration out;
  for (std::size_t i = 0; i < recorded.parameters.size(); ++i) {
    const core::Parameter& p = recorded.parameters[i];
    out.values.emplace_back(p.name, p.values[recorded.places.at(number)[i]]);
  }
  return out;
}

Recorded read_recorded(const std::string& path, std::size_t most_bytes) {
  Recorded out;
  const std::string text = read_bytes(path, most_bytes, out);
  try {
    return read_text(text, std::move(out));
  } catch (const UsageError& e) {
    throw UsageError(fmt::format("{}: {}", path, e.what()));
  }
}

Recorded parse_recorded(std::string_view text) { return read_text(text, {}); }

RecordedSpace space_of(const Recorded& recorded) {
  RecordedSpace out{core::ParameterSpace::of(recorded.parameters, recorded.places), {}};
  out.times.resize(recorded.times.size());
  for (std::size_t c = 0; c < recorded.places.size(); ++c)
    out.times[*out.space.find(recorded.places[c])] = recorded.times[c];
  return out;
}

}  // namespace heddle::profile
