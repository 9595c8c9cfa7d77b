// `heddle devices`: what there is to compute on.
#include "front/cli/devices.hpp"

#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "device/facts.hpp"
#include "front/cli/commands.hpp"

namespace heddle::front::cli {

namespace {

std::string size_text(core::Bytes bytes) {
  return bytes >= (1ull << 30) ? fmt::format("{:.0f} GB", static_cast<double>(bytes) / (1 << 30))
                               : fmt::format("{:.0f} MB", static_cast<double>(bytes) / (1 << 20));
}

std::string clock_text(const device::Clock& clock) {
  const char* source = clock.source == device::Clock::Source::event ? "event" : "host";
  return fmt::format("{} {} ns", source, clock.resolution.count());
}

nlohmann::json to_json(const device::Info& info, const core::Result<device::Facts>& facts) {
  nlohmann::json out = {{"id", info.id},
                        {"name", info.name},
                        {"vendor", info.vendor},
                        {"driver", info.driver},
                        {"kind", to_string(info.kind)},
                        {"units", info.units},
                        {"memory", info.memory},
                        {"largest_buffer", info.largest_buffer},
                        {"local_memory", info.local_memory},
                        {"cache", info.cache},
                        {"largest_group", info.largest_group},
                        {"memory_space", info.space},
                        {"shares_host_memory", info.space == device::host_memory},
                        {"fp64", info.fp64},
                        {"parent", info.parent},
                        {"fingerprint", info.fingerprint}};
  if (!facts) {
    out["problem"] = facts.failure().what;
    return out;
  }
  const device::Facts& f = facts.value();
  out["clock"] = {{"source", f.clock.source == device::Clock::Source::event ? "event" : "host"},
                  {"resolution_ns", f.clock.resolution.count()},
                  {"noise_ns", f.clock.noise.count()}};
  out["disturbed"] = f.disturbed;
  out["launch_us"] = core::seconds(f.launch) * 1e6;
  out["back_to_back_us"] = core::seconds(f.back_to_back) * 1e6;
  out["memory_gb_per_s"] = f.memory_rate / 1e9;
  out["copy_engines"] = f.copy_engines;
  out["copies_gb_per_s"] = {{"in_pageable", f.in_pageable / 1e9},
                            {"in_locked", f.in_locked / 1e9},
                            {"out_pageable", f.out_pageable / 1e9},
                            {"out_locked", f.out_locked / 1e9},
                            {"both_locked", f.both_locked / 1e9}};
  return out;
}

}  // namespace

MeasuredFacts facts_of_all(device::Machine& machine, const core::Settings& settings) {
  MeasuredFacts out;
  for (auto& d : machine.devices) {
    out.push_back(device::facts_of(*d, settings.cache.empty() ? "" : settings.cache + "/devices"));
  }
  return out;
}

void complain_of_no_device(const device::Machine& machine) {
  std::cerr << "heddle: no OpenCL device can be used"
            << (machine.problems.empty() ? "; Debian's package pocl-opencl-icd makes one of the CPU\n" : "\n");
}

std::string device_table(const device::Machine& machine, const MeasuredFacts& facts) {
  std::string out = fmt::format("{:<11} {:<28} {:>5} {:>7} {:>6} {:>10} {:>10} {:>13}\n", "id", "name", "units",
                                "memory", "space", "rate GB/s", "launch us", "clock");
  bool disturbed = false;
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const device::Info& info = machine.devices[i]->info();
    const std::string space = info.space == device::host_memory ? "host" : "own " + std::to_string(info.space);
    out += fmt::format("{:<11} {:<28.28} {:>5} {:>7} {:>6} ", info.id, info.name, info.units, size_text(info.memory),
                       space);
    if (!facts[i]) {
      out += "cannot be measured: " + facts[i].failure().what + "\n";
      continue;
    }
    const device::Facts& f = facts[i].value();
    disturbed = disturbed || f.disturbed;
    out +=
        fmt::format("{:>10} {:>10.1f} {:>13}\n", fmt::format("{:.1f}{}", f.memory_rate / 1e9, f.disturbed ? "*" : ""),
                    core::seconds(f.launch) * 1e6, clock_text(f.clock));
    if (f.copy_engines > 0) {
      out += fmt::format(
          "            copies GB/s: in {:.1f} (locked {:.1f}), out {:.1f} (locked {:.1f}), both ways {:.1f}\n",
          f.in_pageable / 1e9, f.in_locked / 1e9, f.out_pageable / 1e9, f.out_locked / 1e9, f.both_locked / 1e9);
    }
  }
  return out + (disturbed ? "* the cores were busy with something else meanwhile; measured again next time\n" : "");
}

void add_devices_command(CLI::App& app, const Environment& environment) {
  CLI::App* command = app.add_subcommand("devices", "List the devices, with what was measured of them");
  command->footer(
      "rate: memory rate of a vector addition. launch: one group, start to end. clock: which one is used for timing,\n"
      "and its resolution. The first call measures each device, for a second or two; later ones remember.");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print {\"devices\":[...]} for programs");
  command->callback([=] {
    device::Machine machine = device::open_machine(environment.settings, environment.lookup);
    const MeasuredFacts facts = facts_of_all(machine, environment.settings);
    if (*json) {
      nlohmann::json list = nlohmann::json::array();
      for (std::size_t i = 0; i < facts.size(); ++i) list.push_back(to_json(machine.devices[i]->info(), facts[i]));
      std::cout << nlohmann::json{{"devices", list}, {"problems", machine.problems}}.dump(2) << "\n";
    } else if (!machine.devices.empty()) {
      std::cout << device_table(machine, facts);
    }
    if (!machine.devices.empty()) return;
    complain_of_no_device(machine);
    environment.exit_code = 1;
  });
}

}  // namespace heddle::front::cli
