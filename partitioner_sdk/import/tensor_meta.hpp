// SPDX-License-Identifier: Apache-2.0
// Reads tensor descriptions and enumerations of the archive's JSON.
#pragma once

#include <optional>

#include "partitioner_sdk/import/json_document.hpp"
#include "partitioner_sdk/ir/module.hpp"

namespace etb::pt2 {

// Maps torch.export's code of an element type (torch/_export/serde/schema.py, ScalarType). Program files use
// other codes.
std::optional<ir::Dtype> find_dtype(int64_t code);
// 7 is strided, the only dense layout.
inline constexpr int64_t kStridedLayout = 7;
std::optional<ir::MemoryFormat> find_memory_format(int64_t code);

// Reads {"as_int": 3} or {"as_expr": {"expr_str": ..., "hint": ...}}.
[[nodiscard]] Result<ir::Dim> read_sym_int(Json json, ir::SymbolTable& symbols);
// Checks that sizes, unlike strides, are at least 0.
[[nodiscard]] Result<ir::TensorSpec> read_tensor_meta(Json meta, ir::SymbolTable& symbols);

}  // namespace etb::pt2
