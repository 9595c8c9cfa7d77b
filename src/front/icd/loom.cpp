#include "front/icd/loom.hpp"

#include <chrono>

#include "core/log.hpp"
#include "front/icd/runtime.hpp"

namespace heddle::front::icd {

namespace {

std::vector<device::Device*> those_that_open(const std::vector<std::unique_ptr<device::Device>>& devices) {
  std::vector<device::Device*> out;
  for (const auto& device : devices) {
    if (device) out.push_back(device.get());
  }
  return out;
}

std::atomic<Loom*> the_loom{nullptr};

Loom* make_loom() {
  const Runtime& all = runtime();
  const core::Settings& settings = all.settings;
  if (settings.split != "auto" && settings.split != "off" && settings.split != "always") {
    core::log_once(core::LogLevel::warn, "HEDDLE_SPLIT='" + settings.split + "': auto, off or always expected");
    return nullptr;
  }
  if (!settings.active || settings.split == "off" || all.choice.devices.empty()) return nullptr;
  const device::Chosen& primary = device::primary_of(all.choice.devices);
  if (all.choice.devices.size() == 1 && primary.info.space == device::host_memory && settings.split != "always")
    return nullptr;
  try {
    auto* made = new Loom(settings, all.choice);
    if (made->primary().info().id != primary.info.id) return nullptr;  // it could not be opened
    the_loom = made;
    return made;
  } catch (const std::exception& error) {
    core::log_once(core::LogLevel::warn, std::string("launches are not shared: ") + error.what());
    return nullptr;
  }
}

}  // namespace

Loom::Loom(const core::Settings& settings, const device::Choice& choice)
    : always(settings.split == "always"),
      devices(device::open_chosen(settings, choice)),
      compiler(kernel::options_of(settings)),
      engine(those_that_open(devices),
             {.analyse = [this](const auto& source, const auto& forms) { return compiler.analyse(source, forms); },
              .store = &measured(),
              .memory_limit = settings.memory_limit,
              .exact = settings.exactness == "exact"}),
      own_memory(primary().info().space != device::host_memory) {}

Loom* loom() {
  static Loom* const the = make_loom();
  return the;
}

void stop_building() {
  if (Loom* one = the_loom) {
    one->making.close();
    one->engine.stop_building();
  }
}

void finish_weaving() {
  if (Loom* one = the_loom) one->engine.finish();
}

std::shared_ptr<Woven> woven_kernel(Program& program, const std::string& name) {
  if (!program.context->loom || program.source.empty()) return nullptr;
  std::lock_guard hold(program.mutex);
  if (program.reads_files) return nullptr;
  auto& out = program.woven[name];
  if (!out) out = std::make_shared<Woven>();
  return out;
}

void make_kernel(Loom& loom, const std::shared_ptr<Woven>& woven, engine::KernelSource source) {
  auto expected = Woven::State::unknown;
  if (!woven->state.compare_exchange_strong(expected, Woven::State::coming)) return;
  loom.making.add([&loom, woven, source = std::move(source)] {
    try {
      auto made = loom.engine.make_kernel(source);
      if (!made) {
        woven->why = made.failure().what;
      } else if (!(*made)->facts() || (*made)->facts()->elsewhere) {
        woven->why = (*made)->why_not();
      } else {
        woven->kernel = std::move(*made);
      }
    } catch (const std::exception& error) {
      woven->why = error.what();
    }
    if (!woven->kernel)
      core::log(core::LogLevel::info, "kernel '" + source.name + "' stays with the primary device: " + woven->why);
    woven->state = woven->kernel ? Woven::State::ready : Woven::State::unfit;
  });
}

void remember_direct(Woven& kernel, std::uint64_t mark) {
  kernel.direct[kernel.directs++ % kernel.direct.size()] = mark;
}

void decide_direct(Woven& kernel, Woven::Verdict& verdict, std::uint64_t mark) {
  if (!std::exchange(verdict.direct, true)) remember_direct(kernel, mark);
}

}  // namespace heddle::front::icd
