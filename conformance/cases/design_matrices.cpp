// SPDX-License-Identifier: Apache-2.0
// Products of matrices by a design over sizes around tiles, batches, factors of both terms, constant and
// broadcast operands, and input ranks.
#include <cmath>
#include <limits>

#include "conformance/cases/design.hpp"
#include "conformance/cases/designs.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

const std::vector<int64_t> kRows = {1, 2, 5, 7, 8, 9, 15, 17, 33},
                           kInner = {1, 3, 7, 8, 9, 16, 31, 33, 64, 65, 127},
                           kColumns = {1, 4, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65};

enum class Product { kMm, kBmm, kAddmm, kBaddbmm, kLinear };

struct Term {
  double beta, alpha;
};

struct Matrices {
  Product product = Product::kMm;
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  int64_t m = 1, k = 1, n = 1;
  Numbers leading;         // before the rows: batch of bmm and baddbmm, any of linear
  bool is_vector = false;  // linear: an input without rows
  Numbers bias;            // sizes; empty: none
  Term term{1, 1};
  bool is_weight_constant = true, is_bias_constant = true;
  Values values = Values::kStatistical;
  bool is_large = false;

  const char* op() const {
    constexpr const char* kOps[] = {"aten.mm.default", "aten.bmm.default", "aten.addmm.default",
                                    "aten.baddbmm.default", "aten.linear.default"};
    return kOps[static_cast<size_t>(product)];
  }
  Shape left() const {
    Shape shape{dtype, leading, {}};
    if (!is_vector) shape.sizes.push_back(m);
    shape.sizes.push_back(k);
    return shape;
  }
  Shape right() const {
    if (product == Product::kLinear) return {dtype, {n, k}, {}};
    Shape shape{dtype, leading, {}};
    shape.sizes.insert(shape.sizes.end(), {k, n});
    return shape;
  }
  Shape result() const {
    Shape shape = left();
    shape.sizes.back() = n;
    return shape;
  }
  int64_t length() const { return k + (bias.empty() ? 0 : 1); }
};

// Exporters write whole factors as integers.
graph::ArgumentDesc whole_or_real_arg(double number, const char* name) {
  return number == std::floor(number) ? graph::int_arg(static_cast<int64_t>(number), name)
                                      : graph::float_arg(number, name);
}

std::vector<graph::ArgumentDesc> product_args(const Matrices& c, uint32_t a, uint32_t b,
                                              const graph::ArgumentDesc& bias) {
  const graph::ArgumentDesc beta = whole_or_real_arg(c.term.beta, "beta"),
                            alpha = whole_or_real_arg(c.term.alpha, "alpha");
  switch (c.product) {
    case Product::kMm:
    case Product::kBmm:
      return {value_arg(a, "self"), value_arg(b, "mat2")};
    case Product::kAddmm:
      return {bias, value_arg(a, "mat1"), value_arg(b, "mat2"), beta, alpha};
    case Product::kBaddbmm:
      return {bias, value_arg(a, "batch1"), value_arg(b, "batch2"), beta, alpha};
    case Product::kLinear:
      return {value_arg(a, "input"), value_arg(b, "weight"), bias};
  }
  return {};
}

// The parts of baddbmm, for which there is no kernel: the product and the bias, each with its factor.
std::vector<FormNode> parts_of(const Matrices& c, const Shape& bias) {
  const auto scaled = [](uint32_t x, double factor, const Shape& shape) {
    return FormNode("aten.mul.Scalar", {value_arg(x, "self"), graph::float_arg(factor, "other")}, shape);
  };
  return {{"aten.bmm.default", {value_arg(0, "self"), value_arg(1, "mat2")}, c.result()},
          scaled(3, c.term.alpha, c.result()),
          scaled(2, c.term.beta, bias),
          {"aten.add.Tensor", {value_arg(4, "self"), value_arg(5, "other")}, c.result()}};
}

OpForm product_form(const Matrices& c) {
  const Domain domain = is_floating(c.dtype) ? Domain{-1, 1} : Domain{-3, 3};
  OpForm form;
  form.op = c.op();
  form.operands = {{c.left(), c.values, domain}, {c.right(), c.values, domain, c.is_weight_constant}};
  const Shape bias_shape{c.dtype, c.bias, {}};
  if (!c.bias.empty()) form.operands.push_back({bias_shape, c.values, domain, c.is_bias_constant});
  const graph::ArgumentDesc bias = c.bias.empty()
                                       ? graph::none_arg("bias")
                                       : value_arg(2, c.product == Product::kLinear ? "bias" : "self");
  form.args = product_args(c, 0, 1, bias);
  form.results = {c.result()};
  form.error_model = sum_model(c.values, c.length() + 1, c.bias.empty() ? 0 : bias_shape.numel());
  if (c.is_large) form.word = "large";
  if (c.product == Product::kBaddbmm) form.reference.nodes = parts_of(c, bias_shape);
  return form;
}

