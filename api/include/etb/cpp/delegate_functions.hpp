// SPDX-License-Identifier: Apache-2.0
//
// The functions of a delegate table over a delegate class and its context class. Part of etb/cpp/plugin.hpp.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "etb/cpp/plugin_objects.hpp"

namespace etb::detail {

template <class P>
etb_status check_payload(etb_plugin* plugin, const etb_payload_check* request, etb_verdict* verdict,
                         etb_error* error) {
  return guard(error, [&]() -> Status {
    ETB_TRY(ETB_ACCEPT(etb_payload_check, request, spec_count));
    ETB_TRY(ETB_ACCEPT(etb_verdict, verdict, text));
    const auto& object = *reinterpret_cast<PluginObject<P>*>(plugin);
    Verdict answer;
    if constexpr (requires { object.impl.check_payload(*request); })
      answer = object.impl.check_payload(*request);
    verdict->kind = answer.kind;
    verdict->reasons = answer.reasons;
    copy_text(verdict->text, answer.text);
    return {};
  });
}

template <class P>
etb_status delegate_create(etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                           etb_error* error) {
  return guard(error, [&]() -> Status {
    auto& parent = *reinterpret_cast<PluginObject<P>*>(plugin);
    ETB_TRY(ETB_ACCEPT(etb_delegate_args, args, option_count));
    ETB_ASSIGN(CompileSpecs specs, CompileSpecs::make(args->specs, args->spec_count));
    ETB_ASSIGN(Options options,
               Options::make(args->options, args->option_count, option_rows<P>(), ETB_OBJECT_DELEGATE));
    ETB_ASSIGN(Payload payload, Payload::make(args->payload));
    auto* device = reinterpret_cast<DeviceObject<P>*>(args->device);
    CreateArgs given{std::move(payload),
                     NamedData(args->named_data),
                     specs,
                     options,
                     args->backend_id != nullptr ? args->backend_id : "",
                     parent.host,
                     device != nullptr ? device->uuid.data() : nullptr,
                     args->device};
    ETB_ASSIGN(auto made, P::Delegate::make(parent.impl, given));
    const DelegateInfo info = made.info();
    std::atomic<uint32_t>& siblings = device != nullptr ? device->children : parent.children;
    *out = reinterpret_cast<etb_delegate*>(new DelegateObject<P>{parent, siblings, std::move(made), info});
    siblings.fetch_add(1);
    return {};
  });
}

template <class P>
etb_status delegate_destroy(etb_delegate* delegate, etb_error* error) {
  return guard(error, [&] {
    auto* object = reinterpret_cast<DelegateObject<P>*>(delegate);
    return end_object(object, object != nullptr ? &object->siblings : nullptr, "delegate");
  });
}

template <class P>
etb_status delegate_query(etb_delegate* delegate, etb_delegate_info* out, etb_error* error) {
  return guard(error, [&]() -> Status {
    ETB_TRY(ETB_ACCEPT(etb_delegate_info, out, scratch_alignment));
    const DelegateInfo& info = reinterpret_cast<DelegateObject<P>*>(delegate)->info;
    out->input_count = info.input_count;
    out->output_count = info.output_count;
    out->max_contexts = info.max_contexts;
    out->resident_bytes = info.resident_bytes;
    out->context_bytes = info.context_bytes;
    out->scratch_bytes = info.scratch_bytes;
    out->scratch_alignment = info.scratch_bytes > 0 ? info.scratch_alignment : 0;
    return {};
  });
}

// Returns the requirements for one input or output.
template <class P>
etb_io_req io_req(const DelegateObject<P>& object, uint32_t role, uint32_t index) {
  etb_io_req req{};
  req.struct_size = ETB_INIT_SIZE(etb_io_req);
  req.role = role;
  req.index = index;
  req.alignment = sizeof(double);
  if constexpr (requires { object.impl.describe_io(req); }) object.impl.describe_io(req);
  return req;
}

template <class P>
etb_status delegate_query_io(etb_delegate* delegate, const etb_io_req_sink* sink, etb_error* error) {
  return guard(error, [&]() -> Status {
    ETB_TRY(ETB_ACCEPT(etb_io_req_sink, sink, put));
    const auto& object = *reinterpret_cast<DelegateObject<P>*>(delegate);
    for (const uint32_t role : {ETB_ROLE_INPUT, ETB_ROLE_OUTPUT}) {
      const uint32_t count = role == ETB_ROLE_INPUT ? object.info.input_count : object.info.output_count;
      for (uint32_t i = 0; i < count; ++i) {
        const etb_io_req req = io_req<P>(object, role, i);
        ETB_TRY(from_host(sink->put(sink->ctx, &req), "io sink"));
      }
    }
    return {};
  });
}

template <class P>
etb_status context_create(etb_delegate* delegate, const etb_option* options, uint64_t option_count,
                          etb_context** out, etb_error* error) {
  return guard(error, [&]() -> Status {
    auto& parent = *reinterpret_cast<DelegateObject<P>*>(delegate);
    ETB_ASSIGN(const Options given,
               Options::make(options, option_count, option_rows<P>(), ETB_OBJECT_CONTEXT));
    using Context = typename ContextOf<typename P::Delegate>::Type;
    std::unique_ptr<ContextObject<P>> made(
        new ContextObject<P>{parent, Context(std::as_const(parent.impl))});
    if constexpr (SetsOptions<Context>)
      if (option_count != 0) ETB_TRY(made->impl.set_option(given));
    *out = reinterpret_cast<etb_context*>(made.release());
    parent.children.fetch_add(1);
    return {};
  });
}

// A context with an asynchronous run counts as in a call until the run is signalled (ABI-EXEC-05).
template <class P>
Status check_idle(const ContextObject<P>* object) {
  if (object == nullptr || !object->is_in_flight) return {};
  return make_error(Code::BUSY, "context: an asynchronous run is in flight");
}

template <class P>
etb_status context_destroy(etb_context* context, etb_error* error) {
  return guard(error, [&]() -> Status {
    auto* object = reinterpret_cast<ContextObject<P>*>(context);
    ETB_TRY(check_idle(object));
    return end_object(object, object != nullptr ? &object->delegate.children : nullptr, "context");
  });
}

// Rejects memory of a kind that describe_io does not list, so that the plugin sees host memory only if it lists none.
template <class P>
Status accept_memory(const DelegateObject<P>& object, const etb_tensor& tensor, uint32_t role,
                     uint32_t index) {
  if (tensor.buffer == nullptr) return {};
  ETB_TRY(ETB_ACCEPT(etb_buffer_desc, tensor.buffer, release));
  const etb_io_req req = io_req<P>(object, role, index);
  for (uint32_t i = 0; i < req.kind_count; ++i)
    if (std::string_view(req.kinds[i]) == tensor.buffer->kind) return {};
  return make_error(Code::INVALID_ARGUMENT, std::string(role == ETB_ROLE_INPUT ? "input " : "output ") +
                                                std::to_string(index) + ": memory of kind '" +
                                                tensor.buffer->kind + "', which query_io does not list");
}

template <class P>
Status accept_tensors(const DelegateObject<P>& object, const etb_tensor* tensors, uint32_t count,
                      uint32_t role) {
  const bool is_input = role == ETB_ROLE_INPUT;
  const char* const what = is_input ? "input" : "output";
  const uint32_t expected = is_input ? object.info.input_count : object.info.output_count;
  if (count != expected)
    return make_error(Code::INVALID_ARGUMENT,
                      std::to_string(count) + " " + what + "s, expected " + std::to_string(expected));
  for (uint32_t i = 0; i < count; ++i) {
    const etb_tensor* tensor = ETB_AT(etb_tensor, tensors, i);
    ETB_TRY(ETB_ACCEPT(etb_tensor, tensor, buffer));
    if (tensor->rank > ETB_MAX_RANK)
      return make_error(Code::INVALID_ARGUMENT, std::string(what) + " " + std::to_string(i) + ": rank " +
                                                    std::to_string(tensor->rank) + ", expected at most " +
                                                    std::to_string(ETB_MAX_RANK));
    ETB_TRY(accept_memory<P>(object, *tensor, role, i));
  }
  return {};
}

template <class P>
etb_status context_reserve(etb_context* context, const etb_tensor* inputs, uint32_t input_count,
                           etb_error* error) {
  return guard(error, [&]() -> Status {
    auto& object = *reinterpret_cast<ContextObject<P>*>(context);
    ETB_TRY(accept_tensors<P>(object.delegate, inputs, input_count, ETB_ROLE_INPUT));
    std::vector<Tensor> views;
    for (uint32_t i = 0; i < input_count; ++i) views.emplace_back(*ETB_AT(etb_tensor, inputs, i));
    return object.impl.reserve(views);
  });
}

// Accepts the arguments of a run, but for its fences. Returns the run.
template <class P>
Result<Run> accept_run(const ContextObject<P>& object, const etb_exec_args* args) {
  const DelegateInfo& info = object.delegate.info;
  ETB_TRY(ETB_ACCEPT(etb_exec_args, args, reserved));
  ETB_TRY(accept_tensors<P>(object.delegate, args->inputs, args->input_count, ETB_ROLE_INPUT));
  ETB_TRY(accept_tensors<P>(object.delegate, args->outputs, args->output_count, ETB_ROLE_OUTPUT));
  if (args->scratch_nbytes < info.scratch_bytes)
    return make_error(Code::INVALID_ARGUMENT, "scratch of " + std::to_string(args->scratch_nbytes) +
                                                  " bytes, expected " + std::to_string(info.scratch_bytes));
  ETB_ASSIGN(const Options options,
             Options::make(args->options, args->option_count, option_rows<P>(), ETB_OBJECT_RUN));
  ETB_TRY(check_idle(&object));
  return Run(*args, options, object.delegate.plugin.host);
}

template <class P>
etb_status execute(etb_context* context, const etb_exec_args* args, etb_error* error) {
  return guard(error, [&]() -> Status {
    auto& object = *reinterpret_cast<ContextObject<P>*>(context);
    ETB_ASSIGN(const Run run, accept_run(object, args));
    if (args->wait_count != 0)
      return make_error(Code::NOT_SUPPORTED,
                        "fences to wait for, expected none: execute is synchronous here");
    return object.impl.execute(run);
  });
}

template <class P>
etb_status execute_async(etb_context* context, const etb_exec_args* args, etb_error* error) {
  return guard(error, [&]() -> Status {
    auto& object = *reinterpret_cast<ContextObject<P>*>(context);
    ETB_ASSIGN(const Run run, accept_run(object, args));
    ETB_TRY(accept_fences(*args));
    object.is_in_flight = true;
    Status started = object.impl.start(AsyncRun(run, object.is_in_flight));
    if (!started) object.is_in_flight = false;
    return started;
  });
}

template <class P>
etb_status cancel(etb_context* context, etb_error* error) {
  return guard(error, [&] { return reinterpret_cast<ContextObject<P>*>(context)->impl.cancel(); });
}

}  // namespace etb::detail
