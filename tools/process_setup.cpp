// SPDX-License-Identifier: Apache-2.0
#include "tools/process_setup.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>

#include "api/format/output_file.hpp"
#include "tools/exit_code.hpp"

namespace etb::tools {

namespace {

constinit pid_t main_process = 0;

// True in the process of main. Forked children inherit the handlers, but their parent still needs the files.
bool is_main_process() noexcept { return ::getpid() == main_process; }

// After the handler, the signal occurs again and ends the process.
void restore_default(int number) noexcept { ::signal(number, SIG_DFL); }

void end_process(int number) {
  if (is_main_process()) format::remove_unfinished_files();
  restore_default(number);
  ::raise(number);
}

void on_bus_error(int number, siginfo_t* info, void*) {
  if (info->si_code != BUS_ADRERR || !is_main_process()) return restore_default(number);
  format::remove_unfinished_files();
  constexpr char kMessage[] =
      "etbackend: a file became shorter while it was in use, or its disk failed\n"
      "  hint: `run --load-mode file` reads a program into memory before it is used\n";
  (void)!::write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
  ::_exit(static_cast<int>(ExitCode::INVALID_INPUT));
}

// A write to a closed standard stream stays an error.
void keep_standard_descriptors() noexcept {
  for (int number = 0; number < 3; ++number)
    if (::fcntl(number, F_GETFD) < 0) (void)::open("/dev/null", O_RDONLY);
}

}  // namespace

bool is_program() noexcept { return is_main_process(); }

void prepare_process() noexcept {
  keep_standard_descriptors();
  main_process = ::getpid();
  struct sigaction nothing {};
  nothing.sa_handler = [](int) {};
  nothing.sa_flags = SA_RESTART;
  for (const int number : {SIGPIPE, SIGXFSZ}) ::sigaction(number, &nothing, nullptr);
  struct sigaction action {};
  action.sa_handler = &end_process;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction old {};
    // `nohup` and background shells ignore these signals.
    if (::sigaction(number, nullptr, &old) == 0 && old.sa_handler != SIG_IGN)
      ::sigaction(number, &action, nullptr);
  }
  struct sigaction bus {};
  bus.sa_sigaction = &on_bus_error;
  bus.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &bus, nullptr);
}

}  // namespace etb::tools