// A maker of the same product with other rows, inputs and batches.
Maker maker_of(const Matrices& base) {
  return [base](const Sizes& sizes) {
    Matrices c = base;
    c.k = sizes.back();
    if (!c.is_vector) c.m = sizes[sizes.size() - 2];
    c.leading.assign(sizes.begin(), sizes.end() - (c.is_vector ? 1 : 2));
    return product_form(c);
  };
}

// Adds the case, and for some rows a dynamic one.
void add_row(CaseList& out, const Matrices& c, size_t at) {
  add_form(out, c.dtype, product_form(c));
  // A bias with a row for each row of the product would have the size of another case.
  const bool is_column = c.bias.empty() || (c.bias.size() == 1 && c.bias[0] == c.n);
  if (at % 4 != 0 || !is_column || c.values == Values::kNonFinite) return;
  const Sizes sizes = c.left().sizes;
  add_dynamic_form(out, c.dtype, maker_of(c), sizes, at % 8 == 0 ? Moving::kFirst : Moving::kMiddle,
                   static_cast<Order>(at / 4 % 4));
}

const std::vector<Values> kSets = {Values::kExact,    Values::kStatistical, Values::kSparse,
                                   Values::kPositive, Values::kSpread,      Values::kNonFinite};

// A negative factor is exact or not tried: magnitudes, which bounds follow from, would cancel. Integers have
// whole factors.
bool suits(const Term& term, Values values, etb_dtype dtype) {
  const bool is_whole = term.beta == std::floor(term.beta) && term.alpha == std::floor(term.alpha);
  if (!is_floating(dtype)) return is_whole;
  if (values == Values::kExact) return is_whole && (dtype != ETB_DTYPE_BFLOAT16);
  if (values == Values::kNonFinite && (term.beta == 0 || term.alpha == 0)) return false;
  return term.beta >= 0 && term.alpha >= 0 && (values != Values::kSparse || is_whole);
}

enum class Bias { kPerColumn, kFull, kOne, kPerRow, kNone };

bool is_sum(Product product) { return product == Product::kAddmm || product == Product::kBaddbmm; }
bool has_bias(Product product) { return is_sum(product) || product == Product::kLinear; }
std::vector<Numbers> batches(Product product) {
  if (product == Product::kBmm || product == Product::kBaddbmm) return {{1}, {2}, {3}, {5}};
  if (product == Product::kLinear) return {{}, {}, {2}, {3, 2}, {1, 2, 2}};
  return {{}};
}
std::vector<Term> terms(Product product, bool is_common) {
  if (!is_sum(product) || is_common) return {{1, 1}};
  return {{1, 1}, {1, 1}, {1, 1}, {2, 1}, {1, 3}, {0.5, 0.75}, {-1, -2}, {0, 1}, {1, 0}, {1, 2}};
}
std::vector<Bias> biases(Product product, bool is_common) {
  if (!has_bias(product)) return {Bias::kNone};
  if (!is_sum(product)) return {Bias::kPerColumn, Bias::kNone};
  if (is_common) return {Bias::kPerColumn};
  return {Bias::kPerColumn, Bias::kPerColumn, Bias::kPerColumn, Bias::kFull, Bias::kOne, Bias::kPerRow};
}

// A row of a design: a product whose bias has no sizes yet.
struct ProductRow : Matrices {
  Bias kind_of_bias = Bias::kNone;
};

