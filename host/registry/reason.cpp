// SPDX-License-Identifier: Apache-2.0
#include "host/registry/reason.hpp"

namespace etb::host {

std::span<const ReasonRow> reason_rows() {
  static constexpr ReasonRow kRows[] = {
#define ETB_REASON(name, id, code, text, hint) {Reason::name, id, Code::code, text, hint},
#include "host/registry/reason.def"
#undef ETB_REASON
  };
  return kRows;
}

tl::unexpected<Error> refuse(Reason reason, std::string message) {
  const ReasonRow& row = reason_rows()[static_cast<size_t>(reason)];
  return tl::make_unexpected(Error{row.code, std::move(message), std::string(row.id), 0});
}

std::string_view hint_of(std::string_view id) {
  if (id == kNameNotFound)
    return "`etbackend list --places` prints the plugins and every folder searched; --plugin-path DIR adds "
           "one";
  for (const ReasonRow& row : reason_rows())
    if (row.id == id) return row.hint;
  return "";
}

}  // namespace etb::host
