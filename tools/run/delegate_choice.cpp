// SPDX-License-Identifier: Apache-2.0
#include "tools/run/delegate_choice.hpp"

#include <fmt/format.h>

#include <set>

#include "api/format/printable_text.hpp"
#include "host/module/shared_program.hpp"
#include "tools/option_values.hpp"

namespace etb::tools {

namespace {

using Json = nlohmann::ordered_json;

// Parses "id=device", or "device" for the delegates of all ids.
Status parse_devices(const std::vector<std::string>& texts, DelegateChoice& out) {
  for (const std::string& text : texts) {
    const size_t at = text.find('=');
    const std::string id = at == std::string::npos ? "" : text.substr(0, at);
    const std::string device = at == std::string::npos ? text : text.substr(at + 1);
    if (device.empty() || at == 0 || !out.devices.emplace(id, device).second)
      return make_error(Code::INVALID_ARGUMENT,
                        fmt::format("--device '{}', expected DEVICE or id=DEVICE, once for an id", text));
  }
  return {};
}

// Parses "id=plugin" pairs.
Status parse_pins(const std::vector<std::string>& texts, DelegateChoice& out) {
  for (const std::string& text : texts) {
    const size_t at = text.find('=');
    if (at == 0 || at == std::string::npos || at + 1 == text.size() ||
        !out.pins.emplace(text.substr(0, at), text.substr(at + 1)).second)
      return make_error(Code::INVALID_ARGUMENT,
                        fmt::format("--backend-pin '{}', expected id=plugin, once for an id", text));
  }
  return {};
}

// Parses "id:key=value" texts.
Status parse_options(const std::vector<std::string>& texts, DelegateChoice& out) {
  for (const std::string& text : texts) {
    const size_t colon = text.find(':'), equals = text.find('=', colon + 1);
    if (colon == 0 || colon == std::string::npos || equals == std::string::npos || equals == colon + 1)
      return make_error(Code::INVALID_ARGUMENT,
                        fmt::format("--backend-option '{}', expected id:key=value", text));
    out.options.push_back(
        {text.substr(0, colon), text.substr(colon + 1, equals - colon - 1), text.substr(equals + 1)});
  }
  return {};
}

std::set<std::string> delegate_ids(const host::Module& module) {
  const format::ProgramView& program = module.program()->program().view();
  std::set<std::string> ids;
  for (uint32_t m = 0; m < program.method_count(); ++m)
    for (uint32_t d = 0; d < program.method(m).delegate_count(); ++d)
      ids.emplace(program.method(m).delegate(d).id());
  return ids;
}

Status expect_delegate(const char* option, const std::string& id, const std::set<std::string>& ids) {
  if (ids.count(id) != 0) return {};
  if (ids.empty())
    return make_error(Code::INVALID_ARGUMENT,
                      fmt::format("{}: found {}, and the program has no delegate", option,
                                  id.empty() ? "a device" : format::in_quotes(id)));
  return tl::make_unexpected(
      unknown_value(std::string(option) + ": id of a delegate of the program", id, {ids.begin(), ids.end()}));
}

}  // namespace

void add_delegate_options(CLI::App& command, DelegateTexts& texts) {
  command.add_option("--backend-pin", texts.pins, "Use this plugin for this delegate id; repeatable")
      ->type_name("ID=PLUGIN")
      ->allow_extra_args(false);
  command
      .add_option(
          "--device", texts.devices,
          "Run delegates, or only those with this id, on the device with this uuid or name, as listed by "
          "`etbackend list --devices`; repeatable")
      ->type_name("[ID=]DEVICE")
      ->allow_extra_args(false);
  command
      .add_option("--backend-option", texts.options,
                  "Set an option of the delegates with this id, as listed by `etbackend info ID`; repeatable")
      ->type_name("ID:KEY=VALUE")
      ->allow_extra_args(false);
}

Result<DelegateChoice> DelegateChoice::parse(const DelegateTexts& texts) {
  DelegateChoice out;
  ETB_TRY(parse_pins(texts.pins, out));
  ETB_TRY(parse_devices(texts.devices, out));
  ETB_TRY(parse_options(texts.options, out));
  return out;
}

host::Registry& SearchedDelegates::registry() {
  if (registry_ == nullptr) registry_ = std::make_unique<host::Registry>(options_);
  return *registry_;
}

Status SearchedDelegates::check_pin(const std::string& id, std::string& plugin) {
  std::vector<std::string> names;
  for (const host::PluginEntry& entry : registry().plugins()) {
    if (entry.id.empty()) continue;
    if (entry.id != plugin && !entry.has_alias(plugin)) {
      names.push_back(entry.id);
      if (entry.manifest)
        names.insert(names.end(), entry.manifest->aliases.begin(), entry.manifest->aliases.end());
      continue;
    }
    if (entry.manifest && entry.find_provided(id) == nullptr)
      return make_error(Code::INVALID_ARGUMENT,
                        fmt::format("--backend-pin: plugin '{}' does not provide '{}'",
                                    format::made_printable(entry.id), id));
    plugin = entry.id;
    return {};
  }
  return make_error(Code::NOT_FOUND, "--backend-pin " + id +
                                         ": no plugin of this name: " + unknown_name(plugin, names) +
                                         "\nhint: `etbackend list` prints the plugins");
}

Status SearchedDelegates::check_choice(const host::Module& module) {
  if (choice_.pins.empty() && choice_.devices.empty() && choice_.options.empty()) return {};
  const std::set<std::string> ids = delegate_ids(module);
  for (auto& [id, plugin] : choice_.pins) {
    ETB_TRY(expect_delegate("--backend-pin", id, ids));
    ETB_TRY(check_pin(id, plugin));
  }
  for (const auto& [id, device] : choice_.devices)
    if (!id.empty() || ids.empty()) ETB_TRY(expect_delegate("--device", id, ids));
  for (const DelegateChoice::Option& option : choice_.options)
    ETB_TRY(expect_delegate("--backend-option", option.backend_id, ids));
  return {};
}

etb_status SearchedDelegates::create(const host::DelegateRequest& request, host::MethodDelegate** out,
                                     etb_error* error) noexcept {
  if (delegates_ == nullptr) {
    delegates_ = std::make_unique<host::PluginDelegates>(registry());
    for (const auto& [id, plugin] : choice_.pins) delegates_->pin(id, plugin);
    for (const auto& [id, device] : choice_.devices) delegates_->set_device(id, device);
    for (const auto& [id, key, value] : choice_.options) delegates_->set_option(id, key, value);
  }
  return delegates_->create(request, out, error);
}

Json SearchedDelegates::to_json() const {
  Json list = Json::array();
  if (delegates_ == nullptr) return list;
  for (const auto& decision : delegates_->decisions()) {
    const host::Candidate* winner = decision->winner();
    list.push_back({{"id", decision->name},
                    {"plugin", winner == nullptr ? "" : winner->id},
                    {"decision", Json::parse(host::to_json(*decision), nullptr, false)}});
  }
  return list;
}

}  // namespace etb::tools
