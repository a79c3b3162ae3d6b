// SPDX-License-Identifier: Apache-2.0
// Wrapping: the table of a layer that wraps every handle, made from a class with three functions.
//
//   class Counting {
//    public:
//     static constexpr const char *kName = "counting", *kServiceId = "com.example.counting/1";
//     struct Data {};   // kept with each handle
//     template <class Call, class Run>
//     etb_status on_call(WrappedObject<Counting>& object, Call& call, etb_error* error, Run&& run) {
//       ++count_;
//       return run(error);      // calls the next table with the arguments in `call`
//     }
//     template <class Call, class Run>   // a call that makes an object. `object` is NULL for init
//     etb_status on_make(const WrappedObject<Counting>* object, Call& call, MadeObject<Counting>& made,
//                        etb_error* error, Run&& run);
//     template <class Call, class Run>   // a call that ends `object`; after ETB_OK it is freed
//     etb_status on_end(WrappedObject<Counting>& object, Call& call, etb_error* error, Run&& run);
//     ObjectNumbers& numbers();
//   };
//   Layer layer{"counting", &Wrapping<Counting>::table(), Counting::kServiceId, &service};
#pragma once

#include <atomic>
#include <memory>
#include <type_traits>

#include "etb/cpp/fail.hpp"
#include "host/layers/calls.hpp"
#include "host/layers/layer.hpp"

namespace etb::host {

// The application's object of a layer, as a host service with the layer's id.
struct LayerService {
  uint32_t struct_size;
  uint32_t flags;
  void* layer;
};

// Numbers the objects of each kind in order of creation, from 1.
class ObjectNumbers {
 public:
  uint64_t next(ObjectKind kind) noexcept { return ++counts_[index(kind)]; }

 private:
  static constexpr size_t index(ObjectKind kind) noexcept {
    return kind == ObjectKind::PLUGIN     ? 0
           : kind == ObjectKind::DEVICE   ? 1
           : kind == ObjectKind::DELEGATE ? 2
                                          : 3;
  }
  std::atomic<uint64_t> counts_[4] = {};
};

// State of one plugin context: the application's object, the next table, and the host struct of the next init.
template <class L>
struct WrappingInstance {
  L* layer = nullptr;
  const etb_plugin_table* next = nullptr;
  etb_host next_host{};
};

// A handle that the host receives.
template <class L>
struct WrappedObject {
  WrappingInstance<L>* instance = nullptr;
  ObjectKind kind = ObjectKind::PLUGIN;
  uint64_t number = 0;
  void* next = nullptr;  // the next table's handle
  typename L::Data data{};

  const etb_plugin_table& next_table() const noexcept { return *instance->next; }
  template <class Handle>
  Handle* next_as() const noexcept {
    return static_cast<Handle*>(next);
  }
};

// The object that a call makes. Filled when the next table has returned ETB_OK.
template <class L>
struct MadeObject {
  ObjectKind kind;
  uint64_t number = 0;
  WrappedObject<L>* object = nullptr;
};

template <class L>
class Wrapping {
 public:
  static const etb_plugin_table& table() noexcept { return kPlugin; }

  // Returns the host's object, or NULL.
  static L* find_layer(const etb_host& host) noexcept {
    const auto* const service = static_cast<const LayerService*>(host.get_service(&host, L::kServiceId));
    return service == nullptr ? nullptr : static_cast<L*>(service->layer);
  }

  static WrappedObject<L>& unwrap(void* handle) noexcept { return *static_cast<WrappedObject<L>*>(handle); }

 private:
  using Object = WrappedObject<L>;
  using Made = MadeObject<L>;

  template <class Handle>
  static constexpr ObjectKind kKind = std::is_same_v<Handle, etb_plugin>     ? ObjectKind::PLUGIN
                                      : std::is_same_v<Handle, etb_device>   ? ObjectKind::DEVICE
                                      : std::is_same_v<Handle, etb_delegate> ? ObjectKind::DELEGATE
                                                                             : ObjectKind::CONTEXT;

  // `run(object, call, error)` calls the next table.
  template <class Call, class Run>
  static etb_status on(void* handle, Call call, etb_error* error, Run run) {
    Object& object = unwrap(handle);
    return object.instance->layer->on_call(object, call, error,
                                           [&](etb_error* inner) { return run(object, call, inner); });
  }

