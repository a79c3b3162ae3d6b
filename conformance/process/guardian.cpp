// SPDX-License-Identifier: Apache-2.0
#include "conformance/process/guardian.hpp"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

#include "conformance/subject/sanitizer.hpp"
#include "conformance/subject/wire.hpp"

namespace etb::conformance {
namespace {

constexpr int kLookMs = 100;
// A process that is ending needs a moment.
constexpr int kTriesForEnd = 20;
constexpr useconds_t kRestUs = 10000;

void set_limit(int which, uint64_t most) {
  const rlimit limit{most, most};
  ::setrlimit(static_cast<__rlimit_resource>(which), &limit);
}

class Guardian {
 public:
  explicit Guardian(const GuardianArgs& args) : args_(args) {}

  [[noreturn]] void run() {
    ::setpgid(0, 0);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const Status made = set_up_namespaces(args_.confinement, args_.folder, args_.limits.temporary_bytes);
    ::prctl(PR_SET_DUMPABLE, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!made) fail_to_start(made.error().message);
    start_subject();
    for (const int fd : args_.subject_fds) ::close(fd);
    if (subject_ < 0) fail_to_start("no process for the plugin");
    watch();
    clear();
    send_report();
    ::_exit(0);
  }

 private:
  [[noreturn]] void fail_to_start(const std::string& why) {
    report_.set_up_error = why;
    send_report();
    ::_exit(1);
  }

  void start_subject() {
    const pid_t guardian = ::getpid();
    subject_ = ::fork();
    if (subject_ != 0) return;
    be_subject(guardian);
    args_.subject();
    ::_exit(0);
  }

  void be_subject(pid_t guardian) const {
    ::setpgid(0, 0);
    ::close(args_.control_fd);
    ::setenv("TMPDIR", args_.folder.c_str(), 1);
    set_limit(RLIMIT_CORE, 0);
    set_limit(RLIMIT_FSIZE, args_.limits.file_bytes);
    if (args_.limits.address_bytes != 0 && !has_sanitizer()) set_limit(RLIMIT_AS, args_.limits.address_bytes);
    std::vector<pid_t> pids = args_.confinement.has_namespaces ? std::vector<pid_t>{} : args_.pids;
    pids.push_back(guardian);
    const bool is_ready = give_up_privileges() && forbid_reaching_others(pids);
    ::prctl(PR_SET_DUMPABLE, 1);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!is_ready || ::getppid() != guardian) ::_exit(1);
  }

  // Watches until the subject ends or is killed.
  void watch() {
    const int subject_fd = static_cast<int>(::syscall(SYS_pidfd_open, subject_, 0));
    while (!has_ended()) {
      pollfd waiting[] = {{args_.control_fd, POLLIN, 0}, {subject_fd, POLLIN, 0}};
      const int ready = ::poll(waiting, subject_fd >= 0 ? 2 : 1, subject_fd >= 0 ? kLookMs : 2);
      if (waiting[0].revents != 0) obey();
      if (ready == 0) look();
    }
    if (subject_fd >= 0) ::close(subject_fd);
  }

  bool has_ended() {
    int status = 0;
    if (::waitpid(subject_, &status, WNOHANG | WUNTRACED) != subject_) return false;
    if (WIFSTOPPED(status)) {
      report_.stop_signal = WSTOPSIG(status);
      ::kill(subject_, SIGKILL);
      return false;
    }
    report_.status = status;
    return true;
  }

  void obey() {
    char command = 0;
    if (::recv(args_.control_fd, &command, 1, MSG_DONTWAIT) != 1) {
      // The judge has died.
      ::kill(subject_, SIGKILL);
      end_descendants();
      ::_exit(1);
    }
    if (command == kPrintStacks) print_stacks();
    if (command == kEndAll) ::kill(subject_, SIGKILL);
    if (command != kLook) return;
    look();
    (void)!::send(args_.control_fd, &command, 1, MSG_NOSIGNAL);
  }

  // Each thread prints its stack, one after the other.
  void print_stacks() const {
    const std::string path = "/proc/" + std::to_string(subject_) + "/task";
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
    if (folder == nullptr) return;
    while (const dirent* entry = ::readdir(folder.get()))
      if (const int thread = std::atoi(entry->d_name); thread > 0) {
        ::syscall(SYS_tgkill, subject_, thread, SIGQUIT);
        ::usleep(2000);
      }
  }

