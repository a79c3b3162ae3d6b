// SPDX-License-Identifier: Apache-2.0
#include "api/format/graph_verifier.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "api/format/graph_text.hpp"
#include "api/testing/graph_generator.hpp"
#include "api/testing/graph_walk.h"
#include "etb/cpp/graph_view.hpp"
#include "etb_schema/graph_generated.h"

namespace etb::graph {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMaxSteps = 1 << 20;

ImageBytes copy_of(const ImageBytes& image, const std::function<void(std::span<uint8_t>)>& change) {
  std::vector<uint8_t> bytes(image.span().begin(), image.span().end());
  change(bytes);
  return ImageBytes(bytes);
}

std::string error_of(const ImageBytes& image) {
  const Status status = verify_graph_image(image.span());
  return status ? "accepted" : status.error().message;
}

// A method with one node, relu of an input, that tests modify.
struct Small {
  Builder builder{"forward"};
  uint32_t spec = builder.add_spec({ETB_DTYPE_FLOAT32, {2, 3}, {}, {}});
  GraphBuilder& graph = builder.add_graph("forward");
  uint32_t x = graph.add_input(tensor("x", spec));

  uint32_t relu(std::vector<ArgumentDesc> args, ValueDesc output) {
    NodeDesc node;
    node.op = "aten.relu.default";
    node.args = std::move(args);
    node.outputs = {std::move(output)};
    return graph.add_node(std::move(node));
  }
  uint32_t relu() { return relu({value_arg(x, "self")}, tensor("y", spec)); }
  std::string error() const { return error_of(builder.finish_unverified()); }
};

// The parts of an accepted image must be consistent: reading, printing and parsing agree.
void expect_walkable(const ImageBytes& image) {
  const auto view = View::open(image.span());
  ASSERT_TRUE(view);
  const std::string text = print_graph_image(*view);
  const auto parsed = parse_graph_text(text);
  ASSERT_TRUE(parsed) << parsed.error().message << "\n" << text;
  EXPECT_EQ(print_graph_image(*View::open(parsed->span())), text);
}

// proves: ABI-GRAPH-03
TEST(GraphVerifier, AcceptsEveryRandomGraph) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const ImageBytes image = random_graph(seed, 1 + seed % 20).finish_unverified();
    ASSERT_EQ(error_of(image), "accepted");
    ASSERT_TRUE(verify_constant_digests(image.span()));
  }
}

TEST(GraphVerifier, RefusesEveryTruncation) {
  const ImageBytes image = random_graph(7, 12).finish_unverified();
  for (size_t part = 0; part < 64; ++part) {
    SCOPED_TRACE(part);
    const ImageBytes cut(image.span().first(image.span().size() * part / 64));
    EXPECT_FALSE(verify_graph_image(cut.span()));
    etb_graph_walk_result result;
    const etb_graph_image c = cut.to_c();
    etb_graph_walk(&c, kMaxSteps, &result);  // any result is allowed, but no crash
  }
}

