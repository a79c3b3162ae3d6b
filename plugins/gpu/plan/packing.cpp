// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/plan/packing.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "plugins/gpu/plan/codes.hpp"
#include "plugins/gpu/plan/node_dispatch.hpp"

namespace etb::gpu {

namespace {

constexpr uint64_t kTile = 8;  // channels of a tile, as in convolution.comp

uint64_t round_up(uint64_t number, uint64_t to) { return (number + to - 1) / to * to; }

// True if the filters of a convolution are packed. Images without a multiple of four pixels would need a second kernel for
// products, kTileMatmulEdge. The one for convolutions is as fast, and networks have it for their first layer. The choice
// is by the bounds: filters are packed once, for all sizes.
bool has_packed_filters(const GpuGraph& graph, const GpuNode& node, KernelFamily family, const Shape& bound) {
  switch (convolution_kind(node, graph.value(node.inputs[1]).shape)) {
    case ConvolutionKind::kGeneral:
      return true;
    case ConvolutionKind::kDepthwise:
      return false;
    case ConvolutionKind::kProduct:
      return family == KernelFamily::kTiles && bound.product(2, 4) % 4 != 0;
  }
  return false;
}

// The packing of input `index` of a node, whose result has at most the sizes `bound`.
Packing packing_of(const GpuGraph& graph, const GpuNode& node, size_t index, KernelFamily family,
                   const Shape& bound) {
  if (index != 1) return Packing::kPlain;
  if (const Packing codes = code_packing_of(graph, node); codes != Packing::kPlain) return codes;
  if (const GpuValue& value = graph.value(node.inputs[1]);
      node.op == Operator::kMatmul && value.host == HostNumbers::kHalves && value.shape.rank == 2)
    return node.ints[field::kTransposedB] != 0 ? Packing::kTransposedHalves : Packing::kMatrixHalves;
  if (node.op == Operator::kMatmul && node.ints[field::kTransposedB] != 0) return Packing::kTransposed;
  if (node.op == Operator::kConvolution && has_packed_filters(graph, node, family, bound))
    return Packing::kFilters;
  return Packing::kPlain;
}

template <class T>
T element_at(const std::byte* from, uint64_t index) {
  T element{};
  std::memcpy(&element, from + index * sizeof(T), sizeof(T));
  return element;
}

template <class T>
void pack_transposed(const Shape& shape, const std::byte* from, T* to) {
  const uint64_t rows = shape.sizes[0], columns = shape.sizes[1], stride = round_up(rows, 4);
  for (uint64_t c = 0; c < columns; ++c) {
    for (uint64_t r = 0; r < rows; ++r) to[c * stride + r] = element_at<T>(from, r * columns + c);
    std::fill(to + c * stride + rows, to + (c + 1) * stride, T{});
  }
}

template <class T>
void pack_filters(const Shape& shape, uint32_t groups, const std::byte* from, T* to) {
  const uint64_t channels = shape.sizes[0] / groups, length = shape.product(1, 4);
  for (uint64_t g = 0; g < groups; ++g) {
    for (uint64_t block = 0; block < channels; block += kTile) {
      for (uint64_t i = 0; i < length; ++i) {
        for (uint64_t c = block; c < block + kTile; ++c)
          *to++ = c < channels ? element_at<T>(from, (g * channels + c) * length + i) : T{};
      }
    }
  }
}

template <class T>
void pack_elements(const PackedConstant& constant, const Shape& shape, const std::byte* from, T* to) {
  switch (constant.packing) {
    case Packing::kPlain:
      if (shape.numel() != 0)
        std::memcpy(to, from, shape.numel() * sizeof(T));  // no elements may have no address
      return;
    case Packing::kTransposed:
      pack_transposed(shape, from, to);
      return;
    case Packing::kFilters:
      pack_filters(shape, constant.groups, from, to);
      return;
    default:  // run/constants.cpp calls pack_codes() and pack_factors()
      return;
  }
}

bool is_of_codes(Packing packing) {
  return packing >= Packing::kTransposedCodes && packing <= Packing::kPlainCodes;
}

bool is_of_halves(Packing packing) {
  return packing == Packing::kTransposedHalves || packing == Packing::kMatrixHalves;
}

// Gives packed codes a value for their scales and zero points.
void add_factors(GpuGraph& graph, std::vector<PackedConstant>& constants) {
  const auto codes = static_cast<uint32_t>(constants.size() - 1);
  const PackedConstant& packed = constants.back();
  const auto factors = static_cast<uint32_t>(graph.values.size());
  GpuValue& value = graph.values[packed.value];
  value.factors = factors;
  GpuValue made;
  made.role = ValueRole::kInline;
  made.shape.rank = 1;
  made.shape.sizes[0] = static_cast<uint32_t>(factor_count(packed, value));
  graph.values.push_back(std::move(made));
  constants.push_back({factors, Packing::kFactors, 1, codes});
}

}  // namespace

std::vector<PackedConstant> plan_packing(GpuGraph& graph, KernelFamily family,
                                         std::span<const Shape> bounds) {
  struct Use {
    uint32_t source;
    Packing packing;
    uint32_t groups;
    auto operator<=>(const Use&) const = default;
  };
  std::map<Use, uint32_t> values;
  std::vector<PackedConstant> constants;
  std::vector<bool> is_taken(graph.values.size(), false);  // has a packing already
  for (GpuNode& node : graph.nodes) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const uint32_t source = node.inputs[i];
      const ValueRole role = graph.value(source).role;
      if (role != ValueRole::kConstant && role != ValueRole::kInline) continue;
      const Packing packing = packing_of(graph, node, i, family, bounds[node.output]);
      const bool has_groups = packing == Packing::kFilters || packing == Packing::kFilterCodes;
      const uint32_t groups = has_groups ? static_cast<uint32_t>(node.ints[field::kGroups]) : 1;
      auto [found, is_new] = values.try_emplace({source, packing, groups}, source);
      if (is_new) {
        if (is_taken[source]) {
          found->second = static_cast<uint32_t>(graph.values.size());
          graph.values.push_back(GpuValue(graph.values[source]));
          graph.values.back().factors = kNoValue;
        } else {
          is_taken[source] = true;
        }
        constants.push_back({found->second, packing, groups});
        if (is_of_codes(packing)) add_factors(graph, constants);
        graph.values[found->second].has_halves = is_of_halves(packing);
        if (is_of_halves(packing)) graph.values[found->second].is_half = false;
        graph.values[found->second].has_filters = packing == Packing::kFilters;
      }
      node.inputs[i] = found->second;
    }
  }
  return constants;
}

