// SPDX-License-Identifier: Apache-2.0
// Tests changing input sizes in one context: sizes that do not fit are rejected with their node before
// anything changes, and the next run is right.
#include <xnnpack.h>

#include <utility>

#include "plugins/xnnpack/payload/writer.hpp"
#include "plugins/xnnpack/testing/compile_fixture.hpp"
#include "plugins/xnnpack/testing/payload_fixture.hpp"

namespace etb::xnnpack {
namespace {

#ifdef ETB_XNNPACK_SIZES_MAY_CHANGE
constexpr bool kMayChange = true;
#else
constexpr bool kMayChange = false;
#endif

// input 0 [2, 3] plus input 1 [2, 3], then times the filter [5, 3] of `constants` (all ones) if
// is_multiplied.
XnnPayload sum(bool is_multiplied) {
  XnnPayload payload;
  payload.constants.emplace_back();
  payload.constants.push_back({"ones", {}});
  payload.values = {value_of(0, {2, 3}), value_of(1, {2, 3}), value_of(2, {2, 3}), value_of(3, {5, 3}),
                    value_of(4, {2, 5})};
  const uint32_t last = is_multiplied ? 4 : 2;
  for (const uint32_t id : {0u, 1u, last}) {
    payload.values[id].external_id = id == last ? 2 : id;
    (id == last ? payload.values[id].is_output : payload.values[id].is_input) = true;
  }
  payload.values[3].constant_index = 1;
  payload.nodes = {node_of(XnnOperator::kAdd, {0, 1}, 2)};
  if (is_multiplied) {
    payload.nodes.push_back(node_of(XnnOperator::kFullyConnected, {2, 3, kXnnNoValue}, 4));
  }
  payload.input_ids = {0, 1};
  payload.output_ids = {last};
  return payload;
}

// input 0 [1, 5, 6, 4], quantised per image, through a 3 x 3 filter for 3 channels with the bytes of
// `constants`.
XnnPayload dynamic_convolution(XnnOperator op) {
  XnnPayload payload;
  payload.constants.emplace_back();
  payload.constants.push_back({"ones", {}});
  payload.values = {value_of(0, {1, 5, 6, 4}), value_of(1, {1, 5, 6, 4}), value_of(2, {3, 3, 3, 4}),
                    value_of(3, {1, 5, 6, 3})};
  payload.values[0].external_id = 0;
  payload.values[0].is_input = true;
  payload.values[1].datatype = XnnDatatype::kQdint8;
  payload.values[1].quantisation = XnnQuantisation::kPerToken;
  payload.values[1].nonbatch_dim_count = 3;
  payload.values[2].datatype = XnnDatatype::kQcint8;
  payload.values[2].quantisation = XnnQuantisation::kPerChannel;
  payload.values[2].scales = {0.5f, 0.25f, 2.0f};
  payload.values[2].constant_index = 1;
  payload.values[3].external_id = 1;
  payload.values[3].is_output = true;
  payload.nodes = {node_of(XnnOperator::kConvert, {0}, 1), node_of(op, {1, 2, kXnnNoValue}, 3)};
  XnnWindow& window = payload.nodes[1].window;
  window.padding_top = window.padding_right = window.padding_bottom = window.padding_left = 1;
  window.kernel_height = window.kernel_width = 3;
  window.group_input_channels = 4;
  window.group_output_channels = 3;
  payload.input_ids = {0};
  payload.output_ids = {3};
  return payload;
}

class XnnpackSizes : public XnnpackCompile {
 protected:
  void make(const XnnPayload& payload) {
    payload_ = write_xnnpack_payload(payload);
    given_.emplace(payload_, &named_);
    ASSERT_EQ(table_->delegate->create(plugin_, &given_->args, &delegate_, &error_), ETB_OK) << error_.text;
    ASSERT_EQ(table_->delegate->context_create(delegate_, nullptr, 0, &context_, &error_), ETB_OK);
  }
  void destroy() {
    if (context_ != nullptr) {
      EXPECT_EQ(table_->delegate->context_destroy(std::exchange(context_, nullptr), &error_), ETB_OK);
    }
    if (delegate_ != nullptr) {
      EXPECT_EQ(table_->delegate->destroy(std::exchange(delegate_, nullptr), &error_), ETB_OK);
    }
  }
  void TearDown() override {
    destroy();
    XnnpackCompile::TearDown();
  }

