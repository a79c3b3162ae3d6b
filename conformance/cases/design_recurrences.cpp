// SPDX-License-Identifier: Apache-2.0
// The delta rule of linear attention, the transform of Hadamard, and the products of a mixture of experts. The references are
// written here.
#include <bit>
#include <cmath>

#include "conformance/cases/design.hpp"
#include "conformance/cases/designs.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

struct DeltaRule {
  bool is_channelwise = false;
  int64_t batch = 1, heads = 2, group = 1, tokens = 3, rows = 4, columns = 5;
  Values state = Values::kStatistical;  // kExact and decays of 0 or 1 have no rounding errors
};

// The operands: queries, keys, values, decays, betas and the first state.
struct DeltaInputs {
  explicit DeltaInputs(const std::vector<TensorData>& operands)
      : query(elements_of(operands[0])),
        key(elements_of(operands[1])),
        value(elements_of(operands[2])),
        decay(elements_of(operands[3])),
        beta(elements_of(operands[4])),
        state(elements_of(operands[5])) {}
  Elements query, key, value, decay, beta, state;
};

// Lets the state of a head decay, and adds a part of the error of its answer to the token's key.
void learn(const DeltaRule& rule, DeltaInputs& in, size_t head, size_t token) {
  const auto rows = static_cast<size_t>(rule.rows), columns = static_cast<size_t>(rule.columns);
  double* const state = in.state.data() + head * rows * columns;
  for (size_t k = 0; k < rows; ++k)
    for (size_t v = 0; v < columns; ++v)
      state[k * columns + v] *= in.decay[rule.is_channelwise ? token * rows + k : token];
  for (size_t v = 0; v < columns; ++v) {
    double answer = 0;
    for (size_t k = 0; k < rows; ++k) answer += in.key[token * rows + k] * state[k * columns + v];
    const double step = in.beta[token] * (in.value[token * columns + v] - answer);
    for (size_t k = 0; k < rows; ++k) state[k * columns + v] += in.key[token * rows + k] * step;
  }
}

// Returns the answers to all queries, or the last state.
Elements run_rule(const DeltaRule& rule, const std::vector<TensorData>& operands, bool wants_state) {
  DeltaInputs in(operands);
  const auto rows = static_cast<size_t>(rule.rows), columns = static_cast<size_t>(rule.columns),
             tokens = static_cast<size_t>(rule.tokens), group = static_cast<size_t>(rule.group);
  Elements out(in.query.size() / rows * columns, 0);
  for (size_t head = 0; head < static_cast<size_t>(rule.batch * rule.heads); ++head)
    for (size_t t = 0; t < tokens; ++t) {
      learn(rule, in, head, head * tokens + t);
      for (size_t i = 0; i < group; ++i) {
        const size_t query = (head * group + i) * tokens + t;
        for (size_t k = 0; k < rows; ++k)
          for (size_t v = 0; v < columns; ++v)
            out[query * columns + v] +=
                in.query[query * rows + k] * in.state[(head * rows + k) * columns + v];
      }
    }
  return wants_state ? in.state : out;
}

// Keys are short enough (their squares add up to at most 1) that errors of a state do not grow.
OpForm delta_rule_form(const DeltaRule& rule) {
  const auto shape = [&](Numbers sizes) {
    sizes.insert(sizes.begin(), rule.batch);
    return Shape{ETB_DTYPE_FLOAT32, std::move(sizes), {}};
  };
  const double rows = static_cast<double>(rule.rows), longest = 1 / std::sqrt(rows);
  Numbers decays = {rule.heads, rule.tokens};
  if (rule.is_channelwise) decays.push_back(rule.rows);
  OpForm form;
  form.op =
      rule.is_channelwise ? "llama.channelwise_gated_delta_rule.default" : "llama.gated_delta_rule.default";
  const Shape state = shape({rule.heads, rule.rows, rule.columns});
  form.operands = {{shape({rule.heads * rule.group, rule.tokens, rule.rows}), Values::kStatistical, {-1, 1}},
                   {shape({rule.heads, rule.tokens, rule.rows}), Values::kStatistical, {-longest, longest}},
                   {shape({rule.heads, rule.tokens, rule.columns}), Values::kStatistical, {-2, 2}},
                   {shape(decays), Values::kStatistical, {0.1, 1}},
                   {shape({rule.heads, rule.tokens}), Values::kStatistical, {0, 1}},
                   {state, rule.state, {-2, 2}}};
  constexpr const char* kNames[] = {"query", "key", "value", "decay", "beta", "initial_state"};
  for (uint32_t i = 0; i < std::size(kNames); ++i) form.args.push_back(value_arg(i, kNames[i]));
  form.results = {shape({rule.heads * rule.group, rule.tokens, rule.columns}), state};
  // States up to 8 are read by `rows` factors up to 1; each token adds the errors of two such sums.
  form.error_model = rounded_model(2, (8 * std::sqrt(rows) + 12) * static_cast<double>(rule.tokens),
                                   fixed_magnitude(8 * rows + 18 * std::sqrt(rows)));
  compute_reference(form, {[rule](const auto& operands) { return run_rule(rule, operands, false); },
                           [rule](const auto& operands) { return run_rule(rule, operands, true); }});
  return form;
}