uint64_t packed_numel(const PackedConstant& constant, const GpuValue& value) {
  const Shape& shape = value.shape;
  switch (constant.packing) {
    case Packing::kPlain:
    case Packing::kFactors:
      return shape.numel();
    case Packing::kTransposedCodes:
    case Packing::kMatrixCodes:
    case Packing::kFilterCodes:
    case Packing::kPlainCodes:
      return code_word_count(constant, value);
    case Packing::kTransposed:
      return round_up(shape.sizes[0], 4) * shape.sizes[1];
    case Packing::kTransposedHalves:
      return round_up(shape.sizes[0], 4) / 2 * shape.sizes[1];
    case Packing::kMatrixHalves:
      return round_up(shape.sizes[1], 4) / 2 * shape.sizes[0];
    case Packing::kFilters:
      return round_up(shape.sizes[0] / constant.groups, kTile) * constant.groups * shape.product(1, 4);
  }
  return 0;
}

void pack(const PackedConstant& constant, const Shape& shape, const std::byte* from, float* to) {
  pack_elements(constant, shape, from, to);
}

void pack(const PackedConstant& constant, const Shape& shape, const std::byte* from, uint16_t* to) {
  pack_elements(constant, shape, from, to);
}

void pack_halves(const PackedConstant& constant, const Shape& shape, const std::byte* from, uint32_t* to) {
  const bool is_transposed = constant.packing == Packing::kTransposedHalves;
  const uint64_t columns = shape.sizes[is_transposed ? 0 : 1], depth = shape.sizes[is_transposed ? 1 : 0];
  const uint64_t words = round_up(columns, 4) / 2;
  std::fill(to, to + depth * words, 0u);
  for (uint64_t k = 0; k < depth; ++k) {
    for (uint64_t n = 0; n < columns; ++n) {
      uint16_t half = 0;
      std::memcpy(&half, from + (is_transposed ? n * depth + k : k * columns + n) * sizeof(half),
                  sizeof(half));
      to[k * words + n / 2] |= uint32_t{half} << (n % 2 * 16);
    }
  }
}

}  // namespace etb::gpu
