// SPDX-License-Identifier: Apache-2.0
// Elementwise ops of one tensor: one row per op.
#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/elementwise.hpp"
#include "conformance/cases/generators.hpp"

namespace etb::conformance {
namespace {

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

void add_case(CaseList& out, const UnaryRow& row, const Shape& shape, Values values) {
  const etb_dtype dtype = shape.dtype;
  const bool is_edge = values == Values::kSpecial || is_edge_shape(shape);
  out.add({name_of(row.op, dtype, shape_text(shape), values, is_edge), row.op, dtype,
           [&row, shape, values](std::string_view name) {
             CaseBuilder builder(name);
             Shape result = shape;
             result.dtype = result_dtype(row.gives, shape.dtype);
             const uint32_t x = builder.input(shape, values, row.domain);
             builder.output(builder.node(row.op, {graph::value_arg(x, "self")}, result));
             Result<BuiltCase> built = builder.finish(error_model_of(row.rule, row.ulps));
             if (built) built->widen_integers = row.gives == Gives::kReal;
             return built;
           }});
}

void add_rows(CaseList& out) {
  for (const UnaryRow& row : kUnary) {
    for (const etb_dtype dtype : kAllDtypes) {
      if (!takes(row.takes, dtype)) continue;
      for (const Shape& shape : unary_shapes(dtype)) {
        const bool has_room = shape.numel() > 1;
        add_case(out, row, shape, Values::kStatistical);
        if (has_room && shape.sizes.size() < 3 && row.rule == Rule::kExact)
          add_case(out, row, shape, Values::kExact);
      }
      if (row.has_special && dtype != ETB_DTYPE_BOOL) add_case(out, row, {dtype, {64}, {}}, Values::kSpecial);
      if (row.has_special && is_floating(dtype) && dtype != ETB_DTYPE_FLOAT64)
        add_case(out, row, {dtype, {65536}, {}}, Values::kEvery);
      if (is_floating(dtype) && row.rule != Rule::kRounded)
        add_case(out, row, {dtype, {33}, {}}, Values::kTies);
    }
  }
}

}  // namespace

std::span<const UnaryRow> unary_rows() { return kUnary; }

void add_unary(CaseList& out) { add_rows(out); }

}  // namespace etb::conformance
