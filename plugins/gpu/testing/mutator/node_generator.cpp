// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/testing/mutator/node_generator.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "plugins/gpu/graph/shapes.hpp"
#include "plugins/gpu/testing/graphs.hpp"

namespace etb::gpu {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr uint64_t kMostInline = 256;  // numbers in the payload

constexpr UnaryFunction kUnaries[] = {
#define ETB_GPU_UNARY(name, ...) UnaryFunction::k##name,
#define ETB_GPU_BINARY(...)
#include "plugins/gpu/kernels/functions.def"
#undef ETB_GPU_BINARY
#undef ETB_GPU_UNARY
};
constexpr BinaryFunction kBinaries[] = {
#define ETB_GPU_UNARY(...)
#define ETB_GPU_BINARY(name, ...) BinaryFunction::k##name,
#include "plugins/gpu/kernels/functions.def"
#undef ETB_GPU_BINARY
#undef ETB_GPU_UNARY
};

Shape with(Shape shape, uint32_t dim, uint32_t size) {
  shape.sizes[dim] = size;
  return shape;
}

}  // namespace

NodeGenerator::NodeGenerator(RandomNumbers& random, GpuGraph& graph) : random_(random), graph_(graph) {
  infer();
}

void NodeGenerator::infer() {
  shapes_.resize(graph_.values.size());
  for (size_t i = 0; i < shapes_.size(); ++i)
    if (graph_.values[i].role != ValueRole::kResult) shapes_[i] = graph_.values[i].shape;
  (void)infer_shapes(graph_, shapes_);
}

// ---- Values

float NodeGenerator::number() {
  constexpr float kNumbers[] = {0, 1, -1, 0.5f, 2, 3, 6, 1e-5f, -0.0f, 1e30f, kInfinity, -kInfinity};
  return random_.one_in(64) ? std::numeric_limits<float>::quiet_NaN() : random_.pick(kNumbers);
}

Shape NodeGenerator::random_shape(uint32_t rank) {
  Shape made;
  made.rank = rank;
  for (uint32_t d = 0; d < rank; ++d) made.sizes[d] = random_.size();
  return made;
}

uint32_t NodeGenerator::input(Shape shape) {
  const uint32_t made = add_input(graph_, shape);
  if (random_.one_in(8))
    graph_.values[made].host = random_.one_in(2) ? HostNumbers::kHalves : HostNumbers::kBools;
  infer();
  return made;
}

uint32_t NodeGenerator::constant(Shape shape) {
  if (shape.numel() <= kMostInline && random_.one_in(3)) {
    GpuValue value;
    value.role = ValueRole::kInline;
    value.shape = shape;
    for (uint64_t i = 0; i < shape.numel(); ++i) value.floats.push_back(number());
    graph_.values.push_back(std::move(value));
    infer();
    return static_cast<uint32_t>(graph_.values.size() - 1);
  }
  const uint32_t made = add_constant(graph_, shape, std::to_string(random_.below(10)));
  if (random_.one_in(2)) change_numbers(made);
  infer();
  return made;
}

uint32_t NodeGenerator::indices(Shape shape) {
  const uint32_t made = add_input(graph_, shape);
  constexpr DataType kTypes[] = {DataType::kInt64, DataType::kInt32, DataType::kFloat32};
  graph_.values[made].type = random_.pick(kTypes);
  infer();
  return made;
}

// Values with elements of later nodes are more interesting than inputs.
uint32_t NodeGenerator::any() {
  const size_t count = graph_.values.size();
  for (uint32_t tries = 0; count != 0 && tries < 8; ++tries) {
    const uint32_t back =
        random_.one_in(3) ? random_.below(count) : random_.below(std::min<size_t>(count, 4));
    const auto found = static_cast<uint32_t>(count - 1 - back);
    if (graph_.value(found).type == DataType::kFloat32) return found;
  }
  return input(random_shape(random_.below(5)));
}

