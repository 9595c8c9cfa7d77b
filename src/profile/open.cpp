// Judge the file, and if it cannot be used move it aside; both are safe against other processes doing the same.
#include "profile/open.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/log.hpp"
#include "profile/tables.hpp"

namespace heddle::profile {

namespace {

[[noreturn]] void cannot(const std::string& why) { throw SqlError(SqlFault::cannot, 0, why); }

std::string reason(int error) { return std::strerror(error); }

void make_folders(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) continue;
    const int error = errno;
    struct stat there {};
    if (::stat(folder.c_str(), &there) != 0) cannot(fmt::format("folder {}: {}", folder, reason(error)));
  }
}

// SQLite would create the file readable by all; its journal, log and shared memory take their mode from the file.
void make_private_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  const int error = errno;
  if (file >= 0) {
    ::close(file);
    return;
  }
  struct stat there {};
  if (::stat(path.c_str(), &there) != 0) {
    if (error != EEXIST) cannot(reason(error));
  } else if (!S_ISREG(there.st_mode)) {
    cannot("it is not a regular file");
  }
}

// The file may have been there before, made by a shell or an older program. Not through a descriptor: closing one would
// drop the locks that this process holds on the file. Nobody's access grows.
void close_to_others(const std::string& path) {
  for (const char* end : {"", "-wal", "-shm", "-journal"}) {
    struct stat there {};
    const std::string file = path + end;
    const bool ours = ::lstat(file.c_str(), &there) == 0 && S_ISREG(there.st_mode) && there.st_uid == ::geteuid();
    if (!ours || (there.st_mode & 0077) == 0) continue;
    if (::chmod(file.c_str(), there.st_mode & 0700) == 0) continue;
    core::log_once(core::LogLevel::warn, fmt::format("profile store {}: others can read it: {}", file, reason(errno)));
  }
}

enum class Verdict { ours, empty, damaged, foreign, future };

// The part of the new name that says why a file was moved aside.
const char* to_string(Verdict verdict) {
  return verdict == Verdict::future ? "future" : verdict == Verdict::foreign ? "foreign" : "damaged";
}

struct Judged {
  Verdict verdict;
  std::string why;
  std::optional<Connection> connection;
};

// Closing the last connection would fold the log into the file and delete it: good for ours, meddling with any other.
void keep_log(Connection& connection, bool keep) {
  sqlite3_db_config(connection.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep ? 1 : 0, nullptr);
}

Connection connect(const std::string& path, Milliseconds patience) {
  const int wait = static_cast<int>(patience.count());
  try {
    Connection connection(path, SQLITE_OPEN_READWRITE, wait);
    keep_log(connection, true);
    connection.integer("PRAGMA application_id");
    return connection;
  } catch (const SqlError& e) {
    if ((e.code & 0xff) != SQLITE_CANTOPEN && (e.code & 0xff) != SQLITE_READONLY) throw;
    // A write-ahead log needs files beside it even for reading. Where the folder forbids them, the file can still be
    // read as one that never changes.
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    if (::access(path.c_str(), R_OK) != 0 || ::access(folder.c_str(), W_OK) == 0) throw;
    std::string address = "file:";
    for (unsigned char c : path) address += std::strchr("%?#", c) ? fmt::format("%{:02x}", c) : std::string(1, c);
    return Connection(address + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, wait);
  }
}

Verdict verdict_on_header(Connection& connection) {
  const std::int64_t application = connection.integer("PRAGMA application_id");
  const std::int64_t version = connection.integer("PRAGMA user_version");
  if (application == application_id && version == schema_version) return Verdict::ours;
  if (application == application_id && version > schema_version) return Verdict::future;
  if (application == application_id) return Verdict::damaged;
  const bool empty = application == 0 && version == 0 && connection.integer("SELECT count(*) FROM sqlite_master") == 0;
  return empty ? Verdict::empty : Verdict::foreign;
}

