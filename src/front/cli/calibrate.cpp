// `heddle profile calibrate`: teaches what predictions are made of before a program needs them. SKMD's schedule
// (section 4): sixteen parts of a launch on each device, at two sizes.
#include <chrono>
#include <fstream>
#include <iostream>
#include <numeric>
#include <set>
#include <sstream>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "bench/interrupt.hpp"
#include "core/errors.hpp"
#include "core/parameters.hpp"
#include "device/machine.hpp"
#include "engine/engine.hpp"
#include "front/cli/commands.hpp"
#include "front/cli/devices.hpp"
#include "front/cli/tune_arguments.hpp"
#include "kernel/compiler.hpp"
#include "predict/time_model.hpp"
#include "profile/printable.hpp"
#include "profile/store.hpp"
#include "workloads/workload.hpp"

namespace heddle::front::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int parts_of_launch = 16;
constexpr double too_long = 2, hopeless = 8;  // seconds of a launch; times as long as the best variant

struct Asked {
  std::string what;  // a workload or a file of OpenCL C
  std::string input;
  std::string kernel, options, grid, group;  // of a file
  std::vector<std::string> arguments;
};

struct Interrupted {};

template <class T>
T take(core::Result<T> result) {
  if (!result) throw core::UsageError(result.failure().what + "\n" + result.failure().log);
  return std::move(*result);
}

// Launches that are taught, with their memories.
class Lessons {
 public:
  Lessons(const Asked& asked, const core::Settings& settings, const device::Machine& machine, profile::Store& store)
      : compiler_(kernel::options_of(settings)), engine_(pointers(machine), options(store)) {
    const auto known = workloads::all();
    const auto at = std::find_if(known.begin(), known.end(), [&](const auto* w) { return w->name == asked.what; });
    if (at != known.end())
      prepare(asked, **at);
    else
      prepare(asked);
  }

  const std::string& name() const { return name_; }
  std::size_t sizes() const { return sizes_; }
  const std::vector<std::string>& variants() const { return variants_; }  // one without a name: it has none

  // What the next launches compute.
  std::string choose(std::size_t size) {
    memories_.clear();
    request_.arguments.clear();
    return workload_ ? fill_from_workload(size) : fill_from_words();
  }

  // Seconds of a launch in these parts; none where somebody could not take its part.
  std::optional<double> run(const std::string& variant, const std::vector<double>& parts) {
    request_.wishes.parts = parts;
    request_.wishes.initial = variant;
    request_.wishes.profiling = engine::Profiling::never;
    std::size_t meant = 0;
    for (double part : parts) meant += part > 0;
    for (int tries = 0; tries < 100; ++tries) {
      if (bench::stop_asked) throw Interrupted{};
      const auto begin = Clock::now();
      const auto launch = engine_.submit(request_);
      if (const auto status = engine_.wait(launch); !status)
        throw core::UsageError(status.failure().what + "\n" + status.failure().log);
      const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      if (!launch->undivided.empty())
        throw core::UsageError(fmt::format("'{}' cannot be cut: {}", name_, launch->undivided));
      std::set<std::string> worked;
      for (const engine::SliceReport& slice : engine_.report(*launch).slices) worked.insert(slice.device);
      if (worked.size() == meant) return seconds;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // others are still building
    }
    return std::nullopt;
  }

 private:
  static std::vector<device::Device*> pointers(const device::Machine& machine) {
    std::vector<device::Device*> out;
    for (const auto& device : machine.devices) out.push_back(device.get());
    return out;
  }
  engine::Options options(profile::Store& store) {
    engine::Options out{
        .analyse = [this](const auto& asked, const auto& forms) { return compiler_.analyse(asked, forms); }};
    out.store = &store;
    return out;
  }

  void prepare(const Asked& asked, const workloads::Workload& workload) {
    if (!asked.kernel.empty() || !asked.grid.empty() || !asked.arguments.empty())
      throw core::UsageError(
          fmt::format("--kernel, --grid and --arg are for kernel files; '{}' is a workload", asked.what));
    workload_ = &workload, name_ = workload.name;
    input_ = asked.input.empty() ? workload.inputs.front() : asked.input;
    if (std::find(workload.inputs.begin(), workload.inputs.end(), input_) == workload.inputs.end())
      throw core::UsageError(fmt::format("{} has no input '{}'; there are: {}", name_, input_,
                                         fmt::format("{}", fmt::join(workload.inputs, ", "))));
    std::vector<engine::VariantSource> sources;
    for (const core::Variant& v : workload.variants)
      sources.push_back({v.name, {v.entry, v.source, v.options}, v.group, v.footprint});
    request_.pool = take(engine_.make_pool(name_, sources));
    request_.kernel = request_.pool->variants.front().kernel;
    for (const engine::Variant& variant : request_.pool->variants) variants_.push_back(variant.name);
    sizes_ = 2;
  }

