// SQLite with owners and exceptions, for this folder only: no other folder sees a SQLite type.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include <sqlite3.h>

namespace heddle::profile {

// What went wrong, in the terms in which the store reacts.
enum class SqlFault {
  busy,     // somebody else holds the lock: try again later
  damaged,  // the file's contents are not what they should be
  moved,    // the file is no longer the one at its path: open again
  cannot,   // no permission, no space, an error of the disk
};

struct SqlError : std::runtime_error {
  SqlError(SqlFault f, int c, const std::string& what) : std::runtime_error(what), fault(f), code(c) {}
  SqlFault fault;
  int code;  // SQLite's extended one; 0 where the error is not SQLite's
};

// Whether this process was forked while its parent had a connection open. SQLite's own state, such as which locks it
// holds and which of its mutexes are taken, was then copied as it was at that moment: a new connection here would lose
// what it acknowledges, or wait for ever. Where all were closed before the fork, nothing is left to be wrong.
bool forked_while_open();

class Statement {
 public:
  Statement(sqlite3* database, const char* sql);

  // Parameters from the first on, in order.
  template <class... T>
  Statement& bind(const T&... values) {
    sqlite3_reset(statement_.get());
    int at = 0;
    (bind_at(++at, values), ...);
    return *this;
  }
  bool step();  // true: there is a row
  void run();   // all rows, ignored

  std::int64_t integer(int column) { return sqlite3_column_int64(statement_.get(), column); }
  double real(int column) { return sqlite3_column_double(statement_.get(), column); }
  std::string text(int column);

 private:
  void bind_at(int at, std::int64_t value) { sqlite3_bind_int64(statement_.get(), at, value); }
  void bind_at(int at, double value) { sqlite3_bind_double(statement_.get(), at, value); }
  void bind_at(int at, const std::string& value);

  struct Finalize {
    void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Connection {
 public:
  // `name` as SQLite takes it: a path, ":memory:" or with SQLITE_OPEN_URI an address. Calls nothing of SQLite where
  // forked_while_open().
  Connection(const std::string& name, int flags, int busy_milliseconds);

  void wait_for_locks(int busy_milliseconds) { sqlite3_busy_timeout(handle(), busy_milliseconds); }

  void run(const char* sql) { Statement(handle(), sql).run(); }
  Statement prepare(const char* sql) { return Statement(handle(), sql); }
  std::int64_t integer(const char* sql);  // the first column of the first row
  bool read_only() const { return sqlite3_db_readonly(handle_.get(), "main") == 1; }
  bool moved() const;  // its file is no longer the one at its path
  std::int64_t changes() const { return sqlite3_changes64(handle_.get()); }
  sqlite3* handle() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* d) const;
  };
  std::unique_ptr<sqlite3, Close> handle_;
};

// Rolls back unless committed.
class Transaction {
 public:
  enum class Kind { read, write };
  Transaction(Connection& connection, Kind kind);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Connection& connection_;
  bool open_ = true;
};

}  // namespace heddle::profile
