// SPDX-License-Identifier: Apache-2.0
// Patterns dequantize -> op -> clamps and views -> quantize become one node of cortex_m, which computes with integers.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>

#include "ops/_adaptive_avg_pool2d.hpp"
#include "ops/_softmax.hpp"
#include "ops/add.hpp"
#include "ops/addmm.hpp"
#include "ops/avg_pool2d.hpp"
#include "ops/clamp.hpp"
#include "ops/convolution.hpp"
#include "ops/hardtanh.hpp"
#include "ops/max_pool2d_with_indices.hpp"
#include "ops/mean.hpp"
#include "ops/mm.hpp"
#include "ops/mul.hpp"
#include "ops/permute_copy.hpp"
#include "partitioner_sdk/passes/passes.hpp"
#include "partitioner_sdk/passes/quantised_values.hpp"

namespace etb::passes {

namespace {

using infer::Call;
using infer::CallState;

constexpr double kLargestBias = 1 << 30;  // so that the sum of a bias and products fits into 32 bits
constexpr int64_t kMostProducts = int64_t{1} << 15;  // products of two codes in one sum
constexpr std::string_view kView = "aten.view_copy.default";
constexpr std::string_view kClamp = "aten.clamp.default";
constexpr std::string_view kMaximum = "aten.max_pool2d_with_indices.default";
constexpr std::string_view kCopy = "dim_order_ops._clone_dim_order.default";  // such as dropout's

// The ops between a layer and the quantize node that stores its result.
struct Tail {
  const ir::Node* op = nullptr;
  QuantisedTensor out;      // its range is that which the clamps leave
  std::vector<Dims> views;  // in the order of the graph
};

// Int32 constants of a layer.
struct Rescales {
  std::vector<int32_t> multipliers, shifts, bias;
};

std::vector<std::byte> to_bytes(const std::vector<int32_t>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(int32_t));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

class Fuser {
 public:
  Fuser(ir::Module& module, ir::Graph& graph)
      : module_(module),
        graph_(graph),
        b_(module, graph),
        nodes_(b_.take_old_nodes()),
        values_(module, graph, nodes_) {}

  Result<bool> run() {
    bool is_changed = false;
    for (ir::Node& node : nodes_) {
      b_.substitute(node);
      if (const std::optional<ValueId> fused = fuse(node)) {
        b_.replace(node.outputs[0], *fused);
        is_changed = true;
        continue;
      }
      values_.add(node);
      b_.keep(std::move(node));
    }
    ETB_TRY(b_.finish());
    return is_changed;
  }

 private:
  std::optional<ValueId> fuse(const ir::Node& quantize) {
    states_.clear();
    const std::optional<Tail> tail = find_tail(quantize);
    if (!tail) return std::nullopt;
    b_.set_origin(*tail->op);
    std::optional<ValueId> result = move(*tail);
    if (!result) result = convolve(*tail);
    if (!result) result = multiply(*tail);
    if (!result) result = average(*tail);
    if (!result) result = find_maximum(*tail);
    if (!result) result = add(*tail);
    if (!result) result = multiply_elements(*tail);
    if (!result) result = normalise(*tail);
    // An argument of another kind, such as a size known at run time: nodes that were added have no reader.
    const bool is_read = std::all_of(states_.begin(), states_.end(),
                                     [](const CallState& state) { return state.error.empty(); });
    if (!result || !is_read) return std::nullopt;
    for (const Dims& sizes : tail->views) result = b_.call(kView, {ValueRef{*result}, Argument(sizes)});
    return result;
  }

  template <class View>
  View view_of(const ir::Node& node) {
    return View(Call(states_.emplace_back(module_, graph_, node.op, node.args)));
  }

  // A maximum's second result are indices.
  bool has_one_result(const ir::Node& node) const {
    return node.outputs.size() == 1 ||
           (values_.op_of(&node) == kMaximum && values_.uses_of(node.outputs[1]) == 0);
  }

