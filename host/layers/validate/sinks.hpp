// SPDX-License-Identifier: Apache-2.0
// Sinks for the plugin: called on the caller's thread, before the call returns, not after an error
// (ABI-SINK-01, ABI-SINK-02), with items that keep the rules.
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "etb/cpp/sink.hpp"
#include "host/layers/validate/structs.hpp"

namespace etb::host::validate {

// Checks when a callback is called, and records its status. Kept for a while after the call, so
// that a late use is reported.
class SinkGuard {
 public:
  SinkGuard(Call& call, const char* name)
      : state_(call.state()), call_(&call), name_(name), function_(call.function()) {}
  SinkGuard(const SinkGuard&) = delete;
  SinkGuard& operator=(const SinkGuard&) = delete;

  // Calls `put` if the plugin may call this sink now. Records a status that ends the call.
  template <class Put>
  etb_status take(Put&& put) {
    if (const etb_status refused = check_call(); refused != ETB_OK) return refused;
    const etb_status status = put(*call_);
    if (status != ETB_OK) {
      stopped_with_ = status;
      call_->may_pass_on(status);
    }
    return status;
  }

  // Called when the call has returned `status`.
  void close(etb_status status);

 private:
  etb_status check_call();

  State& state_;
  Call* call_;  // NULL when the call has returned
  const char* const name_;
  const char* const function_;
  const std::thread::id thread_ = std::this_thread::get_id();
  std::atomic<bool> is_open_{true};
  etb_status stopped_with_ = ETB_OK;
};

// A sink struct whose only function is `put`.
template <class Sink>
class GuardedSink {
  using Item = typename etb::detail::SinkItem<decltype(Sink::put)>::type;

 public:
  using Check = std::function<bool(Call&, const Item&)>;

  // `check` checks an item that has passed check_struct.
  GuardedSink(Call& call, const Sink* real, const char* name, Check check = nullptr) {
    if (!check_callable(call, real, &Sink::put, name)) return;
    body_ = std::make_shared<Body>(call, *real, name, std::move(check));
    call.state().adopt(body_);
  }
  GuardedSink(const GuardedSink&) = delete;
  GuardedSink& operator=(const GuardedSink&) = delete;
  ~GuardedSink() {
    if (body_ != nullptr) body_->state.retire(body_.get());
  }

  const Sink* get() const { return body_ == nullptr ? nullptr : &body_->sink; }

  void close(etb_status status) {
    if (body_ != nullptr) body_->guard.close(status);
  }

 private:
  struct Body {
    Body(Call& call, const Sink& to, const char* name, Check checks)
        : state(call.state()), guard(call, name), real(to), check(std::move(checks)) {
      sink.struct_size = sizeof(Sink);
      sink.ctx = this;
      sink.put = &put;
    }

    static etb_status ETB_CALL put(void* ctx, const Item* item) {
      auto& self = *static_cast<Body*>(ctx);
      return self.guard.take([&](Call& call) -> etb_status {
        if constexpr (std::is_same_v<Item, char>) {
          if (!check_text(call, Side::PLUGIN, item, "item")) return ETB_INVALID_ARGUMENT;
        } else {
          if (!check_struct(call, Side::PLUGIN, item, "item")) return ETB_INVALID_ARGUMENT;
          if (self.check && !self.check(call, *item)) return ETB_INVALID_ARGUMENT;
        }
        return self.real.put(self.real.ctx, item);
      });
    }

    State& state;
    SinkGuard guard;
    const Sink real;
    const Check check;
    Sink sink{};
  };

  std::shared_ptr<Body> body_;
};

}  // namespace etb::host::validate
