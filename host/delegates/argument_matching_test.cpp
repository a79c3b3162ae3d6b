// SPDX-License-Identifier: Apache-2.0
#include "host/delegates/argument_matching.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "host/testing/method_fixture.hpp"

namespace etb::host {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The arguments of a call: tensors without memory, and integers.
class Arguments {
 public:
  Arguments& tensor(Dtype dtype, std::vector<int64_t> sizes) {
    tensors_.push_back(storages_.emplace_back().make(dtype, sizes, nullptr, 0));
    return add(EValue(&tensors_.back()));
  }
  Arguments& integer() { return add(EValue(int64_t{3})); }
  std::span<EValue* const> span() const { return pointers_; }

 private:
  Arguments& add(EValue value) {
    pointers_.push_back(&values_.emplace_back(value));
    return *this;
  }
  std::deque<TensorStorage> storages_;
  std::deque<Tensor> tensors_;
  std::deque<EValue> values_;
  std::vector<EValue*> pointers_;
};

TEST(MatchedArguments, AreThoseWithTheTypesOfThePayload) {
  Arguments arguments;
  arguments.integer().tensor(Dtype::INT64, {12, 2}).tensor(Dtype::INT32, {}).tensor(Dtype::INT64, {2});
  arguments.tensor(Dtype::FLOAT32, {3, 4}).tensor(Dtype::INT64, {2}).tensor(Dtype::FLOAT32, {3, 4});
  const StatedInput inputs[] = {
      {true, ETB_DTYPE_INT32, {}}, {true, ETB_DTYPE_INT32, {2}}, {true, ETB_DTYPE_FLOAT32, {3, 4}}};
  const auto chosen = match_arguments(inputs, 2, arguments.span());
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_THAT(*chosen, ElementsAre(2, 3, 4, 5, 6));
}

TEST(MatchedArguments, AreUnknownWhereSeveralChoicesFit) {
  Arguments arguments;
  arguments.tensor(Dtype::FLOAT32, {3}).tensor(Dtype::FLOAT32, {3}).tensor(Dtype::FLOAT32, {3});
  const StatedInput inputs[] = {{true, ETB_DTYPE_FLOAT32, {3}}};
  const auto chosen = match_arguments(inputs, 1, arguments.span());
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().code, Code::INCOMPATIBLE);
  EXPECT_THAT(chosen.error().message, HasSubstr("several choices"));
}

TEST(MatchedArguments, MustFitAndBeStated) {
  Arguments arguments;
  arguments.integer().tensor(Dtype::FLOAT32, {4}).tensor(Dtype::FLOAT32, {3});
  const StatedInput other[] = {{true, ETB_DTYPE_FLOAT32, {3}}};
  EXPECT_THAT(match_arguments(other, 1, arguments.span()).error().message, HasSubstr("no choice"));
  const StatedInput unknown[] = {{}};
  EXPECT_THAT(match_arguments(unknown, 1, arguments.span()).error().message,
              HasSubstr("the program passes 3 arguments, the plugin expects 1 inputs and 1 outputs"));
  const StatedInput size[] = {{true, ETB_DTYPE_INT64, {}}};
  const auto chosen = match_arguments(size, 1, arguments.span());
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_THAT(*chosen, ElementsAre(0, 2));
}

}  // namespace
}  // namespace etb::host
