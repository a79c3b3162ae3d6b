// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/compile/reject.hpp"

#include <string>

namespace etb::xnnpack {

void MessagePart::append_to(std::string& text) const {
  switch (kind_) {
    case Kind::kText:
      text += text_;
      break;
    case Kind::kSigned:
      text += std::to_string(signed_);
      break;
    case Kind::kUnsigned:
      text += std::to_string(unsigned_);
      break;
    case Kind::kFloat:
      text += std::to_string(float_);
      break;
  }
}

tl::unexpected<Error> reject_node(const char* reason, std::initializer_list<MessagePart> parts) {
  Error error{Code::NOT_SUPPORTED, {}, reason, 0};
  for (const MessagePart& part : parts) part.append_to(error.message);
  return tl::make_unexpected(std::move(error));
}

}  // namespace etb::xnnpack
