// SPDX-License-Identifier: Apache-2.0
// The judge's connection to the plugin's process: starts it under its guardian, sends requests, reads
// answers, enforces time limits. It does not trust the process: an answer counts only with its request's
// nonce, in order, without bytes before or after it.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "conformance/process/guardian.hpp"
#include "conformance/process/in_process.hpp"
#include "conformance/process/subject_process.hpp"

namespace etb::conformance {

enum class LinkState {
  kAnswered,
  kEnded,     // the process ended or was killed; see end()
  kHanging,   // no answer within its time; the process was ended
  kTampered,  // bytes that are no answer; the process was ended
};

class SubjectLink {
 public:
  [[nodiscard]] static Result<std::unique_ptr<SubjectLink>> start(const Plan& plan);
  ~SubjectLink();  // kills the process if it still runs
  SubjectLink(const SubjectLink&) = delete;
  SubjectLink& operator=(const SubjectLink&) = delete;

  // Queues a request. Sends it at once if the process has room for it, else while receive() waits.
  void send(RequestKind kind, std::vector<std::byte> body);

  struct Limits {
    uint64_t time_ns = 0;           // time since the call, restarted if the process asks for it
    uint64_t whole_time_ns = 0;     // the same with all restarts
    uint64_t most_bytes = 1 << 24;  // limit for the answer
  };
  // Receives the answer to the oldest open request.
  LinkState receive(const Limits& limits, std::vector<std::byte>& out_answer);

  // Returns text that the process printed since the last call: up to its last answer, or all of it after its
  // end. The text has at most `most_bytes`.
  std::string take_printed(uint64_t most_bytes = 200);
  // True if the process wrote into the part of shared memory that only the judge writes.
  bool has_changed_page() const;
  // Returns the current call, as the process reports it.
  std::string phase() const;
  std::string stacks() const;                                  // stacks of a hanging process
  const std::string& tampering() const { return tampering_; }  // cause of kTampered

  // Measures the usage of the processes, so that the report includes a current excess.
  void look();
  // Waits for the end of the process, or ends it after `limit_ns`. No bytes may remain in the channel.
  const GuardianReport& end(uint64_t limit_ns);

 private:
  explicit SubjectLink(const Plan& plan) : plan_(plan) {}
  Status open();
  void pump(int timeout_ms);
  void flush();
  void drain();
  bool take_frame(const Limits& limits, std::vector<std::byte>& out_answer);
  LinkState give_up(LinkState state);
  void command(char what);
  void take_report();

  struct Expected {
    uint32_t kind = 0, sequence = 0;
    Nonce nonce{};
  };

  const Plan& plan_;
  pid_t guardian_ = -1;
  int channel_fd_ = -1, control_fd_ = -1, stacks_fd_ = -1, streams_fd_ = -1;
  ProgressPage* page_ = nullptr;
  std::string folder_;
  std::deque<Expected> expected_;
  uint32_t sequence_ = 0;
  std::vector<std::byte> outgoing_, incoming_;
  size_t sent_bytes_ = 0;
  uint64_t printed_bytes_ = 0, answered_printed_bytes_ = 0;
  std::optional<GuardianReport> report_;
  bool has_looked_ = false;
  std::string tampering_;
};

}  // namespace etb::conformance
