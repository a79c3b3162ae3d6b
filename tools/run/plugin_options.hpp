// SPDX-License-Identifier: Apache-2.0
// The options of commands that run delegates: custom kernels, pins, devices, options of backends.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "etb/cpp/result.hpp"
#include "tools/cli11_fwd.hpp"

namespace etb::tools {

struct PluginOptions {
  std::vector<std::string> kernel_libraries;
  std::vector<std::string> backend_pins;
  std::vector<std::string> devices;
  std::vector<std::string> backend_options;
  uint64_t max_device_bytes = 0;
  bool is_async = false;
};

void add_plugin_options(CLI::App& command, PluginOptions& options);

// Adds --max-device-memory, described by `text`.
void add_device_limit(CLI::App& command, uint64_t& max_bytes, const std::string& text);

struct BackendOption {
  std::string backend_id, key, value;
};

// Parses "id:key=value".
[[nodiscard]] Result<BackendOption> parse_backend_option(const std::string& text);

// Parses texts "id=device", or "device" for all ids (""), once for an id.
[[nodiscard]] Result<std::map<std::string, std::string>> parse_devices(const std::vector<std::string>& texts);

// Requests of --backend-pin, --device, --backend-option, --max-device-memory and --async.
struct DelegateChoices {
  std::map<std::string, std::string> pins;     // plugin by delegate id
  std::map<std::string, std::string> devices;  // by delegate id, "" for all others
  std::vector<BackendOption> options;
  uint64_t max_device_bytes = 0;  // 0: no limit
  bool is_async = false;
};

[[nodiscard]] Result<DelegateChoices> parse_choices(const PluginOptions& options);

}  // namespace etb::tools
