// Streams between commands and a terminal, file or pipe: nothing that a file or plugin said drives a terminal, and no byte that
// could not be written is lost without a word.
#pragma once

#include <array>
#include <ostream>
#include <streambuf>
#include <string>

namespace etb::tools {

// Writes to a descriptor. The first error is kept; the stream is bad from then on.
class DescriptorBuffer final : public std::streambuf {
 public:
  explicit DescriptorBuffer(int descriptor);
  ~DescriptorBuffer() override;
  int error_number() const { return error_number_; }  // an errno, 0 while all is well
  bool is_terminal() const;

 protected:
  int_type overflow(int_type c) override;
  int sync() override;

 private:
  int descriptor_;
  int error_number_ = 0;
  std::array<char, 1 << 14> bytes_;
};

// Passes text on to another buffer. What made_printable() would escape is escaped, but for line ends and tabs. A command still
// escapes the names that it prints, since a line end in one would begin a line of its own.
class PrintableBuffer final : public std::streambuf {
 public:
  explicit PrintableBuffer(std::streambuf& to);
  ~PrintableBuffer() override;

  // For a line that is drawn again and again on a terminal: lets carriage return and "erase to the line's end" pass.
  void allow_redraw() { allows_redraw_ = true; }
  // Writes everything, also the beginning of a character that never ended.
  bool finish();

 protected:
  int_type overflow(int_type c) override;
  int sync() override;

 private:
  bool pass_on(bool is_end);
  size_t plain_nbytes(std::string_view text) const;

  std::streambuf& to_;
  bool allows_redraw_ = false;
  std::array<char, 1 << 12> bytes_;
};

}  // namespace etb::tools
