// SPDX-License-Identifier: Apache-2.0
// Other arrangements of elements. They are in buffers, where the official runtime takes any rank.
#include <algorithm>

#include "plugins/gpu/official/write/region_writer.hpp"

namespace etb::gpu {

namespace {

Status write_view(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.operand("self"));
  ETB_ASSIGN(const Shape out, node.result_shape());
  if (out.numel() != node.shape(x).numel())
    return reject("attribute", "result of another number of elements");
  return node.define(node.view(x, out));
}

Status write_permute(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.operand("self"));
  ETB_ASSIGN(std::vector<int64_t> dims, node.args().integers("dims"));
  ETB_ASSIGN(const Shape out, node.result_shape());
  if (dims.size() != node.shape(x).rank) return reject("attribute", "dims: expected one for each dimension");
  for (int64_t& dim : dims) dim += dim < 0 ? static_cast<int64_t>(dims.size()) : 0;
  return node.define(node.call("aten.permute_copy.default", {node.in(x), node.file().add_integers(dims)}, out,
                               kRowMajorBuffer, node.tensor(x).type));
}

std::vector<int64_t> sizes_of(const Shape& shape) {
  return {shape.sizes.begin(), shape.sizes.begin() + shape.rank};
}

Status write_expand(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.operand("self"));
  ETB_ASSIGN(const Shape out, node.result_shape());
  if (node.shape(x) == out) return node.define(x);
  FileBuilder& file = node.file();
  return node.define(node.call("aten.expand_copy.default",
                               {node.in(x), file.add_integers(sizes_of(out)), file.add_truth(false)}, out,
                               kRowMajorBuffer, node.tensor(x).type));
}

// ---- Parts

struct Part {
  uint32_t dim;
  int64_t start, end, step;
};

uint32_t slice(NodeWriter& node, uint32_t x, const Part& part) {
  Shape out = node.shape(x);
  out.sizes[part.dim] = static_cast<uint32_t>((part.end - part.start + part.step - 1) / part.step);
  FileBuilder& file = node.file();
  return node.call("aten.slice_copy.Tensor",
                   {node.in(x), file.add_integer(part.dim), file.add_integer(part.start),
                    file.add_integer(part.end), file.add_integer(part.step)},
                   out, kRowMajorBuffer, node.tensor(x).type);
}

Status write_slice(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.operand("self"));
  const Shape& shape = node.shape(x);
  ETB_ASSIGN(const uint32_t dim, node.args().dim("dim", 0, shape.rank));
  const int64_t size = shape.sizes[dim];
  const auto counted = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
  ETB_ASSIGN(const int64_t start, node.args().integer("start", 0));
  ETB_ASSIGN(const int64_t end, node.args().integer("end", INT64_MAX));
  ETB_ASSIGN(const int64_t step, node.args().integer("step", 1));
  if (step < 1 || step > size) return reject("attribute", "step: " + std::to_string(step));
  if (counted(start) >= counted(end)) return reject("attribute", "a part without elements");
  return node.define(slice(node, x, {dim, counted(start), counted(end), step}));
}

// The runtime's own operator checks sizes of dimensions that it does not have.
Status write_select(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.operand("self"));
  const Shape& shape = node.shape(x);
  ETB_ASSIGN(const uint32_t dim, node.args().dim("dim", 0, shape.rank));
  ETB_ASSIGN(int64_t index, node.args().integer("index", 0));
  if (index < 0) index += shape.sizes[dim];
  if (index < 0 || index >= int64_t{shape.sizes[dim]})
    return reject("attribute", "index: outside of the dimension");
  ETB_ASSIGN(const Shape out, node.result_shape());
  return node.define(node.view(slice(node, x, {dim, index, index + 1, 1}), out));
}

Status write_split(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.operand("self"));
  ETB_ASSIGN(const uint32_t dim, node.args().dim("dim", 0, node.shape(x).rank));
  ETB_ASSIGN(const std::vector<int64_t> sizes, node.args().integers("split_sizes"));
  if (sizes.size() != node.result_count())
    return reject("attribute", "split_sizes: expected one for each result");
  std::vector<Shape> shapes;
  for (uint32_t i = 0; i < node.result_count(); ++i) {
    ETB_ASSIGN(const Shape shape, node.result_shape(i));
    shapes.push_back(shape);
  }
  FileBuilder& file = node.file();
  const std::vector<uint32_t> made = node.call_list(
      "aten.split_with_sizes_copy.default", {node.in(x), file.add_integers(sizes), file.add_integer(dim)},
      shapes, node.tensor(x).type);
  for (uint32_t i = 0; i < made.size(); ++i) ETB_TRY(node.define(made[i], i));
  return {};
}

