// SPDX-License-Identifier: Apache-2.0
// One node while its dispatches are made. The files of this folder have a function for each family of operators.
#pragma once

#include <span>
#include <vector>

#include "plugins/gpu/graph/shapes.hpp"
#include "plugins/gpu/plan/dispatch.hpp"
#include "plugins/gpu/plan/kernel_choice.hpp"

namespace etb::gpu {

struct NodeDispatch {
  const GpuGraph& graph;
  KernelFamily family;
  const GpuNode& node;
  std::span<const Shape> shapes;
  std::vector<Dispatch>& out;
  Tile tile = Tile::kBySizes;
  const Residual* residual = nullptr;  // of a product or convolution

  const Shape& input(size_t index) const { return shapes[node.inputs[index]]; }
  const Shape& result() const { return shapes[node.output]; }
  // The value that the dispatch of a product writes.
  uint32_t written() const { return residual != nullptr ? residual->result : node.output; }
  int32_t number(uint32_t at) const { return node.ints[at]; }
  // True if the tile is `wanted`, or if the rule decides and says so. `has_it`: the family has the tile for these sizes.
  bool uses(Tile wanted, bool by_rule, bool has_it = true) const {
    return has_it && (tile == wanted || (tile == Tile::kBySizes && by_rule));
  }

  // Appends a dispatch of the kernel that reads all inputs and writes the result.
  Dispatch& add(Kernel kernel) const {
    Dispatch& dispatch = add_empty(kernel);
    for (const uint32_t input : node.inputs) dispatch.bind(input);
    dispatch.bind(node.output);
    return dispatch;
  }
  Dispatch& add_empty(Kernel kernel) const {
    Dispatch& dispatch = out.emplace_back();
    dispatch.kernel = kernel;
    return dispatch;
  }
};

// strided.cpp
void dispatch_binary(const NodeDispatch& context);
void dispatch_permute(const NodeDispatch& context);
void dispatch_expand(const NodeDispatch& context);
void dispatch_slice(const NodeDispatch& context);
void dispatch_select(const NodeDispatch& context);
void dispatch_flip(const NodeDispatch& context);
void dispatch_cat(const NodeDispatch& context);
void dispatch_pad(const NodeDispatch& context);
void dispatch_reduce(const NodeDispatch& context);
void dispatch_dense_copy(const NodeDispatch& context);
// Copies the transpositions of matrices from one value to another. `shape`: number of matrices, rows and columns in `from`.
void dispatch_transpositions(const NodeDispatch& context, uint32_t from, const Shape& shape, uint32_t to);

// chains.cpp: all nodes of a chain; the context has the last one.
void dispatch_chain(const NodeDispatch& context, const Chain& chain);

// attention_dispatch.cpp: all nodes of attention; the context has the last one.
void dispatch_attention(const NodeDispatch& context, const Attention& attention);

// products.cpp
void dispatch_matmul(const NodeDispatch& context);
void dispatch_convolution(const NodeDispatch& context);

// tiles.cpp: the family kTiles of the two.
struct Product;
struct ProductOperands;
void dispatch_tile_product(const NodeDispatch& context, const Product& product,
                           const ProductOperands& operands);
void dispatch_tile_convolution(const NodeDispatch& context, bool is_depthwise);

// vectors.cpp: the family kVectors of the two. It has no kernel for some depthwise convolutions.
void dispatch_vector_product(const NodeDispatch& context, const Product& product,
                             const ProductOperands& operands);
bool has_vector_convolution(const NodeDispatch& context, bool is_depthwise);
void dispatch_vector_convolution(const NodeDispatch& context, bool is_depthwise);

// groups.cpp: the kernels of a product by its size. is_whole: columns are a multiple of four, and b has floats.
struct GroupKernels {
  Kernel large, narrow, sliced;
};
GroupKernels group_product_kernels(uint32_t bits, bool is_whole);

// groups.cpp: the family kGroups of the two; depthwise convolutions have no kernel of their own.
void dispatch_group_product(const NodeDispatch& context, const Product& product,
                            const ProductOperands& operands);
void dispatch_group_convolution(const NodeDispatch& context);

// products.cpp: binds the residual, or `other` in its place, and the result of a product or convolution.
void bind_result(const NodeDispatch& context, Dispatch& dispatch, uint32_t other);
// Adds the arguments of the residual.
void add_residual(const NodeDispatch& context, Dispatch& dispatch);
// products.cpp: the arguments of a convolution, which all families share.
void bind_convolution(const NodeDispatch& context, Dispatch& dispatch, bool is_depthwise);

// products.cpp: the kernels of a product with float16 or codes, by the number of rows.
struct PackedProductKernels {
  Kernel wide, narrow;
};
PackedProductKernels packed_product_kernels(uint32_t bits, uint32_t columns);

// products.cpp: which kernel family a convolution takes, by its weight and attributes alone.
enum class ConvolutionKind { kGeneral, kDepthwise, kProduct };
ConvolutionKind convolution_kind(const GpuNode& node, const Shape& weight);
// Likewise, after packing. `shape`: the sizes of the weight.
ConvolutionKind planned_kind(const GpuNode& node, const GpuValue& weight, const Shape& shape);

}  // namespace etb::gpu
