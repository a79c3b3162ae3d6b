// SPDX-License-Identifier: Apache-2.0
#include "tools/run/searched_delegates.hpp"

#include <fmt/format.h>

#include <set>

#include "api/format/printable_text.hpp"
#include "host/module/shared_program.hpp"
#include "tools/option_values.hpp"

namespace etb::tools {
namespace {

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

Status SearchedDelegates::check_choices(const host::Module& module) {
  if (choices_.pins.empty() && choices_.devices.empty() && choices_.options.empty()) return {};
  const std::set<std::string> ids = delegate_ids(module);
  for (auto& [id, plugin] : choices_.pins) {
    ETB_TRY(expect_delegate("--backend-pin", id, ids));
    ETB_TRY(check_pin(id, plugin));
  }
  for (const auto& [id, device] : choices_.devices)
    if (!id.empty() || ids.empty()) ETB_TRY(expect_delegate("--device", id, ids));
  for (const BackendOption& option : choices_.options)
    ETB_TRY(expect_delegate("--backend-option", option.backend_id, ids));
  return {};
}

etb_status SearchedDelegates::create(const host::DelegateRequest& request, host::MethodDelegate** out,
                                     etb_error* error) noexcept {
  if (delegates_ == nullptr) {
    delegates_ = std::make_unique<host::PluginDelegates>(registry());
    if (choices_.is_async) delegates_->allow_async_runs();
    delegates_->limit_device_memory(choices_.max_device_bytes);
    delegates_->lend_file(file_);
    for (const auto& [id, plugin] : choices_.pins) delegates_->pin(id, plugin);
    for (const auto& [id, device] : choices_.devices) delegates_->set_device(id, device);
    for (const auto& [id, key, value] : choices_.options) delegates_->set_option(id, key, value);
  }
  return delegates_->create(request, out, error);
}

std::vector<std::shared_ptr<const host::Decision>> SearchedDelegates::decisions() const {
  if (delegates_ == nullptr) return {};
  return delegates_->decisions();
}

std::vector<host::DelegateHolding> SearchedDelegates::holdings() const {
  if (delegates_ == nullptr) return {};
  return delegates_->holdings();
}

}  // namespace etb::tools
