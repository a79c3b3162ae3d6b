// SPDX-License-Identifier: Apache-2.0
#include "host/bridge/current_call.hpp"

#include <unistd.h>

#include <csignal>
#include <cstring>
#include <mutex>

namespace etb::host {

void report_crash(int signal_number);

namespace {

struct SignalRow {
  int number;
  const char* name;
};
constexpr SignalRow kSignals[] = {
    {SIGABRT, "SIGABRT"}, {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"}};

thread_local const CurrentCall* current = nullptr;
struct sigaction previous[std::size(kSignals)];

// Only write() is allowed in a signal handler: no heap, no stdio.
void write_text(const char* text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
}

void handle(int number, siginfo_t* info, void*) {
  report_crash(number);
  for (size_t i = 0; i < std::size(kSignals); ++i)
    if (kSignals[i].number == number) sigaction(number, &previous[i], nullptr);
  // The processor repeats an instruction that faulted. Any other signal is sent once more; it arrives when this
  // handler returns.
  if (info->si_code <= 0) raise(number);
}

}  // namespace

CurrentCall::CurrentCall(const char* backend_id, const char* plugin_id, const char* function) noexcept
    : backend_id_(backend_id), plugin_id_(plugin_id), function_(function), outer_(current) {
  current = this;
}

CurrentCall::~CurrentCall() { current = outer_; }

void report_crash(int signal_number) {
  if (current == nullptr) return;
  const char* name = "signal";
  for (const SignalRow& row : kSignals)
    if (row.number == signal_number) name = row.name;
  for (const char* text : {"etbackend bridge: ", name, " in plugin '", current->plugin_id_, "', delegate '",
                           current->backend_id_, "', function ", current->function_, "\n"})
    write_text(text);
}

void report_crashes() {
  static std::once_flag installed;
  std::call_once(installed, [] {
    for (size_t i = 0; i < std::size(kSignals); ++i) {
      struct sigaction action {};
      action.sa_sigaction = handle;
      action.sa_flags = SA_SIGINFO | SA_ONSTACK;
      sigaction(kSignals[i].number, &action, &previous[i]);
    }
  });
}

}  // namespace etb::host
