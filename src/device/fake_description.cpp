// A parser of one line after the other, with the number of the line in every complaint.
#include "device/fake_description.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "core/fingerprint.hpp"
#include "core/settings.hpp"

namespace heddle::device {

using core::UsageError;

namespace {

// The words of one line. All messages of the parser begin where "line N: " ends.
class Line {
 public:
  explicit Line(const std::string& text) {
    std::istringstream stream(text.substr(0, text.find('#')));
    words_.assign(std::istream_iterator<std::string>(stream), {});
  }

  bool more() const { return next_ < words_.size(); }
  bool skip(const std::string& word) { return more() && words_[next_] == word && ++next_; }
  std::string word(const char* what) {
    if (!more()) throw UsageError(fmt::format("{} expected after '{}'", what, next_ ? words_[next_ - 1] : ""));
    return words_[next_++];
  }
  void expect(const std::string& word) {
    const std::string given = this->word(("'" + word + "'").c_str());
    if (given != word) throw UsageError(fmt::format("'{}': '{}' expected", given, word));
  }
  void end() const {
    if (more()) throw UsageError(fmt::format("'{}': end of the line expected", words_[next_]));
  }
  std::string rest() {
    const std::string text =
        fmt::format("{}", fmt::join(words_.begin() + static_cast<std::ptrdiff_t>(next_), words_.end(), " "));
    next_ = words_.size();
    return text;
  }

  template <class Number>
  Number number(const char* what, Number least, Number most) {
    const std::string text = word(what);
    Number value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value >= least && value <= most)) {
      throw UsageError(fmt::format("'{}': {} expected", text, what));
    }
    return value;
  }
  double rate() { return number<double>("a rate per second such as 2e9", 1e-9, 1e30); }
  std::int64_t count(const char* what) {
    return number<std::int64_t>(what, 1, std::numeric_limits<std::int32_t>::max());
  }
  Bytes size() { return core::parse_size("size", word("a size")); }
  Nanoseconds time() {
    const std::string text = word("a time");
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    const double scale = unit == "ns" ? 1 : unit == "us" ? 1e3 : unit == "ms" ? 1e6 : unit == "s" ? 1e9 : 0;
    if (error != std::errc() || scale == 0 || !(value >= 0 && value <= 1e6)) {
      throw UsageError(fmt::format("'{}': a time such as 10us, 1.5ms or 2s expected", text));
    }
    return Nanoseconds(std::llround(value * scale));
  }

