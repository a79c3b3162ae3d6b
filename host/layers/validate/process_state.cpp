// SPDX-License-Identifier: Apache-2.0
#include "host/layers/validate/process_state.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstring>
#include <iterator>
#include <set>

#include "host/layers/validate/guarded_bytes.hpp"

extern char** environ;

namespace etb::host::validate {
namespace {

// Returns only the control bits: flags of earlier operations may change.
uint64_t float_control() {
#if defined(__x86_64__)
  uint32_t mxcsr = 0;
  uint16_t x87 = 0;
  __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  return (mxcsr & 0xffc0u) | static_cast<uint64_t>(x87) << 32;  // bits 6 to 15: DAZ, masks, rounding, FTZ
#elif defined(__aarch64__)
  uint64_t fpcr = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  return fpcr;
#else
  return 0;
#endif
}

uint64_t signal_handlers() {
  uint64_t hash = 0;
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) != 0) continue;
    void* handler = nullptr;
    std::memcpy(&handler, &action.sa_sigaction, sizeof(handler));
    const uint64_t parts[3] = {hash, reinterpret_cast<uintptr_t>(handler),
                               static_cast<uint64_t>(action.sa_flags)};
    hash = hash_bytes(parts, sizeof(parts));
  }
  return hash;
}

// Returns the variables in alphabetical order: their order in memory means nothing.
std::vector<std::string> environment() {
  std::vector<std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) variables.emplace_back(*entry);
  std::sort(variables.begin(), variables.end());
  return variables;
}

// Returns the names of the variables that differ. Values may be secret.
std::string changed_variables(const std::vector<std::string>& before, const std::vector<std::string>& after) {
  std::vector<std::string> changed;
  std::set_symmetric_difference(before.begin(), before.end(), after.begin(), after.end(),
                                std::back_inserter(changed));
  std::set<std::string> names;
  for (const std::string& variable : changed) names.insert(variable.substr(0, variable.find('=')));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string directory() {
  char path[4096];
  return getcwd(path, sizeof(path)) != nullptr ? path : "";
}

std::string locale() {
  const char* const name = std::setlocale(LC_ALL, nullptr);
  return name != nullptr ? name : "";
}

int thread_count() {
  DIR* const tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return 0;
  int count = 0;
  while (const dirent* entry = readdir(tasks)) count += entry->d_name[0] != '.' ? 1 : 0;
  closedir(tasks);
  return count;
}

sigset_t signal_mask() {
  sigset_t mask;
  sigemptyset(&mask);
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  return mask;
}

}  // namespace

ProcessState::ProcessState(bool whole_process)
    : whole_process_(whole_process), float_control_(float_control()), signal_mask_(signal_mask()) {
  if (!whole_process_) return;
  signal_handlers_ = signal_handlers();
  environment_ = environment();
  locale_ = locale();
  directory_ = directory();
  thread_count_ = thread_count();
}

std::optional<std::string> ProcessState::find_change() const {
  if (const uint64_t now = float_control(); now != float_control_)
    return fmt::format("the floating-point control word: {:#x} before, {:#x} after", float_control_, now);
  const sigset_t mask = signal_mask();
  for (int number = 1; number < NSIG; ++number)
    if (sigismember(&mask, number) != sigismember(&signal_mask_, number))
      return fmt::format("the signal mask: signal {} is {} now", number,
                         sigismember(&mask, number) == 1 ? "blocked" : "unblocked");
  if (!whole_process_) return std::nullopt;
  if (signal_handlers() != signal_handlers_) return "a signal handler";
  if (const std::vector<std::string> now = environment(); now != environment_)
    return fmt::format("the environment: {}", changed_variables(environment_, now));
  if (const std::string now = locale(); now != locale_)
    return fmt::format("the locale: '{}' before, '{}' after", locale_, now);
  if (const std::string now = directory(); now != directory_)
    return fmt::format("the working directory: '{}' before, '{}' after", directory_, now);
  return std::nullopt;
}

int ProcessState::added_thread_count() const {
  return whole_process_ ? std::max(0, thread_count() - thread_count_) : 0;
}

}  // namespace etb::host::validate