  // Walks from a quantize node to the op whose result it stores. Values on the way have no other use.
  std::optional<Tail> find_tail(const ir::Node& quantize) {
    const std::optional<QuantisedTensor> result = values_.find_result(quantize);
    if (!result) return std::nullopt;
    Tail tail{nullptr, *result, {}};
    const Argument* at = &quantize.args[0];
    for (;;) {
      const ir::Node* node = values_.find_producer(*at);
      if (node == nullptr || !has_one_result(*node)) return std::nullopt;
      // Its codes are read, so other readers of the real numbers do not matter.
      const bool is_real = values_.find_quantised(*at).has_value();
      if (!is_real && values_.uses_of(node->outputs[0]) != 1) return std::nullopt;
      const std::string_view op = values_.op_of(node);
      if (op == kView) {
        tail.views.insert(tail.views.begin(), b_.spec(node->outputs[0]).sizes);
      } else if (op == kCopy) {
        // Tensors are row-major here.
      } else if (op == "aten.relu.default") {
        limit(tail, 0.0, std::nullopt);
      } else if (op == "aten.hardtanh.default") {
        const auto call = view_of<ops::hardtanh_default<Call>>(*node);
        limit(tail, call.min_val().number(), call.max_val().number());
      } else if (op == kClamp) {
        const auto call = view_of<ops::clamp_default<Call>>(*node);
        limit(tail, call.min().has_value() ? std::optional(call.min().number()) : std::nullopt,
              call.max().has_value() ? std::optional(call.max().number()) : std::nullopt);
      } else {
        tail.op = node;
        return tail;
      }
      at = &node->args[0];
    }
  }

  // Codes of limits, which are in the order of the numbers.
  static void limit(Tail& tail, std::optional<double> low, std::optional<double> high) {
    const QuantisedTensor whole = tail.out;
    if (low) tail.out.low = whole.code_of(*low);
    if (high) tail.out.high = std::max(whole.code_of(*high), tail.out.low);
  }

  // Clamps and views between two tensors of one scale.
  std::optional<ValueId> move(const Tail& tail) {
    const auto in = values_.find_quantised(ValueRef{tail.op->outputs[0]});
    if (!in || !in->has_scale_of(tail.out)) return std::nullopt;
    return clamp(in->codes, tail);
  }

  static bool is_whole(const Tail& tail) { return tail.out.low == -128 && tail.out.high == 127; }
  ValueId clamp(ValueId codes, const Tail& tail) {
    if (is_whole(tail)) return codes;
    return b_.call(kClamp, {ValueRef{codes}, Dim(tail.out.low), Dim(tail.out.high)});
  }

  // One rescale for each channel, and the bias in steps of input scale times weight scale.
  std::optional<Rescales> find_rescales(const QuantisedTensor& in, const std::vector<double>& scales,
                                        const Argument& bias, const QuantisedTensor& out) const {
    Rescales made;
    for (const double scale : scales) {
      const auto factor = find_integer_factor(in.scale * scale / out.scale);
      if (!factor) return std::nullopt;
      made.multipliers.push_back(factor->multiplier);
      made.shifts.push_back(factor->shift);
    }
    if (ir::get_if<Nothing>(bias) != nullptr) return made;
    const auto reals = values_.find_reals(bias);
    if (!reals || reals->size() != scales.size()) return std::nullopt;
    for (size_t i = 0; i < scales.size(); ++i) {
      const double steps = std::nearbyint((*reals)[i] / (in.scale * scales[i]));
      if (!(std::abs(steps) <= kLargestBias)) return std::nullopt;
      made.bias.push_back(static_cast<int32_t>(steps));
    }
    return made;
  }

  Argument add_int32(const std::vector<int32_t>& values) {
    if (values.empty()) return Nothing{};
    return ValueRef{b_.add_constant(Dtype::INT32, {static_cast<int64_t>(values.size())}, to_bytes(values))};
  }

  // The kernels here use the run time's scratch.
  ValueRef scratch() {
    if (scratch_ == ir::kNoValue) scratch_ = b_.add_constant(Dtype::UINT8, {0}, {});
    return ValueRef{scratch_};
  }

  ValueId add_node(std::string_view op, std::vector<Argument> args, const Dims& sizes) {
    return b_.call_sized(op, std::move(args), {TensorSpec{Dtype::INT8, sizes, {}}}).at(0);
  }