// Only what SQLite says about the contents counts as damage. A lock, a missing permission or a failing disk does not.
Judged judge(const std::string& path, Milliseconds patience, bool thorough) {
  try {
    Connection connection = connect(path, patience);
    Transaction one_moment(connection, Transaction::Kind::read);  // or another process may begin between two questions
    const Verdict verdict = verdict_on_header(connection);
    std::string why;
    if (verdict == Verdict::future) {
      why = fmt::format("its format is {}, this Heddle knows {}", connection.integer("PRAGMA user_version"),
                        schema_version);
    } else if (verdict == Verdict::foreign) {
      why = "it is another program's database";
    } else if (verdict == Verdict::damaged) {
      why = fmt::format("its format is {}, which never was", connection.integer("PRAGMA user_version"));
    } else if (verdict == Verdict::ours) {
      check_tables(connection);
      if (thorough) {
        auto check = connection.prepare("PRAGMA integrity_check(1)");
        if (check.step() && check.text(0) != "ok") throw SqlError(SqlFault::damaged, 0, check.text(0));
        read_rows(connection, {});  // sound as a database, but is it sense?
      }
    }
    one_moment.commit();
    return {verdict, why, std::move(connection)};
  } catch (const SqlError& e) {
    if (e.fault != SqlFault::damaged) throw;
    return {Verdict::damaged, e.what(), std::nullopt};
  }
}

// Renames without ever replacing what is there; false where the new name is taken.
bool rename_to_free_name(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno == EEXIST) return false;
  if (errno == EINVAL || errno == ENOSYS) {  // network file systems cannot do that in one step
    struct stat there {};
    if (::lstat(to.c_str(), &there) == 0) return false;
    if (::rename(from.c_str(), to.c_str()) == 0) return true;
  }
  cannot(fmt::format("moving it to {}: {}", to, reason(errno)));
}

