// SPDX-License-Identifier: Apache-2.0
// Registry and Log: plugins and the log of the process, for the C++ API of applications.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "etb/cpp/failure.hpp"
#include "etb/library.h"
#include "etb/registry.h"

namespace etb {

// A device of a plugin. A size of 0 is unknown.
struct Device {
  std::string kind, name, driver_version;
  uint64_t memory_total_bytes = 0, memory_free_bytes = 0;
};

// A search for plugins (etb/registry.h). Modules opened with it keep what they need of it.
class Registry {
 public:
  explicit Registry(const etb_registry_options& options = ETB_REGISTRY_OPTIONS_INIT) {
    etb_registry* made = nullptr;
    detail::must([&](etb_error* error) { return etb_registry_open(&options, &made, error); });
    handle_.reset(made);
  }

  etb_registry* get() const noexcept { return handle_.get(); }

  // All plugins found, usable or not. The texts are borrowed from this object.
  std::vector<etb_plugin_info> plugins() const {
    std::vector<etb_plugin_info> out(etb_registry_plugin_count(get()), etb_plugin_info(ETB_PLUGIN_INFO_INIT));
    for (uint32_t i = 0; i < out.size(); ++i)
      detail::must([&](etb_error* error) { return etb_registry_plugin(get(), i, &out[i], error); });
    return out;
  }

  // Devices of a plugin, by its id or alias or a delegate id. Loads the plugin.
  std::vector<Device> devices(const std::string& name) const {
    std::vector<Device> out;
    etb_device_sink sink{};
    sink.struct_size = ETB_INIT_SIZE(etb_device_sink);
    sink.ctx = &out;
    sink.put = [](void* ctx, const etb_device_info* info) -> etb_status {
      static_cast<std::vector<Device>*>(ctx)->push_back(
          {info->kind, info->name, info->driver_version, info->memory_total_bytes, info->memory_free_bytes});
      return ETB_OK;
    };
    detail::must([&](etb_error* error) { return etb_registry_devices(get(), name.c_str(), &sink, error); });
    return out;
  }

  // The decision for a name as JSON.
  std::string explain(const std::string& name) const {
    std::string text;
    etb_text_sink sink{};
    sink.struct_size = ETB_INIT_SIZE(etb_text_sink);
    sink.ctx = &text;
    sink.put = [](void* ctx, const char* part) -> etb_status {
      static_cast<std::string*>(ctx)->append(part);
      return ETB_OK;
    };
    detail::must([&](etb_error* error) { return etb_registry_explain(get(), name.c_str(), &sink, error); });
    return text;
  }

 private:
  struct Close {
    void operator()(etb_registry* registry) const noexcept { etb_registry_close(registry); }
  };
  std::unique_ptr<etb_registry, Close> handle_;
};

// Receives lines of the library and of plugins as long as it lives. A process has one log; the latest counts.
//
//   etb::Log log([](uint32_t level, const char* text) { std::fprintf(stderr, "%u %s\n", level, text); });
//
// The function receives one line at a time, must not throw, and must not call this API. No call of this API may be
// under way on another thread when the object ends.
class Log {
 public:
  explicit Log(std::function<void(uint32_t level, const char* text)> write,
               uint32_t min_level = ETB_LOG_WARNING)
      : write_(std::move(write)) {
    etb_log_service service{};
    service.struct_size = ETB_INIT_SIZE(etb_log_service);
    service.min_level = min_level;
    service.ctx = this;
    service.write = [](void* ctx, uint32_t level, const char* text, const etb_option*, uint64_t) {
      static_cast<Log*>(ctx)->write_(level, text);
    };
    detail::must([&](etb_error* error) { return etb_set_log(&service, error); });
  }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  ~Log() { etb_set_log(nullptr, nullptr); }

 private:
  std::function<void(uint32_t level, const char* text)> write_;
};

}  // namespace etb
