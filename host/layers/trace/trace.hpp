// SPDX-License-Identifier: Apache-2.0
// The trace layer: reports every call into a plugin with its object, status and duration.
//
//   Trace trace([](const TracedCall& call) { std::cerr << format_traced_call(call) << '\n'; });
//   start_plugin(library, table, {.layers = {trace.layer()}, ...});
//
// An application enables it by naming it in a chain, never by an environment variable or a search
// (ABI-LAYER-01). host/layers/record records the arguments too.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "host/layers/wrapping.hpp"

namespace etb::host {

struct TracedCall {
  const char* function = "";        // "delegate.execute"
  const char* object_kind = "";     // kind of the object called: "context", "" for init
  uint64_t object_number = 0;       // numbered by kind in order of creation, from 1
  const char* made_kind = nullptr;  // kind of the created object, NULL: none
  uint64_t made_number = 0;
  uint64_t run_id = 0;  // of execute and execute_async
  etb_status status = ETB_OK;
  const char* error_text = "";  // valid during the call of the writer; "" when the plugin wrote none
  uint64_t begin_ns = 0;        // on clock/1
  uint64_t duration_ns = 0;
  std::thread::id thread;
};

// "delegate.create(plugin 1) = delegate 2, 12.3 us"; "delegate.execute(context 1, run 7) = cancelled: stopped, 4 us"
std::string format_traced_call(const TracedCall& call);

class Trace {
 public:
  using Write = std::function<void(const TracedCall&)>;

  // `write` is called after each call, on the calling thread, one at a time. It must not call a plugin or
  // throw.
  explicit Trace(Write write);
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // "trace"
  Layer layer() const noexcept;

  // ---- for the layer's functions (wrapping.hpp)

  static constexpr const char *kName = "trace", *kServiceId = "etbackend.trace/1";
  struct Data {};
  ObjectNumbers& numbers() noexcept { return numbers_; }

  template <class Call, class Run>
  etb_status on_call(const WrappedObject<Trace>& object, Call& call, etb_error* error, Run&& run) {
    TracedCall traced = begun(to_text(call.function), &object);
    if constexpr (requires { call.args->run_id; })
      if (call.args != nullptr) traced.run_id = call.args->run_id;
    return measure(traced, error, run);
  }
  template <class Call, class Run>
  etb_status on_end(WrappedObject<Trace>& object, Call& call, etb_error* error, Run&& run) {
    return on_call(object, call, error, run);
  }
  template <class Call, class Run>
  etb_status on_make(const WrappedObject<Trace>* object, Call& call, MadeObject<Trace>& made,
                     etb_error* error, Run&& run) {
    TracedCall traced = begun(to_text(call.function), object);
    return measure(traced, error, [&](etb_error* inner) {
      const etb_status status = run(inner);
      if (status != ETB_OK) return status;
      traced.made_kind = to_text(made.kind);
      traced.made_number = made.number;
      return status;
    });
  }

 private:
  static TracedCall begun(const char* function, const WrappedObject<Trace>* object) {
    TracedCall traced;
    traced.function = function;
    if (object == nullptr) return traced;
    traced.object_kind = to_text(object->kind);
    traced.object_number = object->number;
    return traced;
  }

  // Measures `run(etb_error*)` and writes the call. Passes the plugin an error even when the host passes none, to
  // get its text.
  template <class Run>
  etb_status measure(TracedCall& traced, etb_error* host_error, Run&& run) {
    etb_error own = ETB_ERROR_INIT;
    etb_error* const error = etb::detail::can_write(host_error) ? host_error : &own;
    traced.thread = std::this_thread::get_id();
    traced.begin_ns = now();
    traced.status = run(error);
    traced.duration_ns = now() - traced.begin_ns;
    if (traced.status != ETB_OK) traced.error_text = error->text;
    write(traced);
    return traced.status;
  }
  static uint64_t now() noexcept;
  void write(const TracedCall& call);

  Write write_;
  std::mutex mutex_;
  ObjectNumbers numbers_;
  LayerService service_;
};

}  // namespace etb::host
