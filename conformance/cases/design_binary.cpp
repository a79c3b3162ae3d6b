// SPDX-License-Identifier: Apache-2.0
// Elementwise ops of two and three tensors: broadcasting in every direction up to rank 8, constants and one
// value as both operands, dim orders, factors, special values of either operand; dynamic sizes.
#include <cmath>
#include <optional>

#include "conformance/cases/design.hpp"
#include "conformance/cases/designs.hpp"
#include "conformance/cases/elementwise.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

// How an operand's sizes follow from those of the whole.
enum Part : uint32_t { kWhole, kFirstIsOne, kLastIsOne, kMiddleIsOne, kNoFirst, kLastOnly, kScalar, kOnes };

std::vector<Part> all_parts() {
  return {kWhole, kFirstIsOne, kLastIsOne, kMiddleIsOne, kNoFirst, kLastOnly, kScalar, kOnes};
}

Sizes part_of(const Sizes& sizes, Part part) {
  Sizes out = sizes;
  if (sizes.empty() || part == kWhole) return out;
  if (part == kFirstIsOne) out.front() = 1;
  if (part == kLastIsOne) out.back() = 1;
  if (part == kMiddleIsOne) out[sizes.size() / 2] = 1;
  if (part == kNoFirst) out.erase(out.begin());
  if (part == kLastOnly) out = {sizes.back()};
  if (part == kScalar) out.clear();
  if (part == kOnes) std::fill(out.begin(), out.end(), 1);
  return out;
}

enum Role : uint32_t { kInputs, kSecondIsConstant, kFirstIsConstant, kTwice };

struct Setting {
  Part part_a = kWhole, part_b = kWhole;
  Role role = kInputs;
  uint32_t order_a = 0, order_b = 0;
  Values data_a = Values::kStatistical, data_b = Values::kStatistical;
  std::optional<double> alpha;
};

const Sizes kSizes[2][7] = {
    {{}, {33}, {5, 64}, {3, 7, 9}, {2, 3, 5, 8}, {2, 3, 2, 5, 4}, {2, 3, 3, 2, 4, 3}},
    {{}, {129}, {16, 17}, {4, 2, 31}, {3, 4, 3, 16}, {3, 2, 4, 2, 7}, {2, 2, 3, 4, 2, 5}}};

// The op with its own rules: a rounding mode, and what cannot be special.
struct PairOp {
  BinaryRow row;
  const char* mode = nullptr;  // rounding_mode
  double steps = 0;            // roundings of intermediates as large as twice the largest operand
};

// Ops that have cases only here.
const PairOp kMore[] = {
    {{"aten.div.Tensor_mode", Rule::kExactValue, 0, Gives::kSame, kTakesNumbers, 0, Second::kNotZero, false},
     "trunc"},
    {{"aten.div.Tensor_mode", Rule::kExactValue, 0, Gives::kSame, kTakesNumbers, 0, Second::kNotZero, false},
     "floor"},
    {{"aten.floor_divide.default", Rule::kExactValue, 0, Gives::kSame, kTakesNumbers, 0, Second::kNotZero,
      false}},
    {{"aten.remainder.Tensor", Rule::kRounded, 1, Gives::kSame, kTakesNumbers, 0, Second::kNotZero, false},
     nullptr,
     1},
    {{"aten.gcd.default", Rule::kExact, 0, Gives::kSame, kTakesInteger}},
    {{"aten.lcm.default", Rule::kExact, 0, Gives::kSame, kTakesInteger, 0, Second::kNotZero, false}},
    {{"aten.hypot.default", Rule::kRounded, 4, Gives::kSame, kTakesFloat}},
};

bool is_quotient(const PairOp& op) {
  const std::string_view name = op.row.op;
  return op.mode != nullptr || name == "aten.floor_divide.default" || name == "aten.remainder.Tensor";
}

