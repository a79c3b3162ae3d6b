// SPDX-License-Identifier: Apache-2.0
#include "conformance/subject/process_attributes.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cfenv>
#include <clocale>
#include <cstring>
#include <fstream>
#include <locale>

#include "conformance/subject/process_facts.hpp"

extern char** environ;

namespace etb::conformance {
namespace {

std::string hex(uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%#llx", static_cast<unsigned long long>(number));
  return text;
}

void add_limits(ProcessAttributes& out) {
  constexpr const char* kNames[] = {"processor time",
                                    "file size",
                                    "data",
                                    "stack",
                                    "core files",
                                    "resident memory",
                                    "processes",
                                    "open files",
                                    "locked memory",
                                    "address space",
                                    "file locks",
                                    "pending signals",
                                    "message queues",
                                    "nice values",
                                    "real-time priority",
                                    "real-time processor time"};
  for (int i = 0; i < static_cast<int>(std::size(kNames)); ++i) {
    rlimit limit{};
    if (::getrlimit(static_cast<__rlimit_resource>(i), &limit) == 0)
      out[std::string("limit of ") + kNames[i]] = hex(limit.rlim_cur) + " of " + hex(limit.rlim_max);
  }
}

void add_scheduling(ProcessAttributes& out) {
  out["nice value"] = std::to_string(::getpriority(PRIO_PROCESS, 0));
  out["priority of input and output"] = std::to_string(::syscall(SYS_ioprio_get, 1, 0));
  sched_param param{};
  ::sched_getparam(0, &param);
  out["scheduling policy"] =
      std::to_string(::sched_getscheduler(0)) + ", priority " + std::to_string(param.sched_priority);
  cpu_set_t set;
  CPU_ZERO(&set);
  std::string processors;
  if (::sched_getaffinity(0, sizeof(set), &set) == 0)
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &set)) processors += (processors.empty() ? "" : ",") + std::to_string(i);
  out["processors of the thread"] = processors;
}

void add_timers(ProcessAttributes& out) {
  constexpr const char* kNames[] = {"real timer", "timer of user time", "profiling timer"};
  for (const auto which : {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF}) {
    itimerval timer{};
    ::getitimer(which, &timer);
    const bool is_set = timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0;
    out[kNames[which]] = is_set ? "set" : "not set";
  }
  std::ifstream in("/proc/self/timers");
  size_t count = 0;
  for (std::string line; std::getline(in, line);) count += line.rfind("ID:", 0) == 0 ? 1 : 0;
  out["timers made by timer_create"] = std::to_string(count);
}

std::string mask_text(const sigset_t& mask) {
  std::string out;
  for (int number = 1; number < NSIG; ++number)
    if (::sigismember(&mask, number) == 1) out += (out.empty() ? "" : ",") + std::to_string(number);
  return out.empty() ? "none" : out;
}

void add_signals(ProcessAttributes& out) {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) != 0) continue;
    void* handler = nullptr;
    std::memcpy(&handler, &action.sa_sigaction, sizeof(handler));
    const char* const kind = action.sa_handler == SIG_DFL   ? "default"
                             : action.sa_handler == SIG_IGN ? "ignored"
                                                            : nullptr;
    out["handler of signal " + std::to_string(number)] =
        (kind != nullptr ? kind : "function " + hex(reinterpret_cast<uintptr_t>(handler))) + ", flags " +
        hex(static_cast<uint64_t>(action.sa_flags)) + ", blocks " + mask_text(action.sa_mask);
  }
  sigset_t mask;
  sigemptyset(&mask);
  ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  out["blocked signals"] = mask_text(mask);
  stack_t stack{};
  ::sigaltstack(nullptr, &stack);
  out["alternate signal stack"] =
      (stack.ss_flags & SS_DISABLE) != 0 ? "none" : hex(reinterpret_cast<uintptr_t>(stack.ss_sp));
}

std::string file_text(const char* path) {
  std::ifstream in(path);
  std::string text;
  std::getline(in, text);
  return text;
}

