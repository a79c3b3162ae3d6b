// SPDX-License-Identifier: Apache-2.0
#include "host/bridge/executorch_backend.hpp"

#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

#include <array>
#include <variant>

#include "etb/cpp/fail.hpp"
#include "etb/cpp/guard.hpp"

namespace etb::host {
namespace {

namespace et = executorch::runtime;

thread_local std::string last_error;

// Numbers above 0x3f are ours alone.
et::Error to_executorch(etb_status status) {
  return status >= 0 && status <= 0x3f ? static_cast<et::Error>(status) : et::Error::Internal;
}

et::Error report(const std::string& backend, etb_status status, std::string text) {
  last_error = std::move(text);
  ET_LOG(Error, "etbackend bridge: %s: %s", backend.c_str(), last_error.c_str());
  return to_executorch(status);
}

// Named data of a program that the official run time loaded.
class ProgramData final : public NamedDataSource {
 public:
  explicit ProgramData(const et::NamedDataMap* map) : map_(map) {}

  etb_status find(std::string_view key, DataBlock* out, etb_error* error) const noexcept override {
    if (map_ == nullptr)
      return fail(error, ETB_NOT_FOUND, "named data '%.*s': the program has none", shown(key), key.data());
    et::Result<et::FreeableBuffer> found = map_->get_data(key);
    if (!found.ok())
      return fail(error, found.error() == et::Error::NotFound ? ETB_NOT_FOUND : ETB_ACCESS_FAILED,
                  "named data '%.*s': the run time reports %s", shown(key), key.data(),
                  et::to_string(found.error()));
    auto* const kept = new (std::nothrow) et::FreeableBuffer(std::move(*found));
    if (kept == nullptr) return fail(error, ETB_OUT_OF_MEMORY, "named data: no memory");
    *out = to_block(kept);
    return ETB_OK;
  }

  // The block owns the buffer.
  static DataBlock to_block(et::FreeableBuffer* buffer) {
    return DataBlock(
        {static_cast<const std::byte*>(buffer->data()), buffer->size()},
        [](void* owner, const std::byte*, uint64_t) { delete static_cast<et::FreeableBuffer*>(owner); },
        buffer);
  }

 private:
  const et::NamedDataMap* map_;
};

// Object that a handle of the run time points to.
struct Handle {
  explicit Handle(const et::NamedDataMap* map) : named_data(map) {}

