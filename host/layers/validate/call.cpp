// SPDX-License-Identifier: Apache-2.0
#include "host/layers/validate/call.hpp"

#include <cstring>

#include "etb/cpp/fail.hpp"
#include "etb/cpp/result.hpp"

namespace etb::host::validate {

const char* to_text(Kind kind) {
  switch (kind) {
    case Kind::PLUGIN:
      return "plugin";
    case Kind::DEVICE:
      return "device";
    case Kind::DELEGATE:
      return "delegate";
    case Kind::CONTEXT:
      return "context";
  }
  return "nothing";
}

namespace {

// A service has no parameter for the call that the plugin is in, so the thread connects the two.
thread_local Call* innermost_call = nullptr;

}  // namespace

Call::Innermost::Innermost(Call& call) noexcept : outer_(std::exchange(innermost_call, &call)) {}
Call::Innermost::~Innermost() { innermost_call = outer_; }

Call* Call::innermost() noexcept { return innermost_call; }

Call::Call(const char* function, etb_error* host_error) : function_(function), host_error_(host_error) {}

Call::~Call() {
  for (const Entered& entered : entered_) {
    if (entered.tag == Tag::SERIAL) entered.handle->serial_call_count.fetch_sub(1);
    entered.handle->call_count.fetch_sub(1);
  }
}

bool Call::enter_handle(Handle* handle, Kind kind, Tag tag) {
  const auto address = reinterpret_cast<uintptr_t>(handle);
  if (address == 0 || address % alignof(Handle) != 0 || handle->magic != Handle::kMagic) {
    refused_ = ETB_INVALID_HANDLE;
    refused_text_ = fmt::format("ABI-OWN-04: {} is {}, expected a {} created through this layer",
                                fmt::ptr(handle), address == 0 ? "NULL" : "not a handle", to_text(kind));
    return false;
  }
  if (state_ == nullptr) {
    instance_ = handle->instance;
    state_ = &instance_->state;
    state_->sweep();
  }
  if (handle->kind != kind) {
    fatal("ABI-OWN-04", ETB_INVALID_HANDLE, "the handle is a {}, expected a {}", to_text(handle->kind),
          to_text(kind));
    return false;
  }
  for (const Handle* object = handle; object != nullptr; object = object->parent)
    if (!object->is_alive.load()) {
      fatal("ABI-OWN-04", ETB_INVALID_HANDLE, "the {} was ended before{}", to_text(object->kind),
            object == handle ? "" : fmt::format(", this {} with it", to_text(kind)));
      return false;
    }
  handle->call_count.fetch_add(1);
  if (tag == Tag::SERIAL && handle->serial_call_count.fetch_add(1) != 0)
    host("ABI-THREAD-02", ETB_INVALID_STATE, "another [serial:{}] call on this {} has not returned",
         to_text(kind), to_text(kind));
  entered_.push_back({handle, tag});
  return true;
}

void Call::found(Rule rule, Side side, etb_status status, std::string text, bool is_fatal) {
  if (side == Side::HOST) host_text_ = std::string(rule.id) + ": " + text;
  if (refused_ == ETB_OK && side == Side::HOST && (is_fatal || state_->options().strict)) {
    refused_ = status;
    refused_text_ = host_text_;
  }
  if (side == Side::PLUGIN && plugin_text_.empty()) plugin_text_ = std::string(rule.id) + ": " + text;
  state_->report(rule, side, function_, std::move(text));
}

void Call::after_run(const ProcessState& before, etb_status status) {
  check_process(before);
  if (is_thrown_)
    plugin("ABI-CALL-03", "an exception left the function");
  else
    check_error(*reinterpret_cast<const etb_error*>(error_box_->inside()), status);
  if (const auto damage = error_box_->take_damage()) plugin("ABI-SIZE-03", "etb_error: {}", *damage);
  state_->sweep();
}

void Call::check_process(const ProcessState& before) {
  if (const auto change = before.find_change()) plugin("ABI-HYG-01", "the call changed {}", *change);
  const bool may_make_threads =
      instance_ == nullptr || (instance_->next->ident->flags & ETB_PLUGIN_OWN_THREADS) != 0;
  if (const int added = before.added_thread_count(); added != 0 && !may_make_threads)
    plugin("ABI-HYG-02", "the call started {} threads without ETB_PLUGIN_OWN_THREADS", added);
}

void Call::check_error(const etb_error& error, etb_status status) {
  const size_t text_nbytes = strnlen(error.text, sizeof(error.text));
  if (text_nbytes == sizeof(error.text) ||
      strnlen(error.reason, sizeof(error.reason)) == sizeof(error.reason))
    return plugin("ABI-ERR-02", "the error's text does not end in its array");
  if (!is_utf8(error.text) || !is_utf8(error.reason)) plugin("ABI-ERR-02", "the error's text is not UTF-8");
  if (error.struct_size != sizeof(etb_error) || error.flags != 0)
    plugin("ABI-SIZE-03", "the call changed struct_size or flags of the error");
  if (status == ETB_OK) {
    if (error.code != ETB_OK || text_nbytes != 0)
      plugin("ABI-ERR-01", "the call returned ETB_OK and filled the error with code {}", error.code);
    return;
  }
  if (status == passed_on_ && error.code == ETB_OK) return;
  if (error.code != status) plugin("ABI-ERR-01", "the error's code is {}, the status {}", error.code, status);
  if (text_nbytes == 0) plugin("ABI-ERR-01", "the error of status {} has no text", status);
}

etb_status Call::finish(etb_status status) {
  if (is_refused())
    return fail(host_error_, refused_, "rejected by the validate layer: %s", refused_text_.c_str());
  if (is_spoiled())
    return fail(host_error_, ETB_INTERNAL, "rejected by the validate layer: %s", plugin_text_.c_str());
  if (is_thrown_) return fail(host_error_, ETB_INTERNAL, "an exception left %s", function_);
  if (status == ETB_OK || !etb::detail::can_write(host_error_)) return status;
  etb_error error;
  std::memcpy(&error, error_box_->inside(), sizeof(error));
  if (error.code == ETB_OK)
    return fail(host_error_, status, "%s", plugin_text_.empty() ? function_ : plugin_text_.c_str());
  host_error_->code = error.code;
  host_error_->vendor_code = error.vendor_code;
  copy_text(host_error_->reason, {error.reason, strnlen(error.reason, sizeof(error.reason))});
  copy_text(host_error_->text, {error.text, strnlen(error.text, sizeof(error.text))});
  return status;
}

bool is_utf8(std::string_view text) noexcept {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t count = lead < 0x80                    ? 1
                         : lead >= 0xc2 && lead <= 0xdf ? 2
                         : lead >= 0xe0 && lead <= 0xef ? 3
                         : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                        : 0;
    if (count == 0 || count > text.size() - i) return false;
    for (size_t k = 1; k < count; ++k)
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return false;
    i += count;
  }
  return true;
}

}  // namespace etb::host::validate
