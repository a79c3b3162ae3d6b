// SPDX-License-Identifier: Apache-2.0
// Faults 576 to 579 of the tables: execute forgets the token or the deadline of its arguments.
#include <ctime>

#include "etb/cpp/fail.hpp"
#include "tests/conformance/fault_plugin/plugin.hpp"

namespace faulty {
namespace {

etb_delegate_table attentive;  // before it is changed

uint64_t monotonic_ns() {
  timespec now{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

void forget_stops(Tables& tables) {
  if (!has_fault(576) && !has_fault(577) && !has_fault(578) && !has_fault(579)) return;
  attentive = tables.delegate;
  tables.delegate.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
    etb_exec_args forgetful = *args;
    if (has_fault(578) && args->cancel != nullptr && args->cancel->is_cancelled(args->cancel->ctx) != 0)
      return etb::fail(error, ETB_CANCELLED, "the run was cancelled before it began");
    if (has_fault(579) && args->deadline_ns != 0 && monotonic_ns() > args->deadline_ns)
      return etb::fail(error, ETB_DEADLINE_EXCEEDED, "the run is past its deadline");
    if (has_fault(576) || has_fault(578)) forgetful.cancel = nullptr;
    if (has_fault(577) || has_fault(579)) forgetful.deadline_ns = 0;
    return attentive.execute(context, &forgetful, error);
  };
}

}  // namespace faulty