  ProgramData named_data;  // outlives the delegate
  std::unique_ptr<BridgedDelegate> delegate;
  std::vector<ForeignValue> values;  // of the call in progress
};

std::string option_text(const et::BackendOption& option) {
  if (const auto* flag = std::get_if<bool>(&option.value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<int>(&option.value)) return std::to_string(*number);
  return std::get<std::array<char, et::kMaxOptionValueLength>>(option.value).data();
}

BridgedRequest make_request(const std::string& backend_id, et::BackendInitContext& context,
                            et::FreeableBuffer* processed, et::ArrayRef<et::CompileSpec> compile_specs) {
  BridgedRequest request;
  request.backend_id = backend_id;
  request.method_name = context.get_method_name() != nullptr ? context.get_method_name() : "";
  // The run time keeps an empty buffer, and the plugin may release the bytes when it has packed them.
  request.payload = ProgramData::to_block(new et::FreeableBuffer(std::move(*processed)));
  for (const et::CompileSpec& spec : compile_specs)
    request.specs.push_back(
        {ETB_INIT_SIZE(etb_compile_spec), 0, spec.key, {spec.value.buffer, spec.value.nbytes}});
  const et::Span<const et::BackendOption> options = context.runtime_specs();
  for (size_t i = 0; i < options.size(); ++i) request.options[options[i].key] = option_text(options[i]);
  return request;
}

ForeignValue to_foreign(const et::EValue& value) {
  if (value.isTensor()) {
    const auto& tensor = value.toTensor();
    const auto sizes = tensor.sizes();
    const auto order = tensor.dim_order();
    const bool has_order = order.data() != nullptr;
    return ForeignTensor{static_cast<int32_t>(tensor.scalar_type()),
                         {sizes.data(), sizes.size()},
                         {order.data(), has_order ? order.size() : 0},
                         tensor.mutable_data_ptr(),
                         tensor.shape_dynamism() != et::TensorShapeDynamism::STATIC,
                         tensor.unsafeGetTensorImpl()->device_type() == et::etensor::DeviceType::CPU};
  }
  if (value.isInt()) return value.toInt();
  return ForeignOther{value.isNone()     ? "none"
                      : value.isDouble() ? "double"
                      : value.isBool()   ? "bool"
                      : value.isString() ? "string"
                                         : "list"};
}

// Writes the plugin's sizes to the outputs.
et::Error resize_outputs(const Handle& handle, et::Span<et::EValue*> args) {
  for (size_t i = handle.delegate->input_count(); i < args.size(); ++i) {
    const std::span<const int64_t> sizes = handle.delegate->sizes(i);
    std::array<et::etensor::TensorImpl::SizesType, kMaxRank> narrow{};
    std::copy(sizes.begin(), sizes.end(), narrow.begin());
    const et::Error status = et::resize_tensor(
        args[i]->toTensor(), et::ArrayRef<et::etensor::TensorImpl::SizesType>(narrow.data(), sizes.size()));
    if (status != et::Error::Ok) return status;
  }
  return et::Error::Ok;
}

void report_violations(Bridge& bridge) {
  for (const std::string& line : bridge.take_violations())
    ET_LOG(Error, "etbackend bridge: broken rule: %s", line.c_str());
}

}  // namespace

const char* last_bridge_error() noexcept { return last_error.c_str(); }

et::Result<et::DelegateHandle*> ExecutorchBackend::init(et::BackendInitContext& context,
                                                        et::FreeableBuffer* processed,
                                                        et::ArrayRef<et::CompileSpec> compile_specs) const {
  etb_error error = ETB_ERROR_INIT;
  std::string text;
  Handle* made = nullptr;
  const etb_status status = guard(&error, [&]() -> Status {
    ETB_ASSIGN(Bridge * bridge, find_bridge_());
    auto handle = std::make_unique<Handle>(context.get_named_data_map());
    BridgedRequest request = make_request(backend_id_, context, processed, compile_specs);
    request.named_data = &handle->named_data;
    Result<std::unique_ptr<BridgedDelegate>> delegate = bridge->create(std::move(request));
    report_violations(*bridge);
    if (!delegate) {
      text = delegate.error().message;
      return tl::make_unexpected(std::move(delegate).error());
    }
    handle->delegate = std::move(*delegate);
    made = handle.release();
    return {};
  });
  if (status != ETB_OK) return report(name_, status, text.empty() ? error.text : std::move(text));
  return made;
}

et::Error ExecutorchBackend::execute(et::BackendExecutionContext&, et::DelegateHandle* delegate_handle,
                                     et::Span<et::EValue*> args) const {
  auto& handle = *static_cast<Handle*>(delegate_handle);
  etb_error error = ETB_ERROR_INIT;
  if (handle.values.size() != args.size()) handle.values.resize(args.size());
  for (size_t i = 0; i < args.size(); ++i) handle.values[i] = to_foreign(*args[i]);
  const etb_status status = handle.delegate->execute(handle.values, &error);
  if (Result<Bridge*> bridge = find_bridge_(); bridge) report_violations(**bridge);
  if (status != ETB_OK) return report(name_, status, error.text);
  const et::Error resized = resize_outputs(handle, args);
  if (resized == et::Error::Ok) return resized;
  return report(name_, static_cast<etb_status>(resized),
                std::string("plugin '") + handle.delegate->plugin_id() +
                    "': it returned sizes that the run time's outputs cannot have");
}

et::Error ExecutorchBackend::set_option(et::BackendOptionContext&,
                                        const et::Span<et::BackendOption>& backend_options) {
  etb_error error = ETB_ERROR_INIT;
  const etb_status status = guard(&error, [&]() -> Status {
    ETB_ASSIGN(Bridge * bridge, find_bridge_());
    for (size_t i = 0; i < backend_options.size(); ++i)
      bridge->set_option(backend_id_, backend_options[i].key, option_text(backend_options[i]));
    return {};
  });
  return status == ETB_OK ? et::Error::Ok : report(name_, status, error.text);
}

void ExecutorchBackend::destroy(et::DelegateHandle* handle) const { delete static_cast<Handle*>(handle); }

}  // namespace etb::host
