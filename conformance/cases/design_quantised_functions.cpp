// SPDX-License-Identifier: Apache-2.0
// Ops between codes that plugins compute from tables, or without arithmetic: functions of one element, softmax, means
// over windows, and movement. Codes are all of their range; the result has the scale of the operand or another one.
#include <cmath>

#include "conformance/cases/coded_form.hpp"
#include "conformance/cases/designs.hpp"

namespace etb::conformance {
namespace {

using graph::ArgumentDesc;
using graph::bool_arg;
using graph::float_arg;
using graph::int_arg;
using graph::ints_arg;
using graph::value_arg;

// Returns the nearest power of two below, or the scale itself.
double scale_of(double scale, bool is_power) {
  return is_power ? std::ldexp(1.0, static_cast<int>(std::floor(std::log2(scale)))) : scale;
}

// ---- functions of one element

struct Function {
  const char* op;
  const char* word;
  std::vector<ArgumentDesc> more;
  double low, high;                     // of the results for operands from -4 to 4
  double (*formula)(double) = nullptr;  // as Coded::formula
};

double hard_sigmoid(double x) { return std::min(std::max(x + 3, 0.0), 6.0) / 6; }
double hard_swish(double x) { return x * hard_sigmoid(x); }
double silu(double x) { return x / (1 + std::exp(-x)); }

const std::vector<Function>& functions() {
  static const std::vector<Function> all = {
      {"aten.sigmoid.default", "plain", {}, 0, 1},
      {"aten.tanh.default", "plain", {}, -1, 1},
      {"aten.hardswish.default", "plain", {}, -0.375, 4, hard_swish},
      {"aten.hardsigmoid.default", "plain", {}, 0, 1, hard_sigmoid},
      {"aten.silu.default", "plain", {}, -0.28, 4, silu},
      {"aten.gelu.default", "plain", {graph::string_arg("none", "approximate")}, -0.17, 4},
      {"aten.elu.default", "plain", {}, -1, 4},
      {"aten.leaky_relu.default", "slope_0p125", {float_arg(0.125, "negative_slope")}, -0.5, 4},
      {"aten.exp.default", "plain", {}, 0, 20},
      {"aten.abs.default", "plain", {}, 0, 4},
      {"aten.neg.default", "plain", {}, -4, 4},
      {"aten.relu.default", "plain", {}, 0, 4},
      {"aten.clamp.default", "m1_to_2", {float_arg(-1, "min"), float_arg(2, "max")}, -1, 2},
      {"aten.hardtanh.default", "m2_to_1", {float_arg(-2, "min_val"), float_arg(1, "max_val")}, -2, 1},
      {"aten.mul.Scalar", "1p5", {float_arg(1.5, "other")}, -6, 6},
      {"aten.add.Scalar", "m0p75", {float_arg(-0.75, "other")}, -4.75, 3.25},
      {"aten.div.Scalar", "m3", {float_arg(-3, "other")}, -1.4, 1.4}};
  return all;
}

struct FunctionRow {
  size_t function = 0;
  CodeRange codes;
  Sizes sizes;
  uint32_t order = 0;
  double place = 0;   // of the operand's zero point
  double spread = 1;  // of the result's scale: below 1 results saturate, above they are coarse
  bool is_power = false;
};

Coded coded_function(const FunctionRow& row, const Sizes& sizes) {
  const Function& function = functions()[row.function];
  const Shape shape{row.codes.dtype, sizes, order_of(sizes.size(), row.order)};
  constexpr double kSteps = 255;
  const double wanted = (function.high - function.low) / kSteps * row.spread;
  const double scale = scale_of(wanted, row.is_power);
  // The zero point lets the range of results fit the codes.
  const double zero =
      std::nearbyint(static_cast<double>(row.codes.low) - function.low / (wanted / row.spread));
  const auto limited = static_cast<int64_t>(
      std::min(std::max(zero, static_cast<double>(row.codes.low)), double(row.codes.high)));
  Coded out;
  out.op = function.op;
  out.word = std::string("table_") + function.word;
  out.operands = {shape};
  out.from = {{row.codes, row.is_power ? 0x1p-5 : 0.0313, zero_at(row.codes, row.place)}};
  out.to = {row.codes, scale, limited};
  out.result = shape;
  out.formula = function.formula;
  out.args = [&function](const std::vector<uint32_t>& values) {
    std::vector<ArgumentDesc> args = {value_arg(values[0], "self")};
    args.insert(args.end(), function.more.begin(), function.more.end());
    return args;
  };
  return out;
}

void add_functions(CaseList& out) {
  std::vector<size_t> numbers(functions().size());
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  DesignOf<FunctionRow> design;
  design.add(&FunctionRow::function, numbers);
  design.add(&FunctionRow::codes, {kInt8, kInt8, kInt8, kUint8});
  design.add(&FunctionRow::sizes, {{256}, {3, 97}, {2, 5, 31}, {1, 8, 5, 7}, {2, 3, 17, 9}, {1031}, {1, 64}});
  design.add(&FunctionRow::order, {0, 1});
  design.add(&FunctionRow::place, {0.5, 0, 1, 0.3});
  design.add(&FunctionRow::spread, {1, 0.4, 3});
  design.add(&FunctionRow::is_power, {true, false});
  size_t at = 0;
  for (const FunctionRow& row : design.rows("functions of codes")) {
    const Maker maker = [row](const Sizes& sizes) { return coded_form(coded_function(row, sizes)); };
    add_form(out, row.codes.dtype, maker(row.sizes));
    // A reference by formula has no dynamic form.
    if (at++ % 4 == 0 && functions()[row.function].formula == nullptr)
      add_dynamic_form(out, row.codes.dtype, maker, row.sizes, Moving::kFirst,
                       static_cast<Order>(at / 4 % 3));
  }
}

// ---- softmax

struct SoftmaxRow {
  Sizes sizes;
  size_t from_end = 1;  // the dimension, counted from the end
  bool is_negative = false;
  double scale = 1, place = 0;
};

void add_softmax(CaseList& out) {
  DesignOf<SoftmaxRow> design;
  design.add(&SoftmaxRow::sizes,
             {{10}, {3, 7}, {5, 65}, {2, 3, 17}, {1, 4, 9, 9}, {2, 1000}, {8, 1}, {1, 2, 257}});
  design.add(&SoftmaxRow::from_end, {1, 1, 2, 3});
  design.add(&SoftmaxRow::is_negative, {true, false});
  design.add(&SoftmaxRow::scale, {0x1p-5, 0.0471, 0.25, 0x1p-9});
  design.add(&SoftmaxRow::place, {0.5, 0, 1});
  const auto has_dim = [](const SoftmaxRow& row) { return row.from_end <= row.sizes.size(); };
  for (const SoftmaxRow& row : design.rows("softmax of codes", has_dim)) {
    Coded coded;
    coded.op = "aten._softmax.default";
    coded.operands = {{ETB_DTYPE_INT8, row.sizes, {}}};
    coded.from = {{kInt8, row.scale, zero_at(kInt8, row.place)}};
    coded.to = {kInt8, 0x1p-8, -128};
    coded.result = coded.operands[0];
    const size_t rank = row.sizes.size();
    const int64_t dim = signed_dim(rank - row.from_end, rank, row.is_negative);
    coded.word = "dim_" + number_text(dim);
    coded.args = [dim](const std::vector<uint32_t>& values) {
      return std::vector<ArgumentDesc>{value_arg(values[0], "self"), int_arg(dim, "dim"),
                                       bool_arg(false, "half_to_float")};
    };
    add_form(out, ETB_DTYPE_INT8, coded_form(coded));
  }
}

// ---- means over windows

struct WindowRow {
  Sizes sizes;
  uint32_t order = 0;
  Numbers kernel, stride, padding;
  bool is_ceil = false, counts_padding = true;
  int64_t divisor = 0;  // 0: none
  double place = 0, spread = 1;
  bool is_power = false;

