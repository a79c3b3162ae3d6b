// SPDX-License-Identifier: Apache-2.0
#include "host/layers/validate/services.hpp"

#include <cstring>

namespace etb::host::validate {
namespace {

const char* function_now() {
  const Call* const call = Call::innermost();
  return call != nullptr ? call->function() : "no call";
}

}  // namespace

WatchedServices::WatchedServices(State& state, etb_host& host) : state_(state), real_(host) {
  host.ctx = this;
  host.get_service = [](const etb_host* self, const char* id) {
    return static_cast<WatchedServices*>(self->ctx)->find(id);
  };
  alloc_.struct_size = sizeof(alloc_);
  alloc_.ctx = this;
  alloc_.allocate = [](void* ctx, uint64_t nbytes, uint64_t alignment, const char* tag) {
    return static_cast<WatchedServices*>(ctx)->allocate(nbytes, alignment, tag);
  };
  alloc_.free = [](void* ctx, void* ptr) { static_cast<WatchedServices*>(ctx)->free(ptr); };
}

const void* WatchedServices::find(const char* id) {
  if (is_late("get_service")) return nullptr;
  if (id == nullptr) {
    state_.report("ABI-CALL-04", Side::PLUGIN, function_now(), "get_service was called with NULL");
    return nullptr;
  }
  const void* const table = real_.get_service(&real_, id);
  if (table == nullptr || std::strcmp(id, ETB_SERVICE_ALLOC) != 0) return table;
  real_alloc_ = static_cast<const etb_alloc_service*>(table);
  return &alloc_;
}

bool WatchedServices::is_late(const char* what) {
  const std::lock_guard lock(mutex_);
  if (!is_ended_) return false;
  state_.report("ABI-OWN-02", Side::PLUGIN, function_now(), fmt::format("{} was called after deinit", what));
  return true;
}

void* WatchedServices::allocate(uint64_t nbytes, uint64_t alignment, const char* tag) {
  if (is_late("alloc/1 allocate")) return nullptr;
  Call* const call = Call::innermost();
  if (call != nullptr && call->is_reserved_run)
    call->plugin("ABI-EXEC-02",
                 "{} bytes of '{}' were allocated from alloc/1 in a run within the reserved sizes", nbytes,
                 tag != nullptr ? tag : "");
  if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
    state_.report("ABI-TYPE-03", Side::PLUGIN, function_now(),
                  fmt::format("the alignment passed to alloc/1 is {}, expected a power of two", alignment));
    return nullptr;
  }
  void* const ptr = real_alloc_->allocate(real_alloc_->ctx, nbytes, alignment, tag);
  if (ptr == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  held_[ptr] = {nbytes, tag != nullptr ? tag : ""};
  return ptr;
}

void WatchedServices::free(void* ptr) {
  if (ptr == nullptr || is_late("alloc/1 free")) return;
  {
    const std::lock_guard lock(mutex_);
    if (held_.erase(ptr) == 0) {
      state_.report("ABI-OWN-04", Side::PLUGIN, function_now(),
                    fmt::format("alloc/1 received {} to free, which it did not allocate or had freed before",
                                fmt::ptr(ptr)));
      return;
    }
  }
  real_alloc_->free(real_alloc_->ctx, ptr);
}

void WatchedServices::end(Call& call) {
  const std::lock_guard lock(mutex_);
  is_ended_ = true;
  for (const auto& [ptr, held] : held_)
    call.plugin("ABI-HYG-03", "{} bytes of '{}' are still held after deinit", held.nbytes, held.tag);
  held_.clear();
}

}  // namespace etb::host::validate