uint32_t cat(NodeWriter& node, const std::vector<uint32_t>& parts, uint32_t dim, const Shape& out) {
  const bool is_texture = fits_texture(out) && out.rank == 4 && node.storage_of(parts[0]) == kChannelTexture;
  const Storage storage = is_texture ? kChannelTexture : kRowMajorBuffer;
  std::vector<int32_t> items;
  for (const uint32_t part : parts) items.push_back(static_cast<int32_t>(node.in(part, storage)));
  FileBuilder& file = node.file();
  return node.call("aten.cat.default", {file.add_values(items), file.add_integer(dim)}, out, storage,
                   node.tensor(parts[0]).type);
}

Status write_cat(NodeWriter& node) {
  ETB_ASSIGN(const std::vector<uint32_t> parts, node.list("tensors"));
  ETB_ASSIGN(const Shape out, node.result_shape());
  ETB_ASSIGN(const uint32_t dim, node.args().dim("dim", 0, out.rank));
  if (out.rank > 4) return reject("rank", "tensors, expected rank 1 to 4");
  for (const uint32_t part : parts) {
    if (node.tensor(part).type == ElementType::kBool)
      return reject("dtype", "tensors: bools, expected numbers");
    if (node.tensor(part).type != node.tensor(parts[0]).type || node.shape(part).rank != out.rank)
      return reject("dtype", "tensors: expected one dtype and rank");
  }
  return node.define(cat(node, parts, dim, out));
}

// Two parts that change places, for each dimension.
Status write_roll(NodeWriter& node) {
  ETB_ASSIGN(uint32_t x, node.floats("self"));
  ETB_ASSIGN(const std::vector<int64_t> shifts, node.args().integers("shifts"));
  ETB_ASSIGN(const std::vector<int64_t> dims, node.args().integers("dims"));
  const Shape shape = node.shape(x);
  if (dims.size() != shifts.size() || dims.empty())
    return reject("attribute", "dims: expected one for each shift");
  if (shape.rank > 4) return reject("rank", "self, expected rank 1 to 4");
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t counted = dims[i] < 0 ? dims[i] + shape.rank : dims[i];
    if (counted < 0 || counted >= int64_t{shape.rank})
      return reject("attribute", "dims: outside of the rank");
    const auto dim = static_cast<uint32_t>(counted);
    const int64_t size = shape.sizes[dim], shift = (shifts[i] % size + size) % size;
    if (shift == 0) continue;
    const uint32_t end = slice(node, x, {dim, size - shift, size, 1}),
                   begin = slice(node, x, {dim, 0, size - shift, 1});
    x = cat(node, {end, begin}, dim, shape);
  }
  return node.define(x);
}

Status write_pad(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.floats("self"));
  ETB_ASSIGN(const std::vector<int64_t> pads, node.args().integers("pad"));
  ETB_ASSIGN(const double number, node.args().number("value", 0));
  ETB_ASSIGN(const Shape out, node.result_shape());
  if (out.rank > 4) return reject("rank", "self, expected rank 1 to 4");
  for (const int64_t pad : pads)
    if (pad < 0) return reject("attribute", "pad: less than 0");
  FileBuilder& file = node.file();
  return node.define(node.call("aten.constant_pad_nd.default",
                               {node.in(x), file.add_integers(pads), file.add_number(number)}, out));
}

constexpr WrittenOp kRows[] = {
    {"aten.view_copy.default", write_view},
    {"aten.squeeze_copy.dims", write_view},
    {"aten.unsqueeze_copy.default", write_view},
    {"aten.permute_copy.default", write_permute},
    {"aten.expand_copy.default", write_expand},
    {"aten.slice_copy.Tensor", write_slice},
    {"aten.select_copy.int", write_select},
    {"aten.split_with_sizes_copy.default", write_split},
    {"aten.cat.default", write_cat},
    {"aten.roll.default", write_roll},
    {"aten.constant_pad_nd.default", write_pad},
};

}  // namespace

extern const WrittenOpList written_movement = kRows;

}  // namespace etb::gpu
