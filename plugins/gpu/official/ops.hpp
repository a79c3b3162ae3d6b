// SPDX-License-Identifier: Apache-2.0
// An operator of official payloads: one row, beside the function that lowers it (ops/).
#pragma once

#include <span>
#include <string_view>

#include "plugins/gpu/official/lowering.hpp"

namespace etb::gpu {

struct OfficialOp {
  const char* name;
  uint8_t min_arguments, max_arguments;  // with the result, which is the last one
  Status (*lower)(CallContext&);
  bool gives_size = false;  // the result is a size, no tensor
};

// The rows of one file of ops/, named after the file: `extern const OfficialOpList pool_calls = kRows;`.
using OfficialOpList = std::span<const OfficialOp>;
extern const OfficialOpList elementwise_calls, movement_calls, products_calls, quantised_calls, rows_calls;
inline constexpr const OfficialOpList* kOfficialOps[] = {&elementwise_calls, &movement_calls, &products_calls,
                                                         &quantised_calls, &rows_calls};

// Returns NULL for an unknown operator.
const OfficialOp* find_official_op(std::string_view name);

// Rejects arguments that no kernel is for.
template <class... T>
tl::unexpected<Error> unsupported(const T&... parts) {
  return failed(Code::NOT_SUPPORTED, {MessagePart(parts)...});
}

}  // namespace etb::gpu
