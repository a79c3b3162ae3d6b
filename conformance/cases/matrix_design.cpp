// SPDX-License-Identifier: Apache-2.0
// Products of matrices by a design over sizes around tiles, batches, factors of both terms, constant and
// broadcast operands, and input ranks.
#include <cmath>

#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/design.hpp"
#include "conformance/cases/sum_designs.hpp"
#include "conformance/cases/value_sets.hpp"

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
  ValueSet values = ValueSet::kStatistical;
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
  std::string name() const {
    std::string text =
        op_word(op()) + "." + short_name(dtype) + "." + shape_text(left()) + "__" + shape_text(right());
    if (!bias.empty()) text += "__" + number_text(bias);
    if (term.beta != 1 || term.alpha != 1)
      text += ".beta" + real_text(term.beta) + "_alpha" + real_text(term.alpha);
    text += is_weight_constant ? ".constant" : "";
    if (!bias.empty()) text += is_bias_constant ? ".bias_constant" : ".bias";
    return text + (is_large ? ".large." : ".designed.") + to_text(values);
  }
};

uint32_t scaled(CaseBuilder& builder, uint32_t x, double factor, const Shape& shape) {
  return builder.node("aten.mul.Scalar", {value_arg(x, "self"), graph::float_arg(factor, "other")}, shape);
}

// Exporters write whole factors as integers.
graph::ArgumentDesc number_arg(double number, const char* name) {
  return number == std::floor(number) ? graph::int_arg(static_cast<int64_t>(number), name)
                                      : graph::float_arg(number, name);
}

