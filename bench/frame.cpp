// Repetition, statistics and keeping of results; what is measured lives in the suites.
#include "bench/frame.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bench/interrupt.hpp"
#include "bench/suites.hpp"
#include "core/errors.hpp"
#include "core/log.hpp"

namespace heddle::bench {

namespace fs = std::filesystem;

namespace {

struct Interrupted {};

nlohmann::json to_json(const Row& row) {
  return {{"name", row.name}, {"device", row.device}, {"unit", row.unit},       {"median", row.median},
          {"low", row.low},   {"high", row.high},     {"samples", row.samples}, {"build_ms", row.build_ms}};
}

Row row_from_json(const nlohmann::json& j) {
  const auto number = [&](const char* name) {  // JSON has no infinity: what never happened is null
    return j.at(name).is_null() ? std::numeric_limits<double>::infinity() : j.at(name).get<double>();
  };
  return {j.at("name"),  j.at("device"), j.at("unit"),    number("median"),
          number("low"), number("high"), j.at("samples"), j.at("build_ms")};
}

std::string cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";  // Arm systems name no model there
}

nlohmann::json machine_json() {
  utsname name{};
  uname(&name);
  const std::time_t now = std::time(nullptr);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  return {{"system", std::string(name.sysname) + " " + name.release},
          {"architecture", name.machine},
          {"cpu", cpu_name()},
          {"cores", std::thread::hardware_concurrency()},
          {"date", date}};
}

// Finished shards of an interrupted run: the first line says of what, each further one holds a shard.
class Partial {
 public:
  Partial(std::string path, std::string identity, bool resume) : path_(std::move(path)) {
    if (path_.empty()) return;
    if (resume && read(identity)) return;
    std::ofstream(path_) << header(identity);
  }

  const std::vector<Row>* find(const std::string& shard) const {
    const auto found = done_.find(shard);
    return found == done_.end() ? nullptr : &found->second;
  }

  bool has_others(const std::vector<Shard>& shards) const {
    return std::any_of(done_.begin(), done_.end(), [&](const auto& done) {
      return std::none_of(shards.begin(), shards.end(), [&](const Shard& s) { return s.name == done.first; });
    });
  }

  void keep(const std::string& shard, const std::vector<Row>& rows) {
    if (path_.empty()) return;
    nlohmann::json line{{"shard", shard}, {"rows", nlohmann::json::array()}};
    for (const Row& row : rows) line["rows"].push_back(to_json(row));
    std::ofstream out(path_, std::ios::app);
    out << line.dump() << "\n";
    if (!out.flush()) core::log_once(core::LogLevel::warn, "bench: cannot keep finished parts in " + path_);
  }

 private:
  // Takes over what an earlier run of the same kind finished. The file is written anew from it: its last line may have
  // been cut short, and what is appended must not end up on that line.
  bool read(const std::string& identity) {
    std::ifstream in(path_);
    std::string line;
    try {
      if (!std::getline(in, line) || nlohmann::json::parse(line).at("of") != identity) return false;
      while (std::getline(in, line)) {
        const auto j = nlohmann::json::parse(line);
        std::vector<Row> rows;
        for (const auto& row : j.at("rows")) rows.push_back(row_from_json(row));
        done_[j.at("shard")] = std::move(rows);
      }
    } catch (const nlohmann::json::exception&) {
      // What stands before the broken line counts.
    }
    in.close();
    std::ofstream(path_) << header(identity);
    for (const auto& [shard, rows] : done_) keep(shard, rows);
    return true;
  }

  static std::string header(const std::string& identity) { return nlohmann::json{{"of", identity}}.dump() + "\n"; }

  std::string path_;
  std::map<std::string, std::vector<Row>> done_;
};

std::string figure(double value) {
  if (value == 0) return "0";
  if (std::isinf(value)) return "never";
  const double size = std::abs(value);
  if (size >= 1e6) return fmt::format("{:.3g}", value);
  return size >= 1000 ? fmt::format("{:.0f}", value)
         : size >= 10 ? fmt::format("{:.1f}", value)
                      : fmt::format("{:.3g}", value);
}

}  // namespace

Row summarise(std::string name, std::string device, std::string unit, std::vector<double> samples) {
  Row row{std::move(name), std::move(device), std::move(unit)};
  if (samples.empty()) return row;
  std::sort(samples.begin(), samples.end());
  const auto n = samples.size();
  row.samples = static_cast<int>(n);
  row.median = n % 2 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
  // Ranks j such that the interval from the j-th smallest to the j-th largest holds the median with 95 %: the number of
  // samples below it is binomial with p = 1/2.
  std::size_t rank = 0;
  if (n <= 1000) {
    double below = std::pow(0.5, static_cast<double>(n)), term = below;
    while (below <= 0.025 && rank < n / 2) {
      ++rank;
      term *= static_cast<double>(n - rank + 1) / static_cast<double>(rank);
      below += term;
    }
  } else {  // the powers of 1/2 become too small for a double; the normal distribution is as good by then
    rank = static_cast<std::size_t>(static_cast<double>(n) / 2 - 0.98 * std::sqrt(static_cast<double>(n)));
  }
  const std::size_t j = rank > 0 ? rank - 1 : 0;
  row.low = samples[j];
  row.high = samples[n - 1 - j];
  return row;
}

