// SPDX-License-Identifier: Apache-2.0
// Compares the C reader and the C++ view with the reader that flatc generates from the same schema.
#include "etb/cpp/graph_view.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "api/format/graph_rules.hpp"
#include "api/format/graph_verifier.hpp"
#include "api/testing/graph_generator.hpp"
#include "api/testing/graph_walk.h"

namespace etb::graph {
namespace {

class Comparison {
 public:
  Comparison(const View& view, const fb::Image& image) : view_(view), image_(image) {}

  void compare() {
    ASSERT_EQ(view_.c().strings.count, count(image_.strings()));
    EXPECT_EQ(view_.name(), text(image_.name()));
    EXPECT_EQ(view_.producer(), text(image_.producer()));
    compare_symbols();
    compare_specs();
    compare_quants();
    compare_constants();
    ASSERT_EQ(view_.graph_count(), count(image_.graphs()));
    for (uint32_t i = 0; i < view_.graph_count(); ++i)
      compare_graph(view_.graph(i), *image_.graphs()->Get(i));
  }

 private:
  std::string_view text(uint32_t index) const { return image_.strings()->Get(index)->string_view(); }

  template <class T>
  static T or_none(const flatbuffers::Optional<T>& value) {
    return value ? *value : ETB_GRAPH_NONE;
  }

  void compare_symbols() {
    ASSERT_EQ(view_.c().symbols.count, count(image_.symbols()));
    for (uint32_t i = 0; i < count(image_.symbols()); ++i) {
      const fb::Symbol& expected = *image_.symbols()->Get(i);
      const etb_graph_symbol found = view_.symbol(i);
      EXPECT_EQ(found.name, text(expected.name()));
      EXPECT_EQ(found.min, expected.min());
      EXPECT_EQ(found.max, expected.max());
      EXPECT_EQ(found.has_hint != 0, expected.hint().has_value());
      EXPECT_EQ(found.hint, expected.hint().value_or(0));
    }
    ASSERT_EQ(view_.c().exprs.count, count(image_.exprs()));
    for (uint32_t i = 0; i < count(image_.exprs()); ++i) {
      const fb::Expr& expected = *image_.exprs()->Get(i);
      const etb_graph_expr found = view_.expr(i);
      EXPECT_EQ(found.kind, static_cast<uint32_t>(expected.kind()));
      EXPECT_EQ(found.value, expected.value());
      EXPECT_EQ(found.left, expected.left());
      EXPECT_EQ(found.right, expected.right());
    }
  }

  void compare_specs() {
    ASSERT_EQ(view_.c().specs.count, count(image_.specs()));
    for (uint32_t i = 0; i < count(image_.specs()); ++i) {
      const fb::TensorSpec& expected = *image_.specs()->Get(i);
      const etb_graph_spec found = view_.spec(i);
      EXPECT_EQ(found.dtype, expected.dtype());
      ASSERT_EQ(found.rank, count(expected.sizes()));
      for (uint32_t dim = 0; dim < found.rank; ++dim) {
        EXPECT_EQ(found.sizes[dim], expected.sizes()->Get(dim));
        EXPECT_EQ(found.dim_order[dim], expected.dim_order() ? expected.dim_order()->Get(dim) : dim);
      }
      uint32_t dynamic_dims = 0;
      for (uint32_t k = 0; k < count(expected.dynamic_dims()); ++k) {
        const fb::DynamicDim& dynamic = *expected.dynamic_dims()->Get(k);
        dynamic_dims |= 1u << dynamic.dim();
        EXPECT_EQ(found.min_sizes[dynamic.dim()], dynamic.min());
        EXPECT_EQ(found.exprs[dynamic.dim()], or_none(dynamic.expr()));
      }
      EXPECT_EQ(found.dynamic_dims, dynamic_dims);
    }
  }