  template <class Handle, class Call, class Run>
  static etb_status making(void* handle, Call call, Handle** out, etb_error* error, Run run) {
    Object& object = unwrap(handle);
    Made made{kKind<Handle>};
    std::unique_ptr<Object> wrapped;
    const auto run_next = [&](etb_error* inner) {
      Handle* next = nullptr;
      const etb_status status = run(object, call, &next, inner);
      if (status == ETB_OK) wrapped = wrap(*object.instance, made, next);
      return status;
    };
    const etb_status status = object.instance->layer->on_make(&object, call, made, error, run_next);
    if (status == ETB_OK) *out = reinterpret_cast<Handle*>(wrapped.release());
    return status;
  }

  static std::unique_ptr<Object> wrap(WrappingInstance<L>& instance, Made& made, void* next) {
    auto wrapped = std::make_unique<Object>();
    wrapped->instance = &instance;
    wrapped->kind = made.kind;
    wrapped->number = made.number = instance.layer->numbers().next(made.kind);
    wrapped->next = next;
    made.object = wrapped.get();
    return wrapped;
  }

  template <class Call, class Run>
  static etb_status ending(void* handle, Call call, etb_error* error, Run run) {
    Object& object = unwrap(handle);
    const etb_status status = object.instance->layer->on_end(
        object, call, error, [&](etb_error* inner) { return run(object, inner); });
    if (status == ETB_OK) delete &object;
    return status;
  }

  // ---- plugin

  static etb_status ETB_CALL init(const etb_host* host, const etb_option* options, uint64_t option_count,
                                  etb_plugin** out, etb_error* error) {
    auto instance = std::make_unique<WrappingInstance<L>>();
    instance->next = host::next_table(*host, instance->next_host);
    instance->layer = find_layer(*host);
    if (instance->next == nullptr || instance->layer == nullptr)
      return fail(error, ETB_INVALID_STATE,
                  "%s: the chain of layers is NULL, or the host has no object of the layer", L::kName);
    calls::Init call{{}, instance->next->ident, host, options, option_count};
    Made made{ObjectKind::PLUGIN};
    std::unique_ptr<Object> wrapped;
    const auto run = [&](etb_error* inner) {
      etb_plugin* next = nullptr;
      const etb_status status =
          instance->next->init(&instance->next_host, call.options, call.option_count, &next, inner);
      if (status == ETB_OK) wrapped = wrap(*instance, made, next);
      return status;
    };
    const etb_status status = instance->layer->on_make(nullptr, call, made, error, run);
    if (status != ETB_OK) return status;
    *out = reinterpret_cast<etb_plugin*>(wrapped.release());
    instance.release();  // freed by deinit
    return status;
  }

  static etb_status ETB_CALL deinit(etb_plugin* plugin, etb_error* error) {
    WrappingInstance<L>* const instance = unwrap(plugin).instance;
    const etb_status status =
        ending(plugin, calls::Deinit{}, error, [](const Object& object, etb_error* inner) {
          return object.next_table().deinit(object.template next_as<etb_plugin>(), inner);
        });
    if (status == ETB_OK) delete instance;
    return status;
  }

  // No extension passes this layer (layer.h): an extension's functions would receive handles that this layer
  // wraps.
  static const void* ETB_CALL get_extension(etb_plugin*, uint32_t, void*, const char*) { return nullptr; }

  static etb_status ETB_CALL option_schema(etb_plugin* plugin, const etb_option_schema_sink* sink,
                                           etb_error* error) {
    return on(plugin, calls::OptionSchema{{}, sink}, error,
              [](const Object& object, const auto& call, etb_error* inner) {
                return object.next_table().option_schema(object.template next_as<etb_plugin>(), call.sink,
                                                         inner);
              });
  }

  static etb_status ETB_CALL set_option(etb_plugin* plugin, uint32_t, void* of, const etb_option* option,
                                        etb_error* error) {
    const Object& target = unwrap(of);
    return on(plugin, calls::SetOption{{}, target.kind, target.number, option}, error,
              [&](const Object& object, const auto& call, etb_error* inner) {
                return object.next_table().set_option(object.template next_as<etb_plugin>(),
                                                      static_cast<uint32_t>(target.kind), target.next,
                                                      call.option, inner);
              });
  }

  static etb_status ETB_CALL get_option(etb_plugin* plugin, uint32_t, void* of, const char* key,
                                        const etb_option_sink* sink, etb_error* error) {
    const Object& target = unwrap(of);
    return on(plugin, calls::GetOption{{}, target.kind, target.number, key, sink}, error,
              [&](const Object& object, const auto& call, etb_error* inner) {
                return object.next_table().get_option(object.template next_as<etb_plugin>(),
                                                      static_cast<uint32_t>(target.kind), target.next,
                                                      call.key, call.sink, inner);
              });
  }

