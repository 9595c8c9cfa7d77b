// Aggregates are merged with what is on disk inside the writing transaction, so several processes add without loss.
#include "profile/tables.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

namespace heddle::profile {

namespace {

const char* const tables[] = {
    "CREATE TABLE records(id INTEGER PRIMARY KEY, kernel TEXT NOT NULL, variant TEXT NOT NULL, "
    "parameters TEXT NOT NULL, device TEXT NOT NULL, shape TEXT NOT NULL, count INTEGER NOT NULL, "
    "mean REAL NOT NULL, m2 REAL NOT NULL, least REAL NOT NULL, most REAL NOT NULL, "
    "UNIQUE(kernel, variant, parameters, device, shape)) STRICT",
    "CREATE TABLE failures(record INTEGER NOT NULL, kind TEXT NOT NULL, count INTEGER NOT NULL, "
    "PRIMARY KEY(record, kind)) STRICT, WITHOUT ROWID",
    "CREATE TABLE samples(id INTEGER PRIMARY KEY, record INTEGER NOT NULL, when_ms INTEGER NOT NULL, "
    "points INTEGER NOT NULL, duration_ns INTEGER NOT NULL, bytes_in INTEGER NOT NULL, bytes_out INTEGER NOT NULL, "
    "contention REAL NOT NULL) STRICT",
    "CREATE INDEX samples_of_record ON samples(record)",
    "CREATE TABLE names(fingerprint TEXT PRIMARY KEY, name TEXT NOT NULL) STRICT, WITHOUT ROWID",
};

constexpr const char* upsert_record =
    "INSERT INTO records(kernel, variant, parameters, device, shape, count, mean, m2, least, most) "
    "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(kernel, variant, parameters, device, shape) DO UPDATE SET "
    "count = excluded.count, mean = excluded.mean, m2 = excluded.m2, least = excluded.least, most = excluded.most "
    "RETURNING id";
constexpr const char* upsert_failure =
    "INSERT INTO failures(record, kind, count) VALUES(?1, ?2, ?3) "
    "ON CONFLICT(record, kind) DO UPDATE SET count = min(count + excluded.count, ?4)";
constexpr const char* upsert_name =
    "INSERT INTO names(fingerprint, name) VALUES(?, ?) ON CONFLICT(fingerprint) DO UPDATE SET name = excluded.name";

// Only what is given: a condition that may hold for any value would keep SQLite from using the index.
std::string where(const Selection& selection) {
  if (selection.kernel && selection.device) return " WHERE kernel = ? AND device = ?";
  return selection.kernel ? " WHERE kernel = ?" : selection.device ? " WHERE device = ?" : "";
}

void bind(Statement& statement, const Selection& selection) {
  if (selection.kernel && selection.device) {
    statement.bind(*selection.kernel, *selection.device);
  } else if (selection.kernel || selection.device) {
    statement.bind(selection.kernel ? *selection.kernel : *selection.device);
  }
}

// A kind that only a newer Heddle knows is at least a failure.
core::FailureKind failure_kind(const std::string& name) {
  for (core::FailureKind kind : failure_kinds) {
    if (name == core::to_string(kind)) return kind;
  }
  return core::FailureKind::unsupported;
}

std::int64_t times(Statement& row, int column) {
  const std::int64_t number = row.integer(column);
  if (number >= 0 && number <= most_times) return number;
  throw SqlError(SqlFault::damaged, 0, fmt::format("a count in it is {}", number));
}

double finite(Statement& row, int column) {
  const double number = row.real(column);
  if (std::isfinite(number)) return number;
  throw SqlError(SqlFault::damaged, 0, fmt::format("a time in it is {}", number));
}

core::Aggregate aggregate(Statement& row, int first) {
  core::Aggregate a;
  a.count = times(row, first);
  a.mean = finite(row, first + 1);
  a.m2 = finite(row, first + 2);
  a.least = finite(row, first + 3);
  a.most = finite(row, first + 4);
  return a;
}

DatedSample dated_sample(Statement& row) {
  const DatedSample out{{row.integer(1), core::Nanoseconds(row.integer(2)), static_cast<core::Bytes>(row.integer(3)),
                         static_cast<core::Bytes>(row.integer(4)), finite(row, 5)},
                        Milliseconds(row.integer(0))};
  if (out.sample.points > 0 && out.sample.duration.count() >= 0) return out;
  throw SqlError(SqlFault::damaged, 0,
                 fmt::format("a sample in it took {} ns for {} points", row.integer(2), row.integer(1)));
}

void read_names(Connection& connection, const Selection& selection, Contents& out) {
  if (!selection.kernel && !selection.device) {
    auto all = connection.prepare("SELECT fingerprint, name FROM names");
    while (all.step()) out.names[all.text(0)] = all.text(1);
    return;
  }
  std::set<std::string> fingerprints;
  for (const auto& [key, entry] : out.records) fingerprints.insert({key.kernel, key.device});
  auto one = connection.prepare("SELECT name FROM names WHERE fingerprint = ?");
  for (const std::string& fingerprint : fingerprints) {
    if (one.bind(fingerprint).step()) out.names[fingerprint] = one.text(0);
  }
}

}  // namespace

void create_tables(Connection& connection) {
  for (const char* table : tables) connection.run(table);
  connection.run(fmt::format("PRAGMA application_id = {}", application_id).c_str());
  connection.run(fmt::format("PRAGMA user_version = {}", schema_version).c_str());
}

void check_tables(Connection& connection) {
  connection.prepare(
      "SELECT id, kernel, variant, parameters, device, shape, count, mean, m2, least, most FROM records");
  connection.prepare("SELECT record, kind, count FROM failures");
  connection.prepare("SELECT id, record, when_ms, points, duration_ns, bytes_in, bytes_out, contention FROM samples");
  connection.prepare("SELECT fingerprint, name FROM names");
  for (const char* upsert : {upsert_record, upsert_failure, upsert_name}) connection.prepare(upsert);
}

std::string select_records(const Selection& selection) {
  return "SELECT id, kernel, variant, parameters, device, shape, count, mean, m2, least, most FROM records" +
         where(selection);
}

Contents read_rows(Connection& connection, const Selection& selection) {
  Contents out;
  auto records = connection.prepare(select_records(selection).c_str());
  auto failures = connection.prepare("SELECT kind, count FROM failures WHERE record = ?");
  auto samples = connection.prepare(
      "SELECT when_ms, points, duration_ns, bytes_in, bytes_out, contention FROM samples WHERE record = ? "
      "ORDER BY id");
  bind(records, selection);
  while (records.step()) {
    Entry& entry = out.records[{records.text(1), records.text(2), records.text(3), records.text(4), records.text(5)}];
    entry.aggregate = aggregate(records, 6);
    failures.bind(records.integer(0));
    while (failures.step()) entry.add(failure_kind(failures.text(0)), times(failures, 1));
    samples.bind(records.integer(0));
    while (samples.step()) entry.samples.push_back(dated_sample(samples));
  }
  read_names(connection, selection, out);
  return out;
}

Contents read(Connection& connection, const Selection& selection) {
  Transaction transaction(connection, Transaction::Kind::read);
  return read_rows(connection, selection);
}

void merge(Connection& connection, const Contents& contents) {
  Transaction transaction(connection, Transaction::Kind::write);
  if (connection.moved()) throw SqlError(SqlFault::moved, 0, "the file was moved or removed");
  auto known = connection.prepare(
      "SELECT count, mean, m2, least, most FROM records "
      "WHERE kernel = ? AND variant = ? AND parameters = ? AND device = ? AND shape = ?");
  auto put = connection.prepare(upsert_record);
  auto fail = connection.prepare(upsert_failure);
  auto sample = connection.prepare(
      "INSERT INTO samples(record, when_ms, points, duration_ns, bytes_in, bytes_out, contention) "
      "VALUES(?, ?, ?, ?, ?, ?, ?)");
  auto trim = connection.prepare(
      "DELETE FROM samples WHERE record = ?1 AND id NOT IN "
      "(SELECT id FROM samples WHERE record = ?1 ORDER BY id DESC LIMIT ?2)");
  for (const auto& [key, entry] : contents.records) {
    core::Aggregate all;
    known.bind(key.kernel, key.variant, key.parameters, key.device, key.shape);
    if (known.step()) all = aggregate(known, 0);
    all.add(entry.aggregate);
    all.count = std::min(all.count, most_times);
    put.bind(key.kernel, key.variant, key.parameters, key.device, key.shape, all.count, all.mean, all.m2, all.least,
             all.most);
    if (!put.step()) throw core::InternalError("the store's upsert returned no id");
    const std::int64_t record = put.integer(0);
    put.run();
    for (const auto& [kind, times] : entry.failures) {
      fail.bind(record, std::string(core::to_string(kind)), times, most_times).run();
    }
    for (const auto& [s, when] : entry.samples) {
      sample.bind(record, std::int64_t{when.count()}, s.points, std::int64_t{s.duration.count()},
                  static_cast<std::int64_t>(s.bytes_in), static_cast<std::int64_t>(s.bytes_out), s.contention);
      sample.run();
    }
    trim.bind(record, static_cast<std::int64_t>(core::samples_per_key)).run();
  }
  auto call = connection.prepare(upsert_name);
  for (const auto& [fingerprint, name] : contents.names) call.bind(fingerprint, name).run();
  transaction.commit();
}

std::int64_t forget(Connection& connection, const Selection& selection) {
  Transaction transaction(connection, Transaction::Kind::write);
  if (connection.moved()) throw SqlError(SqlFault::moved, 0, "the file was moved or removed");
  auto remove = connection.prepare(("DELETE FROM records" + where(selection)).c_str());
  bind(remove, selection);
  remove.run();
  const std::int64_t forgotten = connection.changes();
  connection.run("DELETE FROM failures WHERE record NOT IN (SELECT id FROM records)");
  connection.run("DELETE FROM samples WHERE record NOT IN (SELECT id FROM records)");
  connection.run(
      "DELETE FROM names WHERE fingerprint NOT IN (SELECT kernel FROM records UNION SELECT device FROM records)");
  transaction.commit();
  return forgotten;
}

}  // namespace heddle::profile
