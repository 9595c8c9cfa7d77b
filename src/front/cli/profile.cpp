// The store as a person sees it: names where there are any, else the first digits of fingerprints.
#include "front/cli/profile.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <numeric>
#include <set>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "core/errors.hpp"
#include "profile/exchange.hpp"
#include "profile/store.hpp"

namespace heddle::front::cli {

namespace {

using core::SampleKey;
using core::UsageError;
using profile::Contents;
using profile::Entry;
using profile::Store;

// What the options of all five commands are read into.
struct Options {
  bool json = false, all = false;
  std::string kernel, device, file;
};

void print(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written) throw UsageError(fmt::format("standard output: {}", std::strerror(errno)));
}

std::string records(std::size_t number) { return fmt::format("{} record{}", number, number == 1 ? "" : "s"); }

std::string name_of(const Contents& contents, const std::string& fingerprint) {
  const auto named = contents.names.find(fingerprint);
  return named == contents.names.end() ? fingerprint.substr(0, 12) : named->second;
}

std::string nothing_yet(const core::Settings& settings) {
  if (settings.store.empty()) return "there is no profile store: HEDDLE_STORE=off, or no home folder\n";
  return fmt::format("nothing is stored yet in {}\n", settings.store);
}

// All fingerprints that a person can mean: by name, which several versions of a kernel may share, or by its first
// digits, which must be enough to tell it from others.
std::vector<std::string> fingerprints(const Contents& contents, std::string SampleKey::*part, const std::string& what,
                                      const std::string& text) {
  std::set<std::string> all, named, begun;
  for (const auto& [key, entry] : contents.records) all.insert(key.*part);
  for (const std::string& fingerprint : all) {
    if (fingerprint == text) return {fingerprint};
    if (!text.empty() && fingerprint.rfind(text, 0) == 0) begun.insert(fingerprint);
    if (contents.names.count(fingerprint) && contents.names.at(fingerprint) == text) named.insert(fingerprint);
  }
  if (!named.empty()) return {named.begin(), named.end()};
  if (begun.size() > 1) {
    throw UsageError(fmt::format("{} '{}' can be any of {}", what, text, fmt::join(begun, ", ")));
  }
  if (begun.empty()) {
    throw UsageError(fmt::format("no {} '{}' in the store; `heddle profile list` shows what there is", what, text));
  }
  return {begun.begin(), begun.end()};
}

// Rows of text in at most 100 columns, the widest cut first. The last three columns are numbers and stay whole.
std::string table(const std::vector<std::array<std::string, 8>>& rows) {
  constexpr std::size_t most = 100, columns = 8, numbers = 3, gap = 2;
  std::array<std::size_t, columns> widths{};
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < columns; ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  while (std::accumulate(widths.begin(), widths.end(), gap * (columns - 1)) > most) {
    --*std::max_element(widths.begin(), widths.end() - numbers);
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < columns; ++c) {
      const bool cut = row[c].size() > widths[c];
      const std::string cell = cut ? fmt::format("{:.{}}..", row[c], widths[c] - 2) : row[c];
      line += c + numbers < columns ? fmt::format("{:<{}}", cell, widths[c]) : fmt::format("{:>{}}", cell, widths[c]);
      if (c + 1 < columns) line += std::string(gap, ' ');
    }
    out += line + "\n";
  }
  return out;
}

