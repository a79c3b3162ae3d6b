// SPDX-License-Identifier: Apache-2.0
// Attention of ExecuTorch's language models, with and without codes. The reference is written here.
#include <algorithm>
#include <cmath>

#include "conformance/cases/design.hpp"
#include "conformance/cases/designs.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

enum class Sees { kAll, kCausal, kAddedMask, kHidingMask };

struct HeadCounts {
  int64_t queries = 2, keys = 2;
};

struct CachedAttention {
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  bool is_quantised = false, is_sequence_third = false;
  HeadCounts heads;
  int64_t batch = 1, queries = 3, start = 0, unused_keys = 2, depth = 8;
  Sees sees = Sees::kAll;
  double scale = 0;  // 0: none given

  int64_t keys() const { return start + queries + unused_keys; }
  bool has_mask() const { return sees == Sees::kAddedMask || sees == Sees::kHidingMask; }
  // Keys after the last query's position are not read, unless a mask says otherwise.
  int64_t read_keys() const { return has_mask() ? keys() : start + queries; }
  double factor() const { return scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(depth)); }
  Shape rows(etb_dtype of, int64_t length, int64_t head_count, int64_t width) const {
    if (is_sequence_third) return {of, {batch, head_count, length, width}, {}};
    return {of, {batch, length, head_count, width}, {}};
  }
  size_t row_of(int64_t item, int64_t at, int64_t head, int64_t length, int64_t head_count) const {
    return static_cast<size_t>(is_sequence_third ? (item * head_count + head) * length + at
                                                 : (item * length + at) * head_count + head);
  }
};

// Where the numbers of queries, keys or values are: an operand, and with codes its scales and zero points.
struct Part {
  uint32_t data = 0, scales = 0, zeros = 0;
};
struct Parts {
  Part query{0}, key{1}, value{2};
  uint32_t mask = 3;
};

Elements real_rows(const CachedAttention& a, const std::vector<TensorData>& operands, const Part& part) {
  Elements out = elements_of(operands[part.data]);
  if (!a.is_quantised) return out;
  const Elements scales = elements_of(operands[part.scales]), zeros = elements_of(operands[part.zeros]);
  const auto width = static_cast<size_t>(a.depth);
  for (size_t i = 0; i < out.size(); ++i) out[i] = (out[i] - zeros[i / width]) * scales[i / width];
  return out;
}

struct RealParts {
  Elements query, key, value, mask;
};

double score_of(const CachedAttention& a, const RealParts& parts, size_t query, size_t key) {
  const auto width = static_cast<size_t>(a.depth);
  double dot = 0;
  for (size_t d = 0; d < width; ++d) dot += parts.query[query * width + d] * parts.key[key * width + d];
  return dot * a.factor();
}

// One row of the result: a mean of values, with softmax's weights.
void attend(const CachedAttention& a, const RealParts& parts, int64_t item, int64_t head, int64_t at,
            Elements& out) {
  const int64_t key_head = head / (a.heads.queries / a.heads.keys);
  const size_t query = a.row_of(item, at, head, a.queries, a.heads.queries),
               width = static_cast<size_t>(a.depth);
  Elements scores;
  for (int64_t k = 0; k < a.read_keys(); ++k) {
    double score = score_of(a, parts, query, a.row_of(item, k, key_head, a.keys(), a.heads.keys));
    if (a.has_mask()) score += parts.mask[static_cast<size_t>(at * a.keys() + k)];
    scores.push_back(a.sees == Sees::kCausal && k > a.start + at ? -HUGE_VAL : score);
  }
  const double largest = *std::max_element(scores.begin(), scores.end());
  double total = 0;
  for (double& score : scores) total += score = std::exp(score - largest);
  for (size_t k = 0; k < scores.size(); ++k) {
    const size_t row = a.row_of(item, static_cast<int64_t>(k), key_head, a.keys(), a.heads.keys);
    for (size_t d = 0; d < width; ++d)
      out[query * width + d] += scores[k] / total * parts.value[row * width + d];
  }
}

Elements attend_all(const CachedAttention& a, const Parts& numbers, const std::vector<TensorData>& operands) {
  const RealParts parts{real_rows(a, operands, numbers.query), real_rows(a, operands, numbers.key),
                        real_rows(a, operands, numbers.value),
                        a.has_mask() ? elements_of(operands[numbers.mask]) : Elements{}};
  Elements out(parts.query.size(), 0);
  for (int64_t item = 0; item < a.batch; ++item)
    for (int64_t head = 0; head < a.heads.queries; ++head)
      for (int64_t at = 0; at < a.queries; ++at) attend(a, parts, item, head, at, out);
  return out;
}

constexpr double kLargestQuery = 1.2, kLargestValue = 3;

// As for attention without a cache: the error of a score changes its weight by as large a part.
ErrorModel cached_attention_model(const CachedAttention& a) {
  const double depth = static_cast<double>(a.depth), keys = static_cast<double>(a.read_keys());
  const double score_error =
      (4 * std::sqrt(depth) + 6) * depth * kLargestQuery * kLargestQuery * a.factor() / 2 + 4;
  return rounded_model(4, 2 * (score_error + 4 * std::sqrt(keys) + 8), fixed_magnitude(kLargestValue));
}

// The first key stays visible.
void hide_keys(TensorData& mask, int64_t keys) {
  for (int64_t i = 0; i < mask.shape.numel(); ++i)
    if (i % keys != 0 && (i / keys + i % keys) % 3 == 0)
      store_element(mask.shape.dtype, mask.bytes.data(), i, -HUGE_VAL);
}