  // Weights [outputs, inputs, rows, columns] as [outputs, rows, columns, inputs], or [1, rows, columns, outputs].
  ValueRef add_kernel(const QuantisedWeights& weights, bool is_depthwise) {
    const int64_t outputs = weights.sizes[0], inputs = weights.sizes[1],
                  taps = weights.sizes[2] * weights.sizes[3];
    std::vector<std::byte> moved(weights.codes.size());
    size_t from = 0;
    for (int64_t o = 0; o < outputs; ++o)
      for (int64_t i = 0; i < inputs; ++i)
        for (int64_t tap = 0; tap < taps; ++tap, ++from)
          moved[static_cast<size_t>(is_depthwise ? tap * outputs + o : (o * taps + tap) * inputs + i)] =
              weights.codes[from];
    std::vector<int64_t> sizes = {outputs, weights.sizes[2], weights.sizes[3], inputs};
    if (is_depthwise) sizes = {1, weights.sizes[2], weights.sizes[3], outputs};
    return ValueRef{b_.add_constant(Dtype::INT8, std::move(sizes), std::move(moved))};
  }

  static Dims both(const Dims& list, int64_t absent) {
    if (list.empty()) return {Dim(absent), Dim(absent)};
    return list.size() == 1 ? Dims{list[0], list[0]} : list;
  }

  std::optional<ValueId> convolve(const Tail& tail) {
    if (values_.op_of(tail.op) != "aten.convolution.default") return std::nullopt;
    const auto call = view_of<ops::convolution_default<Call>>(*tail.op);
    const auto in = values_.find_quantised(call.input());
    const auto weights = values_.find_weights(call.weight());
    if (!in || !weights || weights->sizes.size() != 4 || call.transposed() || weights->codes.empty() ||
        static_cast<int64_t>(weights->codes.size()) / weights->sizes[0] > kMostProducts)
      return std::nullopt;
    const auto rescales = find_rescales(*in, weights->scales, call.bias(), tail.out);
    if (!rescales) return std::nullopt;
    const int64_t groups = call.groups().integer(), outputs = weights->sizes[0];
    // One input channel is no group: sums over all kernel positions are products of matrices.
    const bool is_depthwise = groups > 1 && weights->sizes[1] == 1;
    std::vector<Argument> args = {
        ValueRef{in->codes},           add_kernel(*weights, is_depthwise), add_int32(rescales->bias),
        both(call.stride().dims(), 1), both(call.padding().dims(), 0),     both(call.dilation().dims(), 1)};
    if (is_depthwise) args.emplace_back(Dim(outputs / groups));
    for (const Argument& argument : std::initializer_list<Argument>{
             Dim(-in->zero_point), Dim(tail.out.zero_point), add_int32(rescales->multipliers),
             add_int32(rescales->shifts), Dim(tail.out.low), Dim(tail.out.high), scratch()})
      args.push_back(argument);
    return add_node(
        is_depthwise ? "cortex_m.quantized_depthwise_conv2d.default" : "cortex_m.quantized_conv2d.default",
        std::move(args), b_.spec(tail.op->outputs[0]).sizes);
  }

  // Operands of a matrix product with transposed weights.
  struct Product {
    Argument bias, input, weights;
  };
  std::optional<Product> find_product(const ir::Node& node) {
    Product product;
    if (values_.op_of(&node) == "aten.addmm.default") {
      const auto call = view_of<ops::addmm_default<Call>>(node);
      if (call.alpha().number() != 1.0 || call.beta().number() != 1.0) return std::nullopt;
      product = {call.self(), call.mat1(), call.mat2()};
    } else if (values_.op_of(&node) == "aten.mm.default") {
      const auto call = view_of<ops::mm_default<Call>>(node);
      product = {Nothing{}, call.self(), call.mat2()};
    } else {
      return std::nullopt;
    }
    const ir::Node* turned = values_.find_producer(product.weights);
    if (values_.op_of(turned) != "aten.permute_copy.default") return std::nullopt;
    const auto call = view_of<ops::permute_copy_default<Call>>(*turned);
    const Dims dims = call.dims().dims();
    if (dims.size() != 2 || !(dims[0].is(1) || dims[0].is(-1))) return std::nullopt;
    product.weights = call.self();
    return product;
  }

