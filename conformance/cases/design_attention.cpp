// SPDX-License-Identifier: Apache-2.0
// Attention by a design over lengths, heads, masks and scales. The reference consists of products, additions and
// softmax; which rows of a mask hide everything is known when a case is built.
#include <algorithm>
#include <cmath>

#include "conformance/cases/design.hpp"
#include "conformance/cases/designs.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::ints_arg;
using graph::value_arg;

enum class Mask { kNone, kCausal, kAdded, kHiding, kRowHidden, kBool };

// Dimensions of a mask besides queries and keys.
enum class MaskForm { kSquare, kBatch, kHeads, kBatchAndHeads };

struct Heads {
  int64_t count = 2, group = 1;
};

struct Attention {
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  Heads heads;
  int64_t batch = 1, queries = 4, keys = 5, depth = 8, value_depth = 6;
  bool has_batch = true;
  Mask mask = Mask::kNone;
  bool is_mask_constant = false;
  bool is_large = false;
  MaskForm mask_form = MaskForm::kSquare;
  double scale = 0;  // 0: none given

  int64_t key_heads() const { return heads.count / heads.group; }
  Numbers sizes(int64_t head_count, int64_t rows, int64_t columns) const {
    if (!has_batch) return {head_count, rows, columns};
    return {batch, head_count, rows, columns};
  }
  Shape query() const { return {dtype, sizes(heads.count, queries, depth), {}}; }
  Shape key() const { return {dtype, sizes(key_heads(), keys, depth), {}}; }
  Shape value() const { return {dtype, sizes(key_heads(), keys, value_depth), {}}; }
  Shape result() const { return {dtype, sizes(heads.count, queries, value_depth), {}}; }
  Shape scores() const { return {dtype, sizes(heads.count, queries, keys), {}}; }
  bool has_mask() const { return mask != Mask::kNone && mask != Mask::kCausal; }
  Shape mask_shape() const {
    const Numbers forms[] = {{queries, keys},
                             {batch, 1, queries, keys},
                             {1, heads.count, queries, keys},
                             {batch, heads.count, queries, keys}};
    return {mask == Mask::kBool ? ETB_DTYPE_BOOL : dtype,
            forms[has_batch ? static_cast<size_t>(mask_form) : 0],
            {}};
  }
};

// Fills an additive mask, or one of bools. A third of it is -inf where it hides; the first key stays visible, unless
// the whole row is hidden: every fifth.
void fill_mask(const Attention& a, TensorData& data) {
  const Shape& shape = data.shape;
  for (int64_t i = 0; i < shape.numel(); ++i) {
    const int64_t row = i / a.keys, column = i % a.keys;
    const bool is_hidden =
        (column != 0 && (row + column) % 3 == 0) || (a.mask == Mask::kRowHidden && row % 5 == 1);
    if (a.mask == Mask::kBool)
      store_element(shape.dtype, data.bytes.data(), i, is_hidden ? 0 : 1);
    else if (a.mask != Mask::kAdded && is_hidden)
      store_element(shape.dtype, data.bytes.data(), i, -HUGE_VAL);
  }
}

// The parts of attention. Operands have the numbers 0 to 3, constants come after them.
class Parts {
 public:
  Parts(const Attention& a, ReferenceForm& out)
      : a_(a), out_(out), next_(a.has_mask() ? 4 : 3), nodes_(out.nodes, next_ + constant_count(a)) {}

  void add() {
    add_constants();
    const int64_t count = a_.has_batch ? a_.batch * a_.heads.count : a_.heads.count;
    const Shape q{a_.dtype, {count, a_.queries, a_.depth}, {}}, k{a_.dtype, {count, a_.keys, a_.depth}, {}},
        t{a_.dtype, {count, a_.depth, a_.keys}, {}}, v{a_.dtype, {count, a_.keys, a_.value_depth}, {}},
        s{a_.dtype, {count, a_.queries, a_.keys}, {}}, y{a_.dtype, {count, a_.queries, a_.value_depth}, {}};
    const double scale = a_.scale != 0 ? a_.scale : 1 / std::sqrt(static_cast<double>(a_.depth));
    const uint32_t keys = nodes_.add("aten.permute_copy.default",
                                     {value_arg(repeated(1, k), "self"), ints_arg({0, 2, 1}, "dims")}, t);
    const uint32_t dots = product(view(0, a_.query(), q), keys, s);
    const uint32_t scaled =
        nodes_.add("aten.mul.Scalar", {value_arg(dots, "self"), graph::float_arg(scale, "other")}, s);
    const Shape scores = a_.scores();
    const uint32_t weights = nodes_.add("aten._softmax.default",
                                        {value_arg(masked(view(scaled, s, scores)), "self"),
                                         graph::int_arg(-1, "dim"), graph::bool_arg(false, "half_to_float")},
                                        scores);
    const uint32_t flat = view(weights, scores, s), values = repeated(2, v);
    const uint32_t made = view(product(flat, values, y), y, a_.result());
    // Rows that see nothing are 0.
    if (a_.mask == Mask::kRowHidden) chosen(open_, made, zero_, a_.result());
  }

