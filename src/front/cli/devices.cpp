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

std::string facts_folder(const core::Settings& settings) {
  return settings.cache.empty() ? "" : settings.cache + "/devices";
}

std::string no_devices_text() {
  return "no OpenCL device was found; Debian's package pocl-opencl-icd makes one of the CPU";
}

std::string device_table(device::Machine& machine, const core::Settings& settings) {
  std::string out = fmt::format("{:<8} {:<28} {:>5} {:>8} {:>7} {:>10} {:>11} {:>13}\n", "id", "name", "units",
                                "memory", "space", "rate GB/s", "launch us", "clock");
  for (auto& d : machine.devices) {
    const device::Info& info = d->info();
    const auto facts = device::facts_of(*d, facts_folder(settings));
    const std::string space = info.space == device::host_memory ? "host" : "own " + std::to_string(info.space);
    out += fmt::format("{:<8.8} {:<28.28} {:>5} {:>8} {:>7} ", info.id, info.name, info.units, size_text(info.memory),
                       space);
    out += facts ? fmt::format("{:>10.1f} {:>11.1f} {:>13}\n", facts.value().memory_rate / 1e9,
                               core::seconds(facts.value().launch) * 1e6, clock_text(facts.value().clock))
                 : "cannot be measured: " + facts.failure().what + "\n";
    if (facts && facts.value().copy_engines > 0) {
      const device::Facts& f = facts.value();
      out += fmt::format(
          "         copies GB/s: in {:.1f} (locked {:.1f}), out {:.1f} (locked {:.1f}), both ways {:.1f}\n",
          f.in_pageable / 1e9, f.in_locked / 1e9, f.out_pageable / 1e9, f.out_locked / 1e9, f.both_locked / 1e9);
    }
  }
  return out;
}

void add_devices_command(CLI::App& app, const Environment& environment) {
  CLI::App* command = app.add_subcommand("devices", "List the devices, with what was measured of them");
  command->footer(
      "rate: memory rate of a vector addition. launch: one group, start to end. clock: which one is used for timing,\n"
      "and its resolution. The first call measures each device for up to a second; later ones remember.");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print {\"devices\":[...]} for programs");
  command->callback([=] {
    device::Machine machine = device::open_machine(environment.settings, environment.lookup);
    if (*json) {
      nlohmann::json list = nlohmann::json::array();
      for (auto& d : machine.devices) {
        list.push_back(to_json(d->info(), device::facts_of(*d, facts_folder(environment.settings))));
      }
      std::cout << nlohmann::json{{"devices", list}, {"problems", machine.problems}}.dump(2) << "\n";
    } else if (!machine.devices.empty()) {
      std::cout << device_table(machine, environment.settings);
    }
    if (!machine.devices.empty()) return;
    std::cerr << "heddle: " << no_devices_text() << "\n";
    environment.exit_code = 1;
  });
}

}  // namespace heddle::front::cli
