// SPDX-License-Identifier: Apache-2.0
// Matrix products, and rows of tables.
#include <numeric>

#include "plugins/gpu/official/write/region_writer.hpp"

namespace etb::gpu {

namespace {

Shape matrix(uint32_t rows, uint32_t columns) { return {2, {rows, columns}}; }

// input [..., K], weight [N, K]. More than three dimensions become rows of a matrix: the runtime counts no more.
Status write_linear(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t input, node.floats("input"));
  ETB_ASSIGN(const uint32_t weight, node.floats("weight"));
  if (!node.is_constant(weight) || node.shape(weight).rank != 2)
    return reject("attribute", "weight: expected a constant matrix");
  ETB_ASSIGN(const Shape out, node.result_shape());
  uint32_t bias = node.nothing();
  if (node.args().has("bias")) {
    ETB_ASSIGN(const uint32_t added, node.floats("bias"));
    if (!node.is_constant(added)) return reject("attribute", "bias: computed, expected a constant");
    bias = node.stored(added);
  }
  const Shape in = node.shape(input);
  const bool is_kept = in.rank == 2 || in.rank == 3;
  const uint32_t depth = node.shape(weight).sizes[1], columns = node.shape(weight).sizes[0];
  if (in.rank == 0 || in.sizes[in.rank - 1] != depth)
    return reject("attribute", "input: expected rows of the weight");
  const uint32_t rows = in.product(0, in.rank - 1);
  const uint32_t x = is_kept ? input : node.view(input, matrix(rows, depth));
  const uint32_t made = node.call("aten.linear.default", {node.in(x), node.stored(weight), bias},
                                  is_kept ? out : matrix(rows, columns));
  return node.define(is_kept ? made : node.view(made, out));
}

// A constant second factor is packed by the operator.
Result<uint32_t> product(NodeWriter& node, const char* op, const char* first, const char* second) {
  ETB_ASSIGN(const uint32_t a, node.floats(first));
  ETB_ASSIGN(const uint32_t b, node.floats(second));
  Shape out = node.shape(a);
  const uint32_t rank = node.shape(b).rank;
  if (out.rank != rank || rank < 2)
    return reject("rank", std::string(second) + ": expected the rank of the first");
  out.sizes[rank - 1] = node.shape(b).sizes[rank - 1];
  const uint32_t left = node.in(a);
  return node.call(op, {left, node.is_constant(b) && rank == 2 ? node.stored(b) : node.in(b)}, out);
}

Status write_mm(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t made, product(node, "aten.mm.default", "self", "mat2"));
  return node.define(made);
}

Status write_bmm(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t made, product(node, "aten.bmm.default", "self", "mat2"));
  return node.define(made);
}

// A product and a sum: the runtime's own operator takes fewer sizes of the summand.
Status write_addmm(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t summand, node.floats("self"));
  ETB_ASSIGN(const double alpha, node.args().number("alpha", 1));
  ETB_ASSIGN(const double beta, node.args().number("beta", 1));
  if (alpha != 1) return reject("attribute", "alpha: expected 1");
  ETB_ASSIGN(const uint32_t made, product(node, "aten.mm.default", "mat1", "mat2"));
  if (beta == 0) return node.define(made);
  return node.define(node.call(
      "aten.add.Tensor", {node.in(made), node.in(summand), node.file().add_number(beta)}, node.shape(made)));
}

// ---- Rows of tables

// weight [N, K], which the operator loads; indices of up to three dimensions.
Status write_embedding(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t weight, node.floats("weight"));
  ETB_ASSIGN(const uint32_t indices, node.integers("indices"));
  if (!node.is_constant(weight) || node.shape(weight).rank != 2)
    return reject("attribute", "weight: expected a constant matrix");
  ETB_ASSIGN(const Shape out, node.result_shape());
  if (out.rank > 4) return reject("rank", "indices, expected rank 1 to 3");
  FileBuilder& file = node.file();
  const uint32_t no = file.add_truth(false);
  return node.define(node.call("aten.embedding.default",
                               {node.stored(weight), node.in(indices), file.add_integer(-1), no, no}, out));
}

uint32_t pick_rows(NodeWriter& node, uint32_t x, uint32_t indices, Shape out) {
  const uint32_t list = node.file().add_values({static_cast<int32_t>(node.in(indices))});
  const uint32_t from = node.in(x);
  return node.call("aten.index.Tensor", {from, list}, out);
}