 private:
  static uint32_t constant_count(const Attention& a) {
    return a.mask == Mask::kCausal || a.mask == Mask::kRowHidden ? 3 : 2;
  }
  uint32_t constant(Derive derive) {
    out_.constants.push_back(std::move(derive));
    return next_++;
  }
  void add_constants() {
    const Shape one{a_.dtype, {1}, {}};
    zero_ = constant([one](const auto&) { return filled(one, [](int64_t) { return 0.0; }); });
    lowest_ = constant([one](const auto&) { return filled(one, [](int64_t) { return -HUGE_VAL; }); });
    if (a_.mask == Mask::kCausal)
      causal_ = constant([shape = square(), keys = a_.keys](const auto&) {
        return filled(shape, [=](int64_t i) { return i % keys <= i / keys ? 1.0 : 0.0; });
      });
    if (a_.mask == Mask::kRowHidden)
      open_ = constant([](const std::vector<TensorData>& operands) { return open_rows(operands[3]); });
  }
  // Returns true for the rows of a mask that hide less than everything.
  static TensorData open_rows(const TensorData& mask) {
    Shape rows = mask.shape;
    const int64_t keys = rows.sizes.back();
    rows.dtype = ETB_DTYPE_BOOL;
    rows.sizes.back() = 1;
    return filled(rows, [&](int64_t row) {
      for (int64_t i = row * keys; i < (row + 1) * keys; ++i)
        if (load_element(mask.shape.dtype, mask.bytes.data(), i) != -HUGE_VAL) return 1.0;
      return 0.0;
    });
  }
  Shape square() const { return {ETB_DTYPE_BOOL, {a_.queries, a_.keys}, {}}; }

  // Equal sizes need no node, and a node with sizes as arguments cannot be dynamic.
  uint32_t view(uint32_t x, const Shape& from, const Shape& to) {
    if (from.sizes == to.sizes) return x;
    return nodes_.add("aten.view_copy.default", {value_arg(x, "self"), ints_arg(to.sizes, "size")}, to);
  }
  uint32_t product(uint32_t a, uint32_t b, const Shape& result) {
    return nodes_.add("aten.bmm.default", {value_arg(a, "self"), value_arg(b, "mat2")}, result);
  }
  uint32_t chosen(uint32_t condition, uint32_t x, uint32_t other, const Shape& result) {
    return nodes_.add("aten.where.self",
                      {value_arg(condition, "condition"), value_arg(x, "self"), value_arg(other, "other")},
                      result);
  }

  // Each head of keys (operand 1) or values (operand 2) serves the queries of `group` heads, one after another.
  uint32_t repeated(uint32_t x, const Shape& to) {
    const Shape from = x == 1 ? a_.key() : a_.value();
    if (a_.heads.group == 1) return view(x, from, to);
    const int64_t count = a_.key_heads() * (a_.has_batch ? a_.batch : 1);
    const Shape one{a_.dtype, {count, 1, to.sizes[1], to.sizes[2]}, {}},
        all{a_.dtype, {count, a_.heads.group, to.sizes[1], to.sizes[2]}, {}};
    const uint32_t wide =
        nodes_.add("aten.expand_copy.default",
                   {value_arg(view(x, from, one), "self"), ints_arg(all.sizes, "size")}, all);
    return view(wide, all, to);
  }

  uint32_t masked(uint32_t scores) {
    if (a_.mask == Mask::kNone) return scores;
    uint32_t added = 3;
    if (a_.mask == Mask::kCausal || a_.mask == Mask::kBool) {
      const bool is_causal = a_.mask == Mask::kCausal;
      Shape made = is_causal ? square() : a_.mask_shape();
      made.dtype = a_.dtype;
      added = chosen(is_causal ? causal_ : 3, zero_, lowest_, made);
    }
    return nodes_.add("aten.add.Tensor", {value_arg(scores, "self"), value_arg(added, "other")}, a_.scores());
  }

