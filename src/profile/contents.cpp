// Merging of what was measured: here within a process, in tables.cpp with what is on disk.
#include "profile/contents.hpp"

#include <cmath>

namespace heddle::profile {

Milliseconds now() {
  return std::chrono::duration_cast<Milliseconds>(std::chrono::system_clock::now().time_since_epoch());
}

bool trusted(const core::Sample& sample) {
  return sample.points > 0 && sample.duration.count() >= 0 && std::isfinite(sample.contention) &&
         sample.contention >= core::trusted_contention;
}

void Entry::add(const core::Sample& sample, Milliseconds when) {
  aggregate.add(static_cast<double>(sample.duration.count()) / static_cast<double>(sample.points));
  if (samples.size() == core::samples_per_key) samples.erase(samples.begin());
  samples.push_back({sample, when});
}

void Entry::add(core::FailureKind kind, std::int64_t times) {
  aggregate.failures += times;
  failures[kind] += times;
}

void Entry::add(const Entry& other) {
  aggregate.add(other.aggregate);
  for (const auto& [kind, times] : other.failures) failures[kind] += times;
  samples.insert(samples.end(), other.samples.begin(), other.samples.end());
  if (samples.size() > core::samples_per_key) {
    samples.erase(samples.begin(), samples.end() - static_cast<std::ptrdiff_t>(core::samples_per_key));
  }
}

core::Record Entry::record() const {
  core::Record record{aggregate, {}};
  for (const DatedSample& s : samples) record.samples.push_back(s.sample);
  return record;
}

void Contents::add(const Contents& other) {
  for (const auto& [key, entry] : other.records) records[key].add(entry);
  for (const auto& [fingerprint, name] : other.names) names[fingerprint] = name;
}

}  // namespace heddle::profile