std::string list_as_json(const Contents& contents) {
  nlohmann::json out = nlohmann::json::array();
  for (const auto& [key, entry] : contents.records) {
    out.push_back({{"kernel", key.kernel},
                   {"kernel_name", name_of(contents, key.kernel)},
                   {"variant", key.variant},
                   {"parameters", key.parameters},
                   {"device", key.device},
                   {"device_name", name_of(contents, key.device)},
                   {"shape", key.shape},
                   {"count", entry.aggregate.count},
                   {"median_ns_per_point", entry.record().median()},
                   {"failures", entry.aggregate.failures}});
  }
  return out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string time_per_point(double nanoseconds) { return fmt::format("{:.4g}", nanoseconds); }

void list(const core::Settings& settings, const Options& options) {
  const Contents contents = Store(settings.store).read();
  if (options.json) return print(list_as_json(contents));
  if (contents.records.empty()) return print(nothing_yet(settings));
  std::vector<std::array<std::string, 8>> rows{
      {"KERNEL", "VARIANT", "PARAMETERS", "DEVICE", "SHAPE", "N", "NS/POINT", "FAILED"}};
  for (const auto& [key, entry] : contents.records) {
    rows.push_back({name_of(contents, key.kernel), key.variant, key.parameters, name_of(contents, key.device),
                    key.shape, std::to_string(entry.aggregate.count),
                    entry.samples.empty() ? "-" : time_per_point(entry.record().median()),
                    std::to_string(entry.aggregate.failures)});
  }
  print(table(rows));
}

std::string description(const Contents& contents, const SampleKey& key, const Entry& entry) {
  const core::Aggregate& a = entry.aggregate;
  std::string out =
      fmt::format("variant     {}\nparameters  {}\ndevice      {}\nshape       {}\n", key.variant,
                  key.parameters.empty() ? "-" : key.parameters, name_of(contents, key.device), key.shape);
  if (a.count) {
    out += fmt::format("ns/point    median {:.4g}, mean {:.4g}, deviation {:.2g}, least {:.4g}, most {:.4g} of {}\n",
                       entry.record().median(), a.mean, std::sqrt(a.variance()), a.least, a.most, a.count);
  }
  for (const auto& [kind, times] : entry.failures) {
    out += fmt::format("failed      {} x {}\n", times, core::to_string(kind));
  }
  if (!entry.samples.empty()) {
    out += fmt::format("  {:19}  {:>14}  {:>14}  {:>10}  {:>12}  {:>12}  {:>6}\n", "WHEN (UTC)", "POINTS", "NS",
                       "NS/POINT", "BYTES IN", "BYTES OUT", "CPU");
  }
  for (const auto& [s, when] : entry.samples) {
    const auto second = static_cast<std::time_t>(when.count() / 1000);
    out += fmt::format("  {:%Y-%m-%d %H:%M:%S}  {:>14}  {:>14}  {:>10.4g}  {:>12}  {:>12}  {:>6.2f}\n",
                       fmt::gmtime(second), s.points, s.duration.count(),
                       static_cast<double>(s.duration.count()) / static_cast<double>(s.points), s.bytes_in, s.bytes_out,
                       s.contention);
  }
  return out;
}

void show(const core::Settings& settings, const Options& options) {
  const Contents contents = Store(settings.store).read();
  std::string out;
  for (const std::string& kernel : fingerprints(contents, &SampleKey::kernel, "kernel", options.kernel)) {
    const bool named = contents.names.count(kernel) > 0;
    out += fmt::format("{}kernel {}{}\n", out.empty() ? "" : "\n", kernel,
                       named ? fmt::format(" ({})", contents.names.at(kernel)) : "");
    for (const auto& [key, entry] : contents.records) {
      if (key.kernel == kernel) out += "\n" + description(contents, key, entry);
    }
  }
  print(out);
}

// Whole or not at all: into a new file beside it, which then takes its place.
void write_file(const std::string& given, const std::string& text) {
  std::error_code none;
  const auto target = std::filesystem::canonical(given, none);  // a link stays a link
  const std::string path = none ? given : target.string();
  if (std::filesystem::is_directory(path, none)) throw UsageError(fmt::format("{}: is a folder", given));
  const bool in_place = std::filesystem::exists(path, none) && !std::filesystem::is_regular_file(path, none);
  const std::string temporary = in_place ? path : fmt::format("{}.{}.tmp", path, ::getpid());
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CLOEXEC | (in_place ? 0 : O_CREAT | O_EXCL), 0666);
  if (file < 0) throw UsageError(fmt::format("{}: {}", given, std::strerror(errno)));
  int error = 0;
  for (std::size_t written = 0; written < text.size() && !error;) {
    const ssize_t n = ::write(file, text.data() + written, text.size() - written);
    if (n < 0 && errno != EINTR) error = errno;
    if (n > 0) written += static_cast<std::size_t>(n);
  }
  if (!error && !in_place && ::fsync(file) != 0) error = errno;
  if (::close(file) != 0 && !error) error = errno;
  if (!error && !in_place && std::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (!error) return;
  if (!in_place) ::unlink(temporary.c_str());
  throw UsageError(fmt::format("{}: {}", given, std::strerror(error)));
}

void export_to(const core::Settings& settings, const Options& options) {
  const Contents contents = Store(settings.store).read();
  const std::string text = profile::to_json(contents);
  if (options.file == "-") return print(text);
  write_file(options.file, text);
  print(fmt::format("{} written to {}\n", records(contents.records.size()), options.file));
}

std::string read_all(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) throw UsageError(fmt::format("{}: is a folder", path));
  std::ifstream in(path, std::ios::binary);
  if (!in) throw UsageError(fmt::format("{}: {}", path, std::strerror(errno)));
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) throw UsageError(fmt::format("{}: {}", path, std::strerror(errno)));
  return text;
}

