// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/plan/codes.hpp"

#include <algorithm>
#include <string>

#include "plugins/gpu/plan/node_dispatch.hpp"

namespace etb::gpu {

namespace {

uint64_t round_up(uint64_t number, uint64_t to) { return (number + to - 1) / to * to; }

bool has_one_scale(const GpuGraph& graph, const Codes& codes) {
  return codes.group == 0 && graph.value(codes.scales).shape.numel() == 1 &&
         (codes.zero_points == kNoValue || graph.value(codes.zero_points).shape.numel() == 1);
}

// A matrix of codes as a product reads it: [depth, columns].
struct CodeMatrix {
  uint64_t columns, depth;
  uint64_t column_step, depth_step;  // elements of the program's matrix
  uint64_t words_of_row;
  uint32_t rows_of_word;  // words have four columns, of one row or of two
};

CodeMatrix matrix_of(const PackedConstant& constant, const GpuValue& value) {
  const bool is_transposed = constant.packing == Packing::kTransposedCodes;
  const uint32_t rows = value.shape.sizes[0], columns = value.shape.sizes[1];
  CodeMatrix made{};
  made.columns = is_transposed ? rows : columns;
  made.depth = is_transposed ? columns : rows;
  made.column_step = is_transposed ? columns : 1;
  made.depth_step = is_transposed ? 1 : columns;
  made.words_of_row = round_up(made.columns, 4) / 4;
  made.rows_of_word = value.codes.bits == 4 ? 2 : 1;
  return made;
}

bool is_matrix(Packing packing) {
  return packing == Packing::kTransposedCodes || packing == Packing::kMatrixCodes;
}

uint64_t padded_channels(const PackedConstant& constant, const GpuValue& value) {
  const uint64_t channels =
      is_matrix(constant.packing) ? matrix_of(constant, value).columns : value.shape.sizes[0];
  return round_up(channels / constant.groups, code_unit(constant.packing)) * constant.groups;
}

// Groups of a row of a matrix, each with scales of its own.
uint64_t group_count(const Codes& codes, const Shape& shape) {
  return codes.group == 0 ? 1 : shape.sizes[1] / codes.group;
}

// A number of a list with one for all, or one for each channel and group.
float factor_at(std::span<const float> numbers, uint64_t index) {
  return numbers.size() == 1 ? numbers[0] : numbers[index];
}

int code_at(const CodedConstant& from, uint64_t index) {
  return static_cast<int8_t>(std::to_integer<uint8_t>(from.bytes[index]));
}

// Kernels read codes without a sign: 128 more, or 8 more.
uint32_t unsigned_code(const CodedConstant& from, uint64_t index, uint32_t bits) {
  return static_cast<uint32_t>(code_at(from, index) + (1 << (bits - 1)));
}

void pack_matrix(const CodeMatrix& matrix, uint32_t bits, const CodedConstant& from, std::span<uint32_t> to) {
  for (uint64_t k = 0; k < matrix.depth; ++k) {
    uint32_t* const row = to.data() + k / matrix.rows_of_word * matrix.words_of_row;
    const auto first_bit = static_cast<uint32_t>(k % matrix.rows_of_word) * 16;
    for (uint64_t n = 0; n < matrix.columns; ++n) {
      const uint64_t at = n * matrix.column_step + k * matrix.depth_step;
      row[n / 4] |= unsigned_code(from, at, bits) << (first_bit + bits * static_cast<uint32_t>(n % 4));
    }
  }
}

// [groups][channels / 8][inputs * height * width][8]
void pack_filters(uint32_t groups, const CodedConstant& from, std::span<uint32_t> to) {
  const Shape& shape = from.value.shape;
  const uint64_t channels = shape.sizes[0] / groups, length = shape.product(1, 4);
  const uint64_t blocks = round_up(channels, 8) / 8;
  for (uint64_t c = 0; c < uint64_t{shape.sizes[0]}; ++c) {
    const uint64_t group = c / channels, channel = c % channels;
    const uint64_t first = (group * blocks + channel / 8) * length;
    for (uint64_t i = 0; i < length; ++i)
      to[(first + i) * 2 + channel % 8 / 4] |= unsigned_code(from, c * length + i, 8) << (8 * (channel % 4));
  }
}

}  // namespace

Packing code_packing_of(const GpuGraph& graph, const GpuNode& node) {
  const GpuValue& value = graph.value(node.inputs[1]);
  const Codes& codes = value.codes;
  if (codes.bits == 0) return Packing::kPlain;
  if (node.op == Operator::kMatmul && value.shape.rank == 2) {
    const bool is_transposed = node.ints[field::kTransposedB] != 0;
    const bool is_known = codes.axis == (is_transposed ? 0u : 1u) || has_one_scale(graph, codes);
    if (!is_known) return Packing::kPlain;
    return is_transposed ? Packing::kTransposedCodes : Packing::kMatrixCodes;
  }
  if (node.op != Operator::kConvolution || (codes.axis != 0 && !has_one_scale(graph, codes)))
    return Packing::kPlain;
  return convolution_kind(node, value.shape) == ConvolutionKind::kDepthwise ? Packing::kPlainCodes
                                                                            : Packing::kFilterCodes;
}

uint64_t code_word_count(const PackedConstant& constant, const GpuValue& value) {
  const Shape& shape = value.shape;
  if (is_matrix(constant.packing)) {
    const CodeMatrix matrix = matrix_of(constant, value);
    return round_up(matrix.depth, matrix.rows_of_word) / matrix.rows_of_word * matrix.words_of_row;
  }
  if (constant.packing == Packing::kFilterCodes)
    return padded_channels(constant, value) * shape.product(1, 4) / 4;
  return round_up(shape.numel(), 4) / 4;
}

uint64_t factor_count(const PackedConstant& constant, const GpuValue& value) {
  return 2 * padded_channels(constant, value) * group_count(value.codes, value.shape);
}

void decode(const CodedConstant& from, std::span<float> to) {
  const Codes& codes = from.value.codes;
  const Shape& shape = from.value.shape;
  const uint64_t inner = shape.product(codes.axis + 1, shape.rank), groups = group_count(codes, shape);
  for (uint64_t i = 0; i < to.size(); ++i) {
    const uint64_t channel = i / inner % shape.sizes[codes.axis];
    const uint64_t group = codes.group == 0 ? 0 : i % shape.sizes[1] / codes.group;
    const uint64_t factor = channel * groups + group;
    const float zero = from.zero_points.empty() ? 0.0f : factor_at(from.zero_points, factor);
    to[i] = (static_cast<float>(code_at(from, i)) - zero) * factor_at(from.scales, factor);
  }
}

Status pack_codes(const PackedConstant& constant, const CodedConstant& from, std::span<uint32_t> to) {
  std::fill(to.begin(), to.end(), 0u);
  const uint32_t bits = is_matrix(constant.packing) ? from.value.codes.bits : 8;
  for (uint64_t i = 0; bits == 4 && i < from.value.shape.numel(); ++i) {
    if (const int code = code_at(from, i); code < -8 || code > 7)
      return make_error(Code::INVALID_DATA, "named data '" + from.value.key + "': code " +
                                                std::to_string(code) + ", expected -8 to 7");
  }
  if (is_matrix(constant.packing)) {
    pack_matrix(matrix_of(constant, from.value), bits, from, to);
  } else if (constant.packing == Packing::kFilterCodes) {
    pack_filters(constant.groups, from, to);
  } else {
    for (uint64_t i = 0; i < from.value.shape.numel(); ++i)
      to[i / 4] |= unsigned_code(from, i, 8) << (8 * (i % 4));
  }
  return {};
}

void pack_factors(const PackedConstant& constant, const CodedConstant& from, std::span<float> to) {
  std::fill(to.begin(), to.end(), 0.0f);
  const uint64_t padded = padded_channels(constant, from.value),
                 groups = group_count(from.value.codes, from.value.shape);
  const uint64_t channels =
      is_matrix(constant.packing) ? matrix_of(constant, from.value).columns : from.value.shape.sizes[0];
  const uint64_t in_group = channels / constant.groups, padded_group = padded / constant.groups;
  for (uint64_t c = 0; c < channels; ++c) {
    const uint64_t place = c / in_group * padded_group + c % in_group;
    for (uint64_t g = 0; g < groups; ++g) {
      const uint64_t factor = c * groups + g;
      to[2 * g * padded + place] = factor_at(from.scales, factor);
      if (!from.zero_points.empty()) to[(2 * g + 1) * padded + place] = factor_at(from.zero_points, factor);
    }
  }
}

}  // namespace etb::gpu
