// SPDX-License-Identifier: Apache-2.0
#include "host/delegates/delegate_options.hpp"

#include <cstring>
#include <set>

namespace etb::host {
namespace {

// The list for an option of these scopes; NULL if only the plugin itself takes it.
std::vector<etb_option>* list_of(DelegateOptions& options, uint32_t scopes) {
  if ((scopes & ETB_OBJECT_DELEGATE) != 0) return &options.delegate;
  if ((scopes & ETB_OBJECT_DEVICE) != 0) return &options.device;
  if ((scopes & ETB_OBJECT_CONTEXT) != 0) return &options.context;
  if ((scopes & ETB_OBJECT_RUN) != 0) return &options.run;
  return nullptr;
}

void add_bytes(std::string& key, const void* data, uint64_t nbytes) {
  key.append(reinterpret_cast<const char*>(&nbytes), sizeof nbytes);
  if (nbytes != 0) key.append(static_cast<const char*>(data), static_cast<size_t>(nbytes));
}

void add_option(std::string& key, const etb_option& option) {
  add_bytes(key, option.key, option.key == nullptr ? 0 : std::strlen(option.key));
  add_bytes(key, &option.type, sizeof option.type);
  add_bytes(key, &option.i64, sizeof option.i64);
  add_bytes(key, &option.f64, sizeof option.f64);
  add_bytes(key, option.text, option.text == nullptr ? 0 : std::strlen(option.text));
  add_bytes(key, option.bytes.data, option.bytes.nbytes);
  add_bytes(key, &option.item_count, sizeof option.item_count);
  for (uint32_t i = 0; i < option.item_count; ++i) add_option(key, *ETB_AT(etb_option, option.items, i));
}

}  // namespace

std::string key_of(std::span<const etb_option> options) {
  std::string key;
  for (const etb_option& option : options) add_option(key, option);
  return key;
}

Result<DelegateOptions> read_delegate_options(const PluginContext& plugin, const OptionTexts& texts) {
  DelegateOptions options;
  std::set<std::string> known;
  Status failed;
  const auto add = [&](const etb_option_schema& schema) -> Status {
    const auto given = texts.find(schema.key);
    if (given == texts.end()) return {};
    known.insert(given->first);
    std::vector<etb_option>* const list = list_of(options, schema.scopes);
    if (list == nullptr)
      return make_error(Code::INVALID_ARGUMENT,
                        "option '" + given->first + "' belongs to the plugin, not to its delegates");
    ETB_ASSIGN(const etb_option option, read_option(given->first, schema.type, given->second));
    list->push_back(option);
    return {};
  };
  if (!texts.empty()) {
    ETB_TRY(plugin.each_option([&](const etb_option_schema& schema) {
      if (failed) failed = add(schema);
    }));
  }
  ETB_TRY(std::move(failed));
  for (const auto& [key, text] : texts) {
    if (!known.contains(key))
      return make_error(Code::INVALID_ARGUMENT, "option '" + key + "': the plugin's delegates have none");
  }
  return options;
}

}  // namespace etb::host