void add_delta_rules(CaseList& out) {
  for (const bool is_channelwise : {false, true}) {
    DeltaRule base;
    base.is_channelwise = is_channelwise;
    DesignOf<DeltaRule> design(base);
    design.add(&DeltaRule::batch, {1, 2});
    design.add(&DeltaRule::heads, {2, 1, 3});
    design.add(&DeltaRule::group, {1, 2, 3});
    design.add(&DeltaRule::tokens, {1, 3, 9});
    design.add(&DeltaRule::rows, {4, 1, 17, 32});
    design.add(&DeltaRule::columns, {5, 1, 16, 33});
    design.add(&DeltaRule::state, {Values::kStatistical, Values::kExact, Values::kSmall});
    size_t at = 0;
    for (const DeltaRule& rule : design.rows(is_channelwise ? "delta rule, channels" : "delta rule")) {
      add_form(out, ETB_DTYPE_FLOAT32, delta_rule_form(rule));
      const auto maker = [rule](const Sizes& sizes) {
        DeltaRule now = rule;
        now.batch = sizes[0];
        return delta_rule_form(now);
      };
      if (at++ % 3 == 0)
        add_dynamic_form(out, ETB_DTYPE_FLOAT32, maker, {rule.batch}, Moving::kFirst,
                         static_cast<Order>(at / 3 % 3));
    }
  }
}

// The matrix of order 28 of official programs: bit j of word i is set where row i has -1 in column j. The kernel has the same
// table (host/kernels/hadamard.cpp); this one is a second copy, so that a wrong bit of either is found.
constexpr uint32_t kOrder28[28] = {0xcd69e7e, 0x9ad7c7d, 0x37ab8fb, 0x6d571f7, 0xd8ae3ef, 0xb3587df,
                                   0x66b4f3f, 0xb467f43, 0x6acbe87, 0xd593d8e, 0xab27b9c, 0x564f7b8,
                                   0xac9aff0, 0x5b31fe1, 0x87fb325, 0x0ff66ca, 0x1decd95, 0x39ddb2a,
                                   0x71bf654, 0xe17eca9, 0xc2fd9d2, 0xfcf1299, 0xfbe2532, 0xf7c4ae4,
                                   0xef8d549, 0xdf1ea13, 0xbe3d4a6, 0x7e7a94c};

// Element of the matrix for rows of 2^k or 28 * 2^k elements. The part of order 2^k has -1 where the bits that row and column
// share are odd in number, and is divided by the root of its order.
double hadamard_element(size_t width, size_t row, size_t column) {
  const size_t power = std::has_single_bit(width) ? width : width / 28;
  const bool is_minus = std::popcount(row % power & column % power) % 2 != 0;
  const bool is_outer_minus = power != width && (kOrder28[row / power] >> column / power & 1) != 0;
  return (is_minus != is_outer_minus ? -1 : 1) / std::sqrt(static_cast<double>(power));
}

Elements transform_rows(const std::vector<TensorData>& operands) {
  const auto width = static_cast<size_t>(operands[0].shape.sizes.back());
  const Elements in = elements_of(operands[0]);
  Elements out(in.size(), 0);
  for (size_t i = 0; i < in.size(); ++i)
    for (size_t k = 0; k < width; ++k)
      out[i] += hadamard_element(width, i % width, k) * in[i - i % width + k];
  return out;
}

OpForm hadamard_form(const Shape& shape, Values values) {
  OpForm form{
      "llama.fast_hadamard_transform.default", {{shape, values, {-2, 2}}}, {value_arg(0, "mat")}, {shape}};
  const double length = static_cast<double>(shape.sizes.back());
  const bool has_28 = !std::has_single_bit(static_cast<size_t>(shape.sizes.back()));
  const double roundings = 4 * std::log2(length) + (has_28 ? 28 : 2);
  form.error_model =
      rounded_model(2, roundings, fixed_magnitude(7 * std::sqrt(has_28 ? 28 * length : length)));
  compute_reference(form, {transform_rows});
  return form;
}

