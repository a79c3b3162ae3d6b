// SPDX-License-Identifier: Apache-2.0
#include "conformance/process/cleanup_process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <utility>

namespace etb::conformance {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "etbackend-verify-";
constexpr const char* kLockName = "lock";
constexpr const char* kFolderPrefix = "tmp.";  // the prefix of mktemp

// Removes the temporary folders of a run, then its own. Retries, as a dying process may still write into
// them.
void remove_run(const fs::path& own) {
  std::error_code failed;
  for (int i = 0; i < 50 && fs::exists(own, failed); ++i) {
    if (i != 0) ::usleep(10000);
    bool is_clean = true;
    for (fs::directory_iterator at(own, failed), end; !failed && at != end; at.increment(failed)) {
      const std::string name = at->path().filename().string();
      if (name.rfind(kFolderPrefix, 0) != 0) continue;
      std::error_code left;
      fs::remove_all(own.parent_path() / name, left);
      is_clean = is_clean && !left;
    }
    if (is_clean) fs::remove_all(own, failed);
  }
}

// Removes folders without a lock: their runs are dead.
void remove_left_folders(const fs::path& where) {
  std::error_code failed;
  for (fs::directory_iterator at(where, failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename().string();
    struct stat info {};
    if (name.rfind(kPrefix, 0) != 0 || ::lstat(at->path().c_str(), &info) != 0 || !S_ISDIR(info.st_mode) ||
        info.st_uid != ::geteuid())
      continue;
    const int fd = ::open((at->path() / kLockName).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) continue;
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) remove_run(at->path());
    ::close(fd);
  }
}

// Makes the lock of a run's folder and takes it. The file gets its name when it is locked: another run that looks for
// left folders would take a lock that is free.
int make_lock(const std::string& folder) {
  const std::string name = folder + "/" + kLockName, unnamed = name + ".new";
  const int fd = ::open(unnamed.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0 && (::flock(fd, LOCK_EX | LOCK_NB) != 0 || ::rename(unnamed.c_str(), name.c_str()) != 0)) {
    ::close(fd);
    return -1;
  }
  return fd;
}

void close_descriptors_but(int kept) {
  if (kept > 0) (void)::close_range(0, static_cast<unsigned>(kept) - 1, 0);
  (void)::close_range(static_cast<unsigned>(kept) + 1, ~0u, 0);
}

}  // namespace

// Atomics only: several processes write it.
struct CleanupProcess::Groups {
  std::atomic<pid_t> pids[256] = {};

  void add(pid_t pid) {
    for (std::atomic<pid_t>& slot : pids) {
      pid_t none = 0;
      if (slot.compare_exchange_strong(none, pid)) return;
    }
  }
  void remove(pid_t pid) {
    for (std::atomic<pid_t>& slot : pids) {
      pid_t one = pid;
      if (slot.compare_exchange_strong(one, 0)) return;
    }
  }
};

Result<std::unique_ptr<CleanupProcess>> CleanupProcess::start() {
  std::unique_ptr<CleanupProcess> cleanup(new CleanupProcess);
  std::error_code failed;
  const fs::path where = fs::temp_directory_path(failed);
  if (failed) return make_error(Code::ACCESS_FAILED, "no folder for temporary files: " + failed.message());
  remove_left_folders(where);
  std::string folder = (where / (std::string(kPrefix) + "XXXXXX")).string();
  if (::mkdtemp(folder.data()) == nullptr)
    return make_error(Code::ACCESS_FAILED, "cannot make a folder in '" + where.string() + "'");
  cleanup->folder_ = folder;
  cleanup->lock_fd_ = make_lock(folder);
  void* const page =
      ::mmap(nullptr, sizeof(Groups), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int ends[2];
  if (cleanup->lock_fd_ < 0 || page == MAP_FAILED || ::pipe2(ends, O_CLOEXEC) != 0)
    return make_error(Code::OUT_OF_RESOURCES, "no lock, page or pipe for the run's cleanup process");
  cleanup->groups_ = new (page) Groups;
  cleanup->watch_fd_ = ends[0];
  cleanup->pipe_fd_ = ends[1];
  cleanup->pid_ = ::fork();
  if (cleanup->pid_ == 0) cleanup->watch();
  ::close(std::exchange(cleanup->watch_fd_, -1));
  if (cleanup->pid_ < 0)
    return make_error(Code::OUT_OF_RESOURCES, "no process for the run's cleanup process");
  return cleanup;
}

CleanupProcess::~CleanupProcess() {
  if (pipe_fd_ >= 0) ::close(pipe_fd_);
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  clear();  // if there was no cleanup process, or it was killed
  if (lock_fd_ >= 0) ::close(lock_fd_);
  if (groups_ != nullptr) ::munmap(groups_, sizeof(Groups));
}

void CleanupProcess::watch() {
  ::setsid();  // no longer gets the terminal's signals
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(signal, SIG_IGN);
  ::prctl(PR_SET_NAME, "verify-cleanup");
  close_descriptors_but(watch_fd_);
  char byte;
  while (::read(watch_fd_, &byte, 1) < 0 && errno == EINTR) {
  }
  clear();
  ::_exit(0);
}

void CleanupProcess::clear() {
  if (groups_ != nullptr)
    for (std::atomic<pid_t>& slot : groups_->pids)
      if (const pid_t pid = slot.exchange(0); pid > 0) ::kill(-pid, SIGKILL);
  if (!folder_.empty()) remove_run(folder_);
}

void CleanupProcess::take_child(pid_t parent) {
  ::setpgid(0, 0);
  groups_->add(::getpid());
  take_helper(parent);
  ::close(std::exchange(lock_fd_, -1));  // processes that it starts do not hold the folder
  if (Groups* const groups = std::exchange(groups_, nullptr); groups != nullptr)
    ::munmap(groups, sizeof(Groups));
}

void CleanupProcess::take_helper(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  if (pipe_fd_ >= 0) ::close(std::exchange(pipe_fd_, -1));
}

void CleanupProcess::end_group(pid_t pid) {
  ::kill(-pid, SIGKILL);
  groups_->remove(pid);
}

Result<std::string> CleanupProcess::make_folder() {
  const fs::path own(folder_);
  // Records the folder before it exists: a run killed in between leaves a record without folder, not a folder
  // without record.
  for (int i = 0; i < 100; ++i) {
    std::string note = folder_ + "/" + kFolderPrefix + "XXXXXXXXXX";
    const int fd = ::mkostemp(note.data(), O_CLOEXEC);
    if (fd < 0) break;
    ::close(fd);
    const std::string wanted = (own.parent_path() / fs::path(note).filename()).string();
    if (::mkdir(wanted.c_str(), 0700) == 0) return wanted;
    ::unlink(note.c_str());
    if (errno != EEXIST) break;
  }
  return make_error(Code::ACCESS_FAILED, "cannot make a folder in '" + own.parent_path().string() + "'");
}

void CleanupProcess::remove_folder(const std::string& folder) {
  std::error_code failed;
  fs::remove_all(folder, failed);
  if (!failed) fs::remove(fs::path(folder_) / fs::path(folder).filename(), failed);
}

}  // namespace etb::conformance
