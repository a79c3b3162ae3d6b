// SPDX-License-Identifier: Apache-2.0
// Quantisation schemes of op rows: the op table states them, and a node is compared with them.
#include "etb/cpp/op_row.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/format/graph_builder.hpp"

namespace etb {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr etb_dtype kFloatOrInt8[] = {ETB_DTYPE_FLOAT32, ETB_DTYPE_INT8};
constexpr const char* kSchemes[] = {"per-tensor", "per-token-dynamic"};
constexpr OpRow kRows[] = {
    {.op = "aten.relu.default", .dtypes = kFloatOrInt8, .quant_schemes = kSchemes},
    {.op = "aten.neg.default", .dtypes = kFloatOrInt8},
    // By position, as before there were schemes.
    {"aten.abs.default", kFloatOrInt8, 0, 4, ETB_LAYOUT_CONTIGUOUS, true, "no constraint"}};

// The answer of the row of `op` for a node whose operand, or else its result, has this scheme; ETB_GRAPH_NONE: none.
Claim answer(const char* op, uint32_t scheme, bool is_result = false) {
  graph::Builder builder("forward");
  const bool is_quantised = scheme != ETB_GRAPH_NONE;
  const uint32_t plain = builder.add_spec({ETB_DTYPE_FLOAT32, {2, 3}}),
                 codes = builder.add_spec({ETB_DTYPE_INT8, {2, 3}});
  graph::ValueDesc real = graph::tensor("real", plain), quantised = graph::tensor("codes", codes);
  if (is_quantised) {
    graph::QuantDesc quant;
    quant.scheme = scheme;
    if (scheme == ETB_GRAPH_QUANT_OPAQUE) {
      quant.codec = "com.example.codec/1";
    } else {
      quant.quant_min = -128;
      quant.quant_max = 127;
      if (scheme == ETB_GRAPH_QUANT_PER_TENSOR) quant.scale = 0.25;
    }
    quantised.quant = builder.add_quant(quant);
  }
  graph::GraphBuilder& graph = builder.add_graph("forward");
  const uint32_t x = graph.add_input(is_result || !is_quantised ? real : quantised);
  graph::ValueDesc made = is_result ? quantised : real;
  made.name = "made";
  graph.add_output(graph.add_node({.op = op, .args = {graph::value_arg(x)}, .outputs = {made}}));
  const auto image = builder.finish();
  EXPECT_TRUE(image) << image.error().message;
  if (!image) return Claim::no("", "");
  const auto view = graph::View::open(image->to_c());
  EXPECT_TRUE(view) << view.error().message;
  const Node node = view->method().node(0);
  return detail::check_row(node, *detail::find_row(kRows, node.op_name()));
}

TEST(OpRow, StatesItsSchemesInTheOpTable) {
  std::vector<std::vector<std::string>> schemes;
  const etb_op_sink sink = {ETB_INIT_SIZE(etb_op_sink), 0, &schemes,
                            [](void* ctx, const etb_op_capability* op) -> etb_status {
                              static_cast<std::vector<std::vector<std::string>>*>(ctx)->emplace_back(
                                  op->quant_schemes, op->quant_schemes + op->quant_scheme_count);
                              return ETB_OK;
                            }};
  ASSERT_TRUE(put_op_rows(kRows, &sink));
  EXPECT_THAT(schemes, ElementsAre(ElementsAre("per-tensor", "per-token-dynamic"), IsEmpty(), IsEmpty()));
}

TEST(OpRow, TakesTensorsOfItsSchemes) {
  constexpr uint32_t kTaken[] = {ETB_GRAPH_NONE, ETB_GRAPH_QUANT_PER_TENSOR,
                                 ETB_GRAPH_QUANT_PER_TOKEN_DYNAMIC};
  for (const uint32_t scheme : kTaken)
    for (const bool is_result : {false, true})
      EXPECT_TRUE(answer("aten.relu.default", scheme, is_result).is_claimed) << scheme << is_result;
}

TEST(OpRow, RejectsOtherSchemesAndNamesThem) {
  for (const bool is_result : {false, true}) {
    const Claim other = answer("aten.relu.default", ETB_GRAPH_QUANT_OPAQUE, is_result);
    EXPECT_FALSE(other.is_claimed);
    EXPECT_STREQ(other.reason, "quant");
    EXPECT_EQ(other.text, std::string(is_result ? "'made'" : "'codes'") +
                              ": quantized opaque, expected per-tensor or per-token-dynamic");
  }
  const Claim none = answer("aten.neg.default", ETB_GRAPH_QUANT_PER_TENSOR);
  EXPECT_STREQ(none.reason, "quant");
  EXPECT_THAT(none.text, HasSubstr("expected a plain tensor"));
}

TEST(OpRow, NamesEverySchemeOfTheImage) {
  EXPECT_STREQ(quant_scheme_text(ETB_GRAPH_QUANT_PER_CHANNEL), "per-channel");
  EXPECT_STREQ(quant_scheme_text(ETB_GRAPH_QUANT_OPAQUE), "opaque");
  EXPECT_STREQ(quant_scheme_text(99), "unknown scheme");
}

}  // namespace
}  // namespace etb