void add_hadamard(CaseList& out) {
  const Numbers sizes[] = {{1},     {3, 1},   {5, 2},  {7, 4},  {2, 3, 8},   {4},
                           {3, 64}, {2, 128}, {3, 28}, {2, 56}, {1, 2, 112}, {1, 1, 2, 512}};
  for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16})
    for (const Numbers& size : sizes)
      for (const Values values : {Values::kStatistical, Values::kExact}) {
        add_form(out, dtype, hadamard_form({dtype, size, {}}, values));
        if (size.size() > 1 && values == Values::kStatistical)
          add_dynamic_form(
              out, dtype,
              [=](const Sizes& now) {
                return hadamard_form({dtype, now, {}}, values);
              },
              size, Moving::kFirst, static_cast<Order>(size.back() % 3));
      }
}

struct Groups {
  etb_dtype dtype = ETB_DTYPE_FLOAT32, offsets = ETB_DTYPE_INT32;
  Numbers ends;
  int64_t rows = 5, depth = 4, columns = 3;
  Values values = Values::kStatistical;
};

// Rows after the last group are 0.
Elements multiply_groups(const Groups& g, const std::vector<TensorData>& operands) {
  const Elements x = elements_of(operands[0]), w = elements_of(operands[1]);
  Elements out(static_cast<size_t>(g.rows * g.columns), 0);
  for (int64_t row = 0; row < g.rows; ++row) {
    size_t group = 0;
    while (group < g.ends.size() && row >= g.ends[group]) ++group;
    if (group == g.ends.size()) break;
    for (int64_t column = 0; column < g.columns; ++column)
      for (int64_t k = 0; k < g.depth; ++k)
        out[static_cast<size_t>(row * g.columns + column)] +=
            x[static_cast<size_t>(row * g.depth + k)] *
            w[static_cast<size_t>((static_cast<int64_t>(group) * g.depth + k) * g.columns + column)];
  }
  return out;
}

OpForm groups_form(const Groups& g) {
  const auto count = static_cast<int64_t>(g.ends.size());
  OpForm form;
  form.op = "transformers.grouped_mm_fallback.default";
  form.operands = {{{g.dtype, {g.rows, g.depth}, {}}, g.values, {-2, 2}},
                   {{g.dtype, {count, g.depth, g.columns}, {}}, g.values, {-2, 2}},
                   {{g.offsets, {count}, {}}}};
  form.operands[2].fill = [ends = g.ends](TensorData& data, Random&) {
    data = filled(data.shape, [&](int64_t i) { return static_cast<double>(ends[static_cast<size_t>(i)]); });
  };
  form.args = {value_arg(0, "input"), value_arg(1, "weight"), value_arg(2, "offs")};
  form.results = {{g.dtype, {g.rows, g.columns}, {}}};
  const double depth = static_cast<double>(g.depth);
  form.error_model = g.values == Values::kExact
                         ? exact_model(Rule::kExactValue)
                         : rounded_model(1, 4 * std::sqrt(depth), fixed_magnitude(4 * depth));
  form.word = "ends_" + number_text(g.ends);
  compute_reference(form, {[g](const auto& operands) { return multiply_groups(g, operands); }});
  return form;
}

void add_groups(CaseList& out) {
  DesignOf<Groups> design;
  design.add(&Groups::dtype, {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT64, ETB_DTYPE_FLOAT16,
                              ETB_DTYPE_BFLOAT16});
  design.add(&Groups::offsets, {ETB_DTYPE_INT32, ETB_DTYPE_INT64});
  design.add(&Groups::ends, {{2, 2, 5}, {0, 4, 7}, {3}, {1, 2, 3, 4}, {0, 0, 6}});
  design.add(&Groups::rows, {7, 9, 33});
  design.add(&Groups::depth, {4, 1, 33, 64});
  design.add(&Groups::columns, {3, 1, 17, 40});
  design.add(&Groups::values, {Values::kStatistical, Values::kExact});
  for (Groups g : design.rows("groups")) {
    // 16-bit floats: sums of products of integers up to 7 that each of them holds.
    if (is_half(g.dtype) && !is_exact_sum(g.dtype, g.values, g.depth)) g.values = Values::kStatistical;
    add_form(out, g.dtype, groups_form(g));
  }
}

}  // namespace

void add_recurrence_designs(CaseList& out) {
  add_delta_rules(out);
  add_hadamard(out);
  add_groups(out);
}

}  // namespace etb::conformance
