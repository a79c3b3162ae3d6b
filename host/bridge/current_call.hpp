// SPDX-License-Identifier: Apache-2.0
// CurrentCall: remembers which plugin a thread is in, so that a report can name it if the process dies.
#pragma once

namespace etb::host {

// An object on the stack of the thread that calls a plugin. Borrows its texts.
class CurrentCall {
 public:
  CurrentCall(const char* backend_id, const char* plugin_id, const char* function) noexcept;
  CurrentCall(const CurrentCall&) = delete;
  CurrentCall& operator=(const CurrentCall&) = delete;
  ~CurrentCall();

 private:
  friend void report_crash(int signal_number);

  const char* backend_id_;
  const char* plugin_id_;
  const char* function_;
  const CurrentCall* outer_;
};

// Writes one line to standard error when a signal ends the process during a call: signal, plugin, delegate,
// function. Then the handler that was there before runs, or the process ends as it would have. Call it before any
// plugin is loaded; later calls do nothing.
void report_crashes();

}  // namespace etb::host
