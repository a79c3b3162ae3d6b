// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/fault_plugin/hostile.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "tests/conformance/fault_plugin/fault.hpp"

namespace faulty {
namespace {

std::string temporary_folder() {
  const char* const folder = std::getenv("TMPDIR");
  return folder != nullptr ? folder : "/tmp";
}

// Calls `body` with each mapping that is shared and writable.
template <class Body>
void each_shared_mapping(Body body) {
  std::FILE* const maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return;
  char line[512];
  while (std::fgets(line, sizeof(line), maps) != nullptr) {
    unsigned long begin = 0, end = 0;
    char mode[8] = {};
    if (std::sscanf(line, "%lx-%lx %4s", &begin, &end, mode) == 3 && std::strcmp(mode, "rw-s") == 0)
      body(reinterpret_cast<unsigned char*>(begin), static_cast<size_t>(end - begin));
  }
  std::fclose(maps);
}

void write_pass_everywhere() {
  constexpr char kLine[] = "{\"name\":\"op.neg.f32.7.stat\",\"state\":\"pass\",\"claimed\":true}\n\"end\"\n";
  for (int fd = 3; fd < 256; ++fd) (void)!::write(fd, kLine, sizeof(kLine) - 1);
}

// Hangs and requests more time again and again.
[[noreturn]] void hang_and_restart() {
  for (;;) {
    each_shared_mapping([](unsigned char* data, size_t nbytes) {
      if (nbytes >= 52) reinterpret_cast<std::atomic<unsigned>*>(data + 48)->fetch_add(1);
    });
    ::usleep(10000);
  }
}

// Leaves a daemon: its parent ends, so that it is no descendant of the plugin's process, and it has its own
// session.
void leave_daemon() {
  const pid_t child = ::fork();
  if (child != 0) return;
  ::setsid();
  if (::fork() != 0) ::_exit(0);
  for (;;) ::pause();
}

void fill_temporary_folder() {
  const std::string block(1 << 20, 'x');
  const int fd = ::open((temporary_folder() + "/large").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  for (int i = 0; i < 300; ++i)
    if (::write(fd, block.data(), block.size()) < 0) break;
  ::close(fd);
  ::sleep(1);  // stays for a while
}

void fill_memory_files() {
  for (int i = 0; i < 3; ++i) {
    const int fd = ::memfd_create("cache", MFD_CLOEXEC);
    if (::fallocate(fd, 0, 0, 200 << 20) != 0) ::close(fd);
  }
  ::sleep(1);
}

void leave_socket() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", temporary_folder().c_str());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  (void)::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  ::close(fd);
}

}  // namespace

void attack_suite() {
  static bool has_attacked = false;
  if (std::exchange(has_attacked, true)) return;
  if (has_fault(119)) write_pass_everywhere();
  if (has_fault(121))
    each_shared_mapping([](unsigned char* data, size_t nbytes) { std::memset(data, 0xff, nbytes); });
  if (has_fault(122)) ::kill(::getppid(), SIGSTOP);
  if (has_fault(123)) ::kill(0, SIGSTOP);
  if (has_fault(124)) ::raise(SIGSTOP);
  if (has_fault(125)) (void)::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr);
  if (has_fault(126)) leave_daemon();
  if (has_fault(127)) fill_temporary_folder();
  if (has_fault(128)) fill_memory_files();
  if (has_fault(129)) leave_socket();
  if (has_fault(130)) hang_and_restart();
}

bool knows_the_suite() {
  return temporary_folder().find("verify") != std::string::npos ||
         temporary_folder().find("etbackend") != std::string::npos;
}

}  // namespace faulty