std::vector<graph::ArgumentDesc> arguments(const PairOp& op, const Setting& setting, etb_dtype dtype) {
  const bool is_pow = std::string_view(op.row.op).find("pow") != std::string_view::npos;
  std::vector<graph::ArgumentDesc> args = {
      value_arg(0, "self"), value_arg(setting.role == kTwice ? 0 : 1, is_pow ? "exponent" : "other")};
  if (op.mode != nullptr) args.push_back(graph::string_arg(op.mode, "rounding_mode"));
  if (setting.alpha)
    args.push_back(is_floating(dtype) && *setting.alpha != std::floor(*setting.alpha)
                       ? graph::float_arg(*setting.alpha, "alpha")
                       : graph::int_arg(static_cast<int64_t>(*setting.alpha), "alpha"));
  return args;
}

Operand second_operand(const PairOp& op, const Shape& shape, const Setting& setting) {
  Operand out{shape, setting.data_b, {}, setting.role == kSecondIsConstant};
  if (op.row.second != Second::kAny)
    out.fill = [second = op.row.second](TensorData& data, Random& random) {
      restrict_second(data, second, random);
    };
  return out;
}

Maker pair_maker(const PairOp& op, etb_dtype dtype, const Setting& setting) {
  return [&op, dtype, setting](const Sizes& sizes) {
    const Sizes a = part_of(sizes, setting.part_a), b = part_of(sizes, setting.part_b);
    const Shape first{dtype, a, order_of(a.size(), setting.order_a)},
        second{dtype, b, order_of(b.size(), setting.order_b)};
    Shape result{result_dtype(op.row.gives, dtype), broadcast(a, b), {}};
    if (result.sizes.size() == a.size()) result.dim_order = first.dim_order;
    OpForm form;
    form.op = op.row.op;
    const bool is_pow = op.row.second == Second::kPositive;
    form.operands = {
        {first, setting.data_a, is_pow ? Domain{0.25, 4} : Domain{}, setting.role == kFirstIsConstant}};
    if (setting.role != kTwice) form.operands.push_back(second_operand(op, second, setting));
    form.args = arguments(op, setting, dtype);
    form.results = {result};
    const bool is_exact = setting.data_a == Values::kExact && setting.data_b == Values::kExact;
    const double alpha = setting.alpha && !is_exact ? std::abs(*setting.alpha) : 0;
    form.error_model = error_model_of(op.row.rule, op.row.ulps, alpha + op.steps);
    if (alpha + op.steps > 0) form.error_model.magnitude = twice_the_largest;
    form.widen_integers = op.row.gives == Gives::kReal;
    return form;
  };
}

// One attribute of each of the two operands.
struct ValuesPair {
  Values a, b;
};
struct Orders {
  uint32_t a, b;
  bool operator==(const Orders&) const = default;
};
constexpr Orders kRowMajor{0, 0}, kLastBoth{1, 1}, kLastFirst{1, 0}, kReversedBoth{2, 2};

// A row of all ops of two tensors.
struct PairRow {
  uint32_t rank = 0;
  Part part_a = kWhole, part_b = kWhole;
  Role role = kInputs;
  Orders orders = kRowMajor;
  ValuesPair values{};
  std::optional<double> alpha;

  bool is_possible() const {
    const bool is_whole = part_a == kWhole && part_b == kWhole;
    if (!is_whole && (role == kTwice || rank == 0)) return false;
    if (orders == kRowMajor) return true;
    if (orders == kLastFirst && role == kTwice) return false;
    const uint32_t least_rank = orders == kReversedBoth ? 2 : 4;
    const bool is_lower_rank = part_b > kMiddleIsOne;  // row-major beside a channels-last tensor
    return rank >= least_rank && part_a == kWhole && (!is_lower_rank || orders == kLastFirst);
  }
  Setting setting() const { return {part_a, part_b, role, orders.a, orders.b, values.a, values.b, alpha}; }
};

