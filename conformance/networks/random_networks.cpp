// SPDX-License-Identifier: Apache-2.0
// Networks whose nodes are drawn at random from the ops of one kind: values with several readers, early and late ones, operands of
// other sizes, views between layers. They find what no list of cases has: plans of memory, fusions and their conditions.
#include <algorithm>
#include <array>
#include <optional>

#include "conformance/networks/networks.hpp"

namespace etb::conformance {
namespace {

using ir::Dims;
using ir::Dtype;
using ir::ValueRef;

// A size: a number, or a multiple of the batch. Decisions look at these, so that a network is the same for each batch.
struct Extent {
  int64_t factor = 1;
  bool has_batch = false;
  friend bool operator==(const Extent&, const Extent&) = default;
};
using Extents = std::vector<Extent>;

struct Node {
  ir::ValueId id;
  Extents sizes;
  Dtype dtype = Dtype::FLOAT32;
  int reader_count = 0;

  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }
};

// The values of a network under construction.
class Drawing {
 public:
  explicit Drawing(NetworkBuilder& net) : net_(net) {}

  NetworkBuilder& net() { return net_; }
  int64_t between(int64_t low, int64_t high) { return net_.random().between(low, high); }
  bool chance(int64_t percent) { return between(1, 100) <= percent; }
  template <class Items>
  auto& one_of(Items& items) {
    return items[static_cast<size_t>(between(0, static_cast<int64_t>(std::size(items)) - 1))];
  }

  void input(const Extents& sizes, Dtype dtype = Dtype::FLOAT32, const Domain& domain = {-1, 1}) {
    add(net_.input(dims(sizes), domain, dtype), sizes, dtype);
  }
  void add(ir::ValueId id, Extents sizes, Dtype dtype = Dtype::FLOAT32) {
    nodes_.push_back({id, std::move(sizes), dtype});
  }
  // Returns a value that fits, more often a late one; nothing if there is none.
  template <class Fits>
  std::optional<Node> pick(Fits fits) {
    std::vector<size_t> found;
    for (size_t i = 0; i < nodes_.size(); ++i)
      if (fits(nodes_[i])) found.insert(found.end(), nodes_[i].reader_count == 0 ? 4 : 1, i);
    if (found.empty()) return std::nullopt;
    const size_t from = chance(60) ? found.size() / 2 : 0;
    Node& node = nodes_[found[static_cast<size_t>(
        between(static_cast<int64_t>(from), static_cast<int64_t>(found.size()) - 1))]];
    ++node.reader_count;
    return node;
  }
  // Every value that nothing reads is an output, and some that others read.
  void finish() {
    for (const Node& node : nodes_)
      if (node.reader_count == 0 || chance(8)) net_.output(node.id);
  }

  Dims dims(const Extents& sizes) {
    Dims out;
    for (const Extent& size : sizes)
      out.push_back(size.has_batch ? net_.times_batch(size.factor) : ir::Dim(size.factor));
    return out;
  }