// Returns the attributes of one op. With `is_common` a bias has an element a column, there are no factors, and most
// parameters are constants, as in linear layers: plugins reject the rest, and with it whole rows.
DesignOf<ProductRow> product_design(Product product, const std::vector<etb_dtype>& dtypes, bool is_common) {
  using Flags = std::vector<bool>;
  ProductRow base;
  base.product = product;
  DesignOf<ProductRow> design(base);
  design.add(&ProductRow::m, kRows);
  design.add(&ProductRow::k, kInner);
  design.add(&ProductRow::n, kColumns);
  design.add(&ProductRow::dtype, dtypes);
  design.add(&ProductRow::leading, batches(product));
  design.add(&ProductRow::term, terms(product, is_common));
  design.add(&ProductRow::kind_of_bias, biases(product, is_common));
  design.add(&ProductRow::is_weight_constant, is_common ? Flags{true, true, false} : Flags{true, false});
  design.add(&ProductRow::is_bias_constant, !has_bias(product) ? Flags{true}
                                            : is_common        ? Flags{true, true, true, false}
                                                               : Flags{true, false});
  design.add(&ProductRow::values, kSets);
  design.add(&ProductRow::is_vector,
             product == Product::kLinear ? Flags{false, false, false, true} : Flags{false});
  return design;
}

// Returns the product of a row. A row that does not suit is changed, not rejected: rejections would take most of the
// time of a design.
Matrices matrices_of(const ProductRow& row) {
  Matrices c = row;
  c.is_vector = row.is_vector && c.leading.empty();
  const Numbers sizes[] = {{c.n}, {c.m, c.n}, {1}, {c.m, 1}, {}};
  c.bias = sizes[static_cast<size_t>(row.kind_of_bias)];
  c.is_bias_constant = row.is_bias_constant && !c.bias.empty();
  c.values = fitting_values(c.dtype, c.values, c.k * 3 + 3);
  if (!suits(c.term, c.values, c.dtype)) c.values = fitting_values(c.dtype, Values::kExact, c.k * 3 + 3);
  if (!suits(c.term, c.values, c.dtype)) c.term = {1, 1};
  return c;
}

void add_design(CaseList& out, Product product, const std::vector<etb_dtype>& dtypes, bool is_common,
                const std::string& seed) {
  size_t at = 0;
  for (const ProductRow& row : product_design(product, dtypes, is_common).rows(seed))
    add_row(out, matrices_of(row), at++);
}

// Every dimension moves, with constant and with other operands.
void add_dynamic(CaseList& out, etb_dtype dtype) {
  const auto add = [&](Product product, int64_t columns, bool is_constant, bool has_bias,
                       const Sizes& sizes) {
    Matrices c;
    c.product = product;
    c.dtype = dtype;
    c.n = columns;
    if (has_bias) c.bias = {columns};
    c.is_weight_constant = c.is_bias_constant = is_constant;
    add_all_dynamic_forms(out, dtype, maker_of(c), sizes, true);
  };
  for (const bool is_constant : {false, true}) {
    add(Product::kMm, 5, is_constant, false, {4, 9});
    add(Product::kMm, 33, is_constant, false, {4, 65});
    add(Product::kAddmm, 6, is_constant, true, {4, 19});
  }
  add(Product::kBmm, 7, false, false, {3, 4, 9});
  for (const Sizes& sizes : {Sizes{4, 9}, {3, 4, 17}, {2, 3, 4, 64}, {2, 2, 3, 4, 5}}) {
    add(Product::kLinear, 6, true, true, sizes);
    add(Product::kLinear, 33, true, false, sizes);
  }
}

// Addends of every form beside a square result, in which a row has the sizes of a column.
void add_square_addends(CaseList& out, etb_dtype dtype) {
  for (const int64_t side : {1, 6, 17})
    for (const Numbers& bias : {Numbers{side, 1}, {1, side}, {side}, {side, side}, {1, 1}, {1}})
      for (const bool is_constant : {false, true}) {
        Matrices c;
        c.product = Product::kAddmm;
        c.dtype = dtype;
        c.m = c.n = side;
        c.k = 9;
        c.bias = bias;
        c.is_weight_constant = c.is_bias_constant = is_constant;
        add_form(out, dtype, product_form(c));
      }
}

// Addends that beta 0 leaves out: NaN and infinities in them are in no result.
void add_unread_addends(CaseList& out, Product product, etb_dtype dtype) {
  for (const Numbers& bias : {Numbers{9}, {5, 9}, {1}, {5, 1}})
    for (const double alpha : {1.0, 2.0})
      for (const bool is_constant : {true, false}) {
        Matrices c;
        c.product = product;
        c.dtype = dtype;
        if (product == Product::kBaddbmm) c.leading = {2};
        c.m = 5;
        c.k = 7;
        c.n = 9;
        c.bias = bias;
        c.term = {0, alpha};
        c.is_weight_constant = c.is_bias_constant = is_constant;
        OpForm form = product_form(c);
        form.operands[2].fill = [](TensorData& data, Random&) {
          data = filled(data.shape, [](int64_t i) {
            return i % 3 == 0 ? std::numeric_limits<double>::quiet_NaN() : i % 3 == 1 ? HUGE_VAL : -HUGE_VAL;
          });
        };
        if (product == Product::kBaddbmm)  // leaves the product and its factor
          form.reference.nodes.erase(form.reference.nodes.begin() + 2, form.reference.nodes.end());
        form.word = "unread";
        form.group = "edge";
        add_form(out, dtype, std::move(form));
      }
}

