// Getting from a path to a usable store file, whatever lies there. For this folder only.
#pragma once

#include <string>

#include "profile/contents.hpp"
#include "profile/sql.hpp"

namespace heddle::profile {

// Opens the store at `path`, creating folders (0700) and file (0600) as needed; a store of this user that others may
// read or write is closed to them. A file that is damaged, another program's or from a newer Heddle is moved aside with
// one warning and a new one started. A connection may be read-only. Throws SqlError: busy after `patience`, or why
// there can be no store here. `suspicious` after a statement reported damage: the contents are then read and checked,
// not only the header.
struct Opened {
  Connection connection;
  bool replaced = false;  // what lay there was moved aside
};
Opened open_store(const std::string& path, Milliseconds patience, bool suspicious);

// Whether write-ahead logging can work on a file system of this type (statfs): it needs memory shared by all writers.
bool shares_memory(std::uint64_t filesystem_type);

}  // namespace heddle::profile
