// The tables of the store, and every statement that touches them. For this folder only.
#pragma once

#include "profile/contents.hpp"
#include "profile/sql.hpp"

namespace heddle::profile {

constexpr std::int64_t application_id = 0x48444c45;  // "HDLE": tells our files from other programs'
constexpr std::int64_t schema_version = 1;           // of the tables; a file with a larger one is from the future

void create_tables(Connection& connection);  // inside the caller's transaction
void check_tables(Connection& connection);   // SqlError where a table or column is missing

// Each is one transaction of its own.
Contents read(Connection& connection, const Selection& selection);
void merge(Connection& connection, const Contents& contents);
std::int64_t forget(Connection& connection, const Selection& selection);  // the number of records

}  // namespace heddle::profile