uint32_t NodeGenerator::of_rank(uint32_t least, uint32_t most) {
  uint32_t found = any();
  for (uint32_t tries = 0; tries < 4; ++tries, found = any())
    if (shape(found).rank >= least && shape(found).rank <= most) return found;
  const uint32_t rank = least + random_.below(most - least + 1);
  if (random_.one_in(2) || shape(found).rank > rank) return input(random_shape(rank));
  std::vector<int32_t> sizes(rank, 1);
  const Shape& from = shape(found);
  for (uint32_t d = 0; d < from.rank; ++d) sizes[rank - from.rank + d] = static_cast<int32_t>(from.sizes[d]);
  const uint32_t made = node(Operator::kReshape, {found}, std::move(sizes));
  return shape(made).rank == rank ? made : input(random_shape(rank));  // an earlier node may be invalid
}

uint32_t NodeGenerator::of_shape(Shape wanted) {
  for (uint32_t tries = 0; tries < 6; ++tries)
    if (const uint32_t found = any(); shape(found) == wanted) return found;
  return random_.one_in(2) ? input(wanted) : constant(wanted);
}

int32_t NodeGenerator::dim_of(uint32_t value) {
  const uint32_t rank = std::max(shape(value).rank, 1u);
  const auto dim = static_cast<int32_t>(random_.below(rank));
  return random_.one_in(3) ? dim - static_cast<int32_t>(rank) : dim;
}

void NodeGenerator::change_numbers(uint32_t id) {
  GpuValue& value = graph_.values[id];
  if (value.type != DataType::kFloat32) return;
  if (value.role == ValueRole::kInput) {
    constexpr HostNumbers kHosts[] = {HostNumbers::kSame, HostNumbers::kHalves, HostNumbers::kBools};
    value.host = random_.pick(kHosts);
  }
  if (value.role != ValueRole::kConstant) return;
  value.host = HostNumbers::kSame;
  value.codes = {};
  if (random_.one_in(3)) return;
  if (random_.one_in(2) || value.shape.rank == 0) {
    value.host = HostNumbers::kHalves;
    return;
  }
  Codes codes;
  codes.bits = random_.one_in(2) ? 8 : 4;
  codes.axis = random_.below(random_.one_in(2) ? 1 : value.shape.rank);
  uint32_t count = value.shape.sizes[codes.axis];
  constexpr uint32_t kGroups[] = {1, 2, 4, 8, 16, 32};
  if (const uint32_t group = random_.pick(kGroups);
      codes.axis == 0 && value.shape.rank == 2 && value.shape.sizes[1] % group == 0 && random_.one_in(2)) {
    codes.group = group;
    count *= value.shape.sizes[1] / group;
  }
  if (codes.group == 0 && random_.one_in(4)) count = 1;
  codes.scales = add_constant(graph_, shape_of({count}), std::to_string(random_.below(10)));
  codes.zero_points = random_.one_in(2) ? codes.scales : kNoValue;
  graph_.values[id].codes = codes;
  infer();
}

uint32_t NodeGenerator::node(Operator op, std::vector<uint32_t> inputs, std::vector<int32_t> ints,
                             std::vector<float> floats) {
  const uint32_t made = add_node(graph_, op, std::move(inputs), std::move(ints), std::move(floats));
  infer();
  return made;
}

std::vector<int32_t> NodeGenerator::integers(std::initializer_list<std::pair<int32_t, int32_t>> ranges) {
  std::vector<int32_t> made;
  for (const auto& [least, most] : ranges)
    made.push_back(least + static_cast<int32_t>(random_.below(static_cast<size_t>(most - least + 1))));
  return made;
}

// ---- Nodes

uint32_t NodeGenerator::append_unary() {
  return node(Operator::kUnary, {any()}, {static_cast<int32_t>(random_.pick(kUnaries))},
              {number(), number()});
}

