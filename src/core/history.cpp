// Welford's running mean and variance, and Chan's rule for merging two of them.
#include "core/history.hpp"

#include <algorithm>

#include "core/median.hpp"

namespace heddle::core {

void Aggregate::add(double value) {
  Aggregate one;
  one.count = 1;
  one.mean = one.least = one.most = value;
  add(one);
}

void Aggregate::add(const Aggregate& other) {
  failures += other.failures;
  if (other.count == 0) return;
  if (count == 0) {
    const auto failed = failures;
    *this = other;
    failures = failed;
    return;
  }
  const double n = static_cast<double>(count), m = static_cast<double>(other.count), delta = other.mean - mean;
  mean += delta * m / (n + m);
  m2 += other.m2 + delta * delta * n * m / (n + m);
  least = std::min(least, other.least);
  most = std::max(most, other.most);
  count += other.count;
}

double Record::median() const {
  std::vector<double> times;
  for (const Sample& s : samples) {
    if (s.points > 0) times.push_back(static_cast<double>(s.duration.count()) / static_cast<double>(s.points));
  }
  return times.empty() ? 0 : core::median(std::move(times));
}

bool History::add(const SampleKey& key, const Sample& sample) {
  if (sample.points <= 0 || sample.contention < trusted_contention) return false;
  Record& record = records_[key];
  record.aggregate.add(static_cast<double>(sample.duration.count()) / static_cast<double>(sample.points));
  record.samples.push_back(sample);
  if (record.samples.size() > samples_per_key) record.samples.erase(record.samples.begin());
  return true;
}

void History::add_failure(const SampleKey& key) { ++records_[key].aggregate.failures; }

const Record* History::find(const SampleKey& key) const {
  const auto found = records_.find(key);
  return found == records_.end() ? nullptr : &found->second;
}

}  // namespace heddle::core
