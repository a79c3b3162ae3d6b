// SPDX-License-Identifier: Apache-2.0
//
// One execute in C++: its tensors, options, cancellation and profiling events.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "etb/cpp/host.hpp"
#include "etb/cpp/option.hpp"
#include "etb/cpp/tensor.hpp"
#include "etb/delegate.h"

namespace etb {

class Run {
 public:
  Run(const etb_exec_args& args, const Options& options, const Host& host)
      : args_(&args), options_(options), host_(&host) {}

  uint32_t input_count() const { return args_->input_count; }
  uint32_t output_count() const { return args_->output_count; }
  Tensor input(uint32_t index) const {
    return Tensor(*ETB_AT(etb_tensor, args_->inputs, index), {"input", index});
  }
  OutputTensor output(uint32_t index) const {
    return OutputTensor(*const_cast<etb_tensor*>(ETB_AT(etb_tensor, args_->outputs, index)),
                        {"output", index});
  }
  const Options& options() const { return options_; }
  const Host& host() const { return *host_; }
  const etb_exec_args& raw() const { return *args_; }

  // Returns the memory that DelegateInfo requested; its content is undefined.
  std::span<std::byte> scratch() const {
    return {static_cast<std::byte*>(args_->scratch), static_cast<size_t>(args_->scratch_nbytes)};
  }

  // Returns ETB_CANCELLED or ETB_DEADLINE_EXCEEDED when the run should stop. Poll it during a long run.
  Status keep_going() const {
    if (args_->cancel != nullptr && args_->cancel->is_cancelled(args_->cancel->ctx) != 0)
      return make_error(Code::CANCELLED, "the host cancelled the run");
    if (args_->deadline_ns != 0 && host_->now_ns() > args_->deadline_ns)
      return make_error(Code::DEADLINE_EXCEEDED, "the run is past its deadline");
    return {};
  }

  // Calls `body` (which returns a Status) and reports its duration to the host. Without an event sink it only
  // calls `body` (ABI-PROF-02).
  template <class Body>
  Status timed(const char* name, Body&& body) const {
    if (args_->events == nullptr) return body();
    const uint64_t begin_ns = host_->now_ns();
    ETB_TRY(body());
    etb_event event{};
    event.struct_size = ETB_INIT_SIZE(etb_event);
    event.name = name;
    event.debug_id = -1;
    event.begin_ticks = begin_ns;
    event.end_ticks = host_->now_ns();
    event.timebase = ETB_TIMEBASE_HOST;
    event.ns_numerator = event.ns_denominator = 1;
    return from_host(args_->events->put(args_->events->ctx, &event), "event sink");
  }

 private:
  const etb_exec_args* args_;
  Options options_;
  const Host* host_;
};

}  // namespace etb
