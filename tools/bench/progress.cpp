// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "api/format/printable_text.hpp"
#include "tools/process_setup.hpp"

namespace etb::bench {
namespace {

constexpr size_t kMaxColumns = 78;  // a longer line would wrap, and could not be erased
constexpr char kErase[] = "\r\x1b[K";

void write_to_terminal(const std::string& text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); }

}  // namespace

Progress::Progress() : is_shown_(tools::is_program() && ::isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (has_line_) write_to_terminal(kErase);
}

void Progress::show(const std::string& text) {
  if (!is_shown_) return;
  write_to_terminal(kErase + format::made_printable(text, kMaxColumns));
  has_line_ = true;
}

void Progress::show_round(uint32_t round, uint32_t rounds, double elapsed_seconds, double limit_seconds) {
  const auto now = std::chrono::steady_clock::now();
  if (!is_shown_ || now - last_ < std::chrono::milliseconds(200)) return;  // writing costs time, too
  last_ = now;
  if (round == 0) return show(fmt::format("measuring, {} samples", rounds));
  double left = elapsed_seconds / round * (rounds - round);
  if (limit_seconds > 0) left = std::min(left, std::max(limit_seconds - elapsed_seconds, 0.0));
  show(fmt::format("measuring {} of {} samples, about {:.0f} s left", round + 1, rounds, left));
}

}  // namespace etb::bench
