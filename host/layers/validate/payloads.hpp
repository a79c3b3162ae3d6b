// SPDX-License-Identifier: Apache-2.0
// Bytes that a delegate borrows until it releases them or is destroyed: read-only, released at most once, not
// accessed afterwards (ABI-OWN-02, ABI-OWN-03, ABI-OWN-05).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "etb/cpp/fail.hpp"
#include "host/layers/validate/structs.hpp"

namespace etb::host::validate {

// A payload view for the plugin. With guard pages its bytes are a copy. Otherwise they are the host's,
// and a hash detects changes.
class PayloadGuard {
 public:
  PayloadGuard(State& state, const char* function, const etb_payload_view& real, const char* what);
  ~PayloadGuard();
  PayloadGuard(const PayloadGuard&) = delete;
  PayloadGuard& operator=(const PayloadGuard&) = delete;

  const etb_payload_view& view() const noexcept;

  // Makes any later access to the bytes by the plugin a violation.
  void end();

 private:
  struct Body;
  std::shared_ptr<Body> body_;
};

// A source of views by key (etb_named_data, etb_constant_reader) for the plugin. `late` is the rule that a
// use after its end breaks.
template <class Source, auto kGet>
class SourceGuard {
 public:
  SourceGuard(State& state, const char* function, const Source& real, const char* what, Rule late)
      : body_(std::make_shared<Body>(state, function, real, what, late)) {
    state.adopt(body_);
  }
  SourceGuard(const SourceGuard&) = delete;
  SourceGuard& operator=(const SourceGuard&) = delete;
  ~SourceGuard() {
    body_->end();
    body_->state.retire(body_.get());
  }

  const Source* get() const noexcept { return &body_->source; }

 private:
  struct Body {
    Body(State& of, const char* called, const Source& from, const char* name, Rule rule)
        : state(of), function(called), real(from), what(name), late(rule) {
      source.struct_size = sizeof(Source);
      source.ctx = this;
      source.*kGet = [](void* ctx, const char* key, etb_payload_view* out, etb_error* error) -> etb_status {
        return static_cast<Body*>(ctx)->give(key, out, error);
      };
    }

    etb_status give(const char* key, etb_payload_view* out, etb_error* error) {
      const std::lock_guard lock(mutex);
      if (!is_open) return refuse(late, fmt::format("{} was called after its end", what), error);
      if (key == nullptr || out == nullptr)
        return refuse("ABI-CALL-04", fmt::format("{} was called with NULL", what), error);
      if (out->struct_size < sizeof(etb_payload_view))
        return refuse("ABI-SIZE-02", fmt::format("{}: out.struct_size is {}", what, out->struct_size), error);
      etb_payload_view view{};
      view.struct_size = sizeof(view);
      const etb_status status = (real.*kGet)(real.ctx, key, &view, error);
      if (status != ETB_OK) {
        if (Call* const call = Call::innermost()) call->may_pass_on(status);
        return status;
      }
      views.push_back(std::make_unique<PayloadGuard>(state, function, view, what));
      std::memcpy(out, &views.back()->view(), sizeof(view));
      return ETB_OK;
    }

    etb_status refuse(Rule rule, const std::string& text, etb_error* error) {
      state.report(rule, Side::PLUGIN, function, text);
      return fail(error, ETB_INVALID_STATE, "%s", text.c_str());
    }

    void end() {
      const std::lock_guard lock(mutex);
      is_open = false;
      views.clear();
    }

    State& state;
    const char* const function;
    const Source real;
    const char* const what;
    const Rule late;
    Source source{};
    std::mutex mutex;  // guards the members below
    bool is_open = true;
    std::vector<std::unique_ptr<PayloadGuard>> views;
  };

  std::shared_ptr<Body> body_;
};

// Its use ends with the delegate.
class NamedDataGuard : public SourceGuard<etb_named_data, &etb_named_data::get> {
 public:
  NamedDataGuard(State& state, const char* function, const etb_named_data& real)
      : SourceGuard(state, function, real, "named data", "ABI-OWN-02") {}
};

// Its use ends with the call.
class ConstantsGuard : public SourceGuard<etb_constant_reader, &etb_constant_reader::read> {
 public:
  ConstantsGuard(State& state, const char* function, const etb_constant_reader& real)
      : SourceGuard(state, function, real, "the constant reader", "ABI-OWN-01") {}
};

}  // namespace etb::host::validate