uint32_t NodeGenerator::append_binary() {
  const uint32_t a = any();
  Shape other = shape(a);
  for (uint32_t d = 0; d < other.rank; ++d)
    if (random_.one_in(4)) other.sizes[d] = 1;
  if (other.rank > 0 && random_.one_in(4)) {
    std::rotate(other.sizes.begin(), other.sizes.begin() + 1, other.sizes.begin() + other.rank);
    --other.rank;
    if (other != shape(a) && random_.one_in(2)) other = {};
  }
  const uint32_t b = random_.one_in(4) ? a : of_shape(other);
  std::vector<uint32_t> operands = {a, b};
  if (random_.one_in(2)) std::swap(operands[0], operands[1]);
  return node(Operator::kBinary, std::move(operands), {static_cast<int32_t>(random_.pick(kBinaries))},
              {number()});
}

uint32_t NodeGenerator::append_matmul() {
  const uint32_t a = of_rank(1, 4);
  const Shape from = shape(a);
  const uint32_t depth = from.sizes[from.rank - 1], columns = random_.size();
  const bool is_batch = from.rank == 3 && random_.one_in(3), is_transposed = !is_batch && !random_.one_in(3);
  Shape weight = is_transposed ? shape_of({columns, depth}) : shape_of({depth, columns});
  if (is_batch) weight = shape_of({from.sizes[0], depth, columns});
  std::vector<uint32_t> inputs = {a, is_transposed ? constant(weight) : of_shape(weight)};
  if (!is_batch && random_.one_in(3)) {
    const Shape biases[] = {{}, shape_of({columns}), shape_of({1, columns}), shape_of({from.sizes[0], 1})};
    inputs.push_back(of_shape(random_.pick(biases)));
  }
  const bool is_clamped = random_.one_in(4);
  return node(Operator::kMatmul, std::move(inputs), {is_transposed ? 1 : 0},
              {random_.one_in(4) ? number() : 1, random_.one_in(4) ? number() : 1,
               is_clamped ? 0 : -kInfinity, is_clamped ? 6 : kInfinity});
}

uint32_t NodeGenerator::append_convolution() {
  const uint32_t x = of_rank(4, 4);
  const uint32_t channels = shape(x).sizes[1];
  const uint32_t counts[] = {1, 2, std::max(channels, 1u)};
  uint32_t groups = random_.pick(counts);
  if (channels % groups != 0) groups = 1;
  const uint32_t made = groups * (1 + random_.below(random_.one_in(2) ? 1 : 9));
  std::vector<uint32_t> inputs = {
      x, constant(shape_of({made, channels / groups, 1 + random_.below(4), 1 + random_.below(4)}))};
  if (random_.one_in(2)) inputs.push_back(constant(shape_of({made})));
  std::vector<int32_t> ints = integers({{1, 3}, {1, 3}, {0, 3}, {0, 3}, {1, 2}, {1, 2}});
  ints.push_back(static_cast<int32_t>(groups));
  const bool is_clamped = random_.one_in(3);
  return node(Operator::kConvolution, std::move(inputs), std::move(ints),
              {is_clamped ? 0 : -kInfinity, is_clamped ? 6 : kInfinity});
}

uint32_t NodeGenerator::append_pool() {
  const uint32_t x = of_rank(3, 4);
  return node(
      Operator::kPool, {x},
      integers(
          {{0, 1}, {1, 4}, {1, 4}, {1, 3}, {1, 3}, {0, 1}, {0, 1}, {1, 2}, {1, 2}, {0, 1}, {0, 1}, {0, 2}}));
}

uint32_t NodeGenerator::append_adaptive_pool() {
  const uint32_t x = of_rank(3, 4);
  return node(Operator::kAdaptiveMeanPool, {x},
              {static_cast<int32_t>(random_.below(9)), static_cast<int32_t>(random_.below(9))});
}