// Beyond thresholds of tiles and of splitting by threads: rows, columns and sums to 4,096, results past 1 MB, many
// batches.
void add_large(CaseList& out) {
  struct Row {
    Product product;
    etb_dtype dtype;
    Numbers leading;
    int64_t m, k, n;
    bool has_bias;
    Values values;
  };
  constexpr etb_dtype kF32 = ETB_DTYPE_FLOAT32, kF16 = ETB_DTYPE_FLOAT16;
  const Row rows[] = {{Product::kMm, kF32, {}, 4, 4096, 9, false, Values::kStatistical},
                      {Product::kMm, kF32, {}, 1, 4096, 4, false, Values::kSparse},
                      {Product::kMm, kF32, {}, 65, 2049, 33, false, Values::kExact},
                      {Product::kMm, kF32, {}, 515, 9, 520, false, Values::kPositive},
                      {Product::kAddmm, kF32, {}, 4097, 5, 3, true, Values::kExact},
                      {Product::kAddmm, kF16, {}, 5, 1025, 17, true, Values::kStatistical},
                      {Product::kLinear, kF32, {}, 3, 1025, 1100, true, Values::kStatistical},
                      {Product::kLinear, kF16, {}, 2, 33, 4096, true, Values::kStatistical},
                      {Product::kLinear, kF32, {40}, 3, 64, 65, true, Values::kStatistical},
                      {Product::kLinear, kF32, {}, 129, 127, 131, false, Values::kSparse},
                      {Product::kBmm, kF32, {130}, 3, 17, 5, false, Values::kExact},
                      {Product::kBmm, kF16, {33}, 2, 65, 9, false, Values::kStatistical},
                      {Product::kBmm, kF32, {2}, 17, 2048, 8, false, Values::kStatistical},
                      {Product::kBmm, kF32, {18}, 129, 8, 130, false, Values::kPositive}};
  for (const Row& row : rows)
    for (const bool is_constant : {true, false}) {
      Matrices c;
      c.product = row.product;
      c.dtype = row.dtype;
      c.leading = row.leading;
      c.m = row.m;
      c.k = row.k;
      c.n = row.n;
      if (row.has_bias) c.bias = {row.n};
      c.is_weight_constant = c.is_bias_constant = is_constant;
      c.values = row.values;
      c.is_large = true;
      add_form(out, c.dtype, product_form(c));
    }
}

}  // namespace

void add_matrix_designs(CaseList& out) {
  const std::vector<etb_dtype> floats = {ETB_DTYPE_FLOAT32},
                               others = {ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16, ETB_DTYPE_FLOAT64,
                                         ETB_DTYPE_INT32, ETB_DTYPE_INT8},
                               halves = {ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16};
  constexpr std::pair<Product, const char*> kProducts[] = {{Product::kMm, "mm"},
                                                           {Product::kBmm, "bmm"},
                                                           {Product::kAddmm, "addmm"},
                                                           {Product::kBaddbmm, "baddbmm"},
                                                           {Product::kLinear, "linear"}};
  for (const auto& [product, word] : kProducts) {
    add_design(out, product, floats, false, word);
    add_design(out, product, product == Product::kBaddbmm ? halves : others, false,
               std::string(word) + ", other types");
  }
  for (const Product product : {Product::kAddmm, Product::kLinear})
    add_design(out, product, {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16}, true,
               product == Product::kAddmm ? "addmm, common" : "linear, common");
  for (const etb_dtype dtype : kFloats) add_dynamic(out, dtype);
  for (const etb_dtype dtype : floats) add_square_addends(out, dtype);
  for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16})
    for (const Product product : {Product::kAddmm, Product::kBaddbmm})
      add_unread_addends(out, product, dtype);
  add_large(out);
}

}  // namespace etb::conformance
