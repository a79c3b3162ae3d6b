// SPDX-License-Identifier: Apache-2.0
// Softmax, layer norm, and reductions: over the last dimension of a buffer, or over the pixels of a texture.
#include <algorithm>

#include "plugins/gpu/official/write/region_writer.hpp"

namespace etb::gpu {

namespace {

// The shader counts three dimensions; a batch shares the third one with the channels.
template <bool is_logarithm>
Status write_softmax(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.floats("self"));
  const Shape shape = node.shape(x);
  ETB_ASSIGN(const uint32_t dim, node.args().dim("dim", -1, shape.rank));
  const uint32_t from_end = shape.rank - 1 - dim;
  const bool is_batch = from_end > 2 || (from_end == 2 && shape.rank == 4 && shape.sizes[0] != 1);
  if (shape.rank > 4 || is_batch)
    return reject("attribute", "dim: expected one of the last two of rank 1 to 4");
  FileBuilder& file = node.file();
  return node.define(node.call(is_logarithm ? "aten._log_softmax.default" : "aten._softmax.default",
                               {node.in(x), file.add_integer(dim), file.add_truth(false)}, shape));
}

// Several normalised dimensions become one.
Status write_layer_norm(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.floats("input"));
  ETB_ASSIGN(const std::vector<int64_t> normalized, node.args().integers("normalized_shape"));
  ETB_ASSIGN(const double eps, node.args().number("eps", 1e-5));
  const Shape shape = node.shape(x);
  if (normalized.empty() || normalized.size() > shape.rank) return reject("attribute", "normalized_shape");
  for (uint32_t i = 1; i < node.result_count(); ++i)
    if (node.is_result_read(i)) return reject("attribute", "means of rows that a node reads");
  const uint32_t kept = shape.rank - static_cast<uint32_t>(normalized.size());
  const uint32_t row = shape.product(kept, shape.rank);
  const Shape rows{2, {shape.product(0, kept), row}}, means{2, {rows.sizes[0], 1}};
  const auto read = [&](const char* name, float missing) -> Result<uint32_t> {
    if (!node.args().has(name)) return node.add_constant(std::vector<float>(row, missing), {1, {row}});
    ETB_ASSIGN(const uint32_t id, node.floats(name));
    if (!node.is_constant(id))
      return reject("attribute", std::string(name) + ": computed, expected a constant");
    return node.view(id, {1, {row}});
  };
  ETB_ASSIGN(const uint32_t weight, read("weight", 1));
  ETB_ASSIGN(const uint32_t bias, read("bias", 0));
  FileBuilder& file = node.file();
  const uint32_t flat = node.view(x, rows);
  const std::vector<uint32_t> made = node.call_list(
      "aten.native_layer_norm.default",
      {node.in(flat), file.add_integers({row}), node.stored(weight), node.stored(bias), file.add_number(eps)},
      {rows, means, means});
  return node.define(node.view(made[0], shape));
}

