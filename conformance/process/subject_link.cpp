// SPDX-License-Identifier: Apache-2.0
#include "conformance/process/subject_link.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "conformance/process/cleanup_process.hpp"
#include "conformance/process/processor_share.hpp"
#include "conformance/process/watched_time.hpp"

namespace etb::conformance {
namespace {

constexpr uint64_t kMillisecond = 1000000;
constexpr uint64_t kTimeForStacks = 300 * kMillisecond;
constexpr uint64_t kTimeForEnd = 20000 * kMillisecond;
constexpr int kLongestWaitMs = 50;
constexpr uint64_t kMostStepNs = 4 * kLongestWaitMs * kMillisecond;
constexpr unsigned char kPattern = 0x5e;

// Moves a descriptor above the standard streams, which the plugin's process replaces.
int above_streams(int fd) {
  if (fd < 0 || fd > 2) return fd;
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  ::close(fd);
  return moved;
}

bool make_pair(int type, int& out_ours, int& out_theirs) {
  int ends[2];
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0) return false;
  out_ours = above_streams(ends[0]);
  out_theirs = above_streams(ends[1]);
  return out_ours >= 0 && out_theirs >= 0;
}

template <class T>
void append(std::vector<std::byte>& out, const T& value) {
  const auto* first = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), first, first + sizeof(value));
}

}  // namespace

Result<std::unique_ptr<SubjectLink>> SubjectLink::start(const Plan& plan) {
  std::unique_ptr<SubjectLink> link(new SubjectLink(plan));
  ETB_TRY(link->open());
  return link;
}