 private:
  NetworkBuilder& net_;
  std::vector<Node> nodes_;
};

using Step = void (*)(Drawing& draw);

bool is_float(const Node& node) { return node.dtype == Dtype::FLOAT32; }
bool is_static(const Extent& size) { return !size.has_batch; }

// ---- Arithmetic

void unary_op(Drawing& draw) {
  constexpr const char* kOps[] = {"aten.relu.default",      "aten.sigmoid.default",     "aten.tanh.default",
                                  "aten.abs.default",       "aten.neg.default",         "aten.gelu.default",
                                  "aten.hardswish.default", "aten.hardsigmoid.default", "aten.silu.default",
                                  "aten.hardtanh.default",  "aten.leaky_relu.default",  "aten.clamp.default",
                                  "aten.elu.default"};
  const std::optional<Node> x = draw.pick(is_float);
  const std::string_view op = draw.one_of(kOps);
  std::vector<ir::Argument> args = {ValueRef{x->id}};
  if (op == "aten.gelu.default") args.push_back(std::string(draw.chance(50) ? "none" : "tanh"));
  if (op == "aten.hardtanh.default" || op == "aten.clamp.default") {
    args.push_back(-0.5);
    args.push_back(draw.chance(50) ? 0.75 : 6.0);
  }
  if (op == "aten.leaky_relu.default") args.push_back(0.125);
  if (op == "aten.elu.default") args.insert(args.end(), {1.0, 1.0, 1.0});
  draw.add(draw.net().node_of(op.data(), std::move(args), Dtype::FLOAT32, draw.dims(x->sizes)), x->sizes);
}

// True if `b` broadcasts to `a`.
bool broadcasts_to(const Extents& b, const Extents& a) {
  if (b.size() > a.size()) return false;
  for (size_t i = 0; i < b.size(); ++i)
    if (b[i] != Extent{1} && b[i] != a[a.size() - b.size() + i]) return false;
  return true;
}

// A constant that broadcasts to `sizes`.
ir::ValueId constant_for(Drawing& draw, const Extents& sizes) {
  std::vector<int64_t> found;
  const int64_t first = draw.chance(40) ? draw.between(0, static_cast<int64_t>(sizes.size())) : 0;
  for (auto size = sizes.begin() + first; size != sizes.end(); ++size)
    found.push_back(size->has_batch || draw.chance(35) ? 1 : size->factor);
  return draw.net().weight(found, 0.75, 0.25);
}

void binary_op(Drawing& draw) {
  constexpr const char* kOps[] = {"aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor",
                                  "aten.maximum.default", "aten.minimum.default"};
  const std::optional<Node> a = draw.pick(is_float);
  const std::string_view op = draw.one_of(kOps);
  const std::optional<Node> b =
      draw.chance(65)
          ? draw.pick([&](const Node& node) { return is_float(node) && broadcasts_to(node.sizes, a->sizes); })
          : std::nullopt;
  const ir::ValueId other = b ? b->id : constant_for(draw, a->sizes);
  std::vector<ir::Argument> args = {ValueRef{a->id}, ValueRef{other}};
  if (draw.chance(30)) std::swap(args[0], args[1]);
  if (op == "aten.add.Tensor" || op == "aten.sub.Tensor") args.push_back(ir::Dim(draw.chance(80) ? 1 : 2));
  draw.add(draw.net().node(op.data(), std::move(args)), a->sizes);
}

// An op of which one operand must not be small: the square root, the logarithm or a quotient of 1 + |x|.
void guarded_op(Drawing& draw) {
  constexpr const char* kOps[] = {"aten.sqrt.default", "aten.rsqrt.default", "aten.log.default",
                                  "aten.reciprocal.default"};
  const std::optional<Node> x = draw.pick(is_float);
  const ir::ValueId one = draw.net().weight({}, 0.25, 1);
  const ir::ValueId large = add(draw.net(), unary(draw.net(), "aten.abs.default", x->id), one);
  draw.add(unary(draw.net(), draw.one_of(kOps), large), x->sizes);
}

void reduction(Drawing& draw) {
  constexpr const char* kOps[] = {"aten.mean.dim", "aten.sum.dim_IntList", "aten.amax.default",
                                  "aten.amin.default"};
  const std::optional<Node> x = draw.pick([](const Node& node) { return is_float(node) && node.rank() > 0; });
  if (!x) return;
  const std::string_view op = draw.one_of(kOps);
  const bool keeps = draw.chance(60);
  Dims over;
  Extents sizes;
  for (int64_t dim = 0; dim < x->rank(); ++dim) {
    const Extent size = x->sizes[static_cast<size_t>(dim)];
    const bool is_last = dim + 1 == x->rank() && over.empty();
    if (!is_last && (size.has_batch || draw.chance(50))) {
      sizes.push_back(size);
      continue;
    }
    over.push_back(ir::Dim(draw.chance(50) ? dim : dim - x->rank()));
    if (keeps) sizes.push_back({1});
  }
  std::vector<ir::Argument> args = {ValueRef{x->id}, over, keeps};
  if (op == "aten.mean.dim" || op == "aten.sum.dim_IntList") args.push_back(ir::Nothing{});
  draw.add(draw.net().node(op.data(), std::move(args)), sizes);
}

// ---- Movement

void permutation(Drawing& draw) {
  const std::optional<Node> x = draw.pick([](const Node& node) { return node.rank() > 1; });
  if (!x) return;
  std::vector<int64_t> order;
  for (int64_t dim = 0; dim < x->rank(); ++dim) order.push_back(dim);
  for (size_t i = order.size(); i-- > 1;)
    std::swap(order[i], order[static_cast<size_t>(draw.between(0, static_cast<int64_t>(i)))]);
  Extents sizes;
  for (const int64_t dim : order) sizes.push_back(x->sizes[static_cast<size_t>(dim)]);
  draw.add(permute(draw.net(), x->id, order), sizes, x->dtype);
}

// Joins two neighbouring dimensions, or cuts one in two.
void new_view(Drawing& draw) {
  const std::optional<Node> x = draw.pick([](const Node& node) { return node.rank() > 0; });
  if (!x) return;
  Extents sizes = x->sizes;
  const auto at = static_cast<size_t>(draw.between(0, x->rank() - 1));
  if (at + 1 < sizes.size() && !(sizes[at].has_batch && sizes[at + 1].has_batch) &&
      (draw.chance(60) || sizes.size() > 5)) {
    sizes[at] = {sizes[at].factor * sizes[at + 1].factor, sizes[at].has_batch || sizes[at + 1].has_batch};
    sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  } else {
    int64_t part = 1;
    for (const int64_t prime : {5, 3, 2})
      if (sizes[at].factor % prime == 0) part = prime;
    const bool goes_first = draw.chance(50) && !sizes[at].has_batch;
    sizes[at].factor /= part;
    sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(at) + (goes_first ? 0 : 1), Extent{part});
  }
  if (sizes.size() <= 6) draw.add(view(draw.net(), x->id, draw.dims(sizes)), sizes, x->dtype);
}