std::vector<graph::ArgumentDesc> product_args(const Matrices& c, uint32_t a, uint32_t b,
                                              const graph::ArgumentDesc& bias) {
  const graph::ArgumentDesc beta = number_arg(c.term.beta, "beta"), alpha = number_arg(c.term.alpha, "alpha");
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

// Adds inputs and the op or, for the reference of baddbmm, its parts.
void build_product(const Matrices& c, CaseBuilder& builder, bool is_reference) {
  const Domain domain = is_floating(c.dtype) ? Domain{-1, 1} : Domain{-3, 3};
  const auto operand = [&](const Shape& shape, uint32_t number, bool is_constant) {
    TensorData data = make_set(shape, c.values, domain, number, builder.random());
    return is_constant ? builder.constant(data) : builder.input(std::move(data));
  };
  const uint32_t a = operand(c.left(), 0, false), b = operand(c.right(), 1, c.is_weight_constant);
  const bool is_linear = c.product == Product::kLinear;
  const Shape bias_shape{c.dtype, c.bias, {}};
  const uint32_t z = c.bias.empty() ? 0 : operand(bias_shape, 1, c.is_bias_constant);
  const graph::ArgumentDesc bias =
      c.bias.empty() ? graph::none_arg("bias") : value_arg(z, is_linear ? "bias" : "self");
  if (!is_reference) return builder.output(builder.node(c.op(), product_args(c, a, b, bias), c.result()));
  const uint32_t sum =
      builder.node("aten.bmm.default", {value_arg(a, "self"), value_arg(b, "mat2")}, c.result());
  builder.output(builder.node("aten.add.Tensor",
                              {value_arg(scaled(builder, sum, c.term.alpha, c.result()), "self"),
                               value_arg(scaled(builder, z, c.term.beta, bias_shape), "other")},
                              c.result()));
}

void add_product(CaseList& out, const Matrices& c) {
  out.add({c.name(), c.op(), c.dtype, [c](std::string_view name) -> Result<BuiltCase> {
             CaseBuilder builder(name);
             build_product(c, builder, false);
             ETB_ASSIGN(BuiltCase built, builder.finish(sum_model(c.values, c.length() + 1)));
             if (c.product != Product::kBaddbmm) return built;
             CaseBuilder parts(name);
             build_product(c, parts, true);
             ETB_ASSIGN(BuiltCase reference, parts.finish({}));
             built.reference_image = std::move(reference.image);
             return built;
           }});
}

const std::vector<ValueSet> kSets = {ValueSet::kExact,    ValueSet::kStatistical, ValueSet::kSparse,
                                     ValueSet::kPositive, ValueSet::kWide,        ValueSet::kNonFinite};

// A negative factor is exact or not tried: magnitudes, which bounds follow from, would cancel. Integers have
// whole factors.
bool suits(const Term& term, ValueSet values, etb_dtype dtype) {
  const bool is_whole = term.beta == std::floor(term.beta) && term.alpha == std::floor(term.alpha);
  if (!is_floating(dtype)) return is_whole;
  if (values == ValueSet::kExact) return is_whole && (dtype != ETB_DTYPE_BFLOAT16);
  if (values == ValueSet::kNonFinite && (term.beta == 0 || term.alpha == 0)) return false;
  return term.beta >= 0 && term.alpha >= 0 && (values != ValueSet::kSparse || is_whole);
}

using Flags = std::vector<bool>;

// The attributes of one op. With `is_common` a bias has an element a column, there are no factors, and most
// parameters are constants, as in linear layers: plugins reject the rest, and with it whole rows.
class ProductDesign {
 public:
  ProductDesign(Product product, std::vector<etb_dtype> dtypes, bool is_common)
      : product_(product),
        m_(design_.add(kRows)),
        k_(design_.add(kInner)),
        n_(design_.add(kColumns)),
        dtype_(design_.add(std::move(dtypes))),
        leading_(design_.add(batches(product))),
        term_(design_.add(terms(product, is_common))),
        bias_(design_.add(biases(product, is_common))),
        is_weight_constant_(design_.add<bool>(is_common ? Flags{true, true, false} : Flags{true, false})),
        is_bias_constant_(design_.add<bool>(!has_bias(product) ? Flags{true}
                                            : is_common        ? Flags{true, true, true, false}
                                                               : Flags{true, false})),
        values_(design_.add(kSets)),
        is_vector_(design_.add<bool>(product == Product::kLinear ? Flags{false, false, false, true}
                                                                 : Flags{false})) {}

  void add_cases(CaseList& out, Names& names, const std::string& seed) const {
    for (const Levels& row : design_.rows(seed))
      if (const Matrices c = matrices(row); names.is_new(c.name())) add_product(out, c);
  }

 private:
  enum class Bias { kPerColumn, kFull, kOne, kPerRow, kNone };

  static bool is_sum(Product product) { return product == Product::kAddmm || product == Product::kBaddbmm; }
  static bool has_bias(Product product) { return is_sum(product) || product == Product::kLinear; }
  static std::vector<Numbers> batches(Product product) {
    if (product == Product::kBmm || product == Product::kBaddbmm) return {{1}, {2}, {3}, {5}};
    if (product == Product::kLinear) return {{}, {}, {2}, {3, 2}, {1, 2, 2}};
    return {{}};
  }
  static std::vector<Term> terms(Product product, bool is_common) {
    if (!is_sum(product) || is_common) return {{1, 1}};
    return {{1, 1}, {1, 1}, {1, 1}, {2, 1}, {1, 3}, {0.5, 0.75}, {-1, -2}, {0, 1}, {1, 0}};
  }
  static std::vector<Bias> biases(Product product, bool is_common) {
    if (!has_bias(product)) return {Bias::kNone};
    if (!is_sum(product)) return {Bias::kPerColumn, Bias::kNone};
    if (is_common) return {Bias::kPerColumn};
    return {Bias::kPerColumn, Bias::kPerColumn, Bias::kPerColumn, Bias::kFull, Bias::kOne, Bias::kPerRow};
  }

  Matrices matrices(const Levels& row) const {
    Matrices c;
    c.product = product_;
    c.dtype = dtype_(row);
    c.m = m_(row);
    c.k = k_(row);
    c.n = n_(row);
    c.leading = leading_(row);
    c.is_vector = is_vector_(row) && c.leading.empty();
    const Numbers sizes[] = {{c.n}, {c.m, c.n}, {1}, {c.m, 1}, {}};
    c.bias = sizes[static_cast<size_t>(bias_(row))];
    c.term = term_(row);
    c.is_weight_constant = is_weight_constant_(row);
    c.is_bias_constant = is_bias_constant_(row) && !c.bias.empty();
    c.values = fitting_set(c.dtype, values_(row), c.k * 3 + 3);
    // A row that does not suit is changed, not rejected: rejections would take most of the time of a design.
    if (!suits(c.term, c.values, c.dtype)) c.values = fitting_set(c.dtype, ValueSet::kExact, c.k * 3 + 3);
    if (!suits(c.term, c.values, c.dtype)) c.term = {1, 1};
    return c;
  }

  Product product_;
  Design design_;
  Factor<int64_t> m_, k_, n_;
  Factor<etb_dtype> dtype_;
  Factor<Numbers> leading_;
  Factor<Term> term_;
  Factor<Bias> bias_;
  Factor<bool> is_weight_constant_, is_bias_constant_;
  Factor<ValueSet> values_;
  Factor<bool> is_vector_;
};

// Beyond thresholds of tiles and of splitting by threads: rows, columns and sums to 4,096, results past 1 MB, many
// batches.
void add_large(CaseList& out) {
  struct Row {
    Product product;
    etb_dtype dtype;
    Numbers leading;
    int64_t m, k, n;
    bool has_bias;
    ValueSet values;
  };
  constexpr etb_dtype kF32 = ETB_DTYPE_FLOAT32, kF16 = ETB_DTYPE_FLOAT16;
  const Row rows[] = {{Product::kMm, kF32, {}, 4, 4096, 9, false, ValueSet::kStatistical},
                      {Product::kMm, kF32, {}, 1, 4096, 4, false, ValueSet::kSparse},
                      {Product::kMm, kF32, {}, 65, 2049, 33, false, ValueSet::kExact},
                      {Product::kMm, kF32, {}, 515, 9, 520, false, ValueSet::kPositive},
                      {Product::kAddmm, kF32, {}, 4097, 5, 3, true, ValueSet::kExact},
                      {Product::kAddmm, kF16, {}, 5, 1025, 17, true, ValueSet::kStatistical},
                      {Product::kLinear, kF32, {}, 3, 1025, 1100, true, ValueSet::kStatistical},
                      {Product::kLinear, kF16, {}, 2, 33, 4096, true, ValueSet::kStatistical},
                      {Product::kLinear, kF32, {40}, 3, 64, 65, true, ValueSet::kStatistical},
                      {Product::kLinear, kF32, {}, 129, 127, 131, false, ValueSet::kSparse},
                      {Product::kBmm, kF32, {130}, 3, 17, 5, false, ValueSet::kExact},
                      {Product::kBmm, kF16, {33}, 2, 65, 9, false, ValueSet::kStatistical},
                      {Product::kBmm, kF32, {2}, 17, 2048, 8, false, ValueSet::kStatistical},
                      {Product::kBmm, kF32, {18}, 129, 8, 130, false, ValueSet::kPositive}};
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
      add_product(out, c);
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
  Names names;
  for (const auto& [product, word] : kProducts) {
    ProductDesign(product, floats, false).add_cases(out, names, word);
    ProductDesign(product, product == Product::kBaddbmm ? halves : others, false)
        .add_cases(out, names, std::string(word) + ", other types");
  }
  for (const Product product : {Product::kAddmm, Product::kLinear})
    ProductDesign(product, {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16}, true)
        .add_cases(out, names, product == Product::kAddmm ? "addmm, common" : "linear, common");
  add_large(out);
}

}  // namespace etb::conformance
