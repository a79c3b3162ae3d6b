// SPDX-License-Identifier: Apache-2.0
// Weights of codes with scales for rows or groups: products with floats, and embeddings of 2, 4 and 8 bits. The references are
// written here.
#include <cmath>

#include "conformance/cases/design.hpp"
#include "conformance/cases/designs.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

enum class ZeroPoints { kNone, kGiven };

// Scales of powers of two have exact products.
Operand scales_of(const Shape& shape, bool is_exact) {
  if (!is_exact) return {shape, Values::kStatistical, {0.01, 0.1}};
  Operand out{shape};
  out.fill = [](TensorData& data, Random& random) {
    data =
        filled(data.shape, [&](int64_t) { return std::ldexp(1.0, static_cast<int>(-random.between(1, 4))); });
  };
  return out;
}

Operand zero_points_of(const Shape& shape, int64_t low, int64_t high) {
  Operand out{shape};
  out.fill = [low, high](TensorData& data, Random& random) {
    data = filled(data.shape, [&](int64_t) { return static_cast<double>(random.between(low, high)); });
  };
  return out;
}

struct MixedProduct {
  bool is_linear = false;  // weight [n, k] with groups of k; else weight [k, n] with a scale for each k
  etb_dtype dtype = ETB_DTYPE_FLOAT32, weight = ETB_DTYPE_INT8;
  Numbers outer;                                    // sizes of the input before k
  int64_t groups = 0, group_size = 4, columns = 3;  // 0 groups: scales of rank 1
  ZeroPoints zeros = ZeroPoints::kNone;
  etb_dtype result = ETB_DTYPE_BOOL;  // the argument dtype; bool: none
  bool is_exact = false;

  int64_t depth() const { return group_size * std::max<int64_t>(groups, 1); }
  etb_dtype result_dtype() const { return result == ETB_DTYPE_BOOL ? dtype : result; }
};

// The number of a weight's scale.
size_t scale_index(const MixedProduct& p, int64_t k, int64_t column) {
  if (!p.is_linear) return static_cast<size_t>(k);
  return static_cast<size_t>(column * std::max<int64_t>(p.groups, 1) + k / p.group_size);
}

Elements multiply(const MixedProduct& p, const std::vector<TensorData>& operands) {
  const Elements x = elements_of(operands[0]), w = elements_of(operands[1]),
                 scales = elements_of(operands[2]);
  const Elements zeros =
      p.zeros == ZeroPoints::kGiven ? elements_of(operands[3]) : Elements(scales.size(), 0);
  const int64_t depth = p.depth(), rows = static_cast<int64_t>(x.size()) / depth;
  Elements out;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < p.columns; ++column) {
      double sum = 0;
      for (int64_t k = 0; k < depth; ++k) {
        const size_t scale = scale_index(p, k, column);
        const double code = w[static_cast<size_t>(p.is_linear ? column * depth + k : k * p.columns + column)];
        sum += x[static_cast<size_t>(row * depth + k)] * (code - zeros[scale]) * scales[scale];
      }
      out.push_back(sum);
    }
  return out;
}

OpForm mixed_form(const MixedProduct& p) {
  const int64_t depth = p.depth();
  Numbers input = p.outer, result = p.outer;
  input.push_back(depth);
  result.push_back(p.columns);
  OpForm form;
  form.op =
      p.is_linear ? "quantized_decomposed.mixed_linear.default" : "quantized_decomposed.mixed_mm.default";
  const Numbers weight = p.is_linear ? Numbers{p.columns, depth} : Numbers{depth, p.columns};
  Numbers scales = {weight[0]};
  if (p.is_linear && p.groups != 0) scales.push_back(p.groups);
  const bool is_byte = p.weight == ETB_DTYPE_UINT8;
  const Shape scale_shape{p.dtype, scales, {}};
  form.operands = {
      {{p.dtype, input, {}}, p.is_exact ? Values::kExact : Values::kStatistical, {-2, 2}},
      {{p.weight, weight, {}}, Values::kStatistical, is_byte ? Domain{0, 255} : Domain{-128, 127}},
      scales_of(scale_shape, p.is_exact)};
  if (p.zeros == ZeroPoints::kGiven) form.operands.push_back(zero_points_of(scale_shape, -9, 9));
  form.args = {value_arg(0, "input"), value_arg(1, "weight"), value_arg(2, "weight_scales"),
               p.zeros == ZeroPoints::kGiven ? value_arg(3, "weight_zero_points")
                                             : graph::none_arg("weight_zero_points")};
  if (p.is_linear)
    form.args.push_back(p.result == ETB_DTYPE_BOOL
                            ? graph::none_arg("dtype")
                            : graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, p.result, "dtype"));
  form.results = {{p.result_dtype(), result, {}}};
  // A term is at most 2 * 264 * 0.1. Weights are rounded twice before the sum.
  const double length = static_cast<double>(depth);
  form.error_model = p.is_exact ? exact_model(Rule::kExactValue)
                                : rounded_model(1, 4 * std::sqrt(length) + 2, fixed_magnitude(52.8 * length));
  form.word = is_byte ? "bytes" : "";
  form.group = "quant";
  if (p.is_exact) form.word += form.word.empty() ? "powers" : "_powers";
  compute_reference(form, {[p](const auto& operands) { return multiply(p, operands); }});
  return form;
}

