// SPDX-License-Identifier: Apache-2.0
// Strides of results.
#include <algorithm>

#include "partitioner_sdk/infer/infer.hpp"

namespace etb::infer {

namespace {

using ir::Dim;
using ir::Dims;
using ir::TensorSpec;

// The order in which TensorIterator visits the dimensions, innermost last, for operands of the result's rank.
// Dimensions that no operand orders keep their position. (ATen/native/TensorIterator, reorder_dimensions)
std::vector<uint8_t> pointwise_order(ir::SymbolTable& symbols, const Dims& sizes,
                                     const std::vector<const TensorSpec*>& operands) {
  const size_t rank = sizes.size();
  const auto stride_of = [&](const TensorSpec& spec, size_t dim) {
    const size_t missing = rank - spec.rank();
    if (dim < missing || (spec.sizes[dim - missing].is(1) && !sizes[dim].is(1))) return int64_t{0};
    const Dim stride = spec.strides[dim - missing];
    return symbols.hint(stride).value_or(symbols.range(stride).max);
  };
  // 1: dimension a moves inside b; -1: it stays outside; 0: not known.
  const auto compare = [&](size_t a, size_t b) {
    for (const TensorSpec* spec : operands) {
      const int64_t x = stride_of(*spec, a), y = stride_of(*spec, b);
      if (x == 0 || y == 0) continue;
      if (x != y) return x < y ? -1 : 1;
      const Dim n = sizes[a], m = sizes[b];
      if (n.is_static() && m.is_static() && n.value() > m.value()) return 1;
    }
    return 0;
  };
  std::vector<size_t> inner_first(rank);
  for (size_t i = 0; i < rank; ++i) inner_first[i] = rank - 1 - i;
  for (size_t i = 1; i < rank; ++i) {
    size_t at = i;
    for (size_t before = i; before-- > 0;) {
      const int order = compare(inner_first[before], inner_first[at]);
      if (order > 0) {
        std::swap(inner_first[before], inner_first[at]);
        at = before;
      } else if (order < 0) {
        break;
      }
    }
  }
  std::vector<uint8_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = static_cast<uint8_t>(inner_first[rank - 1 - i]);
  return order;
}

std::vector<const TensorSpec*> tensor_operands(const Call& call, size_t rank) {
  std::vector<const TensorSpec*> out;
  for (size_t i = 0; i < call.arguments().size(); ++i) {
    const TensorSpec* tensor = call.argument(i).find_tensor();
    if (tensor != nullptr && tensor->rank() <= rank) out.push_back(tensor);
  }
  return out;
}

Dims pointwise_strides(const Call& call, const TensorSpec& out) {
  ir::SymbolTable& symbols = call.symbols();
  const auto operands = tensor_operands(call, out.rank());
  // Operands with equal sizes and one dense layout pass that layout on unchanged.
  const bool are_alike =
      !operands.empty() && std::all_of(operands.begin(), operands.end(), [&](const TensorSpec* spec) {
        return spec->sizes == out.sizes && spec->strides == operands[0]->strides;
      });
  if (are_alike && ir::find_dim_order(symbols, *operands[0])) return operands[0]->strides;
  return ir::strides_in_order(symbols, out.sizes, pointwise_order(symbols, out.sizes, operands));
}

Dims preserved_strides(const Call& call, const TensorSpec& out) {
  ir::SymbolTable& symbols = call.symbols();
  const int position = call.op().schema == nullptr ? -1 : call.op().schema->find_argument("memory_format");
  const auto format =
      position < 0 ? std::nullopt : call.read_memory_format(static_cast<size_t>(position)).format();
  if (format == ir::MemoryFormat::kContiguous) return ir::contiguous_strides(symbols, out.sizes);
  if (format == ir::MemoryFormat::kChannelsLast || format == ir::MemoryFormat::kChannelsLast3d) {
    return ir::strides_in_order(symbols, out.sizes, ir::channels_last_order(out.rank()));
  }
  const TensorSpec& in = call.read_tensor(0).spec();
  if (in.sizes == out.sizes && ir::find_dim_order(symbols, in)) return in.strides;
  return ir::strides_in_order(symbols, out.sizes, pointwise_order(symbols, out.sizes, {&in}));
}

Dims dim_order_strides(const Call& call, const TensorSpec& out) {
  const int position = call.op().schema->find_argument("dim_order");
  std::vector<uint8_t> order;
  const IntListArgument named = call.read_int_list(static_cast<size_t>(position), 0);
  if (named.has_value()) {
    for (const Dim dim : named.dims()) {
      order.push_back(static_cast<uint8_t>(call.axis(dim.value(), out.rank())));
    }
    if (order.size() != out.rank())
      call.fail("dim_order names " + std::to_string(order.size()) + " dimensions of a tensor of rank " +
                std::to_string(out.rank()));
    return ir::strides_in_order(call.symbols(), out.sizes, order);
  }
  return ir::contiguous_strides(call.symbols(), out.sizes);
}

}  // namespace

Dims result_strides(const Call& call, ResultLayout layout, const TensorSpec& out) {
  ir::SymbolTable& symbols = call.symbols();
  switch (layout) {
    case ResultLayout::kPointwise:
      return pointwise_strides(call, out);
    case ResultLayout::kPreserve:
      return preserved_strides(call, out);
    case ResultLayout::kDimOrder:
      return dim_order_strides(call, out);
    case ResultLayout::kLikeFirst:
      // A tensor that is both row-major and channels-last (one channel, or one pixel) counts as row-major.
      if (!ir::is_contiguous(symbols, call.read_tensor(0).spec()) &&
          ir::is_channels_last(symbols, call.read_tensor(0).spec())) {
        return ir::strides_in_order(symbols, out.sizes, ir::channels_last_order(out.rank()));
      }
      break;
    default:
      break;
  }
  return ir::contiguous_strides(symbols, out.sizes);
}

}  // namespace etb::infer
