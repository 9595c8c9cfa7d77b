// Checks first that the text is JSON and where it is not, then every value; nothing half-read ever leaves this file.
#include "profile/exchange.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "profile/printable.hpp"

namespace heddle::profile {

namespace {

using nlohmann::json;

constexpr double most_nanoseconds = 1e19;  // the longest duration that fits 64 bits, on a single point
constexpr double most_m2 = 1e60;           // of most_times such durations

constexpr std::size_t most_levels = 16;  // an export has 5; what is deeper could overflow the stack of what reads it
constexpr std::size_t enough = 200;      // bytes of a parser's message, which may quote the whole file
constexpr Milliseconds wrong_clock = std::chrono::hours(24);  // further ahead than machines' clocks and zones differ

// Finds the first error of syntax, with its position, and names given twice in one object, which json::parse accepts.
class SyntaxCheck : public json::json_sax_t {
 public:
  std::size_t position = 0;  // bytes read when the error was found
  std::string error;
  std::string twice;  // the way to a name that is given twice
  bool too_deep = false;

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool start_object(std::size_t) override { return value() && enter({}); }
  bool end_object() override { return levels_.pop_back(), true; }
  bool start_array(std::size_t) override { return value() && enter({true, 0, {}, {}}); }
  bool end_array() override { return levels_.pop_back(), true; }
  bool key(string_t& name) override {
    levels_.back().name = name;
    if (levels_.back().names.insert(name).second) return true;
    for (const Level& level : levels_) {
      twice += level.is_array ? fmt::format("[{}]", level.elements - 1) : (twice.empty() ? "" : ".") + level.name;
    }
    return false;
  }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::detail::exception& e) override {
    position = at;
    const std::string what = e.what();  // "[json.exception...] parse error at line 1, column 2: syntax error while ..."
    const auto place = what.find(" column ");
    error = place == std::string::npos ? what.substr(what.find("] ") + 2) : what.substr(what.find(": ", place) + 2);
    if (error.size() > enough) error = error.substr(0, enough) + "...";
    return false;
  }

 private:
  struct Level {
    bool is_array = false;
    std::size_t elements = 0;     // of an array, so far
    std::string name;             // of an object: the member that is being read
    std::set<std::string> names;  // of an object: all so far
  };
  bool value() {
    if (!levels_.empty()) ++levels_.back().elements;
    return true;
  }
  bool enter(Level level) {
    too_deep = levels_.size() == most_levels;
    levels_.push_back(std::move(level));
    return !too_deep;
  }
  std::vector<Level> levels_;
};

std::string shown(const json& value) {
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  constexpr std::size_t line = 40;  // so that the message stays one
  return text.size() > line ? text.substr(0, line) + "..." : text;
}

// One value and the way to it from the top of the file.
class Place {
 public:
  Place(const json& value, std::string path, const std::string& source)
      : value_(value), path_(std::move(path)), source_(source) {}

  [[noreturn]] void refuse(const std::string& why) const {
    const std::string place = path_.empty() ? "top level" : cut(printable(path_), enough);
    throw core::UsageError(fmt::format("{}: {}: {}", source_, place, printable(why)));
  }
  [[noreturn]] void refuse_value(const std::string& expected) const {
    refuse(fmt::format("expected {}, got {}", expected, shown(value_)));
  }

  // The object has exactly these members.
  void members(std::initializer_list<const char*> names) const {
    if (!value_.is_object()) refuse_value("an object");
    for (const char* name : names) {
      if (!value_.contains(name)) refuse(fmt::format("'{}' is missing", name));
    }
    for (const auto& [name, unused] : value_.items()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        refuse(fmt::format("unknown member '{}'", cut(printable(name), enough)));
      }
    }
  }
  Place at(const std::string& name) const {
    return {value_.at(name), path_.empty() ? name : path_ + "." + name, source_};
  }
  std::vector<Place> elements() const {
    if (!value_.is_array()) refuse_value("an array");
    std::vector<Place> out;
    for (std::size_t i = 0; i < value_.size(); ++i)
      out.emplace_back(value_[i], fmt::format("{}[{}]", path_, i), source_);
    return out;
  }
  std::vector<std::pair<std::string, Place>> items() const {
    if (!value_.is_object()) refuse_value("an object");
    std::vector<std::pair<std::string, Place>> out;
    for (const auto& [name, unused] : value_.items()) out.emplace_back(name, at(name));
    return out;
  }