  void compare_quants() {
    ASSERT_EQ(view_.c().quants.count, count(image_.quants()));
    for (uint32_t i = 0; i < count(image_.quants()); ++i) {
      const fb::Quantization& expected = *image_.quants()->Get(i);
      const etb_graph_quant found = view_.quant(i);
      EXPECT_EQ(found.scheme, static_cast<uint32_t>(expected.scheme()));
      EXPECT_EQ(found.expressed_dtype, expected.expressed_dtype());
      EXPECT_EQ(found.quant_min, expected.quant_min());
      EXPECT_EQ(found.quant_max, expected.quant_max());
      EXPECT_EQ(found.scale, expected.scale());
      EXPECT_EQ(found.zero_point, expected.zero_point());
      EXPECT_EQ(found.axis, expected.axis());
      EXPECT_EQ(found.scales, or_none(expected.scales()));
      EXPECT_EQ(found.zero_points, or_none(expected.zero_points()));
      EXPECT_EQ(found.codec, text(expected.codec()));
      EXPECT_EQ(found.codec_data.count, count(expected.codec_data()));
      compare_list(to_i64s(found.block_sizes), expected.block_sizes());
    }
  }

  void compare_constants() {
    ASSERT_EQ(view_.c().constants.count, count(image_.constants()));
    for (uint32_t i = 0; i < count(image_.constants()); ++i) {
      const fb::Constant& expected = *image_.constants()->Get(i);
      const etb_graph_constant found = view_.constant(i);
      EXPECT_EQ(found.key, text(expected.key()));
      EXPECT_EQ(found.spec, expected.spec());
      EXPECT_EQ(found.nbytes, expected.nbytes());
      EXPECT_EQ(std::memcmp(found.digest, expected.digest()->Data(), ETB_GRAPH_DIGEST_NBYTES), 0);
      EXPECT_EQ(found.data != nullptr, expected.data() != nullptr);
      if (found.nbytes != 0 && found.data != nullptr) {
        EXPECT_EQ(found.data, expected.data()->Data());
      }
    }
    ASSERT_EQ(view_.c().ops.count, count(image_.ops()));
    for (uint32_t i = 0; i < count(image_.ops()); ++i)
      EXPECT_EQ(view_.op_name(i), text(image_.ops()->Get(i)->name()));
  }

  template <class Items, class T>
  void compare_list(const Items& found, const flatbuffers::Vector<T>* expected) {
    ASSERT_EQ(found.size(), count(expected));
    for (uint32_t i = 0; i < found.size(); ++i) {
      const auto found_item = found[i];
      const T expected_item = expected->Get(i);
      EXPECT_EQ(std::memcmp(&found_item, &expected_item, sizeof(T)), 0);  // also equal for a NaN
    }
  }

  void compare_graph(const Graph& found, const fb::Graph& expected) {
    EXPECT_EQ(found.name(), text(expected.name()));
    EXPECT_EQ(found.c().first_node_id, expected.first_node_id());
    ASSERT_EQ(found.inputs().size(), count(expected.inputs()));
    ASSERT_EQ(found.outputs().size(), count(expected.outputs()));
    ASSERT_EQ(found.values().size(), count(expected.values()));
    ASSERT_EQ(found.nodes().size(), count(expected.nodes()));
    for (uint32_t i = 0; i < count(expected.inputs()); ++i) {
      const fb::Input& input = *expected.inputs()->Get(i);
      EXPECT_EQ(found.input(i).kind, static_cast<uint32_t>(input.kind()));
      EXPECT_EQ(found.input(i).target, text(input.target()));
      EXPECT_EQ(found.input(i).constant, or_none(input.constant()));
      EXPECT_EQ(found.input(i).updated_by, or_none(input.updated_by()));
    }
    for (uint32_t i = 0; i < count(expected.outputs()); ++i) {
      EXPECT_EQ(found.outputs()[i].value, expected.outputs()->Get(i)->value());
      EXPECT_EQ(found.outputs()[i].updates, or_none(expected.outputs()->Get(i)->updates()));
    }
    for (uint32_t i = 0; i < count(expected.values()); ++i)
      compare_value(found.value(i).c(), *expected.values()->Get(i));
    for (uint32_t i = 0; i < count(expected.nodes()); ++i)
      compare_node(found.node(i), *expected.nodes()->Get(i));
  }