void one_slice(Drawing& draw) {
  const std::optional<Node> x = draw.pick([](const Node& node) {
    return std::any_of(node.sizes.begin(), node.sizes.end(),
                       [](const Extent& size) { return is_static(size) && size.factor > 1; });
  });
  if (!x) return;
  std::vector<int64_t> dims;
  for (int64_t dim = 0; dim < x->rank(); ++dim)
    if (const Extent size = x->sizes[static_cast<size_t>(dim)]; is_static(size) && size.factor > 1)
      dims.push_back(dim);
  const int64_t dim = draw.one_of(dims), size = x->sizes[static_cast<size_t>(dim)].factor;
  const int64_t begin = draw.between(0, size - 1), end = draw.between(begin + 1, size),
                step = draw.between(1, 3);
  Extents sizes = x->sizes;
  sizes[static_cast<size_t>(dim)] = {(end - begin + step - 1) / step};
  const bool counts_from_end = draw.chance(30) && end < size;
  draw.add(
      draw.net().node("aten.slice.Tensor", {ValueRef{x->id}, ir::Dim(draw.chance(50) ? dim : dim - x->rank()),
                                            ir::Dim(counts_from_end ? begin - size : begin),
                                            ir::Dim(counts_from_end ? end - size : end), ir::Dim(step)}),
      sizes, x->dtype);
}

void join(Drawing& draw) {
  const std::optional<Node> a = draw.pick([](const Node& node) { return node.rank() > 0; });
  if (!a) return;
  const auto at = static_cast<size_t>(draw.between(0, a->rank() - 1));
  std::vector<ir::ValueId> parts = {a->id};
  Extent size = a->sizes[at];
  for (int64_t count = draw.between(1, 3); count > 0 && size.factor < 60; --count) {
    const std::optional<Node> b = draw.pick([&](const Node& node) {
      if (node.dtype != a->dtype || node.rank() != a->rank()) return false;
      for (size_t i = 0; i < node.sizes.size(); ++i)
        if (i == at ? node.sizes[i].has_batch != size.has_batch : node.sizes[i] != a->sizes[i]) return false;
      return true;
    });
    if (!b) break;
    parts.insert(draw.chance(50) ? parts.begin() : parts.end(), b->id);
    size.factor += b->sizes[at].factor;
  }
  Extents sizes = a->sizes;
  sizes[at] = size;
  draw.add(cat(draw.net(), parts, static_cast<int64_t>(at)), sizes, a->dtype);
}

