// Parts of launches on a CPU whose driver makes slower code of kernels with an offset.
#include <cmath>

#include "test/engine/bench.hpp"

namespace heddle::engine {
namespace {

// Milliseconds between the ends of the slices of one launch, whose results are looked at.
std::vector<double> run(Bench& bench, const std::shared_ptr<Kernel>& kernel, int tasks) {
  constexpr std::int32_t elements = 8000;
  const auto from = bench.memory(elements), to = bench.memory(elements);
  Request request{.kernel = kernel, .items = {elements, 1, 1}, .group = {16, 1, 1}};
  request.arguments = {View{from, 0, from->size()}, View{to, 0, to->size()},
                       std::get<device::Scalar>(device::scalar(elements))};
  request.wishes.tasks = tasks;
  const auto launch = bench.engine->submit(request);
  EXPECT_TRUE(bench.engine->wait(launch));
  bench.expect_mapped(to, 1);
  const Report report = bench.engine->report(*launch);
  std::vector<double> out;
  Nanoseconds before = report.submitted;
  for (const SliceReport& slice : report.slices) {
    out.push_back(std::round(1e5 * core::seconds(slice.end - before)) / 100);
    before = slice.end;
  }
  return out;
}

TEST(Forms, WhereAnOffsetIsSlowPartsTakeTheBoxForm) {
  for (const double slower : {1.5, 1.0}) {
    Bench bench("device cpu cpu\nrate 1e6\n", {}, {{"map", [slower](const WorkItem& item, const FakeArguments&) {
                                                      return item.global_offset[0] > 0 ? slower : 1.0;
                                                    }}});
    const auto kernel = bench.kernel("map");
    const auto state = [&] { return kernel->built[0].instead_of_offset.state; };
    for (int launch = 0; launch < 4; ++launch) run(bench, kernel, 1);
    EXPECT_EQ(run(bench, kernel, 4), std::vector<double>({2, 2 * slower, 2 * slower, 2 * slower}));
    run(bench, kernel, 4);  // of the first of them, the driver may have compiled one
    if (slower == 1.0) {    // nobody builds what is not worth it
      for (int launch = 0; launch < 5; ++launch) run(bench, kernel, 4);
      EXPECT_EQ(state(), RareForm::State::none);
      continue;
    }
    EXPECT_EQ(state(), RareForm::State::ready);
    for (int launch = 0; launch < 4; ++launch) run(bench, kernel, 4);  // in turn, until both are known
    EXPECT_EQ(run(bench, kernel, 4), std::vector<double>({2, 2, 2, 2}));
  }
}

// Drivers compile a form when it is launched first, and may fail then: that is no fault of the only device.
TEST(Forms, ABoxFormThatFailsIsLeft) {
  Quieter quiet;
  Bench bench(
      "device cpu cpu\nrate 1e6\nfail launch 12\nfail launch 13\n", {},
      {{"map", [](const WorkItem& item, const FakeArguments&) { return item.global_offset[0] > 0 ? 1.5 : 1.0; }}});
  const auto kernel = bench.kernel("map");
  for (int launch = 0; launch < 4; ++launch) run(bench, kernel, 1);
  for (int launch = 0; launch < 5; ++launch) run(bench, kernel, 4);  // the twelfth part is the first in box form
  EXPECT_EQ(kernel->built[0].instead_of_offset.state, RareForm::State::failed);
  EXPECT_EQ(run(bench, kernel, 4), std::vector<double>({2, 3, 3, 3}));
}

}  // namespace
}  // namespace heddle::engine