uint32_t NodeGenerator::append_softmax() {
  const uint32_t x = any();
  return node(Operator::kSoftmax, {x}, {dim_of(x), random_.one_in(3) ? 1 : 0});
}

uint32_t NodeGenerator::append_layer_norm() {
  const uint32_t x = of_rank(1, 5);
  const Shape from = shape(x);
  const uint32_t rank = 1 + random_.below(from.rank);
  Shape weights;
  weights.rank = rank;
  for (uint32_t d = 0; d < rank; ++d) weights.sizes[d] = from.sizes[from.rank - rank + d];
  const uint32_t weight = of_shape(weights), bias = of_shape(weights);
  return node(Operator::kLayerNorm, {x, weight, bias}, {static_cast<int32_t>(rank)}, {number()});
}

uint32_t NodeGenerator::append_batch_norm() {
  // After a convolution, it is folded into the filters.
  const uint32_t x = random_.one_in(2) ? append_convolution() : of_rank(2, 5);
  const Shape channels = shape_of({shape(x).sizes[1]});
  std::vector<uint32_t> inputs = {x};
  for (int i = 0; i < 4; ++i) inputs.push_back(random_.one_in(8) ? of_shape(channels) : constant(channels));
  return node(Operator::kBatchNorm, std::move(inputs), {}, {number()});
}

uint32_t NodeGenerator::append_reduce() {
  const uint32_t x = any();
  return node(Operator::kReduce, {x},
              {static_cast<int32_t>(random_.below(6)),
               static_cast<int32_t>(random_.below(size_t{1} << shape(x).rank)), random_.one_in(2) ? 1 : 0});
}

uint32_t NodeGenerator::append_permute() {
  const uint32_t x = any();
  std::vector<int32_t> order;
  for (uint32_t d = 0; d < shape(x).rank; ++d)
    order.insert(order.begin() + random_.below(d + 1), static_cast<int32_t>(d));
  return node(Operator::kPermute, {x}, std::move(order));
}

// Splits, joins or drops dimensions. A size may be inferred or copied.
uint32_t NodeGenerator::append_reshape() {
  const uint32_t x = any();
  const Shape from = shape(x);
  std::vector<int32_t> sizes;
  for (uint32_t d = 0; d < from.rank; ++d) {
    const auto size = static_cast<int32_t>(from.sizes[d]);
    const uint32_t choice = random_.below(5);
    if (choice == 0 && !sizes.empty() && sizes.back() > 0 && size > 0) {
      sizes.back() = static_cast<int32_t>(std::min<int64_t>(int64_t{sizes.back()} * size, INT32_MAX));
    } else if (choice == 1 && size % 2 == 0 && sizes.size() + from.rank - d < kMaxRank) {
      sizes.insert(sizes.end(), {2, size / 2});
    } else if (choice == 2) {
      sizes.push_back(kCopiedSize - static_cast<int32_t>(d));
    } else {
      sizes.push_back(size);
    }
  }
  if (sizes.size() < kMaxRank && random_.one_in(4))
    sizes.insert(sizes.begin() + random_.below(sizes.size() + 1), 1);
  if (!sizes.empty() && random_.one_in(3)) random_.pick(sizes) = kInferredSize;
  return node(Operator::kReshape, {x}, std::move(sizes));
}

uint32_t NodeGenerator::append_expand() {
  const uint32_t x = of_rank(0, 5);
  const Shape from = shape(x);
  std::vector<uint32_t> inputs = {x};
  std::vector<int32_t> sizes;
  const uint32_t more = random_.below(kMaxRank - from.rank);
  for (uint32_t d = 0; d < more + from.rank; ++d) {
    const uint32_t own = d < more ? 1 : from.sizes[d - more];
    if (own != 1) {
      sizes.push_back(random_.one_in(2) ? kInferredSize : static_cast<int32_t>(own));
    } else if (const uint32_t other = any(); random_.one_in(4) && shape(other).rank > 0) {
      sizes.push_back(kCopiedSize -
                      static_cast<int32_t>(inputs.size() * kMaxRank + random_.below(shape(other).rank)));
      inputs.push_back(other);
    } else {
      sizes.push_back(static_cast<int32_t>(std::min(random_.size(), 1u << 29)));
    }
  }
  return node(Operator::kExpand, std::move(inputs), std::move(sizes));
}