  std::vector<pid_t> descendants() const {
    return processes_below(::getpid(), args_.confinement.has_namespaces);
  }

  void look() {
    if (report_.excess.empty()) report_.excess = excess_of(descendants(), args_.limits);
    if (report_.excess.empty() && is_folder_full())
      report_.excess = "more than nine tenths of the " + std::to_string(args_.limits.temporary_bytes >> 20) +
                       " MiB that its temporary files may have";
    if (!report_.excess.empty()) ::kill(subject_, SIGKILL);
  }

  bool is_folder_full() const {
    const uint64_t most = args_.limits.temporary_bytes / 10 * 9;
    if (!args_.confinement.has_namespaces) return usage_of_folder(args_.folder).nbytes > most;
    for (const char* folder : {args_.folder.c_str(), "/dev/shm"}) {
      struct statvfs info {};
      if (::statvfs(folder, &info) == 0 && (info.f_blocks - info.f_bfree) * info.f_frsize > most &&
          info.f_blocks * info.f_frsize <= args_.limits.temporary_bytes)
        return true;
    }
    return false;
  }

  // True if a child still runs after some time; zombies are reaped.
  static bool has_children() {
    for (int i = 0; i < kTriesForEnd; ++i) {
      pid_t ended = 0;
      while ((ended = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
      }
      if (ended < 0 && errno == ECHILD) return false;
      ::usleep(kRestUs);
    }
    return true;
  }

  void end_descendants() const {
    ::kill(-subject_, SIGKILL);
    for (int i = 0; i < kTriesForEnd * 5; ++i) {
      for (const pid_t pid : descendants()) ::kill(pid, SIGKILL);
      pid_t ended = 0;
      while ((ended = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
      }
      if (ended < 0 && errno == ECHILD) return;
      ::usleep(kRestUs);
    }
  }

  // Records and kills the remaining processes.
  void clear() {
    if (has_children()) {
      const std::vector<pid_t> left = descendants();
      report_.left_processes = static_cast<uint32_t>(left.size());
      report_.left_names = names_of(left);
      end_descendants();
    }
    for (const std::string& folder : {args_.folder, std::string("/dev/shm")}) {
      if (folder != args_.folder && !args_.confinement.has_namespaces) continue;
      const FolderUsage usage = usage_of_folder(folder);
      report_.left_bytes = std::max(report_.left_bytes, usage.nbytes);
      report_.left_sockets += usage.socket_count;
    }
  }

  void send_report() const {
    const std::vector<std::byte> message = encode_report(report_);
    (void)!::send(args_.control_fd, message.data(), message.size(), MSG_NOSIGNAL);
  }

  const GuardianArgs& args_;
  pid_t subject_ = -1;
  GuardianReport report_;
};

}  // namespace

std::vector<std::byte> encode_report(const GuardianReport& report) {
  constexpr size_t kMaxTextBytes = 1000;
  WireWriter out;
  out.number(static_cast<uint64_t>(report.status));
  out.number(static_cast<uint64_t>(report.stop_signal));
  out.text(report.excess.substr(0, kMaxTextBytes));
  out.text(report.set_up_error.substr(0, kMaxTextBytes));
  out.number(report.left_processes);
  out.text(report.left_names.substr(0, kMaxTextBytes));
  out.number(report.left_sockets);
  out.number(report.left_bytes);
  return out.take();
}

std::optional<GuardianReport> decode_report(std::span<const std::byte> data) {
  WireReader in(data);
  GuardianReport out;
  out.status = static_cast<int>(in.number());
  out.stop_signal = static_cast<int>(in.number());
  out.excess = in.text();
  out.set_up_error = in.text();
  out.left_processes = static_cast<uint32_t>(in.number());
  out.left_names = in.text();
  out.left_sockets = static_cast<uint32_t>(in.number());
  out.left_bytes = in.number();
  if (!in.is_complete()) return std::nullopt;
  return out;
}

void run_guardian(const GuardianArgs& args) { Guardian(args).run(); }

}  // namespace etb::conformance
