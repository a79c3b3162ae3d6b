// SPDX-License-Identifier: Apache-2.0
// The trace layer: reports every call into a plugin with its object, status and duration.
//
//   Trace trace([](const TracedCall& call) { std::cerr << format_traced_call(call) << '\n'; });
//   start_plugin(library, table, {.layers = {trace.layer()}, ...});
//
// An application enables it by naming it in a chain, never by an environment variable or a search
// (ABI-LAYER-01).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "host/layers/layer.hpp"

namespace etb::host {

struct TracedCall {
  const char* function = "";        // "delegate.execute"
  const char* object_kind = "";     // kind of the object called: "context", "" for init
  uint64_t object_number = 0;       // numbered by kind in order of creation, from 1
  const char* made_kind = nullptr;  // kind of the created object, NULL: none
  uint64_t made_number = 0;
  etb_status status = ETB_OK;
  const char* error_text = "";  // valid during the call of the writer; "" when the plugin wrote none
  uint64_t begin_ns = 0;        // on clock/1
  uint64_t duration_ns = 0;
  std::thread::id thread;
};

// "delegate.create(plugin 1) = delegate 2, 12.3 us"; "delegate.execute(context 1) = cancelled: stopped, 4 us"
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

  // Called by the layer's functions.
  void write(const TracedCall& call);
  enum class Kind { PLUGIN, DEVICE, DELEGATE, CONTEXT };
  uint64_t next_number(Kind kind) noexcept { return ++made_counts_[static_cast<size_t>(kind)]; }

 private:
  struct Service {
    uint32_t struct_size;
    uint32_t flags;
    Trace* trace;
  };
  friend Trace* find_trace(const etb_host& host) noexcept;

  Write write_;
  std::mutex mutex_;
  std::atomic<uint64_t> made_counts_[4] = {};
  Service service_;
};

}  // namespace etb::host
