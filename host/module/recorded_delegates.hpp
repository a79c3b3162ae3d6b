// SPDX-License-Identifier: Apache-2.0
// RecordedDelegates: passes on the requests of a method, and reports the memory of each delegate to a tracer.
#pragma once

#include "host/runtime/delegate_resolver.hpp"
#include "host/runtime/event_tracer.hpp"

namespace etb::host {

// Both arguments outlive the object. It outlives the method, which asks its resolver in each run.
class RecordedDelegates final : public DelegateResolver {
 public:
  RecordedDelegates(DelegateResolver& delegates, EventTracer& tracer) noexcept
      : delegates_(delegates), tracer_(tracer) {}

  etb_status create(const DelegateRequest& request, MethodDelegate** out,
                    etb_error* error) noexcept override {
    const etb_status status = delegates_.create(request, out, error);
    if (status == ETB_OK) tracer_.on_delegate_memory(request.id, (*out)->memory());
    return status;
  }

 private:
  DelegateResolver& delegates_;
  EventTracer& tracer_;
};

}  // namespace etb::host