  // ---- device

  static etb_status ETB_CALL enumerate(etb_plugin* plugin, const etb_device_sink* sink, etb_error* error) {
    return on(plugin, calls::Enumerate{{}, sink}, error,
              [](const Object& object, const auto& call, etb_error* inner) {
                return object.next_table().device->enumerate(object.template next_as<etb_plugin>(), call.sink,
                                                             inner);
              });
  }

  static etb_status ETB_CALL open(etb_plugin* plugin, const uint8_t* uuid, const etb_option* options,
                                  uint64_t option_count, etb_device** out, etb_error* error) {
    return making(plugin, calls::Open{{}, uuid, options, option_count}, out, error,
                  [](const Object& object, const auto& call, etb_device** made, etb_error* inner) {
                    return object.next_table().device->open(object.template next_as<etb_plugin>(), call.uuid,
                                                            call.options, call.option_count, made, inner);
                  });
  }

  static etb_status ETB_CALL close(etb_device* device, etb_error* error) {
    return ending(device, calls::Close{}, error, [](const Object& object, etb_error* inner) {
      return object.next_table().device->close(object.template next_as<etb_device>(), inner);
    });
  }

  static etb_status ETB_CALL query_device(etb_device* device, const etb_device_sink* sink, etb_error* error) {
    return on(device, calls::QueryDevice{{}, sink}, error,
              [](const Object& object, const auto& call, etb_error* inner) {
                return object.next_table().device->query(object.template next_as<etb_device>(), call.sink,
                                                         inner);
              });
  }

  // ---- delegate

  static etb_status ETB_CALL check_payload(etb_plugin* plugin, const etb_payload_check* check,
                                           etb_verdict* verdict, etb_error* error) {
    return on(plugin, calls::CheckPayload{{}, check, verdict}, error,
              [](const Object& object, const auto& call, etb_error* inner) {
                return object.next_table().delegate->check_payload(object.template next_as<etb_plugin>(),
                                                                   call.check, call.verdict, inner);
              });
  }

  static etb_status ETB_CALL create(etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                                    etb_error* error) {
    etb_delegate_args copy = *args;
    copy.struct_size = sizeof(copy);
    uint64_t device_number = 0;
    if (args->device != nullptr) {
      const Object& device = unwrap(args->device);
      copy.device = device.template next_as<etb_device>();
      device_number = device.number;
    }
    return making(plugin, calls::Create{{}, &copy, device_number}, out, error,
                  [](const Object& object, const auto& call, etb_delegate** made, etb_error* inner) {
                    return object.next_table().delegate->create(object.template next_as<etb_plugin>(),
                                                                call.args, made, inner);
                  });
  }

  static etb_status ETB_CALL destroy(etb_delegate* delegate, etb_error* error) {
    return ending(delegate, calls::Destroy{}, error, [](const Object& object, etb_error* inner) {
      return object.next_table().delegate->destroy(object.template next_as<etb_delegate>(), inner);
    });
  }

  static etb_status ETB_CALL query_delegate(etb_delegate* delegate, etb_delegate_info* info,
                                            etb_error* error) {
    return on(delegate, calls::QueryDelegate{{}, info}, error,
              [](const Object& object, const auto& call, etb_error* inner) {
                return object.next_table().delegate->query(object.template next_as<etb_delegate>(), call.info,
                                                           inner);
              });
  }

  static etb_status ETB_CALL query_io(etb_delegate* delegate, const etb_io_req_sink* sink, etb_error* error) {
    return on(delegate, calls::QueryIo{{}, sink}, error,
              [](const Object& object, const auto& call, etb_error* inner) {
                return object.next_table().delegate->query_io(object.template next_as<etb_delegate>(),
                                                              call.sink, inner);
              });
  }

  static etb_status ETB_CALL context_create(etb_delegate* delegate, const etb_option* options,
                                            uint64_t option_count, etb_context** out, etb_error* error) {
    return making(delegate, calls::ContextCreate{{}, options, option_count}, out, error,
                  [](const Object& object, const auto& call, etb_context** made, etb_error* inner) {
                    return object.next_table().delegate->context_create(
                        object.template next_as<etb_delegate>(), call.options, call.option_count, made,
                        inner);
                  });
  }

  static etb_status ETB_CALL context_destroy(etb_context* context, etb_error* error) {
    return ending(context, calls::ContextDestroy{}, error, [](const Object& object, etb_error* inner) {
      return object.next_table().delegate->context_destroy(object.template next_as<etb_context>(), inner);
    });
  }

