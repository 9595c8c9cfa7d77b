// Aggregates are merged with what is on disk inside the writing transaction, so several processes add without loss.
#include "profile/tables.hpp"

#include <algorithm>

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
    "CREATE INDEX samples_of_record ON samples(record, when_ms)",
    "CREATE TABLE names(fingerprint TEXT PRIMARY KEY, name TEXT NOT NULL) STRICT, WITHOUT ROWID",
};

constexpr const char* where_selected = " WHERE (?1 = '' OR kernel = ?1) AND (?2 = '' OR device = ?2)";

core::FailureKind failure_kind(const std::string& name) {
  for (core::FailureKind kind : failure_kinds) {
    if (name == core::to_string(kind)) return kind;
  }
  throw SqlError(SqlFault::damaged, 0, fmt::format("'{}' is no kind of failure", name));
}

core::Aggregate aggregate(Statement& row, int first) {
  core::Aggregate a;
  a.count = row.integer(first);
  a.mean = row.real(first + 1);
  a.m2 = row.real(first + 2);
  a.least = row.real(first + 3);
  a.most = row.real(first + 4);
  return a;
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
}

Contents read(Connection& connection, const Selection& selection) {
  Contents out;
  Transaction transaction(connection, Transaction::Kind::read);
  const std::string select =
      "SELECT id, kernel, variant, parameters, device, shape, count, mean, m2, least, most FROM records";
  auto records = connection.prepare((select + where_selected).c_str());
  auto failures = connection.prepare("SELECT kind, count FROM failures WHERE record = ?");
  auto samples = connection.prepare(
      "SELECT when_ms, points, duration_ns, bytes_in, bytes_out, contention FROM samples WHERE record = ? "
      "ORDER BY when_ms, id");
  records.bind(selection.kernel, selection.device);
  while (records.step()) {
    Entry& entry = out.records[{records.text(1), records.text(2), records.text(3), records.text(4), records.text(5)}];
    entry.aggregate = aggregate(records, 6);
    failures.bind(records.integer(0));
    while (failures.step()) entry.add(failure_kind(failures.text(0)), failures.integer(1));
    samples.bind(records.integer(0));
    while (samples.step()) {
      entry.samples.push_back(
          {{samples.integer(1), core::Nanoseconds(samples.integer(2)), static_cast<core::Bytes>(samples.integer(3)),
            static_cast<core::Bytes>(samples.integer(4)), samples.real(5)},
           Milliseconds(samples.integer(0))});
    }
  }
  auto names = connection.prepare("SELECT fingerprint, name FROM names");
  while (names.step()) out.names[names.text(0)] = names.text(1);
  return out;
}

void merge(Connection& connection, const Contents& contents) {
  Transaction transaction(connection, Transaction::Kind::write);
  if (connection.moved()) throw SqlError(SqlFault::moved, 0, "the file was moved or removed");
  auto known = connection.prepare(
      "SELECT count, mean, m2, least, most FROM records "
      "WHERE kernel = ? AND variant = ? AND parameters = ? AND device = ? AND shape = ?");
  auto put = connection.prepare(
      "INSERT INTO records(kernel, variant, parameters, device, shape, count, mean, m2, least, most) "
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(kernel, variant, parameters, device, shape) DO UPDATE SET "
      "count = excluded.count, mean = excluded.mean, m2 = excluded.m2, least = excluded.least, most = excluded.most "
      "RETURNING id");
  auto fail = connection.prepare(
      "INSERT INTO failures(record, kind, count) VALUES(?, ?, ?) "
      "ON CONFLICT(record, kind) DO UPDATE SET count = count + excluded.count");
  auto sample = connection.prepare(
      "INSERT INTO samples(record, when_ms, points, duration_ns, bytes_in, bytes_out, contention) "
      "VALUES(?, ?, ?, ?, ?, ?, ?)");
  auto trim = connection.prepare(
      "DELETE FROM samples WHERE record = ?1 AND id NOT IN "
      "(SELECT id FROM samples WHERE record = ?1 ORDER BY when_ms DESC, id DESC LIMIT ?2)");
  for (const auto& [key, entry] : contents.records) {
    core::Aggregate all;
    known.bind(key.kernel, key.variant, key.parameters, key.device, key.shape);
    if (known.step()) all = aggregate(known, 0);
    all.add(entry.aggregate);
    put.bind(key.kernel, key.variant, key.parameters, key.device, key.shape, all.count, all.mean, all.m2, all.least,
             all.most);
    if (!put.step()) throw core::InternalError("the store's upsert returned no id");
    const std::int64_t record = put.integer(0);
    put.run();
    for (const auto& [kind, times] : entry.failures) {
      fail.bind(record, std::string(core::to_string(kind)), times).run();
    }
    for (const auto& [s, when] : entry.samples) {
      sample.bind(record, std::int64_t{when.count()}, s.points, std::int64_t{s.duration.count()},
                  static_cast<std::int64_t>(s.bytes_in), static_cast<std::int64_t>(s.bytes_out), s.contention);
      sample.run();
    }
    trim.bind(record, static_cast<std::int64_t>(core::samples_per_key)).run();
  }
  auto call = connection.prepare(
      "INSERT INTO names(fingerprint, name) VALUES(?, ?) ON CONFLICT(fingerprint) DO UPDATE SET name = excluded.name");
  for (const auto& [fingerprint, name] : contents.names) call.bind(fingerprint, name).run();
  transaction.commit();
}

std::int64_t forget(Connection& connection, const Selection& selection) {
  Transaction transaction(connection, Transaction::Kind::write);
  if (connection.moved()) throw SqlError(SqlFault::moved, 0, "the file was moved or removed");
  connection.prepare((std::string("DELETE FROM records") + where_selected).c_str())
      .bind(selection.kernel, selection.device)
      .run();
  const std::int64_t forgotten = connection.changes();
  connection.run("DELETE FROM failures WHERE record NOT IN (SELECT id FROM records)");
  connection.run("DELETE FROM samples WHERE record NOT IN (SELECT id FROM records)");
  connection.run(
      "DELETE FROM names WHERE fingerprint NOT IN (SELECT kernel FROM records UNION SELECT device FROM records)");
  transaction.commit();
  return forgotten;
}

}  // namespace heddle::profile