TEST(GraphVerifier, RefusesOrReadsEveryBitFlip) {
  const ImageBytes image = random_graph(11, 4).finish_unverified();
  size_t accepted_count = 0;
  for (size_t bit = 0; bit < image.span().size() * 8; ++bit) {
    SCOPED_TRACE("bit " + std::to_string(bit));
    const ImageBytes flipped =
        copy_of(image, [bit](std::span<uint8_t> bytes) { bytes[bit / 8] ^= 1u << bit % 8; });
    etb_graph_walk_result result;
    const etb_graph_image c = flipped.to_c();
    etb_graph_walk(&c, kMaxSteps, &result);
    if (!verify_graph_image(flipped.span())) continue;
    ++accepted_count;
    expect_walkable(flipped);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(accepted_count, 0u);  // data, digests and debug handles may have any value
}

// Replaces every count and offset of the image by each of these values.
TEST(GraphVerifier, RefusesOrReadsEveryHostileNumber) {
  const ImageBytes image = random_graph(11, 4).finish_unverified();
  const auto size = static_cast<uint32_t>(image.span().size());
  for (const uint32_t number :
       {0u, 1u, 0x10000u, 0x7fffffffu, 0x80000000u, 0xfffffff0u, 0xffffffffu, size, size - 4}) {
    for (uint32_t position = 0; position + 4 <= size; position += 4) {
      SCOPED_TRACE(std::to_string(number) + " at " + std::to_string(position));
      const ImageBytes changed = copy_of(image, [&](std::span<uint8_t> bytes) {
        std::memcpy(bytes.data() + position, &number, sizeof(number));
      });
      etb_graph_walk_result result;
      const etb_graph_image c = changed.to_c();
      etb_graph_walk(&c, kMaxSteps, &result);
      if (verify_graph_image(changed.span())) expect_walkable(changed);
      if (HasFatalFailure()) return;
    }
  }
}

// proves: ABI-GRAPH-02
TEST(GraphVerifier, RefusesWhatIsNoImage) {
  EXPECT_THAT(error_of(ImageBytes()), HasSubstr("0 bytes are too few"));
  EXPECT_THAT(error_of(ImageBytes(std::vector<uint8_t>(64, 0x41))),
              HasSubstr("file id is 'AAAA', expected 'ETG1'"));
  const ImageBytes image = random_graph(1, 1).finish_unverified();
  const std::vector<uint8_t> shifted(image.span().size() + 1);
  EXPECT_THAT(verify_graph_image(std::span(shifted).subspan(1)).error().message,
              HasSubstr("does not begin at a multiple of 16 bytes"));
}

TEST(GraphVerifier, RefusesOtherVersionsAndUnknownFeatures) {
  Small small;
  small.relu();
  ImageBytes image = small.builder.finish_unverified();
  image = copy_of(image, [](std::span<uint8_t> bytes) {
    flatbuffers::GetMutableRoot<flatbuffers::Table>(bytes.data())
        ->SetField<uint32_t>(fb::Image::VT_VERSION, 2, 0);
  });
  const Status version = verify_graph_image(image.span());
  ASSERT_FALSE(version);
  EXPECT_EQ(version.error().code, Code::INCOMPATIBLE);
  EXPECT_EQ(version.error().message, "graph image: version 2, this reader reads 1");
  EXPECT_FALSE(View::open(image.span()));

  small.builder.require_feature("nested-tensors");
  const Status feature = verify_graph_image(small.builder.finish_unverified().span());
  ASSERT_FALSE(feature);
  EXPECT_EQ(feature.error().code, Code::INCOMPATIBLE);
  EXPECT_EQ(feature.error().message,
            "graph image: requires feature 'nested-tensors', this reader knows none");
  EXPECT_FALSE(View::open(small.builder.finish_unverified().span()));
}

TEST(GraphVerifier, NamesNodeAndFieldOfAUseBeforeDefinition) {
  Small small;
  small.relu({value_arg(1, "self")}, tensor("y", small.spec));
  EXPECT_EQ(
      small.error(),
      "graph image: graph 0 'forward': node 0 (aten.relu.default): argument 0 'self': value: value 1 is not "
      "defined before");
}

TEST(GraphVerifier, RefusesTwoValuesOfOneName) {
  Small small;
  small.relu({value_arg(small.x)}, tensor("x", small.spec));
  EXPECT_THAT(small.error(), HasSubstr("value 1: name 'x' occurs twice"));
}

TEST(GraphVerifier, RefusesUseOfWhatWasOverwritten) {
  Small small;
  ValueDesc update = tensor("y", small.spec);
  update.alias = ETB_GRAPH_ALIAS_UPDATE;
  update.alias_of = small.x;
  small.relu({value_arg(small.x)}, update);
  EXPECT_EQ(small.error(), "accepted");
  small.relu({value_arg(small.x)}, tensor("z", small.spec));
  EXPECT_THAT(small.error(),
              HasSubstr("node 1 (aten.relu.default): argument 0 '': value: value 'x' was overwritten"));
}

TEST(GraphVerifier, RefusesBadOpNames) {
  for (const char* name :
       {"aten::add.Tensor", "aten.add", "aten..Tensor", "a.b.c.d", "", "aten.add.Ten sor"}) {
    Small small;
    NodeDesc node;
    node.op = name;
    small.graph.add_node(std::move(node));
    EXPECT_THAT(small.error(), HasSubstr("expected namespace.name.overload")) << name;
  }
}

TEST(GraphVerifier, RefusesBadSpecs) {
  const auto error_of_spec = [](SpecDesc spec) {
    Small small;
    small.graph.add_input(tensor("z", small.builder.add_spec(std::move(spec))));
    return small.error();
  };
  EXPECT_THAT(error_of_spec({8, {1}, {}, {}}), HasSubstr("spec 1: dtype 8 is unknown"));
  EXPECT_THAT(error_of_spec({ETB_DTYPE_INT8, std::vector<int64_t>(17, 1), {}, {}}),
              HasSubstr("rank 17, at most 16"));
  EXPECT_THAT(error_of_spec({ETB_DTYPE_INT8, {-2}, {}, {}}), HasSubstr("dimension 0 has size -2"));
  EXPECT_THAT(error_of_spec({ETB_DTYPE_INT8, {2, 3}, {1, 1}, {}}), HasSubstr("no permutation of 0 to 1"));
  EXPECT_THAT(error_of_spec({ETB_DTYPE_INT8, {2, 3}, {1, 2}, {}}), HasSubstr("no permutation of 0 to 1"));
  EXPECT_THAT(error_of_spec({ETB_DTYPE_INT8, {2, 3}, {1, 0, 2}, {}}),
              HasSubstr("dim_order has 3 dimensions, sizes has 2"));
  EXPECT_THAT(error_of_spec({ETB_DTYPE_INT8, {INT64_MAX, 2}, {}, {}}),
              HasSubstr("more bytes than an int64 counts"));
  EXPECT_THAT(error_of_spec({ETB_DTYPE_INT8, {0, INT64_MAX, 2}, {}, {}}),
              HasSubstr("more bytes than an int64 counts"));
  EXPECT_THAT(error_of_spec({ETB_DTYPE_FLOAT64, {INT64_MAX / 8 + 1}, {}, {}}),
              HasSubstr("more bytes than an int64"));
  EXPECT_EQ(error_of_spec({ETB_DTYPE_FLOAT64, {INT64_MAX / 8}, {}, {}}), "accepted");
  EXPECT_THAT(error_of_spec({ETB_DTYPE_INT8, {4}, {}, {{0, 5, {}}}}),
              HasSubstr("dimension 0: range 5 to 4 is empty"));
  EXPECT_THAT(error_of_spec({ETB_DTYPE_INT8, {4}, {}, {{1, 0, {}}}}),
              HasSubstr("dynamic_dims[0] is dimension 1"));
  EXPECT_THAT(error_of_spec({ETB_DTYPE_INT8, {4, 4}, {}, {{1, 0, {}}, {0, 0, {}}}}),
              HasSubstr("expected ascending"));
  EXPECT_THAT(error_of_spec({ETB_DTYPE_INT8, {4}, {}, {{0, 0, 9}}}), HasSubstr("expr: term 9 of 0"));
}

TEST(GraphVerifier, RefusesADimensionThatLeavesItsSymbol) {
  Small small;
  const uint32_t s = small.builder.add_symbol_expr(small.builder.add_symbol({"s0", 2, 10, {}}));
  const uint32_t spec = small.builder.add_spec({ETB_DTYPE_INT8, {12}, {}, {{0, 2, s}}});
  small.graph.add_input(tensor("z", spec));
  EXPECT_THAT(small.error(), HasSubstr("range 2 to 12 leaves that of symbol 's0', 2 to 10"));
}

TEST(GraphVerifier, RefusesBadSymbolsAndFormulas) {
  const auto error_after = [](const std::function<void(Small&)>& change) {
    Small small;
    change(small);
    return small.error();
  };
  const auto use = [](Small& small, uint32_t expr) { small.graph.add_input(sym_int("n", expr)); };
  EXPECT_THAT(error_after([](Small& s) {
                s.builder.add_symbol({"max", 0, 1, {}});
              }),
              HasSubstr("is not an identifier"));
  EXPECT_THAT(error_after([](Small& s) {
                s.builder.add_symbol({"s0", 3, 2, {}});
              }),
              HasSubstr("range 3 to 2 is empty"));
  EXPECT_THAT(error_after([](Small& s) {
                s.builder.add_symbol({"s0", 3, 4, 5});
              }),
              HasSubstr("hint 5 is outside 3 to 4"));
  EXPECT_THAT(error_after([&](Small& s) { use(s, s.builder.add_symbol_expr(4)); }),
              HasSubstr("value: symbol 4 of 0"));
  EXPECT_THAT(error_after([&](Small& s) {
                const uint32_t zero = s.builder.add_int_expr(0);
                use(s, s.builder.add_expr(ETB_GRAPH_EXPR_MOD, zero, zero));
              }),
              HasSubstr("divides by zero"));
  EXPECT_THAT(error_after([&](Small& s) {
                uint32_t expr = s.builder.add_int_expr(1);
                for (int i = 0; i < 40; ++i) expr = s.builder.add_expr(ETB_GRAPH_EXPR_ADD, expr, expr);
                use(s, expr);
              }),
              HasSubstr("terms, at most 256"));
}

TEST(GraphVerifier, RefusesBadConstants) {
  const auto error_of_constant = [](ConstantDesc constant) {
    Small small;
    constant.spec = small.spec;
    small.builder.add_constant(std::move(constant));
    return small.error();
  };
  EXPECT_THAT(error_of_constant({"", 0, {}, {}, {}}), HasSubstr("constant 0: key is empty"));
  EXPECT_THAT(error_of_constant({"w", 0, {}, {}, 25}), HasSubstr("nbytes is 25, its spec has 24"));
  EXPECT_THAT(error_of_constant({"w", 0, {}, std::vector<uint8_t>(23), {}}),
              HasSubstr("data has 23 bytes, expected 24"));
}

TEST(GraphVerifier, FindsDataThatHasNotItsDigest) {
  Small small;
  ConstantDesc constant;
  constant.key = "w";
  constant.spec = small.spec;
  constant.data = std::vector<uint8_t>(24, 0x5a);
  small.builder.add_constant(std::move(constant));
  const ImageBytes image = small.builder.finish_unverified();
  EXPECT_TRUE(verify_constant_digests(image.span()));
  const ImageBytes changed =
      copy_of(image, [](std::span<uint8_t> bytes) { *std::find(bytes.begin(), bytes.end(), 0x5a) = 0x5b; });
  ASSERT_EQ(error_of(changed), "accepted");
  EXPECT_THAT(verify_constant_digests(changed.span()).error().message,
              HasSubstr("constant 0 'w': data does not have the digest"));
}

TEST(GraphVerifier, AlignsInlineData) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const ImageBytes image = random_graph(seed, 3).finish_unverified();
    const View view = *View::open(image.span());
    for (uint32_t i = 0; i < view.c().constants.count; ++i) {
      const etb_graph_constant constant = view.constant(i);
      if (constant.nbytes != 0) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(constant.data) % ETB_GRAPH_ALIGNMENT, 0u) << seed;
      }
    }
  }
}

