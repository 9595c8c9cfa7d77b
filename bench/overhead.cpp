// Suite "overhead": what Heddle itself costs in the path of a launch, in nanoseconds per call.
#include <filesystem>

#include <stdlib.h>

#include "bench/suites.hpp"
#include "core/box.hpp"
#include "core/log.hpp"
#include "front/report/trace_file.hpp"
#include "profile/store.hpp"

namespace heddle::bench {

namespace {

using core::Nanoseconds;
using Clock = std::chrono::steady_clock;

// Nanoseconds per call of `work`, over `calls` of them.
template <class Work>
double per_call(int calls, Work work) {
  const auto begin = Clock::now();
  for (int i = 0; i < calls; ++i) work(i);
  return static_cast<double>(std::chrono::duration_cast<Nanoseconds>(Clock::now() - begin).count()) / calls;
}

// A folder for what is written meanwhile.
struct Scratch {
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "heddle-bench-XXXXXX").string();
    if (!mkdtemp(name.data())) throw Failed{{core::FailureKind::unsupported, "no temporary folder", ""}};
    path = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path path;
};

std::vector<Row> measure(Context& context) {
  const Scratch scratch;
  front::report::TraceFile trace((scratch.path / "trace.json").string());
  profile::Store store((scratch.path / "profile.db").string());
  const core::SampleKey key{"kernel", "variant", "BX=8", "device", "1024x1x1/64x1x1 b4096"};
  const core::Sample sample{1024, Nanoseconds(1000), 4096, 4096, 1.0};
  const core::Box space = core::box_of(1 << 26);
  constexpr int calls = 20'000;  // several batches of the trace and the store, so their writing counts
  const std::vector<Case> cases = {
      {"a trace event, tracing on", "ns",
       [&] {
         return per_call(calls, [&](int i) {
           trace.add({core::TraceKind::slice, "cpu", "vector_add", "1048576x1x1 items at 0,0,0", Nanoseconds(i),
                      Nanoseconds(1)});
         });
       }},
      {"a trace event, tracing off", "ns",
       [&] {
         return per_call(calls, [&](int i) {
           if (core::TraceSink* sink = core::trace())
             sink->add({core::TraceKind::slice, "", "", "", Nanoseconds(i), Nanoseconds(1)});
         });
       }},
      {"a log line below the level", "ns",
       [&] { return per_call(calls, [&](int) { core::log(core::LogLevel::debug, "nobody reads this"); }); }},
      {"a sample for the store", "ns", [&] { return per_call(calls, [&](int) { store.add(key, sample); }); }},
      {"cutting a slice of a launch", "ns",
       [&] {
         core::BoxSet left(space);
         return per_call(1024, [&](int) { left.take({{256, 1, 1}, false}, space, space.volume() / 1024, 0); });
       }},
  };
  for (const Case& c : cases) c.once();
  return context.interleave("", cases, context.options.quick ? 11 : 41);
}

nlohmann::json summary(const std::vector<Row>& rows) {
  nlohmann::json out = nlohmann::json::object();
  const std::pair<const char*, const char*> keys[] = {{"a trace event, tracing on", "trace_event_ns"},
                                                      {"a trace event, tracing off", "trace_off_ns"},
                                                      {"a sample for the store", "store_add_ns"},
                                                      {"cutting a slice of a launch", "take_ns"}};
  for (const Row& row : rows) {
    for (const auto& [name, key] : keys) {
      if (row.name == name) out[key] = row.median;
    }
  }
  return out;
}

}  // namespace

Suite overhead_suite() {
  return {"overhead", "what Heddle's own bookkeeping costs per call",
          [](Context&) {
            return std::vector<Shard>{{"overhead", measure}};
          },
          summary};
}

}  // namespace heddle::bench