const std::vector<PairRow>& pair_rows() {
  static const std::vector<PairRow> rows = [] {
    DesignOf<PairRow> design;
    design.add(&PairRow::rank, {0, 1, 2, 3, 4, 5, 6});
    design.add(&PairRow::part_a, all_parts());
    design.add(&PairRow::part_b, all_parts());
    design.add(&PairRow::role, {kInputs, kSecondIsConstant, kFirstIsConstant, kTwice});
    design.add(&PairRow::orders, {kRowMajor, kLastBoth, kLastFirst, kReversedBoth});
    design.add(&PairRow::values, {{Values::kStatistical, Values::kStatistical},
                                  {Values::kExact, Values::kExact},
                                  {Values::kNan, Values::kStatistical},
                                  {Values::kStatistical, Values::kNan},
                                  {Values::kSpread, Values::kSpread},
                                  {Values::kSpecial, Values::kSpecial},
                                  {Values::kOffset, Values::kOffset}});
    design.add(&PairRow::alpha, {std::nullopt, 2.0, -1.0, -3.0, 0.5});
    return design.rows("binary", std::mem_fn(&PairRow::is_possible));
  }();
  return rows;
}

// Operands of one size and different orders.
constexpr Orders kMixed[] = {{0, 1}, {1, 0}, {0, 2}, {2, 0}, {1, 2}, {2, 1}};

void soften(Values& data) {
  if (data == Values::kSpecial) data = Values::kNan;
}

// Quotients of 16 bits are rounded before they lose their fraction, and the reference's are not.
bool suits(const PairOp& op, etb_dtype dtype) {
  return takes(op.row.takes, dtype) && !(is_half(dtype) && is_quotient(op));
}

void add_pair_op(CaseList& out, const PairOp& op, etb_dtype dtype) {
  const std::string_view name = op.row.op;
  const bool has_alpha = name == "aten.add.Tensor" || name == "aten.sub.Tensor";
  size_t at = 0;
  for (const PairRow& row : pair_rows()) {
    if (!is_drawn(op.row.op, dtype, at++)) continue;
    Setting setting = row.setting();
    const bool keeps_data = op.row.has_special && op.row.second == Second::kAny && dtype != ETB_DTYPE_BOOL;
    if (!keeps_data) setting.data_a = setting.data_b = Values::kStatistical;
    if (setting.role == kTwice && op.row.second != Second::kAny) setting.role = kInputs;
    const bool has_half = setting.alpha && *setting.alpha == 0.5 && !is_floating(dtype);
    if (!has_alpha || has_half || (dtype == ETB_DTYPE_UINT8 && setting.alpha.value_or(0) < 0))
      setting.alpha.reset();
    // A plugin may flush subnormal constants, and twice the largest number is infinity in the reference only.
    if (setting.role == kFirstIsConstant || setting.alpha) soften(setting.data_a);
    if (setting.role == kSecondIsConstant || setting.alpha) soften(setting.data_b);
    const Maker maker = pair_maker(op, dtype, setting);
    const Sizes& sizes = kSizes[at % 2][row.rank];
    add_form(out, dtype, maker(sizes));
    const bool is_plain = setting.data_a == setting.data_b || at % 2 == 0;
    if (row.rank > 0 && is_plain && at % 4 == static_cast<size_t>(dtype) % 4)
      add_dynamic_forms(out, dtype, maker, sizes, at);
  }
  for (const Sizes& empty : {Sizes{0, 3}, {3, 0}, {2, 0, 4}, {0}})
    for (const Part part : {kWhole, kScalar, kLastOnly}) {
      Setting setting;
      setting.part_b = part;
      if (is_drawn(op.row.op, dtype, at++)) add_form(out, dtype, pair_maker(op, dtype, setting)(empty));
    }
  for (const Sizes& high : {Sizes{2, 1, 3, 2, 1, 2, 3}, {2, 2, 1, 2, 3, 1, 2, 2}})
    for (const Part part : {kWhole, kMiddleIsOne, kLastOnly}) {
      Setting setting;
      setting.part_b = part;
      if (is_drawn(op.row.op, dtype, at++)) add_form(out, dtype, pair_maker(op, dtype, setting)(high));
    }
  size_t mixed = at;
  for (const Orders& orders : kMixed)
    for (const Sizes& sizes : {Sizes{2, 3, 5, 4}, {3, 2, 4, 4}, {3, 5}, {4, 5}}) {
      if (sizes.size() == 2 && (orders.a == 1 || orders.b == 1)) continue;
      Setting setting;
      setting.order_a = orders.a;
      setting.order_b = orders.b;
      if (is_drawn(op.row.op, dtype, mixed++)) add_form(out, dtype, pair_maker(op, dtype, setting)(sizes));
    }
  if (dtype != ETB_DTYPE_FLOAT32 || at % 3 != 0) return;
  add_form(out, dtype, pair_maker(op, dtype, {})({4, 65537}));  // 1 MB
}

