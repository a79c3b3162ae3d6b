// SPDX-License-Identifier: Apache-2.0
// A child process that holds a plugin and answers requests in turn. A crash, an abort or a hang of the plugin ends the
// child only.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

#include "etb/cpp/result.hpp"

namespace etb::diff {

class Worker {
 public:
  // `answer` runs in the child, whose memory is a copy of this process at its first request.
  using Answer = std::function<Result<std::string>(std::string_view request)>;
  Worker(Answer answer, uint64_t timeout_ms) : answer_(std::move(answer)), timeout_ms_(timeout_ms) {}
  ~Worker() { end(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Starts the child unless it runs. Returns its answer or its error; UNAVAILABLE with the reason if it died or did not
  // answer in time (died() is then true), and the next request starts another one.
  [[nodiscard]] Result<std::string> ask(const std::string& request);
  bool died() const { return died_; }  // of the last request
  void end();

 private:
  Status start();
  [[noreturn]] void serve(int fd, pid_t parent) const;
  tl::unexpected<Error> die(const char* reason_of_kill);

  Answer answer_;
  uint64_t timeout_ms_;  // of one request; 0: none
  pid_t pid_ = -1;
  int fd_ = -1;
  bool died_ = false;
};

}  // namespace etb::diff
