// SPDX-License-Identifier: Apache-2.0
#include "host/delegates/shared_delegate.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace etb::host {

Result<std::shared_ptr<SharedDelegate>> SharedDelegate::make(const Source& source) {
  const DelegateRequest& request = source.request;
  const std::string id(request.id), method(request.method_name);
  std::shared_ptr<SharedDelegate> made(new SharedDelegate(source));
  const etb_payload_view payload = made->borrowed_.payload_view();
  etb_delegate_args args{};
  args.struct_size = ETB_INIT_SIZE(etb_delegate_args);
  args.backend_id = id.c_str();
  args.method_name = method.c_str();
  args.payload = &payload;
  args.named_data = &made->named_data_;
  args.specs = source.specs.data();
  args.spec_count = source.specs.size();
  args.options = source.options.data();
  args.option_count = source.options.size();
  const auto fill = [&]() -> Status {
    ETB_ASSIGN(made->delegate_, source.plugin->create_delegate(args, source.device.get()));
    ETB_ASSIGN(made->info_, made->delegate_->query());
    constexpr uint32_t kMaxArguments = 1u << 16;
    const etb_delegate_info& info = made->info_;
    if (info.input_count <= kMaxArguments && info.output_count <= kMaxArguments) return {};
    return make_error(Code::INVALID_DATA, std::to_string(info.input_count) + " inputs and " +
                                              std::to_string(info.output_count) +
                                              " outputs, expected at most " + std::to_string(kMaxArguments));
  };
  Status filled = fill();
  if (request.named_data != nullptr)
    request.named_data->count_comparisons_of(made->borrowed_.named_data_map());
  if (!filled) return tl::make_unexpected(with_context(std::move(filled).error(), "delegate '" + id + "'"));
  return made;
}

std::optional<uint32_t> SharedDelegate::take_place() noexcept {
  const uint32_t most = std::min(std::max(info_.max_contexts, 1U), kIsClosed - 1);
  uint32_t count = users_.load(std::memory_order_relaxed);
  do {
    if ((count & kIsClosed) != 0 || count >= most) return std::nullopt;
  } while (!users_.compare_exchange_weak(count, count + 1, std::memory_order_relaxed));
  return count;
}

// A user that begins at the same time sees the bit, or is counted here. The calls of a user that has ended are before the answer.
bool SharedDelegate::stop_sharing_if_unshared() noexcept {
  uint32_t count = users_.load(std::memory_order_acquire);
  do {
    if ((count & ~kIsClosed) > 1) return false;
  } while (!users_.compare_exchange_weak(count, count | kIsClosed, std::memory_order_acquire));
  return true;
}

DelegateUse DelegateUse::of(std::shared_ptr<SharedDelegate> delegate) noexcept {
  const std::optional<uint32_t> others = delegate->take_place();
  if (!others) return {};
  return {std::move(delegate), *others == 0};
}

DelegateUse& DelegateUse::operator=(DelegateUse&& other) noexcept {
  end();
  delegate_ = std::move(other.delegate_);
  is_first_ = other.is_first_;
  is_counted_ = other.is_counted_;
  return *this;
}

Status DelegateUse::count_memory(DeviceMemory& memory, const DelegateRequest& request, uint64_t max_bytes) {
  SharedDelegate& shared = *delegate_;
  if (shared.share_ == nullptr) {
    ETB_ASSIGN(shared.share_, memory.add({std::string(request.id),
                                          std::string(request.method_name),
                                          {},
                                          {},
                                          shared.info_.resident_bytes,
                                          shared.info_.context_bytes},
                                         *shared.plugin_, shared.device_.get(), max_bytes));
  } else {
    ETB_TRY(shared.share_->add_context(max_bytes));
  }
  is_counted_ = true;
  return {};
}

void DelegateUse::end() noexcept {
  if (delegate_ == nullptr) return;
  if (is_counted_) delegate_->share_->remove_context();
  delegate_->users_.fetch_sub(1, std::memory_order_release);
  delegate_.reset();
}

}  // namespace etb::host