  std::optional<ValueId> multiply(const Tail& tail) {
    const std::optional<Product> product = find_product(*tail.op);
    if (!product) return std::nullopt;
    // Views between the codes and the product move behind the codes.
    const Argument* at = &product->input;
    const ir::Node* node = values_.find_producer(*at);
    bool has_view = false;
    for (; values_.op_of(node) == kView || values_.op_of(node) == kCopy; node = values_.find_producer(*at)) {
      has_view |= values_.op_of(node) == kView;
      at = &node->args[0];
    }
    const auto in = values_.find_quantised(*at);
    const auto weights = values_.find_weights(product->weights);
    if (!in || !weights || weights->sizes.size() != 2 || weights->sizes[1] > kMostProducts)
      return std::nullopt;
    const auto rescales = find_rescales(*in, weights->scales, product->bias, tail.out);
    if (!rescales || rescales->multipliers.empty()) return std::nullopt;
    ValueId codes = in->codes;
    if (has_view)
      codes = b_.call(kView,
                      {ValueRef{codes}, Argument(b_.spec(ir::get_if<ValueRef>(product->input)->id).sizes)});
    const auto list = [](const std::vector<int32_t>& values) {
      // One number replaces equal ones.
      const bool is_one = std::equal(values.begin() + 1, values.end(), values.begin());
      return Dims(values.begin(), is_one ? values.begin() + 1 : values.end());
    };
    Dims multipliers = list(rescales->multipliers), shifts = list(rescales->shifts);
    if (multipliers.size() != shifts.size()) {
      multipliers.assign(rescales->multipliers.begin(), rescales->multipliers.end());
      shifts.assign(rescales->shifts.begin(), rescales->shifts.end());
    }
    const ValueRef matrix{b_.add_constant(Dtype::INT8, weights->sizes, weights->codes)};
    return add_node("cortex_m.quantized_linear.default",
                    {ValueRef{codes}, matrix, add_int32(rescales->bias), Nothing{}, Dim(-in->zero_point),
                     Dim(0), Dim(tail.out.zero_point), std::move(multipliers), std::move(shifts),
                     Dim(tail.out.high), Dim(tail.out.low)},
                    b_.spec(tail.op->outputs[0]).sizes);
  }

  // A window of an average; the whole image for an average of all.
  struct Window {
    Argument input;
    Dims kernel, stride, padding;
    bool ceil_mode = false;
  };
  std::optional<Window> find_window(const ir::Node& node) {
    const std::string_view op = values_.op_of(&node);
    if (op == "aten.avg_pool2d.default") {
      const auto call = view_of<ops::avg_pool2d_default<Call>>(node);
      const Dims kernel = both(call.kernel_size().dims(), 1), padding = both(call.padding().dims(), 0);
      const bool is_padded = !padding[0].is(0) || !padding[1].is(0) || call.ceil_mode();
      if (call.divisor_override().has_value() || (is_padded && call.count_include_pad())) return std::nullopt;
      const Dims stride = call.stride().dims().empty() ? kernel : both(call.stride().dims(), 1);
      return Window{call.self(), kernel, stride, padding, call.ceil_mode()};
    }
    Argument input;
    if (op == "aten.mean.dim") {
      const auto call = view_of<ops::mean_dim<Call>>(node);
      const size_t rank = call.self().spec().rank();
      std::vector<bool> is_averaged = call.axes(call.dim().dims(), rank);
      if (rank != 4 || is_averaged != std::vector<bool>{false, false, true, true}) return std::nullopt;
      input = call.self();
    } else if (op == "aten._adaptive_avg_pool2d.default") {
      const auto call = view_of<ops::_adaptive_avg_pool2d_default<Call>>(node);
      const Dims sizes = call.output_size().dims();
      if (sizes.size() != 2 || !sizes[0].is(1) || !sizes[1].is(1)) return std::nullopt;
      input = call.self();
    } else {
      return std::nullopt;
    }
    const Dims sizes = b_.spec(ir::get_if<ValueRef>(input)->id).sizes;
    if (sizes.size() != 4 || !sizes[2].is_static() || !sizes[3].is_static()) return std::nullopt;
    return Window{input, {sizes[2], sizes[3]}, {Dim(1), Dim(1)}, {Dim(0), Dim(0)}};
  }

