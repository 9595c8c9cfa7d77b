// Copies by way of locked memory where something is wrong with it: nothing lost, nothing twice, no end that never
// comes.
#include "test/engine/running.hpp"

namespace heddle::engine {
namespace {

constexpr const char* gpu = "device gpu gpu\nunits 9\nrate 1e12\n";
constexpr const char* cpu = "device cpu cpu\nrate 1e12\n";

TEST(Pieces, WhatCannotBeLockedIsCopiedAllTheSame) {
  Quieter quiet;
  for (const bool both : {false, true}) {
    Running running(std::string(gpu) + (both ? cpu : ""), false, std::chrono::seconds(10));
    Engine& engine = *running.engine;
    constexpr std::int32_t n = 1 << 20;
    const auto memory = engine.make_memory(4 * n);
    auto* data = reinterpret_cast<std::int32_t*>(memory->host().bytes.data());
    std::fill_n(data, n, 0);
    const auto kernel = *engine.make_kernel({"bump", "bump", ""});
    for (int round = 1; round <= 2; ++round) {
      Request request{.kernel = kernel, .items = {n, 1, 1}, .group = {256, 1, 1}};
      request.wishes.tasks = 2, request.wishes.spread = both;  // of more than a megabyte each
      request.arguments = {View{memory, 0, memory->size()}, std::get<device::Scalar>(device::scalar(n))};
      const auto status = engine.wait(engine.submit(request));
      ASSERT_TRUE(status) << status.failure().what;
      ASSERT_TRUE(engine.to_host(memory, false));
      for (std::int32_t i = 0; i < n; ++i) ASSERT_EQ(data[i], round * (i + 1)) << i;
    }
  }
}

// Launches of 32 MB each by way of a ring of 64: copies of the last wait behind the second, which never ends.
TEST(Pieces, ADeviceThatHangsDoesNotKeepThem) {
  Quieter quiet;
  Running running(std::string(gpu) + "hang at launch 2\n" + cpu, true, std::chrono::seconds(2));
  Engine& engine = *running.engine;
  const auto kernel = *engine.make_kernel({"unknown", "unknown", ""});  // reads and writes all of its arguments
  constexpr std::int32_t elements = 8 << 20, n = 16;
  std::vector<std::shared_ptr<Memory>> memories;
  std::vector<std::shared_ptr<Launch>> launches;
  for (int l = 0; l < 7; ++l) {
    memories.push_back(engine.make_memory(4 * elements));
    auto* data = reinterpret_cast<std::int32_t*>(memories.back()->host().bytes.data());
    std::fill_n(data, elements, l);
    Request request{.kernel = kernel, .items = {n, 1, 1}, .group = {16, 1, 1}};
    const View all{memories.back(), 0, memories.back()->size()};
    request.arguments = {all, all, std::get<device::Scalar>(device::scalar(n))};
    launches.push_back(engine.submit(request));
    if (l == 0) {  // shows how long one takes; its result comes before its device is lost
      ASSERT_TRUE(engine.to_host(memories.back(), false));
    }
  }
  for (std::size_t l = 0; l < launches.size(); ++l) {
    const auto status = engine.wait(launches[l]);
    ASSERT_TRUE(status) << status.failure().what;
    ASSERT_TRUE(engine.to_host(memories[l], false));
    const auto* data = reinterpret_cast<const std::int32_t*>(memories[l]->host().bytes.data());
    for (std::int32_t i = 0; i < elements; ++i)
      ASSERT_EQ(data[i], i < n ? static_cast<std::int32_t>(l) ^ 77 : static_cast<std::int32_t>(l)) << l << " " << i;
  }
}

// The parts of a launch that write in so many places that nobody lists them need all that was there before; the last
// one writes in fewer, needs nothing, and must not be over before that comes.
TEST(Pieces, WhoOnlyWritesWaitsForWhatOthersBring) {
  Running running(gpu, true, std::chrono::seconds(10));
  constexpr std::int32_t n = 16'400, apart = 512;
  running.world.add_kernel("strided", {.body = [](const device::WorkItem& i, FakeArguments& a) {
                             const auto at = static_cast<std::size_t>(i.global_id[0]);
                             a.buffer<std::int32_t>(1)[apart * at] = mixed(a.buffer<std::int32_t>(0)[at]);
                           }});
  std::vector<device::Device*> devices;
  for (const auto& device : running.devices) devices.push_back(device.get());
  Options options;
  options.analyse = [](const kernel::Source&, const std::vector<std::string>& forms) {
    kernel::Analysis out;
    out.facts.kernels = {FactsMaker("strided")
                             .buffer()
                             .buffer()
                             .access(core::AccessKind::read, 0)
                             .access(core::AccessKind::write, 1, 0, -1, false, apart)
                             .make()};
    for (const std::string& form : forms) out.forms[form] = {"strided", ""};
    return core::Result<kernel::Analysis>(out);
  };
  running.engine.emplace(devices, options);
  Engine& engine = *running.engine;
  const auto kernel = *engine.make_kernel({"strided", "strided", ""});
  for (int round = 0; round < 5; ++round) {
    const auto in = engine.make_memory(4 * n), out = engine.make_memory(Bytes{4} * n * apart);
    auto* from = reinterpret_cast<std::int32_t*>(in->host().bytes.data());
    auto* to = reinterpret_cast<std::int32_t*>(out->host().bytes.data());
    std::iota(from, from + n, round);
    std::fill_n(to, n * apart, -1);
    Request request{.kernel = kernel, .items = {n, 1, 1}, .group = {16, 1, 1}};
    request.arguments = {View{in, 0, in->size()}, View{out, 0, out->size()}};
    const auto launch = engine.submit(request);
    const auto status = engine.wait(launch);
    ASSERT_TRUE(status) << status.failure().what;
    EXPECT_GT(engine.report(*launch).slices.size(), 1u);
    ASSERT_TRUE(engine.to_host(out, false));
    for (std::int32_t i = 0; i < n; ++i) {
      ASSERT_EQ(to[apart * i], mixed(round + i)) << i;
      ASSERT_EQ(to[apart * i + 1], -1) << i;
    }
  }
}

// Two launches need the same bytes, and the copy that the first has begun fails while others are still on their way to
// the second by way of locked memory: it must not compute without them.
TEST(Pieces, WhoReliesOnACopyThatFailsLooksAgain) {
  Quieter quiet;
  constexpr std::size_t inputs = 5;
  Running running(std::string(gpu) + "fail write 1 late\n", true, std::chrono::seconds(10));
  running.world.add_kernel("sum", {.body = [](const device::WorkItem& i, FakeArguments& a) {
                             const auto at = static_cast<std::size_t>(i.global_id[0]);
                             std::int32_t& sum = a.buffer<std::int32_t>(inputs)[at] = 0;
                             for (std::size_t k = 0; k < inputs; ++k) sum += a.buffer<std::int32_t>(k)[at];
                           }});
  std::vector<device::Device*> devices;
  for (const auto& device : running.devices) devices.push_back(device.get());
  Options options;
  options.analyse = [](const kernel::Source& source, const std::vector<std::string>& forms) {
    if (source.text != "sum") return analyse_test_kernel(source, forms);
    kernel::Analysis out;
    FactsMaker facts("sum");
    for (std::size_t k = 0; k <= inputs; ++k) facts.buffer();
    for (int k = 0; k < static_cast<int>(inputs); ++k) facts.access(core::AccessKind::read, k);
    out.facts.kernels = {facts.access(core::AccessKind::write, inputs).make()};
    for (const std::string& form : forms) out.forms[form] = {"sum", ""};
    return core::Result<kernel::Analysis>(out);
  };
  running.engine.emplace(devices, options);
  Engine& engine = *running.engine;
  constexpr std::int32_t n = 1 << 20;
  const auto data = [](const Memory& m) { return reinterpret_cast<std::int32_t*>(m.host().bytes.data()); };
  // The first comes by the driver's own way, the others do not.
  const auto shared = engine.make_memory(4 * n, true), mapped = engine.make_memory(4 * n);
  std::vector<std::shared_ptr<Memory>> of_sum = {shared};
  while (of_sum.size() <= inputs) of_sum.push_back(engine.make_memory(4 * n));
  const auto summed = of_sum.back();
  for (std::size_t k = 0; k < inputs; ++k) {
    for (std::int32_t i = 0; i < n; ++i) data(*of_sum[k])[i] = i + 1;
  }
  const auto request = [&](const char* name, const std::vector<std::shared_ptr<Memory>>& memories) {
    Request out{.kernel = *engine.make_kernel({name, name, ""}), .items = {n, 1, 1}, .group = {256, 1, 1}};
    for (const auto& memory : memories) out.arguments.emplace_back(View{memory, 0, memory->size()});
    return out;
  };
  Request map = request("map", {shared, mapped});
  map.arguments.push_back(std::get<device::Scalar>(device::scalar(n)));
  const Request sum = request("sum", of_sum);
  running.stop_clock();
  const auto first = engine.submit(map), second = engine.submit(sum);
  running.start_clock();
  for (const auto& launch : {first, second}) {
    const auto status = engine.wait(launch);
    ASSERT_TRUE(status) << status.failure().what;
  }
  EXPECT_GT(engine.report(*first).retries, 0);
  ASSERT_TRUE(engine.to_host(mapped, false));
  ASSERT_TRUE(engine.to_host(summed, false));
  for (std::int32_t i = 0; i < n; ++i) {
    ASSERT_EQ(data(*mapped)[i], mixed(i + 1)) << i;
    ASSERT_EQ(data(*summed)[i], static_cast<std::int32_t>(inputs) * (i + 1)) << i;
  }
}

// Bytes that a device has are to be computed on elsewhere, and the first copy to the host is refused.
TEST(Pieces, WhatIsRefusedAtOnceIsAskedForAgain) {
  Quieter quiet;
  for (const char* failing : {"fail read 1\n", "fail read 1 late\n"}) {
    Running running(gpu + std::string(failing) + cpu, true, std::chrono::seconds(10));
    Engine& engine = *running.engine;
    constexpr std::int32_t n = 1 << 20;
    std::vector<std::shared_ptr<Memory>> memories;
    for (int m = 0; m < 3; ++m) memories.push_back(engine.make_memory(4 * n));
    const auto data = [](const Memory& m) { return reinterpret_cast<std::int32_t*>(m.host().bytes.data()); };
    for (const auto& memory : memories) std::iota(data(*memory), data(*memory) + n, 0);
    const auto kernel = *engine.make_kernel({"map", "map", ""});
    std::vector<std::shared_ptr<Launch>> launches;
    for (std::size_t l = 0; l < 2; ++l) {
      Request request{.kernel = kernel, .items = {n, 1, 1}, .group = {256, 1, 1}};
      request.wishes.parts = l == 0 ? std::vector<double>{1, 0} : std::vector<double>{0, 1};
      for (const auto& memory : {memories[l], memories[l + 1]})
        request.arguments.emplace_back(View{memory, 0, memory->size()});
      request.arguments.push_back(std::get<device::Scalar>(device::scalar(n)));
      launches.push_back(engine.submit(request));
    }
    for (std::size_t l = 0; l < 2; ++l) {
      const auto status = engine.wait(launches[l]);
      ASSERT_TRUE(status) << status.failure().what;
      EXPECT_EQ(engine.report(*launches[l]).slices.front().device, l == 0 ? "gpu" : "cpu");
    }
    ASSERT_TRUE(engine.to_host(memories[2], false));
    for (std::int32_t i = 0; i < n; ++i) ASSERT_EQ(data(*memories[2])[i], mixed(mixed(i))) << failing << i;
  }
}

// Of what only a device has nothing may be lost because memory cannot be locked: that is no failure of the device,
// which has failed once before.
TEST(Pieces, WhatCannotBeLockedIsNoFailure) {
  Quieter quiet;
  Running running(std::string(gpu) + "fail launch 1\n", false, std::chrono::seconds(10));
  running.world.add_kernel("fill", {.body = [](const device::WorkItem& i, FakeArguments& a) {
                             const auto at = static_cast<std::size_t>(i.global_id[0]);
                             a.buffer<std::int32_t>(0)[at] = mixed(static_cast<std::int32_t>(at));
                           }});
  std::vector<device::Device*> devices;
  for (const auto& device : running.devices) devices.push_back(device.get());
  Options options;
  options.analyse = [](const kernel::Source&, const std::vector<std::string>& forms) {
    kernel::Analysis out;
    out.facts.kernels = {FactsMaker("fill").buffer().access(core::AccessKind::write, 0).make()};
    for (const std::string& form : forms) out.forms[form] = {"fill", ""};
    return core::Result<kernel::Analysis>(out);
  };
  running.engine.emplace(devices, options);
  Engine& engine = *running.engine;
  constexpr std::int32_t n = 1 << 20;
  const auto memory = engine.make_memory(4 * n);
  Request request{.kernel = *engine.make_kernel({"fill", "fill", ""}), .items = {n, 1, 1}, .group = {256, 1, 1}};
  request.arguments = {View{memory, 0, memory->size()}};
  const auto launch = engine.submit(request);
  const auto status = engine.wait(launch);
  ASSERT_TRUE(status) << status.failure().what;
  EXPECT_EQ(engine.report(*launch).retries, 1);
  ASSERT_TRUE(engine.to_host(memory, false));
  const auto* data = reinterpret_cast<const std::int32_t*>(memory->host().bytes.data());
  for (std::int32_t i = 0; i < n; ++i) ASSERT_EQ(data[i], mixed(i)) << i;
}

// What one part writes is newer than what is still on its way to another.
TEST(Pieces, WhatIsWrittenElsewhereIsNotBroughtAnyMore) {
  Memory memory(allocate_host(1000));
  const int mine = 0, other = 0;
  memory.expect(1, &mine, {0, 400});
  memory.expect(1, &other, {400, 600});
  EXPECT_TRUE(memory.expects(1, SpanSet(Span{399, 401})));
  EXPECT_FALSE(memory.expects(2, SpanSet(Span{0, 1000})));
  SpanSet newer(Span{100, 200});
  newer.add(Span{390, 410});
  memory.written(2, newer);
  SpanSet left(Span{0, 100});
  left.add(Span{200, 390});
  EXPECT_EQ(memory.expect_no_more(1, &mine), left);
  EXPECT_FALSE(memory.expects(1, SpanSet(Span{0, 410})));
  memory.written(1, SpanSet(Span{450, 500}));  // there itself
  EXPECT_EQ(memory.expect_no_more(1, &other), SpanSet(Span{410, 600}));
  EXPECT_TRUE(memory.expect_no_more(1, &other).empty());
}

}  // namespace
}  // namespace heddle::engine