  void prepare(const Asked& asked) {
    std::ifstream in(asked.what);
    if (!in) throw core::UsageError("'" + asked.what + "' is neither a workload nor a file that can be read");
    std::ostringstream text;
    text << in.rdbuf();
    if (asked.kernel.empty()) throw core::UsageError("--kernel NAME: which function of " + asked.what + "?");
    if (asked.grid.empty()) throw core::UsageError("--grid X[,Y[,Z]]: how many work-items does the launch have?");
    name_ = asked.kernel;
    request_.items = parse_extents("--grid", asked.grid);
    if (!asked.group.empty()) request_.group = parse_extents("--group", asked.group);
    for (std::size_t a = 0; a < asked.arguments.size(); ++a)
      words_.push_back(parse_argument(asked.arguments[a], 1 + a));
    for (const ArgumentWord& word : words_) {
      if (word.kind == ArgumentWord::Kind::local)
        throw core::UsageError("local memory as an argument: such launches are not shared, and need no predictions");
    }
    request_.kernel = take(engine_.make_kernel({asked.kernel, text.str(), asked.options}));
    problem_ = asked.grid, variants_ = {""}, sizes_ = 1;
  }

  void add(const std::vector<std::byte>& bytes) {
    memories_.push_back(engine_.make_memory(bytes.size(), false));
    std::copy(bytes.begin(), bytes.end(), memories_.back()->host().bytes.begin());
    request_.arguments.emplace_back(engine::View{memories_.back(), 0, bytes.size()});
  }

  std::string fill_from_workload(std::size_t size) {
    const workloads::Instance instance =
        workloads::make(*workload_, size == 0 ? workloads::Size::normal : workloads::Size::medium, input_, 1);
    for (const workloads::Argument& a : instance.arguments) {
      if (a.scalar)
        request_.arguments.emplace_back(device::Scalar(a.bytes.begin(), a.bytes.end()));
      else
        add(a.bytes);
    }
    request_.items = instance.space.end, request_.dimensions = 3;
    return fmt::format("{}, {}", size == 0 ? "default" : "medium", input_);
  }

  std::string fill_from_words() {
    for (const ArgumentWord& word : words_) {
      if (word.kind == ArgumentWord::Kind::value)
        request_.arguments.emplace_back(device::Scalar(word.bytes.begin(), word.bytes.end()));
      else
        add(word.bytes);
    }
    request_.dimensions = 3;
    return problem_;
  }

  kernel::Compiler compiler_;
  engine::Engine engine_;
  const workloads::Workload* workload_ = nullptr;
  std::string name_, input_, problem_;
  std::vector<std::string> variants_;
  std::vector<ArgumentWord> words_;
  std::size_t sizes_ = 0;
  std::vector<std::shared_ptr<engine::Memory>> memories_;
  engine::Request request_;
};

// One device has its part, and its neighbour the rest.
std::vector<double> parts_for(std::size_t device, std::size_t devices, int part) {
  std::vector<double> out(devices, 0);
  out[device] = part;
  out[(device + 1) % devices] += parts_of_launch - part;
  for (double& one : out) one /= parts_of_launch;
  return out;
}

void teach(Lessons& lessons, std::size_t devices) {
  const bool terminal = isatty(STDERR_FILENO);
  std::set<std::string> left_out;
  for (std::size_t size = 0; size < lessons.sizes(); ++size) {
    const std::string problem = lessons.choose(size);
    std::optional<double> best;
    for (const std::string& variant : lessons.variants()) {
      if (left_out.count(variant)) continue;
      // Builds; then what all of it takes on the fastest device.
      std::optional<double> alone;
      for (std::size_t d = 0; d < devices; ++d) {
        lessons.run(variant, parts_for(d, devices, parts_of_launch));
        const auto again = lessons.run(variant, parts_for(d, devices, parts_of_launch));
        if (again) alone = std::min(*again, alone.value_or(*again));
      }
      const std::string what = variant.empty() ? lessons.name() : lessons.name() + " '" + variant + "'";
      if (!alone || *alone > too_long || (best && *alone > hopeless * *best)) {
        left_out.insert(variant);
        std::cerr << fmt::format(
            "{}, {}: left out, {}\n", what, problem,
            !alone ? "not every device runs it" : fmt::format("one launch takes {:.3g} s", *alone));
        continue;
      }
      best = std::min(*alone, best.value_or(*alone));
      int done = 0;
      for (std::size_t d = 0; d < devices; ++d) {
        for (int part = 1; part <= parts_of_launch; ++part) {
          lessons.run(variant, parts_for(d, devices, part));
          if (terminal)
            std::cerr << fmt::format("\r\033[K{}, {}: {} of {} launches", what, problem, ++done,
                                     static_cast<std::size_t>(parts_of_launch) * devices)
                      << std::flush;
        }
      }
      if (terminal) std::cerr << "\r\033[K" << std::flush;
    }
  }
}