  // An average keeps its scale: the kernel has no other.
  std::optional<ValueId> average(const Tail& tail) {
    const std::optional<Window> window = find_window(*tail.op);
    const auto in = window ? values_.find_quantised(window->input) : std::nullopt;
    const auto factor = in ? find_integer_factor(in->scale) : std::nullopt;
    if (!factor || !in->has_scale_of(tail.out) || !is_whole(tail) || b_.spec(in->codes).rank() != 4)
      return std::nullopt;
    const Dims wanted = b_.spec(tail.op->outputs[0]).sizes;
    Dims sizes = wanted;
    while (sizes.size() < 4) sizes.emplace_back(1);  // a mean that drops its dimensions
    const ValueId result =
        add_node("cortex_m.quantized_avg_pool2d.default",
                 {ValueRef{in->codes}, window->kernel, window->stride, window->padding, window->ceil_mode,
                  Dim(in->zero_point), Dim(factor->multiplier), Dim(factor->shift), scratch()},
                 sizes);
    return sizes == wanted ? result : b_.call(kView, {ValueRef{result}, Argument(wanted)});
  }

  // Without dilation and ceil_mode, which ExecuTorch's operator lacks.
  std::optional<ValueId> find_maximum(const Tail& tail) {
    if (values_.op_of(tail.op) != kMaximum) return std::nullopt;
    const auto call = view_of<ops::max_pool2d_with_indices_default<Call>>(*tail.op);
    const auto in = values_.find_quantised(call.self());
    const Dims dilation = both(call.dilation().dims(), 1);
    if (!in || !in->has_scale_of(tail.out) || b_.spec(in->codes).rank() != 4 || call.ceil_mode() ||
        !dilation[0].is(1) || !dilation[1].is(1))
      return std::nullopt;
    const Dims kernel = both(call.kernel_size().dims(), 1);
    const Dims stride = call.stride().dims().empty() ? kernel : both(call.stride().dims(), 1);
    return add_node("cortex_m.quantized_max_pool2d.default",
                    {ValueRef{in->codes}, kernel, stride, both(call.padding().dims(), 0), dilation, false,
                     Dim(in->zero_point), Dim(tail.out.zero_point), Dim(tail.out.low), Dim(tail.out.high)},
                    b_.spec(tail.op->outputs[0]).sizes);
  }

  // The operator has no limits: they clamp its codes.
  std::optional<ValueId> multiply_elements(const Tail& tail) {
    if (values_.op_of(tail.op) != "aten.mul.Tensor") return std::nullopt;
    const auto call = view_of<ops::mul_Tensor<Call>>(*tail.op);
    const auto left = values_.find_quantised(call.self()), right = values_.find_quantised(call.other());
    const auto factor =
        left && right ? find_integer_factor(left->scale * right->scale / tail.out.scale) : std::nullopt;
    if (!factor || b_.spec(left->codes).rank() != b_.spec(right->codes).rank()) return std::nullopt;
    const ValueId product = add_node(
        "cortex_m.quantized_mul.default",
        {ValueRef{left->codes}, Dim(left->zero_point), ValueRef{right->codes}, Dim(right->zero_point),
         Dim(tail.out.zero_point), Dim(factor->multiplier), Dim(factor->shift)},
        b_.spec(tail.op->outputs[0]).sizes);
    return clamp(product, tail);
  }

  // A softmax over the last dimension into codes of 256ths: ExecuTorch's operator has no others. Its input gets 26 bits after the
  // point. Distances below -31 count as no probability.
  std::optional<ValueId> normalise(const Tail& tail) {
    if (values_.op_of(tail.op) != "aten._softmax.default") return std::nullopt;
    const auto call = view_of<ops::_softmax_default<Call>>(*tail.op);
    const auto in = values_.find_quantised(call.self());
    const auto factor = in ? find_integer_factor(std::ldexp(in->scale, 26)) : std::nullopt;
    if (!factor || factor->shift < 0 || call.half_to_float() || !is_whole(tail) ||
        tail.out.zero_point != -128 || tail.out.scale != 1.0 / 256)
      return std::nullopt;
    const auto rank = static_cast<int64_t>(b_.spec(in->codes).rank());
    const int64_t dim = call.dim().integer();
    if (rank == 0 || (dim != -1 && dim != rank - 1)) return std::nullopt;
    const int64_t least = -(int64_t{31} << 26 >> factor->shift);
    return add_node("cortex_m.softmax.default",
                    {ValueRef{in->codes}, Dim(rank - 1), Dim(in->zero_point), Dim(-128),
                     Dim(factor->multiplier), Dim(factor->shift), Dim(least)},
                    b_.spec(tail.op->outputs[0]).sizes);
  }

