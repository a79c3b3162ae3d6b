// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/import/tensor_meta.hpp"

#include "partitioner_sdk/import/symbolic_expression.hpp"

namespace etb::pt2 {

using ir::Dtype;

std::optional<Dtype> find_dtype(int64_t code) {
  switch (code) {
    case 1:
      return Dtype::UINT8;
    case 2:
      return Dtype::INT8;
    case 3:
      return Dtype::INT16;
    case 4:
      return Dtype::INT32;
    case 5:
      return Dtype::INT64;
    case 6:
      return Dtype::FLOAT16;
    case 7:
      return Dtype::FLOAT32;
    case 8:
      return Dtype::FLOAT64;
    case 9:
      return Dtype::COMPLEX32;
    case 10:
      return Dtype::COMPLEX64;
    case 11:
      return Dtype::COMPLEX128;
    case 12:
      return Dtype::BOOL;
    case 13:
      return Dtype::BFLOAT16;
    case 14:  // in ExecuTorch's copy of the format, as are 15 and 16
    case 28:
      return Dtype::UINT16;
    case 15:
      return Dtype::FLOAT8E5M2;
    case 16:
      return Dtype::FLOAT8E4M3FN;
    case 29:
      return Dtype::FLOAT8E4M3FN;
    case 30:
      return Dtype::FLOAT8E5M2;
    case 31:
      return Dtype::FLOAT8E4M3FNUZ;
    case 32:
      return Dtype::FLOAT8E5M2FNUZ;
    case 34:
      return Dtype::UINT32;
    case 35:
      return Dtype::UINT64;
    default:
      return std::nullopt;
  }
}

std::optional<ir::MemoryFormat> find_memory_format(int64_t code) {
  switch (code) {
    case 1:
      return ir::MemoryFormat::kContiguous;
    case 2:
      return ir::MemoryFormat::kChannelsLast;
    case 3:
      return ir::MemoryFormat::kChannelsLast3d;
    case 4:
      return ir::MemoryFormat::kPreserve;
    default:
      return std::nullopt;
  }
}

Result<ir::Dim> read_sym_int(Json json, ir::SymbolTable& symbols) {
  if (const auto value = json["as_int"].as_int()) return ir::Dim(*value);
  const Json formula = json["as_expr"];
  const auto text = formula["expr_str"].as_string();
  if (!text) return make_error(Code::INVALID_DATA, "a size is neither as_int nor as_expr");
  ETB_ASSIGN(const ir::Dim dim, parse_expression(*text, symbols));
  if (const auto symbol = symbols.as_symbol(dim)) {
    if (const auto hint = formula["hint"]["as_int"].as_int()) symbols.set_hint(*symbol, *hint);
  }
  return dim;
}

Result<ir::TensorSpec> read_tensor_meta(Json meta, ir::SymbolTable& symbols) {
  ir::TensorSpec spec;
  const auto code = meta["dtype"].as_int();
  if (!code) return make_error(Code::INVALID_DATA, "the tensor has no dtype");
  const auto dtype = find_dtype(*code);
  if (!dtype) return make_error(Code::NOT_SUPPORTED, "unknown dtype number " + std::to_string(*code));
  spec.dtype = *dtype;
  const auto layout = meta["layout"].as_int();
  if (layout && *layout != kStridedLayout) {
    return make_error(Code::NOT_SUPPORTED, "layout number " + std::to_string(*layout) + ", expected strided");
  }
  for (const Json size : meta["sizes"]) {
    ETB_ASSIGN(const ir::Dim dim, read_sym_int(size, symbols));
    if (dim.is_static() && dim.value() < 0)
      return make_error(Code::INVALID_DATA, "negative size " + std::to_string(dim.value()));
    spec.sizes.push_back(dim);
  }
  for (const Json stride : meta["strides"]) {
    ETB_ASSIGN(const ir::Dim dim, read_sym_int(stride, symbols));
    spec.strides.push_back(dim);
  }
  if (spec.sizes.size() != spec.strides.size()) {
    return make_error(Code::INVALID_DATA, std::to_string(spec.sizes.size()) + " sizes and " +
                                              std::to_string(spec.strides.size()) +
                                              " strides, expected equally many");
  }
  if (spec.rank() > 64)
    return make_error(Code::NOT_SUPPORTED,
                      "tensor of rank " + std::to_string(spec.rank()) + ", expected at most 64");
  return spec;
}

}  // namespace etb::pt2
