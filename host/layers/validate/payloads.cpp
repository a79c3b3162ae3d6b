// SPDX-License-Identifier: Apache-2.0
#include "host/layers/validate/payloads.hpp"

namespace etb::host::validate {

struct PayloadGuard::Body {
  Body(State& of, const char* called, const etb_payload_view& from, const char* name)
      : state(of), function(called), what(name), real(from), view(from) {
    view.struct_size = sizeof(view);
    if (from.data != nullptr && from.nbytes != 0) {
      if (of.options().memory == ValidateOptions::Memory::GUARD_PAGES) {
        copy =
            std::make_unique<GuardedBytes>(of.options().memory, from.nbytes, from.alignment, Access::kReads);
        std::memcpy(copy->inside(), from.data, from.nbytes);
        copy->seal();
        view.data = copy->data();
      } else {
        hash = hash_bytes(from.data, from.nbytes);
      }
    }
    if (from.release == nullptr) return;
    view.release_ctx = this;
    view.release = [](void* ctx) { static_cast<Body*>(ctx)->release(); };
  }

  void release() {
    if (release_count.fetch_add(1) != 0) {
      state.report("ABI-OWN-03", Side::PLUGIN, function,
                   fmt::format("the release callback of {} was called again", what));
      return;
    }
    if (is_ended.load()) {
      state.report(
          "ABI-OWN-02", Side::PLUGIN, function,
          fmt::format("the release callback of {} was called after the object that borrowed it ended", what));
      return;
    }
    finish_reading("ABI-OWN-03");
    real.release(real.release_ctx);
  }

  // Reports changes of the bytes so far. Any later access is a violation of `late`.
  void finish_reading(Rule late) {
    const std::lock_guard lock(mutex);
    if (copy != nullptr) {
      if (const auto damage = copy->take_damage())
        state.report("ABI-OWN-05", Side::PLUGIN, function, fmt::format("{}: {}", what, *damage));
      state.watch(std::move(copy), late, Side::PLUGIN, function, fmt::format("{} after its release", what));
    } else if (hash != 0 && hash_bytes(real.data, real.nbytes) != hash) {
      state.report("ABI-OWN-05", Side::PLUGIN, function,
                   fmt::format("the {} bytes of {} changed while they were borrowed", real.nbytes, what));
    }
    hash = 0;
  }

  State& state;
  const char* const function;
  const char* const what;
  const etb_payload_view real;
  etb_payload_view view;
  std::atomic<int> release_count{0};
  std::atomic<bool> is_ended{false};
  std::mutex mutex;  // guards the members below
  std::unique_ptr<GuardedBytes> copy;
  uint64_t hash = 0;
};

PayloadGuard::PayloadGuard(State& state, const char* function, const etb_payload_view& real, const char* what)
    : body_(std::make_shared<Body>(state, function, real, what)) {
  state.adopt(body_);
}

PayloadGuard::~PayloadGuard() {
  end();
  body_->state.retire(body_.get());
}

const etb_payload_view& PayloadGuard::view() const noexcept { return body_->view; }

void PayloadGuard::end() {
  if (body_->is_ended.exchange(true)) return;
  if (body_->release_count.load() == 0 && !body_->state.is_ending()) body_->finish_reading("ABI-OWN-02");
}

}  // namespace etb::host::validate
