// Suite "clock": how precisely short launches can be timed, by the clock of events, by that of the host around launch
// and wait, and by the device's own inside of the kernel (the clock form, docs/kernelc.md).
#include <algorithm>
#include <cmath>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "bench/suites.hpp"
#include "core/clock_form.hpp"
#include "core/log.hpp"
#include "engine/target.hpp"
#include "kernel/compiler.hpp"
#include "workloads/on_device.hpp"

namespace heddle::bench {

namespace {

using device::Device;

// What is timed: a kernel that only moves data, and the variants of one that computes, some with barriers.
constexpr const char* timed_workloads[] = {"vector_add", "sgemm"};
constexpr int lengths_us[] = {20, 200, 2000};
constexpr const char* spread_unit = "% iqr";
constexpr device::Clock by_events{.source = device::Clock::Source::event};

double microseconds(core::Nanoseconds t) { return core::seconds(t) * 1e6; }

// The middle half of the samples, as a share of their median: chance that hits a few launches does not count.
double relative_spread(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto at = [&](std::size_t quarters) { return samples[(samples.size() - 1) * quarters / 4]; };
  return at(2) > 0 ? 100 * (at(3) - at(1)) / at(2) : 0;
}

// About so many groups of the variant at the begin of a space, whole rows first.
core::Box first_groups(const core::Box& space, const core::Variant& variant, std::int64_t groups) {
  core::Box out = space;
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t extent = variant.footprint.points[d];
    const std::int64_t most = std::max<std::int64_t>(1, (space.end[d] - space.begin[d]) / extent);
    const std::int64_t taken = std::clamp<std::int64_t>(groups, 1, most);
    out.end[d] = std::min(space.end[d], space.begin[d] + taken * extent);
    groups /= taken;
  }
  return core::align(out, variant.footprint, space);
}

// A variant beside its clock form.
class BothForms {
 public:
  BothForms(Context& context, Device& device, const workloads::Workload& workload, const core::Variant& variant)
      : device_(device),
        instance_(workloads::make(
            workload, device.info().kind == device::Kind::cpu ? workloads::Size::normal : workloads::Size::large,
            workload.inputs.front(), 1)),
        plain_(workload),
        clocked_(workload) {
    kernel::Compiler compiler(kernel::options_of(context.settings));
    const auto analysis =
        take(compiler.analyse({variant.source, variant.options, take(engine::target_of(device))}, {"clock"}));
    const kernel::Form& form = analysis.forms.at("clock");
    if (!form.refused.empty()) throw Failed{{core::FailureKind::unsupported, form.refused, ""}};
    plain_.variants = clocked_.variants = {variant};
    clocked_.variants.front().source = form.source;
    clocked_.variants.front().options = analysis.options;
    workloads::Instance more = instance_;
    more.arguments.push_back(workloads::array<std::uint8_t>(
        "clock", core::Access::write, sizeof(std::uint64_t) * core::clock_slots(range(first(1LL << 40)))));
    plain_there_ = take(workloads::OnDevice::open(device, plain_, instance_));
    clocked_there_ = take(workloads::OnDevice::open(device, clocked_, std::move(more)));
  }

  workloads::Piece first(std::int64_t groups) const {
    return {0, first_groups(instance_.space, plain_.variants.front(), groups)};
  }

  double by_event(const workloads::Piece& piece) {
    return microseconds(take(plain_there_->run(piece, by_events)).duration);
  }
  double by_host(const workloads::Piece& piece) { return microseconds(take(plain_there_->run_all({piece}))); }
  // What the event says of the clock form's launch.
  double run_clocked(const workloads::Piece& piece) {
    const double us = microseconds(take(clocked_there_->run(piece, by_events)).duration);
    slots_.resize(core::clock_slots(range(piece)));
    take(clocked_there_->read(instance_.arguments.size(), std::as_writable_bytes(std::span(slots_))));
    return us;
  }
  const std::vector<std::uint64_t>& slots() const { return slots_; }  // that it left
  double build_ms() const { return core::seconds(plain_there_->build_time() + clocked_there_->build_time()) * 1e3; }

  // The unit of the device's clock, by letting some time pass between two launches.
  double ticks_per_us() {
    const workloads::Piece piece = first(1);
    run_clocked(piece);
    const core::Nanoseconds begin = device_.now();
    run_clocked(piece);
    const std::uint64_t first_tick = slots_.front();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const core::Nanoseconds end = device_.now();
    run_clocked(piece);
    return static_cast<double>(slots_.front() - first_tick) / microseconds(end - begin);
  }

