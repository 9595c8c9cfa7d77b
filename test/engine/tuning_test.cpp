// Tuning on fake devices: what is tried, what is refused and why, and what is found.
#include "engine/tuning.hpp"

#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "device/fake_device.hpp"
#include "profile/store.hpp"

namespace heddle::engine {
namespace {

using device::FakeArguments;
using device::FakeWorld;
using device::WorkItem;

std::int64_t defined(const FakeArguments& arguments, const char* macro) {
  return std::get<std::int64_t>(*arguments.definition(macro));
}

// Each work-item doubles TILE neighbouring numbers; one configuration does so wrongly.
void double_tile(const WorkItem& item, FakeArguments& arguments) {
  const auto tile = static_cast<std::size_t>(defined(arguments, "TILE"));
  const auto from = static_cast<std::size_t>(item.global_id[0]) * tile;
  const auto in = arguments.buffer<std::int32_t>(0), out = arguments.buffer<std::int32_t>(1);
  const bool wrong = defined(arguments, "BX") == 16 && tile == 8;
  for (std::size_t i = from; i < from + tile && i < out.size(); ++i) out[i] = 2 * in[i] + (wrong && i == 77);
}
// |BX - 32| / 8 + |TILE - 4| + 1 per point.
double weight(const WorkItem&, const FakeArguments& arguments) {
  const auto bx = static_cast<double>(defined(arguments, "BX")), tile = static_cast<double>(defined(arguments, "TILE"));
  return tile * (std::abs(bx - 32) / 8 + std::abs(tile - 4) + 1);
}
void double_one(const WorkItem& item, FakeArguments& arguments) {
  const auto i = static_cast<std::size_t>(item.global_id[0]);
  arguments.buffer<std::int32_t>(1)[i] = 2 * arguments.buffer<std::int32_t>(0)[i];
}

struct Doubling {
  explicit Doubling(const std::string& machine = "device gpu gpu\nrate 1e7\ngroup 128\n") : world(machine) {
    world.add_kernel("twice", {.body = double_tile, .cost = weight});
    world.add_kernel("plain", {.body = double_one});
    std::iota(in.begin(), in.end(), 0);
    tunable = {.name = "twice",
               .source = "twice",
               .entry = "twice",
               .group = {"BX", "1", "1"},
               .points = {"BX * TILE", "1", "1"},
               .cut = core::Cut::by_offset};
    tunable.space = core::ParameterSpace({{"BX", {8, 16, 32, 64, 256}}, {"TILE", {1, 2, 4, 8}}});
    arguments = {{.given = std::as_bytes(std::span(in)), .access = core::Access::read},
                 {.given = std::as_bytes(std::span(out)), .access = core::Access::write}};
    options.until = "false";
    options.strategy = "exhaustive";
  }
  Tuned tune() {
    auto tuned = engine::tune(*world.devices().front(), tunable, core::box_of(static_cast<std::int64_t>(in.size())),
                              arguments, base, options);
    if (!tuned) throw std::runtime_error(tuned.failure().what);
    return std::move(*tuned);
  }
  const Trial& trial(const Tuned& tuned, const std::string& configuration) {
    for (const Trial& one : tuned.trials) {
      if (to_string(one.configuration) == configuration) return one;
    }
    throw std::runtime_error("not tried: " + configuration);
  }

