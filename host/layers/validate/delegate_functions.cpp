// SPDX-License-Identifier: Apache-2.0
#include "host/layers/validate/borrowed.hpp"
#include "host/layers/validate/functions.hpp"
#include "host/layers/validate/payloads.hpp"
#include "host/layers/validate/sinks.hpp"

namespace etb::host::validate {

DelegateHandle::DelegateHandle(Instance& of, DeviceHandle* on)
    : handle(Kind::DELEGATE, on != nullptr ? &on->handle : &of.handle, &of), device(on) {}
DelegateHandle::~DelegateHandle() = default;

namespace {

void check_verdict(Call& call, const etb_verdict& verdict) {
  constexpr uint32_t kReasons = ETB_REASON_DRIVER | ETB_REASON_DEVICE | ETB_REASON_DEPENDENCY |
                                ETB_REASON_FORMAT | ETB_REASON_CORRUPT | ETB_REASON_POLICY;
  if (verdict.kind < ETB_VERDICT_UNKNOWN || verdict.kind > ETB_VERDICT_UNSUPPORTED)
    call.plugin("ABI-TYPE-03", "verdict.kind is {}, expected 0 to 3", verdict.kind);
  if ((verdict.reasons & ~kReasons) != 0)
    call.plugin("ABI-TYPE-03", "verdict.reasons has unknown bits {:#x}", verdict.reasons & ~kReasons);
  if (strnlen(verdict.text, sizeof(verdict.text)) == sizeof(verdict.text))
    call.plugin("ABI-ERR-02", "verdict.text does not end in its array");
  else if (!is_utf8(verdict.text))
    call.plugin("ABI-ERR-02", "verdict.text is not UTF-8");
}

etb_status ETB_CALL check_payload(etb_plugin* plugin, const etb_payload_check* check, etb_verdict* verdict,
                                  etb_error* error) {
  Call call("delegate.check_payload", error);
  Instance* const instance = call.enter(plugin);
  if (instance == nullptr) return call.finish(ETB_INVALID_HANDLE);
  bool is_sound = false;
  if (!check_struct(call, Side::HOST, check, "check"))
    call.refuse();
  else
    is_sound = check_text(call, Side::HOST, check->backend_id, "check.backend_id") &&
               check_target(call, check->target) &&
               check_bytes(call, Side::HOST, check->prefix, "check.prefix") &&
               check_specs(call, Side::HOST, check->specs, check->spec_count, "check.specs");
  const etb_payload_check* given = check;
  BorrowedCopy borrowed(call, is_sound, "check", [&](ArgumentCopier& to) {
    etb_payload_check patched = *check;
    patched.backend_id = to.text(check->backend_id);
    patched.target = to.target(check->target);
    patched.prefix.data = to.bytes(check->prefix.data, check->prefix.nbytes, 16);
    patched.specs = to.specs(check->specs, check->spec_count);
    given = to.whole(check, patched);
  });
  OutStruct<etb_verdict> out(call, verdict, "verdict");
  const etb_status status = call.run([&](etb_error* inner) {
    return instance->next->delegate->check_payload(instance->plugin, given, out.get(), inner);
  });
  borrowed.end();
  if (!call.is_refused() && status == ETB_OK) check_verdict(call, *out.get());
  out.commit(status);
  return call.finish(status);
}

// Returns true if all that the arguments point to can be read.
bool check_delegate_args(Call& call, const etb_delegate_args* args) {
  if (!check_struct(call, Side::HOST, args, "args")) {
    call.refuse();
    return false;
  }
  const bool has_id = check_text(call, Side::HOST, args->backend_id, "args.backend_id");
  const bool has_method = check_text(call, Side::HOST, args->method_name, "args.method_name");
  if (!check_struct(call, Side::HOST, args->payload, "args.payload") ||
      !check_payload_view(call, Side::HOST, *args->payload, "args.payload"))
    call.refuse();
  if (args->named_data != nullptr)
    check_callable(call, args->named_data, &etb_named_data::get, "args.named_data");
  const bool has_specs = check_specs(call, Side::HOST, args->specs, args->spec_count, "args.specs");
  return check_options(call, Side::HOST, args->options, args->option_count, "args.options") && has_id &&
         has_method && has_specs;
}

etb_status ETB_CALL create(etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                           etb_error* error) {
  Call call("delegate.create", error);
  Instance* const instance = call.enter(plugin);
  if (instance == nullptr) return call.finish(ETB_INVALID_HANDLE);
  if (out == nullptr) call.fatal("ABI-CALL-04", ETB_INVALID_ARGUMENT, "out is NULL");
  const bool is_sound = check_delegate_args(call, args);
  DeviceHandle* const device =
      !call.is_refused() && args->device != nullptr ? call.enter(args->device) : nullptr;
  if (call.is_refused()) return call.finish(ETB_INVALID_ARGUMENT);

  State& state = instance->state;
  auto object = std::make_shared<DelegateHandle>(*instance, device);
  object->payload = std::make_unique<PayloadGuard>(state, "delegate.create", *args->payload, "the payload");
  if (args->named_data != nullptr)
    object->named_data = std::make_unique<NamedDataGuard>(state, "delegate.create", *args->named_data);

  etb_delegate_args copy = *args;
  copy.struct_size = sizeof(copy);
  copy.device = device != nullptr ? device->next : nullptr;
  copy.payload = &object->payload->view();
  copy.named_data = object->named_data != nullptr ? object->named_data->get() : nullptr;
  const etb_delegate_args* given = &copy;
  BorrowedCopy borrowed(call, is_sound, "args", [&](ArgumentCopier& to) {
    etb_delegate_args patched = copy;
    patched.payload = to.whole(copy.payload, *copy.payload);
    patched.backend_id = to.text(args->backend_id);
    patched.method_name = to.text(args->method_name);
    patched.specs = to.specs(args->specs, args->spec_count);
    patched.options = to.options(args->options, args->option_count);
    given = to.whole(&copy, patched);
  });

  OutHandle<etb_delegate> made;
  const etb_status status = call.run([&](etb_error* inner) {
    return instance->next->delegate->create(instance->plugin, given, &made.handle, inner);
  });
  borrowed.end();
  if (!made.check(call, status)) return call.finish(status == ETB_OK ? ETB_INTERNAL : status);
  if (call.is_spoiled()) {
    instance->next->delegate->destroy(made.handle, nullptr);
    return call.finish(status);
  }
  object->next = made.handle;
  object->handle.parent->child_count.fetch_add(1);
  *out = reinterpret_cast<etb_delegate*>(object.get());
  state.adopt(std::move(object));
  return call.finish(status);
}

etb_status ETB_CALL destroy(etb_delegate* delegate, etb_error* error) {
  Call call("delegate.destroy", error);
  DelegateHandle* const object = call.enter(delegate, Tag::SERIAL);
  if (object == nullptr) return call.finish(ETB_INVALID_HANDLE);
  Instance& instance = *object->handle.instance;
  const etb_status status = end_object(
      call, *object, [&](etb_error* inner) { return instance.next->delegate->destroy(object->next, inner); });
  if (!object->handle.is_alive.load()) {
    object->payload->end();
    object->named_data.reset();
    instance.state.retire(object);
  }
  return call.finish(status);
}

void check_info(Call& call, const etb_delegate_info& info) {
  if (info.max_contexts == 0)
    call.plugin("ABI-TYPE-03", "info.max_contexts is 0, expected 1, more or ETB_UNLIMITED");
  if (info.reserved != 0 || info.flags != 0)
    call.plugin("ABI-TYPE-02", "info.flags or .reserved is not zero");
  if (info.scratch_bytes != 0 && !is_power_of_two(info.scratch_alignment))
    call.plugin("ABI-TYPE-03", "info.scratch_alignment is {}, expected a power of two",
                info.scratch_alignment);
}

etb_status ETB_CALL query(etb_delegate* delegate, etb_delegate_info* info, etb_error* error) {
  Call call("delegate.query", error);
  DelegateHandle* const object = call.enter(delegate);
  if (object == nullptr) return call.finish(ETB_INVALID_HANDLE);
  OutStruct<etb_delegate_info> out(call, info, "info");
  const etb_status status = call.run([&](etb_error* inner) {
    return object->handle.instance->next->delegate->query(object->next, out.get(), inner);
  });
  if (!call.is_refused() && status == ETB_OK) {
    check_info(call, *out.get());
    const std::lock_guard lock(object->mutex);
    object->has_info = true;
    object->info = *out.get();
  }
  out.commit(status);
  return call.finish(status);
}

// Checks that inputs come before outputs, each list from index 0 on.
bool check_io_order(Call& call, const etb_io_req& req, size_t input_count, size_t output_count) {
  const bool is_output = req.role == ETB_ROLE_OUTPUT;
  const size_t expected = is_output ? output_count : input_count;
  if (req.index != expected) {
    call.plugin("ABI-SINK-03", "req.index is {}, expected {}", req.index, expected);
    return false;
  }
  if (req.role == ETB_ROLE_INPUT && output_count != 0)
    call.plugin("ABI-SINK-03", "an input came after an output");
  if (is_output && req.may_alias_input > input_count)
    call.plugin("ABI-TYPE-03", "req.may_alias_input is {}, there are {} inputs", req.may_alias_input,
                input_count);
  return true;
}

etb_status ETB_CALL query_io(etb_delegate* delegate, const etb_io_req_sink* sink, etb_error* error) {
  Call call("delegate.query_io", error);
  DelegateHandle* const object = call.enter(delegate);
  if (object == nullptr) return call.finish(ETB_INVALID_HANDLE);
  std::vector<IoNeed> inputs, outputs;
  GuardedSink<etb_io_req_sink> guarded(call, sink, "sink", [&](Call& in, const etb_io_req& req) {
    if (!check_item(in, req) || !check_io_order(in, req, inputs.size(), outputs.size())) return false;
    const IoNeed need{req.role, req.alignment, req.padding_bytes};
    (req.role == ETB_ROLE_OUTPUT ? outputs : inputs).push_back(need);
    return true;
  });
  const etb_status status = call.run([&](etb_error* inner) {
    return object->handle.instance->next->delegate->query_io(object->next, guarded.get(), inner);
  });
  guarded.close(status);
  if (status == ETB_OK) {
    const std::lock_guard lock(object->mutex);
    object->inputs = std::move(inputs);
    object->outputs = std::move(outputs);
  }
  return call.finish(status);
}

etb_status ETB_CALL context_create(etb_delegate* delegate, const etb_option* options, uint64_t option_count,
                                   etb_context** out, etb_error* error) {
  Call call("delegate.context_create", error);
  DelegateHandle* const object = call.enter(delegate);
  if (object == nullptr) return call.finish(ETB_INVALID_HANDLE);
  if (out == nullptr) call.fatal("ABI-CALL-04", ETB_INVALID_ARGUMENT, "out is NULL");
  BorrowedOptions given(call, options, option_count);
  const etb_delegate_table& next = *object->handle.instance->next->delegate;
  OutHandle<etb_context> made;
  const etb_status status = call.run([&](etb_error* inner) {
    return next.context_create(object->next, given.get(), option_count, &made.handle, inner);
  });
  given.end();
  if (call.is_refused() || !made.check(call, status))
    return call.finish(status == ETB_OK ? ETB_INTERNAL : status);
  if (call.is_spoiled()) {
    next.context_destroy(made.handle, nullptr);
    return call.finish(status);
  }
  auto context = std::make_shared<ContextHandle>(*object);
  context->next = made.handle;
  object->handle.child_count.fetch_add(1);
  *out = reinterpret_cast<etb_context*>(context.get());
  call.state().adopt(std::move(context));
  return call.finish(status);
}

etb_status ETB_CALL context_destroy(etb_context* context, etb_error* error) {
  Call call("delegate.context_destroy", error);
  ContextHandle* const object = call.enter(context, Tag::SERIAL);
  if (object == nullptr) return call.finish(ETB_INVALID_HANDLE);
  Instance& instance = *object->handle.instance;
  const etb_status status = end_object(call, *object, [&](etb_error* inner) {
    return instance.next->delegate->context_destroy(object->next, inner);
  });
  if (!object->handle.is_alive.load()) instance.state.retire(object);
  return call.finish(status);
}

}  // namespace

const etb_delegate_table kDelegateTable{sizeof(etb_delegate_table),
                                        0,
                                        ETB_DELEGATE_CAPS_KNOWN,
                                        0,
                                        check_payload,
                                        create,
                                        destroy,
                                        query,
                                        query_io,
                                        context_create,
                                        context_destroy,
                                        context_reserve,
                                        execute,
                                        execute_async,
                                        cancel};

}  // namespace etb::host::validate