  static etb_status ETB_CALL context_reserve(etb_context* context, const etb_tensor* inputs,
                                             uint32_t input_count, etb_error* error) {
    return on(context, calls::ContextReserve{{}, inputs, input_count}, error,
              [](const Object& object, const auto& call, etb_error* inner) {
                return object.next_table().delegate->context_reserve(object.template next_as<etb_context>(),
                                                                     call.inputs, call.input_count, inner);
              });
  }

  static etb_status ETB_CALL execute(etb_context* context, const etb_exec_args* args, etb_error* error) {
    return on(context, calls::Execute{{}, args}, error,
              [](const Object& object, const auto& call, etb_error* inner) {
                return object.next_table().delegate->execute(object.template next_as<etb_context>(),
                                                             call.args, inner);
              });
  }

  static etb_status ETB_CALL execute_async(etb_context* context, const etb_exec_args* args,
                                           etb_error* error) {
    return on(context, calls::ExecuteAsync{{}, args}, error,
              [](const Object& object, const auto& call, etb_error* inner) {
                return object.next_table().delegate->execute_async(object.template next_as<etb_context>(),
                                                                   call.args, inner);
              });
  }

  static etb_status ETB_CALL cancel(etb_context* context, etb_error* error) {
    return on(context, calls::Cancel{}, error, [](const Object& object, const auto&, etb_error* inner) {
      return object.next_table().delegate->cancel(object.template next_as<etb_context>(), inner);
    });
  }

  // ---- ahead of time

  static etb_status ETB_CALL op_table(etb_plugin* plugin, const etb_op_sink* sink, etb_error* error) {
    return on(plugin, calls::OpTable{{}, sink}, error,
              [](const Object& object, const auto& call, etb_error* inner) {
                return object.next_table().aot->op_table(object.template next_as<etb_plugin>(), call.sink,
                                                         inner);
              });
  }

  static etb_status ETB_CALL preserve_ops(etb_plugin* plugin, const etb_text_sink* sink, etb_error* error) {
    return on(plugin, calls::PreserveOps{{}, sink}, error,
              [](const Object& object, const auto& call, etb_error* inner) {
                return object.next_table().aot->preserve_ops(object.template next_as<etb_plugin>(), call.sink,
                                                             inner);
              });
  }

  static etb_status ETB_CALL partition(etb_plugin* plugin, const etb_partition_args* args,
                                       const etb_partition_sink* sink, etb_error* error) {
    return on(plugin, calls::Partition{{}, args, sink}, error,
              [](const Object& object, const auto& call, etb_error* inner) {
                return object.next_table().aot->partition(object.template next_as<etb_plugin>(), call.args,
                                                          call.sink, inner);
              });
  }

  static etb_status ETB_CALL dry_check(etb_plugin* plugin, const etb_partition_args* args, etb_error* error) {
    return on(plugin, calls::DryCheck{{}, args}, error,
              [](const Object& object, const auto& call, etb_error* inner) {
                return object.next_table().aot->dry_check(object.template next_as<etb_plugin>(), call.args,
                                                          inner);
              });
  }

  static etb_status ETB_CALL estimate(etb_plugin* plugin, const etb_partition_args* args, etb_estimate* out,
                                      etb_error* error) {
    return on(plugin, calls::Estimate{{}, args, out}, error,
              [](const Object& object, const auto& call, etb_error* inner) {
                return object.next_table().aot->estimate(object.template next_as<etb_plugin>(), call.args,
                                                         call.estimate, inner);
              });
  }

  static etb_status ETB_CALL compile(etb_plugin* plugin, const etb_compile_args* args, etb_error* error) {
    return on(plugin, calls::Compile{{}, args}, error,
              [](const Object& object, const auto& call, etb_error* inner) {
                return object.next_table().aot->compile(object.template next_as<etb_plugin>(), call.args,
                                                        inner);
              });
  }

  static constexpr etb_device_table kDevice{
      sizeof(etb_device_table), 0, enumerate, open, close, query_device};
  static constexpr etb_delegate_table kDelegate{sizeof(etb_delegate_table),
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
  static constexpr etb_aot_table kAot{
      sizeof(etb_aot_table), 0,         ETB_AOT_CAPS_KNOWN, 0,        op_table,
      preserve_ops,          partition, dry_check,          estimate, compile};
  // NULL ident: every table of a chain has the plugin's identity.
  static constexpr etb_plugin_table kPlugin{sizeof(etb_plugin_table),
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
};

}  // namespace etb::host