  void compare_value(const etb_graph_value& found, const fb::Value& expected) {
    EXPECT_EQ(found.name, text(expected.name()));
    EXPECT_EQ(found.kind, static_cast<uint32_t>(expected.kind()));
    EXPECT_EQ(found.spec, expected.kind() == fb::ValueKind::TENSOR ? expected.spec() : ETB_GRAPH_NONE);
    EXPECT_EQ(found.quant, or_none(expected.quant()));
    EXPECT_EQ(found.expr, or_none(expected.expr()));
    EXPECT_EQ(found.min, expected.min());
    EXPECT_EQ(found.max, expected.max());
    EXPECT_EQ(found.alias, static_cast<uint32_t>(expected.alias()));
    EXPECT_EQ(found.alias_of, expected.alias() == fb::AliasKind::NONE ? ETB_GRAPH_NONE : expected.alias_of());
  }

  void compare_node(const Node& found, const fb::Node& expected) {
    EXPECT_EQ(found.op(), expected.op());
    EXPECT_EQ(found.first_output(), expected.first_output());
    EXPECT_EQ(found.output_count(), expected.output_count());
    EXPECT_EQ(found.debug_handle(), expected.debug_handle());
    EXPECT_EQ(found.c().source, or_none(expected.source()));
    if (const auto source = found.source()) {
      const fb::Source& row = *image_.sources()->Get(*expected.source());
      EXPECT_EQ(source->file, text(row.file()));
      EXPECT_EQ(source->line, row.line());
      EXPECT_EQ(source->function, text(row.function()));
      EXPECT_EQ(source->module, text(row.module_()));
    }
    compare_list(found.result_lengths(), expected.result_lengths());
    ASSERT_EQ(found.args().size(), count(expected.args()));
    for (uint32_t i = 0; i < count(expected.args()); ++i)
      compare_argument(found.arg(i), *expected.args()->Get(i));
  }

  void compare_argument(const Argument& found, const fb::Argument& expected) {
    EXPECT_EQ(found.kind(), static_cast<uint32_t>(expected.kind()));
    EXPECT_EQ(found.name(), text(expected.name()));
    EXPECT_EQ(found.c().as_int, expected.int_());
    const double found_float = found.c().as_float;
    const double expected_float = expected.float_();
    EXPECT_EQ(std::memcmp(&found_float, &expected_float, sizeof(double)), 0);
    EXPECT_EQ(found.c().value, expected.value());
    compare_list(found.values(), expected.values());
    compare_list(found.ints(), expected.ints());
    compare_list(found.floats(), expected.floats());
  }

  const View& view_;
  const fb::Image& image_;
};

TEST(GraphView, ReadsWhatTheGeneratedReaderReads) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const ImageBytes image = random_graph(seed, 1 + seed % 15).finish_unverified();
    const View view = *View::open(image.span());
    Comparison(view, *fb::GetImage(image.span().data())).compare();
    if (HasFailure()) return;
  }
}

// copy_argument visits an argument of every kind. Its copy has the fields of the kind.
TEST(GraphView, VisitsArgumentsOfEveryKind) {
  std::set<uint32_t> kinds;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const ImageBytes image = random_graph(seed, 12).finish_unverified();
    const View view = *View::open(image.span());
    for (uint32_t g = 0; g < view.graph_count(); ++g) {
      for (const Node& node : view.graph(g).nodes()) {
        for (const Argument& argument : node.args()) {
          const ArgumentDesc copy = copy_argument(argument);
          kinds.insert(argument.kind());
          EXPECT_EQ(copy.kind, argument.kind());
          EXPECT_EQ(copy.name, argument.name());
          EXPECT_EQ(copy.value, argument.c().value);
          const bool is_text =
              argument.kind() == ETB_GRAPH_ARGUMENT_STRING || argument.kind() == ETB_GRAPH_ARGUMENT_DEVICE;
          EXPECT_TRUE(is_text || copy.as_int == argument.c().as_int);
          EXPECT_EQ(std::memcmp(&copy.as_float, &argument.c().as_float, sizeof(double)), 0);
          EXPECT_EQ(copy.text, argument.as_string());
          EXPECT_EQ(copy.values.size(), argument.values().size());
          EXPECT_EQ(copy.ints.size() + copy.strings.size(), argument.ints().size());
          EXPECT_EQ(copy.floats.size(), argument.floats().size());
        }
      }
    }
  }
  EXPECT_EQ(kinds.size(), ETB_GRAPH_ARGUMENT_GRAPH + 1u) << "a kind did not occur";
}

