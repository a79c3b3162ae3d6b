// SPDX-License-Identifier: Apache-2.0
// A list of custom ops and the functions that carry them out, for `etbackend bind`:
//
//   header: scale.hpp
//   - func: my::scale(Tensor x, float factor=2.0) -> Tensor
//     kernel: my::scale
//
// `kernel_name:` and lists below `kernels:` are read, too, as in files for ExecuTorch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "etb/cpp/result.hpp"

namespace etb::tools {

struct BoundOp {
  std::string schema;  // in the notation of torch.library
  std::string kernel;  // name of a C++ function; "": that of the op, my::scale_out for my::scale.out
};

struct OpList {
  std::vector<std::string> headers;
  std::vector<BoundOp> ops;
};

// `name` is the file's name in errors.
[[nodiscard]] Result<OpList> parse_op_list(std::string_view text, std::string_view name);

}  // namespace etb::tools
