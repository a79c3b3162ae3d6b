// SPDX-License-Identifier: Apache-2.0
// Reason: why a plugin is not used, as a value for programs and an Error for users.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "etb/cpp/result.hpp"

namespace etb::host {

#define ETB_REASON(name, id, code, text, hint) name,
enum class Reason {
#include "host/registry/reason.def"
};
#undef ETB_REASON

struct ReasonRow {
  Reason reason;
  std::string_view id;
  Code code;
  std::string_view text;
  std::string_view hint;
};

// Reason of the error for a name that no plugin has.
inline constexpr std::string_view kNameNotFound = "name.not-found";

std::span<const ReasonRow> reason_rows();

// Returns the remedy for a reason's id, for users; "" if the id is none of the list.
std::string_view hint_of(std::string_view id);

// Returns the Error of a reason, with its code, its id, and `message`.
tl::unexpected<Error> refuse(Reason reason, std::string message);

}  // namespace etb::host
