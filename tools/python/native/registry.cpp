// SPDX-License-Identifier: Apache-2.0
#include "registry.hpp"

#include <memory>

#include "etb/etbackend.h"
#include "etb/plugin.h"
#include "python_error.hpp"

namespace etb::python {
namespace {

namespace nb = nanobind;

struct Close {
  void operator()(etb_registry* registry) const noexcept {
    const nb::gil_scoped_release released;  // a plugin that is unloaded may take its time
    etb_registry_close(registry);
  }
};
using Registry = std::unique_ptr<etb_registry, Close>;

Registry open_registry(const std::vector<std::string>& paths, uint32_t flags) {
  std::vector<const char*> folders;
  for (const std::string& path : paths) folders.push_back(path.c_str());
  etb_registry_options options = ETB_REGISTRY_OPTIONS_INIT;
  options.flags = flags;
  options.search_paths = folders.data(), options.search_path_count = folders.size();
  etb_registry* made = nullptr;
  must([&](etb_error* error) { return etb_registry_open(&options, &made, error); });
  return Registry(made);
}

nb::tuple texts_of(const char* const* texts, uint64_t count) {
  nb::list out;
  for (uint64_t i = 0; i < count; ++i) out.append(text_of(texts[i]));
  return nb::tuple(out);
}

nb::dict to_dict(const etb_plugin_info& info) {
  nb::dict out;
  out["id"] = text_of(info.id);
  out["version"] = text_of(info.version);
  out["vendor"] = text_of(info.vendor);
  out["description"] = text_of(info.description);
  out["manifest_path"] = text_of(info.manifest_path);
  out["library_path"] = text_of(info.library_path);
  out["tier"] = text_of(info.tier);
  out["problem"] = text_of(info.problem);
  out["reason"] = text_of(info.problem_reason);
  out["provides"] = texts_of(info.provides, info.provides_count);
  out["aliases"] = texts_of(info.aliases, info.alias_count);
  out["can_run"] = (info.profiles & ETB_PROFILE_RUNTIME) != 0;
  out["can_compile"] = (info.profiles & ETB_PROFILE_AOT) != 0;
  out["is_usable"] = info.is_usable != 0;
  return out;
}

struct Device {
  std::string uuid, kind, name, driver_version;
  uint64_t memory_total_bytes, memory_free_bytes;
};

std::string hex_of(const uint8_t (&bytes)[16]) {
  std::string out;
  for (const uint8_t byte : bytes) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

}  // namespace

nb::list list_plugins(const std::vector<std::string>& paths, uint32_t flags) {
  const Registry registry = open_registry(paths, flags);
  nb::list out;
  for (uint32_t i = 0; i < etb_registry_plugin_count(registry.get()); ++i) {
    etb_plugin_info info = ETB_PLUGIN_INFO_INIT;
    must([&](etb_error* error) { return etb_registry_plugin(registry.get(), i, &info, error); });
    out.append(to_dict(info));
  }
  return out;
}

std::string explain_name(const std::string& name, const std::vector<std::string>& paths, uint32_t flags) {
  const Registry registry = open_registry(paths, flags);
  std::string text;
  etb_text_sink sink{};
  sink.struct_size = ETB_INIT_SIZE(etb_text_sink);
  sink.ctx = &text;
  sink.put = [](void* ctx, const char* part) -> etb_status {
    static_cast<std::string*>(ctx)->append(part);
    return ETB_OK;
  };
  must([&](etb_error* error) { return etb_registry_explain(registry.get(), name.c_str(), &sink, error); });
  return text;
}

nb::list list_devices(const std::string& name, const std::vector<std::string>& paths, uint32_t flags) {
  const Registry registry = open_registry(paths, flags);
  std::vector<Device> devices;  // filled without the GIL
  etb_device_sink sink{};
  sink.struct_size = ETB_INIT_SIZE(etb_device_sink);
  sink.ctx = &devices;
  sink.put = [](void* ctx, const etb_device_info* info) -> etb_status {
    static_cast<std::vector<Device>*>(ctx)->push_back({hex_of(info->uuid), info->kind, info->name,
                                                       info->driver_version, info->memory_total_bytes,
                                                       info->memory_free_bytes});
    return ETB_OK;
  };
  must([&](etb_error* error) { return etb_registry_devices(registry.get(), name.c_str(), &sink, error); });
  nb::list out;
  for (const Device& device : devices) {
    nb::dict row;
    row["uuid"] = text_of(device.uuid.c_str());
    row["kind"] = text_of(device.kind.c_str());
    row["name"] = text_of(device.name.c_str());
    row["driver_version"] = text_of(device.driver_version.c_str());
    row["memory_total_bytes"] = device.memory_total_bytes;
    row["memory_free_bytes"] = device.memory_free_bytes;
    out.append(row);
  }
  return out;
}

}  // namespace etb::python