uint32_t NodeGenerator::append_slice() {
  const uint32_t x = of_rank(1, 6);
  const int32_t start = random_.integer(), end = random_.one_in(2) ? INT32_MAX : random_.integer();
  std::vector<int32_t> ints = {dim_of(x), start, end, 1 + static_cast<int32_t>(random_.below(3))};
  std::vector<uint32_t> inputs = {x};
  if (const uint32_t other = any(); random_.one_in(4) && shape(other).rank > 0) {
    inputs.push_back(other);
    ints.push_back(dim_of(other));
  }
  return node(Operator::kSlice, std::move(inputs), std::move(ints));
}

uint32_t NodeGenerator::append_select() {
  const uint32_t x = of_rank(1, 6);
  const int32_t dim = dim_of(x);
  const uint32_t size = shape(x).sizes[positive_dim(dim, shape(x).rank)];
  const auto index = static_cast<int32_t>(random_.below(std::min(size, 1u << 29)));
  return node(Operator::kSelect, {x}, {dim, random_.one_in(2) ? index : index - static_cast<int32_t>(size)});
}

uint32_t NodeGenerator::append_cat() {
  const uint32_t x = of_rank(1, 6);
  const int32_t dim = dim_of(x);
  std::vector<uint32_t> inputs = {x};
  for (uint32_t more = random_.below(4); more > 0; --more)
    inputs.push_back(of_shape(
        random_.one_in(2) ? shape(x) : with(shape(x), positive_dim(dim, shape(x).rank), random_.size())));
  return node(Operator::kCat, std::move(inputs), {dim});
}

uint32_t NodeGenerator::append_pad() {
  const uint32_t x = of_rank(1, 6);
  std::vector<int32_t> ints;
  for (uint32_t pairs = 1 + random_.below(shape(x).rank); pairs > 0; --pairs)
    ints.insert(ints.end(),
                {static_cast<int32_t>(random_.below(5)) - 1, static_cast<int32_t>(random_.below(5)) - 1});
  return node(Operator::kPad, {x}, std::move(ints), {number()});
}

uint32_t NodeGenerator::append_embedding() {
  const uint32_t table = random_.one_in(4) ? of_rank(2, 2) : constant(random_shape(2));
  return node(Operator::kEmbedding, {table, indices(random_shape(random_.below(4)))}, {});
}

uint32_t NodeGenerator::append_where() {
  const uint32_t x = any();
  const Shape sizes = shape(x);
  const uint32_t condition = of_shape(sizes), other = of_shape(sizes);
  return node(Operator::kWhere, {condition, x, other}, {});
}

uint32_t NodeGenerator::append_flip() {
  const uint32_t x = any();
  return node(Operator::kFlip, {x}, {static_cast<int32_t>(random_.below(size_t{1} << shape(x).rank))});
}

uint32_t NodeGenerator::append_gather() {
  const uint32_t x = of_rank(1, 6);
  const int32_t dim = dim_of(x);
  const uint32_t count = random_.size();
  if (random_.one_in(2)) return node(Operator::kGather, {x, indices(shape_of({count}))}, {dim, 1});
  const Shape sizes = with(shape(x), positive_dim(dim, shape(x).rank), count);
  return node(Operator::kGather, {x, indices(sizes)}, {dim, 0});
}

uint32_t NodeGenerator::append_resize() {
  const uint32_t x = of_rank(4, 4);
  return node(Operator::kResize, {x},
              {random_.one_in(2) ? 1 : 0, static_cast<int32_t>(random_.below(20)),
               static_cast<int32_t>(random_.below(20))},
              {number(), number(), number(), number()});
}

