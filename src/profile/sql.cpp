// Which of SQLite's error codes mean what to the store.
#include "profile/sql.hpp"

#include <atomic>

#include <unistd.h>

namespace heddle::profile {

namespace {

// Which process has how many connections open: its id in the upper half, their number in the lower. One word without a
// lock, because a fork copies it at any moment; a global, because SQLite's state is one.
std::atomic<std::uint64_t> open_connections{0};

bool another_process_has_them(std::uint64_t word) {
  return word >> 32 != static_cast<std::uint32_t>(::getpid()) && (word & 0xffffffff) != 0;
}

void count_before_opening() {
  const std::uint64_t here = std::uint64_t{static_cast<std::uint32_t>(::getpid())} << 32;
  std::uint64_t before = open_connections.load(), after = 0;
  do {
    if (another_process_has_them(before)) throw SqlError(SqlFault::cannot, 0, "not used in a forked process");
    after = (before >> 32 == here >> 32 ? before : here) + 1;
  } while (!open_connections.compare_exchange_weak(before, after));
}

void count_after_closing() { --open_connections; }

[[noreturn]] void fail(sqlite3* database, int code, const std::string& doing) {
  const int extended = database ? sqlite3_extended_errcode(database) : code;
  const SqlFault fault = [&] {
    if (extended == SQLITE_READONLY_DBMOVED) return SqlFault::moved;
    switch (code & 0xff) {
      case SQLITE_BUSY:
      case SQLITE_LOCKED:
      case SQLITE_PROTOCOL:  // lost a race for the write-ahead log
        return SqlFault::busy;
      case SQLITE_CORRUPT:
      case SQLITE_NOTADB:
      case SQLITE_ERROR:       // a table or column that should be there is not
      case SQLITE_SCHEMA:      // the same
      case SQLITE_CONSTRAINT:  // a table of ours with rules that are not ours
      case SQLITE_MISMATCH:
        return SqlFault::damaged;
      default:
        return SqlFault::cannot;
    }
  }();
  throw SqlError(fault, extended, doing + (database ? sqlite3_errmsg(database) : sqlite3_errstr(code)));
}

}  // namespace

bool forked_while_open() { return another_process_has_them(open_connections.load()); }

Statement::Statement(sqlite3* database, const char* sql) {
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v2(database, sql, -1, &raw, nullptr);
  statement_.reset(raw);
  if (code != SQLITE_OK) fail(database, code, "");
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  sqlite3* database = sqlite3_db_handle(statement_.get());
  fail(database, code, "");
}

void Statement::run() {
  while (step()) {
  }
}

std::string Statement::text(int column) {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  return bytes ? std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))) : "";
}

void Statement::bind_at(int at, const std::string& value) {
  sqlite3_bind_text64(statement_.get(), at, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

Connection::Connection(const std::string& name, int flags, int busy_milliseconds) {
  count_before_opening();
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  if (!raw) count_after_closing();
  handle_.reset(raw);  // SQLite makes a handle even where opening failed, unless there is no memory
  if (code != SQLITE_OK) fail(raw, code, "");
  sqlite3_extended_result_codes(raw, 1);
  wait_for_locks(busy_milliseconds);
}

void Connection::Close::operator()(sqlite3* d) const {
  sqlite3_close_v2(d);
  count_after_closing();
}

std::int64_t Connection::integer(const char* sql) {
  Statement s(handle(), sql);
  return s.step() ? s.integer(0) : 0;
}

bool Connection::moved() const {
  int moved = 0;
  return sqlite3_file_control(handle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved;
}

Transaction::Transaction(Connection& connection, Kind kind) : connection_(connection) {
  connection_.run(kind == Kind::write ? "BEGIN IMMEDIATE" : "BEGIN");
}

Transaction::~Transaction() {
  if (open_) sqlite3_exec(connection_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  connection_.run("COMMIT");
  open_ = false;
}

}  // namespace heddle::profile
