// SPDX-License-Identifier: Apache-2.0
// The object behind an etb_module, and the checks that each of its functions begins with.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "host/application/errors.hpp"
#include "host/application/handles.hpp"
#include "host/application/module_options.hpp"
#include "host/application/recording_handle.hpp"
#include "host/application/run_thread.hpp"
#include "host/application/values.hpp"

// Members are in order of life, so that the run thread ends before the module, and the module before its parts.
struct etb_module {
  etb_module(etb::host::ModuleParts given, etb::host::Module opened, std::string program_name);
  ~etb_module();

  // Begins and ends a run of the run thread, which uses the recording until its end.
  void begin_run() noexcept {
    if (parts.recording != nullptr) parts.recording->use_count.fetch_add(1);
    is_running.store(true, std::memory_order_relaxed);
  }
  void end_run() noexcept {
    if (parts.recording != nullptr) parts.recording->use_count.fetch_sub(1);
    is_running.store(false, std::memory_order_release);
  }

  // The name of a method as a function got it: NULL means the default.
  const char* method_or_default(const char* method) const {
    return method == nullptr ? default_method.c_str() : method;
  }

  etb::host::ModuleParts parts;
  etb::host::Module module;
  std::string program_name;  // of its file, for recordings
  std::vector<std::string> names;
  std::string default_method;
  etb::host::SpecArrays spec;  // arrays of the latest etb_module_input_spec or etb_module_output_spec
  std::string delegate_id;     // text of the latest etb_module_delegate_id
  // Texts of the latest etb_module_decision.
  std::vector<std::shared_ptr<const etb::host::Decision>> decisions;
  std::string decision_json;
  std::atomic<bool> is_cancelled{false};
  std::atomic<bool> is_running{false};  // a run that etb_module_start began is under way
  std::atomic<bool> is_in_use{false};   // a call is under way; kept in the checked mode only
  etb::host::RunThread run_thread;
};

namespace etb::host {

// Marks a module as in use by one call. In the checked mode, a second call at the same time is refused.
class InUse {
 public:
  explicit InUse(etb_module& module) noexcept
      : module_(module),
        is_marked_(is_checked()),
        is_first_(!is_marked_ || !module.is_in_use.exchange(true)) {}
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;
  ~InUse() {
    if (is_marked_ && is_first_) module_.is_in_use.store(false);
  }
  bool is_first() const noexcept { return is_first_; }

 private:
  etb_module& module_;
  bool is_marked_, is_first_;
};

// Runs the body of one function of a module. Returns ETB_INVALID_ARGUMENT for NULL, ETB_BUSY while a started run
// is under way, and what the checked mode finds.
template <class Body>
etb_status use(etb_module* module, etb_error* error, Body&& body) noexcept {
  return answer(error, [&]() -> Status {
    ETB_TRY(check_handle(module, HandleKind::kModule));
    if (module->is_running.load(std::memory_order_acquire))
      return make_error(Code::BUSY, "a run that etb_module_start began is under way");
    const InUse mark(*module);
    if (!mark.is_first()) return make_error(Code::BUSY, "another thread is in a call on this module");
    const RecordingUse recording(module->parts.recording.get());
    ETB_TRY(recording.check());
    return body(*module);
  });
}

}  // namespace etb::host
