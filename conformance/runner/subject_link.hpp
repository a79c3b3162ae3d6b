// The judge's end of the process that holds the plugin: starts it behind its guardian, sends requests, takes answers, keeps the time. What comes from
// there is distrusted: an answer counts only with the nonce of its request, in order, and with nothing before or after it.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "conformance/runner/child_body.hpp"
#include "conformance/runner/guardian.hpp"
#include "conformance/runner/subject_process.hpp"

namespace etb::conformance {

enum class LinkState {
  kAnswered,
  kEnded,     // the process is gone, or was ended; end() says how
  kHanging,   // no answer within its time; the process was ended
  kTampered,  // bytes that are no answer; the process was ended
};

class SubjectLink {
 public:
  [[nodiscard]] static Result<std::unique_ptr<SubjectLink>> start(const Plan& plan);
  ~SubjectLink();  // ends what still runs
  SubjectLink(const SubjectLink&) = delete;
  SubjectLink& operator=(const SubjectLink&) = delete;

  // Queues a request. It is sent at once where the process has room for it, else while receive() waits.
  void send(RequestKind kind, std::vector<std::byte> body);

  struct Limits {
    uint64_t time_ns = 0;        // from the call on, and again after each restart that the process asks for
    uint64_t whole_time_ns = 0;  // with all restarts
    uint64_t most_bytes = 1 << 24;  // of the answer
  };
  // The answer of the oldest request without one.
  LinkState receive(const Limits& limits, std::vector<std::byte>& out_answer);

  // What the process printed since the last time: up to its last answer, or everything once it has ended.
  std::string take_printed();
  // Whether the process wrote into shared memory where only the judge writes.
  bool has_changed_page() const;
  // The call that it is in, as far as it tells.
  std::string phase() const;
  std::string stacks() const;                                  // of a process that was hanging
  const std::string& tampering() const { return tampering_; }  // of kTampered

  // Measures what the processes take, so that an excess which is there now is in the report.
  void look();
  // Waits for the end of the process, or ends it after `limit_ns`. Then nothing may be left in the channel.
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
