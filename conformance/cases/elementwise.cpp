// Formulas of one, two and three tensors: one row an op.
#include <algorithm>
#include <cmath>
#include <limits>

#include "conformance/cases/generators.hpp"
#include "conformance/cases/maker.hpp"

namespace etb::conformance {
namespace {

enum class Gives { kSame, kReal, kBool };

// Which inputs an op takes.
enum Takes : unsigned {
  kTakesFloat = 1,
  kTakesInteger = 2,
  kTakesBool = 4,
  kTakesNumbers = 3,
  kTakesAll = 7
};

struct UnaryRow {
  const char* op;
  Rule rule;
  double
      ulps;  // OpenCL C's full profile (table 66) where it has the function, else twice its largest sibling
  Gives gives;
  unsigned takes;
  Domain domain = {-4, 4};
  bool has_special = true;
};

constexpr double kHalf = 0.5;

const UnaryRow kUnary[] = {
    {"aten.abs.default", Rule::kExact, 0, Gives::kSame, kTakesNumbers},
    {"aten.neg.default", Rule::kExact, 0, Gives::kSame, kTakesNumbers},
    {"aten.ceil.default", Rule::kExact, 0, Gives::kSame, kTakesFloat},
    {"aten.floor.default", Rule::kExact, 0, Gives::kSame, kTakesFloat},
    {"aten.round.default", Rule::kExact, 0, Gives::kSame, kTakesFloat},
    {"aten.trunc.default", Rule::kExact, 0, Gives::kSame, kTakesFloat},
    {"aten.sign.default", Rule::kExactValue, 0, Gives::kSame, kTakesNumbers, {-4, 4}, false},
    {"aten.relu.default", Rule::kExactValue, 0, Gives::kSame, kTakesNumbers},
    {"aten.clone.default", Rule::kExact, 0, Gives::kSame, kTakesAll},
    {"aten.alias_copy.default", Rule::kExact, 0, Gives::kSame, kTakesAll},
    {"aten.detach_copy.default", Rule::kExact, 0, Gives::kSame, kTakesNumbers},
    {"aten.isinf.default", Rule::kExact, 0, Gives::kBool, kTakesAll},
    {"aten.isnan.default", Rule::kExact, 0, Gives::kBool, kTakesAll},
    {"aten.logical_not.default", Rule::kExact, 0, Gives::kBool, kTakesAll},
    {"aten.bitwise_not.default", Rule::kExact, 0, Gives::kSame, kTakesInteger | kTakesBool},
    {"aten.sqrt.default", Rule::kRounded, kHalf, Gives::kReal, kTakesAll, {0.01, 100}},
    {"aten.reciprocal.default", Rule::kRounded, kHalf, Gives::kReal, kTakesNumbers, {0.25, 4}},
    {"aten.rsqrt.default", Rule::kRounded, 2, Gives::kReal, kTakesAll, {0.01, 100}, false},
    {"aten.exp.default", Rule::kRounded, 3, Gives::kReal, kTakesAll, {-10, 10}},
    {"aten.expm1.default", Rule::kRounded, 3, Gives::kReal, kTakesAll, {-5, 5}},
    {"aten.log.default", Rule::kRounded, 3, Gives::kReal, kTakesAll, {0.01, 100}},
    {"aten.log2.default", Rule::kRounded, 3, Gives::kReal, kTakesAll, {0.01, 100}},
    {"aten.log10.default", Rule::kRounded, 3, Gives::kReal, kTakesAll, {0.01, 100}},
    {"aten.log1p.default", Rule::kRounded, 3, Gives::kReal, kTakesAll, {-0.9, 10}},
    {"aten.sin.default", Rule::kRounded, 4, Gives::kReal, kTakesAll, {-10, 10}, false},
    {"aten.cos.default", Rule::kRounded, 4, Gives::kReal, kTakesAll, {-10, 10}, false},
    {"aten.tan.default", Rule::kRounded, 5, Gives::kReal, kTakesAll, {-1.5, 1.5}, false},
    {"aten.asin.default", Rule::kRounded, 4, Gives::kReal, kTakesAll, {-1, 1}},
    {"aten.acos.default", Rule::kRounded, 4, Gives::kReal, kTakesAll, {-1, 1}},
    {"aten.atan.default", Rule::kRounded, 5, Gives::kReal, kTakesAll, {-10, 10}},
    {"aten.sinh.default", Rule::kRounded, 4, Gives::kReal, kTakesAll, {-5, 5}},
    {"aten.cosh.default", Rule::kRounded, 4, Gives::kReal, kTakesAll, {-5, 5}},
    {"aten.tanh.default", Rule::kRounded, 5, Gives::kReal, kTakesAll, {-5, 5}},
    {"aten.asinh.default", Rule::kRounded, 4, Gives::kReal, kTakesAll, {-10, 10}},
    {"aten.acosh.default", Rule::kRounded, 4, Gives::kReal, kTakesAll, {1, 20}},
    {"aten.atanh.default", Rule::kRounded, 5, Gives::kReal, kTakesAll, {-0.95, 0.95}},
    {"aten.erf.default", Rule::kRounded, 16, Gives::kReal, kTakesAll, {-3, 3}},
    {"aten.sigmoid.default", Rule::kRounded, 6, Gives::kReal, kTakesAll, {-10, 10}},
};

// Sizes of one operand: vector lengths around powers of two, odd ones, every rank up to 5, channels last.
std::vector<Shape> unary_shapes(etb_dtype dtype) {
  std::vector<Shape> out;
  for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{{},
                                                                             {1},
                                                                             {7},
                                                                             {16},
                                                                             {65},
                                                                             {1031},
                                                                             {3, 5},
                                                                             {2, 3, 4},
                                                                             {2, 3, 4, 5},
                                                                             {2, 1, 3, 2, 2},
                                                                             {0},
                                                                             {2, 0, 3}})
    out.push_back({dtype, sizes, {}});
  out.push_back({dtype, {2, 3, 4, 5}, channels_last(4)});
  return out;
}

bool takes(unsigned taken, etb_dtype dtype) {
  const unsigned bit = is_floating(dtype)        ? kTakesFloat
                       : dtype == ETB_DTYPE_BOOL ? kTakesBool
                                                 : kTakesInteger;
  return (taken & bit) != 0;
}

etb_dtype result_dtype(Gives gives, etb_dtype dtype) {
  if (gives == Gives::kBool) return ETB_DTYPE_BOOL;
  return gives == Gives::kReal && !is_floating(dtype) ? ETB_DTYPE_FLOAT32 : dtype;
}

// Cases on special values, empty tensors and scalars are of the group edge.
std::string name_of(const char* op, etb_dtype dtype, const std::string& sizes, Values values, bool is_edge) {
  std::string word = op_word(op);
  if (is_edge) word = "edge" + word.substr(2);
  return word + "." + short_name(dtype) + "." + sizes + "." + to_text(values);
}

bool is_edge_shape(const Shape& shape) { return shape.numel() == 0 || shape.sizes.empty(); }

// A double holds the integers of up to 53 bits: others are compared by their own kernels.
Judgement judgement_of(Rule rule, double ulps, double steps = 0) {
  Judgement out;
  out.rule = rule;
  out.ulps = ulps;
  out.steps = steps;
  return out;
}

void add_unary(CaseList& out, const UnaryRow& row, const Shape& shape, Values values) {
  const etb_dtype dtype = shape.dtype;
  const bool is_edge = values == Values::kSpecial || is_edge_shape(shape);
  out.add({name_of(row.op, dtype, shape_text(shape), values, is_edge), row.op, dtype,
           [&row, shape, values](std::string_view name) {
             Maker maker(name);
             Shape result = shape;
             result.dtype = result_dtype(row.gives, shape.dtype);
             const uint32_t x = maker.input(shape, values, row.domain);
             maker.output(maker.node(row.op, {graph::value_arg(x, "self")}, result));
             Result<BuiltCase> built = maker.finish(judgement_of(row.rule, row.ulps));
             if (built) built->widen_integers = row.gives == Gives::kReal;
             return built;
           }});
}

void add_all_unary(CaseList& out) {
  for (const UnaryRow& row : kUnary) {
    for (const etb_dtype dtype : kAllDtypes) {
      if (!takes(row.takes, dtype)) continue;
      for (const Shape& shape : unary_shapes(dtype)) {
        const bool has_room = shape.numel() > 1;
        add_unary(out, row, shape, Values::kStatistical);
        if (has_room && shape.sizes.size() < 3 && row.rule == Rule::kExact)
          add_unary(out, row, shape, Values::kExact);
      }
      if (row.has_special && dtype != ETB_DTYPE_BOOL)
        add_unary(out, row, {dtype, {64}, {}}, Values::kSpecial);
      if (row.has_special && is_floating(dtype) && dtype != ETB_DTYPE_FLOAT64)
        add_unary(out, row, {dtype, {65536}, {}}, Values::kEvery);
      if (is_floating(dtype) && row.rule != Rule::kRounded)
        add_unary(out, row, {dtype, {33}, {}}, Values::kTies);
    }
  }
}

// ---- two tensors

enum class Second { kAny, kNotZero, kPositive, kShift };

struct BinaryRow {
  const char* op;
  Rule rule;
  double ulps;
  Gives gives;
  unsigned takes;
  double alpha = 0;  // of add and sub; 0: the op has none
  Second second = Second::kAny;
  bool has_special = true;
};

const BinaryRow kBinary[] = {
    {"aten.add.Tensor", Rule::kRounded, kHalf, Gives::kSame, kTakesNumbers},
    {"aten.sub.Tensor", Rule::kRounded, kHalf, Gives::kSame, kTakesNumbers},
    {"aten.mul.Tensor", Rule::kRounded, kHalf, Gives::kSame, kTakesAll},
    {"aten.div.Tensor", Rule::kRounded, kHalf, Gives::kReal, kTakesNumbers, 0, Second::kNotZero},
    {"aten.maximum.default", Rule::kExactValue, 0, Gives::kSame, kTakesAll},
    {"aten.minimum.default", Rule::kExactValue, 0, Gives::kSame, kTakesAll},
    {"aten.eq.Tensor", Rule::kExact, 0, Gives::kBool, kTakesAll},
    {"aten.ne.Tensor", Rule::kExact, 0, Gives::kBool, kTakesAll},
    {"aten.lt.Tensor", Rule::kExact, 0, Gives::kBool, kTakesAll},
    {"aten.le.Tensor", Rule::kExact, 0, Gives::kBool, kTakesAll},
    {"aten.gt.Tensor", Rule::kExact, 0, Gives::kBool, kTakesAll},
    {"aten.ge.Tensor", Rule::kExact, 0, Gives::kBool, kTakesAll},
    {"aten.logical_and.default", Rule::kExact, 0, Gives::kBool, kTakesAll},
    {"aten.logical_or.default", Rule::kExact, 0, Gives::kBool, kTakesAll},
    {"aten.logical_xor.default", Rule::kExact, 0, Gives::kBool, kTakesAll},
    {"aten.bitwise_and.Tensor", Rule::kExact, 0, Gives::kSame, kTakesInteger | kTakesBool},
    {"aten.bitwise_or.Tensor", Rule::kExact, 0, Gives::kSame, kTakesInteger | kTakesBool},
    {"aten.bitwise_xor.Tensor", Rule::kExact, 0, Gives::kSame, kTakesInteger | kTakesBool},
    {"aten.bitwise_left_shift.Tensor", Rule::kExact, 0, Gives::kSame, kTakesInteger, 0, Second::kShift,
     false},
    {"aten.bitwise_right_shift.Tensor", Rule::kExact, 0, Gives::kSame, kTakesInteger, 0, Second::kShift,
     false},
    {"aten.fmod.Tensor", Rule::kExactValue, 0, Gives::kSame, kTakesNumbers, 0, Second::kNotZero, false},
    {"aten.pow.Tensor_Tensor", Rule::kRounded, 16, Gives::kSame, kTakesFloat, 0, Second::kPositive, false},
    {"aten.atan2.default", Rule::kRounded, 6, Gives::kSame, kTakesFloat, 0, Second::kNotZero, false},
};

struct ShapePair {
  std::vector<int64_t> a, b;
  bool a_is_last = false, b_is_last = false;  // channels last
};

const ShapePair kPairs[] = {
    {{7}, {7}},
    {{65}, {65}},
    {{1031}, {1031}},
    {{1024}, {1024}},  // whole pages of 4-byte elements: guards stand on both sides
    {{2, 3}, {2, 3}},
    {{2, 3}, {3}},
    {{3}, {2, 3}},
    {{2, 3}, {2, 1}},
    {{2, 1, 4}, {3, 1}},
    {{4}, {1}},
    {{2, 3, 4}, {}},
    {{2, 3, 4, 5}, {2, 3, 4, 5}},
    {{2, 3, 4, 5}, {3, 1, 1}},
    {{1, 3, 1, 5}, {2, 1, 4, 1}},
    {{2, 3, 4, 5}, {2, 3, 4, 5}, true, true},
    {{2, 3, 4, 5}, {3, 1, 1}, true, false},
    {{2, 3, 4, 5}, {2, 3, 4, 5}, true, false},
    {{}, {}},
    {{0}, {0}},
    {{2, 0}, {1, 1}},
};

std::vector<int64_t> broadcast(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  std::vector<int64_t> out(std::max(a.size(), b.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

Shape shaped(etb_dtype dtype, const std::vector<int64_t>& sizes, bool is_last) {
  return {dtype, sizes, is_last ? channels_last(sizes.size()) : std::vector<uint8_t>{}};
}

// Division and friends get no zeros, shifts get counts inside the width.
void restrict_second(TensorData& data, Second second, Random& random) {
  if (second == Second::kAny) return;
  for (int64_t i = 0; i < data.shape.numel(); ++i) {
    double value = load_element(data.shape.dtype, data.bytes.data(), i);
    if (second == Second::kShift)
      value = static_cast<double>(
          random.between(0, static_cast<int64_t>(element_nbytes(data.shape.dtype)) * 8 - 1));
    if (second == Second::kNotZero && value == 0) value = 3;
    if (second == Second::kPositive) value = std::abs(value) + 0.5;
    store_element(data.shape.dtype, data.bytes.data(), i, value);
  }
}

std::vector<graph::ArgumentDraft> binary_args(const BinaryRow& row, uint32_t a, uint32_t b, etb_dtype dtype,
                                              double alpha) {
  const bool is_pow = std::string_view(row.op).find("pow") != std::string_view::npos;
  std::vector<graph::ArgumentDraft> args = {graph::value_arg(a, "self"),
                                            graph::value_arg(b, is_pow ? "exponent" : "other")};
  if (alpha != 0)
    args.push_back(is_floating(dtype) && alpha != std::floor(alpha)
                       ? graph::float_arg(alpha, "alpha")
                       : graph::int_arg(static_cast<int64_t>(alpha), "alpha"));
  return args;
}

// |a| + |b| of every element, for the rounding of alpha * b.
std::vector<double> sum_of_absolutes(const std::vector<TensorData>& inputs) {
  double largest = 0;
  for (const TensorData& input : inputs)
    for (int64_t i = 0; i < input.shape.numel(); ++i) {
      const double value = std::abs(load_element(input.shape.dtype, input.bytes.data(), i));
      if (std::isfinite(value)) largest = std::max(largest, value);
    }
  return {2 * largest};
}

void add_binary(CaseList& out, const BinaryRow& row, const ShapePair& pair, etb_dtype dtype, Values values,
                double alpha) {
  const Shape a = shaped(dtype, pair.a, pair.a_is_last), b = shaped(dtype, pair.b, pair.b_is_last);
  const Shape result = shaped(result_dtype(row.gives, dtype), broadcast(pair.a, pair.b), pair.a_is_last);
  std::string sizes = shape_text(a) + "__" + shape_text(b);
  if (alpha != 0) sizes += alpha == 2 ? ".alpha2" : ".alpha0p5";
  out.add({name_of(row.op, dtype, sizes, values, values == Values::kSpecial || is_edge_shape(result)), row.op,
           dtype, [&row, a, b, result, values, alpha](std::string_view name) {
             Maker maker(name);
             const bool is_pow = row.second == Second::kPositive;
             const Domain first = is_pow ? Domain{0.25, 4} : Domain{};
             const uint32_t x = maker.input(a, values, first);
             TensorData second = make_values(b, values, {}, 1, maker.random());
             restrict_second(second, row.second, maker.random());
             const uint32_t y = maker.input(std::move(second));
             maker.output(maker.node(row.op, binary_args(row, x, y, a.dtype, alpha), result));
             Judgement judgement = judgement_of(row.rule, row.ulps, alpha != 0 && alpha != 2 ? 1 : 0);
             if (alpha != 0) judgement.magnitude = sum_of_absolutes;
             Result<BuiltCase> built = maker.finish(std::move(judgement));
             if (built) built->widen_integers = row.gives == Gives::kReal;
             return built;
           }});
}

void add_all_binary(CaseList& out) {
  for (const BinaryRow& row : kBinary) {
    const bool has_alpha =
        std::string_view(row.op) == "aten.add.Tensor" || std::string_view(row.op) == "aten.sub.Tensor";
    for (const etb_dtype dtype : kAllDtypes) {
      if (!takes(row.takes, dtype)) continue;
      for (const ShapePair& pair : kPairs) add_binary(out, row, pair, dtype, Values::kStatistical, 0);
      for (const size_t index : {size_t{1}, size_t{4}, size_t{10}, size_t{13}})
        if (row.second == Second::kAny) add_binary(out, row, kPairs[index], dtype, Values::kExact, 0);
      if (row.has_special && row.second == Second::kAny && dtype != ETB_DTYPE_BOOL)
        add_binary(out, row, {{25, 25}, {25, 25}}, dtype, Values::kSpecial, 0);
      if (!has_alpha) continue;
      add_binary(out, row, kPairs[3], dtype, Values::kExact, 2);
      if (is_floating(dtype)) add_binary(out, row, kPairs[3], dtype, Values::kStatistical, 0.5);
    }
  }
}

// ---- a tensor and a number

struct ScalarRow {
  const char* op;
  Rule rule;
  Gives gives;
  unsigned takes;
  const char* argument;
  double value;
};

const ScalarRow kScalar[] = {
    {"aten.add.Scalar", Rule::kRounded, Gives::kSame, kTakesNumbers, "other", 3},
    {"aten.sub.Scalar", Rule::kRounded, Gives::kSame, kTakesNumbers, "other", 3},
    {"aten.mul.Scalar", Rule::kRounded, Gives::kSame, kTakesNumbers, "other", 3},
    {"aten.div.Scalar", Rule::kRounded, Gives::kReal, kTakesNumbers, "other", 3},
    {"aten.eq.Scalar", Rule::kExact, Gives::kBool, kTakesAll, "other", 1},
    {"aten.ne.Scalar", Rule::kExact, Gives::kBool, kTakesAll, "other", 1},
    {"aten.lt.Scalar", Rule::kExact, Gives::kBool, kTakesAll, "other", 1},
    {"aten.le.Scalar", Rule::kExact, Gives::kBool, kTakesAll, "other", 1},
    {"aten.gt.Scalar", Rule::kExact, Gives::kBool, kTakesAll, "other", 1},
    {"aten.ge.Scalar", Rule::kExact, Gives::kBool, kTakesAll, "other", 1},
    {"aten.bitwise_and.Scalar", Rule::kExact, Gives::kSame, kTakesInteger, "other", 5},
    {"aten.bitwise_or.Scalar", Rule::kExact, Gives::kSame, kTakesInteger, "other", 5},
    {"aten.bitwise_xor.Scalar", Rule::kExact, Gives::kSame, kTakesInteger, "other", 5},
    {"aten.fmod.Scalar", Rule::kExactValue, Gives::kSame, kTakesNumbers, "other", 3},
};

void add_all_scalar(CaseList& out) {
  for (const ScalarRow& row : kScalar)
    for (const etb_dtype dtype : kAllDtypes) {
      if (!takes(row.takes, dtype)) continue;
      for (const Shape& shape : unary_shapes(dtype)) {
        const std::string name =
            name_of(row.op, dtype, shape_text(shape), Values::kStatistical, is_edge_shape(shape));
        out.add({name, row.op, dtype, [&row, shape](std::string_view full_name) {
                   Maker maker(full_name);
                   Shape result = shape;
                   result.dtype = result_dtype(row.gives, shape.dtype);
                   const uint32_t x = maker.input(shape, Values::kStatistical);
                   maker.output(maker.node(row.op,
                                           {graph::value_arg(x, "self"),
                                            graph::int_arg(static_cast<int64_t>(row.value), row.argument)},
                                           result));
                   Result<BuiltCase> built = maker.finish(judgement_of(row.rule, kHalf));
                   if (built) built->widen_integers = row.gives == Gives::kReal;
                   return built;
                 }});
      }
    }
}

// ---- bounds, slopes, selection

struct Limits {
  const char* word;
  std::vector<graph::ArgumentDraft> args;
};

void add_limited(CaseList& out, const char* op, const Limits& limits, const Shape& shape, Values values,
                 Rule rule, double ulps, double steps, const Magnitude& magnitude) {
  const std::string sizes = shape_text(shape) + "." + limits.word;
  out.add({name_of(op, shape.dtype, sizes, values, values == Values::kSpecial || is_edge_shape(shape)), op,
           shape.dtype, [=](std::string_view name) {
             Maker maker(name);
             const uint32_t x = maker.input(shape, values);
             std::vector<graph::ArgumentDraft> args = {graph::value_arg(x, "self")};
             args.insert(args.end(), limits.args.begin(), limits.args.end());
             maker.output(maker.node(op, args, shape));
             Judgement judgement = judgement_of(rule, ulps, steps);
             judgement.magnitude = magnitude;
             return maker.finish(std::move(judgement));
           }});
}

// |x| of every element.
std::vector<double> absolutes(const std::vector<TensorData>& inputs) {
  std::vector<double> out;
  for (int64_t i = 0; i < inputs[0].shape.numel(); ++i)
    out.push_back(std::abs(load_element(inputs[0].shape.dtype, inputs[0].bytes.data(), i)));
  return out;
}

void add_all_limited(CaseList& out) {
  const Limits clamps[] = {{"both", {graph::int_arg(-1, "min"), graph::int_arg(2, "max")}},
                           {"min", {graph::int_arg(-1, "min"), graph::none_arg("max")}},
                           {"max", {graph::none_arg("min"), graph::int_arg(2, "max")}}};
  for (const etb_dtype dtype : kAllDtypes) {
    if (dtype == ETB_DTYPE_BOOL) continue;
    for (const Shape& shape : unary_shapes(dtype)) {
      for (const Limits& limits : clamps) {
        if (dtype == ETB_DTYPE_UINT8) continue;
        add_limited(out, "aten.clamp.default", limits, shape, Values::kStatistical, Rule::kExactValue, 0, 0,
                    nullptr);
      }
      if (dtype != ETB_DTYPE_UINT8)
        add_limited(out, "aten.hardtanh.default",
                    {"m1_2", {graph::int_arg(-1, "min_val"), graph::int_arg(2, "max_val")}}, shape,
                    Values::kStatistical, Rule::kExactValue, 0, 0, nullptr);
      if (!is_floating(dtype)) continue;
      add_limited(out, "aten.leaky_relu.default", {"s0p125", {graph::float_arg(0.125, "negative_slope")}},
                  shape, Values::kStatistical, Rule::kRounded, kHalf, 1, absolutes);
      add_limited(out, "aten.elu.default", {"a1", {graph::float_arg(1, "alpha")}}, shape,
                  Values::kStatistical, Rule::kRounded, 4, 0, nullptr);
      // x * 0.5 * (1 + erf(x / sqrt(2))): what the sum loses for negative x counts against |x|.
      add_limited(out, "aten.gelu.default", {"erf", {graph::string_arg("none", "approximate")}}, shape,
                  Values::kStatistical, Rule::kRounded, 6, 4, absolutes);
      add_limited(out, "aten.gelu.default", {"tanh", {graph::string_arg("tanh", "approximate")}}, shape,
                  Values::kStatistical, Rule::kRounded, 6, 8, absolutes);
    }
    if (!is_floating(dtype)) continue;
    for (const Limits& limits : clamps)
      add_limited(out, "aten.clamp.default", limits, {dtype, {64}, {}}, Values::kSpecial, Rule::kExactValue,
                  0, 0, nullptr);
  }
}

void add_all_where(CaseList& out) {
  for (const etb_dtype dtype : kAllDtypes)
    for (const ShapePair& pair : kPairs) {
      const Shape a = shaped(dtype, pair.a, pair.a_is_last), b = shaped(dtype, pair.b, pair.b_is_last);
      const Shape result = shaped(dtype, broadcast(pair.a, pair.b), pair.a_is_last);
      const std::string sizes = shape_text(a) + "__" + shape_text(b);
      out.add({name_of("aten.where.self", dtype, sizes, Values::kStatistical, is_edge_shape(result)),
               "aten.where.self", dtype, [a, b, result](std::string_view name) {
                 Maker maker(name);
                 Shape condition = a;
                 condition.dtype = ETB_DTYPE_BOOL;
                 const uint32_t c = maker.input(condition, Values::kExact),
                                x = maker.input(a, Values::kStatistical),
                                y = maker.input(b, Values::kStatistical);
                 maker.output(maker.node("aten.where.self",
                                         {graph::value_arg(c, "condition"), graph::value_arg(x, "self"),
                                          graph::value_arg(y, "other")},
                                         result));
                 return maker.finish(judgement_of(Rule::kExact, 0));
               }});
    }
}

// ---- conversions

void add_all_conversions(CaseList& out) {
  for (const etb_dtype from : kAllDtypes)
    for (const etb_dtype to : kAllDtypes)
      for (const Values values : {Values::kStatistical, Values::kTies, Values::kExact}) {
        if (from == to || (from == ETB_DTYPE_BOOL && values != Values::kExact)) continue;
        // Reals beyond an integer's range, and negative ones to an unsigned type, have no meaning.
        const bool is_unsigned = to == ETB_DTYPE_UINT8 && from != ETB_DTYPE_BOOL;
        for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{65}, std::vector<int64_t>{2, 3, 4}}) {
          const Shape shape{from, sizes, {}};
          const std::string name = name_of("aten._to_copy.default", from,
                                           shape_text(shape) + ".to_" + short_name(to), values, false);
          out.add(
              {name, "aten._to_copy.default", from, [=](std::string_view full_name) {
                 Maker maker(full_name);
                 TensorData data =
                     make_values(shape, values, is_unsigned ? Domain{0, 4} : Domain{}, 0, maker.random());
                 if (is_unsigned)
                   for (int64_t i = 0; i < data.shape.numel(); ++i)
                     store_element(from, data.bytes.data(), i,
                                   std::abs(load_element(from, data.bytes.data(), i)));
                 const uint32_t x = maker.input(std::move(data));
                 Shape result = shape;
                 result.dtype = to;
                 maker.output(maker.node(
                     "aten._to_copy.default",
                     {graph::value_arg(x, "self"), graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, to, "dtype")},
                     result));
                 return maker.finish(judgement_of(is_floating(to) ? Rule::kRounded : Rule::kExact, kHalf));
               }});
        }
      }
}

}  // namespace

void add_elementwise(CaseList& out) {
  add_all_unary(out);
  add_all_binary(out);
  add_all_scalar(out);
  add_all_limited(out);
  add_all_where(out);
  add_all_conversions(out);
}

}  // namespace etb::conformance
