// SPDX-License-Identifier: Apache-2.0
#include "host/layers/trace/functions.hpp"

#include <memory>
#include <type_traits>

#include "etb/all.h"
#include "etb/cpp/fail.hpp"
#include "host/services/clock.hpp"

namespace etb::host::trace {
namespace {

using Kind = Trace::Kind;

// State of one plugin context: the next table, and the host struct of the next init.
struct Instance {
  Trace* trace = nullptr;
  const etb_plugin_table* next = nullptr;
  etb_host next_host{};
};

// A handle that the host receives.
template <class C>
struct Wrapped {
  Instance* instance;
  C* next;
  uint64_t number;
};

template <class C>
Wrapped<C>& unwrap(C* handle) {
  return *reinterpret_cast<Wrapped<C>*>(handle);
}

template <class C>
constexpr Kind kKind = std::is_same_v<C, etb_plugin>     ? Kind::PLUGIN
                       : std::is_same_v<C, etb_device>   ? Kind::DEVICE
                       : std::is_same_v<C, etb_delegate> ? Kind::DELEGATE
                                                         : Kind::CONTEXT;

constexpr const char* to_text(Kind kind) {
  constexpr const char* kTexts[] = {"plugin", "device", "delegate", "context"};
  return kTexts[static_cast<size_t>(kind)];
}

// Measures `run(etb_error*)` and writes the line. Passes the plugin an error even when the host
// passes none, to get its text.
template <class F>
etb_status traced(Instance& instance, TracedCall& call, etb_error* host_error, F&& run) {
  etb_error own = ETB_ERROR_INIT;
  etb_error* const error = etb::detail::can_write(host_error) ? host_error : &own;
  call.thread = std::this_thread::get_id();
  call.begin_ns = now_ns();
  call.status = run(error);
  call.duration_ns = now_ns() - call.begin_ns;
  if (call.status != ETB_OK) call.error_text = error->text;
  instance.trace->write(call);
  call.error_text = "";  // `own` is destroyed here
  return call.status;
}

// Traces a call on an object.
template <class C, class F>
etb_status on(C* handle, const char* function, etb_error* error, F&& run) {
  const Wrapped<C>& object = unwrap(handle);
  TracedCall call;
  call.function = function;
  call.object_kind = to_text(kKind<C>);
  call.object_number = object.number;
  return traced(*object.instance, call, error, [&](etb_error* inner) { return run(object, inner); });
}

// Traces a call on an object that creates another one.
template <class C, class M, class F>
etb_status making(C* handle, const char* function, M** out, etb_error* error, F&& run) {
  const Wrapped<C>& object = unwrap(handle);
  Instance& instance = *object.instance;
  TracedCall call;
  call.function = function;
  call.object_kind = to_text(kKind<C>);
  call.object_number = object.number;
  return traced(instance, call, error, [&](etb_error* inner) {
    M* made = nullptr;
    const etb_status status = run(object, &made, inner);
    if (status != ETB_OK) return status;
    call.made_kind = to_text(kKind<M>);
    call.made_number = instance.trace->next_number(kKind<M>);
    *out = reinterpret_cast<M*>(new Wrapped<M>{&instance, made, call.made_number});
    return status;
  });
}

// Traces a call that destroys its object.
template <class C, class F>
etb_status ending(C* handle, const char* function, etb_error* error, F&& run) {
  const etb_status status = on(handle, function, error, run);
  if (status == ETB_OK) delete &unwrap(handle);
  return status;
}

etb_status ETB_CALL init(const etb_host* host, const etb_option* options, uint64_t option_count,
                         etb_plugin** out, etb_error* error) {
  auto instance = std::make_unique<Instance>();
  instance->next = next_table(*host, instance->next_host);
  instance->trace = find_trace(*host);
  if (instance->next == nullptr || instance->trace == nullptr)
    return fail(error, ETB_INVALID_STATE,
                "trace: the chain of layers is NULL, or the host has no etb::host::Trace");
  TracedCall call;
  call.function = "plugin.init";
  return traced(*instance, call, error, [&](etb_error* inner) {
    etb_plugin* made = nullptr;
    const etb_status status = instance->next->init(&instance->next_host, options, option_count, &made, inner);
    if (status != ETB_OK) return status;
    call.made_kind = "plugin";
    call.made_number = instance->trace->next_number(Kind::PLUGIN);
    *out = reinterpret_cast<etb_plugin*>(new Wrapped<etb_plugin>{instance.release(), made, call.made_number});
    return status;
  });
}

etb_status ETB_CALL deinit(etb_plugin* plugin, etb_error* error) {
  Instance* const instance = unwrap(plugin).instance;
  const etb_status status = ending(plugin, "plugin.deinit", error, [](const auto& object, etb_error* inner) {
    return object.instance->next->deinit(object.next, inner);
  });
  if (status == ETB_OK) delete instance;
  return status;
}

// Returns the next layer's handle of the object of an option.
void* next_object(uint32_t kind, void* object) {
  switch (kind) {
    case ETB_OBJECT_DEVICE:
      return unwrap(static_cast<etb_device*>(object)).next;
    case ETB_OBJECT_DELEGATE:
      return unwrap(static_cast<etb_delegate*>(object)).next;
    case ETB_OBJECT_CONTEXT:
      return unwrap(static_cast<etb_context*>(object)).next;
    default:
      return unwrap(static_cast<etb_plugin*>(object)).next;
  }
}

// No extension passes this layer (layer.h): an extension's functions would receive handles that this layer
// wraps.
const void* ETB_CALL get_extension(etb_plugin*, uint32_t, void*, const char*) { return nullptr; }

etb_status ETB_CALL option_schema(etb_plugin* plugin, const etb_option_schema_sink* sink, etb_error* error) {
  return on(plugin, "plugin.option_schema", error, [&](const auto& object, etb_error* inner) {
    return object.instance->next->option_schema(object.next, sink, inner);
  });
}

etb_status ETB_CALL set_option(etb_plugin* plugin, uint32_t kind, void* of, const etb_option* option,
                               etb_error* error) {
  return on(plugin, "plugin.set_option", error, [&](const auto& object, etb_error* inner) {
    return object.instance->next->set_option(object.next, kind, next_object(kind, of), option, inner);
  });
}

etb_status ETB_CALL get_option(etb_plugin* plugin, uint32_t kind, void* of, const char* key,
                               const etb_option_sink* sink, etb_error* error) {
  return on(plugin, "plugin.get_option", error, [&](const auto& object, etb_error* inner) {
    return object.instance->next->get_option(object.next, kind, next_object(kind, of), key, sink, inner);
  });
}

// ---- device

etb_status ETB_CALL enumerate(etb_plugin* plugin, const etb_device_sink* sink, etb_error* error) {
  return on(plugin, "device.enumerate", error, [&](const auto& object, etb_error* inner) {
    return object.instance->next->device->enumerate(object.next, sink, inner);
  });
}

etb_status ETB_CALL open(etb_plugin* plugin, const uint8_t* uuid, const etb_option* options,
                         uint64_t option_count, etb_device** out, etb_error* error) {
  return making(
      plugin, "device.open", out, error, [&](const auto& object, etb_device** made, etb_error* inner) {
        return object.instance->next->device->open(object.next, uuid, options, option_count, made, inner);
      });
}

etb_status ETB_CALL close(etb_device* device, etb_error* error) {
  return ending(device, "device.close", error, [](const auto& object, etb_error* inner) {
    return object.instance->next->device->close(object.next, inner);
  });
}

etb_status ETB_CALL query_device(etb_device* device, const etb_device_sink* sink, etb_error* error) {
  return on(device, "device.query", error, [&](const auto& object, etb_error* inner) {
    return object.instance->next->device->query(object.next, sink, inner);
  });
}

// ---- delegate

etb_status ETB_CALL check_payload(etb_plugin* plugin, const etb_payload_check* check, etb_verdict* verdict,
                                  etb_error* error) {
  return on(plugin, "delegate.check_payload", error, [&](const auto& object, etb_error* inner) {
    return object.instance->next->delegate->check_payload(object.next, check, verdict, inner);
  });
}

etb_status ETB_CALL create(etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                           etb_error* error) {
  etb_delegate_args copy = *args;
  copy.struct_size = sizeof(copy);
  if (args->device != nullptr) copy.device = unwrap(args->device).next;
  return making(plugin, "delegate.create", out, error,
                [&](const auto& object, etb_delegate** made, etb_error* inner) {
                  return object.instance->next->delegate->create(object.next, &copy, made, inner);
                });
}

etb_status ETB_CALL destroy(etb_delegate* delegate, etb_error* error) {
  return ending(delegate, "delegate.destroy", error, [](const auto& object, etb_error* inner) {
    return object.instance->next->delegate->destroy(object.next, inner);
  });
}

etb_status ETB_CALL query_delegate(etb_delegate* delegate, etb_delegate_info* info, etb_error* error) {
  return on(delegate, "delegate.query", error, [&](const auto& object, etb_error* inner) {
    return object.instance->next->delegate->query(object.next, info, inner);
  });
}

etb_status ETB_CALL query_io(etb_delegate* delegate, const etb_io_req_sink* sink, etb_error* error) {
  return on(delegate, "delegate.query_io", error, [&](const auto& object, etb_error* inner) {
    return object.instance->next->delegate->query_io(object.next, sink, inner);
  });
}

etb_status ETB_CALL context_create(etb_delegate* delegate, const etb_option* options, uint64_t option_count,
                                   etb_context** out, etb_error* error) {
  return making(delegate, "delegate.context_create", out, error,
                [&](const auto& object, etb_context** made, etb_error* inner) {
                  return object.instance->next->delegate->context_create(object.next, options, option_count,
                                                                         made, inner);
                });
}

etb_status ETB_CALL context_destroy(etb_context* context, etb_error* error) {
  return ending(context, "delegate.context_destroy", error, [](const auto& object, etb_error* inner) {
    return object.instance->next->delegate->context_destroy(object.next, inner);
  });
}

etb_status ETB_CALL context_reserve(etb_context* context, const etb_tensor* inputs, uint32_t input_count,
                                    etb_error* error) {
  return on(context, "delegate.context_reserve", error, [&](const auto& object, etb_error* inner) {
    return object.instance->next->delegate->context_reserve(object.next, inputs, input_count, inner);
  });
}

etb_status ETB_CALL execute(etb_context* context, const etb_exec_args* args, etb_error* error) {
  return on(context, "delegate.execute", error, [&](const auto& object, etb_error* inner) {
    return object.instance->next->delegate->execute(object.next, args, inner);
  });
}

etb_status ETB_CALL execute_async(etb_context* context, const etb_exec_args* args, etb_error* error) {
  return on(context, "delegate.execute_async", error, [&](const auto& object, etb_error* inner) {
    return object.instance->next->delegate->execute_async(object.next, args, inner);
  });
}

etb_status ETB_CALL cancel(etb_context* context, etb_error* error) {
  return on(context, "delegate.cancel", error, [](const auto& object, etb_error* inner) {
    return object.instance->next->delegate->cancel(object.next, inner);
  });
}

// ---- ahead of time

etb_status ETB_CALL op_table(etb_plugin* plugin, const etb_op_sink* sink, etb_error* error) {
  return on(plugin, "aot.op_table", error, [&](const auto& object, etb_error* inner) {
    return object.instance->next->aot->op_table(object.next, sink, inner);
  });
}

etb_status ETB_CALL preserve_ops(etb_plugin* plugin, const etb_text_sink* sink, etb_error* error) {
  return on(plugin, "aot.preserve_ops", error, [&](const auto& object, etb_error* inner) {
    return object.instance->next->aot->preserve_ops(object.next, sink, inner);
  });
}

etb_status ETB_CALL partition(etb_plugin* plugin, const etb_partition_args* args,
                              const etb_partition_sink* sink, etb_error* error) {
  return on(plugin, "aot.partition", error, [&](const auto& object, etb_error* inner) {
    return object.instance->next->aot->partition(object.next, args, sink, inner);
  });
}

etb_status ETB_CALL dry_check(etb_plugin* plugin, const etb_partition_args* args, etb_error* error) {
  return on(plugin, "aot.dry_check", error, [&](const auto& object, etb_error* inner) {
    return object.instance->next->aot->dry_check(object.next, args, inner);
  });
}

etb_status ETB_CALL estimate(etb_plugin* plugin, const etb_partition_args* args, etb_estimate* out,
                             etb_error* error) {
  return on(plugin, "aot.estimate", error, [&](const auto& object, etb_error* inner) {
    return object.instance->next->aot->estimate(object.next, args, out, inner);
  });
}

etb_status ETB_CALL compile(etb_plugin* plugin, const etb_compile_args* args, etb_error* error) {
  return on(plugin, "aot.compile", error, [&](const auto& object, etb_error* inner) {
    return object.instance->next->aot->compile(object.next, args, inner);
  });
}

constexpr etb_device_table kDevice{sizeof(etb_device_table), 0, enumerate, open, close, query_device};
constexpr etb_delegate_table kDelegate{sizeof(etb_delegate_table),
                                       0,
                                       ETB_DELEGATE_CAPS_KNOWN,
                                       0,
                                       check_payload,
                                       create,
                                       destroy,
                                       query_delegate,
                                       query_io,
                                       context_create,
                                       context_destroy,
                                       context_reserve,
                                       execute,
                                       execute_async,
                                       cancel};
constexpr etb_aot_table kAot{sizeof(etb_aot_table), 0,         ETB_AOT_CAPS_KNOWN, 0,        op_table,
                             preserve_ops,          partition, dry_check,          estimate, compile};
// NULL ident: every table of a chain has the plugin's identity.
constexpr etb_plugin_table kPlugin{sizeof(etb_plugin_table),
                                   0,
                                   ETB_ABI_VERSION,
                                   ETB_PLUGIN_CAPS_KNOWN,
                                   nullptr,
                                   init,
                                   deinit,
                                   get_extension,
                                   option_schema,
                                   set_option,
                                   get_option,
                                   &kDevice,
                                   &kDelegate,
                                   &kAot};

}  // namespace

const etb_plugin_table& trace_table() noexcept { return kPlugin; }

}  // namespace etb::host::trace