void import_from(const core::Settings& settings, const Options& options) {
  const std::string source = options.file == "-" ? "standard input" : options.file;
  const Contents contents = profile::from_json(read_all(options.file), source);
  Store(settings.store).merge(contents);
  print(records(contents.records.size()) + " imported\n");
}

void forget(const core::Settings& settings, const Options& options) {
  const bool some = !options.kernel.empty() || !options.device.empty();
  if (some == options.all) throw UsageError("forget what? Say --kernel, --device or both, or --all");
  Store store(settings.store);
  const Contents contents = store.read();
  if (contents.empty() && options.all) return print(nothing_yet(settings));
  std::vector<std::string> kernels{""}, devices{""};  // empty: any
  if (!options.kernel.empty()) kernels = fingerprints(contents, &SampleKey::kernel, "kernel", options.kernel);
  if (!options.device.empty()) devices = fingerprints(contents, &SampleKey::device, "device", options.device);
  std::int64_t forgotten = 0;
  for (const std::string& kernel : kernels) {
    for (const std::string& device : devices) forgotten += store.forget({kernel, device});
  }
  print(records(static_cast<std::size_t>(forgotten)) + " forgotten\n");
}

}  // namespace

void add_profile_command(CLI::App& app, const core::Settings& settings, int& exit_code) {
  CLI::App* profile = app.add_subcommand("profile", "what was measured: list, show, export, import, forget");
  profile->require_subcommand(1);
  const auto options = std::make_shared<Options>();  // shared: each command's callback outlives this function

  using Command = void (*)(const core::Settings&, const Options&);
  const auto command = [&](const char* name, const char* help, Command body) {
    CLI::App* sub = profile->add_subcommand(name, help);
    sub->callback([options, body, &settings, &exit_code] {
      body(settings, *options);
      exit_code = 0;
    });
    return sub;
  };

  CLI::App* sub = command("list", "one line for each kernel, variant, parameters, device and shape", list);
  sub->add_flag("--json", options->json, "as JSON, with whole fingerprints");

  sub = command("show", "everything about one kernel, with its newest samples", show);
  sub->add_option("KERNEL", options->kernel, "its name, or the first digits of its fingerprint")->required();

  options->file = "-";
  sub = command("export", "write everything as JSON", export_to);
  sub->add_option("FILE", options->file, "a file, which is replaced only once all is written; - is standard output")
      ->capture_default_str();

  sub =
      command("import",
              "add an exported file to what is stored, all of it or, where anything in it is wrong, nothing. The same "
              "file imported twice counts twice",
              import_from);
  sub->add_option("FILE", options->file, "a file; - is standard input")->required();

  sub = command("forget", "forget what was measured", forget);
  sub->add_option("--kernel", options->kernel, "of this kernel: its name, or the first digits of its fingerprint");
  sub->add_option("--device", options->device, "on this device: the same");
  sub->add_flag("--all", options->all, "everything");
}

}  // namespace heddle::front::cli
