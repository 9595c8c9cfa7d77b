// `heddle analyze FILE.cl`: what the kernel compiler knows about each kernel of a source, for a person or a program.
#include <filesystem>
#include <fstream>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/answers.hpp"
#include "core/schedule.hpp"
#include "front/cli/commands.hpp"
#include "front/cli/formula.hpp"
#include "kernel/compiler.hpp"

namespace heddle::front::cli {

namespace {

struct Request {
  std::string file;
  std::vector<std::string> options;
  bool json = false;
  std::string emit;
};

std::string text_of(const std::string& file) {
  if (file == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream in(file, std::ios::binary);
  if (!in || std::filesystem::is_directory(file)) throw core::UsageError(file + " cannot be read");
  return {std::istreambuf_iterator<char>(in), {}};
}

// As one text, the way that clBuildProgram takes them.
std::string joined(const std::vector<std::string>& options) {
  std::string out;
  for (const std::string& option : options) {
    const bool plain = option.find_first_of(" \t\"'\\") == std::string::npos;
    std::string word;
    for (char c : option) {
      if (!plain && (c == '"' || c == '\\')) word += '\\';
      word += c;
    }
    out += (out.empty() ? "" : " ") + (plain ? word : "\"" + word + "\"");
  }
  return out;
}

// A launch to judge a kernel by: ranges need one, and most kernels are alike at all sizes.
struct Example {
  core::Grid grid;
  std::vector<std::vector<std::byte>> scalars;
  std::string words;
};

Example example_of(const core::KernelFacts& facts) {
  Example out;
  int dimensions = 1;
  for (const core::Symbol& s : facts.symbols) {
    if (s.kind == core::SymbolKind::group_id || s.kind == core::SymbolKind::local_id)
      dimensions = std::max(dimensions, s.index + 1);
  }
  const core::Index locals[] = {{64, 1, 1}, {16, 16, 1}, {8, 8, 4}};
  out.grid.local = locals[dimensions - 1];
  if (!facts.required_group.empty())
    std::copy(facts.required_group.begin(), facts.required_group.end(), out.grid.local.begin());
  for (int d = 0; d < dimensions; ++d) out.grid.groups[static_cast<std::size_t>(d)] = 8;
  out.grid.dimensions = dimensions;
  const std::int64_t number = 8 * out.grid.local[0];
  for (const core::ArgumentFacts& a : facts.arguments) {
    std::vector<std::byte> bytes(a.space == core::AddressSpace::value ? a.size : 0);
    const std::size_t width = std::min<std::size_t>(bytes.size(), 4);
    for (std::size_t at = 0; width == 4 && at + 4 <= bytes.size(); at += bytes.size() == 8 ? 8 : 4) {
      for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<std::byte>(number >> (8 * i));
    }
    out.scalars.push_back(std::move(bytes));
  }
  const auto extents = [&](const core::Index& i) {
    std::string text = std::to_string(i[0]);
    for (int d = 1; d < dimensions; ++d) text += " x " + std::to_string(i[static_cast<std::size_t>(d)]);
    return text;
  };
  out.words = fmt::format("{} groups of {}, integers {}", extents(out.grid.groups), extents(out.grid.local), number);
  return out;
}

void print_accesses(const core::KernelFacts& facts, const core::AccessKind kind, const char* verb, std::string& out) {
  std::vector<std::string> seen;
  for (const core::AccessFacts& access : facts.accesses) {
    if (access.kind != kind) continue;
    std::string line = fmt::format("    {} {}", verb, readable(facts, access));
    if (kind == core::AccessKind::atomic)
      line += fmt::format(" by atomic {}{}", access.operation, access.result_used ? ", result used" : "");
    else if (!access.operation.empty())
      line += " by " + access.operation;
    std::vector<std::string> conditions;
    for (const core::Guard& guard : access.guards) conditions.push_back(readable(facts, guard));
    if (!conditions.empty()) line += fmt::format(" where {}", fmt::join(conditions, ", "));
    if (std::find(seen.begin(), seen.end(), line) != seen.end()) continue;
    seen.push_back(line);
    out += line + "\n";
  }
}

// All of them where they fit into a line or two.
std::string schedules(const core::KernelFacts& facts) {
  const auto orders = core::orders_of(facts.nest);
  if (orders.empty()) return "none, " + facts.nest.refused;
  if (orders.size() > 24) return fmt::format("{}, {} to {}", orders.size(), orders.front(), orders.back());
  return fmt::format("{}", fmt::join(orders, " "));
}

std::string report(const core::KernelFacts& facts) {
  std::string out = fmt::format("kernel {}\n  arguments\n", facts.name);
  for (const core::ArgumentFacts& a : facts.arguments)
    out += fmt::format("    {:<16} {:<9} {}\n", a.name, to_string(a.space), a.type);
  if (!facts.required_group.empty()) out += fmt::format("  group: {}\n", fmt::join(facts.required_group, " x "));
  out += "  memory, per work-item\n";
  print_accesses(facts, core::AccessKind::read, "reads  ", out);
  print_accesses(facts, core::AccessKind::write, "writes ", out);
  print_accesses(facts, core::AccessKind::atomic, "updates", out);
  for (std::size_t i = 0; i < facts.loops.size(); ++i) {
    const core::LoopFacts& loop = facts.loops[i];
    out += fmt::format("    i{} counts {}\n", i,
                       loop.last                 ? "0 to " + readable(facts, *loop.last)
                       : loop.while_at_most_zero ? "while " + readable(facts, core::Guard{core::GuardKind::at_most_zero,
                                                                                          *loop.while_at_most_zero})
                                                 : "nobody knows how far");
  }
  out += fmt::format("  work: {}\n", core::uniform_work(facts) ? "uniform" : "differs between groups");
  const auto effects = core::side_effects(facts);
  out += fmt::format("  side effects: {}\n", effects.empty() ? "none" : fmt::format("{}", fmt::join(effects, "; ")));
  if (!facts.obstacles.empty()) return out + fmt::format("  cannot be cut: {}\n", fmt::join(facts.obstacles, "; "));
  out += fmt::format("  can be cut: {}\n",
                     core::offset_is_enough(facts) ? "by a global offset, as it is" : "in box form (--emit box)");
  out += "  schedules: " + schedules(facts) + "\n";

  const Example example = example_of(facts);
  const core::BoundKernel bound(facts, example.grid, example.scalars);
  const core::Box all{{0, 0, 0}, example.grid.groups};
  const auto axis = core::best_axis(bound, all);
  const std::string order = core::order_of_least_strides(facts, example.grid, example.scalars);
  const core::Box half = axis ? core::cut(all, *axis, 4).first : all;
  const auto touched = bound.touched(half);
  out += fmt::format("  as an example, {}:\n", example.words);
  if (axis) out += fmt::format("    best cut along {}\n", "xyz"[*axis]);
  if (!order.empty()) out += fmt::format("    schedule of least strides: {}\n", order);
  for (std::size_t i = 0; i < touched.size(); ++i) {
    for (const auto& [verb, ranges] : {std::pair("reads", &touched[i].read), std::pair("writes", &touched[i].written),
                                       std::pair("updates", &touched[i].updated)}) {
      if (ranges->none()) continue;
      const std::string pieces = ranges->certainty == core::Certainty::unknown
                                     ? "anything"
                                     : fmt::format("{} piece{}", ranges->pieces(), ranges->pieces() == 1 ? "" : "s");
      out += fmt::format("    {:<16} {:<8} {:<8} {}\n", facts.arguments[i].name, verb, to_string(ranges->certainty),
                         pieces);
    }
    const core::Merge merge = core::merge_of(bound, i, half);
    if (merge != core::Merge::nothing)
      out += fmt::format("    {:<16} merged by: {}\n", facts.arguments[i].name, to_string(merge));
  }
  return out;
}

nlohmann::json with_answers(const core::ProgramFacts& facts) {
  auto out = nlohmann::json::parse(core::to_json(facts));
  for (std::size_t i = 0; i < facts.kernels.size(); ++i) {
    const core::KernelFacts& k = facts.kernels[i];
    out["kernels"][i]["answers"] = {{"uniform", core::uniform_work(k)},
                                    {"side_effects", core::side_effects(k)},
                                    {"can_be_cut", k.obstacles.empty()},
                                    {"schedules", core::orders_of(k.nest)},
                                    {"offset_is_enough", core::offset_is_enough(k)}};
  }
  return out;
}

void analyze(const Request& request, const Environment& environment) {
  kernel::Compiler compiler(kernel::options_of(environment.settings));
  kernel::Source source{text_of(request.file), joined(request.options), {}};
  // Drivers are only given the text, but a person expects what lies beside a file to be found.
  if (request.file != "-") {
    const auto folder = std::filesystem::absolute(request.file).parent_path().string();
    source.options += (source.options.empty() ? "" : " ") + joined({"-I", folder});
  }
  std::vector<std::string> forms;
  if (!request.emit.empty()) forms.push_back(request.emit);
  const auto analysis = compiler.analyse(source, forms, true);
  if (!analysis) {
    const core::Failure& failure = analysis.failure();
    std::cerr << "heddle: " << (request.file == "-" ? "standard input" : request.file) << ": " << failure.what << "\n"
              << failure.log;
    environment.exit_code = 1;
    return;
  }
  if (!request.emit.empty()) {
    const kernel::Form& form = analysis.value().forms.at(request.emit);
    if (form.refused.empty()) {
      std::cout << form.source;
    } else {
      std::cerr << "heddle: " << request.file << ": " << form.refused << "\n";
      environment.exit_code = 1;
    }
  } else if (request.json) {
    std::cout << with_answers(analysis.value().facts).dump(2) << "\n";
  } else {
    std::string out;
    for (const core::KernelFacts& k : analysis.value().facts.kernels) out += (out.empty() ? "" : "\n") + report(k);
    std::cout << (out.empty() ? "no kernels\n" : out);
  }
}

}  // namespace

void add_analyze_command(CLI::App& app, const Environment& environment) {
  CLI::App* command =
      app.add_subcommand("analyze", "Say what the kernels of a source read, write, and how they can be cut");
  command->footer(
      "In formulas: x, y, z global ids; gx, lx, sx, nx group id, local id, group size, number of groups; i0, i1 loop\n"
      "counters; data what is loaded. exact: these bytes and no others; may: no others; unknown: any byte.\n"
      "Schedules: dimensions and loops from the outermost to the innermost; --emit schedule:KERNEL:y0x:16x16x1.\n"
      "Build options stand after --: heddle analyze FILE.cl -- -DN=8 -cl-std=CL2.0");
  auto request = std::make_shared<Request>();
  command->add_option("file", request->file, "OpenCL C source; - for standard input")->required();
  command->add_option("options", request->options, "Build options, after --");
  command->add_flag("--json", request->json, "Print all facts for programs");
  command
      ->add_option("--emit", request->emit,
                   "Print a rewritten source instead: box, window, merge, clock, schedule:sgemm:y0x:16x16x1")
      ->check([](const std::string& form) {
        const bool known =
            form == "box" || form == "window" || form == "merge" || form == "clock" || core::schedule_of(form);
        return known ? "" : "'" + form + "' is none of box, window, merge, clock, schedule:KERNEL:ORDER:TILE";
      });
  command->callback([=] { analyze(*request, environment); });
}

}  // namespace heddle::front::cli
