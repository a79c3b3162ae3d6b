// SPDX-License-Identifier: Apache-2.0
#include "conformance/runner/refine.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "conformance/outcome/outcome_json.hpp"
#include "conformance/outcome/small_case_json.hpp"
#include "conformance/process/cleanup_process.hpp"
#include "conformance/process/in_process.hpp"

namespace etb::conformance {
namespace {

// Sorts: one of each kind first, and within a kind short names, which are the smallest and shown in reports.
void sort_by_worth(std::vector<Failure>& failures) {
  const auto kind_of = [](const Outcome& out) {
    return (out.findings.empty() ? std::string() : out.findings[0].check) + " " + out.op;
  };
  std::stable_sort(failures.begin(), failures.end(), [](const Failure& a, const Failure& b) {
    return a.outcome.name.size() != b.outcome.name.size() ? a.outcome.name.size() < b.outcome.name.size()
                                                          : a.outcome.name < b.outcome.name;
  });
  std::map<std::string, size_t> counts;
  std::vector<std::pair<size_t, size_t>> order;  // earlier ones of its kind, index
  for (size_t i = 0; i < failures.size(); ++i) order.push_back({counts[kind_of(failures[i].outcome)]++, i});
  std::stable_sort(order.begin(), order.end());
  std::vector<Failure> sorted;
  for (const auto& [rank, at] : order) sorted.push_back(std::move(failures[at]));
  failures = std::move(sorted);
}

// A process that examines some failures and sends one line each. It runs no code of the plugin itself.
class Helper {
 public:
  Helper(const Plan& plan, std::vector<Failure> failures) : failures_(std::move(failures)) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
      plan.cleanup->take_helper(parent);
      ::signal(SIGINT, SIG_IGN);  // its parent ends it
      ::signal(SIGTERM, SIG_IGN);
      ::signal(SIGPIPE, SIG_IGN);
      work(plan, ends[1]);
      ::_exit(0);
    }
    ::close(ends[1]);
    fd_ = ends[0];
    ::fcntl(fd_, F_SETFL, O_NONBLOCK);
  }
  ~Helper() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    if (fd_ >= 0) ::close(fd_);
  }
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  int fd() const { return fd_; }
  bool has_ended() const { return has_ended_; }

  void read(const std::function<void(const Outcome&)>& on_refined) {
    // The end of the pipe is no sign of its end: a process started by a plugin may hold the pipe.
    has_ended_ = pid_ < 0 || ::waitpid(pid_, nullptr, WNOHANG) == pid_;
    if (has_ended_) pid_ = -1;
    char piece[65536];
    for (ssize_t count; (count = ::read(fd_, piece, sizeof(piece))) > 0;)
      buffer_.append(piece, static_cast<size_t>(count));
    size_t begin = 0;
    for (size_t end; (end = buffer_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const nlohmann::json line =
          nlohmann::json::parse(buffer_.begin() + static_cast<long>(begin),
                                buffer_.begin() + static_cast<long>(end), nullptr, false);
      std::optional<Outcome> outcome = outcome_from_json(line);
      if (!outcome) continue;
      if (const auto small = line.find("small"); small != line.end())
        if (Result<SmallCase> read = small_case_from_json(*small))
          outcome->small = std::make_shared<const SmallCase>(std::move(*read));
      on_refined(*outcome);
    }
    buffer_.erase(0, begin);
  }

 private:
  void work(const Plan& plan, int fd) {
    KnownSequences known;
    for (Failure& failure : failures_) {
      if (!confirm(plan, failure, known)) continue;
      nlohmann::ordered_json line = to_json(failure.outcome);
      if (failure.outcome.small) line["small"] = to_json(*failure.outcome.small);
      write_all(fd, dump_line(line));
    }
  }

  std::vector<Failure> failures_;
  pid_t pid_ = -1;
  int fd_ = -1;
  bool has_ended_ = false;
  std::string buffer_;
};

}  // namespace

void refine(const Plan& plan, std::vector<Failure> failures,
            const std::function<void(const Outcome&)>& on_refined, const std::atomic<bool>& stop) {
  sort_by_worth(failures);
  Plan limited = plan;
  limited.deadline_ns = monotonic_ns() + uint64_t{plan.minimise_ms} * 1000000u;
  // Failures of one batch stay together: a sequence found for one is tried for the others, for any number of
  // workers.
  std::map<const std::vector<uint32_t>*, size_t> share_of_batch;
  std::vector<std::vector<Failure>> shares(std::max(plan.worker_count, 1u));
  for (Failure& failure : failures) {
    const auto [at, is_new] = share_of_batch.try_emplace(failure.batch.get(), share_of_batch.size());
    shares[at->second % shares.size()].push_back(std::move(failure));
  }
  std::vector<std::unique_ptr<Helper>> helpers;
  for (std::vector<Failure>& share : shares)
    if (!share.empty()) helpers.push_back(std::make_unique<Helper>(limited, std::move(share)));
  while (!stop.load() && !helpers.empty()) {
    std::vector<pollfd> waiting;
    for (const auto& helper : helpers) waiting.push_back({helper->fd(), POLLIN, 0});
    ::poll(waiting.data(), waiting.size(), 50);
    for (const auto& helper : helpers) helper->read(on_refined);
    helpers.erase(std::remove_if(helpers.begin(), helpers.end(),
                                 [](const auto& helper) { return helper->has_ended(); }),
                  helpers.end());
  }
}

}  // namespace etb::conformance