  // Returns "" if it ran and `out` holds the result, else the error.
  std::string execute(std::initializer_list<TestTensor*> in, TestTensor& out) {
    std::vector<etb_tensor> inputs;
    for (TestTensor* each : in) inputs.push_back(to_c(*each));
    if (inputs.size() > 1) inputs[1].dtype = second_dtype_;
    etb_tensor output = to_c(out);
    output.role = ETB_ROLE_OUTPUT;
    output.capacity_bytes = std::min(output.capacity_bytes, room_);
    std::fill(out.data.begin(), out.data.end(), NAN);
    etb_exec_args call{};
    call.struct_size = ETB_INIT_SIZE(etb_exec_args);
    call.inputs = inputs.data();
    call.input_count = static_cast<uint32_t>(inputs.size());
    call.outputs = &output;
    call.output_count = 1;
    error_ = ETB_ERROR_INIT;
    return table_->delegate->execute(context_, &call, &error_) == ETB_OK ? "" : error_.text;
  }

  // Checks the sum of random tensors of `sizes`.
  void expect_right(const std::vector<int64_t>& sizes) {
    TestTensor a = random_tensor(sizes), b = random_tensor(sizes), expected = a, found = a;
    for (size_t i = 0; i < expected.data.size(); ++i) expected.data[i] += b.data[i];
    EXPECT_EQ(execute({&a, &b}, found), "") << "rows " << sizes[0];
    expect_near(found, expected);
  }
  std::string refusal(const std::vector<int64_t>& a_sizes, const std::vector<int64_t>& b_sizes,
                      const std::vector<int64_t>& out_sizes) {
    TestTensor a = random_tensor(a_sizes), b = random_tensor(b_sizes), out = random_tensor(out_sizes);
    return execute({&a, &b}, out);
  }

  etb_dtype second_dtype_ = ETB_DTYPE_FLOAT32;
  uint64_t room_ = UINT64_MAX;