  std::string text() const {
    if (!value_.is_string()) refuse_value("a string");
    return value_.get<std::string>();
  }
  std::string fingerprint() const {
    if (text().empty()) refuse_value("a fingerprint");
    return text();
  }
  std::int64_t integer(std::int64_t least, std::int64_t most = std::numeric_limits<std::int64_t>::max()) const {
    const bool fits = value_.is_number_unsigned() ? value_.get<std::uint64_t>() <= static_cast<std::uint64_t>(most)
                                                  : value_.is_number_integer() && value_.get<std::int64_t>() <= most;
    if (!value_.is_number_integer() || (fits && value_.get<std::int64_t>() < least)) {
      refuse_value(fmt::format("an integer >= {}", least));
    }
    if (!fits) refuse_value(fmt::format("an integer <= {}", most));
    return value_.get<std::int64_t>();
  }
  double real(double least, double most) const {
    if (!value_.is_number() || !(value_.get<double>() >= least)) refuse_value(fmt::format("a number >= {}", least));
    if (!(value_.get<double>() <= most)) refuse_value(fmt::format("a number <= {}", most));
    return value_.get<double>();
  }

 private:
  const json& value_;
  std::string path_;
  const std::string& source_;
};

core::FailureKind failure_kind(const std::string& name, const Place& place) {
  std::string kinds;
  for (core::FailureKind kind : failure_kinds) {
    if (name == core::to_string(kind)) return kind;
    kinds += (kinds.empty() ? "" : ", ") + std::string(core::to_string(kind));
  }
  place.refuse(fmt::format("unknown kind of failure; expected one of {}", kinds));
}

DatedSample sample(const Place& place) {
  place.members({"points", "duration_ns", "bytes_in", "bytes_out", "contention", "when"});
  DatedSample out;
  out.sample.points = place.at("points").integer(1);
  out.sample.duration = core::Nanoseconds(place.at("duration_ns").integer(0));
  out.sample.bytes_in = static_cast<core::Bytes>(place.at("bytes_in").integer(0));
  out.sample.bytes_out = static_cast<core::Bytes>(place.at("bytes_out").integer(0));
  // Below that the sample was disturbed by another program and may not enter a store.
  out.sample.contention = place.at("contention").real(core::trusted_contention, std::numeric_limits<double>::max());
  out.when = Milliseconds(place.at("when").integer(0));
  if (out.when > now() + wrong_clock) out.when = now();
  return out;
}

// The numbers of an aggregate must be such as measurements can give.
core::Aggregate aggregate(const Place& place) {
  core::Aggregate out;
  out.count = place.at("count").integer(0, most_times);
  out.mean = place.at("mean_ns_per_point").real(0, most_nanoseconds);
  out.m2 = place.at("m2").real(0, most_m2);
  out.least = place.at("least").real(0, most_nanoseconds);
  out.most = place.at("most").real(0, most_nanoseconds);
  if (out.count == 0) {
    for (const char* name : {"mean_ns_per_point", "m2", "least", "most"}) {
      if (place.at(name).real(0, most_m2) != 0) place.at(name).refuse_value("0 where count is 0");
    }
  }
  constexpr double rounding = 1e-6;  // of a mean over many additions
  if (out.least > out.mean * (1 + rounding))
    place.at("least").refuse_value(fmt::format("at most the mean, {:g}", out.mean));
  if (out.most < out.mean * (1 - rounding))
    place.at("most").refuse_value(fmt::format("at least the mean, {:g}", out.mean));
  return out;
}

std::pair<core::SampleKey, Entry> record(const Place& place) {
  place.members({"kernel", "variant", "parameters", "device", "shape", "count", "mean_ns_per_point", "m2", "least",
                 "most", "failures", "samples"});
  const core::SampleKey key{place.at("kernel").fingerprint(), place.at("variant").text(), place.at("parameters").text(),
                            place.at("device").fingerprint(), place.at("shape").text()};
  Entry entry;
  entry.aggregate = aggregate(place);
  for (const auto& [name, times] : place.at("failures").items()) {
    entry.add(failure_kind(name, times), times.integer(0, most_times));
  }
  const auto samples = place.at("samples").elements();
  const auto most = std::min<std::int64_t>(entry.aggregate.count, core::samples_per_key);
  if (static_cast<std::int64_t>(samples.size()) > most) {
    place.at("samples").refuse(fmt::format("expected at most {} samples ({}), got {}", most,
                                           most == entry.aggregate.count ? "the count" : "a store keeps no more",
                                           samples.size()));
  }
  for (const Place& s : samples) entry.samples.push_back(sample(s));
  return {key, entry};
}

// Where the first bracket stands that opens one level too many, in text that is right up to there.
std::size_t too_deep_at(const std::string& text) {
  bool quoted = false;
  std::size_t level = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted && c == '\\') ++i;
    if (quoted) continue;
    if (c == ']' || c == '}') --level;
    if ((c == '[' || c == '{') && ++level > most_levels) return i;
  }
  return text.size();
}

json parse(const std::string& text, const std::string& source) {
  SyntaxCheck check;
  if (json::sax_parse(text, &check)) return json::parse(text);
  if (check.too_deep) {
    check.position = too_deep_at(text) + 1;
    check.error = fmt::format("nested deeper than {} levels", most_levels);
  }
  if (check.error.empty()) {
    throw core::UsageError(fmt::format("{}: {}: given twice", source, cut(printable(check.twice), enough)));
  }
  const std::size_t last = std::min(check.position == 0 ? 0 : check.position - 1, text.size());
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(last), '\n');
  const auto newline = last == 0 ? std::string::npos : text.rfind('\n', last - 1);
  const auto column = last + 1 - (newline == std::string::npos ? 0 : newline + 1);
  throw core::UsageError(fmt::format("{}: line {}, column {}: {}", source, line, column, printable(check.error)));
}

