#include "conformance/runner/child_body.hpp"

#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio_ext.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "conformance/checks/process_facts.hpp"
#include "conformance/report/outcome_json.hpp"
#include "conformance/report/small_case_json.hpp"
#include "conformance/runner/minimise.hpp"
#include "conformance/runner/replay.hpp"

namespace etb::conformance {
namespace {

constexpr size_t kMostKept = 8;

int quit_fd = -1;

// SIGQUIT comes from the watchdog before the kill: say where the threads are. Only async-signal-safe calls, but for the first backtrace()
// of a process, which loads a library: prepare() makes it.
void print_stacks(int) {
  constexpr char kHead[] = "-- a thread\n";
  (void)!::write(quit_fd, kHead, sizeof(kHead) - 1);
  void* frames[64];
  const int count = ::backtrace(frames, 64);
  ::backtrace_symbols_fd(frames, count, quit_fd);
}

// Where the plugin's prints go; a print is a finding of the case that made it.
class Streams {
 public:
  Streams() : fd_(::memfd_create("streams", MFD_CLOEXEC)) {
    ::__fpurge(stdout);  // what the parent has not written yet is not ours
    if (const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC); null >= 0) ::dup2(null, 0);
    ::dup2(fd_, 1);
    ::dup2(fd_, 2);
  }
  // What was printed since the last time.
  std::string take() {
    ::fflush(nullptr);
    const off_t end = ::lseek(fd_, 0, SEEK_END);
    if (end <= seen_) return "";
    std::string text(static_cast<size_t>(std::min<off_t>(end - seen_, 200)), '\0');
    if (::pread(fd_, text.data(), text.size(), seen_) < 0) text.clear();
    seen_ = end;
    return text;
  }

 private:
  int fd_;
  off_t seen_ = 0;
};

void prepare([[maybe_unused]] const Plan& plan, int stacks_fd) {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  if (plan.memory_limit_bytes != 0) {
    const rlimit memory{plan.memory_limit_bytes, plan.memory_limit_bytes};
    ::setrlimit(RLIMIT_AS, &memory);
  }
#endif
  void* frame[1];
  ::backtrace(frame, 1);
  quit_fd = stacks_fd;
  struct sigaction action {};
  action.sa_handler = print_stacks;
  ::sigaction(SIGQUIT, &action, nullptr);
}

// Cases share one opened plugin; a check opens its own.
class Runner {
 public:
  Runner(const Plan& plan, ProgressPage* page) : plan_(plan), progress_(page) {}

  Outcome run(uint32_t number) {
    const Item& item = plan_.items[number];
    const uint64_t begin = monotonic_ns();
    progress_.begin(number, begin);
    Outcome out;
    if (item.check != nullptr) {
      out = run_check(*item.check, item.name, plan_.subject, plan_.contract, progress_);
    } else if (open()) {
      out = run_case(*subject_, *item.item, item.name, plan_.contract, progress_);
      if (item.to_minimise != nullptr) make_smaller(item, out);
    } else {
      out.name = item.name;
      out.findings.push_back({"life.opens", open_error_, ""});
      conclude(out);
    }
    out.duration_us = (monotonic_ns() - begin) / 1000;
    return out;
  }

  // After the last: what deinit and unloading show.
  Outcome close(uint32_t last) {
    Outcome out;
    out.name = end_of(plan_.items[last].name);
    out.state = State::kPass;
    if (subject_ == nullptr) return out;
    progress_.at("deinit");
    subject_->close();
    add_violations(*subject_, out);
    // What a loaded library keeps is there once; what grew with every case is more.
    if (const size_t files = open_descriptor_count(); files > files_before_ + kMostKept)
      out.findings.push_back({"leak.descriptors-of-a-batch",
                              std::to_string(files - files_before_) + " more open files after a batch", ""});
    if (const size_t threads = thread_count();
        threads > threads_before_ + kMostKept && (subject_ident_flags_ & ETB_PLUGIN_OWN_THREADS) == 0)
      out.findings.push_back({"leak.threads-of-a-batch",
                              std::to_string(threads - threads_before_) + " more threads after a batch",
                              "ABI-HYG-02"});
    conclude(out);
    return out;
  }

 private:
  void make_smaller(const Item& item, Outcome& out) {
    if (std::optional<SmallCase> small =
            minimise_here(*subject_, item, *item.to_minimise, plan_.contract, progress_))
      out.small = std::make_shared<const SmallCase>(std::move(*small));
  }

  bool open() {
    if (subject_ != nullptr || !open_error_.empty()) return subject_ != nullptr;
    progress_.at("open");
    files_before_ = open_descriptor_count();
    threads_before_ = thread_count();
    Result<std::unique_ptr<Subject>> subject = Subject::open(plan_.subject);
    if (subject) {
      subject_ = std::move(*subject);
      subject_ident_flags_ = subject_->library().ident().flags;
    } else {
      open_error_ = subject.error().message;
    }
    return subject_ != nullptr;
  }

  const Plan& plan_;
  Progress progress_;
  std::unique_ptr<Subject> subject_;
  std::string open_error_;
  size_t files_before_ = 0, threads_before_ = 0;
  uint32_t subject_ident_flags_ = 0;
};

}  // namespace

void write_all(int fd, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(fd, text.data() + done, text.size() - done);
    if (count <= 0) return;
    done += static_cast<size_t>(count);
  }
}

uint64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

void run_child(const Plan& plan, const std::vector<uint32_t>& items, int fd, int stacks_fd,
               ProgressPage* page) {
  Streams streams;
  prepare(plan, stacks_fd);
  Runner runner(plan, page);
  const auto send = [&](Outcome out) {
    if (const std::string printed = streams.take(); !printed.empty()) {
      out.findings.push_back(
          {"hyg.prints-nothing", "wrote to standard output or error: '" + printed + "'", "ABI-HYG-01"});
      out.state = State::kNotRun;
      conclude(out);
    }
    nlohmann::ordered_json line = to_json(out);
    if (out.small != nullptr) line["small"] = to_json(*out.small);
    write_all(fd, dump_line(line));
  };
  for (const uint32_t number : items) send(runner.run(number));
  Outcome last = runner.close(items.back());
  if (is_failure(last.state)) send(std::move(last));
  write_all(fd, "\"end\"\n");
}

std::vector<Outcome> run_in_process(const Plan& plan, const std::vector<uint32_t>& items) {
  std::vector<Outcome> out;
  Runner runner(plan, nullptr);
  for (const uint32_t number : items) out.push_back(runner.run(number));
  return out;
}

}  // namespace etb::conformance
