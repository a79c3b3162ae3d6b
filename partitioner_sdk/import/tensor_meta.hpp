// Tensor descriptions and enumerations of the archive's JSON.
#pragma once

#include <optional>

#include "partitioner_sdk/import/json_document.hpp"
#include "partitioner_sdk/ir/module.hpp"

namespace etb::pt2 {

// torch.export's number of an element type (torch/_export/serde/schema.py, ScalarType): not the numbers of a program file.
std::optional<ir::Dtype> find_dtype(int64_t code);
// 7 is strided, the only one that is dense.
inline constexpr int64_t kStridedLayout = 7;
std::optional<ir::MemoryFormat> find_memory_format(int64_t code);

// {"as_int": 3} or {"as_expr": {"expr_str": ..., "hint": ...}}.
[[nodiscard]] Result<ir::Dim> read_sym_int(Json json, ir::SymbolTable& symbols);
// A size, which is at least 0; not so a stride.
[[nodiscard]] Result<ir::TensorSpec> read_tensor_meta(Json meta, ir::SymbolTable& symbols);

}  // namespace etb::pt2
