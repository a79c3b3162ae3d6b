#include "conformance/runner/child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>

#include "conformance/report/outcome_json.hpp"
#include "conformance/report/small_case_json.hpp"
#include "conformance/runner/child_body.hpp"
#include "conformance/runner/confinement.hpp"
#include "conformance/runner/keeper.hpp"
#include "conformance/runner/replay.hpp"

namespace etb::conformance {
namespace {

constexpr uint64_t kMillisecond = 1000000;
constexpr uint64_t kTimeForStacks = 300 * kMillisecond;
constexpr uint32_t kLeastBlobMs = 1000;
constexpr size_t kMaxLineBytes = size_t{1} << 24;  // one with a case of a few megabytes, in hexadecimal

std::string read_text(int fd) {
  std::string text(16384, '\0');
  const ssize_t count = ::pread(fd, text.data(), text.size(), 0);
  text.resize(count > 0 ? static_cast<size_t>(count) : 0);
  return text;
}

// Whether a process of the group lives, and goes on doing so: zombies are somebody's who will wait for them, and one may just be ending.
bool has_living_member(pid_t group) {
  constexpr int kTries = 20;
  constexpr useconds_t kRestUs = 10000;
  for (int i = 0; i < kTries; ++i) {
    bool lives = false;
    std::error_code failed;
    for (std::filesystem::directory_iterator at("/proc", failed), end; !failed && at != end;
         at.increment(failed)) {
      std::ifstream in(at->path() / "stat");
      std::string text;
      std::getline(in, text);
      // "12 (name) S parent group ...", and a name may hold anything.
      char state = 'Z';
      int parent = 0, its_group = 0;
      const size_t behind_name = text.rfind(')');
      if (behind_name == std::string::npos) continue;
      std::sscanf(text.c_str() + behind_name + 1, " %c %d %d", &state, &parent, &its_group);
      lives = lives || (its_group == group && state != 'Z' && state != 'X');
    }
    if (!lives) return false;
    ::usleep(kRestUs);
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<Child>> Child::start(const Plan& plan, std::vector<uint32_t> items) {
  std::unique_ptr<Child> child(new Child);
  child->plan_ = &plan;
  child->items_ = std::move(items);
  void* const page =
      ::mmap(nullptr, sizeof(ProgressPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int ends[2];
  if (page == MAP_FAILED || ::pipe2(ends, O_CLOEXEC) != 0)
    return make_error(Code::OUT_OF_RESOURCES, "no shared page or pipe for a child");
  child->page_ = new (page) ProgressPage;
  child->stacks_fd_ = ::memfd_create("stacks", MFD_CLOEXEC);
  child->started_ns_ = monotonic_ns();
  const pid_t parent = ::getpid();
  child->pid_ = ::fork();
  if (child->pid_ == 0) {
    plan.keeper->take_child(parent);
    ::signal(SIGINT, SIG_DFL);
    ::signal(SIGTERM, SIG_DFL);
    if (!plan.has_network) (void)leave_network();  // whether it can was asked before the run
    run_child(plan, child->items_, ends[1], child->stacks_fd_, child->page_);
    ::_exit(0);
  }
  ::close(ends[1]);
  child->fd_ = ends[0];
  ::fcntl(child->fd_, F_SETFL, O_NONBLOCK);
  if (child->pid_ < 0) return make_error(Code::OUT_OF_RESOURCES, "no process for a child");
  ::setpgid(child->pid_, child->pid_);
  return child;
}

Child::~Child() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    plan_->keeper->end_group(pid_);
  }
  if (fd_ >= 0) ::close(fd_);
  if (stacks_fd_ >= 0) ::close(stacks_fd_);
  if (page_ != nullptr) ::munmap(page_, sizeof(ProgressPage));
}

void Child::take_lines(const std::function<void(Outcome)>& on_outcome) {
  char piece[65536];
  for (;;) {
    const ssize_t count = ::read(fd_, piece, sizeof(piece));
    if (count <= 0) break;
    buffer_.append(piece, static_cast<size_t>(count));
  }
  size_t begin = 0;
  for (size_t end; (end = buffer_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const nlohmann::json line = nlohmann::json::parse(
        buffer_.begin() + static_cast<long>(begin), buffer_.begin() + static_cast<long>(end), nullptr, false);
    if (line.is_string()) said_goodbye_ = true;
    std::optional<Outcome> outcome = outcome_from_json(line);
    if (!outcome) continue;
    if (const auto small = line.find("small"); small != line.end())
      if (Result<SmallCase> read = small_case_from_json(*small))
        outcome->small = std::make_shared<const SmallCase>(std::move(*read));
    // Only what was asked for counts: the plugin's code shares the child's descriptor.
    if (done_count_ < items_.size() && plan_->items[items_[done_count_]].name == outcome->name)
      ++done_count_;
    else if (outcome->name != end_of(plan_->items[items_.back()].name))
      continue;
    on_outcome(std::move(*outcome));
  }
  buffer_.erase(0, begin);
  if (buffer_.size() > kMaxLineBytes) buffer_.clear();
}

void Child::watch_time() {
  const uint64_t now = monotonic_ns();
  if (quit_ns_ != 0) {
    if (now - quit_ns_ > kTimeForStacks) ::kill(-pid_, SIGKILL);
    return;
  }
  const uint32_t number = page_->item.load();
  const bool is_in_item = number < plan_->items.size();
  const uint64_t begin = is_in_item ? page_->started_ns.load() : started_ns_;
  const bool is_check = is_in_item && plan_->items[number].check != nullptr;
  // Each damaged payload has its own time, a fifth of a case's: nobody waits for a file that is no payload.
  const bool is_blob = is_check && group_of(plan_->items[number].name) == "blob";
  const uint64_t limit = (is_blob    ? std::max(plan_->case_timeout_ms / 5, kLeastBlobMs)
                          : is_check ? plan_->check_timeout_ms
                                     : plan_->case_timeout_ms) *
                         kMillisecond * kTimeScale;
  if (now <= begin || now - begin <= limit) return;
  was_hanging_ = true;
  quit_ns_ = now;
  // Each thread says where it is, one after the other.
  std::error_code failed;
  const std::string folder = "/proc/" + std::to_string(pid_) + "/task";
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end;
       at.increment(failed)) {
    ::syscall(SYS_tgkill, pid_, std::atoi(at->path().filename().c_str()), SIGQUIT);
    ::usleep(2000);
  }
}

void Child::note_end(int status) {
  const std::string phase(page_->phase, strnlen(page_->phase, sizeof(page_->phase)));
  if (was_hanging_)
    death_ = "no end within its time, in " + phase;
  else if (WIFSIGNALED(status))
    death_ = "killed by signal " + std::to_string(WTERMSIG(status)) + " (" + ::strsignal(WTERMSIG(status)) +
             ") in " + phase;
  else
    death_ = "exited with code " + std::to_string(WEXITSTATUS(status)) + " in " + phase;
  if (was_hanging_) stacks_ = read_text(stacks_fd_);
}

bool Child::step(const std::function<void(Outcome)>& on_outcome) {
  take_lines(on_outcome);
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) {
    watch_time();
    return true;
  }
  take_lines(on_outcome);
  note_end(status);
  left_processes_ = ::kill(-pid_, 0) == 0 && has_living_member(pid_);
  plan_->keeper->end_group(pid_);
  pid_ = -1;
  return false;
}

}  // namespace etb::conformance
