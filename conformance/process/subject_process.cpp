// SPDX-License-Identifier: Apache-2.0
#include "conformance/process/subject_process.hpp"

#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio_ext.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "conformance/outcome/outcome_json.hpp"
#include "conformance/process/in_process.hpp"
#include "conformance/process/symbols.hpp"
#include "conformance/subject/case_flow.hpp"
#include "conformance/subject/observe.hpp"
#include "conformance/subject/process_facts.hpp"

namespace etb::conformance {
namespace {

constexpr size_t kMostKept = 8;
constexpr uint64_t kMostRequestBytes = uint64_t{1} << 32;

int quit_fd = -1;

// Copies the lines of executable memory from /proc/self/maps, for with_symbols(). Async-signal-safe. Each line
// is one write: other threads print their stacks meanwhile.
void print_map() {
  const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  const size_t begin = std::strlen(kMapLine);
  char piece[1024], line[1024];
  std::memcpy(line, kMapLine, begin);
  size_t length = begin;
  for (ssize_t count; maps >= 0 && (count = ::read(maps, piece, sizeof(piece))) > 0;)
    for (ssize_t i = 0; i < count; ++i) {
      if (length < sizeof(line) - 1) line[length++] = piece[i];
      if (piece[i] != '\n') continue;
      line[length] = '\0';
      if (std::strstr(line, " r-xp ") != nullptr) (void)!::write(quit_fd, line, length);
      length = begin;
    }
  if (maps >= 0) ::close(maps);
}

// SIGQUIT precedes the kill of a process that hangs. The handler makes only async-signal-safe calls, except
// for the first backtrace() of a process, which loads a library: prepare() calls it in advance.
void print_stacks(int) {
  constexpr char kHead[] = "-- a thread\n";
  (void)!::write(quit_fd, kHead, sizeof(kHead) - 1);
  void* frames[64];
  const int count = ::backtrace(frames, 64);
  ::backtrace_symbols_fd(frames, count, quit_fd);
  static volatile sig_atomic_t has_map = 0;
  if (has_map == 0) print_map();
  has_map = 1;
}

// Closes all descriptors but the channel, the stacks and the streams.
void keep_descriptors(const SubjectChannel& channel) {
  ::__fpurge(stdout);  // unwritten text of the parent belongs to the parent
  if (const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC); null >= 0) ::dup2(null, 0);
  ::dup2(channel.streams_fd, 1);
  ::dup2(channel.streams_fd, 2);
  std::array<unsigned, 3> kept = {static_cast<unsigned>(channel.fd), static_cast<unsigned>(channel.stacks_fd),
                                  static_cast<unsigned>(channel.streams_fd)};
  std::sort(kept.begin(), kept.end());
  unsigned first = 3;
  for (const unsigned fd : kept) {
    if (fd > first) (void)::close_range(first, fd - 1, 0);
    first = fd + 1;
  }
  (void)::close_range(first, ~0u, 0);
}

void prepare(const SubjectChannel& channel) {
  keep_descriptors(channel);
  void* frame[1];
  ::backtrace(frame, 1);
  quit_fd = channel.stacks_fd;
  struct sigaction action {};
  action.sa_handler = print_stacks;
  ::sigaction(SIGQUIT, &action, nullptr);
}

bool read_all(int fd, void* data, size_t nbytes) {
  for (auto* at = static_cast<std::byte*>(data); nbytes > 0;) {
    const ssize_t count = ::read(fd, at, nbytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    at += count;
    nbytes -= static_cast<size_t>(count);
  }
  return true;
}

bool send_answer(int fd, const AnswerHead& head, std::span<const std::byte> body) {
  iovec parts[] = {{const_cast<AnswerHead*>(&head), sizeof(head)},
                   {const_cast<std::byte*>(body.data()), body.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  while (parts[0].iov_len + parts[1].iov_len > 0) {
    const ssize_t count = ::sendmsg(fd, &message, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    auto rest = static_cast<size_t>(count);
    for (iovec& part : parts) {
      const size_t done = std::min(rest, part.iov_len);
      part.iov_base = static_cast<std::byte*>(part.iov_base) + done;
      part.iov_len -= done;
      rest -= done;
    }
  }
  return true;
}

std::vector<std::byte> as_bytes(const std::string& text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

// Cases share one opened plugin. Each check opens its own.
class Answering {
 public:
  Answering(const Plan& plan, const SubjectChannel& channel) : plan_(plan), progress_(channel.page) {}

  std::vector<std::byte> answer(RequestKind kind, const std::vector<std::byte>& body) {
    progress_.at("start");
    switch (kind) {
      case RequestKind::kCase:
        return answer_case(body);
      case RequestKind::kCheck:
        return as_bytes(dump_line(to_json(answer_check(body))));
      case RequestKind::kClose:
        return as_bytes(dump_line(to_json(close())));
      case RequestKind::kOpen:
        (void)open();
        return as_bytes(open_error_);
    }
    return {};
  }

 private:
  std::vector<std::byte> answer_case(const std::vector<std::byte>& body) {
    CaseFacts facts;
    const Result<BuiltCase> built = decode_case(body);
    if (!open())
      facts.open_error = open_error_;
    else if (!built)
      facts.open_error = built.error().message;
    else
      facts = observe_case(*subject_, *built, progress_);
    // A driver opens files with its device and keeps them until the process ends (NVIDIA's 12). They are there after the
    // first run; what comes later is a leak.
    if (!facts.runs.empty() && !has_run_) {
      has_run_ = true;
      files_before_ = std::max(files_before_, open_descriptor_count());
    }
    return encode_facts(facts);
  }

  Outcome answer_check(const std::vector<std::byte>& body) {
    const std::string name(reinterpret_cast<const char*>(body.data()), body.size());
    const Check* const check = find_check(name);
    if (check != nullptr)
      return run_check(*check, name, plan_.subject, plan_.contract, plan_.latency, progress_);
    Outcome out;
    out.name = name;
    out.findings.push_back({"suite.build", "no such check", ""});
    return out;
  }

  // Reports findings of deinit and unloading.
  Outcome close() {
    Outcome out;
    out.name = "close";
    out.state = State::kPass;
    if (subject_ == nullptr) return out;
    progress_.at("deinit");
    subject_->close();
    add_violations(*subject_, out);
    add_failed_end(out);
    // A loaded library may keep a few descriptors. More than these grew with the cases.
    if (const size_t files = open_descriptor_count(); files > files_before_ + kMostKept)
      out.findings.push_back({"leak.descriptors-of-a-batch",
                              std::to_string(files - files_before_) + " more open files after a batch", ""});
    if (const size_t threads = thread_count();
        threads > threads_before_ + kMostKept && (ident_flags_ & ETB_PLUGIN_OWN_THREADS) == 0)
      out.findings.push_back({"leak.threads-of-a-batch",
                              std::to_string(threads - threads_before_) + " more threads after a batch",
                              "ABI-HYG-02"});
    return out;
  }

  bool open() {
    if (subject_ != nullptr || !open_error_.empty()) return subject_ != nullptr;
    progress_.at("open");
    files_before_ = open_descriptor_count();
    threads_before_ = thread_count();
    Result<std::unique_ptr<Subject>> subject = Subject::open(plan_.subject);
    if (subject) {
      subject_ = std::move(*subject);
      ident_flags_ = subject_->library().ident().flags;
    } else {
      open_error_ = subject.error().message.empty() ? "no text" : subject.error().message;
    }
    return subject_ != nullptr;
  }

  const Plan& plan_;
  Progress progress_;
  std::unique_ptr<Subject> subject_;
  std::string open_error_;
  bool has_run_ = false;
  size_t files_before_ = 0, threads_before_ = 0;
  uint32_t ident_flags_ = 0;
};

}  // namespace

void run_subject(const Plan& plan, const SubjectChannel& channel) {
  prepare(channel);
  Answering answering(plan, channel);
  for (;;) {
    AnswerHead head;
    if (!read_all(channel.fd, &head.request, sizeof(head.request)) || head.request.nbytes > kMostRequestBytes)
      ::_exit(1);
    std::vector<std::byte> body(head.request.nbytes);
    if (!read_all(channel.fd, body.data(), body.size())) ::_exit(1);
    const auto kind = static_cast<RequestKind>(head.request.kind);
    const std::vector<std::byte> answer = answering.answer(kind, body);
    ::fflush(nullptr);  // text that the plugin printed belongs to this request
    head.request.nbytes = answer.size();
    head.printed_bytes = static_cast<uint64_t>(std::max<off_t>(::lseek(channel.streams_fd, 0, SEEK_END), 0));
    if (!read_all(channel.fd, &head.nonce, sizeof(head.nonce)) || !send_answer(channel.fd, head, answer))
      ::_exit(1);
    if (kind == RequestKind::kClose) ::_exit(0);
  }
}

}  // namespace etb::conformance
