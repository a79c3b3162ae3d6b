// SPDX-License-Identifier: Apache-2.0
// Runs of the C API (etb/module.h): at once, in one call with inputs and outputs, on a thread.
#include "etb/module.h"
#include "host/application/module_handle.hpp"
#include "host/module/loaded_method.hpp"

namespace {

using etb::Code;
using etb::make_error;
using etb::Status;
using etb::host::LoadedMethod;
using etb::host::RunLimits;
using etb::host::use;

Status read_limits(etb_module& module, const etb_run_limits* limits, RunLimits& read) {
  if (limits == nullptr) return {};
  ETB_TRY(etb::accept_struct(limits, ETB_SIZE_THROUGH(etb_run_limits, timeout_ns), ETB_RUN_CANCELLABLE,
                             "limits"));
  if ((limits->flags & ETB_RUN_CANCELLABLE) != 0) {
    module.is_cancelled.store(false, std::memory_order_relaxed);
    read.cancel = &module.is_cancelled;
  }
  read.max_instructions = limits->max_instructions;
  if (ETB_HAS_FIELD(etb_run_limits, limits, run_id)) {
    if (limits->priority > 1000)
      return make_error(Code::INVALID_ARGUMENT, "limits: the priority is " +
                                                    std::to_string(limits->priority) +
                                                    ", expected 1 to 1000, or 0 for 500");
    if (limits->reserved != 0)
      return make_error(Code::INVALID_ARGUMENT, "limits: a reserved field is not zero");
    if (limits->priority != 0) read.priority = limits->priority;
    read.run_id = limits->run_id;
  }
  const auto& platform = etb::host::kDefaultPlatformHooks;
  if (limits->timeout_ns != 0 &&
      __builtin_add_overflow(platform.now_ns(platform.self), limits->timeout_ns, &read.deadline_ns))
    read.deadline_ns = 0;  // after the end of the clock
  return {};
}

// Reads the inputs straight into the method, so that the call needs no memory of its own.
Status set_inputs(LoadedMethod& method, const etb_value* inputs, uint32_t count) {
  ETB_TRY(method.check_input_count(count));
  ETB_TRY(etb::host::check_array(inputs, count, "inputs"));
  for (uint32_t i = 0; i < count; ++i) {
    etb::host::InputValue input;
    ETB_TRY(input.read(*ETB_AT(etb_value, inputs, i), i));
    ETB_TRY(method.put_input(i, input.get()));
  }
  method.end_inputs();
  return {};
}

void get_outputs(const LoadedMethod& method, etb_value* outputs, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    outputs[i] = ETB_VALUE_INIT;
    put_value(method.output(i), outputs[i]);
  }
}

// The caller's structs are of this version: etb_value never grows.
Status check_outputs(const LoadedMethod& method, const etb_value* outputs, uint32_t count) {
  if (count > method.output_count())
    return make_error(Code::INVALID_ARGUMENT, std::to_string(count) + " outputs asked for, method '" +
                                                  std::string(method.meta().name()) + "' has " +
                                                  std::to_string(method.output_count()));
  ETB_TRY(etb::host::check_array(outputs, count, "outputs"));
  for (uint32_t i = 0; i < count; ++i) ETB_TRY(ETB_ACCEPT(etb_value, &outputs[i], tensor));
  return {};
}

}  // namespace

extern "C" {

etb_status ETB_CALL etb_module_execute(etb_module* module, const char* method, const etb_run_limits* limits,
                                       etb_error* error) {
  return use(module, error, [&](etb_module& used) -> Status {
    RunLimits read;
    ETB_TRY(read_limits(used, limits, read));
    return used.module.run(used.method_or_default(method), read);
  });
}

etb_status ETB_CALL etb_module_call(etb_module* module, const char* method, const etb_value* inputs,
                                    uint32_t input_count, const etb_run_limits* limits, etb_value* outputs,
                                    uint32_t output_count, etb_error* error) {
  return use(module, error, [&](etb_module& used) -> Status {
    ETB_ASSIGN(LoadedMethod* const loaded, used.module.loaded(used.method_or_default(method)));
    ETB_TRY(check_outputs(*loaded, outputs, output_count));
    RunLimits read;
    ETB_TRY(read_limits(used, limits, read));
    ETB_TRY(set_inputs(*loaded, inputs, input_count));
    ETB_TRY(loaded->run(read));
    get_outputs(*loaded, outputs, output_count);
    return {};
  });
}

etb_status ETB_CALL etb_module_start(etb_module* module, const char* method, const etb_run_limits* limits,
                                     etb_run_done_fn done, void* ctx, etb_error* error) {
  return use(module, error, [&](etb_module& used) -> Status {
    RunLimits read;
    ETB_TRY(read_limits(used, limits, read));
    const char* const name = used.method_or_default(method);
    ETB_TRY(used.module.load_method(name));
    ETB_TRY(used.module.check_inputs(name));
    used.is_cancelled.store(false, std::memory_order_relaxed);
    read.cancel = &used.is_cancelled;
    used.begin_run();
    etb_error failed = ETB_ERROR_INIT;
    const etb_status status = used.run_thread.start({name, read, done, ctx}, &failed);
    if (status != ETB_OK) used.end_run();
    return etb::check(status, failed);
  });
}

etb_status ETB_CALL etb_module_wait(etb_module* module, uint64_t timeout_ns, etb_error* error) {
  const Status valid = etb::host::check_handle(module, etb::host::HandleKind::kModule);
  return valid ? module->run_thread.wait(timeout_ns, error) : etb::host::report(valid.error(), error);
}

void ETB_CALL etb_module_cancel(etb_module* module) {
  if (etb::host::check_handle(module, etb::host::HandleKind::kModule))
    module->is_cancelled.store(true, std::memory_order_relaxed);
}

}  // extern "C"