// What predictions of this kernel are made of now.
std::string table(const profile::Contents& contents, const std::string& name, const device::Machine& machine) {
  std::string out = fmt::format("{:<16}  {:<12}  {:>7}  {:>12}  {:>12}  {:>10}  {:>8}\n", "VARIANT", "DEVICE",
                                "SAMPLES", "FROM POINTS", "TO POINTS", "NS/POINT", "ERROR");
  std::map<std::pair<std::string, std::string>, std::vector<predict::Observation>> seen;  // by variant and device
  for (const auto& [key, entry] : contents.records) {
    const auto named = contents.names.find(key.kernel);
    if (key.shape != engine::pace_shape || named == contents.names.end() || named->second != name) continue;
    const auto variables = engine::variables_in(key.parameters);
    for (const auto& [sample, when] : entry.samples) {
      if (variables && sample.duration.count() > 0)
        seen[{key.variant, key.device}].push_back(
            {static_cast<double>(sample.points), *variables, core::seconds(sample.duration)});
    }
  }
  for (const auto& [of, observations] : seen) {
    std::string device;
    for (const auto& one : machine.devices) {
      if (one->info().fingerprint == of.second) device += (device.empty() ? "" : " ") + one->info().id;
    }
    const auto model = predict::TimeModel::fit(observations);
    if (device.empty() || !model) continue;
    const auto [least, most] = std::minmax_element(observations.begin(), observations.end(),
                                                   [](const auto& a, const auto& b) { return a.points < b.points; });
    double error = 0;
    for (const predict::Observation& one : observations)
      error += std::abs(model->at(one.variables)(one.points) / one.seconds - 1);
    out += fmt::format("{:<16}  {:<12}  {:>7}  {:>12}  {:>12}  {:>10.4g}  {:>6.1f} %\n",
                       profile::printable(of.first.empty() ? "-" : of.first), profile::printable(device),
                       observations.size(), least->points, most->points,
                       1e9 * model->at(most->variables)(most->points) / most->points,
                       100 * error / static_cast<double>(observations.size()));
  }
  return out;
}

void calibrate(const Asked& asked, const Environment& environment) {
  const device::Machine machine = device::open_machine(environment.settings, environment.lookup);
  if (machine.devices.empty()) {
    complain_of_no_device(machine);
    environment.exit_code = 1;
    return;
  }
  if (machine.devices.size() < 2)
    throw core::UsageError(
        fmt::format("there is one device, '{}', and nobody to share with: predictions are for several. `heddle "
                    "devices` lists what HEDDLE_DEVICES can name; cpu/2 makes two devices of a CPU",
                    machine.devices.front()->info().id));
  profile::Store store(environment.settings.store);
  std::string name;
  bool interrupted = false;
  {
    bench::CatchInterrupt catching;
    Lessons lessons(asked, environment.settings, machine, store);
    name = lessons.name();
    try {
      teach(lessons, machine.devices.size());
    } catch (const Interrupted&) {
      interrupted = true;  // what was measured is kept
    }
  }
  if (!store.flush() && !environment.settings.store.empty())
    std::cerr << "heddle: the store could not be written; what was measured is not remembered\n";
  std::cout << table(store.read_aloud(), name, machine);
  if (interrupted) environment.exit_code = 130;
}

}  // namespace

void add_calibrate_command(CLI::App& profile, const Environment& environment) {
  CLI::App* command = profile.add_subcommand(
      "calibrate", "measure what predictions of a kernel are made of, before a program shares it over devices");
  command->footer(
      "Sixteen parts of a launch run on each device: of a workload at two sizes and in all variants, of a kernel in a\n"
      "file as --grid says. What was measured is kept, and programs that launch the same source on several devices\n"
      "begin with it. The table says what is known then; its error is how far a prediction of what was kept is off on\n"
      "average (what was as expected is not kept). Ctrl-C stops it and keeps what was measured.\n\n"
      "HEDDLE_DEVICES=cpu/2 heddle profile calibrate sobel\n"
      "heddle profile calibrate filter.cl --kernel blur --grid 4096,4096 --arg 'float[4096*4096]' \\\n"
      "    --arg 'float[4096*4096]' --arg int=4096");
  const auto asked = std::make_shared<Asked>();
  command->add_option("WHAT", asked->what, "A workload, or a file of OpenCL C")->required();
  command->add_option("--input", asked->input, "Of the workload's inputs");
  const char* file = "Kernel files";
  command->add_option("--kernel", asked->kernel, "Which function")->group(file);
  command->add_option("--options", asked->options, "For the compiler")->group(file);
  command->add_option("--grid", asked->grid, "Work-items of the launch: X[,Y[,Z]]")->group(file);
  command->add_option("--group", asked->group, "Work-items of a group: X[,Y[,Z]]; whatever fits if left out")
      ->group(file);
  command
      ->add_option("--arg", asked->arguments,
                   "One for each argument: float[COUNT], int[COUNT]=zero|random|ramp, int=VALUE")
      ->group(file)
      ->allow_extra_args(false);
  command->callback([asked, environment] {
    environment.exit_code = 0;
    calibrate(*asked, environment);
  });
}

}  // namespace heddle::front::cli
