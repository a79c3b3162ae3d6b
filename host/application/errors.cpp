// SPDX-License-Identifier: Apache-2.0
#include "host/application/errors.hpp"

#include "api/format/printable_text.hpp"

namespace etb::host {
namespace {

constexpr std::string_view kHint = "\nhint: ";

std::string& last_message() {
  thread_local std::string message;
  return message;
}

// Escapes each line; the line breaks of a message are ours.
std::string made_printable_lines(std::string_view text) {
  std::string out;
  while (true) {
    const size_t end = text.find('\n');
    out += format::made_printable(text.substr(0, end), SIZE_MAX);
    if (end == std::string_view::npos) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
}

// Shortens the middle of a message that does not fit, so that its hint stays.
void copy_message(char (&out)[ETB_ERROR_TEXT_NBYTES], const std::string& message) {
  const size_t at = message.rfind(kHint);
  const size_t hint_nbytes = at == std::string::npos ? 0 : message.size() - at;
  constexpr std::string_view kCut = "...";
  if (message.size() < sizeof out || hint_nbytes == 0 || hint_nbytes > sizeof out / 2) {
    copy_text(out, message);
    return;
  }
  size_t kept = sizeof out - 1 - hint_nbytes - kCut.size();
  while (kept > 0 && (static_cast<unsigned char>(message[kept]) & 0xC0) == 0x80) --kept;
  copy_text(out, message.substr(0, kept).append(kCut).append(message, at));
}

}  // namespace

etb_status report(const Error& error, etb_error* out) noexcept {
  try {
    std::string& message = last_message();
    message = error.message.empty() ? to_text(error.code) : made_printable_lines(error.message);
    if (out != nullptr && ETB_HAS_FIELD(etb_error, out, text)) {
      out->code = static_cast<etb_status>(error.code);
      out->vendor_code = error.vendor_code;
      copy_text(out->reason, error.reason);
      copy_message(out->text, message);
    }
    return static_cast<etb_status>(error.code);
  } catch (...) {  // no memory for the message
    return write_error(error.code, to_text(error.code), out);
  }
}

const char* last_error() noexcept { return last_message().c_str(); }

}  // namespace etb::host