  // Both operands in steps of twice the larger scale, as ExecuTorch does: their sum fits into 32 bits.
  std::optional<ValueId> add(const Tail& tail) {
    if (values_.op_of(tail.op) != "aten.add.Tensor") return std::nullopt;
    const auto call = view_of<ops::add_Tensor<Call>>(*tail.op);
    const auto left = values_.find_quantised(call.self()), right = values_.find_quantised(call.other());
    if (!left || !right || call.alpha().number() != 1.0 ||
        b_.spec(left->codes).sizes != b_.spec(right->codes).sizes)
      return std::nullopt;
    const double step = 2 * std::max(left->scale, right->scale);
    const auto left_factor = find_integer_factor(left->scale / step),
               right_factor = find_integer_factor(right->scale / step);
    const auto out_factor = find_integer_factor(step / tail.out.scale / (1 << 20));
    if (!left_factor || !right_factor || !out_factor) return std::nullopt;
    std::vector<Argument> args;
    const auto add_side = [&](const QuantisedTensor& side, const IntegerFactor& factor) {
      for (const Argument& argument : std::initializer_list<Argument>{
               ValueRef{side.codes}, Dim(side.zero_point), Dim(factor.multiplier), Dim(factor.shift)})
        args.push_back(argument);
    };
    add_side(*left, *left_factor);
    add_side(*right, *right_factor);
    for (const int64_t number : {tail.out.zero_point, int64_t{out_factor->multiplier},
                                 int64_t{out_factor->shift}, tail.out.low, tail.out.high})
      args.emplace_back(Dim(number));
    return add_node("cortex_m.quantized_add.default", std::move(args), b_.spec(tail.op->outputs[0]).sizes);
  }

  ir::Module& module_;
  ir::Graph& graph_;
  PlainBuilder b_;
  std::vector<ir::Node> nodes_;
  QuantisedValues values_;
  std::deque<CallState> states_;  // one for each call that fuse() reads
  ValueId scratch_ = ir::kNoValue;
};

// Arguments of an op that may be images of any order; empty for other ops.
std::vector<size_t> image_arguments(std::string_view op) {
  if (op == "cortex_m.quantized_add.default") return {0, 4};
  if (op == "cortex_m.quantized_mul.default") return {0, 2};
  const bool has_image =
      op == "cortex_m.quantized_conv2d.default" || op == "cortex_m.quantized_depthwise_conv2d.default" ||
      op == "cortex_m.quantized_avg_pool2d.default" || op == "cortex_m.quantized_max_pool2d.default";
  return has_image ? std::vector<size_t>{0} : std::vector<size_t>{};
}

// Stores images between these ops with their channels last: sums then run over neighbours in memory.
void store_channels_last(ir::Module& module, ir::Graph& graph) {
  std::vector<bool> is_bound(graph.values.size(), false);
  for (const ir::Output& output : graph.outputs)
    ir::for_each_value(output.value, [&](ValueId id) { is_bound[id] = true; });
  for (const ir::Node& node : graph.nodes) {
    const std::vector<size_t> images = image_arguments(module.op(node).name);
    for (size_t i = 0; i < node.args.size(); ++i) {
      if (std::find(images.begin(), images.end(), i) != images.end()) continue;
      ir::for_each_value(node.args[i], [&](ValueId id) { is_bound[id] = true; });
    }
  }
  for (const ir::Node& node : graph.nodes) {
    if (image_arguments(module.op(node).name).empty() || is_bound[node.outputs[0]]) continue;
    TensorSpec& spec = graph.values[node.outputs[0]].spec;
    if (spec.rank() == 4) spec.strides = ir::strides_in_order(module.symbols, spec.sizes, {0, 2, 3, 1});
  }
}

}  // namespace

Result<bool> use_integer_kernels(ir::Module& module) {
  ETB_ASSIGN(const bool is_changed, Fuser(module, module.main()).run());
  if (!is_changed) return false;
  ETB_TRY(remove_dead_code(module));  // so that float ops that nothing reads any more do not count as readers
  store_channels_last(module, module.main());
  return true;
}

}  // namespace etb::passes
