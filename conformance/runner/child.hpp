// One child process that runs some items of a plan: what it sends, where it is, how it ended.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "conformance/runner/outcome.hpp"
#include "conformance/runner/plan.hpp"
#include "conformance/runner/progress.hpp"

namespace etb::conformance {

class Child {
 public:
  // Forks. `items` are numbers of plan.items.
  [[nodiscard]] static Result<std::unique_ptr<Child>> start(const Plan& plan, std::vector<uint32_t> items);
  ~Child();  // kills what still runs
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int fd() const { return fd_; }
  const std::vector<uint32_t>& items() const { return items_; }

  // Reads what came. True while the child lives.
  bool step(const std::function<void(Outcome)>& on_outcome);

  // After step() was false.
  size_t done_count() const { return done_count_; }  // items that sent an outcome
  bool is_complete() const { return done_count_ == items_.size() && said_goodbye_; }
  const std::string& death() const {
    return death_;
  }  // "killed by signal 11 (Segmentation fault) in execute"
  bool was_hanging() const { return was_hanging_; }
  const std::string& stacks() const { return stacks_; }    // of a hang
  bool left_processes() const { return left_processes_; }  // they are killed

 private:
  Child() = default;
  void take_lines(const std::function<void(Outcome)>& on_outcome);
  void watch_time();
  void note_end(int status);

  const Plan* plan_ = nullptr;
  std::vector<uint32_t> items_;
  pid_t pid_ = -1;
  int fd_ = -1;
  int stacks_fd_ = -1;
  ProgressPage* page_ = nullptr;
  std::string buffer_;
  size_t done_count_ = 0;
  uint64_t started_ns_ = 0;
  uint64_t quit_ns_ = 0;
  bool said_goodbye_ = false;
  bool was_hanging_ = false;
  bool left_processes_ = false;
  std::string death_;
  std::string stacks_;
};

}  // namespace etb::conformance