// The layer norm of each group, times a weight and plus a bias for each channel.
Status write_group_norm(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.floats("input"));
  ETB_ASSIGN(const int64_t groups, node.args().integer("group", 1));
  ETB_ASSIGN(const double eps, node.args().number("eps", 1e-5));
  const Shape shape = node.shape(x);
  if (shape.rank < 2 || groups < 1 || groups > int64_t{shape.sizes[1]} || shape.sizes[1] % groups != 0)
    return reject("attribute", "group: " + std::to_string(groups));
  for (uint32_t i = 1; i < node.result_count(); ++i)
    if (node.is_result_read(i)) return reject("attribute", "means of groups that a node reads");
  const uint32_t count = shape.sizes[0] * static_cast<uint32_t>(groups),
                 row = static_cast<uint32_t>(shape.numel() / count), channels = shape.sizes[1];
  FileBuilder& file = node.file();
  const uint32_t flat = node.view(x, {2, {count, row}});
  const uint32_t ones = node.add_constant(std::vector<float>(row, 1), {1, {row}}),
                 zeros = node.add_constant(std::vector<float>(row, 0), {1, {row}});
  const Shape means{2, {count, 1}}, images{3, {shape.sizes[0], channels, shape.product(2, shape.rank)}};
  const std::vector<uint32_t> made = node.call_list(
      "aten.native_layer_norm.default",
      {node.in(flat), file.add_integers({row}), node.stored(ones), node.stored(zeros), file.add_number(eps)},
      {node.shape(flat), means, means});
  uint32_t result = node.view(made[0], images);
  for (const bool is_weight : {true, false}) {
    if (!node.args().has(is_weight ? "weight" : "bias")) continue;
    ETB_ASSIGN(const uint32_t id, node.floats(is_weight ? "weight" : "bias"));
    if (node.shape(id).numel() != channels) return reject("attribute", "weight: expected a number a channel");
    const uint32_t operand = node.view(id, {3, {1, channels, 1}});
    std::vector<uint32_t> arguments = {node.in(result), node.in(operand)};
    if (!is_weight) arguments.push_back(file.add_integer(1));
    result = node.call(is_weight ? "aten.mul.Tensor" : "aten.add.Tensor", std::move(arguments), images);
  }
  return node.define(node.view(result, shape));
}

// ---- Reductions

struct Reduced {
  uint32_t x;
  std::vector<int64_t> dims;  // ascending, each once
};

Result<Reduced> read_reduced(NodeWriter& node, uint32_t x) {
  ETB_ASSIGN(std::vector<int64_t> dims, node.args().integers("dim"));
  const int64_t rank = node.shape(x).rank;
  if (dims.empty())
    for (int64_t d = 0; d < rank; ++d) dims.push_back(d);
  for (int64_t& dim : dims) {
    dim += dim < 0 ? rank : 0;
    if (dim < 0 || dim >= rank) return reject("attribute", "dim: outside of the rank");
  }
  std::sort(dims.begin(), dims.end());
  dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
  return Reduced{x, std::move(dims)};
}

// Reduces the pixels of each channel, as networks for images do at their end.
bool is_over_pixels(const NodeWriter& node, const Reduced& reduced) {
  return node.storage_of(reduced.x) == kChannelTexture && node.shape(reduced.x).rank == 4 &&
         node.shape(reduced.x).sizes[0] == 1 && reduced.dims == std::vector<int64_t>{2, 3};
}

// Moves the reduced dimensions to the end and makes them one: [kept, reduced].
uint32_t to_rows(NodeWriter& node, const Reduced& reduced) {
  const Shape shape = node.shape(reduced.x);
  std::vector<int64_t> order;
  Shape turned{shape.rank, {}};
  for (int64_t d = 0; d < int64_t{shape.rank}; ++d)
    if (!std::binary_search(reduced.dims.begin(), reduced.dims.end(), d)) order.push_back(d);
  const size_t kept = order.size();
  order.insert(order.end(), reduced.dims.begin(), reduced.dims.end());
  for (size_t i = 0; i < order.size(); ++i) turned.sizes[i] = shape.sizes[static_cast<size_t>(order[i])];
  uint32_t x = reduced.x;
  if (!std::is_sorted(order.begin(), order.end()))
    x = node.call("aten.permute_copy.default", {node.in(x), node.file().add_integers(order)}, turned,
                  kRowMajorBuffer, node.tensor(x).type);
  const auto rank = static_cast<uint32_t>(kept);
  return node.view(x, {2, {turned.product(0, rank), turned.product(rank, turned.rank)}});
}

uint32_t reduce_rows(NodeWriter& node, const std::string& op, uint32_t rows,
                     ElementType type = ElementType::kFloat32) {
  FileBuilder& file = node.file();
  const bool is_position = type != ElementType::kFloat32, is_extreme = op.find(".am") != std::string::npos;
  std::vector<uint32_t> arguments = {
      node.in(rows), is_position ? file.add_integer(1) : file.add_integers({1}), file.add_truth(false)};
  if (!is_position && !is_extreme) arguments.push_back(node.nothing());  // dtype
  return node.call(op.c_str(), std::move(arguments), {1, {node.shape(rows).sizes[0]}}, kRowMajorBuffer, type);
}

