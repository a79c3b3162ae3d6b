// SPDX-License-Identifier: Apache-2.0
// Streams between commands and a terminal, file or pipe. Text of a file or plugin cannot control the
// terminal, and failed writes are reported.
#pragma once

#include <array>
#include <ostream>
#include <streambuf>
#include <string>

namespace etb::tools {

// Writes to a descriptor. Keeps the first error; the stream is bad from then on.
class DescriptorBuffer final : public std::streambuf {
 public:
  explicit DescriptorBuffer(int descriptor);
  ~DescriptorBuffer() override;
  int error_number() const { return error_number_; }  // an errno, 0 if no error occurred
  bool is_terminal() const;

 protected:
  int_type overflow(int_type c) override;
  int sync() override;

 private:
  int descriptor_;
  int error_number_ = 0;
  std::array<char, 1 << 14> bytes_;
};

// Passes text on to another buffer. Escapes the characters that made_printable() escapes, except line ends
// and tabs. Commands still escape the names that they print, since a line end in one would begin a new line.
class PrintableBuffer final : public std::streambuf {
 public:
  explicit PrintableBuffer(std::streambuf& to);
  ~PrintableBuffer() override;

  // For a line that is redrawn on a terminal: allows carriage return and "erase to the line's end".
  void allow_redraw() { allows_redraw_ = true; }
  // Makes styles visible; without it they are left out. A style passes beside the text, so no text can imitate it.
  void allow_styles(bool allows) { allows_styles_ = allows; }
  void put_style(const char* sequence);
  // Writes everything, including an incomplete character at the end.
  bool finish();

 protected:
  int_type overflow(int_type c) override;
  int sync() override;

 private:
  bool pass_on(bool is_end);
  size_t plain_nbytes(std::string_view text) const;

  std::streambuf& to_;
  bool allows_redraw_ = false;
  bool allows_styles_ = false;
  std::array<char, 1 << 12> bytes_;
};

// Style of the text that follows, on a stream with a PrintableBuffer. Elsewhere it has no effect.
enum class Style { kPlain, kHeading, kError, kGood };
std::ostream& operator<<(std::ostream& stream, Style style);

}  // namespace etb::tools