TEST(GraphView, WalksInPlainC) {
  const ImageBytes image = chain_graph(9).finish_unverified();
  const etb_graph_image c = image.to_c();
  etb_graph_walk_result result;
  ASSERT_EQ(etb_graph_walk(&c, UINT64_MAX, &result), ETB_OK);
  EXPECT_EQ(result.node_count, 9u);
  EXPECT_EQ(result.value_count, 1 + 3 + 9u);
  EXPECT_EQ(result.argument_count, 3 * (9 + 1 + 2u));
}

TEST(GraphView, FindsArgumentsByNameAndNodesById) {
  const ImageBytes image = chain_graph(3).finish_unverified();
  const View view = *View::open(image.span());
  const Node conv = view.method().node(0);
  EXPECT_EQ(conv.op_name(), "aten.convolution.default");
  ASSERT_TRUE(conv.find_arg("groups"));
  EXPECT_EQ(conv.find_arg("groups")->as_int(), 1);
  EXPECT_EQ(conv.find_arg("groups")->as_bool(), std::nullopt);
  EXPECT_FALSE(conv.find_arg("no_such"));
  etb_graph_body body;
  uint32_t index = 0;
  ASSERT_EQ(etb_graph_find_node(&view.c(), 2, &body, &index), 1u);
  EXPECT_EQ(index, 2u);
  EXPECT_EQ(etb_graph_find_node(&view.c(), 3, &body, &index), 0u);
}

// proves: ABI-GRAPH-03
TEST(GraphView, IsTotalOnIndicesOutOfRange) {
  const ImageBytes image = random_graph(5, 5).finish_unverified();
  const View view = *View::open(image.span());
  for (const uint32_t index : {1000u, 0x7fffffffu, 0xffffffffu}) {
    EXPECT_EQ(view.string(index), "");
    EXPECT_EQ(view.op_name(index), "");
    EXPECT_EQ(view.spec(index).rank, 0u);
    EXPECT_EQ(view.constant(index).data, nullptr);
    EXPECT_EQ(view.graph(index).nodes().size(), 0u);
    EXPECT_EQ(view.method().node(index).args().size(), 0u);
    EXPECT_EQ(view.method().value(index).name(), std::string_view());
  }
}

TEST(GraphView, RangesOutliveWhatMadeThem) {
  const ImageBytes image = chain_graph(4).finish_unverified();
  const View view = *View::open(image.span());
  uint32_t arg_count = 0;
  for (const Node node : view.method().nodes()) arg_count += node.args().size();
  for (const Argument arg : view.method().node(0).args()) arg_count += arg.name() == "stride" ? 100 : 0;
  EXPECT_EQ(arg_count, 9 + 1 + 2 + 9 + 100u);
}

TEST(GraphView, RefusesStructsThatAreTooSmall) {
  etb_graph_view view;
  EXPECT_EQ(etb_graph_open(nullptr, &view), ETB_INVALID_ARGUMENT);
  etb_graph_image image = {8, 0, {nullptr, 0}};
  EXPECT_EQ(etb_graph_open(&image, &view), ETB_INVALID_ARGUMENT);
  image.struct_size = ETB_INIT_SIZE(etb_graph_image);
  EXPECT_EQ(etb_graph_open(&image, &view), ETB_INVALID_DATA);
}

}  // namespace
}  // namespace etb::graph
