// SPDX-License-Identifier: Apache-2.0
// Tests the payloads of VulkanBackend that are written: calls, storage, constants and shared memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "api/format/digest.hpp"
#include "api/format/hex.hpp"
#include "plugins/gpu/compile/op.hpp"
#include "plugins/gpu/official/ops.hpp"
#include "plugins/gpu/official/write/region_writer.hpp"
#include "plugins/gpu/official/write/writer.hpp"
#include "plugins/gpu/testing/image_model.hpp"

namespace etb::gpu {
namespace {

using graph::value_arg;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr etb_dtype kFloat = ETB_DTYPE_FLOAT32;

// A written payload, and the file inside of it.
struct Written {
  Artifact artifact;
  std::optional<VulkanFile> file;

  std::vector<std::string> ops() const {
    std::vector<std::string> out;
    for (const auto* call : *file->graph().calls()) out.push_back(call->op()->str());
    return out;
  }
  int32_t argument(uint32_t call, uint32_t at) const {
    return file->graph().calls()->Get(call)->arguments()->Get(at);
  }
  const vulkan_schema::Tensor& tensor(int32_t value) const {
    return *file->value(static_cast<uint32_t>(value)).content_as_Tensor();
  }
  // The result of a call, or the first of several.
  const vulkan_schema::Tensor& result(uint32_t call) const {
    const auto* arguments = file->graph().calls()->Get(call)->arguments();
    const int32_t last = arguments->Get(arguments->size() - 1);
    const auto* list = file->value(static_cast<uint32_t>(last)).content_as_Values();
    return tensor(list == nullptr ? last : list->items()->Get(0));
  }
  Storage storage_of_result(uint32_t call) const { return {result(call).storage(), result(call).layout()}; }
  // Floats of a constant that the writer computed.
  std::vector<float> floats(int32_t value) const {
    const auto* constant = file->graph().constants()->Get(static_cast<uint32_t>(tensor(value).constant()));
    for (const auto& blob : artifact.named_blobs) {
      if (blob.key != constant->key()->str()) continue;
      std::vector<float> out(blob.value.size() / sizeof(float));
      std::memcpy(out.data(), blob.value.data(), blob.value.size());
      return out;
    }
    return {};
  }
};

Written written(const graph::ImageBytes& image) {
  Written out;
  auto artifact = compile_by(image, compile_official_region);
  EXPECT_TRUE(artifact) << artifact.error().message;
  if (artifact) out.artifact = *std::move(artifact);
  auto file = VulkanFile::read(out.artifact.payload);
  EXPECT_TRUE(file) << file.error().message;
  if (file) out.file.emplace(*std::move(file));
  return out;
}

std::string answer(const graph::ImageBytes& image) { return claims_by(image, claim_official_nodes).back(); }

uint32_t add_convolution(Model& model, uint32_t x, uint32_t weight, const std::vector<int64_t>& sizes,
                         int64_t groups = 1) {
  return model.node("aten.convolution.default",
                    {value_arg(x, "input"), value_arg(weight, "weight"), graph::none_arg("bias"),
                     graph::ints_arg({1, 1}, "stride"), graph::ints_arg({0, 0}, "padding"),
                     graph::ints_arg({1, 1}, "dilation"), graph::bool_arg(false, "transposed"),
                     graph::ints_arg({0, 0}, "output_padding"), graph::int_arg(groups, "groups")},
                    sizes);
}

TEST(GpuOfficialWrite, BatchNormAndActivationArePartsOfTheConvolution) {
  Model model;
  const uint32_t x = model.input(kFloat, {1, 1, 2, 2});
  const uint32_t weight = model.constant<float>(kFloat, {2, 1, 1, 1}, {3, 5});
  const uint32_t scale = model.constant<float>(kFloat, {2}, {2, 4}),
                 shift = model.constant<float>(kFloat, {2}, {7, 1}),
                 mean = model.constant<float>(kFloat, {2}, {1, 0}),
                 variance = model.constant<float>(kFloat, {2}, {0.25, 4});
  const uint32_t made = add_convolution(model, x, weight, {1, 2, 2, 2});
  const uint32_t normed =
      model.node("aten._native_batch_norm_legit_no_training.default",
                 {value_arg(made, "input"), value_arg(scale, "weight"), value_arg(shift, "bias"),
                  value_arg(mean, "running_mean"), value_arg(variance, "running_var"),
                  graph::float_arg(0.1, "momentum"), graph::float_arg(0, "eps")},
                 {1, 2, 2, 2});
  const Written file =
      written(model.finish(model.node("aten.relu.default", {value_arg(normed, "self")}, {1, 2, 2, 2})));
  EXPECT_THAT(file.ops(), ElementsAre("et_vk.conv_with_clamp.default"));
  // 2 / sqrt(0.25) = 4 and 4 / sqrt(4) = 2 times the filters; 7 - 1 * 4 and 1 - 0 * 2.
  EXPECT_THAT(file.floats(file.argument(0, 1)), ElementsAre(12, 10));
  EXPECT_THAT(file.floats(file.argument(0, 2)), ElementsAre(3, 1));
  EXPECT_EQ(file.file->value(static_cast<uint32_t>(file.argument(0, 9))).content_as_Number()->value(), 0);
  EXPECT_EQ(file.artifact.named_blobs.size(), 2u) << "the weights before the batch norm are not stored";
}

TEST(GpuOfficialWrite, AnActivationIsNoPartOfAConvolutionThatOthersRead) {
  Model model;
  const uint32_t x = model.input(kFloat, {1, 1, 2, 2});
  const uint32_t weight = model.constant<float>(kFloat, {2, 1, 1, 1}, {3, 5});
  const uint32_t made = add_convolution(model, x, weight, {1, 2, 2, 2});
  const uint32_t active = model.node("aten.relu.default", {value_arg(made, "self")}, {1, 2, 2, 2});
  const Written file = written(model.finish(
      model.node("aten.add.Tensor", {value_arg(made, "self"), value_arg(active, "other")}, {1, 2, 2, 2})));
  EXPECT_THAT(file.ops(), ElementsAre("aten.convolution.default", "aten.relu.default", "aten.add.Tensor"));
  for (const uint32_t call : {0u, 1u, 2u})
    EXPECT_EQ(file.storage_of_result(call), kChannelTexture) << "functions of elements stay in the texture";
}

TEST(GpuOfficialWrite, ATensorIsCopiedWhereAnOperatorDemandsAnotherStorage) {
  Model model;
  const uint32_t x = model.input(kFloat, {1, 1, 2, 2});
  const uint32_t weight = model.constant<float>(kFloat, {2, 1, 1, 1}, {3, 5});
  const uint32_t made = add_convolution(model, x, weight, {1, 2, 2, 2});
  const auto softmax = [&](int64_t dim) {
    return model.node(
        "aten._softmax.default",
        {value_arg(made, "self"), graph::int_arg(dim, "dim"), graph::bool_arg(false, "half_to_float")},
        {1, 2, 2, 2});
  };
  const uint32_t first = softmax(3), second = softmax(2);
  const Written file = written(model.finish(
      model.node("aten.add.Tensor", {value_arg(first, "self"), value_arg(second, "other")}, {1, 2, 2, 2})));
  EXPECT_THAT(file.ops(), ElementsAre("aten.convolution.default", "aten.clone.default",
                                      "aten._softmax.default", "aten._softmax.default", "aten.add.Tensor"))
      << "one copy serves both readers";
  EXPECT_EQ(file.storage_of_result(0), kChannelTexture);
  EXPECT_EQ(file.storage_of_result(1), kRowMajorBuffer);
  EXPECT_EQ(file.argument(2, 0), file.argument(3, 0));
}

TEST(GpuOfficialWrite, ConstantsAreNamedByTheirSha256) {
  Model model;
  const std::vector<float> numbers = {1, 2, 3, 4};
  const uint32_t x = model.input(kFloat, {3, 2}), weight = model.constant(kFloat, {2, 2}, numbers);
  const Written file = written(model.finish(
      model.node("aten.linear.default",
                 {value_arg(x, "input"), value_arg(weight, "weight"), graph::none_arg("bias")}, {3, 2})));
  EXPECT_THAT(file.ops(), ElementsAre("aten.linear.default")) << "the operator loads the weight itself";
  ASSERT_EQ(file.artifact.named_blobs.size(), 1u);
  EXPECT_FALSE(file.artifact.named_blobs[0].constant_key.empty()) << "bytes that the host has are not copied";
  const auto* constant = file.file->graph().constants()->Get(0);
  const auto digest = format::sha256({reinterpret_cast<const uint8_t*>(numbers.data()), 16});
  EXPECT_EQ(constant->key()->str(), format::to_hex(digest));
  EXPECT_EQ(constant->nbytes(), 16u);
  EXPECT_EQ(constant->offset(), UINT64_MAX);
}

TEST(GpuOfficialWrite, IndicesOf64BitsAreStoredIn32) {
  Model model;
  const uint32_t x = model.input(kFloat, {3, 2}),
                 index = model.constant<int64_t>(ETB_DTYPE_INT64, {2}, {2, 0});
  const auto image = model.finish(
      model.node("aten.index_select.default",
                 {value_arg(x, "self"), graph::int_arg(0, "dim"), value_arg(index, "index")}, {2, 2}));
  const Written file = written(image);
  EXPECT_THAT(file.ops(), ElementsAre("et_vk.prepack.default", "aten.index.Tensor"));
  EXPECT_EQ(file.result(0).element_type(), static_cast<int8_t>(ElementType::kInt32));
  ASSERT_EQ(file.artifact.named_blobs.size(), 1u);
  ASSERT_EQ(file.artifact.named_blobs[0].value.size(), 8u);
  int32_t first = 0;
  std::memcpy(&first, file.artifact.named_blobs[0].value.data(), sizeof first);
  EXPECT_EQ(first, 2);
}

TEST(GpuOfficialWrite, TensorsThatAreNeverInUseAtOnceShareMemory) {
  Model model;
  uint32_t x = model.input(kFloat, {4, 4});
  for (int i = 0; i < 5; ++i) x = model.node("aten.sin.default", {value_arg(x, "self")}, {4, 4});
  const Written file = written(model.finish(x));
  ASSERT_EQ(file.ops().size(), 5u);
  std::set<int32_t> objects;
  for (uint32_t call = 0; call < 4; ++call) {
    const int32_t object = file.result(call).memory_object();
    EXPECT_GE(object, 0);
    objects.insert(object);
    EXPECT_TRUE(call == 0 || object != file.result(call - 1).memory_object()) << "an operand is in use";
  }
  EXPECT_EQ(objects.size(), 2u);
  EXPECT_EQ(file.result(4).memory_object(), -1) << "an output has memory of its own";
  EXPECT_EQ(file.tensor(file.argument(0, 0)).memory_object(), -1) << "an input has memory of its own";
}

TEST(GpuOfficialWrite, AnOutputThatIsAnInputIsACopy) {
  Model model;
  const uint32_t x = model.input(kFloat, {2, 3});
  const Written file =
      written(model.finish(model.node("aten.clone.default", {value_arg(x, "self")}, {2, 3})));
  EXPECT_THAT(file.ops(), ElementsAre("aten.clone.default"));
  EXPECT_NE(file.file->graph().inputs()->Get(0), file.file->graph().outputs()->Get(0));
}

// The runtime's own equality is a difference below 1e-5.
TEST(GpuOfficialWrite, EqualityIsTwoComparisons) {
  Model model;
  const uint32_t x = model.input(kFloat, {2, 3});
  const Written file = written(
      model.finish(model.node("aten.ne.Scalar", {value_arg(x, "self"), graph::float_arg(-INFINITY, "other")},
                              {2, 3}, ETB_DTYPE_BOOL)));
  EXPECT_THAT(file.ops(), ElementsAre("aten.le.Scalar", "aten.ge.Scalar", "aten.bitwise_and.Tensor",
                                      "aten.bitwise_not.default"));
}

TEST(GpuOfficialWrite, ConstantsOfMoreThanFourDimensionsAreLoadedAsMatrices) {
  Model model;
  const std::vector<int64_t> sizes = {1, 2, 1, 2, 2};
  const uint32_t x = model.input(kFloat, sizes), y = model.constant(kFloat, sizes, std::vector<float>(8, 1));
  const Written file = written(
      model.finish(model.node("aten.add.Tensor", {value_arg(x, "self"), value_arg(y, "other")}, sizes)));
  EXPECT_THAT(file.ops(), ElementsAre("et_vk.prepack.default", "aten.view_copy.default", "aten.add.Tensor"));
  EXPECT_EQ(file.result(0).sizes()->size(), 2u);
}

TEST(GpuOfficialWrite, OtherNodesAreRejectedWithTheReason) {
  const auto unary = [](etb_dtype dtype, const char* op) {
    Model model;
    const uint32_t x = model.input(dtype, {2, 3});
    return answer(model.finish(model.node(op, {value_arg(x, "self")}, {2, 3}, dtype)));
  };
  EXPECT_THAT(unary(kFloat, "aten.abs.default"), IsEmpty());
  EXPECT_THAT(unary(ETB_DTYPE_FLOAT16, "aten.abs.default"), HasSubstr("dtype: 'v1': float16"));
  EXPECT_THAT(unary(kFloat, "aten.erf.default"),
              HasSubstr("op: aten.erf.default: not written for the official"));
  const auto convolution = [](int64_t batch, int64_t width) {
    Model model;
    const uint32_t x = model.input(kFloat, {batch, 1, 1, width});
    const uint32_t weight = model.constant<float>(kFloat, {2, 1, 1, 1}, {3, 5});
    return answer(model.finish(add_convolution(model, x, weight, {batch, 2, 1, width})));
  };
  EXPECT_THAT(convolution(1, 2048), IsEmpty());
  EXPECT_THAT(convolution(2, 4), HasSubstr("attribute: input: a batch of more than 1"));
  EXPECT_THAT(convolution(1, 2049), HasSubstr("attribute: more pixels than a texture has"));
}

// The official run time has wrong numbers for these, or no shader.
TEST(GpuOfficialWrite, ConvolutionsThatTheRuntimeComputesWronglyAreRejected) {
  const auto grouped = [](int64_t groups, const std::vector<int64_t>& filters) {
    Model model;
    const uint32_t x = model.input(kFloat, {1, 8, 9, 9});
    const auto count = static_cast<size_t>(filters[0] * filters[1] * filters[2] * filters[3]);
    const uint32_t weight = model.constant(kFloat, filters, std::vector<float>(count, 1));
    return answer(model.finish(
        add_convolution(model, x, weight, {1, filters[0], 10 - filters[2], 10 - filters[3]}, groups)));
  };
  EXPECT_THAT(grouped(8, {8, 1, 3, 3}), IsEmpty());
  EXPECT_THAT(grouped(8, {8, 1, 7, 7}),
              HasSubstr("attribute: a depthwise convolution, expected filters of 3 x 3"));
  EXPECT_THAT(grouped(2, {16, 4, 3, 3}), IsEmpty());
  EXPECT_THAT(grouped(2, {16, 4, 1, 1}), HasSubstr("attribute: groups of a convolution of single pixels"));
  EXPECT_THAT(grouped(4, {8, 2, 3, 3}), HasSubstr("attribute: groups whose channels are no multiple of 4"));
}

// A claim without a row would break rule ABI-AOT-01's promise to list what may be claimed.
TEST(GpuOfficialWrite, EveryWrittenOpHasARow) {
  size_t count = 0;
  for (const OpRow& row : op_rows()) count += find_written_op(row.op) != nullptr ? 1 : 0;
  EXPECT_GE(count, 80u);
  EXPECT_EQ(find_written_op("aten.hardshrink.default"), nullptr);
}

}  // namespace
}  // namespace etb::gpu