std::vector<Row> Context::interleave(const std::string& device, const std::vector<Case>& cases, int asked,
                                     const More& more) const {
  const int repetitions = options.repetitions > 0 ? std::min(options.repetitions, asked) : asked;
  std::vector<std::vector<double>> samples(cases.size());
  // Each begins in its turn, and every other round goes backwards: nobody always follows the same one.
  const auto round = [&](int r, const std::vector<std::size_t>& of) {
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (stop_asked) throw Interrupted{};
      const std::size_t place = r % 2 == 0 ? i : of.size() - 1 - i;
      const std::size_t k = of[(place + static_cast<std::size_t>(r / 2)) % of.size()];
      samples[k].push_back(cases[k].once());
    }
  };
  int r = 0;
  for (; r < repetitions; ++r) {
    std::vector<std::size_t> due;
    for (std::size_t k = 0; k < cases.size(); ++k) {
      const int fewer = (cases[k].samples * repetitions + asked - 1) / asked;
      const int wanted = cases[k].samples > 0 ? std::min(fewer, repetitions) : repetitions;
      if ((r + 1) * wanted / repetitions != r * wanted / repetitions) due.push_back(k);
    }
    round(r, due);
  }
  while (more && options.repetitions == 0) {
    const std::vector<std::size_t> again = more();
    if (again.empty()) break;
    round(r++, again);
  }
  std::vector<Row> rows;
  for (std::size_t k = 0; k < cases.size(); ++k)
    rows.push_back(summarise(cases[k].name, device, cases[k].unit, samples[k]));
  return rows;
}

const std::vector<Suite>& suites() {
  static const std::vector<Suite> all = {clock_suite(),  device_suite(),  dropin_suite(),   engine_suite(),
                                         forms_suite(),  kernelc_suite(), overhead_suite(), search_suite(),
                                         select_suite(), split_suite()};
  return all;
}

const Suite& find_suite(std::string_view name) {
  std::string known;
  for (const Suite& suite : suites()) {
    if (suite.name == name) return suite;
    known += (known.empty() ? "" : ", ") + suite.name;
  }
  throw core::UsageError(fmt::format("no suite '{}'; there are: {}", name, known));
}

namespace {

std::vector<Shard> shards_asked_for(const Suite& suite, Context& context) {
  std::vector<Shard> out;
  std::string known;
  for (Shard& shard : suite.shards(context)) {
    known += (known.empty() ? "" : ", ") + shard.name;
    if (shard.name.find(context.options.only) != std::string::npos) out.push_back(std::move(shard));
  }
  if (out.empty() && !context.options.only.empty())
    throw core::UsageError(fmt::format("no part of suite '{}' has '{}' in its name; there are: {}", suite.name,
                                       context.options.only, known));
  return out;
}

}  // namespace

Outcome run(const Suite& suite, Context& context) {
  Outcome out;
  const CatchInterrupt guard;
  nlohmann::json devices = nlohmann::json::array();
  const int repetitions = context.options.repetitions;
  std::string identity = suite.name + (context.options.quick ? " quick" : "");
  if (repetitions > 0) identity += fmt::format(" {} times", repetitions);
  for (const auto& device : context.machine.devices) {
    const device::Info& info = device->info();
    identity += " " + info.fingerprint;
    devices.push_back({{"id", info.id},
                       {"name", info.name},
                       {"driver", info.driver},
                       {"units", info.units},
                       {"fingerprint", info.fingerprint}});
  }
  const std::vector<Shard> shards = shards_asked_for(suite, context);
  Partial partial(context.options.partial, identity, context.options.resume);
  out.others_kept = partial.has_others(shards);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (context.options.progress) {
      context.options.progress(static_cast<double>(i) / static_cast<double>(shards.size()), shards[i].name);
    }
    if (const auto* rows = partial.find(shards[i].name)) {
      out.rows.insert(out.rows.end(), rows->begin(), rows->end());
      continue;
    }
    try {
      const std::vector<Row> rows = shards[i].run(context);
      partial.keep(shards[i].name, rows);
      out.rows.insert(out.rows.end(), rows.begin(), rows.end());
    } catch (const Failed& failed) {
      out.problems.push_back(shards[i].name + ": " + failed.failure.what);
    } catch (const Interrupted&) {
      out.interrupted = true;
      break;
    }
  }
  if (context.options.progress) context.options.progress(1, "");
  nlohmann::json rows = nlohmann::json::array();
  for (const Row& row : out.rows) rows.push_back(to_json(row));
  out.document = {
      {"suite", suite.name}, {"quick", context.options.quick},     {"machine", machine_json()}, {"devices", devices},
      {"rows", rows},        {"summary", suite.summary(out.rows)}, {"problems", out.problems}};
  if (repetitions > 0) out.document["repetitions"] = repetitions;
  if (!context.options.only.empty()) out.document["only"] = context.options.only;
  return out;
}

std::string table(const Outcome& outcome) {
  std::string out = fmt::format("{:<40} {:<8} {:>9}  {:<6} {:>19} {:>4}  {:>6}\n", "what", "device", "median", "unit",
                                "95 % interval", "n", "build");
  for (const Row& row : outcome.rows) {
    out += fmt::format("{:<40.40} {:<8.8} {:>9}  {:<6.6} {:>19} {:>4}  {:>6}\n", row.name, row.device,
                       figure(row.median), row.unit, figure(row.low) + " - " + figure(row.high), row.samples,
                       row.build_ms > 0 ? figure(row.build_ms) : "");
  }
  return out;
}

}  // namespace heddle::bench