// ---- three tensors

// Relation of the operands: none, two of them are one value, or the last is a constant.
enum class Sharing { kNone, kOneValue, kLastIsConstant };

struct WhereRow {
  uint32_t rank = 0;
  Part first = kWhole, second = kWhole, third = kWhole;
  Values values = Values::kStatistical;
  Sharing sharing = Sharing::kNone;
};

const std::vector<WhereRow>& where_rows() {
  static const std::vector<WhereRow> rows = [] {
    DesignOf<WhereRow> design;
    design.add(&WhereRow::rank, {0, 1, 2, 3, 4, 5, 6});
    design.add(&WhereRow::first, all_parts());
    design.add(&WhereRow::second, all_parts());
    design.add(&WhereRow::third, all_parts());
    design.add(&WhereRow::values, {Values::kStatistical, Values::kNan, Values::kStatistical});
    design.add(&WhereRow::sharing, {Sharing::kNone, Sharing::kOneValue, Sharing::kLastIsConstant});
    return design.rows("where", [](const WhereRow& row) {
      return row.rank > 0 || (row.first == kWhole && row.second == kWhole && row.third == kWhole);
    });
  }();
  return rows;
}

Maker where_maker(etb_dtype dtype, const WhereRow& row) {
  return [dtype, row](const Sizes& sizes) {
    const Sizes c = part_of(sizes, row.first), a = part_of(sizes, row.second), b = part_of(sizes, row.third);
    const Values data = row.values;
    OpForm form{"aten.where.self",
                {{{ETB_DTYPE_BOOL, c, {}}, Values::kExact}, {{dtype, a, {}}, data}, {{dtype, b, {}}, data}},
                {value_arg(0, "condition"), value_arg(1, "self"), value_arg(2, "other")},
                {{dtype, broadcast(c, broadcast(a, b)), {}}}};
    if (row.sharing == Sharing::kOneValue && row.second == row.third) {
      form.operands.pop_back();
      form.args[2].value = 1;
    }
    form.operands.back().is_constant = row.sharing == Sharing::kLastIsConstant;
    return form;
  };
}

// Bounds as tensors: the lower, the upper, or both.
Maker clamp_maker(etb_dtype dtype, const WhereRow& row) {
  return [dtype, row](const Sizes& sizes) {
    const Sizes low = part_of(sizes, row.first), high = part_of(sizes, row.second);
    OpForm form{
        "aten.clamp.Tensor",
        {{{dtype, sizes, {}}, row.values, {-4, 8}}, {{dtype, low, {}}, Values::kStatistical, {-3, 3}}},
        {value_arg(0, "self"), value_arg(1, "min"), graph::none_arg("max")},
        {{dtype, sizes, {}}}};
    form.error_model = exact_model(Rule::kExactValue);
    if (row.sharing == Sharing::kOneValue) {
      form.args = {value_arg(0, "self"), graph::none_arg("min"), value_arg(1, "max")};
    } else if (row.sharing == Sharing::kLastIsConstant) {
      form.operands.push_back({{dtype, high, {}}, Values::kStatistical, {2, 7}});
      form.args[2] = value_arg(2, "max");
    }
    return form;
  };
}

Maker masked_fill_maker(etb_dtype dtype, const WhereRow& row) {
  return [dtype, row](const Sizes& sizes) {
    return OpForm{"aten.masked_fill.Scalar",
                  {{{dtype, sizes, {}}}, {{ETB_DTYPE_BOOL, part_of(sizes, row.second), {}}, Values::kExact}},
                  {value_arg(0, "self"), value_arg(1, "mask"),
                   graph::int_arg(static_cast<int64_t>(row.sharing) + 1, "value")},
                  {{dtype, sizes, {}}}};
  };
}

