// SPDX-License-Identifier: Apache-2.0
// Attention by a design over lengths, heads, masks and scales. The reference consists of products, additions and
// softmax; which rows of a mask hide everything is known when a case is built.
#include <algorithm>
#include <cmath>

#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/design.hpp"
#include "conformance/cases/sum_designs.hpp"
#include "conformance/cases/value_sets.hpp"

namespace etb::conformance {
namespace {

using graph::ints_arg;
using graph::value_arg;

enum class Mask { kNone, kCausal, kAdded, kHiding, kRowHidden, kBool };

struct Attention {
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  int64_t batch = 1, heads = 2, group = 1, queries = 4, keys = 5, depth = 8, value_depth = 6;
  bool has_batch = true;
  Mask mask = Mask::kNone;
  bool is_mask_constant = false;
  bool is_large = false;
  int mask_form = 0;  // of rows and columns; the same for each batch, or for each head; for each
  double scale = 0;   // 0: none given

  int64_t key_heads() const { return heads / group; }
  Numbers sizes(int64_t head_count, int64_t rows, int64_t columns) const {
    if (!has_batch) return {head_count, rows, columns};
    return {batch, head_count, rows, columns};
  }
  Shape query() const { return {dtype, sizes(heads, queries, depth), {}}; }
  Shape key() const { return {dtype, sizes(key_heads(), keys, depth), {}}; }
  Shape value() const { return {dtype, sizes(key_heads(), keys, value_depth), {}}; }
  Shape result() const { return {dtype, sizes(heads, queries, value_depth), {}}; }
  Shape scores() const { return {dtype, sizes(heads, queries, keys), {}}; }
  bool has_mask() const { return mask != Mask::kNone && mask != Mask::kCausal; }
  Shape mask_shape() const {
    const Numbers forms[] = {
        {queries, keys}, {batch, 1, queries, keys}, {1, heads, queries, keys}, {batch, heads, queries, keys}};
    return {mask == Mask::kBool ? ETB_DTYPE_BOOL : dtype, has_batch ? forms[mask_form] : forms[0], {}};
  }
  std::string name() const {
    constexpr const char* kMasks[] = {"", ".causal", ".mask", ".mask_hides", ".mask_hides_row", ".mask_bool"};
    std::string text = "op.scaled_dot_product_attention." + std::string(short_name(dtype)) + "." +
                       shape_text(query()) + "__" + shape_text(key()) + "__" + shape_text(value());
    if (group > 1) text += ".grouped";
    text += kMasks[static_cast<size_t>(mask)];
    if (has_mask()) text += "_" + shape_text(mask_shape()) + (is_mask_constant ? "_constant" : "");
    return text + (scale != 0 ? ".scale" + real_text(scale) : "") + (is_large ? ".large" : "") + ".stat";
  }
};

// Elements of an additive mask. A third of them is -inf where it hides; the first key stays visible, unless the
// whole row is hidden: every fifth.
TensorData mask_data(const Attention& a, Random& random) {
  const Shape shape = a.mask_shape();
  TensorData data = make_values(shape, Values::kStatistical, {-2, 2}, 2, random);
  for (int64_t i = 0; i < shape.numel(); ++i) {
    const int64_t row = i / a.keys, column = i % a.keys;
    const bool is_hidden =
        (column != 0 && (row + column) % 3 == 0) || (a.mask == Mask::kRowHidden && row % 5 == 1);
    if (a.mask == Mask::kBool)
      store_element(shape.dtype, data.bytes.data(), i, is_hidden ? 0 : 1);
    else if (a.mask != Mask::kAdded && is_hidden)
      store_element(shape.dtype, data.bytes.data(), i, -HUGE_VAL);
  }
  return data;
}

// Inputs in the order of the op.
struct Operands {
  uint32_t query, key, value, mask;
};
Operands add_operands(const Attention& a, CaseBuilder& builder, TensorData& out_mask) {
  Operands out{};
  const auto input = [&](const Shape& shape, uint32_t operand, double reach) {
    return builder.input(
        make_values(shape, Values::kStatistical, {-reach, reach}, operand, builder.random()));
  };
  out.query = input(a.query(), 0, 1);
  out.key = input(a.key(), 1, 1);
  out.value = input(a.value(), 2, 4);
  if (!a.has_mask()) return out;
  out_mask = mask_data(a, builder.random());
  out.mask = a.is_mask_constant ? builder.constant(out_mask) : builder.input(out_mask);
  return out;
}

void build_whole(const Attention& a, CaseBuilder& builder) {
  TensorData mask;
  const Operands x = add_operands(a, builder, mask);
  std::vector<graph::ArgumentDesc> args = {
      value_arg(x.query, "query"),
      value_arg(x.key, "key"),
      value_arg(x.value, "value"),
      a.has_mask() ? value_arg(x.mask, "attn_mask") : graph::none_arg("attn_mask"),
      graph::float_arg(0, "dropout_p"),
      graph::bool_arg(a.mask == Mask::kCausal, "is_causal")};
  if (a.scale != 0) args.push_back(graph::float_arg(a.scale, "scale"));
  if (a.group > 1) args.push_back(graph::bool_arg(true, "enable_gqa"));
  builder.output(builder.node("aten.scaled_dot_product_attention.default", args, a.result()));
}

TensorData filled(const Shape& shape, const std::function<double(int64_t)>& element) {
  TensorData out{shape,
                 std::vector<std::byte>(static_cast<size_t>(shape.numel()) * element_nbytes(shape.dtype))};
  for (int64_t i = 0; i < shape.numel(); ++i) store_element(shape.dtype, out.bytes.data(), i, element(i));
  return out;
}

class Parts {
 public:
  Parts(const Attention& a, CaseBuilder& builder) : a_(a), builder_(builder) {}