TEST(GraphVerifier, RefusesBadQuantisation) {
  const auto error_of_quant = [](const std::function<void(Builder&, QuantDesc&)>& change) {
    Small small;
    QuantDesc quant;
    quant.quant_min = -128;
    quant.quant_max = 127;
    quant.scale = 0.5;
    change(small.builder, quant);
    ValueDesc value = tensor("q", small.builder.add_spec({ETB_DTYPE_INT8, {2, 6}, {}, {}}));
    value.quant = small.builder.add_quant(std::move(quant));
    small.graph.add_input(std::move(value));
    return small.error();
  };
  const auto scales_of = [](Builder& builder, int64_t count) {
    ConstantDesc constant;
    constant.key = "scales";
    constant.spec = builder.add_spec({ETB_DTYPE_FLOAT32, {count}, {}, {}});
    return builder.add_constant(std::move(constant));
  };
  EXPECT_EQ(error_of_quant([](Builder&, QuantDesc&) {}), "accepted");
  EXPECT_THAT(error_of_quant([](Builder&, QuantDesc& q) { q.scale = std::nan(""); }),
              HasSubstr("quant 0: scale nan"));
  EXPECT_THAT(error_of_quant([](Builder&, QuantDesc& q) { q.zero_point = 128; }),
              HasSubstr("zero_point 128 is outside"));
  EXPECT_THAT(error_of_quant([](Builder&, QuantDesc& q) { q.quant_max = -128; }), HasSubstr("is empty"));
  EXPECT_THAT(error_of_quant([](Builder&, QuantDesc& q) { q.axis = 1; }), HasSubstr("axis without use"));
  EXPECT_THAT(error_of_quant([&](Builder& builder, QuantDesc& q) {
                q.scheme = ETB_GRAPH_QUANT_PER_CHANNEL;
                q.scale = 0;
                q.axis = 2;
                q.scales = scales_of(builder, 2);
              }),
              HasSubstr("quant axis 2 of a tensor of rank 2"));
  EXPECT_THAT(error_of_quant([&](Builder& builder, QuantDesc& q) {
                q.scheme = ETB_GRAPH_QUANT_PER_CHANNEL;
                q.scale = 0;
                q.scales = scales_of(builder, 3);
              }),
              HasSubstr("constant 0 has 3 elements for 2 channels"));
  EXPECT_THAT(error_of_quant([&](Builder& builder, QuantDesc& q) {
                q.scheme = ETB_GRAPH_QUANT_PER_GROUP;
                q.scale = 0;
                q.block_sizes = {1, 4};
                q.scales = scales_of(builder, 2);
              }),
              HasSubstr("quant block of 4 does not divide size 6 of dimension 1"));
  EXPECT_THAT(error_of_quant([](Builder&, QuantDesc& q) {
                q = {};
                q.scheme = ETB_GRAPH_QUANT_OPAQUE;
              }),
              HasSubstr("codec is empty"));
}

