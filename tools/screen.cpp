// SPDX-License-Identifier: Apache-2.0
#include "tools/screen.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "api/format/printable_text.hpp"

namespace etb::tools {

DescriptorBuffer::DescriptorBuffer(int descriptor) : descriptor_(descriptor) {
  setp(bytes_.data(), bytes_.data() + bytes_.size());
}

DescriptorBuffer::~DescriptorBuffer() { DescriptorBuffer::sync(); }

bool DescriptorBuffer::is_terminal() const { return ::isatty(descriptor_) != 0; }

DescriptorBuffer::int_type DescriptorBuffer::overflow(int_type c) {
  if (DescriptorBuffer::sync() != 0) return traits_type::eof();
  if (!traits_type::eq_int_type(c, traits_type::eof())) sputc(traits_type::to_char_type(c));
  return traits_type::not_eof(c);
}

int DescriptorBuffer::sync() {
  const char* at = pbase();
  while (at != pptr() && error_number_ == 0) {
    const ssize_t count = ::write(descriptor_, at, static_cast<size_t>(pptr() - at));
    if (count >= 0)
      at += count;
    else if (errno != EINTR)
      error_number_ = errno;
  }
  setp(bytes_.data(), bytes_.data() + bytes_.size());
  return error_number_ == 0 ? 0 : -1;
}

namespace {

// True if `text` is the start of one UTF-8 character whose rest may come with the next write.
bool is_unfinished(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t nbytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  return lead >= 0xc2 && lead <= 0xf4 && text.size() < nbytes &&
         std::all_of(text.begin() + 1, text.end(),
                     [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; });
}

}  // namespace

PrintableBuffer::PrintableBuffer(std::streambuf& to) : to_(to) {
  setp(bytes_.data(), bytes_.data() + bytes_.size());
}

PrintableBuffer::~PrintableBuffer() { finish(); }

bool PrintableBuffer::finish() { return pass_on(true) && to_.pubsync() == 0; }

PrintableBuffer::int_type PrintableBuffer::overflow(int_type c) {
  if (!pass_on(false)) return traits_type::eof();
  if (!traits_type::eq_int_type(c, traits_type::eof())) sputc(traits_type::to_char_type(c));
  return traits_type::not_eof(c);
}

int PrintableBuffer::sync() { return pass_on(false) && to_.pubsync() == 0 ? 0 : -1; }

// Returns the number of leading bytes that pass unchanged; 0 if the first must be escaped.
size_t PrintableBuffer::plain_nbytes(std::string_view text) const {
  const auto is_plain = [](char c) { return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t'; };
  const auto* end = std::find_if_not(text.begin(), text.end(), is_plain);
  if (end != text.begin()) return static_cast<size_t>(end - text.begin());
  if (allows_redraw_ && text[0] == '\r') return 1;
  constexpr std::string_view kEraseLine = "\x1b[K";
  if (allows_redraw_ && text.substr(0, kEraseLine.size()) == kEraseLine) return kEraseLine.size();
  return format::printable_front_nbytes(text);
}

void PrintableBuffer::put_style(const char* sequence) {
  if (!allows_styles_ || !pass_on(false)) return;
  to_.sputn(sequence, static_cast<std::streamsize>(std::char_traits<char>::length(sequence)));
}

std::ostream& operator<<(std::ostream& stream, Style style) {
  constexpr const char* kSequences[] = {"\x1b[0m", "\x1b[1m", "\x1b[1;31m", "\x1b[32m"};
  auto* const buffer = dynamic_cast<PrintableBuffer*>(stream.rdbuf());
  if (buffer != nullptr) buffer->put_style(kSequences[static_cast<int>(style)]);
  return stream;
}

bool PrintableBuffer::pass_on(bool is_end) {
  std::string_view text(pbase(), static_cast<size_t>(pptr() - pbase()));
  const auto put = [this](const char* from, size_t nbytes) {
    return to_.sputn(from, static_cast<std::streamsize>(nbytes)) == static_cast<std::streamsize>(nbytes);
  };
  bool is_written = true;
  while (!text.empty() && is_written) {
    size_t nbytes = plain_nbytes(text);
    if (nbytes != 0) {
      is_written = put(text.data(), nbytes);
    } else if (!is_end && is_unfinished(text)) {
      break;
    } else {
      char escaped[4];
      is_written = put(escaped, format::escape_byte(text[0], escaped));
      nbytes = 1;
    }
    text.remove_prefix(nbytes);
  }
  const size_t rest = is_written ? text.size() : 0;
  std::copy_n(text.data(), rest, bytes_.data());
  setp(bytes_.data(), bytes_.data() + bytes_.size());
  pbump(static_cast<int>(rest));
  return is_written;
}

}  // namespace etb::tools