 private:
  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

Kind parse_kind(const std::string& text) {
  for (Kind kind : {Kind::cpu, Kind::gpu, Kind::accelerator}) {
    if (text == to_string(kind)) return kind;
  }
  throw UsageError(fmt::format("'{}': cpu, gpu or accelerator expected", text));
}

Description begin_device(Line& line) {
  Description d;
  d.info.id = line.word("a device's id");
  d.info.kind = parse_kind(line.word("a kind (cpu, gpu or accelerator)"));
  d.info.name = "fake " + d.info.id;
  d.info.vendor = "Heddle";
  d.info.driver = "fake 1";
  d.info.memory = Bytes{1} << 30;
  d.info.local_memory = 32 << 10;  // the least that OpenCL asks of a device
  d.info.largest_group = 1024;     // what GPUs have
  d.info.fp64 = true;
  d.info.space = d.info.kind == Kind::cpu ? host_memory : -1;  // -1: one of its own; numbered at the end
  return d;
}

void add_mishap(Description& d, Call call, std::int64_t number, Mishap mishap) {
  if (!d.mishaps[static_cast<std::size_t>(call)].emplace(number, mishap).second) {
    throw UsageError(
        fmt::format("{} {} of {} goes wrong already", call_names[static_cast<std::size_t>(call)], number, d.info.id));
  }
}

void parse_fail(Description& d, Line& line) {
  const std::string name = line.word("build, allocation, launch, write or read");
  const auto* found = std::find(std::begin(call_names), std::end(call_names), name);
  if (found == std::end(call_names)) {
    throw UsageError(fmt::format("'{}': build, allocation, launch, write or read expected", name));
  }
  const auto call = static_cast<Call>(found - std::begin(call_names));
  const std::int64_t number = line.count("a number from 1");
  const bool queued = call != Call::build && call != Call::allocation;
  add_mishap(d, call, number, queued && line.skip("late") ? Mishap::fail_late : Mishap::fail);
}

void parse_copy(Description& d, Line& line) {
  do {
    const std::string word = line.word("in, out, within, latency or engines");
    if (word == "in") {
      d.copy_in = line.rate();
    } else if (word == "out") {
      d.copy_out = line.rate();
    } else if (word == "within") {
      d.copy_within = line.rate();
    } else if (word == "latency") {
      d.copy = line.time();
    } else if (word == "engines") {
      d.copy_engines = line.number<int>("1 or 2 engines", 1, 2);
    } else {
      throw UsageError(fmt::format("'{}': in, out, within, latency or engines expected", word));
    }
  } while (line.more());
}

void parse_item(Description& d, const std::string& item, Line& line) {
  if (item == "rate") {
    const std::string first = line.word("a rate or a kernel's name");
    Line alone(first);
    const bool general = !line.more();
    const double rate = (general ? alone : line).rate();
    if (general ? d.rate != 0 : !d.kernel_rates.emplace(first, rate).second) {
      throw UsageError(fmt::format("this rate is there twice for device {}", d.info.id));
    }
    if (general) d.rate = rate;
  } else if (item == "name") {
    d.info.name = line.word("a name");
    if (line.more()) d.info.name += " " + line.rest();
  } else if (item == "units") {
    d.info.units = static_cast<int>(line.count("a number of units"));
  } else if (item == "overlap") {
    d.info.overlaps = true;
  } else if (item == "memory") {
    d.info.memory = line.size();
    if (line.skip("largest")) d.info.largest_buffer = line.size();
  } else if (item == "local") {
    d.info.local_memory = line.size();
  } else if (item == "group") {
    d.info.largest_group = line.count("a number of work-items");
  } else if (item == "space") {
    const std::string space = line.word("own or host");
    if (space != "own" && space != "host") throw UsageError(fmt::format("'{}': own or host expected", space));
    d.info.space = space == "host" ? host_memory : -1;
  } else if (item == "launch") {
    d.launch = line.time();
  } else if (item == "copy") {
    parse_copy(d, line);
  } else if (item == "build") {
    d.build = line.time();
  } else if (item == "noise") {
    d.noise = line.number<double>("a part of 1 such as 0.05", 0, 0.999);
    if (line.skip("seed")) d.seed = line.number<std::uint64_t>("a seed", 0, std::numeric_limits<std::uint64_t>::max());
  } else if (item == "fail") {
    parse_fail(d, line);
  } else if (item == "lost" || item == "hang") {
    line.expect("at");
    line.expect("launch");
    const std::int64_t number = line.count("a number from 1");
    const Mishap lost = item == "lost" && line.skip("late") ? Mishap::lost_late : Mishap::lost;
    add_mishap(d, Call::launch, number, item == "hang" ? Mishap::hang : lost);
  } else if (item == "slow") {
    const double factor = line.number<double>("a factor such as 10", 1e-6, 1e6);
    std::int64_t from = 1;
    if (line.skip("from")) line.expect("launch"), from = line.count("a number from 1");
    d.slow[from] = factor;
  } else {
    throw UsageError(
        fmt::format("'{}': device, rate, name, units, overlap, memory, local, group, space, launch, copy, build, "
                    "noise, fail, lost, hang or "
                    "slow expected",
                    item));
  }
}

void end_device(Description& d, MemorySpace own) {
  Info& info = d.info;
  if (d.rate == 0) throw UsageError(fmt::format("device {} has no rate", info.id));
  if (info.largest_buffer == 0 || info.largest_buffer > info.memory) info.largest_buffer = info.memory;
  info.largest_extents = {info.largest_group, info.largest_group, info.largest_group};
  if (info.space != host_memory) info.space = own;
  info.fingerprint = core::Fingerprint()
                         .add(info.vendor)
                         .add(info.name)
                         .add(info.driver)
                         .add(static_cast<unsigned long long>(info.units))
                         .add(info.kind == Kind::cpu ? 0 : info.memory)  // as for real CPUs, whose free memory varies
                         .add(info.parent)
                         .hex();
}

}  // namespace

std::vector<Description> parse_description(std::string_view text) {
  const std::set<std::string> repeatable = {"rate", "fail", "lost", "hang", "slow"};
  std::vector<Description> devices;
  std::set<std::string> ids, given;  // given: items of the present block
  std::istringstream stream{std::string(text)};
  std::string line_text;
  int number = 0;
  const auto at_line = [&](auto&& action) {
    try {
      action();
    } catch (const UsageError& e) {
      throw UsageError(fmt::format("line {}: {}", number, e.what()));
    }
  };
  const auto end_block = [&] {
    if (!devices.empty()) end_device(devices.back(), static_cast<MemorySpace>(devices.size()));
  };
  while (std::getline(stream, line_text)) {
    ++number;
    Line line(line_text);
    if (!line.more()) continue;
    at_line([&] {
      const std::string item = line.word("an item");
      if (item == "device") {
        end_block();
        devices.push_back(begin_device(line));
        given.clear();
        if (!ids.insert(devices.back().info.id).second) {
          throw UsageError(fmt::format("device {} is there twice", devices.back().info.id));
        }
      } else if (devices.empty()) {
        throw UsageError(fmt::format("'{}': 'device ID KIND' expected first", item));
      } else {
        const bool first = given.insert(item).second;
        if (!first && !repeatable.contains(item)) {
          throw UsageError(fmt::format("'{}' is there twice for device {}", item, devices.back().info.id));
        }
        parse_item(devices.back(), item, line);
      }
      line.end();
    });
  }
  at_line(end_block);
  if (devices.empty()) throw UsageError("line 1: no device in the description");
  return devices;
}

}  // namespace heddle::device