TEST(GraphVerifier, RefusesBadArguments) {
  const auto error_of_arg = [](ArgumentDesc arg) {
    Small small;
    small.relu({std::move(arg)}, tensor("y", small.spec));
    return small.error();
  };
  ArgumentDesc unknown;
  unknown.kind = 18;
  EXPECT_THAT(error_of_arg(unknown), HasSubstr("argument 0 '': kind 18 is unknown"));
  ArgumentDesc stowaway = int_arg(1);
  stowaway.floats = {1.0};
  EXPECT_THAT(error_of_arg(stowaway), HasSubstr("has a field that kind 3 does not have"));
  EXPECT_THAT(error_of_arg(bools_arg({2})), HasSubstr("ints[0] is 2"));
  EXPECT_THAT(error_of_arg(code_arg(ETB_GRAPH_ARGUMENT_DTYPE, 9)), HasSubstr("dtype 9 is unknown"));
  EXPECT_THAT(error_of_arg(code_arg(ETB_GRAPH_ARGUMENT_LAYOUT, 8)), HasSubstr("int: 8 of 8"));
  EXPECT_THAT(error_of_arg(graph_arg(0)), HasSubstr("graph 0 of 1, expected a later one than 0"));
  EXPECT_THAT(error_of_arg(values_arg({9})), HasSubstr("values: value 9 is not defined before"));
  EXPECT_THAT(error_of_arg(sym_ints_arg({0}, {0})), HasSubstr("values: value 'x' has another kind"));
}

