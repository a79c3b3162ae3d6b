// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/ir/text_cursor.hpp"

#include <cctype>

namespace etb::ir {

void Cursor::skip_blank() {
  for (;;) {
    const size_t start = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(std::min(start, rest_.size()));
    if (rest_.empty() || rest_[0] != '#') return;
    rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
  }
}

bool Cursor::is_at_end() {
  skip_blank();
  return rest_.empty();
}

bool Cursor::peek(std::string_view token) {
  skip_blank();
  return rest_.substr(0, token.size()) == token;
}

bool Cursor::take(std::string_view token) {
  if (!peek(token)) return false;
  rest_.remove_prefix(token.size());
  return true;
}

Status Cursor::expect(std::string_view token) {
  if (take(token)) return {};
  return fail("found '" + std::string(rest_.substr(0, std::min<size_t>(12, rest_.find('\n')))) +
              "', expected '" + std::string(token) + "'");
}

std::string_view Cursor::word() {
  skip_blank();
  size_t length = 0;
  while (length < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[length])) != 0 ||
                                   rest_[length] == '_' || rest_[length] == '.')) {
    ++length;
  }
  const std::string_view found = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return found;
}

std::string_view Cursor::peek_word() {
  const std::string_view before = rest_;
  const std::string_view found = word();
  rest_ = before;
  return found;
}

bool Cursor::take_word(std::string_view wanted) {
  if (peek_word() != wanted) return false;
  word();
  return true;
}

std::string_view Cursor::line() {
  const std::string_view found = rest_.substr(0, rest_.find('\n'));
  rest_.remove_prefix(found.size());
  return found;
}

Result<std::string> Cursor::text() {
  ETB_TRY(expect("\""));
  std::string out;
  while (!rest_.empty() && rest_[0] != '"') {
    char c = rest_[0];
    rest_.remove_prefix(1);
    if (c == '\\') {
      if (rest_.empty()) break;
      c = rest_[0];
      rest_.remove_prefix(1);
      if (c == 'x' && rest_.size() >= 2) {
        int code = 0;
        std::from_chars(rest_.data(), rest_.data() + 2, code, 16);
        c = static_cast<char>(code);
        rest_.remove_prefix(2);
      }
    }
    out += c;
  }
  ETB_TRY(expect("\""));
  return out;
}

size_t Cursor::line_number() const {
  const size_t consumed = all_.size() - rest_.size();
  return 1 + static_cast<size_t>(
                 std::count(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(consumed), '\n'));
}

tl::unexpected<Error> Cursor::fail(std::string message) const {
  return make_error(Code::INVALID_ARGUMENT,
                    "line " + std::to_string(line_number()) + ": " + std::move(message));
}

}  // namespace etb::ir