// Adds the scales and zero points of a part, one for each row; codes less zero points are at most 148.
void add_scales(OpForm& form, Part& part, double largest) {
  Shape rows = form.operands[part.data].shape;
  rows.sizes.back() = 1;
  rows.dtype = ETB_DTYPE_INT8;
  part.zeros = static_cast<uint32_t>(form.operands.size());
  form.operands.push_back({rows, Values::kStatistical, {-20, 20}});
  rows.dtype = ETB_DTYPE_FLOAT32;
  part.scales = static_cast<uint32_t>(form.operands.size());
  form.operands.push_back({rows, Values::kStatistical, {largest / 1500, largest / 148}});
}

OpForm cached_attention_form(const CachedAttention& a) {
  const etb_dtype stored = a.is_quantised ? ETB_DTYPE_INT8 : a.dtype;
  const auto domain = [&](double largest) {
    return a.is_quantised ? Domain{-128, 127} : Domain{-largest, largest};
  };
  OpForm form;
  form.op = a.is_quantised ? "llama.custom_quantized_sdpa.default" : "llama.custom_sdpa.default";
  const Shape keys = a.rows(stored, a.keys(), a.heads.keys, a.depth);
  form.operands = {
      {a.rows(stored, a.queries, a.heads.queries, a.depth), Values::kStatistical, domain(kLargestQuery)},
      {keys, Values::kStatistical, domain(kLargestQuery)},
      {keys, Values::kStatistical, domain(kLargestValue)}};
  if (a.has_mask()) {
    form.operands.push_back({{a.dtype, {a.queries, a.keys()}, {}}, Values::kStatistical, {-2, 2}});
    if (a.sees == Sees::kHidingMask)
      form.operands[3].fill = [keys = a.keys()](TensorData& data, Random&) { hide_keys(data, keys); };
  }
  form.args = {value_arg(0, "query"),
               value_arg(1, "key"),
               value_arg(2, "value"),
               graph::int_arg(a.start, "start_pos"),
               a.has_mask() ? value_arg(3, "attn_mask") : graph::none_arg("attn_mask"),
               graph::float_arg(0, "drpout_p"),
               graph::bool_arg(a.sees == Sees::kCausal, "is_causal"),
               a.scale != 0 ? graph::float_arg(a.scale, "scale") : graph::none_arg("scale")};
  Parts parts;
  if (a.is_quantised) {
    add_scales(form, parts.query, kLargestQuery);
    add_scales(form, parts.key, kLargestQuery);
    add_scales(form, parts.value, kLargestValue);
    const std::pair<const Part&, const char*> named[] = {
        {parts.query, "q"}, {parts.key, "k"}, {parts.value, "v"}};
    for (const auto& [part, letter] : named) {
      form.args.push_back(value_arg(part.zeros, std::string(letter) + "_zero_points"));
      form.args.push_back(value_arg(part.scales, std::string(letter) + "_scales"));
    }
    form.args.push_back(graph::bool_arg(a.is_sequence_third, "is_seq_at_dim_2"));
  }
  form.results = {a.rows(a.dtype, a.queries, a.heads.queries, a.depth)};
  form.error_model = cached_attention_model(a);
  form.word = a.sees == Sees::kHidingMask ? "hides" : "";
  compute_reference(form, {[a, parts](const auto& operands) { return attend_all(a, parts, operands); }});
  return form;
}

void add_cached_attention(CaseList& out, bool is_quantised) {
  CachedAttention base;
  base.is_quantised = is_quantised;
  DesignOf<CachedAttention> design(base);
  design.add(&CachedAttention::dtype, is_quantised
                                          ? std::vector<etb_dtype>{ETB_DTYPE_FLOAT32}
                                          : std::vector<etb_dtype>{ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT32,
                                                                   ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16});
  design.add(&CachedAttention::is_sequence_third,
             is_quantised ? std::vector<bool>{false, true} : std::vector<bool>{false});
  design.add(&CachedAttention::heads, {{2, 2}, {4, 2}, {6, 2}, {3, 1}, {1, 1}, {8, 8}});
  design.add(&CachedAttention::batch, {1, 2});
  design.add(&CachedAttention::queries, {1, 3, 10, 17});
  design.add(&CachedAttention::start, {0, 1, 7, 300});
  design.add(&CachedAttention::unused_keys, {0, 1, 6});
  design.add(&CachedAttention::depth, {8, 1, 5, 20, 64});
  design.add(&CachedAttention::sees, {Sees::kAll, Sees::kCausal, Sees::kAddedMask, Sees::kHidingMask});
  design.add(&CachedAttention::scale, {0, 0.25, 1});
  size_t at = 0;
  for (const CachedAttention& a : design.rows(is_quantised ? "attention of codes" : "cached attention")) {
    const etb_dtype dtype = is_quantised ? ETB_DTYPE_INT8 : a.dtype;
    add_form(out, dtype, cached_attention_form(a));
    const auto maker = [a](const Sizes& sizes) {
      CachedAttention now = a;
      now.batch = sizes[0];
      return cached_attention_form(now);
    };
    if (at++ % 3 == 0)
      add_dynamic_form(out, dtype, maker, {a.batch}, Moving::kFirst, static_cast<Order>(at / 3 % 3));
  }
}

}  // namespace

void add_cached_attention_designs(CaseList& out) {
  add_cached_attention(out, false);
  add_cached_attention(out, true);
}

}  // namespace etb::conformance