Status reduce(NodeWriter& node, const std::string& op) {
  ETB_ASSIGN(const uint32_t x, node.floats("self"));
  ETB_ASSIGN(const Reduced reduced, read_reduced(node, x));
  ETB_ASSIGN(const Shape out, node.result_shape());
  if (!is_over_pixels(node, reduced)) {
    const uint32_t rows = to_rows(node, reduced);
    return node.define(node.view(reduce_rows(node, op, rows), out));
  }
  FileBuilder& file = node.file();
  std::vector<uint32_t> arguments = {node.in(x, kChannelTexture), file.add_integers({2, 3}),
                                     file.add_truth(true)};
  if (op.find(".am") == std::string::npos) arguments.push_back(node.nothing());
  const Shape pixel{4, {1, node.shape(x).sizes[1], 1, 1}};
  return node.define(node.view(node.call(op.c_str(), std::move(arguments), pixel, kChannelTexture), out));
}

Status write_sum(NodeWriter& node) { return reduce(node, "aten.sum.dim_IntList"); }
Status write_mean(NodeWriter& node) { return reduce(node, "aten.mean.dim"); }
Status write_largest(NodeWriter& node) { return reduce(node, "aten.amax.default"); }
Status write_smallest(NodeWriter& node) { return reduce(node, "aten.amin.default"); }

template <bool is_largest>
Status write_position(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.floats("self"));
  ETB_ASSIGN(const Reduced reduced, read_reduced(node, x));
  ETB_ASSIGN(const Shape out, node.result_shape());
  const uint32_t rows = to_rows(node, reduced);
  const char* op = is_largest ? "aten.argmax.default" : "aten.argmin.default";
  return node.define(node.view(reduce_rows(node, op, rows, ElementType::kInt32), out));
}

// The largest of 0 and 1 is whether any is true, the smallest whether all are.
template <bool is_any>
Status write_truth(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.bools("self"));
  ETB_ASSIGN(Reduced reduced, read_reduced(node, x));
  ETB_ASSIGN(const Shape out, node.result_shape());
  const uint32_t none = node.nothing(), no = node.file().add_truth(false);
  reduced.x =
      node.call("aten._to_copy.default", {node.in(x), none, none, none, none, no, none}, node.shape(x));
  const uint32_t found =
      reduce_rows(node, is_any ? "aten.amax.default" : "aten.amin.default", to_rows(node, reduced));
  const uint32_t made = node.call("aten.gt.Scalar", {node.in(found), node.file().add_number(0.5)},
                                  node.shape(found), kRowMajorBuffer, ElementType::kBool);
  return node.define(node.view(made, out));
}

constexpr WrittenOp kRows[] = {
    {"aten._softmax.default", write_softmax<false>},
    {"aten._log_softmax.default", write_softmax<true>},
    {"aten.native_layer_norm.default", write_layer_norm},
    {"aten.native_group_norm.default", write_group_norm},
    {"aten.sum.dim_IntList", write_sum},
    {"aten.mean.dim", write_mean},
    {"aten.amax.default", write_largest},
    {"aten.amin.default", write_smallest},
    {"aten.argmax.default", write_position<true>},
    {"aten.argmin.default", write_position<false>},
    {"aten.any.dim", write_truth<true>},
    {"aten.any.dims", write_truth<true>},
    {"aten.all.dim", write_truth<false>},
};

}  // namespace

extern const WrittenOpList written_rows = kRows;

// ---- The table

extern const WrittenOpList written_elementwise, written_movement, written_products, written_windows;

const WrittenOp* find_written_op(std::string_view name) {
  for (const WrittenOpList* list :
       {&written_elementwise, &written_movement, &written_products, &written_rows, &written_windows})
    for (const WrittenOp& op : *list)
      if (name == op.name) return &op;
  return nullptr;
}

}  // namespace etb::gpu