// What follows makes of anything what from_json accepts.

double within(double value, double most) { return value >= 0 ? std::min(value, most) : 0; }  // 0 for what is no number

core::Aggregate acceptable(core::Aggregate a) {
  a.count = std::clamp(a.count, std::int64_t{0}, most_times);
  if (a.count == 0) return {};
  a.mean = within(a.mean, most_nanoseconds);
  a.m2 = within(a.m2, most_m2);
  a.least = within(a.least, a.mean);
  a.most = std::max(within(a.most, most_nanoseconds), a.mean);
  return a;
}

Entry acceptable(const Entry& entry) {
  Entry out;
  out.aggregate = acceptable(entry.aggregate);
  for (const auto& [kind, times] : entry.failures) out.failures[kind] = std::clamp(times, std::int64_t{0}, most_times);
  constexpr core::Bytes most_bytes = std::numeric_limits<std::int64_t>::max();
  for (DatedSample s : entry.samples) {
    if (!trusted(s.sample)) continue;
    s.sample.bytes_in = std::min(s.sample.bytes_in, most_bytes);
    s.sample.bytes_out = std::min(s.sample.bytes_out, most_bytes);
    s.when = std::max(s.when, Milliseconds(0));
    out.samples.push_back(s);
  }
  const auto kept = std::min<std::size_t>(core::samples_per_key, static_cast<std::size_t>(out.aggregate.count));
  if (out.samples.size() > kept)
    out.samples.erase(out.samples.begin(), out.samples.end() - static_cast<std::ptrdiff_t>(kept));
  return out;
}

Contents acceptable(const Contents& contents) {
  Contents out;
  for (const auto& [fingerprint, name] : contents.names) out.names[valid_utf8(fingerprint)] = valid_utf8(name);
  for (const auto& [key, entry] : contents.records) {
    if (key.kernel.empty() || key.device.empty()) continue;
    // Two keys can become one when what is not UTF-8 in them is replaced.
    Entry& together = out.records[{valid_utf8(key.kernel), valid_utf8(key.variant), valid_utf8(key.parameters),
                                   valid_utf8(key.device), valid_utf8(key.shape)}];
    together.add(acceptable(entry));
    together = acceptable(together);
  }
  return out;
}

}  // namespace

std::string to_json(const Contents& given) {
  const Contents contents = acceptable(given);
  json records = json::array();
  for (const auto& [key, entry] : contents.records) {
    json failures = json::object(), samples = json::array();
    for (const auto& [kind, times] : entry.failures) failures[core::to_string(kind)] = times;
    for (const auto& [s, when] : entry.samples) {
      samples.push_back({{"points", s.points},
                         {"duration_ns", s.duration.count()},
                         {"bytes_in", s.bytes_in},
                         {"bytes_out", s.bytes_out},
                         {"contention", s.contention},
                         {"when", when.count()}});
    }
    records.push_back({{"kernel", key.kernel},
                       {"variant", key.variant},
                       {"parameters", key.parameters},
                       {"device", key.device},
                       {"shape", key.shape},
                       {"count", entry.aggregate.count},
                       {"mean_ns_per_point", entry.aggregate.mean},
                       {"m2", entry.aggregate.m2},
                       {"least", entry.aggregate.least},
                       {"most", entry.aggregate.most},
                       {"failures", failures},
                       {"samples", samples}});
  }
  const json all = {{"heddle_profile", exchange_version}, {"names", contents.names}, {"records", records}};
  return all.dump(1) + "\n";
}

Contents from_json(const std::string& text, const std::string& source) {
  const json all = parse(text, source);
  const Place top(all, "", source);
  if (!all.is_object() || !all.contains("heddle_profile")) {
    top.refuse("not an exported profile: 'heddle_profile' is missing");
  }
  const std::int64_t version = top.at("heddle_profile").integer(1);
  if (version > exchange_version) {
    top.at("heddle_profile")
        .refuse(fmt::format("version {} is newer than this Heddle, which knows {}", version, exchange_version));
  }
  top.members({"heddle_profile", "names", "records"});
  Contents out;
  for (const auto& [fingerprint, name] : top.at("names").items()) out.names[fingerprint] = name.text();
  std::map<core::SampleKey, std::size_t> seen;
  const auto records = top.at("records").elements();
  for (std::size_t i = 0; i < records.size(); ++i) {
    auto [key, entry] = record(records[i]);
    const auto [first, fresh] = seen.emplace(key, i);
    if (!fresh) records[i].refuse(fmt::format("the same key as records[{}]", first->second));
    out.records.emplace(std::move(key), std::move(entry));
  }
  return out;
}

}  // namespace heddle::profile
