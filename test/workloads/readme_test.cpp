// The tables of workloads/README.md say what there is.
#include <fstream>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "test/workloads/tiny.hpp"

namespace heddle::workloads {
namespace {

// Cells of the rows below the header that begins with `header`, without the spaces around them. An empty first cell
// stands for the one above.
std::vector<std::vector<std::string>> rows_of_table(const std::string& header) {
  std::ifstream file(HEDDLE_TEST_DATA "/../../workloads/README.md");
  std::vector<std::vector<std::string>> out;
  std::string line;
  while (std::getline(file, line) && !line.starts_with(header)) {
  }
  std::getline(file, line);  // the line of dashes
  while (std::getline(file, line) && line.starts_with("|")) {
    std::vector<std::string> cells;
    std::istringstream rest(line.substr(1));
    for (std::string cell; std::getline(rest, cell, '|');) {
      const std::size_t begin = cell.find_first_not_of(' '), end = cell.find_last_not_of(' ');
      cells.push_back(begin == std::string::npos ? "" : cell.substr(begin, end + 1 - begin));
    }
    if (cells.front().empty() && !out.empty()) cells.front() = out.back().front();
    out.push_back(std::move(cells));
  }
  return out;
}

std::string extents_of(const core::Index& points, const core::Box& space) {
  int last = 2;
  while (last > 0 && space.extent(last) == 1) --last;
  std::string out;
  for (int d = 0; d <= last; ++d) out += (d ? " × " : "") + std::to_string(points[d]);
  return out;
}

TEST(Readme, ListsEveryVariantAsItIs) {
  std::vector<std::string> described;
  for (const Workload* w : all()) {
    const core::Box space = tiny(w->name).space;
    for (const core::Variant& v : w->variants) {
      const std::string name = &v == &w->variants.front() ? "**" + v.name + "**" : v.name;
      described.push_back(fmt::format("`{}` | {} | {} | {} | {} | {}", w->name, name, extents_of(v.group, space),
                                      extents_of(v.footprint.points, space), v.footprint.guarded ? "yes" : "no",
                                      v.cut == core::Cut::by_offset ? "by offset" : "none"));
    }
  }
  std::vector<std::string> written;
  for (auto& cells : rows_of_table("| name | variant | group |")) {
    ASSERT_EQ(cells.size(), 6u) << fmt::format("{}", fmt::join(cells, " | "));
    cells[1] = cells[1].substr(0, cells[1].find(" ("));  // what it does stands in brackets
    for (std::size_t k : {2u, 3u}) std::erase(cells[k], ',');
    cells[5] = cells[5].substr(0, cells[5].find(':'));  // and why it cannot be cut behind a colon
    written.push_back(fmt::format("{}", fmt::join(cells, " | ")));
  }
  EXPECT_EQ(written, described);
}

TEST(Readme, ListsEveryParameter) {
  std::vector<std::string> described, written;
  for (const Workload* w : all()) {
    if (!w->tunable) continue;
    const core::Tunable tunable = w->tunable();
    for (const core::Parameter& p : tunable.space.parameters()) {
      std::vector<std::string> values;
      for (const core::Value& value : p.values) values.push_back(core::to_string(value));
      described.push_back(
          fmt::format("`{}` ({}) | `{}` | {}", w->name, tunable.space.size(), p.name, fmt::join(values, ", ")));
    }
  }
  for (auto& cells : rows_of_table("| name (configurations) | parameter |")) {
    ASSERT_EQ(cells.size(), 4u) << fmt::format("{}", fmt::join(cells, " | "));
    std::erase(cells[0], ',');
    written.push_back(fmt::format("{} | {} | {}", cells[0], cells[1], cells[2]));
  }
  EXPECT_EQ(written, described);
}

TEST(Readme, ListsTheInputsAndTinySizes) {
  std::vector<std::string> described, written;
  for (const Workload* w : all()) {
    for (const std::string& input : w->inputs) {
      Instance instance = tiny(w->name, input);
      const core::Box& space = instance.space;
      described.push_back(fmt::format("`{}` | {} | {}", w->name, input, extents_of(space.end, space)));
      if (w->name == "sgemm") described.back() += fmt::format(" {}", integer(instance, "k"));
    }
  }
  for (auto& cells : rows_of_table("| name | points | inputs |")) {
    ASSERT_EQ(cells.size(), 8u) << fmt::format("{}", fmt::join(cells, " | "));
    cells[2] = cells[2].substr(0, cells[2].find(" ("));
    std::erase(cells[3], ',');
    written.push_back(fmt::format("{} | {} | {}", cells[0], cells[2], cells[3]));
  }
  EXPECT_EQ(written, described);
}

TEST(Readme, NamesTheVariantsThatExist) {
  std::vector<std::string> described, written;
  for (const Workload* w : all()) {
    std::vector<std::string> names;
    for (const core::Variant& v : w->variants) names.push_back(v.name);
    described.push_back(fmt::format("`{}` | {}", w->name, fmt::join(names, ", ")));
  }
  for (const auto& cells : rows_of_table("| name | what it computes |")) {
    if (cells.back() != "planned") written.push_back(cells.front() + " | " + cells.back());
  }
  EXPECT_EQ(written, described);
}

}  // namespace
}  // namespace heddle::workloads
