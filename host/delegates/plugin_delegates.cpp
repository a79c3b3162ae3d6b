// SPDX-License-Identifier: Apache-2.0
#include "host/delegates/plugin_delegates.hpp"

#include "etb/cpp/guard.hpp"
#include "host/delegates/payload_judge.hpp"
#include "host/delegates/plugin_delegate.hpp"
#include "host/delegates/program_fact.hpp"

namespace etb::host {

ResolveOptions PluginDelegates::resolve_options(const std::string& backend_id) const {
  ResolveOptions options;
  options.allow_aliases = false;
  options.profiles = ETB_PROFILE_RUNTIME;
  if (const auto pin = pins_.find(backend_id); pin != pins_.end()) options.pin = pin->second;
  return options;
}

std::string PluginDelegates::plugin_of(const std::string& backend_id) const {
  const auto decision = registry_.resolve(backend_id, resolve_options(backend_id));
  return decision->winner() != nullptr ? decision->winner()->id : "";
}

Result<Selection> PluginDelegates::select(const DelegateRequest& request,
                                          std::span<const etb_compile_spec> specs, const NamedDevice& named) {
  const std::string id(request.id);
  ETB_ASSIGN(PayloadJudge judge, PayloadJudge::make(request, specs));
  ResolveOptions options = resolve_options(id);
  options.judge_payload = [&](const PluginEntry& entry) -> Result<PayloadVerdict> {
    ETB_ASSIGN(const auto plugin, registry_.initialise(entry));
    // Otherwise no device is enumerated: that would load the drivers of plugins that are not chosen.
    const bool names_device = judge.knows_target() || named.name;
    return judge.judge(*plugin, names_device ? target_of(named, *plugin).get() : nullptr);
  };
  Result<Selection> selection = registry_.open(id, options);
  std::shared_ptr<const Decision> decision = selection ? selection->decision : registry_.resolve(id, options);
  {
    const std::lock_guard lock(mutex_);
    if (decisions_.size() == kMaxDecisions) decisions_.pop_front();
    decisions_.push_back(std::move(decision));
  }
  if (!selection || request.platform->log == nullptr) return selection;
  const std::string notice = judge.notice_for(selection->decision->winner()->id);
  if (!notice.empty()) request.platform->log(request.platform->self, LogLevel::kWarning, notice.c_str());
  return selection;
}

// The device that is named, or the only one of the plugin. Returns NULL if it is not known, and for a name that device_of()
// rejects.
std::shared_ptr<const DeviceTarget> PluginDelegates::target_of(const NamedDevice& named,
                                                               const PluginContext& plugin) {
  const std::lock_guard lock(targets_mutex_);
  const auto [known, is_new] = targets_.try_emplace({&plugin, named.name.value_or("")});
  if (is_new) {
    auto found = OpenDevices::describe(plugin, named.name ? &*named.name : nullptr);
    if (found) known->second = *std::move(found);
  }
  return known->second;
}

// The application's choice decides before the program's.
Result<PluginDelegates::NamedDevice> PluginDelegates::device_name_of(const DelegateRequest& request) const {
  auto chosen = device_names_.find(std::string(request.id));
  if (chosen == device_names_.end()) chosen = device_names_.find("");
  if (chosen != device_names_.end()) {
    if (chosen->second == kDefaultDevice) return NamedDevice{};
    return NamedDevice{chosen->second, false};
  }
  ETB_ASSIGN(std::optional<std::string> named, read_named_device(request));
  return NamedDevice{std::move(named), true};
}

etb_status PluginDelegates::create(const DelegateRequest& request, MethodDelegate** out,
                                   etb_error* error) noexcept {
  return guard(error, [&]() -> Status {
    std::vector<std::string> keys;
    const std::vector<etb_compile_spec> specs = to_specs(request, keys);
    static const OptionTexts kNone;
    const auto given = options_.find(std::string(request.id));
    const OptionTexts& texts = given != options_.end() ? given->second : kNone;
    ETB_ASSIGN(PluginDelegate* const made, make(request, specs, texts));
    *out = made;
    if (!made->selection().empty())
      *out = new SelectedArguments(*made, made->selection(), static_cast<uint32_t>(request.arguments.size()));
    return {};
  });
}

Result<PluginDelegate*> PluginDelegates::make(const DelegateRequest& request,
                                              std::span<const etb_compile_spec> specs,
                                              const OptionTexts& option_texts) {
  ETB_ASSIGN(const NamedDevice named, device_name_of(request));
  ETB_ASSIGN(const Selection selection, select(request, specs, named));
  DelegateOptions options;
  if (!option_texts.empty()) {
    ETB_ASSIGN(options, read_delegate_options(*selection.plugin, option_texts));
  }
  ETB_ASSIGN(auto device, device_of(std::string(request.id), *selection.plugin, named, options.device));
  auto copies = is_async_ ? std::make_shared<StagingMemory>() : staging_memory_of(request.named_data);
  const uint64_t allocated_before = selection.plugin->allocated_bytes();
  ETB_ASSIGN(DelegateUse use,
             shared_->use({selection.plugin, device, request, specs, options.delegate, file_},
                          *device_memory_, max_device_bytes_));
  ETB_ASSIGN(PluginDelegate* const made,
             PluginDelegate::make({std::move(use), std::move(copies), std::move(options),
                                   async_support_of(*selection.plugin), allocated_before},
                                  request, watchdog_));
  made->count_transfers(transfers_);
  made->list_in(living_, std::string(request.id));
  if (made->accepts_device_memory() && !registry_.has_layers())
    use_device_memory(*made, *selection.plugin, std::move(device));
  return made;
}

Status PluginDelegates::change_option(const std::string& backend_id, const std::string& key,
                                      const std::string& text) {
  const auto in_context = [&](Error error) {
    return tl::make_unexpected(with_context(std::move(error), "delegate '" + backend_id + "'"));
  };
  const std::vector<PluginDelegate*> living = living_.of(backend_id);
  if (living.empty()) {
    ETB_ASSIGN(const Selection selection, registry_.open(backend_id, resolve_options(backend_id)));
    const OptionTexts one = {{key, text}};
    if (auto read = read_delegate_options(*selection.plugin, one); !read)
      return in_context(std::move(read).error());
  }
  std::vector<OptionChange> changes;
  for (PluginDelegate* const each : living) {
    Result<OptionChange> change = read_option_change(each->plugin(), key, text);
    if (!change) return in_context(std::move(change).error());
    if (Status accepted = each->accept_option(*change); !accepted)
      return in_context(std::move(accepted).error());
    changes.push_back(*change);
  }
  for (size_t i = 0; i < living.size(); ++i)
    if (Status changed = living[i]->set_option(changes[i]); !changed)
      return in_context(std::move(changed).error());
  set_option(backend_id, key, text);
  return {};
}

// Without it, values are copied through memory of the host. The device of a delegate without a choice is known if the plugin
// has one.
void PluginDelegates::use_device_memory(PluginDelegate& delegate, const PluginContext& plugin,
                                        std::shared_ptr<const Device> device) {
  if (device == nullptr) {
    auto only = shared_->devices().open_only(plugin);
    if (!only) return;
    device = *std::move(only);
  }
  (void)delegate.use_device_memory(std::move(device));
}

// One thread for each plugin: the runs of most devices take turns.
std::optional<AsyncSupport> PluginDelegates::async_support_of(const PluginContext& plugin) {
  if (!is_async_) return std::nullopt;
  if ((plugin.table().delegate->caps & ETB_DELEGATE_CAP_EXECUTE_ASYNC) != 0) return AsyncSupport{};
  const std::lock_guard lock(mutex_);
  std::erase_if(threads_, [](const auto& item) { return item.second.expired(); });
  std::weak_ptr<DelegateThread>& known = threads_[&plugin];
  std::shared_ptr<DelegateThread> thread = known.lock();
  if (!thread) known = thread = std::make_shared<DelegateThread>();
  return AsyncSupport{std::move(thread)};
}

// Returns NULL if no device is named.
Result<std::shared_ptr<const Device>> PluginDelegates::device_of(const std::string& backend_id,
                                                                 const PluginContext& plugin,
                                                                 const NamedDevice& named,
                                                                 std::span<const etb_option> options) {
  if (!named.name) {
    if (options.empty()) return nullptr;
    return make_error(
        Code::INVALID_ARGUMENT,
        "delegate '" + backend_id + "': option '" + options[0].key +
            "' belongs to a device\nhint: choose a device, too; the plugin's default takes none");
  }
  auto device = shared_->devices().open(plugin, *named.name, options);
  if (device) return device;
  // The texts of errors have a limit, so what is not the list of devices comes first.
  Error error = with_context(
      std::move(device).error(),
      "delegate '" + backend_id + "'" + (named.is_of_program ? ", whose device the program names" : ""));
  if (named.is_of_program)
    error.message += "\nhint: choose another device, or '" + std::string(kDefaultDevice) +
                     "' for the plugin's default device";
  return tl::make_unexpected(std::move(error));
}

// Finds the copies of a method by the address of its named data, which is unique during the method's life.
std::shared_ptr<StagingMemory> PluginDelegates::staging_memory_of(const NamedDataMap* method) {
  const std::lock_guard lock(mutex_);
  if (const auto known = copies_.find(method); known != copies_.end()) {
    if (auto copies = known->second.lock()) return copies;
  }
  std::erase_if(copies_, [](const auto& item) { return item.second.expired(); });
  auto copies = std::make_shared<StagingMemory>();
  copies_[method] = copies;
  return copies;
}

std::vector<std::shared_ptr<const Decision>> PluginDelegates::decisions() const {
  const std::lock_guard lock(mutex_);
  return {decisions_.begin(), decisions_.end()};
}

}  // namespace etb::host
