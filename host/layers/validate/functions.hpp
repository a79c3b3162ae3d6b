// SPDX-License-Identifier: Apache-2.0
// The layer's functions, one for each function of the plugin's tables. validate_table()
// returns them as a table.
#pragma once

#include "host/layers/validate/structs.hpp"

namespace etb::host::validate {

extern const etb_device_table kDeviceTable;
extern const etb_delegate_table kDelegateTable;
extern const etb_aot_table kAotTable;

// The layer's plugin table, which points to the others.
const etb_plugin_table& validate_table() noexcept;

etb_status ETB_CALL context_reserve(etb_context* context, const etb_tensor* inputs, uint32_t input_count,
                                    etb_error* error);
etb_status ETB_CALL execute(etb_context* context, const etb_exec_args* args, etb_error* error);
etb_status ETB_CALL execute_async(etb_context* context, const etb_exec_args* args, etb_error* error);
etb_status ETB_CALL cancel(etb_context* context, etb_error* error);
etb_status ETB_CALL compile(etb_plugin* plugin, const etb_compile_args* args, etb_error* error);
etb_status ETB_CALL partition(etb_plugin* plugin, const etb_partition_args* args,
                              const etb_partition_sink* sink, etb_error* error);

// Receives the handle that a function creates. Filled on success only (ABI-OWN-04).
template <class C>
struct OutHandle {
  inline static char untouched = 0;
  C* handle = reinterpret_cast<C*>(&untouched);  // not NULL, so that a write of NULL is seen

  // Reports a status that does not match `handle`. Returns true if an object was created.
  bool check(Call& call, etb_status status) const {
    const bool is_written = handle != reinterpret_cast<C*>(&untouched);
    if (status == ETB_OK && (handle == nullptr || !is_written))
      call.plugin("ABI-OWN-04", "the call returned ETB_OK, but returned no object");
    if (status != ETB_OK && is_written)
      call.plugin("ABI-OWN-04", "the call returned {}, but wrote to out", status);
    return status == ETB_OK && handle != nullptr && is_written;
  }
};

// Destroys an object: rejects or reports a call that is too early, calls `end`, and marks the handle as dead
// when it returned ETB_OK.
template <class H, class F>
etb_status end_object(Call& call, H& object, F&& end) {
  Handle& handle = object.handle;
  const int children = handle.child_count.load();
  if (children != 0)
    call.host("ABI-LIFE-01", ETB_BUSY, "{} objects made from this {} are alive", children,
              to_text(handle.kind));
  if (handle.call_count.load() > 1)
    call.host("ABI-OWN-04", ETB_BUSY, "another call on this {} has not returned", to_text(handle.kind));
  const etb_status status = call.run(end);
  if (call.is_refused()) return status;
  if (children != 0 && status != ETB_BUSY)
    call.plugin("ABI-LIFE-01",
                "the {} was ended before {} objects made from it and returned {}, expected ETB_BUSY",
                to_text(handle.kind), children, status);
  if (children == 0 && status == ETB_BUSY)
    call.plugin("ABI-LIFE-01", "ETB_BUSY, but nothing made from this {} is alive", to_text(handle.kind));
  if (status != ETB_OK) return status;
  handle.is_alive.store(false);
  if (handle.parent != nullptr) handle.parent->child_count.fetch_sub(1);
  return status;
}

}  // namespace etb::host::validate
