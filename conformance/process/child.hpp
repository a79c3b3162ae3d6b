// SPDX-License-Identifier: Apache-2.0
// A child process that judges some items of a plan (judge_process.hpp): its messages and progress. It runs no
// code of the plugin.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "conformance/outcome/outcome.hpp"
#include "conformance/process/plan.hpp"

namespace etb::conformance {

class Child {
 public:
  // Forks. `items` are indices into plan.items.
  [[nodiscard]] static Result<std::unique_ptr<Child>> start(const Plan& plan, std::vector<uint32_t> items);
  ~Child();  // kills it if it still runs
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int fd() const { return fd_; }
  const std::vector<uint32_t>& items() const { return items_; }

  // Reads messages. Returns true while the child lives.
  bool step(const std::function<void(Outcome)>& on_outcome);

  // Valid after step() returned false.
  size_t done_count() const { return done_count_; }  // items that sent an outcome
  // True if the child finished its work. Items without an outcome follow one that ended the plugin's process.
  bool has_judged() const { return said_goodbye_ && done_count_ != 0; }
  const std::string& death() const { return death_; }  // reason of a death before a judgement

 private:
  Child() = default;
  void take_lines(const std::function<void(Outcome)>& on_outcome);

  const Plan* plan_ = nullptr;
  std::vector<uint32_t> items_;
  pid_t pid_ = -1;
  int fd_ = -1;
  std::string buffer_;
  size_t done_count_ = 0;
  bool said_goodbye_ = false;
  std::string death_;
};

}  // namespace etb::conformance