  FakeWorld world;
  std::vector<std::int32_t> in = std::vector<std::int32_t>(4096), out = std::vector<std::int32_t>(4096, -5);
  core::Tunable tunable;
  std::vector<TuningArgument> arguments;
  std::optional<core::Variant> base;
  TuningOptions options;
};

TEST(Tuning, FindsTheBestAndSaysWhatFailed) {
  Doubling d;
  const Tuned tuned = d.tune();
  EXPECT_EQ(tuned.trials.size(), 20u);
  EXPECT_EQ(to_string(*tuned.best), "BX=32 TILE=4");
  EXPECT_NEAR(tuned.ms, 0.4096, 1e-6);
  EXPECT_EQ(tuned.stopped, "all were tried");
  EXPECT_EQ(d.trial(tuned, "BX=256 TILE=1").failure, "constraints");
  EXPECT_NE(d.trial(tuned, "BX=256 TILE=1").why.find("128"), std::string::npos);
  const Trial& wrong = d.trial(tuned, "BX=16 TILE=8");
  EXPECT_EQ(wrong.failure, "correctness");
  EXPECT_NE(wrong.why.find("byte 308"), std::string::npos) << wrong.why;  // element 77
  EXPECT_NEAR(*d.trial(tuned, "BX=32 TILE=2").ms, 3 * 0.4096, 1e-6);
  EXPECT_EQ(d.out, std::vector<std::int32_t>(4096, -5));  // the program's own is left alone
}

TEST(Tuning, ASearchNeedsFewer) {
  Doubling d;
  d.options.strategy = "";
  d.options.until = "evaluations >= 15";
  const Tuned tuned = d.tune();
  EXPECT_EQ(tuned.trials.size(), 15u);
  EXPECT_EQ(to_string(*tuned.best), "BX=32 TILE=4");
  EXPECT_EQ(tuned.stopped, "evaluations >= 15");
}

TEST(Tuning, WhatIsHopelessIsNotRunToItsEnd) {
  Doubling d;
  d.tunable.space = core::ParameterSpace({{"BX", {32}}, {"TILE", {4, 512}}});
  d.tunable.points = {"BX * TILE", "1", "1"};
  d.in.resize(1 << 17), d.out.resize(1 << 17);  // 13 ms, and 7 s
  d.arguments[0].given = std::as_bytes(std::span(d.in)), d.arguments[1].given = std::as_bytes(std::span(d.out));
  const core::Nanoseconds begin = d.world.now();
  const Tuned tuned = d.tune();
  EXPECT_EQ(d.trial(tuned, "BX=32 TILE=512").failure, "timeout");
  EXPECT_LT(core::seconds(d.world.now() - begin), 4);  // a sixteenth of it, and what the other took
}

TEST(Tuning, WhatDoesNotFitNeedsABase) {
  Doubling d;
  d.in.resize(4100), d.out.resize(4100);
  d.arguments[0].given = std::as_bytes(std::span(d.in)), d.arguments[1].given = std::as_bytes(std::span(d.out));
  const Tuned without = d.tune();
  EXPECT_FALSE(without.best);
  EXPECT_NE(without.trials.front().why.find("no base"), std::string::npos);
  d.base = core::Variant{.name = "plain", .source = "plain", .entry = "plain", .cut = core::Cut::by_offset};
  const Tuned with = d.tune();
  EXPECT_EQ(to_string(*with.best), "BX=32 TILE=4");
  EXPECT_EQ(d.trial(with, "BX=16 TILE=8").failure, "correctness");  // by what the base computes
}

TEST(Tuning, FailuresOfTheDeviceAreResults) {
  Doubling d("device gpu gpu\nrate 1e7\nfail build 5\nfail launch 20\n");
  const Tuned tuned = d.tune();
  std::multiset<std::string> failures;
  for (const Trial& trial : tuned.trials) {
    if (!trial.ms) failures.insert(trial.failure);
  }
  EXPECT_EQ(failures.count("compile"), 1u);
  EXPECT_EQ(failures.count("runtime"), 1u);
  EXPECT_EQ(to_string(*tuned.best), "BX=32 TILE=4");
}

TEST(Tuning, StopsWhenToldToAndGoesOn) {
  Doubling d;
  int heard = 0;
  d.options.heard = [&](const Trial&, const decide::Progress& progress) {
    EXPECT_EQ(progress.evaluations, ++heard);
    return heard < 7;
  };
  const Tuned first = d.tune();
  EXPECT_EQ(first.stopped, "interrupted");
  EXPECT_EQ(first.trials.size(), 7u);
  EXPECT_TRUE(first.best);
  d.options.known = first.trials;
  d.options.heard = {};
  const Tuned second = d.tune();
  EXPECT_EQ(second.trials.size(), 20u);
  EXPECT_TRUE(second.trials[6].remembered);
  EXPECT_FALSE(second.trials[7].remembered);
  EXPECT_EQ(to_string(*second.best), "BX=32 TILE=4");
}

TEST(Tuning, TheNextRunBeginsWithWhatWasGood) {
  profile::Store store(":memory:");
  Doubling d;
  const core::Variant plain{.name = "plain", .source = "plain", .entry = "plain", .cut = core::Cut::by_offset};
  d.base = plain;
  d.options.store = &store;
  (void)d.tune();
  d.options.strategy = "random", d.options.until = "evaluations >= 1";
  EXPECT_EQ(to_string(d.tune().trials.at(0).configuration), "BX=32 TILE=4");
  // A launch of another size, and another device, begin there, too.
  d.in.resize(8192), d.out.resize(8192);
  d.arguments[0].given = std::as_bytes(std::span(d.in)), d.arguments[1].given = std::as_bytes(std::span(d.out));
  EXPECT_EQ(to_string(d.tune().trials.at(0).configuration), "BX=32 TILE=4");
  Doubling other("device cpu cpu\nname other\nrate 1e7\ngroup 128\n");
  other.options = d.options, other.base = plain;
  EXPECT_EQ(to_string(other.tune().trials.at(0).configuration), "BX=32 TILE=4");
  // Where the space has another parameter, nothing of it fits.
  Doubling changed;
  changed.options = d.options;
  changed.tunable.space = core::ParameterSpace({{"BX", {8, 16}}, {"TILE", {1, 2}}, {"MORE", {1, 2}}});
  EXPECT_EQ(changed.tune().trials.size(), 1u);
}

TEST(Tuning, NearShapesComeFirst) {
  core::History history;
  core::Tunable tunable;
  tunable.space = core::ParameterSpace({{"X", {1, 2, 3, 4}}});
  const auto add = [&](const char* device, const char* shape, const char* parameters, std::int64_t ns) {
    core::Sample sample{.points = 1, .duration = core::Nanoseconds(ns)};
    history.add({"k", "tuned", parameters, device, shape}, sample);
  };
  add("here", "100x1x1/1x1x1 b400", "X=1", 50), add("here", "100x1x1/1x1x1 b400", "X=2", 70);
  add("here", "900x1x1/1x1x1 b3600", "X=3", 50);
  add("there", "1000x1x1/1x1x1 b4000", "X=4", 50);
  add("here", "1000x1x1/1x1x1 b4000 b4", "X=2", 1);  // another kind of launch
  const core::SampleKey like{"k", "tuned", "", "here", "1000x1x1/1x1x1 b4000"};
  std::vector<std::string> order;
  for (const auto& configuration : remembered(history, tunable, like, 9)) order.push_back(to_string(configuration));
  EXPECT_EQ(order, (std::vector<std::string>{"X=3", "X=1", "X=4"}));
  EXPECT_EQ(remembered(history, tunable, like, 2).size(), 2u);
}

TEST(Tuning, NoiseDoesNotChooseTheWinner) {
  // One of two is 3 % better; single samples differ by 20 %.
  FakeWorld world("device gpu gpu\nrate 1e6\nnoise 0.2 seed 5\n");
  world.add_kernel("noisy", {.cost = [](const WorkItem&, const FakeArguments& arguments) {
                     return defined(arguments, "V") == 3 ? 1.0 : 1.05;
                   }});
  core::Tunable tunable{.name = "noisy", .source = "noisy", .entry = "noisy"};
  tunable.space = core::ParameterSpace({{"V", {1, 2, 3, 4}}});
  std::vector<std::int32_t> out(1000);
  const std::vector<TuningArgument> arguments = {{.given = std::as_bytes(std::span(out))}};
  TuningOptions options{.strategy = "exhaustive", .until = "false"};
  auto tuned = tune(*world.devices().front(), tunable, core::box_of(1000), arguments, {}, options);
  ASSERT_TRUE(tuned);
  const auto times = compare(*world.devices().front(), tunable, core::box_of(1000), arguments, {},
                             {core::parse_configuration("V=3"), *tuned->best}, 101, options);
  EXPECT_LE(*core::Result(times)->at(1), 1.07 * *core::Result(times)->at(0));
}

TEST(Tuning, MistakesAreTold) {
  Doubling d;
  d.options.strategy = "luck";
  EXPECT_THROW(d.tune(), core::UsageError);
  d.options.strategy = "", d.options.until = "evals > 3";
  EXPECT_THROW(d.tune(), core::UsageError);
  d.options.until = "evaluations > 3", d.tunable.group = {"BX / 3", "1", "1"};
  EXPECT_EQ(d.tune().trials.at(0).failure, "constraints");
}

}  // namespace
}  // namespace heddle::engine