  void build() {
    TensorData mask;
    const Operands x = add_operands(a_, builder_, mask);
    add_constants(mask);
    const int64_t count = a_.has_batch ? a_.batch * a_.heads : a_.heads;
    const Shape q{a_.dtype, {count, a_.queries, a_.depth}, {}}, k{a_.dtype, {count, a_.keys, a_.depth}, {}},
        t{a_.dtype, {count, a_.depth, a_.keys}, {}}, v{a_.dtype, {count, a_.keys, a_.value_depth}, {}},
        s{a_.dtype, {count, a_.queries, a_.keys}, {}}, y{a_.dtype, {count, a_.queries, a_.value_depth}, {}};
    const double scale = a_.scale != 0 ? a_.scale : 1 / std::sqrt(static_cast<double>(a_.depth));
    const uint32_t keys = builder_.node(
        "aten.permute_copy.default", {value_arg(repeated(x.key, k), "self"), ints_arg({0, 2, 1}, "dims")}, t);
    const uint32_t dots = product(view(x.query, q), keys, s);
    const uint32_t scaled =
        builder_.node("aten.mul.Scalar", {value_arg(dots, "self"), graph::float_arg(scale, "other")}, s);
    const Shape scores = a_.scores();
    const uint32_t weights =
        builder_.node("aten._softmax.default",
                      {value_arg(masked(view(scaled, scores), x.mask), "self"), graph::int_arg(-1, "dim"),
                       graph::bool_arg(false, "half_to_float")},
                      scores);
    const uint32_t flat = view(weights, s), values = repeated(x.value, v);
    const uint32_t made = view(product(flat, values, y), a_.result());
    // Rows that see nothing are 0.
    builder_.output(a_.mask == Mask::kRowHidden ? chosen(open_, made, zero_, a_.result()) : made);
  }

 private:
  // Constants have numbers before those of results.
  void add_constants(const TensorData& mask) {
    const Shape one{a_.dtype, {1}, {}};
    zero_ = builder_.constant(filled(one, [](int64_t) { return 0.0; }));
    lowest_ = builder_.constant(filled(one, [](int64_t) { return -HUGE_VAL; }));
    if (a_.mask == Mask::kCausal)
      causal_ = builder_.constant(
          filled(square(), [this](int64_t i) { return i % a_.keys <= i / a_.keys ? 1.0 : 0.0; }));
    if (a_.mask != Mask::kRowHidden) return;
    Shape rows = mask.shape;
    rows.dtype = ETB_DTYPE_BOOL;
    rows.sizes.back() = 1;
    open_ = builder_.constant(filled(rows, [&](int64_t row) {
      for (int64_t i = row * a_.keys; i < (row + 1) * a_.keys; ++i)
        if (load_element(a_.dtype, mask.bytes.data(), i) != -HUGE_VAL) return 1.0;
      return 0.0;
    }));
  }
  Shape square() const { return {ETB_DTYPE_BOOL, {a_.queries, a_.keys}, {}}; }

  uint32_t view(uint32_t x, const Shape& to) {
    return builder_.node("aten.view_copy.default", {value_arg(x, "self"), ints_arg(to.sizes, "size")}, to);
  }
  uint32_t product(uint32_t a, uint32_t b, const Shape& result) {
    return builder_.node("aten.bmm.default", {value_arg(a, "self"), value_arg(b, "mat2")}, result);
  }
  uint32_t chosen(uint32_t condition, uint32_t x, uint32_t other, const Shape& result) {
    return builder_.node("aten.where.self",
                         {value_arg(condition, "condition"), value_arg(x, "self"), value_arg(other, "other")},
                         result);
  }

  // Each head of keys or values serves the queries of `group` heads, one after another.
  uint32_t repeated(uint32_t x, const Shape& to) {
    if (a_.group == 1) return view(x, to);
    const int64_t count = a_.key_heads() * (a_.has_batch ? a_.batch : 1);
    const Shape one{a_.dtype, {count, 1, to.sizes[1], to.sizes[2]}, {}},
        all{a_.dtype, {count, a_.group, to.sizes[1], to.sizes[2]}, {}};
    return view(builder_.node("aten.expand_copy.default",
                              {value_arg(view(x, one), "self"), ints_arg(all.sizes, "size")}, all),
                to);
  }

