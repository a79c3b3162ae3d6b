// SPDX-License-Identifier: Apache-2.0
#include "tools/run/delegate_memory.hpp"

#include <fmt/format.h>

#include "api/format/printable_text.hpp"
#include "tools/quantity.hpp"
#include "tools/run/searched_delegates.hpp"

namespace etb::tools {

using Json = nlohmann::ordered_json;

Json to_json(std::span<const host::DelegateHolding> holdings) {
  Json list = Json::array();
  for (const host::DelegateHolding& holding : holdings)
    list.push_back({{"id", holding.backend_id},
                    {"method", holding.method_name},
                    {"plugin", holding.plugin_id},
                    {"device", holding.device_name},
                    {"resident_bytes", holding.resident_bytes},
                    {"context_bytes", holding.context_bytes}});
  return list;
}

std::string format_delegate_memory(const Json& holdings) {
  std::string text;
  for (const Json& holding : holdings) {
    const auto shown = [&](const char* key) {
      return format::made_printable(holding[key].get<std::string>());
    };
    const std::string device = shown("device");
    text += fmt::format("delegate {} of {}: {} resident, {} for runs, on {} of {}\n", shown("id"),
                        shown("method"), nbytes_text(holding["resident_bytes"].get<uint64_t>()),
                        nbytes_text(holding["context_bytes"].get<uint64_t>()),
                        device.empty() ? "the default device" : "'" + device + "'", shown("plugin"));
  }
  return text;
}

Result<Json> measure_delegates(const std::string& program, host::RegistryOptions options) {
  SearchedDelegates delegates(std::move(options), {});
  host::ModuleOptions module_options;
  module_options.delegates = &delegates;
  ETB_ASSIGN(host::Module module, host::Module::open(program, module_options));
  for (const std::string& method : module.method_names()) ETB_TRY(module.load_method(method));
  return to_json(delegates.holdings());
}

}  // namespace etb::tools
