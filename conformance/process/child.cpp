// SPDX-License-Identifier: Apache-2.0
#include "conformance/process/child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "conformance/outcome/outcome_json.hpp"
#include "conformance/outcome/small_case_json.hpp"
#include "conformance/process/cleanup_process.hpp"
#include "conformance/process/judge_process.hpp"
#include "conformance/process/replay.hpp"

namespace etb::conformance {
namespace {

constexpr size_t kMaxLineBytes = size_t{1} << 24;  // a line with a case of a few megabytes, in hexadecimal

std::string text_of_end(int status) {
  if (!WIFSIGNALED(status)) return "exited with code " + std::to_string(WEXITSTATUS(status));
  return "killed by signal " + std::to_string(WTERMSIG(status)) + " (" + ::strsignal(WTERMSIG(status)) + ")";
}

}  // namespace

Result<std::unique_ptr<Child>> Child::start(const Plan& plan, std::vector<uint32_t> items) {
  std::unique_ptr<Child> child(new Child);
  child->plan_ = &plan;
  child->items_ = std::move(items);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return make_error(Code::OUT_OF_RESOURCES, "no pipe for a child");
  const pid_t parent = ::getpid();
  child->pid_ = ::fork();
  if (child->pid_ == 0) {
    plan.cleanup->take_child(parent);
    ::signal(SIGINT, SIG_DFL);
    ::signal(SIGTERM, SIG_DFL);
    ::close(ends[0]);
    run_judge(plan, child->items_, ends[1]);
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
    plan_->cleanup->end_group(pid_);
  }
  if (fd_ >= 0) ::close(fd_);
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
    if (line.is_object() && line.contains("error") && line["error"].is_string())
      death_ = line["error"].get<std::string>();
    std::optional<Outcome> outcome = outcome_from_json(line);
    if (!outcome) continue;
    if (const auto small = line.find("small"); small != line.end())
      if (Result<SmallCase> read = small_case_from_json(*small))
        outcome->small = std::make_shared<const SmallCase>(std::move(*read));
    if (done_count_ < items_.size() && plan_->items[items_[done_count_]].name == outcome->name)
      ++done_count_;
    else if (outcome->name != end_of(plan_->items[items_.back()].name))
      continue;
    on_outcome(std::move(*outcome));
  }
  buffer_.erase(0, begin);
  if (buffer_.size() > kMaxLineBytes) buffer_.clear();
}

bool Child::step(const std::function<void(Outcome)>& on_outcome) {
  take_lines(on_outcome);
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG | WUNTRACED) != pid_) return true;
  if (WIFSTOPPED(status)) {  // A plugin reached it: the suite itself never stops a child.
    death_ = "was stopped by signal " + std::to_string(WSTOPSIG(status));
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status, 0);
  }
  take_lines(on_outcome);
  if (death_.empty()) death_ = text_of_end(status);
  plan_->cleanup->end_group(pid_);
  pid_ = -1;
  return false;
}

}  // namespace etb::conformance
