// SPDX-License-Identifier: Apache-2.0
// Tests float16 graphs with numbers that float16 does not have: counts above 65504, small eps, squares above 65504.
#include "plugins/xnnpack/testing/compile_fixture.hpp"

namespace etb::xnnpack {
namespace {

// Bits of float16 numbers.
constexpr uint16_t kZero = 0, kOne = 0x3c00, kMinusOne = 0xbc00, kNextToOne = 0x3c01, kThousandth = 0x1400,
                   k300 = 0x5cb0, kMinus300 = 0xdcb0, kInfinity = 0x7c00, kMinusInfinity = 0xfc00;

struct Halves {
  std::vector<int64_t> sizes;
  std::vector<uint16_t> data;
};

class XnnpackFloat16 : public XnnpackCompile {
 protected:
  static uint32_t spec(Model& model, const std::vector<int64_t>& sizes) {
    return model.builder().add_spec({ETB_DTYPE_FLOAT16, sizes});
  }
  static uint32_t input(Model& model, const char* name, const std::vector<int64_t>& sizes) {
    return model.builder().graph(0).add_input(graph::tensor(name, spec(model, sizes)));
  }
  // Adds a node whose first result is the model's output.
  static void add_output(Model& model, const std::string& op, std::vector<ArgumentDesc> args,
                         const std::vector<std::vector<int64_t>>& results) {
    std::vector<graph::ValueDesc> outputs;
    for (const auto& sizes : results)
      outputs.push_back(graph::tensor("y" + std::to_string(outputs.size()), spec(model, sizes)));
    GraphBuilder& graph = model.builder().graph(0);
    graph.add_output(graph.add_node({.op = op, .args = std::move(args), .outputs = outputs}));
  }

  static etb_tensor to_c(Halves& halves) {
    etb_tensor raw{};
    raw.struct_size = ETB_INIT_SIZE(etb_tensor);
    raw.dtype = ETB_DTYPE_FLOAT16;
    raw.rank = static_cast<uint32_t>(halves.sizes.size());
    raw.sizes = halves.sizes.data();
    raw.capacity_bytes = halves.data.size() * sizeof(uint16_t);
    halves.data.reserve(halves.data.size() + 32);  // XNNPACK reads past the end
    raw.data = halves.data.data();
    return raw;
  }

  // Returns the bits of the output, which has `sizes`.
  std::vector<uint16_t> run(const Model& model, std::vector<Halves> inputs,
                            const std::vector<int64_t>& sizes) {
    expect_all_claimed(model);
    Compiled made;
    EXPECT_EQ(compile(model.image(), made), ETB_OK) << error_.text;
    std::vector<etb_tensor> raw_inputs;
    for (Halves& each : inputs) raw_inputs.push_back(to_c(each));
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    Halves found{sizes, std::vector<uint16_t>(static_cast<size_t>(count), 0x7e00)};
    etb_tensor output = to_c(found);
    output.role = ETB_ROLE_OUTPUT;
    XnnpackCompile::run(made.payload, made.blobs, raw_inputs, {&output, 1});
    return found.data;
  }
};

TEST_F(XnnpackFloat16, SumsOf65536NumbersAndMore) {
  for (const int64_t count : {4096, 65536, 131072}) {
    Model model;
    const uint32_t x = input(model, "x", {1, count});
    add_output(model, "aten.sum.dim_IntList",
               {arg(x, "self"), graph::ints_arg({1}, "dim"), graph::bool_arg(false, "keepdim")}, {{1}});
    const auto numel = static_cast<size_t>(count);
    EXPECT_THAT(run(model, {{{1, count}, std::vector<uint16_t>(numel, kZero)}}, {1}), ElementsAre(kZero));
    // count / 1024 is a power of two: 4, 64 or 128.
    const int exponent = std::ilogb(static_cast<double>(count) / 1024);
    EXPECT_THAT(run(model, {{{1, count}, std::vector<uint16_t>(numel, kThousandth)}}, {1}),
                ElementsAre((exponent + 15) << 10));
  }
}

TEST_F(XnnpackFloat16, AMaskOf40000ColumnsHidesWholeRows) {
  constexpr int64_t kColumns = 40000;
  Model model;
  const uint32_t q = input(model, "q", {1, 1, 2, 1}), k = input(model, "k", {1, 1, kColumns, 1}),
                 v = input(model, "v", {1, 1, kColumns, 1}), m = input(model, "m", {2, kColumns});
  add_output(model, "aten.scaled_dot_product_attention.default",
             {arg(q, "query"), arg(k, "key"), arg(v, "value"), arg(m, "attn_mask"),
              graph::float_arg(0, "dropout_p"), graph::bool_arg(false, "is_causal")},
             {{1, 1, 2, 1}});
  const Halves keys{{1, 1, kColumns, 1}, std::vector<uint16_t>(kColumns, kOne)};
  Halves mask{{2, kColumns}, std::vector<uint16_t>(2 * kColumns, kMinusInfinity)};
  mask.data.back() = kZero;  // the second row has one column
  EXPECT_THAT(run(model, {{{1, 1, 2, 1}, {kOne, kOne}}, keys, keys, mask}, {1, 1, 2, 1}),
              ElementsAre(kZero, kOne));
  Compiled made;
  ASSERT_EQ(compile(model.image(), made), ETB_OK) << error_.text;
  for (const auto& [key, bytes] : made.blobs) {  // minimum and maximum may hide 0 times infinity
    uint16_t first = 0;
    std::memcpy(&first, bytes.data(), sizeof first);
    EXPECT_NE(first, kInfinity) << key;
  }
}

// Rows of equal numbers, of neighbours and of numbers whose squares are infinite in float16.
TEST_F(XnnpackFloat16, NormalisationHasTheRangeOfFloat32) {
  const Halves rows{
      {3, 4}, {kOne, kOne, kOne, kOne, kNextToOne, kOne, kNextToOne, kOne, k300, kMinus300, k300, kMinus300}};
  const std::vector<uint16_t> expected = {kZero, kZero,     kZero, kZero,     kOne, kMinusOne,
                                          kOne,  kMinusOne, kOne,  kMinusOne, kOne, kMinusOne};
  Model layer, group;
  const uint32_t x = input(layer, "x", {3, 4}), y = input(group, "x", {3, 2, 2});
  add_output(layer, "aten.native_layer_norm.default",
             {arg(x, "input"), graph::ints_arg({4}, "normalized_shape"), graph::none_arg("weight"),
              graph::none_arg("bias"), graph::float_arg(1e-12, "eps")},
             {{3, 4}, {3, 1}, {3, 1}});
  EXPECT_EQ(run(layer, {rows}, {3, 4}), expected);
  add_output(group, "aten.native_group_norm.default",
             {arg(y, "input"), graph::none_arg("weight"), graph::none_arg("bias"), graph::int_arg(3, "N"),
              graph::int_arg(2, "C"), graph::int_arg(2, "HxW"), graph::int_arg(1, "group"),
              graph::float_arg(1e-12, "eps")},
             {{3, 2, 2}, {3, 1}, {3, 1}});
  EXPECT_EQ(run(group, {{{3, 2, 2}, rows.data}}, {3, 2, 2}), expected);
}

}  // namespace
}  // namespace etb::xnnpack
