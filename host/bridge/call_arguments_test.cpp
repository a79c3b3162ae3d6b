// SPDX-License-Identifier: Apache-2.0
// Arguments of another runtime's calls, as values of this host. Needs nothing of that runtime.
#include "host/bridge/call_arguments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace etb::host {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int32_t kFloat = 6, kComplex64 = 9;

// A tensor of the other runtime with its own arrays.
struct Source {
  std::vector<int32_t> sizes = {};
  std::vector<uint8_t> dim_order = {};
  bool is_resizable = false;
  int32_t dtype = kFloat;
  std::vector<float> data = std::vector<float>(64);

  ForeignValue value() { return ForeignTensor{dtype, sizes, dim_order, data.data(), is_resizable}; }
};

struct Reader {
  explicit Reader(uint32_t input_count) : arguments(input_count) {}
  etb_status read(std::vector<ForeignValue> values) {
    error = ETB_ERROR_INIT;
    return arguments.read(values, &error);
  }
  const Tensor& tensor(size_t i) const { return arguments.values()[i]->tensor(); }

  CallArguments arguments;
  etb_error error = ETB_ERROR_INIT;
};

TEST(CallArguments, CarryTensorsAndIntegers) {
  Source x{{2, 3}, {0, 1}}, y{{2, 3}, {1, 0}};
  Reader reader(2);
  ASSERT_EQ(reader.read({x.value(), int64_t{7}, y.value()}), ETB_OK) << reader.error.text;
  EXPECT_TRUE(reader.arguments.has_new_bounds());
  EXPECT_EQ(reader.tensor(0).dtype(), Dtype::FLOAT32);
  EXPECT_THAT(reader.tensor(0).strides(), ElementsAre(3, 1));
  EXPECT_EQ(reader.tensor(0).data(), x.data.data());
  EXPECT_EQ(reader.tensor(0).capacity_bytes(), 24U);
  EXPECT_EQ(reader.arguments.values()[1]->to_int(), 7);
  EXPECT_THAT(reader.tensor(2).strides(), ElementsAre(1, 2)) << "the dim order is kept";
  EXPECT_EQ(reader.tensor(2).dynamism(), Dynamism::kStatic);
}

TEST(CallArguments, ReadStaticTensorsAgainWithoutNewBounds) {
  Source x{{4}};
  Reader reader(1);
  ASSERT_EQ(reader.read({x.value()}), ETB_OK);
  Source other{{4}};
  ASSERT_EQ(reader.read({other.value()}), ETB_OK);
  EXPECT_FALSE(reader.arguments.has_new_bounds());
  EXPECT_EQ(reader.tensor(0).data(), other.data.data());
  Source longer{{5}};  // another value of the program at the same position
  ASSERT_EQ(reader.read({longer.value()}), ETB_OK);
  EXPECT_TRUE(reader.arguments.has_new_bounds());
  EXPECT_THAT(reader.tensor(0).sizes(), ElementsAre(5));
}

TEST(CallArguments, LearnTheBoundsOfInputs) {
  Source x{{2, 8}, {0, 1}, true};
  Reader reader(1);
  ASSERT_EQ(reader.read({x.value()}), ETB_OK);
  x.sizes = {2, 4};
  ASSERT_EQ(reader.read({x.value()}), ETB_OK);
  EXPECT_FALSE(reader.arguments.has_new_bounds()) << "smaller than before";
  EXPECT_EQ(reader.tensor(0).capacity_bytes(), 32U) << "no byte after the tensor may be read";
  x.sizes = {4, 4};
  ASSERT_EQ(reader.read({x.value()}), ETB_OK);
  EXPECT_TRUE(reader.arguments.has_new_bounds());
  const Status prepared = reader.arguments.at_bounds([&](std::span<EValue* const> values) -> Status {
    EXPECT_THAT(values[0]->tensor().sizes(), ElementsAre(4, 8));
    EXPECT_EQ(values[0]->tensor().capacity_bytes(), 128U);
    return {};
  });
  EXPECT_TRUE(prepared);
  EXPECT_THAT(reader.tensor(0).sizes(), ElementsAre(4, 4));
  EXPECT_EQ(reader.tensor(0).capacity_bytes(), 64U);
}

TEST(CallArguments, ShowOutputsAtTheirFirstSizes) {
  Source y{{8}, {0}, true};
  Reader reader(0);
  ASSERT_EQ(reader.read({y.value()}), ETB_OK);
  y.sizes = {3};  // the last run left them
  ASSERT_EQ(reader.read({y.value()}), ETB_OK);
  EXPECT_FALSE(reader.arguments.has_new_bounds());
  EXPECT_THAT(reader.tensor(0).sizes(), ElementsAre(8));
  EXPECT_EQ(reader.tensor(0).capacity_bytes(), 32U);
}

TEST(CallArguments, RejectWhatAPluginCannotReceive) {
  Source x{{2, 2}};
  Source complex{{2, 2}, {}, false, kComplex64}, unknown{{2, 2}, {}, false, 99};
  Source disordered{{2, 2}, {0, 0}}, negative{{2, -1}};
  Source vast{{1 << 30, 1 << 30, 1 << 30}};
  Source deep{std::vector<int32_t>(17, 1)};
  auto remote = std::get<ForeignTensor>(x.value());
  remote.is_in_host_memory = false;
  const struct {
    ForeignValue value;
    const char* text;
  } rows[] = {{ForeignOther{"bool"}, "argument 0: bool, expected a tensor or an integer"},
              {complex.value(), "argument 0: dtype 9 of the run time, which the C ABI lacks"},
              {unknown.value(), "argument 0: dtype 99"},
              {disordered.value(), "a dim order that is no order of its 2 dimensions"},
              {negative.value(), "sizes that no memory can have"},
              {vast.value(), "sizes that no memory can have"},
              {deep.value(), "rank 17, expected at most 16"},
              {remote, "memory of a device"}};
  for (const auto& row : rows) {
    Reader reader(1);
    EXPECT_NE(reader.read({row.value}), ETB_OK) << row.text;
    EXPECT_THAT(reader.error.text, HasSubstr(row.text));
  }
}

TEST(CallArguments, RejectAnotherNumberOfArguments) {
  Source x{{2}};
  Reader reader(1);
  ASSERT_EQ(reader.read({x.value()}), ETB_OK);
  EXPECT_EQ(reader.read({x.value(), x.value()}), ETB_INVALID_PROGRAM);
  EXPECT_THAT(reader.error.text, HasSubstr("2 arguments, 1 in its first call"));
}

}  // namespace
}  // namespace etb::host
