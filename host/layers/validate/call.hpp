// SPDX-License-Identifier: Apache-2.0
// Call: one call through the layer, with its violations so far, its objects and its result.
#pragma once

#include <fmt/format.h>

#include <cxxabi.h>

#include <string>
#include <utility>

#include "host/layers/validate/handle.hpp"
#include "host/layers/validate/process_state.hpp"

namespace etb::host::validate {

// A thread tag of base.h, for the object of a call.
enum class Tag { ANY, SERIAL };

class Call {
 public:
  Call(const char* function, etb_error* host_error);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Checks the object of the call: alive, of this kind, and not in another serial call. Returns NULL
  // when the call is rejected.
  template <class C>
  auto enter(C* handle, Tag tag = Tag::ANY) -> decltype(unwrap(handle)) {
    auto* const object = unwrap(handle);
    return enter_handle(reinterpret_cast<Handle*>(object), kind_of(object), tag) ? object : nullptr;
  }

  // For init, which has no object yet.
  void enter_new(Instance& instance) {
    instance_ = &instance;
    state_ = &instance.state;
  }

  State& state() noexcept { return *state_; }
  const char* function() const noexcept { return function_; }
  ValidateOptions::Memory memory() const noexcept { return state_->options().memory; }

  // Reports a violation by the host. Strict mode then rejects the call with `status`.
  template <class... Args>
  void host(Rule rule, etb_status status, fmt::format_string<Args...> text, Args&&... args) {
    found(rule, Side::HOST, status, fmt::format(text, std::forward<Args>(args)...), false);
  }

  // Like host(), for errors after which the call would use a bad pointer: rejects the call in any mode.
  template <class... Args>
  void fatal(Rule rule, etb_status status, fmt::format_string<Args...> text, Args&&... args) {
    found(rule, Side::HOST, status, fmt::format(text, std::forward<Args>(args)...), true);
  }

  // Rejects the call in any mode, because of the last reported violation of the host.
  void refuse() {
    if (refused_ != ETB_OK) return;
    refused_ = ETB_INVALID_ARGUMENT;
    refused_text_ = host_text_;
  }

  // Reports a violation by the plugin. In strict mode the call then returns ETB_INTERNAL.
  template <class... Args>
  void plugin(Rule rule, fmt::format_string<Args...> text, Args&&... args) {
    found(rule, Side::PLUGIN, ETB_INTERNAL, fmt::format(text, std::forward<Args>(args)...), false);
  }

  void report(Side side, Rule rule, std::string text) {
    found(rule, side, side == Side::HOST ? ETB_INVALID_ARGUMENT : ETB_INTERNAL, std::move(text), false);
  }

  bool is_refused() const noexcept { return refused_ != ETB_OK; }

  // Records a status that a callback returned to the plugin, which may return it without its own text.
  void may_pass_on(etb_status status) noexcept { passed_on_ = status; }

  // Calls `call(etb_error*)` unless the call is rejected, then checks the error and the process.
  template <class F>
  etb_status run(F&& call) {
    if (is_refused()) return refused_;
    error_box_ = std::make_unique<GuardedBytes>(memory(), sizeof(etb_error), alignof(etb_error));
    const etb_error fresh = ETB_ERROR_INIT;
    std::memcpy(error_box_->inside(), &fresh, sizeof(fresh));
    auto* const error = reinterpret_cast<etb_error*>(error_box_->data());
    const ProcessState before(state_->options().whole_process);
    etb_status status = ETB_INTERNAL;
    const Innermost innermost(*this);
    try {
      status = call(error);
    } catch (const abi::__forced_unwind&) {
      throw;  // the thread is being cancelled
    } catch (...) {
      is_thrown_ = true;
    }
    after_run(before, status);
    return status;
  }

  // For functions without a status.
  template <class F>
  void run_plain(F&& call) {
    const ProcessState before(state_->options().whole_process);
    const Innermost innermost(*this);
    call();
    check_process(before);
  }

  // The call into a plugin that this thread is in, or NULL.
  static Call* innermost() noexcept;

  // True for a run within reserved sizes (ABI-EXEC-02).
  bool is_reserved_run = false;

  // True if a successful call must return an error. The caller then destroys the created object.
  bool is_spoiled() const noexcept { return state_->options().strict && !plugin_text_.empty(); }

  // Returns the status for the host. Copies the plugin's error, or writes the layer's own.
  etb_status finish(etb_status status);

 private:
  class Innermost {
   public:
    explicit Innermost(Call& call) noexcept;
    ~Innermost();

   private:
    Call* const outer_;
  };

  struct Entered {
    Handle* handle;
    Tag tag;
  };

  bool enter_handle(Handle* handle, Kind kind, Tag tag);
  void found(Rule rule, Side side, etb_status status, std::string text, bool is_fatal);
  void after_run(const ProcessState& before, etb_status status);
  void check_process(const ProcessState& before);
  void check_error(const etb_error& error, etb_status status);

  const char* const function_;
  etb_error* const host_error_;
  State* state_ = nullptr;
  Instance* instance_ = nullptr;
  std::vector<Entered> entered_;
  etb_status refused_ = ETB_OK;
  etb_status passed_on_ = ETB_OK;
  std::string refused_text_;
  std::string host_text_;    // the host's last violation
  std::string plugin_text_;  // the plugin's first violation
  bool is_thrown_ = false;
  std::unique_ptr<GuardedBytes> error_box_;
};

// True if the text is UTF-8.
bool is_utf8(std::string_view text) noexcept;

}  // namespace etb::host::validate
