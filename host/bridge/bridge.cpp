// SPDX-License-Identifier: Apache-2.0
#include "host/bridge/bridge.hpp"

#include <algorithm>
#include <charconv>

#include "host/bridge/current_call.hpp"

namespace etb::host {
namespace {

Status read_switch(const char* name, const std::optional<std::string>& text, bool& out) {
  if (!text) return {};
  if (*text != "0" && *text != "1")
    return make_error(Code::INVALID_ARGUMENT, std::string(name) + ": '" + *text + "', expected 0 or 1");
  out = *text == "1";
  return {};
}

Status read_aliases(const std::string& text, std::map<std::string, std::string>& out) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    const size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == item.size())
      return make_error(Code::INVALID_ARGUMENT,
                        "ETB_BRIDGE_ALIASES: '" + item + "', expected NAME=DELEGATE_ID, separated by commas");
    out[item.substr(0, equals)] = item.substr(equals + 1);
    begin = end + 1;
  }
  return {};
}

// The crash report comes first: the validate layer then sees faults of its guard pages before it.
std::unique_ptr<Validation> prepare_process(const BridgeOptions& options) {
  if (options.reports_crashes) report_crashes();
  if (!options.validates) return nullptr;
  return std::make_unique<Validation>(
      ValidateOptions{.strict = true, .memory = ValidateOptions::Memory::GUARD_PAGES});
}

RegistryOptions with_layer(RegistryOptions registry, const Validation* validation) {
  if (validation != nullptr) registry.layers.insert(registry.layers.begin(), validation->layer());
  return registry;
}

}  // namespace

Result<BridgeOptions> read_bridge_options(
    const std::function<std::optional<std::string>(const char* name)>& environment) {
  BridgeOptions options;
  ETB_TRY(read_switch("ETB_BRIDGE_REGISTER", environment("ETB_BRIDGE_REGISTER"), options.registers_at_load));
  ETB_TRY(read_switch("ETB_BRIDGE_CRASH_REPORT", environment("ETB_BRIDGE_CRASH_REPORT"),
                      options.reports_crashes));
  ETB_TRY(read_switch("ETB_BRIDGE_VALIDATE", environment("ETB_BRIDGE_VALIDATE"), options.validates));
  if (const auto text = environment("ETB_BRIDGE_THREADS")) {
    const char* const end = text->data() + text->size();
    const auto [at, failed] = std::from_chars(text->data(), end, options.thread_count);
    if (failed != std::errc() || at != end || options.thread_count > ThreadPool::kMaxWorkers)
      return make_error(Code::INVALID_ARGUMENT, "ETB_BRIDGE_THREADS: '" + *text + "', expected 0 to " +
                                                    std::to_string(ThreadPool::kMaxWorkers));
  }
  if (const auto text = environment("ETB_BRIDGE_ALIASES")) ETB_TRY(read_aliases(*text, options.aliases));
  return options;
}

std::vector<std::string> find_delegate_ids(const RegistryOptions& options) {
  const Registry registry(options);
  std::vector<std::string> ids;
  for (const PluginEntry& entry : registry.plugins()) {
    if (!entry.is_usable() || !entry.manifest || (entry.profiles() & ETB_PROFILE_RUNTIME) == 0) continue;
    for (const ProvidedId& provided : entry.manifest->provides)
      if (std::ranges::find(ids, provided.id) == ids.end()) ids.push_back(provided.id);
  }
  return ids;
}

Bridge::Bridge(RegistryOptions registry, const BridgeOptions& options)
    : validation_(prepare_process(options)),
      engine_(with_layer(std::move(registry), validation_.get()), options.thread_count),
      delegates_(engine_.registry()) {}

Result<std::unique_ptr<BridgedDelegate>> Bridge::create(BridgedRequest request) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto set = options_.find(request.backend_id); set != options_.end())
      request.options.insert(set->second.begin(), set->second.end());  // those of the request win
  }
  return BridgedDelegate::make(delegates_, std::move(request));
}

void Bridge::set_option(const std::string& backend_id, const std::string& key, std::string text) {
  const std::lock_guard lock(mutex_);
  options_[backend_id][key] = std::move(text);
}

std::vector<std::string> Bridge::take_violations() {
  std::vector<std::string> lines;
  if (validation_)
    for (const Violation& violation : validation_->take()) lines.push_back(format_violation(violation));
  return lines;
}

}  // namespace etb::host
