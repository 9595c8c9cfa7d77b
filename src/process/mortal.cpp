// What must be set before a driver is loaded.
#include "process/mortal.hpp"

#include <initializer_list>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace heddle::process {

namespace {

constexpr int crashes[] = {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};

}  // namespace

void become_mortal(pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);  // it was gone before it could be noticed
  ::prctl(PR_SET_DUMPABLE, 0);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  for (int signal : crashes) ::signal(signal, SIG_DFL);
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, standard);
}

bool is_crash(int signal) {
  for (int one : crashes) {
    if (one == signal) return true;
  }
  return false;
}

}  // namespace heddle::process