  const Attention& a_;
  ReferenceForm& out_;
  uint32_t next_;
  FormNodes nodes_;
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
  out.magnitude = fixed_magnitude(4);
  return out;
}

OpForm attention_form(const Attention& a) {
  constexpr const char* kMasks[] = {"", "", "", "hides", "hides_row", "bool"};
  OpForm form;
  form.op = "aten.scaled_dot_product_attention.default";
  form.operands = {{a.query(), Values::kStatistical, {-1, 1}},
                   {a.key(), Values::kStatistical, {-1, 1}},
                   {a.value(), Values::kStatistical, {-4, 4}}};
  if (a.has_mask())
    form.operands.push_back(
        {a.mask_shape(), Values::kStatistical, {-2, 2}, a.is_mask_constant, [a](TensorData& data, Random&) {
           fill_mask(a, data);
         }});
  form.args = {value_arg(0, "query"),
               value_arg(1, "key"),
               value_arg(2, "value"),
               a.has_mask() ? value_arg(3, "attn_mask") : graph::none_arg("attn_mask"),
               graph::float_arg(0, "dropout_p"),
               graph::bool_arg(a.mask == Mask::kCausal, "is_causal")};
  if (a.scale != 0) form.args.push_back(graph::float_arg(a.scale, "scale"));
  if (a.heads.group > 1) form.args.push_back(graph::bool_arg(true, "enable_gqa"));
  form.results = {a.result()};
  form.error_model = attention_model(a);
  form.word = a.is_large ? std::string("large") + (a.has_mask() ? ".hides" : "")
                         : kMasks[static_cast<size_t>(a.mask)];
  Parts(a, form.reference).add();
  return form;
}

// A maker with other batches and lengths. Keys have a length of their own, or that of the queries.
Maker maker_of(const Attention& base, bool has_own_keys) {
  return [=](const Sizes& sizes) {
    Attention a = base;
    a.has_batch = false;
    a.heads.count = sizes[0];
    a.queries = sizes[1];
    if (!has_own_keys) a.keys = sizes[1];
    a.depth = sizes[2];
    return attention_form(a);
  };
}

void add_design(CaseList& out, const std::vector<etb_dtype>& dtypes, const std::string& seed) {
  DesignOf<Attention> design;
  design.add(&Attention::dtype, dtypes);
  design.add(&Attention::batch, {0, 1, 2, 3});  // 0: without that dimension
  design.add(&Attention::heads, {{2, 1}, {1, 1}, {3, 1}, {4, 2}, {6, 3}, {8, 8}, {4, 1}});
  design.add(&Attention::queries, {1, 4, 7, 17, 33});
  design.add(&Attention::keys, {1, 5, 8, 16, 31, 65});
  design.add(&Attention::depth, {8, 1, 5, 16, 33});
  design.add(&Attention::value_depth, {8, 1, 6, 17});
  design.add(&Attention::mask,
             {Mask::kNone, Mask::kCausal, Mask::kAdded, Mask::kHiding, Mask::kRowHidden, Mask::kBool});
  design.add(&Attention::is_mask_constant, {false, true});
  design.add(&Attention::mask_form,
             {MaskForm::kSquare, MaskForm::kBatch, MaskForm::kHeads, MaskForm::kBatchAndHeads});
  design.add(&Attention::scale, {0, 0.25, 1});
  for (Attention a : design.rows(seed)) {
    a.has_batch = a.batch != 0;
    a.batch = std::max<int64_t>(a.batch, 1);
    a.is_mask_constant = a.is_mask_constant && a.has_mask();
    add_form(out, a.dtype, attention_form(a));
  }
}

}  // namespace

void add_attention_designs(CaseList& out) {
  add_design(out, {ETB_DTYPE_FLOAT32}, "attention");
  add_design(out, {ETB_DTYPE_FLOAT32}, "attention, again");
  add_design(out, {ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16}, "attention, other types");
  for (const etb_dtype dtype : kFloats)
    for (const bool has_own_keys : {false, true}) {
      Attention a;
      a.dtype = dtype;
      add_all_dynamic_forms(out, dtype, maker_of(a, has_own_keys), {2, 4, 8}, false);
    }
  for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16})
    for (const Mask mask : {Mask::kNone, Mask::kHiding}) {
      Attention a;
      a.dtype = dtype;
      a.heads.count = 17;
      a.queries = 65;
      a.keys = 257;
      a.depth = 32;
      a.value_depth = 33;
      a.mask = mask;
      a.is_large = true;
      add_form(out, dtype, attention_form(a));
    }
}

}  // namespace etb::conformance
