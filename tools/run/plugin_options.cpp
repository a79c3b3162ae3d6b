// SPDX-License-Identifier: Apache-2.0
#include "tools/run/plugin_options.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "api/format/device_record.hpp"
#include "tools/option_values.hpp"

namespace etb::tools {

void add_plugin_options(CLI::App& command, PluginOptions& options) {
  command
      .add_option("--kernels", options.kernel_libraries,
                  "Shared library with custom kernels, LIB or LIB@sha256:HEX; repeatable")
      ->type_name("LIB")
      ->allow_extra_args(false);
  command
      .add_option("--backend-pin", options.backend_pins, "Use this plugin for this delegate id; repeatable")
      ->type_name("ID=PLUGIN")
      ->allow_extra_args(false);
  command
      .add_option(
          "--device", options.devices,
          "Run delegates, or only those with this id, on the device with this uuid or name, as listed by "
          "`etbackend list --devices`; `default`: the plugin's, although the program names another; "
          "repeatable")
      ->type_name("[ID=]DEVICE")
      ->allow_extra_args(false);
  command
      .add_option("--backend-option", options.backend_options,
                  "Set an option of the delegates with this id, as listed by `etbackend info ID`; repeatable")
      ->type_name("ID:KEY=VALUE")
      ->allow_extra_args(false);
  add_device_limit(command, options.max_device_bytes,
                   "Reject a program whose delegates need more memory on one device");
  command.add_flag("--async", options.is_async,
                   "Run delegates beside instructions that do not depend on them; results are the same");
}

void add_device_limit(CLI::App& command, uint64_t& max_bytes, const std::string& text) {
  command.add_option("--max-device-memory", max_bytes, text + ", such as 64MiB (default: no limit)")
      ->transform(CLI::AsSizeValue(false))
      ->check(whole_number(1, UINT64_MAX))
      ->type_name("SIZE");
}

namespace {

// Parses "id=plugin" pairs.
Result<std::map<std::string, std::string>> parse_pins(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> pins;
  for (const std::string& text : texts) {
    const size_t at = text.find('=');
    if (at == 0 || at == std::string::npos || at + 1 == text.size() ||
        !pins.emplace(text.substr(0, at), text.substr(at + 1)).second)
      return make_error(Code::INVALID_ARGUMENT,
                        fmt::format("--backend-pin '{}', expected id=plugin, once for an id", text));
  }
  return pins;
}

}  // namespace

Result<std::map<std::string, std::string>> parse_devices(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> devices;
  for (const std::string& text : texts) {
    const size_t at = text.find('=');
    const std::string id = at == std::string::npos ? "" : text.substr(0, at);
    const std::string device = at == std::string::npos ? text : text.substr(at + 1);
    const bool is_device = !device.empty() && device.size() <= format::kMaxDeviceNameNbytes;
    if (!is_device || at == 0 || !devices.emplace(id, device).second)
      return make_error(Code::INVALID_ARGUMENT,
                        fmt::format("--device '{}', expected DEVICE or id=DEVICE, once for an id", text));
  }
  return devices;
}

Result<BackendOption> parse_backend_option(const std::string& text) {
  const size_t colon = text.find(':'), equals = text.find('=', colon + 1);
  if (colon == 0 || colon == std::string::npos || equals == std::string::npos || equals == colon + 1)
    return make_error(Code::INVALID_ARGUMENT,
                      fmt::format("--backend-option '{}', expected id:key=value", text));
  return BackendOption{text.substr(0, colon), text.substr(colon + 1, equals - colon - 1),
                       text.substr(equals + 1)};
}

Result<DelegateChoices> parse_choices(const PluginOptions& options) {
  DelegateChoices choices;
  choices.is_async = options.is_async;
  choices.max_device_bytes = options.max_device_bytes;
  ETB_ASSIGN(choices.pins, parse_pins(options.backend_pins));
  ETB_ASSIGN(choices.devices, parse_devices(options.devices));
  for (const std::string& text : options.backend_options) {
    ETB_ASSIGN(BackendOption option, parse_backend_option(text));
    choices.options.push_back(std::move(option));
  }
  return choices;
}

}  // namespace etb::tools
