// What is known of past runs, as values: aggregates and a bounded number of samples per key. The store keeps the same.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/slice.hpp"

namespace heddle::core {

// What a sample belongs to.
struct SampleKey {
  std::string kernel;      // fingerprint
  std::string variant;     // its name
  std::string parameters;  // to_string(Configuration)
  std::string device;      // fingerprint
  std::string shape;       // shape_of(Launch)

  auto operator<=>(const SampleKey&) const = default;
  bool operator==(const SampleKey&) const = default;
};

// Count, mean and spread of time per point; mergeable, so that several processes can add to one record without loss.
struct Aggregate {
  std::int64_t count = 0;
  double mean = 0;  // nanoseconds per point
  double m2 = 0;    // sum of squared differences from the mean (Welford)
  double least = 0, most = 0;
  std::int64_t failures = 0;

  bool operator==(const Aggregate&) const = default;
  void add(double nanoseconds_per_point);
  void add(const Aggregate& other);
  double variance() const { return count > 1 ? m2 / static_cast<double>(count - 1) : 0; }
};

// Samples kept per key: enough for a median and its confidence interval; older ones live on in the aggregate.
constexpr std::size_t samples_per_key = 32;

struct Record {
  Aggregate aggregate;
  std::vector<Sample> samples;  // the newest, oldest first

  double median() const;  // nanoseconds per point over the kept samples; 0 without any
};

// Samples that a busy neighbour disturbed are left out.
class History {
 public:
  bool add(const SampleKey& key, const Sample& sample);  // false where the sample was not trusted
  void add_failure(const SampleKey& key);
  void put(const SampleKey& key, Record record) { records_[key] = std::move(record); }

  const Record* find(const SampleKey& key) const;
  const std::map<SampleKey, Record>& records() const { return records_; }

 private:
  std::map<SampleKey, Record> records_;
};

}  // namespace heddle::core
