// SPDX-License-Identifier: Apache-2.0
#include "conformance/outcome/outcome.hpp"

#include <array>

namespace etb::conformance {
namespace {
constexpr std::array<const char*, 11> kTexts = {"pass",      "fail",        "crash",  "hang",
                                                "dishonest", "unsupported", "waived", "xpass",
                                                "flaky",     "warning",     "not-run"};
}

const char* to_text(State state) { return kTexts[static_cast<size_t>(state)]; }

bool from_text(const std::string& text, State& out) {
  for (size_t i = 0; i < kTexts.size(); ++i)
    if (text == kTexts[i]) {
      out = static_cast<State>(i);
      return true;
    }
  return false;
}

bool is_failure(State state) {
  return state == State::kFail || state == State::kCrash || state == State::kHang ||
         state == State::kDishonest || state == State::kXpass || state == State::kFlaky;
}

std::string group_of(const std::string& id) { return id.substr(0, id.find('.')); }

}  // namespace etb::conformance