  int64_t result_size(size_t d) const {
    const int64_t span = sizes[2 + d] + 2 * padding[d] - kernel[d];
    int64_t count = (span + (is_ceil ? stride[d] - 1 : 0)) / stride[d] + 1;
    if (is_ceil && (count - 1) * stride[d] >= sizes[2 + d] + padding[d]) --count;
    return count;
  }
};

void add_means(CaseList& out) {
  DesignOf<WindowRow> design;
  design.add(&WindowRow::sizes, {{1, 3, 7, 9}, {2, 8, 6, 5}, {1, 17, 12, 11}, {3, 1, 5, 5}});
  design.add(&WindowRow::order, {1, 0});
  design.add(&WindowRow::kernel, {{2, 2}, {3, 3}, {3, 2}, {5, 5}});
  design.add(&WindowRow::stride, {{2, 2}, {1, 1}, {2, 1}, {3, 3}});
  design.add(&WindowRow::padding, {{0, 0}, {1, 1}, {0, 1}});
  design.add(&WindowRow::is_ceil, {false, true});
  design.add(&WindowRow::counts_padding, {true, false});
  design.add(&WindowRow::divisor, {0, 0, 5, 16});
  design.add(&WindowRow::place, {0.5, 0, 1, 0.3});
  design.add(&WindowRow::spread, {1, 0.37});
  design.add(&WindowRow::is_power, {true, false});
  const auto is_allowed = [](const WindowRow& row) {
    // With another scale than a power of two, means that are ties would be beside them.
    if (!row.is_power && row.spread == 1) return false;
    return row.padding[0] * 2 <= row.kernel[0] && row.padding[1] * 2 <= row.kernel[1];
  };
  for (const WindowRow& row : design.rows("means of codes", is_allowed)) {
    Coded coded;
    coded.op = "aten.avg_pool2d.default";
    coded.operands = {{ETB_DTYPE_INT8, row.sizes, order_of(4, row.order)}};
    coded.from = {{kInt8, row.is_power ? 0x1p-5 : 0.0313, zero_at(kInt8, row.place)}};
    coded.to = {kInt8, coded.from[0].scale * row.spread, coded.from[0].zero};
    coded.result = coded.operands[0];
    coded.result.sizes = {row.sizes[0], row.sizes[1], row.result_size(0), row.result_size(1)};
    coded.word = "k" + number_text(row.kernel) + "_s" + number_text(row.stride) + "_p" +
                 number_text(row.padding) + (row.is_ceil ? "_ceil" : "") +
                 (row.counts_padding ? "" : "_inside") +
                 (row.divisor != 0 ? "_by_" + number_text(row.divisor) : "");
    coded.args = [row](const std::vector<uint32_t>& values) {
      return std::vector<ArgumentDesc>{
          value_arg(values[0], "self"),
          ints_arg(row.kernel, "kernel_size"),
          ints_arg(row.stride, "stride"),
          ints_arg(row.padding, "padding"),
          bool_arg(row.is_ceil, "ceil_mode"),
          bool_arg(row.counts_padding, "count_include_pad"),
          row.divisor != 0 ? int_arg(row.divisor, "divisor_override") : graph::none_arg("divisor_override")};
    };
    add_form(out, ETB_DTYPE_INT8, coded_form(coded));
  }
}

// ---- movement

struct Movement {
  const char* op;
  const char* word;
  Sizes sizes, result;
  std::vector<ArgumentDesc> more;
};

const std::vector<Movement>& movements() {
  static const std::vector<Movement> all = {
      {"aten.permute_copy.default", "nhwc", {2, 3, 5, 7}, {2, 5, 7, 3}, {ints_arg({0, 2, 3, -3}, "dims")}},
      {"aten.permute_copy.default", "reversed", {3, 33, 17}, {17, 33, 3}, {ints_arg({2, 1, 0}, "dims")}},
      {"aten.t_copy.default", "plain", {19, 67}, {67, 19}, {}},
      {"aten.view_copy.default", "flat", {2, 3, 5, 7}, {2, 105}, {ints_arg({2, -1}, "size")}},
      {"aten.view_copy.default", "split", {4, 96}, {4, 3, 4, 8}, {ints_arg({4, 3, 4, 8}, "size")}},
      {"aten.unsqueeze_copy.default", "inner", {5, 65}, {5, 1, 65}, {int_arg(-2, "dim")}},
      {"aten.squeeze_copy.dims", "two", {1, 33, 1, 9}, {33, 9}, {ints_arg({0, -2}, "dim")}},
      {"aten.slice_copy.Tensor",
       "channels",
       {1, 16, 5, 7},
       {1, 6, 5, 7},
       {int_arg(1, "dim"), int_arg(3, "start"), int_arg(9, "end"), int_arg(1, "step")}},
      {"aten.slice_copy.Tensor",
       "steps",
       {3, 65, 9},
       {3, 21, 9},
       {int_arg(-2, "dim"), int_arg(2, "start"), int_arg(-1, "end"), int_arg(3, "step")}},
      {"aten.slice_copy.Tensor",
       "from_end",
       {2, 9, 5},
       {2, 4, 5},
       {int_arg(1, "dim"), int_arg(-4, "start"), int_arg(INT64_MAX, "end"), int_arg(1, "step")}},
      {"aten.slice_copy.Tensor",
       "both_from_end",
       {3, 4, 17},
       {3, 4, 3},
       {int_arg(-1, "dim"), int_arg(-7, "start"), int_arg(-1, "end"), int_arg(2, "step")}},
      {"aten.select_copy.int", "from_end", {3, 5, 7}, {3, 7}, {int_arg(1, "dim"), int_arg(-2, "index")}},
      {"aten.expand_copy.default", "rows", {1, 3, 1, 7}, {2, 3, 5, 7}, {ints_arg({2, -1, 5, 7}, "size")}},
      {"aten.constant_pad_nd.default",
       "zero",
       {1, 3, 5, 7},
       {1, 3, 8, 11},
       {ints_arg({1, 3, 2, 1}, "pad"), float_arg(0, "value")}},
      {"aten.constant_pad_nd.default",
       "cut",
       {2, 5, 9},
       {2, 8, 7},
       {ints_arg({-1, -1, 0, 3}, "pad"), float_arg(0, "value")}},
      {"aten.clone.default", "plain", {2, 3, 4, 5}, {2, 3, 4, 5}, {}},
      {"aten.upsample_nearest2d.vec",
       "twice",
       {1, 3, 5, 7},
       {1, 3, 10, 14},
       {graph::none_arg("output_size"), graph::floats_arg({2, 2}, "scale_factors")}}};
  return all;
}

struct MovementRow {
  size_t movement = 0;
  CodeRange codes;
  double scale = 1, place = 0;
  double ratio = 1;  // of the result's scale
  bool moves_zero = false;
};

void add_movement(CaseList& out) {
  std::vector<size_t> numbers(movements().size());
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  DesignOf<MovementRow> design;
  design.add(&MovementRow::movement, numbers);
  design.add(&MovementRow::codes, {kInt8, kInt8, kUint8});
  design.add(&MovementRow::scale, {0x1p-5, 0.0173});
  design.add(&MovementRow::place, {0.3, 0, 1});
  design.add(&MovementRow::ratio, {1, 1, 0.7, 1.7});
  design.add(&MovementRow::moves_zero, {false, false, true});
  for (const MovementRow& row : design.rows("movement of codes")) {
    const Movement& movement = movements()[row.movement];
    const std::string_view op = movement.op;
    Coded coded;
    coded.op = movement.op;
    coded.word = movement.word;
    coded.operands = {{row.codes.dtype, movement.sizes, {}}};
    coded.from = {{row.codes, row.scale, zero_at(row.codes, row.place)}};
    coded.to = {row.codes, row.scale * row.ratio, zero_at(row.codes, row.moves_zero ? 0.6 : row.place)};
    coded.result = {row.codes.dtype, movement.result, {}};
    coded.args = [&movement, op](const std::vector<uint32_t>& values) {
      std::vector<ArgumentDesc> args = {
          value_arg(values[0], op.find("upsample") != op.npos ? "input" : "self")};
      args.insert(args.end(), movement.more.begin(), movement.more.end());
      return args;
    };
    add_form(out, row.codes.dtype, coded_form(coded));
  }
}

// Factors that sizes times them do not reach: the factor decides, not the ratio of sizes.
void add_resizes(CaseList& out) {
  for (const auto& [height, width] : {std::pair{1.3, 1.7}, std::pair{1.5, 0.7}, std::pair{2.3, 1.0}}) {
    Coded coded;
    coded.op = "aten.upsample_nearest2d.vec";
    coded.word = "by_" + real_text(height) + "_" + real_text(width);
    coded.operands = {{ETB_DTYPE_INT8, {1, 3, 5, 7}, {}}};
    coded.from = {{kInt8, 0x1p-5, 3}};
    coded.to = coded.from[0];
    coded.result = {
        ETB_DTYPE_INT8, {1, 3, static_cast<int64_t>(5 * height), static_cast<int64_t>(7 * width)}, {}};
    coded.args = [height = height, width = width](const std::vector<uint32_t>& values) {
      return std::vector<ArgumentDesc>{value_arg(values[0], "input"), graph::none_arg("output_size"),
                                       graph::floats_arg({height, width}, "scale_factors")};
    };
    add_form(out, ETB_DTYPE_INT8, coded_form(coded));
  }
}

// Each part has codes of its own.
struct JoinRow {
  size_t count = 2;
  Sizes sizes;
  size_t dim = 0;
  bool is_negative = false, is_shared = false, is_power = false;
  double place = 0;
};

void add_joins(CaseList& out) {
  DesignOf<JoinRow> design;
  design.add(&JoinRow::count, {2, 3, 5});
  design.add(&JoinRow::sizes, {{17}, {3, 9}, {2, 5, 7}, {1, 4, 6, 5}});
  design.add(&JoinRow::dim, {0, 1, 2, 3});
  design.add(&JoinRow::is_negative, {true, false});
  design.add(&JoinRow::is_shared, {true, false});
  design.add(&JoinRow::is_power, {true, false});
  design.add(&JoinRow::place, {0.5, 0, 1});
  const auto has_dim = [](const JoinRow& row) { return row.dim < row.sizes.size(); };
  for (const JoinRow& row : design.rows("joins of codes", has_dim)) {
    Coded coded;
    coded.op = "aten.cat.default";
    coded.result = {ETB_DTYPE_INT8, row.sizes, {}};
    coded.result.sizes[row.dim] = 0;
    const double scale = row.is_power ? 0x1p-5 : 0.0237;
    for (size_t i = 0; i < row.count; ++i) {
      Shape part{ETB_DTYPE_INT8, row.sizes, {}};
      part.sizes[row.dim] += static_cast<int64_t>(i);
      coded.result.sizes[row.dim] += part.sizes[row.dim];
      coded.operands.push_back(part);
      const double place = row.is_shared ? row.place : std::fmod(row.place + 0.3 * static_cast<double>(i), 1);
      const double factor = row.is_shared ? 1 : i % 2 == 0 ? 1 : 0.6;
      coded.from.push_back({kInt8, scale * factor, zero_at(kInt8, place)});
    }
    coded.to = coded.from[0];
    const int64_t dim = signed_dim(row.dim, row.sizes.size(), row.is_negative);
    coded.word = "dim_" + number_text(dim) + (row.is_shared ? "" : "_own_scales");
    coded.args = [dim](const std::vector<uint32_t>& values) {
      return std::vector<ArgumentDesc>{graph::values_arg(values, "tensors"), int_arg(dim, "dim")};
    };
    add_form(out, ETB_DTYPE_INT8, coded_form(coded));
  }
}

}  // namespace

void add_quantised_function_designs(CaseList& out) {
  add_functions(out);
  add_softmax(out);
  add_means(out);
  add_movement(out);
  add_resizes(out);
  add_joins(out);
}

}  // namespace etb::conformance
