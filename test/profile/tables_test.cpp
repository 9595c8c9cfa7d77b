// What a statement costs is part of what it promises.
#include "profile/tables.hpp"

#include "place.hpp"

namespace heddle::profile {
namespace {

std::string plan(Connection& connection, const Selection& selection) {
  std::string out;
  auto rows = connection.prepare(("EXPLAIN QUERY PLAN " + select_records(selection)).c_str());
  while (rows.step()) out += rows.text(3) + "\n";
  return out;
}

TEST(Tables, OneKernelIsSearchedNotScanned) {
  Connection connection(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY, 0);
  create_tables(connection);
  for (const Selection& selection : {Selection{"k", {}}, Selection{"k", "d"}}) {
    EXPECT_EQ(plan(connection, selection).rfind("SEARCH records USING INDEX", 0), 0u) << plan(connection, selection);
    EXPECT_EQ(plan(connection, selection).find("SCAN"), std::string::npos);
  }
}

TEST(Tables, OnlyTheNamesNeededAreRead) {
  Store store(":memory:");
  store.add(key("k1", "base", "gpu"), sample(1));
  store.add(key("k2", "base", "cpu"), sample(1));
  for (const char* fingerprint : {"k1", "k2", "cpu", "gpu", "unused"}) store.name(fingerprint, "n");
  EXPECT_EQ(store.read({"k1", {}}).names, (std::map<std::string, std::string>{{"k1", "n"}, {"gpu", "n"}}));
  EXPECT_EQ(store.read().names.size(), 5u);
}

}  // namespace
}  // namespace heddle::profile
