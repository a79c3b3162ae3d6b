// One context under inputs of changing sizes: what does not fit is refused with its node before anything changes, and the next run is right.
#include "api/format/xnnpack_writer.hpp"
#include "plugins/xnnpack/compile_fixture.hpp"

namespace etb {
namespace {

using format::XnnPayload;
using format::XnnValue;

XnnValue value_of(uint32_t id, std::vector<uint32_t> sizes) {
  XnnValue value;
  value.id = id;
  value.datatype = format::XnnDatatype::kFloat32;
  value.sizes = std::move(sizes);
  return value;
}

// input 0 [2, 3] plus input 1 [2, 3], in that order times the filter [5, 3] of `constants`, which are all ones when there are any.
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
  format::XnnNode add;
  add.op = format::XnnOperator::kAdd;
  add.inputs = {0, 1};
  add.outputs = {2};
  add.input_count = 2;
  add.output_count = 1;
  payload.nodes = {add};
  if (is_multiplied) {
    format::XnnNode multiply;
    multiply.op = format::XnnOperator::kFullyConnected;
    multiply.inputs = {2, 3, format::kXnnNoValue};
    multiply.outputs = {4};
    multiply.input_count = 3;
    multiply.output_count = 1;
    payload.nodes.push_back(multiply);
  }
  payload.input_ids = {0, 1};
  payload.output_ids = {last};
  return payload;
}

class XnnpackSizes : public XnnpackCompile {
 protected:
  void make(const XnnPayload& payload) {
    payload_ = format::write_xnnpack_payload(payload);
    given_.emplace(payload_, &named_);
    ASSERT_EQ(table_->delegate->create(plugin_, &given_->args, &delegate_, &error_), ETB_OK) << error_.text;
    ASSERT_EQ(table_->delegate->context_create(delegate_, nullptr, 0, &context_, &error_), ETB_OK);
  }
  void TearDown() override {
    if (context_ != nullptr) {
      EXPECT_EQ(table_->delegate->context_destroy(context_, &error_), ETB_OK);
    }
    if (delegate_ != nullptr) {
      EXPECT_EQ(table_->delegate->destroy(delegate_, &error_), ETB_OK);
    }
    XnnpackCompile::TearDown();
  }

  // "" when it ran and `out` holds what it gave, else why not.
  std::string execute(TestTensor& a, TestTensor& b, TestTensor& out) {
    etb_tensor inputs[] = {to_c(a), to_c(b)}, output = to_c(out);
    inputs[1].dtype = second_dtype_;
    output.role = ETB_ROLE_OUTPUT;
    output.capacity_bytes = std::min(output.capacity_bytes, room_);
    std::fill(out.data.begin(), out.data.end(), NAN);
    etb_exec_args call{};
    call.struct_size = ETB_INIT_SIZE(etb_exec_args);
    call.inputs = inputs;
    call.input_count = 2;
    call.outputs = &output;
    call.output_count = 1;
    error_ = ETB_ERROR_INIT;
    return table_->delegate->execute(context_, &call, &error_) == ETB_OK ? "" : error_.text;
  }

  // The sum of random tensors of `sizes`.
  void expect_right(const std::vector<int64_t>& sizes) {
    TestTensor a = random_tensor(sizes), b = random_tensor(sizes), expected = a, found = a;
    for (size_t i = 0; i < expected.data.size(); ++i) expected.data[i] += b.data[i];
    EXPECT_EQ(execute(a, b, found), "") << "rows " << sizes[0];
    expect_near(found, expected);
  }
  std::string refusal(const std::vector<int64_t>& a_sizes, const std::vector<int64_t>& b_sizes,
                      const std::vector<int64_t>& out_sizes) {
    TestTensor a = random_tensor(a_sizes), b = random_tensor(b_sizes), out = random_tensor(out_sizes);
    return execute(a, b, out);
  }

  etb_dtype second_dtype_ = ETB_DTYPE_FLOAT32;
  uint64_t room_ = UINT64_MAX;

 private:
  etb_named_data named_ = {ETB_INIT_SIZE(etb_named_data), 0, nullptr,
                           [](void*, const char*, etb_payload_view* out, etb_error*) -> etb_status {
                             alignas(16) static const std::array<float, 15> kOnes = [] {
                               std::array<float, 15> ones;
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

// XNNPACK takes any number of elements for rows of as many as the filter has.
TEST_F(XnnpackSizes, WithinARowAreThoseOfTheFilter) {
  make(sum(true));
  for (const auto& sizes : {std::vector<int64_t>{3, 2}, {6, 1}, {1, 6}, {3, 0}})
    EXPECT_THAT(refusal(sizes, sizes, {2, 5}),
                HasSubstr("node 1 (FullyConnected): input of sizes [" + std::to_string(sizes[0])));
  TestTensor a = random_tensor({0, 3}), b = a, none = random_tensor({0, 5});
  EXPECT_EQ(execute(a, b, none), "");
  a = random_tensor({4, 3});
  b = random_tensor({4, 3});
  TestTensor found = random_tensor({4, 5}), expected = found;
  EXPECT_EQ(execute(a, b, found), "");
  for (size_t i = 0; i < 4; ++i)
    for (size_t o = 0; o < 5; ++o) {
      expected.data[i * 5 + o] = 0;
      for (size_t k = 0; k < 3; ++k) expected.data[i * 5 + o] += a.data[i * 3 + k] + b.data[i * 3 + k];
    }
  expect_near(found, expected);
}

}  // namespace
}  // namespace etb
