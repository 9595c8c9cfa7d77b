// The tables of the store, and every statement that touches them. For this folder only.
#pragma once

#include "profile/contents.hpp"
#include "profile/sql.hpp"

namespace heddle::profile {

constexpr std::int64_t application_id = 0x48444c45;  // "HDLE": tells our files from other programs'
constexpr std::int64_t schema_version = 1;           // of the tables; a file with a larger one is from the future

void create_tables(Connection& connection);  // inside the caller's transaction
void check_tables(Connection& connection);   // SqlError where a table or column is missing

// The statement that finds records, with a parameter for each part that is given.
std::string select_records(const Selection& selection);

// With the names that the records need; all names where everything is selected. SqlError `damaged` where there are
// numbers that no measurement gives. Inside the caller's transaction.
Contents read_rows(Connection& connection, const Selection& selection);

// Each is one transaction of its own.
Contents read(Connection& connection, const Selection& selection);
void merge(Connection& connection, const Contents& contents);
std::int64_t forget(Connection& connection, const Selection& selection);  // the number of records

}  // namespace heddle::profile
