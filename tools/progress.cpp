// SPDX-License-Identifier: Apache-2.0
#include "tools/progress.hpp"

#include <unistd.h>

#include "api/format/printable_text.hpp"
#include "tools/process_setup.hpp"

namespace etb::tools {
namespace {

constexpr size_t kMaxColumns = 78;  // a longer line would wrap, and could not be erased
constexpr char kErase[] = "\r\x1b[K";
constexpr auto kLeastPause = std::chrono::milliseconds(200);  // writing costs time, too

void write_to_terminal(const std::string& text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); }

}  // namespace

Progress::Progress(bool is_quiet) : is_shown_(!is_quiet && is_program() && ::isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() { erase(); }

void Progress::erase() {
  if (has_line_) write_to_terminal(kErase);
  has_line_ = false;
}

void Progress::show(const std::string& text) {
  if (!is_shown_) return;
  last_ = std::chrono::steady_clock::now();
  write_to_terminal(kErase + format::made_printable(text, kMaxColumns));
  has_line_ = true;
}

void Progress::show_often(const std::string& text) {
  if (is_shown_ && std::chrono::steady_clock::now() - last_ >= kLeastPause) show(text);
}

}  // namespace etb::tools