void padding(Drawing& draw) {
  const std::optional<Node> x = draw.pick(
      [](const Node& node) { return is_float(node) && node.rank() > 1 && is_static(node.sizes.back()); });
  if (!x) return;
  const int64_t before = draw.between(0, 2), after = draw.between(0, 2);
  Extents sizes = x->sizes;
  sizes.back().factor += before + after;
  draw.add(draw.net().node("aten.constant_pad_nd.default",
                           {ValueRef{x->id}, Dims{before, after}, draw.chance(50) ? 0.0 : 0.5}),
           sizes);
}

void expansion(Drawing& draw) {
  const std::optional<Node> x =
      draw.pick([](const Node& node) { return node.rank() > 0 && node.rank() < 5; });
  if (!x) return;
  const auto at = static_cast<size_t>(draw.between(0, x->rank()));
  Extents sizes = x->sizes;
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(at), Extent{1});
  const ir::ValueId more =
      draw.net().node("aten.unsqueeze.default", {ValueRef{x->id}, ir::Dim(static_cast<int64_t>(at))});
  if (draw.chance(40)) return draw.add(more, sizes, x->dtype);
  sizes[at] = {draw.between(2, 3)};
  draw.add(draw.net().node("aten.expand.default", {ValueRef{more}, draw.dims(sizes), false}), sizes,
           x->dtype);
}

// ---- Matrices

bool has_static_row(const Node& node) {
  return is_float(node) && node.rank() > 1 && is_static(node.sizes.back()) && node.sizes.back().factor < 96;
}

void linear_layer(Drawing& draw) {
  const std::optional<Node> x = draw.pick(has_static_row);
  if (!x) return;
  const int64_t out = draw.between(1, 24);
  Extents sizes = x->sizes;
  sizes.back() = {out};
  draw.add(linear(draw.net(), x->id, x->sizes.back().factor, out, draw.chance(70)), sizes);
}

void row_op(Drawing& draw) {
  const std::optional<Node> x = draw.pick(has_static_row);
  if (!x) return;
  if (draw.chance(50))
    draw.add(softmax(draw.net(), x->id, draw.chance(50) ? -1 : x->rank() - 1), x->sizes);
  else
    draw.add(layer_norm(draw.net(), x->id, x->sizes.back().factor), x->sizes);
}

// A product of two values of three dimensions: the second one is transposed where it has the same rows.
void batched_product(Drawing& draw) {
  const std::optional<Node> a =
      draw.pick([](const Node& node) { return is_float(node) && node.rank() == 3; });
  if (!a) return;
  const std::optional<Node> b = draw.pick([&](const Node& node) {
    return is_float(node) && node.rank() == 3 && node.sizes[0] == a->sizes[0] && node.sizes[2] == a->sizes[2];
  });
  const ir::ValueId turned = permute(draw.net(), b->id, {0, 2, 1});
  draw.add(draw.net().node("aten.bmm.default", {ValueRef{a->id}, ValueRef{turned}}),
           {a->sizes[0], a->sizes[1], b->sizes[1]});
}

// ---- Images

bool is_image(const Node& node) {
  return is_float(node) && node.rank() == 4 &&
         std::all_of(node.sizes.begin() + 1, node.sizes.end(), is_static) && node.sizes[1].factor <= 48;
}

std::optional<Node> pick_image(Drawing& draw, int64_t least) {
  return draw.pick([&](const Node& node) {
    return is_image(node) && node.sizes[2].factor >= least && node.sizes[3].factor >= least;
  });
}

