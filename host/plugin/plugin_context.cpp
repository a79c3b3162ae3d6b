// SPDX-License-Identifier: Apache-2.0
#include "host/plugin/plugin_context.hpp"

#include "etb/cpp/sink.hpp"
#include "host/plugin/delegate.hpp"
#include "host/plugin/device.hpp"

namespace etb::host {

PluginContext::Core::~Core() {
  if (plugin == nullptr) return;
  const etb_status status = table.deinit(plugin, nullptr);
  life->on_deinit(status);
}

Status PluginContext::Core::set_option(uint32_t object_kind, void* handle, const etb_option& option) const {
  etb_error error = ETB_ERROR_INIT;
  return check(table.set_option(plugin, object_kind, handle, &option, &error), error);
}

Result<PluginContext> PluginContext::make(std::shared_ptr<PluginLife> life, const etb_plugin_table& table,
                                          const etb_host& host, std::span<const etb_option> options) {
  auto core = std::make_shared<Core>(std::move(life), table);
  etb_error error = ETB_ERROR_INIT;
  etb_plugin* made = nullptr;  // a failed call's value here is not a handle, so it never reaches deinit
  ETB_TRY(check(table.init(&host, options.data(), options.size(), &made, &error), error));
  if (made == nullptr) return make_error(Code::INTERNAL, "init answered ok without a context");
  core->plugin = made;
  return PluginContext(std::move(core));
}

Status PluginContext::each_device(const std::function<void(const etb_device_info&)>& put) const {
  auto put_one = [&put](const etb_device_info& info) -> etb_status {
    put(info);
    return ETB_OK;
  };
  const auto sink = sink_to<etb_device_sink>(put_one);
  etb_error error = ETB_ERROR_INIT;
  return check(core_->table.device->enumerate(core_->plugin, &sink, &error), error);
}

Result<Device> PluginContext::open_device(const uint8_t (&uuid)[16],
                                          std::span<const etb_option> options) const {
  auto core = std::make_shared<Device::Core>(core_);
  etb_error error = ETB_ERROR_INIT;
  etb_device* made = nullptr;
  ETB_TRY(check(core_->table.device->open(core_->plugin, uuid, options.data(), options.size(), &made, &error),
                error));
  if (made == nullptr) return make_error(Code::INTERNAL, "device open answered ok without a device");
  core->device = made;
  return Device(std::move(core));
}

Result<etb_verdict> PluginContext::check_payload(const etb_payload_check& check_args) const {
  etb_verdict verdict{};
  verdict.struct_size = sizeof(verdict);
  etb_error error = ETB_ERROR_INIT;
  ETB_TRY(check(core_->table.delegate->check_payload(core_->plugin, &check_args, &verdict, &error), error));
  return verdict;
}

Result<Delegate> PluginContext::create_delegate(etb_delegate_args args, const Device* device) const {
  auto core = std::make_shared<Delegate::Core>(core_, device == nullptr ? nullptr : device->core_);
  args.device = device == nullptr ? nullptr : device->handle();
  etb_error error = ETB_ERROR_INIT;
  etb_delegate* made = nullptr;
  ETB_TRY(check(core_->table.delegate->create(core_->plugin, &args, &made, &error), error));
  if (made == nullptr) return make_error(Code::INTERNAL, "create answered ok without a delegate");
  core->delegate = made;
  return Delegate(std::move(core));
}

const void* PluginContext::find_extension(const char* id) const {
  return core_->table.get_extension(core_->plugin, ETB_OBJECT_PLUGIN, core_->plugin, id);
}

Status PluginContext::each_option(const std::function<void(const etb_option_schema&)>& put) const {
  auto put_one = [&put](const etb_option_schema& schema) -> etb_status {
    put(schema);
    return ETB_OK;
  };
  const auto sink = sink_to<etb_option_schema_sink>(put_one);
  etb_error error = ETB_ERROR_INIT;
  return check(core_->table.option_schema(core_->plugin, &sink, &error), error);
}

Status PluginContext::set_option(const etb_option& option) const {
  return core_->set_option(ETB_OBJECT_PLUGIN, core_->plugin, option);
}

Status PluginContext::get_option(const char* key, const std::function<void(const etb_option&)>& put) const {
  auto put_one = [&put](const etb_option& option) -> etb_status {
    put(option);
    return ETB_OK;
  };
  const auto sink = sink_to<etb_option_sink>(put_one);
  etb_error error = ETB_ERROR_INIT;
  return check(core_->table.get_option(core_->plugin, ETB_OBJECT_PLUGIN, core_->plugin, key, &sink, &error),
               error);
}

}  // namespace etb::host