// A condition, or a mask, in another order than the numbers.
void add_ordered_conditions(CaseList& out, etb_dtype dtype) {
  size_t at = 0;
  for (const Orders& orders : kMixed) {
    const Sizes sizes = at++ % 2 == 0 ? Sizes{2, 3, 5, 4} : Sizes{3, 2, 4, 4};
    const Shape condition{ETB_DTYPE_BOOL, sizes, order_of(4, orders.a)},
        numbers{dtype, sizes, order_of(4, orders.b)};
    add_form(out, dtype,
             {"aten.where.self",
              {{condition, Values::kExact}, {numbers}, {numbers}},
              {value_arg(0, "condition"), value_arg(1, "self"), value_arg(2, "other")},
              {numbers}});
    add_form(out, dtype,
             {"aten.masked_fill.Scalar",
              {{numbers}, {condition, Values::kExact}},
              {value_arg(0, "self"), value_arg(1, "mask"), graph::int_arg(1, "value")},
              {numbers}});
  }
}

// Bounds of clamp and hardtanh.
Maker limits_maker(etb_dtype dtype, const char* op, std::vector<graph::ArgumentDesc> limits, Values data,
                   uint32_t order) {
  return [=](const Sizes& sizes) {
    const Shape shape{dtype, sizes, order_of(sizes.size(), order)};
    OpForm form{op, {{shape, data, {-6, 6}}}, {value_arg(0, "self")}, {shape}};
    form.args.insert(form.args.end(), limits.begin(), limits.end());
    form.error_model = exact_model(Rule::kExactValue);
    return form;
  };
}

void add_limits(CaseList& out, etb_dtype dtype) {
  using graph::float_arg;
  using graph::int_arg;
  using graph::none_arg;
  const auto number = [dtype](double value, const char* name) {
    return is_floating(dtype) && value != std::floor(value) ? float_arg(value, name)
                                                            : int_arg(static_cast<int64_t>(value), name);
  };
  const std::vector<graph::ArgumentDesc> clamps[] = {
      {number(2, "min"), number(1, "max")},  // crossed
      {number(1, "min"), number(1, "max")}, {number(0, "min"), none_arg("max")},
      {none_arg("min"), number(0, "max")},  {number(0.5, "min"), number(2.5, "max")},
      {number(1, "min"), none_arg("max")}};
  struct Row {
    size_t number = 0;  // index into clamps
    Sizes sizes;
    Values values = Values::kStatistical;
    uint32_t order = 0;
    bool is_hardtanh = false;
  };
  DesignOf<Row> design;
  design.add(&Row::number, {0, 1, 2, 3, 4, 5});
  design.add(&Row::sizes, {{}, {65}, {4, 17}, {3, 4, 5}, {2, 3, 4, 5}, {2, 3, 2, 2, 3}, {2, 1, 3, 2, 2, 2}});
  design.add(&Row::values, {Values::kStatistical, Values::kNan, Values::kSpread, Values::kSpecial});
  design.add(&Row::order, {0, 1, 2});
  design.add(&Row::is_hardtanh, {false, true});
  size_t at = 0;
  for (const Row& row : design.rows("limits")) {
    const bool is_other = row.is_hardtanh && row.number != 0;
    const char* op = is_other ? "aten.hardtanh.default" : "aten.clamp.default";
    if (!is_drawn("limits", dtype, at++)) continue;
    std::vector<graph::ArgumentDesc> limits = clamps[row.number];
    if (is_other) limits = {number(0.5, "min_val"), number(static_cast<double>(row.number) + 1, "max_val")};
    const Maker maker = limits_maker(dtype, op, limits, row.values, row.order);
    add_form(out, dtype, maker(row.sizes));
    if (at % 3 == 0) add_dynamic_forms(out, dtype, maker, row.sizes, at);
  }
}