Maker maker_of(const MixedProduct& base) {
  return [base](const Sizes& outer) {
    MixedProduct p = base;
    p.outer = outer;
    return mixed_form(p);
  };
}

void add_mixed_products(CaseList& out, bool is_linear) {
  MixedProduct base;
  base.is_linear = is_linear;
  DesignOf<MixedProduct> design(base);
  design.add(&MixedProduct::dtype,
             {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16});
  design.add(&MixedProduct::weight, {ETB_DTYPE_INT8, ETB_DTYPE_UINT8});
  design.add(&MixedProduct::outer, is_linear ? std::vector<Numbers>{{1}, {5}, {2, 3}, {}, {17}, {1, 2, 3}}
                                             : std::vector<Numbers>{{1}, {2}, {5}, {17}, {33}});
  design.add(&MixedProduct::groups, is_linear ? Numbers{0, 1, 2, 3} : Numbers{0});
  design.add(&MixedProduct::group_size, {4, 1, 7, 32, 65});
  design.add(&MixedProduct::columns, {3, 1, 16, 70, 129});
  design.add(&MixedProduct::zeros, {ZeroPoints::kNone, ZeroPoints::kGiven});
  design.add(&MixedProduct::result, is_linear ? std::vector<etb_dtype>{ETB_DTYPE_BOOL, ETB_DTYPE_FLOAT32,
                                                                       ETB_DTYPE_FLOAT16, ETB_DTYPE_BOOL}
                                              : std::vector<etb_dtype>{ETB_DTYPE_BOOL});
  design.add(&MixedProduct::is_exact, {false, true});
  size_t at = 0;
  for (const MixedProduct& p : design.rows(is_linear ? "mixed linear" : "mixed product")) {
    add_form(out, p.dtype, mixed_form(p));
    if (at++ % 3 == 0)
      add_dynamic_form(out, p.dtype, maker_of(p), p.outer, static_cast<Moving>(at / 3 % 2),
                       static_cast<Order>(at / 6 % 4));
  }
  // Plugins make the weights of large products in blocks.
  base.outer = {3};
  base.group_size = 1056;
  base.columns = 130;
  base.groups = is_linear ? 2 : 0;
  base.zeros = ZeroPoints::kGiven;
  add_form(out, base.dtype, mixed_form(base));
}

struct Embedding {
  int64_t bits = 8;
  etb_dtype scale = ETB_DTYPE_FLOAT32, weight = ETB_DTYPE_INT8, index = ETB_DTYPE_INT64;
  int64_t rows = 5, groups = 0, group_bytes = 2;  // 0 groups: scales of rank 1
  Numbers indices;
  ZeroPoints zeros = ZeroPoints::kNone;
  bool has_dtype = false;
  etb_dtype result = ETB_DTYPE_BOOL;  // the argument dtype; bool: none

  int64_t group_count() const { return std::max<int64_t>(groups, 1); }
  int64_t row_bytes() const { return group_bytes * group_count(); }
  int64_t width() const { return row_bytes() * 8 / bits; }
  etb_dtype result_dtype() const { return result == ETB_DTYPE_BOOL ? scale : result; }
  Shape index_shape() const { return {index, indices, {}}; }
};

// Four bits: the even element is in the high half. Two bits: the first element is in the low bits. Both are stored without a sign.
double code_of(const Embedding& e, const Elements& weight, int64_t row, int64_t at) {
  const int64_t in_byte = 8 / e.bits;
  const double stored = weight[static_cast<size_t>(row * e.row_bytes() + at / in_byte)];
  if (e.bits == 8) return stored;
  const int64_t byte = static_cast<int64_t>(stored), place = at % in_byte;
  return e.bits == 4 ? static_cast<double>((place == 0 ? byte / 16 : byte % 16) - 8)
                     : static_cast<double>((byte >> (2 * place)) % 4 - 2);
}

Elements look_up(const Embedding& e, const std::vector<TensorData>& operands, size_t index_at) {
  const Elements weight = elements_of(operands[0]), scales = elements_of(operands[1]),
                 rows = elements_of(operands[index_at]);
  const Elements zeros =
      e.zeros == ZeroPoints::kGiven ? elements_of(operands[2]) : Elements(scales.size(), 0);
  Elements out;
  for (const double row : rows)
    for (int64_t at = 0; at < e.width(); ++at) {
      const auto group =
          static_cast<size_t>(static_cast<int64_t>(row) * e.group_count() + at * e.group_count() / e.width());
      out.push_back((code_of(e, weight, static_cast<int64_t>(row), at) - zeros[group]) * scales[group]);
    }
  return out;
}