// The operator takes indices of one dimension, along the first dimension of the tensor.
Result<uint32_t> pick(NodeWriter& node, uint32_t x, uint32_t dim, uint32_t indices) {
  if (node.shape(indices).rank != 1) return reject("rank", "index, expected rank 1");
  Shape out = node.shape(x);
  if (out.rank > 4) return reject("rank", "self, expected rank 1 to 4");
  const uint32_t count = node.shape(indices).sizes[0];
  if (dim == 0) {
    out.sizes[0] = count;
    return pick_rows(node, x, indices, out);
  }
  std::vector<int64_t> order = {dim};
  Shape turned{out.rank, {out.sizes[dim]}};
  for (uint32_t d = 0, at = 1; d < out.rank; ++d) {
    if (d == dim) continue;
    order.push_back(d);
    turned.sizes[at++] = out.sizes[d];
  }
  const uint32_t first =
      node.call("aten.permute_copy.default", {node.in(x), node.file().add_integers(order)}, turned);
  turned.sizes[0] = count;
  const uint32_t picked = pick_rows(node, first, indices, turned);
  std::vector<int64_t> back(out.rank);
  for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  out.sizes[dim] = count;
  return node.call("aten.permute_copy.default", {node.in(picked), node.file().add_integers(back)}, out);
}

// Picks the elements of each dimension in the opposite order.
Status write_flip(NodeWriter& node) {
  ETB_ASSIGN(uint32_t x, node.floats("self"));
  ETB_ASSIGN(const std::vector<int64_t> dims, node.args().integers("dims"));
  const Shape shape = node.shape(x);
  for (const int64_t dim : dims) {
    const int64_t counted = dim < 0 ? dim + shape.rank : dim;
    if (counted < 0 || counted >= int64_t{shape.rank})
      return reject("attribute", "dims: outside of the rank");
    const auto at = static_cast<uint32_t>(counted);
    std::vector<int32_t> order(shape.sizes[at]);
    std::iota(order.rbegin(), order.rend(), 0);
    ETB_ASSIGN(x, pick(node, x, at, node.add_indices(order)));
  }
  return node.define(x);
}

Status write_index_select(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.floats("self"));
  ETB_ASSIGN(const uint32_t dim, node.args().dim("dim", 0, node.shape(x).rank));
  ETB_ASSIGN(const uint32_t indices, node.integers("index"));
  ETB_ASSIGN(const uint32_t made, pick(node, x, dim, indices));
  return node.define(made);
}

// One tensor of indices, the others are none.
Status write_index(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.floats("self"));
  const auto list = node.args().find("indices");
  if (!list) return reject("attribute", "indices: none");
  std::optional<std::pair<uint32_t, uint32_t>> found;  // dimension, value of the image
  uint32_t dim = 0;
  for (const uint32_t value : list->values()) {
    if (value != graph::kNone) {
      if (found) return reject("attribute", "indices: several tensors, expected one");
      found = {dim, value};
    }
    ++dim;
  }
  if (!found) return reject("attribute", "indices: none");
  ETB_ASSIGN(const uint32_t indices, node.integers(found->second));
  ETB_ASSIGN(const uint32_t made, pick(node, x, found->first, indices));
  return node.define(made);
}

Status write_gather(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.floats("self"));
  ETB_ASSIGN(const uint32_t indices, node.integers("index"));
  ETB_ASSIGN(const uint32_t dim, node.args().dim("dim", 0, node.shape(x).rank));
  if (node.shape(x).rank != node.shape(indices).rank || node.shape(x).rank > 4)
    return reject("rank", "index, expected the rank of the tensor, at most 4");
  FileBuilder& file = node.file();
  return node.define(node.call("aten.gather.default",
                               {node.in(x), file.add_integer(dim), node.in(indices), file.add_truth(false)},
                               node.shape(indices)));
}

constexpr WrittenOp kRows[] = {
    {"aten.linear.default", write_linear},
    {"aten.mm.default", write_mm},
    {"aten.bmm.default", write_bmm},
    {"aten.addmm.default", write_addmm},
    {"aten.embedding.default", write_embedding},
    {"aten.index_select.default", write_index_select},
    {"aten.index.Tensor", write_index},
    {"aten.gather.default", write_gather},
    {"aten.flip.default", write_flip},
};

}  // namespace

extern const WrittenOpList written_products = kRows;

}  // namespace etb::gpu