TEST(GraphVerifier, RefusesSubgraphsThatAreDeepUnusedOrNotForward) {
  const auto nested = [](uint32_t graph_count) {
    Builder builder("forward");
    for (uint32_t i = 0; i < graph_count; ++i) builder.add_graph("g" + std::to_string(i));
    for (uint32_t i = 0; i + 1 < graph_count; ++i) {
      NodeDesc node;
      node.op = "higher_order.cond.default";
      node.args = {graph_arg(i + 1)};
      builder.graph(i).add_node(std::move(node));
    }
    return builder;
  };
  EXPECT_EQ(error_of(nested(ETB_GRAPH_MAX_DEPTH).finish_unverified()), "accepted");
  EXPECT_THAT(error_of(nested(ETB_GRAPH_MAX_DEPTH + 1).finish_unverified()),
              HasSubstr("nested deeper than 32"));
  Builder unused = nested(1);
  unused.add_graph("lonely");
  EXPECT_THAT(error_of(unused.finish_unverified()), HasSubstr("graph 1 'lonely': nothing refers to it"));
}

TEST(GraphVerifier, RefusesUpdatesThatDoNotFit) {
  Small small;
  const uint32_t other = small.builder.add_spec({ETB_DTYPE_INT8, {2, 3}, {}, {}});
  const uint32_t y = small.relu({value_arg(small.x)}, tensor("y", other));
  small.graph.add_output(y, small.x);
  EXPECT_THAT(small.error(), HasSubstr("output 0: updates: 'y' and 'x' differ in dtype or sizes"));
}