// The first and the last row occur wherever there is room.
Operand indices_of(const Embedding& e) {
  Operand out{e.index_shape()};
  out.fill = [last = e.rows - 1](TensorData& data, Random& random) {
    data = filled(data.shape, [&](int64_t i) {
      return static_cast<double>(i == 0 ? last : i == 1 ? 0 : random.between(0, last));
    });
  };
  return out;
}

OpForm embedding_form(const Embedding& e) {
  const std::string names[] = {"2bit", "4bit", "byte"};
  OpForm form;
  form.op = "quantized_decomposed.embedding_" +
            names[e.bits == 2   ? 0
                  : e.bits == 4 ? 1
                                : 2] +
            (e.has_dtype ? ".dtype" : ".default");
  const bool is_byte = e.bits != 8 || e.weight == ETB_DTYPE_UINT8;
  Numbers scales = {e.rows};
  if (e.groups != 0) scales.push_back(e.groups);
  const Shape scale_shape{e.scale, scales, {}};
  form.operands = {{{is_byte ? ETB_DTYPE_UINT8 : ETB_DTYPE_INT8, {e.rows, e.row_bytes()}, {}},
                    Values::kStatistical,
                    is_byte ? Domain{0, 255} : Domain{-128, 127}},
                   scales_of(scale_shape, false)};
  // bfloat16 holds every integer up to 256, so it holds codes less zero points.
  const bool is_unsigned = e.bits == 8 && is_byte;
  if (e.zeros == ZeroPoints::kGiven)
    form.operands.push_back(zero_points_of(scale_shape, is_unsigned ? 0 : -4, 4));
  const size_t index_at = form.operands.size();
  form.operands.push_back(indices_of(e));
  const int64_t low = is_unsigned ? 0 : -(int64_t{1} << (e.bits - 1));
  form.args = {value_arg(0, "weight"),
               value_arg(1, "weight_scales"),
               e.zeros == ZeroPoints::kGiven ? value_arg(2, "weight_zero_points")
                                             : graph::none_arg("weight_zero_points"),
               graph::int_arg(low, "weight_quant_min"),
               graph::int_arg(low + (int64_t{1} << e.bits) - 1, "weight_quant_max"),
               value_arg(static_cast<uint32_t>(index_at), "indices")};
  if (e.has_dtype && e.result != ETB_DTYPE_BOOL)
    form.args.push_back(graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, e.result, "dtype"));
  Numbers sizes = e.indices;
  sizes.push_back(e.width());
  form.results = {{e.result_dtype(), sizes, {}}};
  // Zero points are integers, so only the product is rounded: to the dtype of the scales, then to that of the result.
  form.error_model = rounded_model(1);
  form.group = "quant";
  compute_reference(form, {[e, index_at](const auto& operands) { return look_up(e, operands, index_at); }});
  return form;
}

void add_embeddings(CaseList& out, int64_t bits) {
  Embedding base;
  base.bits = bits;
  DesignOf<Embedding> design(base);
  design.add(&Embedding::scale,
             {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16});
  design.add(&Embedding::weight, bits == 8 ? std::vector<etb_dtype>{ETB_DTYPE_INT8, ETB_DTYPE_UINT8}
                                           : std::vector<etb_dtype>{ETB_DTYPE_UINT8});
  design.add(&Embedding::index, {ETB_DTYPE_INT64, ETB_DTYPE_INT32});
  design.add(&Embedding::rows, {5, 1, 33});
  design.add(&Embedding::groups, {0, 1, 2, 3});
  design.add(&Embedding::group_bytes, {2, 1, 3, 8, 33});
  design.add(&Embedding::indices, {{4}, {}, {1}, {2, 3}, {17}, {2, 1, 3}, {0}});
  design.add(&Embedding::zeros, {ZeroPoints::kNone, ZeroPoints::kGiven});
  design.add(&Embedding::has_dtype, {false, true});
  // PyTorch rounds to the dtype of the scales first: a result with more digits than they have is left out.
  design.add(&Embedding::result, {ETB_DTYPE_BOOL, ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16});
  const auto is_allowed = [](const Embedding& e) {
    if (!e.has_dtype) return e.result == ETB_DTYPE_BOOL;
    return e.result == ETB_DTYPE_BOOL || e.result == e.scale || e.scale == ETB_DTYPE_FLOAT32;
  };
  size_t at = 0;
  for (const Embedding& e : design.rows("embedding of " + std::to_string(bits) + " bits", is_allowed)) {
    add_form(out, e.scale, embedding_form(e));
    const auto maker = [e](const Sizes& indices) {
      Embedding now = e;
      now.indices = indices;
      return embedding_form(now);
    };
    if (at++ % 3 == 0)
      add_dynamic_form(out, e.scale, maker, e.indices, static_cast<Moving>(at % 3),
                       static_cast<Order>(at / 3 % 4));
  }
}

}  // namespace

void add_quantised_weight_designs(CaseList& out) {
  add_mixed_products(out, false);
  add_mixed_products(out, true);
  for (const int64_t bits : {2, 4, 8}) add_embeddings(out, bits);
}

}  // namespace etb::conformance