 private:
  etb_named_data named_ = {ETB_INIT_SIZE(etb_named_data), 0, nullptr,
                           [](void*, const char*, etb_payload_view* out, etb_error*) -> etb_status {
                             alignas(16) static const std::array<float, 32> kOnes = [] {
                               std::array<float, 32> ones;
                               ones.fill(1);
                               return ones;
                             }();
                             point_at(*out, std::as_bytes(std::span(kOnes)));
                             return ETB_OK;
                           }};
  std::vector<std::byte> payload_;
  std::optional<PayloadArguments> given_;
  etb_delegate* delegate_ = nullptr;
  etb_context* context_ = nullptr;
};

TEST_F(XnnpackSizes, ChangeWithEveryRun) {
  make(sum(false));
  for (const int64_t rows : {2, 7, 1, 64, 2, 2}) expect_right({rows, 3});
  EXPECT_THAT(refusal({4, 2, 3}, {4, 2, 3}, {4, 2, 3}), HasSubstr("input 0: rank 3, expected 2"));
}

TEST_F(XnnpackSizes, OfInputsThatAreRefusedAreForgotten) {
  make(sum(false));
  expect_right({2, 3});
  second_dtype_ = ETB_DTYPE_INT32;
  EXPECT_THAT(refusal({5, 3}, {5, 3}, {5, 3}), HasSubstr("input 1: int32, expected float32"));
  second_dtype_ = ETB_DTYPE_FLOAT32;
  expect_right({5, 3});
  EXPECT_THAT(refusal({4, 3}, {5, 3}, {5, 3}), HasSubstr("node 0 (Add): inputs of sizes [4, 3] and [5, 3]"));
  expect_right({4, 3});
}

TEST_F(XnnpackSizes, OfOutputsWithoutRoomAreForgotten) {
  make(sum(false));
  room_ = 2 * 3 * sizeof(float);
  EXPECT_THAT(refusal({5, 3}, {5, 3}, {5, 3}), HasSubstr("output 0: room for 24 bytes, expected 60"));
  expect_right({2, 3});
  room_ = UINT64_MAX;
  expect_right({5, 3});
}

// XNNPACK accepts any number of elements for rows as long as the filter's.
TEST_F(XnnpackSizes, WithinARowAreThoseOfTheFilter) {
  make(sum(true));
  for (const auto& sizes : {std::vector<int64_t>{3, 2}, {6, 1}, {1, 6}, {3, 0}})
    EXPECT_THAT(refusal(sizes, sizes, {2, 5}),
                HasSubstr("node 1 (FullyConnected): input of sizes [" + std::to_string(sizes[0])));
  TestTensor a = random_tensor({0, 3}), b = a, none = random_tensor({0, 5});
  EXPECT_EQ(execute({&a, &b}, none), "");
  a = random_tensor({4, 3});
  b = random_tensor({4, 3});
  TestTensor found = random_tensor({4, 5}), expected = found;
  EXPECT_EQ(execute({&a, &b}, found), "");
  for (size_t i = 0; i < 4; ++i)
    for (size_t o = 0; o < 5; ++o) {
      expected.data[i * 5 + o] = 0;
      for (size_t k = 0; k < 3; ++k) expected.data[i * 5 + o] += a.data[i * 3 + k] + b.data[i * 3 + k];
    }
  expect_near(found, expected);
}

// XNNPACK stores a row of padding for each image, and counts them wrongly if the number of images grows.
TEST_F(XnnpackSizes, OfBatchesOfImagesQuantisedAtRunTimeMayGrow) {
  for (const auto op : {XnnOperator::kConv2d, XnnOperator::kConvTranspose2d}) {
    make(dynamic_convolution(op));
    for (const int64_t count :
         {0, 1, 3, 2, 0, 5, 1, 4}) {  // for 0 images XNNPACK builds no indirection table and needs one later
      const int64_t height = 5 + count % 2;
      TestTensor images = random_tensor({count, height, 6, 4}), found = random_tensor({count, height, 6, 3});
      const std::string answer = execute({&images}, found);
      if (!kMayChange && count != 1) {
        EXPECT_THAT(answer, HasSubstr("): other sizes than the declared ones"));
        continue;
      }
      ASSERT_EQ(answer, "") << count;
      if (count > 0) {
        EXPECT_EQ(std::count(found.data.begin(), found.data.end(), found.data[0]), 1);
      }
      for (int64_t i = 0; i < count; ++i) {
        TestTensor image = random_tensor({1, height, 6, 4}), alone = random_tensor({1, height, 6, 3});
        std::copy_n(images.data.begin() + i * height * 24, height * 24, image.data.begin());
        ASSERT_EQ(execute({&image}, alone), "") << count;
        EXPECT_TRUE(std::equal(alone.data.begin(), alone.data.end(), found.data.begin() + i * height * 18))
            << count << ", image " << i;
      }
    }
    destroy();
  }
}

// The maximum of each 2 x 2 pixels of input 0 [1, 2, 4, 1], or its index. The other output has no reader.
XnnPayload largest(bool is_place) {
  XnnPayload payload;
  payload.constants.emplace_back();
  payload.values = {value_of(0, {1, 2, 4, 1}), value_of(1, {1, 1, 2, 1}), value_of(2, {1, 1, 2, 1}),
                    value_of(3, {1, 1, 2, 1})};
  payload.values[2].datatype = XnnDatatype::kInt32;
  const uint32_t last = is_place ? 3 : 1;
  payload.values[0].is_input = payload.values[last].is_output = true;
  payload.values[0].external_id = 0;
  payload.values[last].external_id = 1;
  payload.nodes = {node_of(XnnOperator::kArgMaxPooling2d, {0}, 1)};
  payload.nodes[0].outputs[payload.nodes[0].output_count++] = 2;
  payload.nodes[0].window.kernel_height = payload.nodes[0].window.kernel_width = 2;
  if (is_place) payload.nodes.push_back(node_of(XnnOperator::kConvert, {2}, 3));
  payload.input_ids = {0};
  payload.output_ids = {last};
  return payload;
}

// XNNPACK itself has no memory for a node's output that is neither read nor external.
TEST_F(XnnpackSizes, OfANodeOfWhichOneOutputIsReadMayChange) {
  for (const bool is_place : {false, true}) {
    make(largest(is_place));
    for (const int64_t rows : {1, 3, 2, 7}) {
      TestTensor image = random_tensor({1, 2 * rows, 4, 1}), found = random_tensor({1, rows, 2, 1});
      const std::string answer = execute({&image}, found);
      if (!kMayChange && rows != 1) {
        EXPECT_THAT(answer, HasSubstr("node 0 (ArgMaxPooling2d): other sizes than the declared ones"));
        continue;
      }
      ASSERT_EQ(answer, "") << rows;
      for (int64_t y = 0; y < rows; ++y)
        for (int64_t x = 0; x < 2; ++x) {
          float best = -INFINITY, place = 0;
          for (int64_t i = 0; i < 4; ++i) {  // indices count column by column
            const float pixel = image.at({0, 2 * y + i % 2, 2 * x + i / 2, 0});
            if (pixel > best) place = static_cast<float>(i);
            best = std::max(best, pixel);
          }
          EXPECT_EQ(found.at({0, y, x, 0}), is_place ? place : best) << "seed " << kSeed;
        }
    }
    destroy();
  }
}

}  // namespace
}  // namespace etb::xnnpack
