#include "host/delegates/plugin_delegates.hpp"

#include "etb/cpp/guard.hpp"
#include "host/delegates/plugin_delegate.hpp"

namespace etb::host {

namespace {

constexpr size_t kPrefixNbytes = 4096;  // what a plugin may look at before it says whether a payload suits

std::vector<etb_compile_spec> to_specs(const DelegateRequest& request, std::vector<std::string>& keys) {
  const uint32_t count = request.compile_specs.compile_spec_count();
  std::vector<etb_compile_spec> specs;
  keys.reserve(count);  // the specs point into it
  for (uint32_t i = 0; i < count; ++i) {
    const format::CompileSpecView view = request.compile_specs.compile_spec(i);
    keys.emplace_back(view.key);
    specs.push_back(
        {ETB_INIT_SIZE(etb_compile_spec), 0, keys.back().c_str(), {view.value.data(), view.value.size()}});
  }
  return specs;
}

Result<PayloadVerdict> judge(const PluginContext& plugin, const DelegateRequest& request,
                             const std::string& id) {
  const std::span<const std::byte> bytes = request.payload->bytes();
  std::vector<std::string> keys;
  const std::vector<etb_compile_spec> specs = to_specs(request, keys);
  etb_payload_check check{};
  check.struct_size = ETB_INIT_SIZE(etb_payload_check);
  check.backend_id = id.c_str();
  check.prefix = {bytes.data(), std::min(bytes.size(), kPrefixNbytes)};
  check.payload_nbytes = bytes.size();
  check.specs = specs.data();
  check.spec_count = specs.size();
  ETB_ASSIGN(const etb_verdict verdict, plugin.check_payload(check));
  return PayloadVerdict{verdict.kind, std::string(verdict.text, strnlen(verdict.text, sizeof verdict.text))};
}

}  // namespace

Result<Selection> PluginDelegates::select(const DelegateRequest& request) {
  const std::string id(request.id);
  ResolveOptions options;
  options.allow_aliases = false;
  options.profiles = ETB_PROFILE_RUNTIME;
  if (const auto pin = pins_.find(id); pin != pins_.end()) options.pin = pin->second;
  options.judge_payload = [&](const PluginEntry& entry) -> Result<PayloadVerdict> {
    ETB_ASSIGN(const auto plugin, registry_.initialise(entry));
    return judge(*plugin, request, id);
  };
  Result<Selection> selection = registry_.open(id, options);
  const std::lock_guard lock(mutex_);
  if (decisions_.size() == kMaxDecisions) decisions_.pop_front();
  decisions_.push_back(selection ? selection->decision : registry_.resolve(id, options));
  return selection;
}

etb_status PluginDelegates::create(const DelegateRequest& request, MethodDelegate** out,
                                   etb_error* error) noexcept {
  return guard(error, [&]() -> Status {
    ETB_ASSIGN(const Selection selection, select(request));
    std::vector<std::string> keys;
    const std::vector<etb_compile_spec> specs = to_specs(request, keys);
    ETB_ASSIGN(*out, PluginDelegate::make(selection.plugin, request, specs));
    return {};
  });
}

std::vector<std::shared_ptr<const Decision>> PluginDelegates::decisions() const {
  const std::lock_guard lock(mutex_);
  return {decisions_.begin(), decisions_.end()};
}

}  // namespace etb::host