void add_process_settings(ProcessAttributes& out) {
  constexpr std::pair<const char*, int> kSettings[] = {{"dumpable", PR_GET_DUMPABLE},
                                                       {"kept capabilities", PR_GET_KEEPCAPS},
                                                       {"timer slack", PR_GET_TIMERSLACK},
                                                       {"huge pages switched off", PR_GET_THP_DISABLE},
                                                       {"new privileges forbidden", PR_GET_NO_NEW_PRIVS},
                                                       {"security bits", PR_GET_SECUREBITS},
                                                       {"policy for memory errors", PR_MCE_KILL_GET}};
  for (const auto& [name, option] : kSettings)
    out[std::string("prctl: ") + name] = std::to_string(::prctl(option, 0, 0, 0, 0));
  constexpr std::pair<const char*, int> kStored[] = {{"signal at the parent's end", PR_GET_PDEATHSIG},
                                                     {"adopts orphans", PR_GET_CHILD_SUBREAPER}};
  for (const auto& [name, option] : kStored) {
    int value = 0;
    if (::prctl(option, &value, 0, 0, 0) == 0) out[std::string("prctl: ") + name] = std::to_string(value);
  }
  char thread[17] = {};
  ::prctl(PR_GET_NAME, thread, 0, 0, 0);
  out["name of the thread"] = thread;
  out["personality"] = hex(static_cast<uint64_t>(::personality(0xffffffff)));
  out["out-of-memory score"] = file_text("/proc/self/oom_score_adj");
  out["filter of core files"] = file_text("/proc/self/coredump_filter");
  out["session and process group"] = std::to_string(::getsid(0)) + ", " + std::to_string(::getpgrp());
  out["user and group"] = std::to_string(::geteuid()) + ", " + std::to_string(::getegid());
}

void add_streams(ProcessAttributes& out) {
  constexpr const char* kNames[] = {"standard input", "standard output", "standard error"};
  for (int fd = 0; fd < 3; ++fd) {
    struct stat info {};
    if (::fstat(fd, &info) != 0) {
      out[kNames[fd]] = "closed";
      continue;
    }
    out[kNames[fd]] = "flags " + hex(static_cast<uint64_t>(::fcntl(fd, F_GETFL))) + " and " +
                      hex(static_cast<uint64_t>(::fcntl(fd, F_GETFD))) + ", file " +
                      std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino);
  }
}

void add_environment(ProcessAttributes& out) {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    out["environment variable " + text.substr(0, equals)] =
        equals == std::string::npos ? "" : text.substr(equals + 1);
  }
  const char* const name = std::setlocale(LC_ALL, nullptr);
  out["locale"] = name != nullptr ? name : "";
  out["locale of C++"] = std::locale().name();
  out["locale of the thread"] = ::uselocale(nullptr) == LC_GLOBAL_LOCALE ? "the process's" : "its own";
  char path[4096];
  out["working directory"] = ::getcwd(path, sizeof(path)) != nullptr ? path : "";
  const mode_t mask = ::umask(0);
  ::umask(mask);
  out["umask"] = hex(mask);
}

void add_arithmetic(ProcessAttributes& out) {
  out["rounding mode"] = std::to_string(std::fegetround());
#if defined(__x86_64__)
  uint32_t mxcsr = 0;
  uint16_t x87 = 0;
  __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  out["floating-point control"] = hex(mxcsr & 0xffc0u) + " and " + hex(x87);
#elif defined(__aarch64__)
  uint64_t fpcr = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  out["floating-point control"] = hex(fpcr);
#endif
}

// A new page is locked at once after mlockall(MCL_FUTURE).
void add_locked_memory(ProcessAttributes& out) {
  constexpr size_t kPage = 4096;
  void* const page = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  out["locked bytes"] = std::to_string(locked_bytes());
  if (page != MAP_FAILED) ::munmap(page, kPage);
}

}  // namespace

ProcessAttributes read_process_attributes() {
  ProcessAttributes out;
  add_limits(out);
  add_scheduling(out);
  add_timers(out);
  add_signals(out);
  add_process_settings(out);
  add_streams(out);
  add_environment(out);
  add_arithmetic(out);
  add_locked_memory(out);
  return out;
}

std::string find_difference(const ProcessAttributes& before, const ProcessAttributes& after) {
  constexpr size_t kMost = 4;
  constexpr size_t kMostChars = 120;
  std::string out;
  size_t count = 0;
  const auto value_in = [](const ProcessAttributes& all, const std::string& name) {
    const auto found = all.find(name);
    return found != all.end() ? found->second.substr(0, kMostChars) : "absent";
  };
  ProcessAttributes names = before;
  names.insert(after.begin(), after.end());
  for (const auto& [name, value] : names) {
    const std::string was = value_in(before, name), is = value_in(after, name);
    if (was == is || ++count > kMost) continue;
    out += (out.empty() ? "" : "; ") + name + ": " + was + " before, " + is + " after";
  }
  return count > kMost ? out + "; and " + std::to_string(count - kMost) + " more" : out;
}

}  // namespace etb::conformance
