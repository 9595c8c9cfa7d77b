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
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <set>

#include <CLI/CLI.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "front/cli/commands.hpp"
#include "profile/exchange.hpp"
#include "profile/printable.hpp"
#include "profile/store.hpp"

namespace heddle::front::cli {

namespace {

using core::SampleKey;
using core::UsageError;
using profile::Contents;
using profile::Entry;
using profile::printable;
using profile::Store;
using profile::width;

// What the options of all five commands are read into.
struct Options {
  bool json = false, all = false;
  std::optional<std::string> kernel, device;
  std::string file;
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
    throw UsageError(
        fmt::format("{} '{}' can be any of {}", what, text, printable(fmt::format("{}", fmt::join(begun, ", ")))));
  }
  if (begun.empty()) {
    throw UsageError(fmt::format("no {} '{}' in the store; `heddle profile list` shows what there is", what, text));
  }
  return {begun.begin(), begun.end()};
}

// Rows of text in at most 100 columns, the widest cut first. The last three columns are numbers and stay whole.
std::string table(std::vector<std::array<std::string, 8>> rows) {
  constexpr std::size_t most = 100, columns = 8, numbers = 3, gap = 2;
  std::array<std::size_t, columns> widths{};
  for (auto& row : rows) {
    for (std::size_t c = 0; c < columns; ++c) {
      row[c] = printable(row[c]);
      widths[c] = std::max(widths[c], width(row[c]));
    }
  }
  while (std::accumulate(widths.begin(), widths.end(), gap * (columns - 1)) > most) {
    --*std::max_element(widths.begin(), widths.end() - numbers);
  }
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < columns; ++c) {
      const std::string cell = profile::cut(row[c], widths[c]), room(widths[c] - width(cell), ' ');
      out += c + numbers < columns ? cell + room : room + cell;
      out += c + 1 < columns ? std::string(gap, ' ') : "\n";
    }
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
  const Contents contents = Store(settings.store).read_aloud();
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
  std::string out = fmt::format("variant     {}\nparameters  {}\ndevice      {}\nshape       {}\n",
                                printable(key.variant), key.parameters.empty() ? "-" : printable(key.parameters),
                                printable(name_of(contents, key.device)), printable(key.shape));
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

Contents only(const std::vector<std::string>& kernels, const Contents& contents) {
  Contents out;
  for (const auto& [key, entry] : contents.records) {
    if (std::find(kernels.begin(), kernels.end(), key.kernel) == kernels.end()) continue;
    out.records[key] = entry;
    for (const std::string& fingerprint : {key.kernel, key.device}) {
      const auto named = contents.names.find(fingerprint);
      if (named != contents.names.end()) out.names.insert(*named);
    }
  }
  return out;
}

void show(const core::Settings& settings, const Options& options) {
  const Contents contents = Store(settings.store).read_aloud();
  const auto kernels = fingerprints(contents, &SampleKey::kernel, "kernel", *options.kernel);
  if (options.json) return print(profile::to_json(only(kernels, contents)));
  std::string out;
  for (const std::string& kernel : kernels) {
    const bool named = contents.names.count(kernel) > 0;
    out += fmt::format("{}kernel {}{}\n", out.empty() ? "" : "\n", printable(kernel),
                       named ? fmt::format(" ({})", printable(contents.names.at(kernel))) : "");
    for (const auto& [key, entry] : contents.records) {
      if (key.kernel == kernel) out += "\n" + description(contents, key, entry);
    }
  }
  print(out);
}

void export_to(const core::Settings& settings, const Options& options) {
  const Contents contents = Store(settings.store).read_aloud();
  const std::string text = profile::to_json(contents);
  if (options.file == "-") return print(text);
  write_file(options.file, text, 0600);  // what runs on a machine is its owner's business
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
  if ((options.kernel || options.device) == options.all) {
    throw UsageError("forget what? Say --kernel, --device or both, or --all");
  }
  Store store(settings.store);
  std::error_code unknown;
  const bool absent = !std::filesystem::exists(settings.store, unknown) && !unknown;
  if (options.all && absent && !settings.store.empty()) return print(nothing_yet(settings));
  std::vector<std::optional<std::string>> kernels{std::nullopt}, devices{std::nullopt};  // any
  if (!options.all) {                                                                    // all can be forgotten unread
    const Contents contents = store.read_aloud();
    const auto choose = [&](auto& chosen, auto part, const char* what, const std::optional<std::string>& text) {
      if (!text) return;
      const auto found = fingerprints(contents, part, what, *text);
      chosen.assign(found.begin(), found.end());
    };
    choose(kernels, &SampleKey::kernel, "kernel", options.kernel);
    choose(devices, &SampleKey::device, "device", options.device);
  }
  std::int64_t forgotten = 0;
  for (const auto& kernel : kernels) {
    for (const auto& device : devices) forgotten += store.forget({kernel, device});
  }
  print(records(static_cast<std::size_t>(forgotten)) + " forgotten\n");
}

}  // namespace

void add_profile_command(CLI::App& app, const core::Settings& settings, int& exit_code) {
  CLI::App* profile = app.add_subcommand(
      "profile", "what was measured: list, show, export, import, forget; and measuring for predictions: calibrate");
  profile->require_subcommand(1);
  const auto options = std::make_shared<Options>();  // shared: each command's callback outlives this function

  using Choice = std::function<void(const std::string&)>;
  using Command = void (*)(const core::Settings&, const Options&);
  const auto command = [&](const char* name, const char* help, Command body) {
    CLI::App* sub = profile->add_subcommand(name, help);
    sub->callback([options, body, &settings, &exit_code] {
      body(settings, *options);
      exit_code = 0;
    });
    return sub;
  };

  // An empty value is a variable that was not set: it must not mean every kernel, or one without a fingerprint.
  const auto chosen = [](const char* what, std::optional<std::string>& into) -> Choice {
    return [what, &into](const std::string& text) {
      if (text.empty()) throw UsageError(fmt::format("which {}? An empty name was given", what));
      into = text;
    };
  };

  CLI::App* sub = command("list", "one line for each kernel, variant, parameters, device and shape", list);
  sub->add_flag("--json", options->json, "as JSON, with whole fingerprints");

  sub = command("show", "everything about one kernel, with its newest samples", show);
  sub->add_option_function("KERNEL", chosen("kernel", options->kernel),
                           "its name, or the first digits of its fingerprint")
      ->required();
  sub->add_flag("--json", options->json, "as JSON, in the form that import takes");

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
  sub->add_option_function("--kernel", chosen("kernel", options->kernel),
                           "of this kernel: its name, or the first digits of its fingerprint");
  sub->add_option_function("--device", chosen("device", options->device), "on this device: the same");
  sub->add_flag("--all", options->all, "everything");
}

}  // namespace heddle::front::cli
