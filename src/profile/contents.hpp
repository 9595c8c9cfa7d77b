// What a store holds, as values: the same form is a batch on its way to disk, a listing, and an exported file.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/errors.hpp"
#include "core/history.hpp"

namespace heddle::profile {

using Milliseconds = std::chrono::milliseconds;

constexpr core::FailureKind failure_kinds[] = {
    core::FailureKind::build, core::FailureKind::allocation, core::FailureKind::launch,     core::FailureKind::transfer,
    core::FailureKind::lost,  core::FailureKind::hang,       core::FailureKind::unsupported};

// Larger than any count or number of failures measured, and small enough that sums of many stay exact and finite.
constexpr std::int64_t most_times = 1'000'000'000'000'000;

// A sample and when it was taken, since 1970.
struct DatedSample {
  core::Sample sample;
  Milliseconds when{0};
};

// Everything kept for one key.
struct Entry {
  core::Aggregate aggregate;                           // its failures are the sum of those below
  std::map<core::FailureKind, std::int64_t> failures;  // how often each kind happened
  std::vector<DatedSample> samples;  // the last core::samples_per_key, in the order in which they came: clocks err

  void add(const core::Sample& sample, Milliseconds when);
  void add(core::FailureKind kind, std::int64_t times = 1);
  void add(const Entry& other);
  core::Record record() const;
};

struct Contents {
  std::map<core::SampleKey, Entry> records;
  std::map<std::string, std::string> names;  // fingerprint of a kernel or device -> what a person calls it

  void add(const Contents& other);  // a name that `other` has too is the other's
  bool empty() const { return records.empty() && names.empty(); }
};

// Which records: those of this kernel and this device, by fingerprint; without one, any.
struct Selection {
  std::optional<std::string> kernel, device;
};

Milliseconds now();  // since 1970

// Whether a sample is fit for the store: it counts points, and no other program disturbed it.
bool trusted(const core::Sample& sample);

}  // namespace heddle::profile
