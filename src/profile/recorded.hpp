// Tuning spaces that somebody measured, as files of other tuners hold them: a search can be replayed on one with no
// device at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/parameters.hpp"

namespace heddle::profile {

// Every configuration that somebody measured. All vectors below `parameters` but the last have one element for each.
struct Recorded {
  std::string kernel, device, problem;      // as the file says, for people; empty where it does not
  std::vector<core::Parameter> parameters;  // each value that a configuration has: numbers ascending, names as found
  std::vector<std::vector<std::uint16_t>> places;  // of each parameter's value in parameters[i].values
  std::vector<double> times;                       // ms; NaN: it failed
  std::vector<std::string> failures;               // one of failure_words; empty where it did not fail
  std::vector<double> compile_ms;                  // NaN: the file does not say
  std::vector<std::string> skipped;                // what could not be read, in words; the first most_skipped only
  std::size_t skipped_count = 0;                   // of all
};

constexpr std::size_t most_skipped = 20;  // enough to see what is wrong with a file

// Why a configuration failed, in the words of T4.
constexpr const char* failure_words[] = {"timeout", "compile", "runtime", "correctness", "constraints"};
bool is_failure_word(const std::string& word);

core::Configuration configuration(const Recorded& recorded, std::size_t number);

// The configurations of a recording as a space, and the time of each by its number there.
struct RecordedSpace {
  core::ParameterSpace space;
  std::vector<double> times;  // ms; NaN: it failed
};
RecordedSpace space_of(const Recorded& recorded);

// A Kernel Tuner cache or T4 results, plain or compressed by gzip; its content says which. Kernel Tuner appends to its
// files, so one that ends early is read as far as it goes. An entry that cannot be read is skipped, and so is a
// configuration that is given again. UsageError names the file: it is missing, empty, of neither kind, has, unpacked,
// more than `most_bytes`, mixes types of a parameter's values other than integers with real numbers, or has no entry
// that can be read.
Recorded read_recorded(const std::string& path, std::size_t most_bytes = std::size_t{1} << 30);

// The same of a file's unpacked content.
Recorded parse_recorded(std::string_view text);

}  // namespace heddle::profile