Status SubjectLink::open() {
  int channel = -1, control = -1;
  void* const page =
      ::mmap(nullptr, sizeof(ProgressPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED || !make_pair(SOCK_STREAM, channel_fd_, channel) ||
      !make_pair(SOCK_SEQPACKET, control_fd_, control))
    return make_error(Code::OUT_OF_RESOURCES, "no shared page or sockets for the plugin's process");
  page_ = new (page) ProgressPage;
  std::memset(page_->pattern, kPattern, sizeof(page_->pattern));
  stacks_fd_ = above_streams(::memfd_create("stacks", MFD_CLOEXEC));
  streams_fd_ = above_streams(::memfd_create("streams", MFD_CLOEXEC));
  ETB_ASSIGN(folder_, plan_.cleanup->make_folder());
  GuardianArgs args;
  args.confinement = plan_.confinement;
  args.limits = plan_.limits;
  args.folder = folder_;
  args.control_fd = control;
  args.pids = {::getpid(), ::getppid(), plan_.main_pid};
  args.subject_fds = {channel, stacks_fd_, streams_fd_};
  args.subject = [&] { run_subject(plan_, {channel, stacks_fd_, streams_fd_, page_}); };
  guardian_ = fork_confined(plan_.confinement);
  if (guardian_ == 0) {
    ::close(channel_fd_);
    ::close(control_fd_);
    run_guardian(args);
  }
  ::close(channel);
  ::close(control);
  if (guardian_ < 0) return make_error(Code::OUT_OF_RESOURCES, "no process for the plugin");
  return {};
}

SubjectLink::~SubjectLink() {
  if (guardian_ > 0) (void)end(0);
  for (const int fd : {channel_fd_, control_fd_, stacks_fd_, streams_fd_})
    if (fd >= 0) ::close(fd);
  if (page_ != nullptr) ::munmap(page_, sizeof(ProgressPage));
  if (!folder_.empty()) plan_.cleanup->remove_folder(folder_);
}

void SubjectLink::send(RequestKind kind, std::vector<std::byte> body) {
  Expected& expected = expected_.emplace_back();
  expected.kind = static_cast<uint32_t>(kind);
  expected.sequence = ++sequence_;
  // The kernel's generator answers requests of this size in full, and never fails after boot.
  (void)!::getrandom(expected.nonce.data(), sizeof(expected.nonce), 0);
  outgoing_.reserve(outgoing_.size() + sizeof(RequestHead) + body.size() + sizeof(Nonce));
  append(outgoing_, RequestHead{expected.kind, expected.sequence, body.size()});
  outgoing_.insert(outgoing_.end(), body.begin(), body.end());
  append(outgoing_, expected.nonce);
  flush();
}

void SubjectLink::flush() {
  while (sent_bytes_ < outgoing_.size()) {
    const ssize_t count = ::send(channel_fd_, outgoing_.data() + sent_bytes_, outgoing_.size() - sent_bytes_,
                                 MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count <= 0) return;
    sent_bytes_ += static_cast<size_t>(count);
  }
  outgoing_.clear();
  sent_bytes_ = 0;
}

void SubjectLink::take_report() {
  std::byte message[8192];
  for (ssize_t count; (count = ::recv(control_fd_, message, sizeof(message), MSG_DONTWAIT)) >= 0;) {
    has_looked_ = has_looked_ || count == 1;
    if (count == 1) continue;
    // An empty message means the end of the socket: the guardian was killed.
    report_ = decode_report({message, static_cast<size_t>(count)});
    if (!report_) {
      report_ = GuardianReport{};
      report_->status = SIGKILL;
    }
    return;
  }
}

// Waits at most `timeout_ms` for something to do, and does it.
void SubjectLink::pump(int timeout_ms) {
  pollfd waiting[] = {{channel_fd_, POLLIN, 0}, {control_fd_, POLLIN, 0}};
  if (!outgoing_.empty()) waiting[0].events |= POLLOUT;
  // A closed channel is always readable. The report describes the end of the process.
  const bool is_channel_over = report_.has_value();
  ::poll(is_channel_over ? waiting + 1 : waiting, is_channel_over ? 1 : 2, timeout_ms);
  if (!outgoing_.empty()) flush();
  drain();
  if (report_) return;
  take_report();
  if (report_) drain();  // bytes that came in between
}

void SubjectLink::drain() {
  constexpr int kMostPieces = 64;  // so that a process that writes forever cannot block the judge
  std::byte piece[65536];
  for (int i = 0; i < kMostPieces; ++i) {
    const ssize_t count = ::recv(channel_fd_, piece, sizeof(piece), MSG_DONTWAIT);
    if (count == 0 && !report_) ::usleep(1000);  // the end of the channel comes before the report
    if (count <= 0) return;
    incoming_.insert(incoming_.end(), piece, piece + count);
    if (count < static_cast<ssize_t>(sizeof(piece))) return;
  }
}

bool SubjectLink::take_frame(const Limits& limits, std::vector<std::byte>& out_answer) {
  AnswerHead head;
  if (incoming_.size() < sizeof(head)) return false;
  std::memcpy(&head, incoming_.data(), sizeof(head));
  const Expected expected = expected_.empty() ? Expected{} : expected_.front();
  if (expected_.empty() || head.nonce != expected.nonce || head.request.kind != expected.kind ||
      head.request.sequence != expected.sequence)
    tampering_ = "bytes that the suite did not write";
  else if (head.request.nbytes > limits.most_bytes)
    tampering_ = "an answer of " + std::to_string(head.request.nbytes) + " bytes, expected at most " +
                 std::to_string(limits.most_bytes);
  if (!tampering_.empty()) return false;
  const size_t whole = sizeof(head) + static_cast<size_t>(head.request.nbytes);
  if (incoming_.size() < whole) return false;
  out_answer.assign(incoming_.begin() + sizeof(head), incoming_.begin() + static_cast<long>(whole));
  incoming_.erase(incoming_.begin(), incoming_.begin() + static_cast<long>(whole));
  expected_.pop_front();
  answered_printed_bytes_ = head.printed_bytes;
  return true;
}

LinkState SubjectLink::receive(const Limits& limits, std::vector<std::byte>& out_answer) {
  WatchedTime time(monotonic_ns(), kMostStepNs);
  uint32_t restarts = page_->restarts.load();
  for (;;) {
    const bool has_ended = report_.has_value();
    if (take_frame(limits, out_answer)) return LinkState::kAnswered;
    if (!tampering_.empty()) return give_up(LinkState::kTampered);
    if (has_ended) return LinkState::kEnded;
    const uint64_t begin = monotonic_ns();
    pump(kLongestWaitMs);
    const uint64_t now = monotonic_ns();
    time.observe(now, now - begin > kLongestWaitMs * kMillisecond / 2 ? processor_share() : 1);
    if (const uint32_t more = page_->restarts.load(); more != restarts) {
      restarts = more;
      time.restart();
    }
    const bool is_late = time.part_ns() > limits.time_ns || time.whole_ns() > limits.whole_time_ns;
    if (!is_late || report_) continue;
    pump(0);  // this process may have been the slow one
    if (take_frame(limits, out_answer)) return LinkState::kAnswered;
    return give_up(LinkState::kHanging);
  }
}

LinkState SubjectLink::give_up(LinkState state) {
  if (state == LinkState::kHanging) {
    command(kPrintStacks);
    for (const uint64_t begin = monotonic_ns(); !report_ && monotonic_ns() - begin < kTimeForStacks;)
      pump(kLongestWaitMs);
  }
  (void)end(0);
  return state;
}

void SubjectLink::command(char what) { (void)!::send(control_fd_, &what, 1, MSG_NOSIGNAL); }

void SubjectLink::look() {
  has_looked_ = false;
  command(kLook);
  for (const uint64_t begin = monotonic_ns();
       !has_looked_ && !report_ && monotonic_ns() - begin < 1000 * kMillisecond;)
    pump(kLongestWaitMs);
}

const GuardianReport& SubjectLink::end(uint64_t limit_ns) {
  if (guardian_ < 0) return *report_;
  const uint64_t begin = monotonic_ns();
  while (!report_ && monotonic_ns() - begin < limit_ns) pump(kLongestWaitMs);
  if (!report_) command(kEndAll);
  // The kernel takes back memory of gigabytes, on processors that others use, too.
  WatchedTime ordered(monotonic_ns(), kMostStepNs);
  while (!report_ && ordered.whole_ns() < kTimeForEnd) {
    pump(kLongestWaitMs);
    ordered.observe(monotonic_ns(), processor_share());
  }
  if (!report_) {
    report_ = GuardianReport{};
    report_->status = SIGKILL;
    report_->excess = "a process that cannot be ended";
  }
  if (tampering_.empty() && expected_.empty() && !incoming_.empty())
    tampering_ = "bytes after its last answer";
  ::kill(guardian_, SIGKILL);
  ::waitpid(guardian_, nullptr, 0);
  guardian_ = -1;
  return *report_;
}

std::string SubjectLink::take_printed(uint64_t most_bytes) {
  struct stat info {};
  if (::fstat(streams_fd_, &info) != 0) return "";
  uint64_t end = static_cast<uint64_t>(info.st_size);
  if (guardian_ > 0) end = std::min(end, answered_printed_bytes_);
  if (end <= printed_bytes_) return "";
  std::string text(std::min(end - printed_bytes_, most_bytes), '\0');
  if (::pread(streams_fd_, text.data(), text.size(), static_cast<off_t>(printed_bytes_)) < 0) text.clear();
  printed_bytes_ = end;
  return text;
}

bool SubjectLink::has_changed_page() const {
  static const std::vector<unsigned char> untouched(sizeof(page_->pattern), kPattern);
  return page_->phase[sizeof(page_->phase) - 1] != '\0' ||
         std::memcmp(page_->pattern, untouched.data(), untouched.size()) != 0;
}

std::string SubjectLink::phase() const {
  char text[sizeof(page_->phase)];
  std::memcpy(text, page_->phase, sizeof(text));
  return {text, ::strnlen(text, sizeof(text))};
}

std::string SubjectLink::stacks() const {
  std::string text(131072, '\0');
  const ssize_t count = ::pread(stacks_fd_, text.data(), text.size(), 0);
  text.resize(count > 0 ? static_cast<size_t>(count) : 0);
  return text;
}

}  // namespace etb::conformance