// Integers with a number as the second operand; the others are rows of binary.cpp.
void add_dynamic_bits(CaseList& out, etb_dtype dtype) {
  for (const char* op : {"aten.bitwise_and.Scalar", "aten.bitwise_or.Scalar", "aten.bitwise_xor.Scalar"}) {
    const auto maker = [=](const Sizes& sizes) {
      const Shape shape{dtype, sizes, {}};
      return OpForm{op, {{shape}}, {value_arg(0, "self"), graph::int_arg(5, "other")}, {shape}};
    };
    size_t at = static_cast<size_t>(dtype);
    for (const Sizes& sizes : {Sizes{9}, {3, 17}, {2, 3, 4, 5}})
      add_dynamic_forms(out, dtype, maker, sizes, at++);
  }
}

// A graph may have a number where the op's schema has its second tensor. A plugin rejects it, or computes with it.
void add_numbers_as_tensors(CaseList& out, etb_dtype dtype) {
  constexpr double kNumbers[] = {-3, 0.5};
  for (const char* name : {"aten.add", "aten.sub", "aten.mul", "aten.div"}) {
    const bool is_quotient = std::string_view(name) == "aten.div";
    if (is_quotient && !is_floating(dtype)) continue;
    for (const double number : kNumbers) {
      if (!is_floating(dtype) && number != std::floor(number)) continue;
      const graph::ArgumentDesc other = is_floating(dtype)
                                            ? graph::float_arg(number, "other")
                                            : graph::int_arg(static_cast<int64_t>(number), "other");
      const Shape shape{dtype, {3, 4}, {}};
      OpForm form{std::string(name) + ".Tensor", {{shape}}, {value_arg(0, "self"), other}, {shape}};
      form.reference.nodes = {{std::string(name) + ".Scalar", form.args, shape}};
      form.error_model =
          is_floating(dtype) ? error_model_of(Rule::kRounded, 1, 0) : exact_model(Rule::kExact);
      add_form(out, dtype, std::move(form), "number");
    }
  }
}

}  // namespace

void add_binary_designs(CaseList& out) {
  static const std::vector<PairOp> ops = [] {
    std::vector<PairOp> made;
    for (const BinaryRow& row : binary_rows()) made.push_back({row});
    made.insert(made.end(), std::begin(kMore), std::end(kMore));
    return made;
  }();
  for (const etb_dtype dtype : kAllDtypes)
    for (const PairOp& op : ops)
      if (suits(op, dtype)) add_pair_op(out, op, dtype);
  for (const etb_dtype dtype : kAllDtypes)
    if (takes(kTakesInteger, dtype)) add_dynamic_bits(out, dtype);
  for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16, ETB_DTYPE_INT32, ETB_DTYPE_INT64})
    add_numbers_as_tensors(out, dtype);
}

void add_ternary_designs(CaseList& out) {
  for (const etb_dtype dtype : kAllDtypes) {
    size_t at = 0;
    for (const WhereRow& row : where_rows()) {
      const Sizes& sizes = kSizes[at % 2][row.rank];
      ++at;
      const bool is_number = dtype != ETB_DTYPE_BOOL;
      if (is_drawn("where", dtype, at)) {
        add_form(out, dtype, where_maker(dtype, row)(sizes));
        if (at % 5 == 0) add_dynamic_forms(out, dtype, where_maker(dtype, row), sizes, at);
      }
      if (is_number && at % 3 == 0 && is_drawn("clamp", dtype, at / 3)) {
        add_form(out, dtype, clamp_maker(dtype, row)(sizes));
        if (at % 5 == 0) add_dynamic_forms(out, dtype, clamp_maker(dtype, row), sizes, at);
      }
      if (at % 5 == 0 && is_drawn("masked", dtype, at / 5)) {
        add_form(out, dtype, masked_fill_maker(dtype, row)(sizes));
        if (at % 2 == 0) add_dynamic_forms(out, dtype, masked_fill_maker(dtype, row), sizes, at);
      }
    }
    if (dtype != ETB_DTYPE_BOOL && dtype != ETB_DTYPE_UINT8) add_limits(out, dtype);
    add_ordered_conditions(out, dtype);
  }
}

}  // namespace etb::conformance
