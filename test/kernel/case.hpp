// A kernel to be analysed and run: a .cl file that says in its first lines how to launch it and what must come out, or
// a variant of a workload.
//   //! kernel NAME                the one to launch; without it, it is only analysed
//   //! options TEXT               build options
//   //! local X Y Z                group size; several lines: all are tried
//   //! groups X Y Z               at most so many groups; the tests draw from one on
//   //! offset X Y Z               at most so large a global offset
//   //! buffer BYTES int LOW HIGH  an argument: memory of random 32-bit integers; `rising`: ascending ones; `bytes`:
//   anything
//   //! int LOW HIGH               an argument by value; likewise long, float; ints N LOW HIGH: a struct or vector of N
//   //! shared BYTES               an argument in local memory
//   //! may-not-build              where the device lacks what it needs
//   //! expect TEXT                a line of the summary (summary.hpp) holds this; expect-not: none does
//   //! expect-box TEXT            the box form holds this; likewise expect-window, -merge, -clock
//   //! expect-schedule FORM TEXT  the form "schedule:NAME:FORM" of the kernel to launch holds this, or is refused so
#pragma once

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "core/byte_ranges.hpp"
#include "core/errors.hpp"

namespace heddle::kernel {

struct CaseArgument {
  enum class Kind { buffer, value, shared } kind = Kind::value;
  std::string content = "int";  // int, rising, bytes, long, float
  std::size_t size = 4;
  std::int64_t low = 0, high = 0;
  std::vector<std::byte> fixed;  // what it holds, where that is not random
};

struct Case {
  std::string name, text, options, entry;
  std::vector<core::Index> locals;
  core::Index groups{1, 1, 1}, offset{0, 0, 0};
  bool one_group = false;  // groups race for the same bytes: only boxes of one group have one outcome
  bool any_grid = true;    // fewer groups than `groups` are as good
  int dimensions = 1;
  std::vector<CaseArgument> arguments;
  bool may_not_build = false;
  std::vector<std::string> expected, unexpected, expected_box, expected_window, expected_merge, expected_clock;
  std::vector<std::pair<std::string, std::string>> expected_schedules;  // form, text
};

inline Case read_case(const std::filesystem::path& file) {
  Case out;
  out.name = file.stem().string();
  std::ifstream in(file);
  out.text.assign(std::istreambuf_iterator<char>(in), {});
  std::istringstream lines(out.text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("//! ", 0) != 0) continue;
    std::istringstream words(line.substr(4));
    std::string what;
    words >> what;
    auto rest = [&] {
      std::string text;
      std::getline(words >> std::ws, text);
      return text;
    };
    auto index = [&] {
      core::Index i{1, 1, 1};
      words >> i[0] >> i[1] >> i[2];
      return i;
    };
    CaseArgument argument;
    if (what == "kernel")
      words >> out.entry;
    else if (what == "options")
      out.options = rest();
    else if (what == "local")
      out.locals.push_back(index());
    else if (what == "groups")
      out.groups = index();
    else if (what == "offset")
      out.offset = index();
    else if (what == "may-not-build")
      out.may_not_build = true;
    else if (what == "expect")
      out.expected.push_back(rest());
    else if (what == "expect-not")
      out.unexpected.push_back(rest());
    else if (what == "expect-box")
      out.expected_box.push_back(rest());
    else if (what == "expect-window")
      out.expected_window.push_back(rest());
    else if (what == "expect-merge")
      out.expected_merge.push_back(rest());
    else if (what == "expect-clock")
      out.expected_clock.push_back(rest());
    else if (what == "expect-schedule") {
      std::string form;
      words >> form;
      out.expected_schedules.emplace_back("schedule:" + out.entry + ":" + form, rest());
    } else if (what == "buffer") {
      argument.kind = CaseArgument::Kind::buffer;
      words >> argument.size >> argument.content >> argument.low >> argument.high;
      out.arguments.push_back(argument);
    } else if (what == "shared") {
      argument.kind = CaseArgument::Kind::shared;
      words >> argument.size;
      out.arguments.push_back(argument);
    } else if (what == "ints") {
      words >> argument.size >> argument.low >> argument.high;
      argument.size *= 4;
      out.arguments.push_back(argument);
    } else if (what == "int" || what == "float" || what == "long") {
      argument.content = what;
      argument.size = what == "long" ? 8 : 4;
      words >> argument.low >> argument.high;
      out.arguments.push_back(argument);
    } else {
      throw core::UsageError(file.string() + ": '" + line + "' is no directive");
    }
  }
  if (out.locals.empty()) out.locals.push_back({1, 1, 1});
  for (int d = 1; d < 3; ++d) {
    if (out.groups[d] > 1 || out.locals.front()[d] > 1) out.dimensions = d + 1;
  }
  return out;
}

// What an argument holds.
inline std::vector<std::byte> fill(const CaseArgument& argument, std::mt19937_64& random) {
  if (!argument.fixed.empty()) return argument.fixed;
  std::vector<std::byte> out(argument.size);
  auto between = [&] {
    return argument.low +
           static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(argument.high - argument.low + 1));
  };
  auto each = [&]<class T>(T) {
    std::vector<T> values(argument.size / sizeof(T));
    for (T& v : values) v = static_cast<T>(between());
    if (argument.content == "rising") std::sort(values.begin(), values.end());
    std::memcpy(out.data(), values.data(), values.size() * sizeof(T));
  };
  if (argument.content == "bytes") {
    for (std::byte& b : out) b = static_cast<std::byte>(random());
  } else if (argument.content == "float") {
    each(float{});
  } else if (argument.content == "long") {
    each(std::int64_t{});
  } else {
    each(std::int32_t{});
  }
  return out;
}

inline std::vector<Case> cases_in(const std::string& folder) {
  std::vector<Case> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".cl") out.push_back(read_case(entry.path()));
  }
  std::sort(out.begin(), out.end(), [](const Case& a, const Case& b) { return a.name < b.name; });
  return out;
}

}  // namespace heddle::kernel