TEST(GraphVerifier, RefusesInputsWithoutTheirConstant) {
  Small small;
  small.graph.add_input(tensor("w", small.spec), ETB_GRAPH_INPUT_PARAMETER, "fc.weight");
  EXPECT_THAT(small.error(), HasSubstr("input 1: has no constant"));
}

// The verification of one list of strings or values that many tables share would be quadratic.
TEST(GraphVerifier, RefusesListsThatOverlap) {
  flatbuffers::FlatBufferBuilder fbb;
  const std::vector<flatbuffers::Offset<flatbuffers::String>> strings = {
      fbb.CreateString(""), fbb.CreateString("forward"), fbb.CreateString("a.b.c")};
  const auto fb_strings = fbb.CreateVector(strings);
  const auto ints = fbb.CreateVector(std::vector<int64_t>(1000, 1));
  std::vector<flatbuffers::Offset<fb::Argument>> args;
  for (int i = 0; i < 1000; ++i) {
    args.push_back(fb::CreateArgument(fbb, fb::ArgumentKind::INTS, 0, 0, 0, 0, 0, ints));
  }
  const auto fb_args = fbb.CreateVector(args);
  const std::vector<flatbuffers::Offset<fb::Node>> nodes = {fb::CreateNode(fbb, 0, fb_args, 0, 0)};
  const auto fb_nodes = fbb.CreateVector(nodes);
  const std::vector<flatbuffers::Offset<fb::Graph>> graphs = {fb::CreateGraph(fbb, 1, 0, 0, 0, 0, fb_nodes)};
  const auto fb_graphs = fbb.CreateVector(graphs);
  const std::vector<flatbuffers::Offset<fb::Op>> ops = {fb::CreateOp(fbb, 2)};
  const auto fb_ops = fbb.CreateVector(ops);
  fb::FinishImageBuffer(fbb,
                        fb::CreateImage(fbb, 1, 1, 0, 0, fb_strings, 0, 0, 0, 0, 0, fb_ops, 0, fb_graphs));
  const ImageBytes image({fbb.GetBufferPointer(), fbb.GetSize()});
  EXPECT_THAT(error_of(image), HasSubstr("node 0 (a.b.c): argument"));
  EXPECT_THAT(error_of(image), HasSubstr("ints: lists overlap"));
}

// One node table, a thousand times in a list: more tables than the bytes could contain.
TEST(GraphVerifier, RefusesTablesThatOverlap) {
  flatbuffers::FlatBufferBuilder fbb;
  const auto fb_strings = fbb.CreateVectorOfStrings({"", "forward"});
  const std::vector<flatbuffers::Offset<fb::Argument>> args(200, fb::CreateArgument(fbb));
  const auto fb_args = fbb.CreateVector(args);
  const std::vector<flatbuffers::Offset<fb::Node>> nodes(200, fb::CreateNode(fbb, 0, fb_args));
  const auto fb_nodes = fbb.CreateVector(nodes);
  const std::vector<flatbuffers::Offset<fb::Graph>> graphs = {fb::CreateGraph(fbb, 1, 0, 0, 0, 0, fb_nodes)};
  const auto fb_graphs = fbb.CreateVector(graphs);
  fb::FinishImageBuffer(fbb, fb::CreateImage(fbb, 1, 1, 0, 0, fb_strings, 0, 0, 0, 0, 0, 0, 0, fb_graphs));
  EXPECT_THAT(error_of(ImageBytes({fbb.GetBufferPointer(), fbb.GetSize()})),
              HasSubstr("broken in its graphs"));
}

TEST(GraphVerifier, NamesTheBrokenPart) {
  const ImageBytes image = random_graph(3, 8).finish_unverified();
  const auto error_with_broken = [&](flatbuffers::voffset_t field) {
    return error_of(copy_of(image, [field](std::span<uint8_t> bytes) {
      uint8_t* root =
          const_cast<uint8_t*>(flatbuffers::GetRoot<flatbuffers::Table>(bytes.data())->GetAddressOf(field));
      flatbuffers::WriteScalar<uint32_t>(root, 0x7ffffff0);
    }));
  };
  EXPECT_THAT(error_with_broken(fb::Image::VT_SPECS), HasSubstr("broken in its specs"));
  EXPECT_THAT(error_with_broken(fb::Image::VT_GRAPHS), HasSubstr("broken in its graphs"));
}

}  // namespace
}  // namespace etb::graph