  uint32_t masked(uint32_t scores, uint32_t mask) {
    if (a_.mask == Mask::kNone) return scores;
    uint32_t added = mask;
    if (a_.mask == Mask::kCausal || a_.mask == Mask::kBool) {
      const bool is_causal = a_.mask == Mask::kCausal;
      Shape made = is_causal ? square() : a_.mask_shape();
      made.dtype = a_.dtype;
      added = chosen(is_causal ? causal_ : mask, zero_, lowest_, made);
    }
    return builder_.node("aten.add.Tensor", {value_arg(scores, "self"), value_arg(added, "other")},
                         a_.scores());
  }

  const Attention& a_;
  CaseBuilder& builder_;
  uint32_t zero_ = 0, lowest_ = 0, causal_ = 0, open_ = 0;
};

// A score has `depth` products of numbers up to 1: its error changes a weight by as large a part. The result is a
// mean of values up to 4, with these weights.
ErrorModel attention_model(const Attention& a) {
  const double depth = static_cast<double>(a.depth), keys = static_cast<double>(a.keys),
               scale = a.scale != 0 ? a.scale : 1 / std::sqrt(depth);
  const double score_error = (4 * std::sqrt(depth) + 4) * depth * scale / 2 + 4;
  ErrorModel out;
  out.rule = Rule::kRounded;
  out.ulps = 4;
  out.steps = 2 * (score_error + 4 * std::sqrt(keys) + 8);
  out.magnitude = [](const std::vector<TensorData>&) { return std::vector<double>{4}; };
  return out;
}

void add_attention(CaseList& out, const Attention& a) {
  out.add({a.name(), "aten.scaled_dot_product_attention.default", a.dtype,
           [a](std::string_view name) -> Result<BuiltCase> {
             CaseBuilder builder(name), parts(name);
             build_whole(a, builder);
             Parts(a, parts).build();
             ETB_ASSIGN(BuiltCase built, builder.finish(attention_model(a)));
             ETB_ASSIGN(BuiltCase reference, parts.finish({}));
             built.reference_image = std::move(reference.image);
             return built;
           }});
}

void add_design(CaseList& out, const std::vector<etb_dtype>& dtypes, const std::string& seed) {
  struct Heads {
    int64_t heads, group;
  };
  Design design;
  const auto dtype = design.add(dtypes);
  const auto batch = design.add<int64_t>({0, 1, 2, 3});  // 0: without that dimension
  const auto heads = design.add<Heads>({{2, 1}, {1, 1}, {3, 1}, {4, 2}, {6, 3}, {8, 8}, {4, 1}});
  const auto queries = design.add<int64_t>({1, 4, 7, 17, 33}),
             keys = design.add<int64_t>({1, 5, 8, 16, 31, 65}),
             depth = design.add<int64_t>({8, 1, 5, 16, 33}), value_depth = design.add<int64_t>({8, 1, 6, 17});
  const auto mask = design.add<Mask>(
      {Mask::kNone, Mask::kCausal, Mask::kAdded, Mask::kHiding, Mask::kRowHidden, Mask::kBool});
  const auto is_mask_constant = design.add<bool>({false, true});
  const auto mask_form = design.add<int>({0, 1, 2, 3});
  const auto scale = design.add<double>({0, 0.25, 1});
  Names names;
  for (const Levels& row : design.rows(seed)) {
    Attention a;
    a.dtype = dtype(row);
    a.has_batch = batch(row) != 0;
    a.batch = std::max<int64_t>(batch(row), 1);
    a.heads = heads(row).heads;
    a.group = heads(row).group;
    a.queries = queries(row);
    a.keys = keys(row);
    a.depth = depth(row);
    a.value_depth = value_depth(row);
    a.mask = mask(row);
    a.is_mask_constant = is_mask_constant(row) && a.has_mask();
    a.mask_form = mask_form(row);
    a.scale = scale(row);
    if (names.is_new(a.name())) add_attention(out, a);
  }
}

}  // namespace

void add_attention_designs(CaseList& out) {
  add_design(out, {ETB_DTYPE_FLOAT32}, "attention");
  add_design(out, {ETB_DTYPE_FLOAT32}, "attention, again");
  add_design(out, {ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16}, "attention, other types");
  for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16})
    for (const Mask mask : {Mask::kNone, Mask::kHiding}) {
      Attention a;
      a.dtype = dtype;
      a.heads = 17;
      a.queries = 65;
      a.keys = 257;
      a.depth = 32;
      a.value_depth = 33;
      a.mask = mask;
      a.is_large = true;
      add_attention(out, a);
    }
}

}  // namespace etb::conformance