Extent window_size(const Extent& size, int64_t kernel, int64_t stride, int64_t padding,
                   int64_t dilation = 1) {
  return {(size.factor + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1};
}

void convolution_layer(Drawing& draw) {
  const std::optional<Node> x = pick_image(draw, 3);
  if (!x) return;
  ConvolutionShape c;
  c.in = x->sizes[1].factor;
  c.kernel = draw.chance(30) ? 1 : draw.between(2, 3);
  c.stride = draw.chance(70) ? 1 : 2;
  c.padding = draw.between(0, c.kernel - 1);
  c.dilation = c.kernel == 2 && draw.chance(30) ? 2 : 1;
  c.groups = draw.chance(30) ? c.in : c.in % 2 == 0 && draw.chance(20) ? 2 : 1;
  c.out = c.groups * draw.between(1, std::max<int64_t>(1, 20 / c.groups));
  const Extents sizes = {x->sizes[0],
                         {c.out},
                         window_size(x->sizes[2], c.kernel, c.stride, c.padding, c.dilation),
                         window_size(x->sizes[3], c.kernel, c.stride, c.padding, c.dilation)};
  if (sizes[2].factor < 1 || sizes[3].factor < 1) return;
  ir::ValueId value = convolution(draw.net(), x->id, c);
  if (draw.chance(40)) value = batch_norm(draw.net(), value, c.out);
  draw.add(value, sizes);
  if (draw.chance(40)) unary_op(draw);
}

void pooling(Drawing& draw) {
  const std::optional<Node> x = pick_image(draw, 3);
  if (!x) return;
  const int64_t kernel = draw.between(2, 3), stride = draw.between(1, 2),
                padding = draw.between(0, kernel / 2);
  const Extents sizes = {x->sizes[0], x->sizes[1], window_size(x->sizes[2], kernel, stride, padding),
                         window_size(x->sizes[3], kernel, stride, padding)};
  const Dims kernels = {kernel, kernel}, strides = {stride, stride}, paddings = {padding, padding};
  if (draw.chance(50))
    draw.add(draw.net().nodes("aten.max_pool2d_with_indices.default",
                              {ValueRef{x->id}, kernels, strides, paddings, Dims{1, 1}, false})[0],
             sizes);
  else
    draw.add(draw.net().node("aten.avg_pool2d.default", {ValueRef{x->id}, kernels, strides, paddings, false,
                                                         draw.chance(50), ir::Nothing{}}),
             sizes);
}

// ---- Integers and conditions

bool is_integer(const Node& node) { return node.dtype == Dtype::INT32; }
bool is_condition(const Node& node) { return node.dtype == Dtype::BOOL; }

void integer_op(Drawing& draw) {
  constexpr const char* kOps[] = {"aten.add.Tensor", "aten.sub.Tensor", "aten.maximum.default",
                                  "aten.minimum.default"};
  const std::optional<Node> a = draw.pick(is_integer);
  const std::string_view op = draw.one_of(kOps);
  const std::optional<Node> b =
      draw.pick([&](const Node& node) { return is_integer(node) && broadcasts_to(node.sizes, a->sizes); });
  std::vector<ir::Argument> args = {ValueRef{a->id}, ValueRef{b->id}};
  if (op == "aten.add.Tensor" || op == "aten.sub.Tensor") args.push_back(ir::Dim(1));
  draw.add(draw.net().node(op.data(), std::move(args)), a->sizes, Dtype::INT32);
}

void comparison(Drawing& draw) {
  constexpr const char* kOps[] = {"aten.lt.Tensor", "aten.le.Tensor", "aten.gt.Tensor",
                                  "aten.ge.Tensor", "aten.eq.Tensor", "aten.ne.Tensor"};
  const std::optional<Node> a = draw.pick(is_integer);
  const std::optional<Node> b =
      draw.pick([&](const Node& node) { return is_integer(node) && broadcasts_to(node.sizes, a->sizes); });
  draw.add(draw.net().node(draw.one_of(kOps), {ValueRef{a->id}, ValueRef{b->id}}), a->sizes, Dtype::BOOL);
}

void logic(Drawing& draw) {
  const std::optional<Node> a = draw.pick(is_condition);
  if (!a) return comparison(draw);
  if (draw.chance(30))
    return draw.add(draw.net().node("aten.logical_not.default", {ValueRef{a->id}}), a->sizes, Dtype::BOOL);
  const std::optional<Node> b =
      draw.pick([&](const Node& node) { return is_condition(node) && broadcasts_to(node.sizes, a->sizes); });
  draw.add(draw.net().node(draw.chance(50) ? "aten.logical_and.default" : "aten.logical_or.default",
                           {ValueRef{a->id}, ValueRef{b->id}}),
           a->sizes, Dtype::BOOL);
}

void choice(Drawing& draw) {
  const std::optional<Node> condition = draw.pick(is_condition);
  if (!condition) return comparison(draw);
  const bool is_of_floats = draw.chance(60);
  const auto fits = [&](const Node& node) {
    return (is_of_floats ? is_float(node) : is_integer(node)) && broadcasts_to(node.sizes, condition->sizes);
  };
  const std::optional<Node> a = draw.pick(fits), b = draw.pick(fits);
  if (!a || !b) return;
  draw.add(draw.net().node("aten.where.self", {ValueRef{condition->id}, ValueRef{a->id}, ValueRef{b->id}}),
           condition->sizes, a->dtype);
}

// ---- Families

void draw_nodes(Drawing& draw, std::span<const Step> steps) {
  for (int64_t count = draw.between(6, 20); count > 0; --count) draw.one_of(steps)(draw);
  draw.finish();
}

void random_arithmetic(NetworkBuilder& net) {
  Drawing draw(net);
  const Extents sizes = {{1, true}, {draw.between(1, 9)}, {draw.between(1, 40)}};
  draw.input(sizes);
  draw.input(sizes);
  draw.input({sizes[2]});
  constexpr Step kSteps[] = {unary_op, binary_op, binary_op, guarded_op, reduction};
  draw_nodes(draw, kSteps);
}

void random_movement(NetworkBuilder& net) {
  Drawing draw(net);
  draw.input({{1, true}, {2 * draw.between(1, 3)}, {3 * draw.between(1, 5)}});
  draw.input({{draw.between(2, 6)}, {1, true}, {4}});
  constexpr Step kSteps[] = {permutation, new_view, one_slice, join,     padding,
                             expansion,   unary_op, binary_op, reduction};
  draw_nodes(draw, kSteps);
}

void random_matrices(NetworkBuilder& net) {
  Drawing draw(net);
  const int64_t columns = draw.between(3, 33);
  draw.input({{1, true}, {draw.between(2, 9)}, {columns}});
  draw.input({{1, true}, {columns}});
  constexpr Step kSteps[] = {linear_layer, linear_layer, row_op,    batched_product, unary_op,
                             binary_op,    new_view,     reduction, permutation,     one_slice};
  draw_nodes(draw, kSteps);
}

void random_images(NetworkBuilder& net) {
  Drawing draw(net);
  draw.input({{1, true}, {draw.between(1, 9)}, {draw.between(7, 17)}, {draw.between(7, 17)}});
  constexpr Step kSteps[] = {
      convolution_layer, convolution_layer, convolution_layer, pooling, unary_op, binary_op, join,
      one_slice,         padding,           reduction};
  draw_nodes(draw, kSteps);
}

void random_numbers(NetworkBuilder& net) {
  Drawing draw(net);
  const Extents sizes = {{1, true}, {draw.between(1, 7)}, {draw.between(1, 30)}};
  draw.input(sizes, Dtype::INT32, {-6, 6});
  draw.input({sizes[2]}, Dtype::INT32, {-6, 6});
  draw.input(sizes);
  draw.input(sizes);
  constexpr Step kSteps[] = {integer_op, comparison, logic, choice, choice, binary_op, unary_op};
  draw_nodes(draw, kSteps);
}

constexpr uint32_t kGraphs = 10;
constexpr Network kNetworks[] = {
    {"random_arithmetic", "random elementwise ops and reductions", random_arithmetic, kGraphs},
    {"random_movement", "random views, slices, joins and sums", random_movement, kGraphs},
    {"random_matrices", "random linear layers, products and norms", random_matrices, kGraphs},
    {"random_images", "random convolutions, pools and sums", random_images, kGraphs},
    {"random_numbers", "random comparisons, choices and integer sums", random_numbers, kGraphs},
};

}  // namespace

std::span<const Network> random_networks() { return kNetworks; }

}  // namespace etb::conformance