// The lock on the folder in which the file lies. Many processes may look at the file at a time, but none while another
// moves it aside: SQLite finds a journal or log by the file's name, so one that still had the moved file open would
// take those of its successor for its own. Not a lock on the file itself: closing that would drop SQLite's locks on it.
class FolderLock {
 public:
  enum class Kind { looking = LOCK_SH, moving = LOCK_EX };
  FolderLock(const std::string& path, Kind kind, Milliseconds patience) {
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    folder_ = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder_ < 0) return;  // it may be closed to reading: go on without
    const auto end = std::chrono::steady_clock::now() + patience;
    while (::flock(folder_, static_cast<int>(kind) | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) return;  // no such locks here: go on without
      if (std::chrono::steady_clock::now() > end) {
        ::close(folder_);
        throw SqlError(SqlFault::busy, 0, "another process is moving it");
      }
      std::this_thread::sleep_for(Milliseconds(2));
    }
  }
  ~FolderLock() {
    if (folder_ < 0) return;
    ::flock(folder_, LOCK_UN);  // a child forked meanwhile would keep it
    ::close(folder_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int folder_ = -1;
};

void move_aside(const std::string& path, const std::string& why, Milliseconds patience, bool thorough) try {
  const FolderLock lock(path, FolderLock::Kind::moving, patience);
  // Another process may have moved or replaced it before we had the lock.
  struct stat there {};
  if (::lstat(path.c_str(), &there) != 0 && errno == ENOENT) return;
  Judged judged = judge(path, patience, thorough);
  judged.connection.reset();
  if (judged.verdict == Verdict::ours || judged.verdict == Verdict::empty) return;
  // Beside the file may lie a log or journal that belongs to it. They go first: if the file itself went first, a new
  // one could be started beside them, and SQLite would then delete them.
  constexpr const char* beside[] = {"-wal", "-shm", "-journal"};
  for (int number = 1;; ++number) {
    const std::string aside = fmt::format("{}.{}-{}", path, to_string(judged.verdict), number);
    const bool taken = ::lstat(aside.c_str(), &there) == 0 ||
                       std::any_of(std::begin(beside), std::end(beside),
                                   [&](auto end) { return ::lstat((aside + end).c_str(), &there) == 0; });
    if (taken) continue;
    for (const char* end : beside) {
      if (::lstat((path + end).c_str(), &there) == 0) rename_to_free_name(path + end, aside + end);
    }
    if (!rename_to_free_name(path, aside)) continue;
    core::log(core::LogLevel::warn,
              fmt::format("profile store {}: {}; moved to {}, a new one is started", path, judged.why, aside));
    return;
  }
} catch (const SqlError& e) {
  if (e.fault == SqlFault::cannot) cannot(fmt::format("{}, and it cannot be moved aside: {}", why, e.what()));
  throw;
}

void start_new(Connection& connection) {
  try {
    Transaction transaction(connection, Transaction::Kind::write);
    if (verdict_on_header(connection) == Verdict::empty) create_tables(connection);  // else another process was faster
    transaction.commit();
  } catch (const SqlError& e) {
    if (e.fault == SqlFault::damaged) cannot(e.what());  // an empty file cannot be damaged: never move one aside
    throw;
  }
}

void choose_journal(Connection& connection, const std::string& path) {
  struct statfs system {};
  const bool shared = ::statfs(path.c_str(), &system) == 0 && shares_memory(static_cast<std::uint32_t>(system.f_type));
  try {
    auto journal = connection.prepare(shared ? "PRAGMA journal_mode = WAL" : "PRAGMA journal_mode = DELETE");
    const std::string mode = journal.step() ? journal.text(0) : "";
    // Without a sync at each commit a power cut may cost the last batches under a write-ahead log, but never the file.
    connection.run(mode == "wal" ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL");
  } catch (const SqlError& e) {
    // Others may be using the file just now; it stays in the mode it is in, which works too.
    core::log(core::LogLevel::debug, fmt::format("profile store {}: journal mode not changed: {}", path, e.what()));
  }
}

}  // namespace

bool shares_memory(std::uint64_t filesystem_type) {
  // From linux/magic.h and statfs(2); the last ones are parallel file systems that give their number only in their own
  // sources.
  constexpr std::uint64_t network[] = {
      0x6969,      // NFS
      0x517b,      // SMB
      0xff534d42,  // CIFS
      0xfe534d42,  // SMB2
      0x01021997,  // 9p
      0x65735546,  // FUSE: sshfs and the like
      0x564c,      // NCP
      0x73757245,  // Coda
      0x5346414f,  // AFS
      0x6b414653,  // kAFS
      0x00c36400,  // Ceph
      0x7461636f,  // OCFS2
      0x01161970,  // GFS2
      0x786f4256,  // VirtualBox shared folders
      0x0bd00bd0,  // Lustre
      0x47504653,  // GPFS
      0x19830326,  // BeeGFS
      0x20030528,  // OrangeFS
      0xaad7aaea,  // PanFS
  };
  return std::find(std::begin(network), std::end(network), filesystem_type) == std::end(network);
}

Opened open_store(const std::string& given, Milliseconds patience, bool suspicious) {
  constexpr int first_version = 3037000;  // strict tables; an older SQLite takes a file with them for damaged
  if (sqlite3_libversion_number() < first_version) {
    cannot(fmt::format("SQLite 3.37 or newer is needed, this is {}", sqlite3_libversion()));
  }
  if (given == ":memory:") {
    Connection connection(given, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY, 0);
    start_new(connection);
    return {std::move(connection)};
  }
  make_folders(given);
  std::error_code none;
  const auto target = std::filesystem::canonical(given, none);  // SQLite puts its files beside what a link points to
  const std::string path = none ? given : target.string();
  // More than one round only where other processes replace the file at the same time; each round one of them is done.
  constexpr int rounds = 10;
  bool replaced = false;
  for (int round = 1;; ++round) {
    try {
      std::optional<FolderLock> lock(std::in_place, path, FolderLock::Kind::looking, patience);
      make_private_file(path);
      Judged judged = judge(path, patience, suspicious);
      if (judged.verdict == Verdict::ours || judged.verdict == Verdict::empty) close_to_others(path);
      if (judged.verdict == Verdict::empty) {
        start_new(*judged.connection);
        judged.verdict = Verdict::ours;
      }
      if (judged.verdict == Verdict::ours) {
        keep_log(*judged.connection, false);
        if (!judged.connection->read_only()) choose_journal(*judged.connection, path);
        return {std::move(*judged.connection), replaced};
      }
      judged.connection.reset();
      lock.reset();
      replaced = true;
      if (round == rounds) cannot(judged.why + ", and other processes keep replacing it");
      move_aside(path, judged.why, patience, suspicious);
      suspicious = false;
    } catch (const SqlError& e) {
      const bool was_moved =
          e.fault == SqlFault::moved || (e.code & 0xff) == SQLITE_CANTOPEN;  // since it was looked at
      if (!was_moved || round == rounds) throw;
      std::this_thread::sleep_for(Milliseconds(1));
    }
  }
}

}  // namespace heddle::profile
