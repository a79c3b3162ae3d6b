// SPDX-License-Identifier: Apache-2.0
// The ops of the plugin, in one table for claims, patterns and lowering.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "plugins/dsp_stub/compile/pattern.hpp"

namespace etb::dsp_stub {

inline constexpr const char* kDequantizePerChannel = "quantized_decomposed.dequantize_per_channel.default";

class PatternLowering;

struct CoreOp {
  const char* name;
  std::array<const char*, 2> operands;  // arguments that are dequantised, NULL: none
  Status (*lower)(PatternLowering& lowering, const Node& node);
  const char* bias = nullptr;
  bool is_list = false;  // the operands are the list "tensors"
  const char* constraint = "";
};
const CoreOp* find_core(std::string_view op);

// A function of one element: float arithmetic as in the portable kernels.
struct UnaryOp {
  const char* name;
  float (*compute)(float x, const Arguments& args);
  bool is_clamp = false;
};
const UnaryOp* find_unary(std::string_view op);

struct MoveOp {
  const char* name;
  Status (*lower)(PatternLowering& lowering, const Node& node);
  const char* constraint = "";
  bool moves_weights = false;  // weights, too, which may have a scale for each channel
};
const MoveOp* find_move(std::string_view op);

std::span<const CoreOp> weight_ops();       // convolutions, linear layers
std::span<const CoreOp> pool_ops();         // pools, means, resize
std::span<const CoreOp> elementwise_ops();  // arithmetic, softmax, cat
std::span<const UnaryOp> unary_ops();
std::span<const MoveOp> move_ops();

std::span<const OpRow> op_rows();
std::span<const char* const> preserved_ops();

}  // namespace etb::dsp_stub
