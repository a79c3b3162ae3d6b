// SPDX-License-Identifier: Apache-2.0
// Errors that reject a node.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "etb/cpp/result.hpp"

namespace etb::xnnpack {

// A part of a message: a text or a number.
class MessagePart {
 public:
  // NOLINTBEGIN(google-explicit-constructor): parts are written as they are
  MessagePart(std::string_view text) : kind_(Kind::kText), text_(text) {}
  MessagePart(const char* text) : kind_(Kind::kText), text_(text) {}
  MessagePart(std::signed_integral auto number) : kind_(Kind::kSigned), signed_(number) {}
  MessagePart(std::unsigned_integral auto number) : kind_(Kind::kUnsigned), unsigned_(number) {}
  MessagePart(std::floating_point auto number) : kind_(Kind::kFloat), float_(number) {}
  // NOLINTEND(google-explicit-constructor)

  void append_to(std::string& text) const;

 private:
  enum class Kind : uint8_t { kText, kSigned, kUnsigned, kFloat } kind_;
  std::string_view text_ = {};
  union {
    int64_t signed_ = 0;
    uint64_t unsigned_;
    double float_;
  };
};

// Returns an error whose text consists of the parts.
[[nodiscard]] tl::unexpected<Error> reject_node(const char* reason, std::initializer_list<MessagePart> parts);

// Reasons: "dtype", "rank", "layout", "dynamic", "quant", "attribute", "op", "constant", "empty".
template <class... T>
[[nodiscard]] tl::unexpected<Error> reject(const char* reason, const T&... parts) {
  return reject_node(reason, {MessagePart(parts)...});
}

}  // namespace etb::xnnpack
