// SPDX-License-Identifier: Apache-2.0
//
// The functions of a device table over a plugin class. Part of etb/cpp/plugin.hpp.
#pragma once

#include <cstring>
#include <memory>
#if defined(__unix__)
#include <unistd.h>
#endif

#include "etb/cpp/plugin_objects.hpp"

namespace etb {

// The plugin of a device that the base opened, and the device's uuid: for functions of extensions.
template <class P>
const P& plugin_of(etb_device* device) {
  return reinterpret_cast<detail::DeviceObject<P>*>(device)->plugin.impl;
}
template <class P>
const uint8_t* uuid_of(etb_device* device) {
  return reinterpret_cast<detail::DeviceObject<P>*>(device)->uuid.data();
}
// Returns what P::open_device returned for this device. All threads share it.
template <class P>
auto& device_of(etb_device* device) {
  return reinterpret_cast<detail::DeviceObject<P>*>(device)->opened;
}

}  // namespace etb

namespace etb::detail {

// Fills in the machine's memory, and what of it holds nothing at present; 0 where the system does not report it.
inline void set_machine_memory(etb_device_info& info) {
#if defined(_SC_PHYS_PAGES) && defined(_SC_AVPHYS_PAGES)
  const long page = ::sysconf(_SC_PAGESIZE), total = ::sysconf(_SC_PHYS_PAGES),
             free = ::sysconf(_SC_AVPHYS_PAGES);
  if (page <= 0 || total <= 0 || free < 0) return;
  info.memory_total_bytes = static_cast<uint64_t>(total) * static_cast<uint64_t>(page);
  info.memory_free_bytes = static_cast<uint64_t>(free) * static_cast<uint64_t>(page);
#endif
}

// Devices of a plugin without P::enumerate: the processor that runs it, the same on every machine.
template <class P>
Status enumerate_devices(const PluginObject<P>& plugin, const DeviceSink& sink) {
  if constexpr (requires { plugin.impl.enumerate(sink); }) {
    return plugin.impl.enumerate(sink);
  } else {
    etb_device_info info{};
    info.struct_size = ETB_INIT_SIZE(etb_device_info);
    const uint64_t hash = hash_text("cpu");
    std::memcpy(info.uuid, &hash, sizeof(hash));
    std::memcpy(info.fingerprint, &hash, sizeof(hash));
    info.kind = "cpu";
    info.name = "this processor";
    info.driver_version = "";
    set_machine_memory(info);
    return sink.put(info);
  }
}

template <class P>
etb_status enumerate(etb_plugin* plugin, const etb_device_sink* sink, etb_error* error) {
  return guard(error, [&]() -> Status {
    ETB_TRY(ETB_ACCEPT(etb_device_sink, sink, put));
    return enumerate_devices(*reinterpret_cast<PluginObject<P>*>(plugin), DeviceSink(sink));
  });
}

// Enumerates again and passes on only the device of one uuid: to find out whether it is present, and its
// state.
struct OneDevice {
  const uint8_t* uuid;
  const etb_device_sink* sink;  // may be NULL
  bool found = false;

  static etb_status ETB_CALL put(void* ctx, const etb_device_info* info) {
    auto& self = *static_cast<OneDevice*>(ctx);
    if (self.found || std::memcmp(info->uuid, self.uuid, sizeof(info->uuid)) != 0) return ETB_OK;
    self.found = true;
    return self.sink != nullptr ? self.sink->put(self.sink->ctx, info) : ETB_OK;
  }
};

template <class P>
Status find_device(const PluginObject<P>& plugin, const uint8_t* uuid, const etb_device_sink* out) {
  OneDevice wanted{uuid, out};
  const etb_device_sink sink{ETB_INIT_SIZE(etb_device_sink), 0, &wanted, &OneDevice::put};
  ETB_TRY(enumerate_devices(plugin, DeviceSink(&sink)));
  if (!wanted.found) return make_error(Code::NOT_FOUND, "device: no device of this uuid now");
  return {};
}

// Opens the device by P::open_device, if there is one.
template <class P>
Result<typename OpenedOf<P>::Type> open_device(PluginObject<P>& plugin, const DeviceArgs& args) {
  if constexpr (OpensDevices<P>)
    return plugin.impl.open_device(args);
  else
    return NothingOpened{};
}

template <class P>
etb_status device_open(etb_plugin* plugin, const uint8_t* uuid, const etb_option* options,
                       uint64_t option_count, etb_device** out, etb_error* error) {
  return guard(error, [&]() -> Status {
    auto& parent = *reinterpret_cast<PluginObject<P>*>(plugin);
    ETB_ASSIGN(const Options checked,
               Options::make(options, option_count, option_rows<P>(), ETB_OBJECT_DEVICE));
    ETB_TRY(find_device(parent, uuid, nullptr));
    ETB_ASSIGN(auto opened, detail::open_device<P>(parent, DeviceArgs{uuid, checked}));
    auto object = std::unique_ptr<DeviceObject<P>>(new DeviceObject<P>{parent, {}, std::move(opened)});
    std::memcpy(object->uuid.data(), uuid, object->uuid.size());
    parent.children.fetch_add(1);
    *out = reinterpret_cast<etb_device*>(object.release());
    return {};
  });
}

template <class P>
etb_status device_close(etb_device* device, etb_error* error) {
  return guard(error, [&]() -> Status {
    auto* object = reinterpret_cast<DeviceObject<P>*>(device);
    if constexpr (requires { object->plugin.impl.close_device(object->opened); })
      if (object != nullptr && object->children.load() == 0)
        ETB_TRY(object->plugin.impl.close_device(object->opened));
    return end_object(object, object != nullptr ? &object->plugin.children : nullptr, "device");
  });
}

template <class P>
etb_status device_query(etb_device* device, const etb_device_sink* sink, etb_error* error) {
  return guard(error, [&]() -> Status {
    ETB_TRY(ETB_ACCEPT(etb_device_sink, sink, put));
    const auto& object = *reinterpret_cast<DeviceObject<P>*>(device);
    return find_device(object.plugin, object.uuid.data(), sink);
  });
}

}  // namespace etb::detail
