// SPDX-License-Identifier: Apache-2.0
#include "host/plugin/delegate.hpp"

#include <utility>

#include "etb/cpp/sink.hpp"

namespace etb::host {

Delegate::Core::~Core() {
  if (delegate != nullptr) plugin->table.delegate->destroy(delegate, nullptr);
}

Result<etb_delegate_info> Delegate::query() const {
  etb_delegate_info info{};
  info.struct_size = sizeof(info);
  etb_error error = ETB_ERROR_INIT;
  ETB_TRY(check(core_->plugin->table.delegate->query(core_->delegate, &info, &error), error));
  return info;
}

Status Delegate::query_io(const std::function<void(const etb_io_req&)>& put) const {
  auto put_one = [&put](const etb_io_req& req) -> etb_status {
    put(req);
    return ETB_OK;
  };
  const auto sink = sink_to<etb_io_req_sink>(put_one);
  etb_error error = ETB_ERROR_INIT;
  return check(core_->plugin->table.delegate->query_io(core_->delegate, &sink, &error), error);
}

Result<Context> Delegate::create_context(std::span<const etb_option> options) const {
  Context context(core_);
  etb_error error = ETB_ERROR_INIT;
  etb_context* made = nullptr;
  ETB_TRY(check(core_->plugin->table.delegate->context_create(core_->delegate, options.data(), options.size(),
                                                              &made, &error),
                error));
  if (made == nullptr) return make_error(Code::INTERNAL, "context create answered ok without a context");
  context.context_ = made;
  return context;
}

Context::Context(Context&& other) noexcept
    : delegate_(std::move(other.delegate_)), context_(std::exchange(other.context_, nullptr)) {}

Context& Context::operator=(Context&& other) noexcept {
  Context old(std::move(*this));
  delegate_ = std::move(other.delegate_);
  context_ = std::exchange(other.context_, nullptr);
  return *this;
}

Context::~Context() {
  if (context_ != nullptr) delegate_->plugin->table.delegate->context_destroy(context_, nullptr);
}

Status Context::execute(const etb_exec_args& args) {
  return answer(delegate_->plugin->table.delegate->execute(context_, &args, &error_));
}

Status Context::reserve(std::span<const etb_tensor> inputs) {
  const etb_delegate_table& table = *delegate_->plugin->table.delegate;
  if ((table.caps & ETB_DELEGATE_CAP_CONTEXT_RESERVE) == 0) return {};
  return answer(
      table.context_reserve(context_, inputs.data(), static_cast<uint32_t>(inputs.size()), &error_));
}

Status Context::execute_async(const etb_exec_args& args) {
  return answer(delegate_->plugin->table.delegate->execute_async(context_, &args, &error_));
}

Status Context::cancel() const {
  etb_error error = ETB_ERROR_INIT;
  return check(delegate_->plugin->table.delegate->cancel(context_, &error), error);
}

Status Context::answer(etb_status status) {
  if (status == ETB_OK) return {};
  Status failed = check(status, error_);
  error_ = ETB_ERROR_INIT;
  return failed;
}

}  // namespace etb::host
