// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "etb/cpp/fail.hpp"
#include "host/layers/validate/borrowed.hpp"
#include "host/layers/validate/functions.hpp"
#include "host/layers/validate/payloads.hpp"
#include "host/layers/validate/services.hpp"
#include "host/layers/validate/sinks.hpp"

namespace etb::host::validate {

Instance::Instance(State& of) : state(of) {}
Instance::~Instance() = default;

namespace {

// Checks that no other [init] call into this plugin is in progress (ABI-THREAD-03).
class InitTurn {
 public:
  InitTurn(Call& call, Instance& instance) : state_(instance.state), plugin_(instance.next) {
    if (!state_.begin_init(plugin_))
      call.host("ABI-THREAD-03", ETB_INVALID_STATE, "another [init] call into this plugin has not returned");
  }
  ~InitTurn() { state_.end_init(plugin_); }
  InitTurn(const InitTurn&) = delete;
  InitTurn& operator=(const InitTurn&) = delete;

 private:
  State& state_;
  const etb_plugin_table* const plugin_;
};

const void* host_service(const etb_host& host, const char* id) {
  return host.get_service == nullptr ? nullptr : host.get_service(&host, id);
}

// Checks the fields of etb_host.
void check_host(Call& call, const etb_host& host) {
  if (!check_struct(call, Side::HOST, &host, "host")) return;
  check_text(call, Side::HOST, host.name, "host.name");
  check_text(call, Side::HOST, host.version, "host.version");
  check_text(call, Side::HOST, host.plugin_dir, "host.plugin_dir");
  // Checks the answer for an unknown id before the plugin relies on it.
  if (host_service(host, "org.etbackend.no-such-service/1") != nullptr)
    call.host("ABI-EXT-01", ETB_INVALID_ARGUMENT, "get_service returned a table for an unknown id");
}

std::shared_ptr<Instance> make_instance(State& state, const etb_plugin_table* next,
                                        const etb_host& next_host) {
  auto instance = std::make_shared<Instance>(state);
  instance->next = next;
  instance->next_host = next_host;
  instance->clock = static_cast<const etb_clock_service*>(host_service(next_host, ETB_SERVICE_CLOCK));
  instance->services = std::make_unique<WatchedServices>(state, instance->next_host);
  return instance;
}

etb_status ETB_CALL init(const etb_host* host, const etb_option* options, uint64_t option_count,
                         etb_plugin** out, etb_error* error) {
  etb_host next_host{};
  const etb_plugin_table* const next = host != nullptr ? next_table(*host, next_host) : nullptr;
  if (next == nullptr || out == nullptr)
    return fail(error, ETB_INVALID_ARGUMENT, "validate: the chain of layers or the out parameter is NULL");
  const auto* const service = static_cast<const Service*>(host_service(*host, kService));
  if (service == nullptr)
    return fail(error, ETB_INVALID_STATE, "validate: the host has no service %s, see etb::host::Validation",
                kService);

  const std::shared_ptr<Instance> instance = make_instance(*service->state, next, next_host);
  Call call("plugin.init", error);
  call.enter_new(*instance);
  const InitTurn turn(call, *instance);
  check_host(call, *host);
  BorrowedOptions given(call, options, option_count);
  OutHandle<etb_plugin> made;
  const etb_status status = call.run([&](etb_error* inner) {
    return next->init(&instance->next_host, given.get(), option_count, &made.handle, inner);
  });
  given.end();
  if (!made.check(call, status)) return call.finish(status == ETB_OK ? ETB_INTERNAL : status);
  if (call.is_spoiled()) {
    next->deinit(made.handle, nullptr);
    return call.finish(status);
  }
  instance->plugin = made.handle;
  instance->state.adopt(instance);
  *out = reinterpret_cast<etb_plugin*>(instance.get());
  return call.finish(status);
}

etb_status ETB_CALL deinit(etb_plugin* plugin, etb_error* error) {
  Call call("plugin.deinit", error);
  Instance* const instance = call.enter(plugin, Tag::SERIAL);
  if (instance == nullptr) return call.finish(ETB_INVALID_HANDLE);
  const InitTurn turn(call, *instance);
  const etb_status status = end_object(
      call, *instance, [&](etb_error* inner) { return instance->next->deinit(instance->plugin, inner); });
  if (!instance->handle.is_alive.load()) {
    instance->services->end(call);
    instance->state.retire(instance);
  }
  return call.finish(status);
}

// Returns the plugin's own handle of the object of an option or extension. NULL when the call is rejected.
void* enter_object(Call& call, uint32_t kind, void* object, Tag tag) {
  const auto inner = [](auto* entered) -> void* { return entered == nullptr ? nullptr : entered->next; };
  switch (kind) {
    case ETB_OBJECT_PLUGIN: {
      Instance* const entered = call.enter(static_cast<etb_plugin*>(object), tag);
      return entered == nullptr ? nullptr : entered->plugin;
    }
    case ETB_OBJECT_DEVICE:
      return inner(call.enter(static_cast<etb_device*>(object), tag));
    case ETB_OBJECT_DELEGATE:
      return inner(call.enter(static_cast<etb_delegate*>(object), tag));
    case ETB_OBJECT_CONTEXT:
      return inner(call.enter(static_cast<etb_context*>(object), tag));
    default:
      call.fatal("ABI-TYPE-03", ETB_INVALID_ARGUMENT, "object_kind is {}, expected one of ETB_OBJECT_*",
                 kind);
      return nullptr;
  }
}

const void* ETB_CALL get_extension(etb_plugin* plugin, uint32_t kind, void* object, const char* id) {
  Call call("plugin.get_extension", nullptr);
  Instance* const instance = call.enter(plugin);
  if (instance == nullptr) return nullptr;
  if (id == nullptr) call.fatal("ABI-CALL-04", ETB_INVALID_ARGUMENT, "id is NULL");
  void* const inner = enter_object(call, kind, object, Tag::ANY);
  if (call.is_refused()) return nullptr;
  const void* known = nullptr;
  const void* unknown = nullptr;
  call.run_plain([&] {
    known = instance->next->get_extension(instance->plugin, kind, inner, id);
    unknown =
        instance->next->get_extension(instance->plugin, kind, inner, "org.etbackend.no-such-extension/1");
  });
  if (unknown != nullptr) call.plugin("ABI-EXT-01", "get_extension returned a table for an unknown id");
  // An extension's functions would receive this layer's handles, not the plugin's. So only extensions that a
  // layer knows may pass it. This layer knows none yet.
  return nullptr;
}

etb_status ETB_CALL option_schema(etb_plugin* plugin, const etb_option_schema_sink* sink, etb_error* error) {
  Call call("plugin.option_schema", error);
  Instance* const instance = call.enter(plugin);
  if (instance == nullptr) return call.finish(ETB_INVALID_HANDLE);
  GuardedSink<etb_option_schema_sink> guarded(
      call, sink, "sink", [](Call& in, const etb_option_schema& schema) { return check_item(in, schema); });
  const etb_status status = call.run([&](etb_error* inner) {
    return instance->next->option_schema(instance->plugin, guarded.get(), inner);
  });
  guarded.close(status);
  return call.finish(status);
}

etb_status ETB_CALL set_option(etb_plugin* plugin, uint32_t kind, void* object, const etb_option* option,
                               etb_error* error) {
  Call call("plugin.set_option", error);
  Instance* const instance = call.enter(plugin);
  if (instance == nullptr) return call.finish(ETB_INVALID_HANDLE);
  void* const inner_object = enter_object(call, kind, object, Tag::SERIAL);
  if (!check_struct(call, Side::HOST, option, "option") || !check_option(call, Side::HOST, *option, "option"))
    call.refuse();
  const etb_option* given = option;
  BorrowedCopy borrowed(call, true, "option", [&](ArgumentCopier& to) { given = to.options(option, 1); });
  const etb_status status = call.run([&](etb_error* inner) {
    return instance->next->set_option(instance->plugin, kind, inner_object, given, inner);
  });
  borrowed.end();
  return call.finish(status);
}

etb_status ETB_CALL get_option(etb_plugin* plugin, uint32_t kind, void* object, const char* key,
                               const etb_option_sink* sink, etb_error* error) {
  Call call("plugin.get_option", error);
  Instance* const instance = call.enter(plugin);
  if (instance == nullptr) return call.finish(ETB_INVALID_HANDLE);
  if (key == nullptr) call.fatal("ABI-CALL-04", ETB_INVALID_ARGUMENT, "key is NULL");
  void* const inner_object = enter_object(call, kind, object, Tag::ANY);
  int count = 0;
  GuardedSink<etb_option_sink> guarded(call, sink, "sink", [&count](Call& in, const etb_option& option) {
    ++count;
    return check_item(in, option);
  });
  const char* given = key;
  BorrowedCopy borrowed(call, true, "key", [&](ArgumentCopier& to) { given = to.text(key); });
  const etb_status status = call.run([&](etb_error* inner) {
    return instance->next->get_option(instance->plugin, kind, inner_object, given, guarded.get(), inner);
  });
  borrowed.end();
  guarded.close(status);
  if (status == ETB_OK && count != 1)
    call.plugin("ABI-SINK-03", "the sink received {} values, expected one", count);
  return call.finish(status);
}

// ---- devices

etb_status ETB_CALL enumerate(etb_plugin* plugin, const etb_device_sink* sink, etb_error* error) {
  Call call("device.enumerate", error);
  Instance* const instance = call.enter(plugin);
  if (instance == nullptr) return call.finish(ETB_INVALID_HANDLE);
  GuardedSink<etb_device_sink> guarded(
      call, sink, "sink", [](Call& in, const etb_device_info& info) { return check_item(in, info); });
  const etb_status status = call.run([&](etb_error* inner) {
    return instance->next->device->enumerate(instance->plugin, guarded.get(), inner);
  });
  guarded.close(status);
  return call.finish(status);
}

etb_status ETB_CALL open(etb_plugin* plugin, const uint8_t* uuid, const etb_option* options,
                         uint64_t option_count, etb_device** out, etb_error* error) {
  Call call("device.open", error);
  Instance* const instance = call.enter(plugin);
  if (instance == nullptr) return call.finish(ETB_INVALID_HANDLE);
  if (uuid == nullptr || out == nullptr)
    call.fatal("ABI-CALL-04", ETB_INVALID_ARGUMENT, "uuid or out is NULL");
  BorrowedOptions given(call, options, option_count);
  const uint8_t* given_uuid = uuid;
  BorrowedCopy borrowed(call, true, "uuid", [&](ArgumentCopier& to) {
    given_uuid = static_cast<const uint8_t*>(to.bytes(uuid, sizeof(etb_device_info::uuid), 1));
  });
  OutHandle<etb_device> made;
  const etb_status status = call.run([&](etb_error* inner) {
    return instance->next->device->open(instance->plugin, given_uuid, given.get(), option_count, &made.handle,
                                        inner);
  });
  given.end();
  borrowed.end();
  if (call.is_refused() || !made.check(call, status))
    return call.finish(status == ETB_OK ? ETB_INTERNAL : status);
  if (call.is_spoiled()) {
    instance->next->device->close(made.handle, nullptr);
    return call.finish(status);
  }
  auto device = std::make_shared<DeviceHandle>(*instance);
  device->next = made.handle;
  instance->handle.child_count.fetch_add(1);
  *out = reinterpret_cast<etb_device*>(device.get());
  instance->state.adopt(std::move(device));
  return call.finish(status);
}

etb_status ETB_CALL close(etb_device* device, etb_error* error) {
  Call call("device.close", error);
  DeviceHandle* const object = call.enter(device, Tag::SERIAL);
  if (object == nullptr) return call.finish(ETB_INVALID_HANDLE);
  Instance& instance = *object->handle.instance;
  const etb_status status = end_object(
      call, *object, [&](etb_error* inner) { return instance.next->device->close(object->next, inner); });
  if (!object->handle.is_alive.load()) instance.state.retire(object);
  return call.finish(status);
}

etb_status ETB_CALL query(etb_device* device, const etb_device_sink* sink, etb_error* error) {
  Call call("device.query", error);
  DeviceHandle* const object = call.enter(device);
  if (object == nullptr) return call.finish(ETB_INVALID_HANDLE);
  int count = 0;
  GuardedSink<etb_device_sink> guarded(call, sink, "sink", [&count](Call& in, const etb_device_info& info) {
    ++count;
    return check_item(in, info);
  });
  const etb_status status = call.run([&](etb_error* inner) {
    return object->handle.instance->next->device->query(object->next, guarded.get(), inner);
  });
  guarded.close(status);
  if (status == ETB_OK && count != 1)
    call.plugin("ABI-SINK-03", "the sink received {} devices, expected one", count);
  return call.finish(status);
}

}  // namespace

const etb_device_table kDeviceTable{sizeof(etb_device_table), 0, enumerate, open, close, query};

const etb_plugin_table& validate_table() noexcept {
  static const etb_plugin_table kTable{sizeof(etb_plugin_table),
                                       0,
                                       ETB_ABI_VERSION,
                                       ETB_PLUGIN_CAPS_KNOWN,
                                       nullptr,  // every table of a chain has the plugin's identity
                                       init,
                                       deinit,
                                       get_extension,
                                       option_schema,
                                       set_option,
                                       get_option,
                                       &kDeviceTable,
                                       &kDelegateTable,
                                       &kAotTable};
  return kTable;
}

}  // namespace etb::host::validate

namespace etb::host {

Layer Validation::layer() const noexcept {
  return {"validate", &validate::validate_table(), validate::kService, state_->service()};
}

}  // namespace etb::host