uint32_t NodeGenerator::append_fold() {
  const uint32_t image = of_rank(4, 4);
  const Shape from = shape(image);
  const uint32_t groups = 1 + random_.below(2), channels = groups * (1 + random_.below(4));
  std::vector<int32_t> ints =
      integers({{1, 3}, {1, 3}, {1, 3}, {1, 3}, {0, 1}, {0, 1}, {1, 2}, {1, 2}, {0, 1}, {0, 1}});
  const uint32_t taps = static_cast<uint32_t>(ints[0] * ints[1]);
  const uint32_t columns =
      of_shape(shape_of({from.sizes[0] * groups, channels / groups * taps, from.product(2, 4)}));
  return node(Operator::kFold, {columns, constant(shape_of({channels})), image}, std::move(ints));
}

uint32_t NodeGenerator::append_index_put() {
  const uint32_t x = of_rank(1, 6);
  const int32_t dim = dim_of(x);
  const uint32_t count = random_.size();
  const uint32_t values = of_shape(with(shape(x), positive_dim(dim, shape(x).rank), count));
  return node(Operator::kIndexPut, {x, values, indices(shape_of({count}))}, {dim});
}

const NodeGenerator::Row NodeGenerator::kRows[] = {
    {Operator::kUnary, &NodeGenerator::append_unary},
    {Operator::kBinary, &NodeGenerator::append_binary},
    {Operator::kMatmul, &NodeGenerator::append_matmul},
    {Operator::kConvolution, &NodeGenerator::append_convolution},
    {Operator::kPool, &NodeGenerator::append_pool},
    {Operator::kAdaptiveMeanPool, &NodeGenerator::append_adaptive_pool},
    {Operator::kSoftmax, &NodeGenerator::append_softmax},
    {Operator::kLayerNorm, &NodeGenerator::append_layer_norm},
    {Operator::kBatchNorm, &NodeGenerator::append_batch_norm},
    {Operator::kReduce, &NodeGenerator::append_reduce},
    {Operator::kPermute, &NodeGenerator::append_permute},
    {Operator::kReshape, &NodeGenerator::append_reshape},
    {Operator::kExpand, &NodeGenerator::append_expand},
    {Operator::kSlice, &NodeGenerator::append_slice},
    {Operator::kSelect, &NodeGenerator::append_select},
    {Operator::kCat, &NodeGenerator::append_cat},
    {Operator::kPad, &NodeGenerator::append_pad},
    {Operator::kEmbedding, &NodeGenerator::append_embedding},
    {Operator::kWhere, &NodeGenerator::append_where},
    {Operator::kFlip, &NodeGenerator::append_flip},
    {Operator::kGather, &NodeGenerator::append_gather},
    {Operator::kResize, &NodeGenerator::append_resize},
    {Operator::kFold, &NodeGenerator::append_fold},
    {Operator::kIndexPut, &NodeGenerator::append_index_put},
};

void NodeGenerator::append() { append(random_.pick(kRows).op); }

void NodeGenerator::append(Operator op) {
  const auto row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& each) { return each.op == op; });
  if (row == std::end(kRows)) return;
  const uint32_t made = (this->*row->append)();
  // In most calls the result takes the place of an output that the node reads, so that this one becomes an inner value.
  std::vector<uint32_t>& outputs = graph_.outputs;
  const std::vector<uint32_t>& inputs = graph_.nodes.back().inputs;
  const auto is_read = [&](uint32_t id) {
    return std::find(inputs.begin(), inputs.end(), id) != inputs.end();
  };
  if (!random_.one_in(3))
    outputs.erase(std::remove_if(outputs.begin(), outputs.end(), is_read), outputs.end());
  outputs.push_back(made);
}

}  // namespace etb::gpu