 private:
  core::NdRange range(const workloads::Piece& piece) const {
    return core::nd_range(plain_.variants.front(), piece.box, instance_.space);
  }

  Device& device_;
  const workloads::Instance instance_;
  workloads::Workload plain_, clocked_;  // with that variant alone
  std::unique_ptr<workloads::OnDevice> plain_there_, clocked_there_;
  std::vector<std::uint64_t> slots_;
};

// As many groups as take about so long; nothing where one for each unit takes longer, or the whole launch does not.
std::optional<workloads::Piece> piece_of(BothForms& both, double us, int units) {
  const auto least = [&](const workloads::Piece& piece) {
    double out = both.by_event(piece);
    for (int i = 0; i < 2; ++i) out = std::min(out, both.by_event(piece));
    return out;
  };
  const std::int64_t all = both.first(1LL << 40).box.volume();
  std::int64_t groups = units;
  for (workloads::Piece piece = both.first(groups);; piece = both.first(groups *= 2)) {
    const double took = least(piece);
    if (groups == units && took > 2 * us) return std::nullopt;
    if (took >= us / 2) {
      const double wanted = static_cast<double>(groups) * us / took;
      return both.first(std::max<std::int64_t>(1, std::llround(wanted)));
    }
    if (piece.box.volume() >= all) return std::nullopt;
  }
}

std::vector<Row> compare_clocks(Context& context, Device& device, const workloads::Workload& workload,
                                const core::Variant& variant) {
  BothForms both(context, device, workload, variant);
  const double ticks = both.ticks_per_us();
  const std::string& id = device.info().id;
  std::vector<Row> rows;
  for (const int us : lengths_us) {
    const auto piece = piece_of(both, us, device.info().units);
    if (!piece) continue;
    const std::string prefix = fmt::format("{} {} {} us, ", workload.name, variant.name, us);
    std::map<std::string, std::vector<double>> samples;
    const auto keep = [&](const char* clock, double value) {
      samples[clock].push_back(value);
      return value;
    };
    const std::vector<Case> cases = {{"", "", [&] { return keep("event", both.by_event(*piece)); }},
                                     {"", "", [&] { return keep("host", both.by_host(*piece)); }},
                                     {"", "", [&] {
                                        keep("event of form", both.run_clocked(*piece));
                                        return keep("in kernel",
                                                    static_cast<double>(core::clock_ticks(both.slots())) / ticks);
                                      }}};
    context.interleave(id, cases, context.options.quick ? 12 : 60);
    for (const auto& [clock, values] : samples) {
      rows.push_back(summarise(prefix + clock, id, "us", values));
      const double spread = relative_spread(values);
      rows.push_back({prefix + clock, id, spread_unit, spread, spread, spread, static_cast<int>(values.size()), 0});
    }
  }
  if (rows.empty()) core::log(core::LogLevel::warn, workload.name + " " + variant.name + " is too short to be timed");
  if (!rows.empty()) rows.front().build_ms = both.build_ms();
  return rows;
}

std::vector<Shard> shards(Context& context) {
  std::vector<Shard> out;
  for (const auto& device : context.machine.devices) {
    for (const char* name : timed_workloads) {
      const workloads::Workload& workload = workloads::find(name);
      for (const core::Variant& variant : workload.variants) {
        if (variant.cut == core::Cut::none) continue;  // only the whole launch, however long
        out.push_back(
            {device->info().id + " " + workload.name + " " + variant.name,
             [d = device.get(), &workload, &variant](Context& c) { return compare_clocks(c, *d, workload, variant); }});
      }
    }
  }
  return out;
}

// Per device, length and clock: the median spread over all kernels.
nlohmann::json summary(const std::vector<Row>& rows) {
  std::map<std::string, std::map<std::string, std::vector<double>>> spreads;
  for (const Row& row : rows) {
    const std::size_t comma = row.name.find(", ");
    if (row.unit != spread_unit || comma == std::string::npos) continue;
    const std::size_t unit = row.name.rfind(' ', comma - 1);
    const std::size_t length = row.name.rfind(' ', unit - 1);
    spreads[row.device][row.name.substr(length + 1)].push_back(row.median);
  }
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [device, all] : spreads) {
    for (const auto& [what, values] : all) out[device]["spread_pct"][what] = summarise("", "", "", values).median;
  }
  return out;
}

}  // namespace

Suite clock_suite() {
  return {"clock", "how precisely short launches are timed by events, by the host and by clocks inside of kernels",
          shards, summary};
}

}  // namespace heddle::bench
