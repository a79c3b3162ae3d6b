// SPDX-License-Identifier: Apache-2.0
// Reading a call's values by the names of a schema, and the rows made from it.
#include "host/runtime/kernel_arguments.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "ops/add.hpp"
#include "ops/clamp.hpp"
#include "ops/copy.hpp"
#include "ops/div.hpp"
#include "ops/logit.hpp"
#include "ops/mul.hpp"
#include "ops/pow.hpp"
#include "ops/slice_copy.hpp"
#include "ops/sub.hpp"
#include "ops/sum.hpp"
#include "ops/upsample_nearest2d.hpp"

namespace etb::host {
namespace {

// The arguments of a call, as a program holds them.
class Values {
 public:
  template <class... Items>
  explicit Values(Items... items) : values_{items...} {
    for (EValue& value : values_) pointers_.push_back(&value);
  }
  EValue** data() { return pointers_.data(); }

 private:
  std::vector<EValue> values_;
  std::vector<EValue*> pointers_;
};

TEST(KernelArguments, ReadWhatIsGiven) {
  Tensor self, out;
  Values values(EValue(&self), EValue(int64_t{2}), EValue(), EValue(int64_t{-1}), EValue(int64_t{3}),
                EValue(&out));
  const ops::slice_copy_Tensor_out<KernelArguments> args(values.data());
  EXPECT_EQ(&args.self(), &self);
  EXPECT_EQ(&args.out(), &out);
  EXPECT_EQ(args.dim(), 2);
  EXPECT_EQ(args.start(), std::nullopt);
  EXPECT_EQ(args.end(), -1);
  EXPECT_EQ(args.step(), 3);
}

TEST(KernelArguments, TellNoneFromAValue) {
  Values none{EValue(), EValue(), EValue(), EValue(), EValue()};
  Values given{EValue(), EValue(0.5), EValue(int64_t{7}), EValue("floor"), EValue()};
  EXPECT_EQ(ops::clamp_out<KernelArguments>(none.data()).min(), nullptr);
  EXPECT_EQ(ops::clamp_out<KernelArguments>(given.data()).min()->to_double(), 0.5);
  EXPECT_EQ(ops::clamp_Tensor_out<KernelArguments>(none.data()).max(), nullptr);
  EXPECT_EQ(ops::logit_out<KernelArguments>(none.data()).eps(), std::nullopt);
  EXPECT_EQ(ops::logit_out<KernelArguments>(given.data()).eps(), 0.5);
  EXPECT_EQ(ops::div_out_mode<KernelArguments>(none.data()).rounding_mode(), std::nullopt);
  EXPECT_FALSE(ops::sum_IntList_out<KernelArguments>(none.data()).dim().has_value());
  EXPECT_FALSE(ops::upsample_nearest2d_vec_out<KernelArguments>(none.data()).scale_factors().has_value());
  const ops::copy_out<KernelArguments> copy(none.data());
  EXPECT_EQ(copy.find_written_tensor(ops::copy_out<KernelArguments>::Index::out), nullptr);
}

etb_status slice(KernelContext&, ops::slice_copy_Tensor_out<KernelArguments> args) {
  return args.step() == 3 ? ETB_OK : ETB_INTERNAL;
}
etb_status add(KernelContext&, ops::add_out<KernelArguments>) { return ETB_OK; }

TEST(KernelRow, HasTheNameAndLettersOfItsView) {
  constexpr Kernel row = kernel_row<ops::slice_copy_Tensor_out, slice>();
  EXPECT_STREQ(row.name, "aten::slice_copy.Tensor_out");
  EXPECT_STREQ(row.signature, "TinniT!");
  EXPECT_EQ(row.argument_count, 6u);
  EXPECT_EQ(row.operands.written, 1u << 5);
  EXPECT_FALSE(row.operands.may_equal(0));
  KernelContext context({});
  Values values{EValue(), EValue(), EValue(), EValue(), EValue(int64_t{3}), EValue()};
  EXPECT_EQ(row.function(context, values.data()), ETB_OK);
}

TEST(KernelRow, LetsReadTensorsBeTheWrittenOneWhereTheKernelAllowsIt) {
  constexpr Kernel row = kernel_row<ops::add_out, add>(Overlap::kExact);
  constexpr Kernel by_hand("aten::add.out", "T=T=ST!", run_kernel<add>);
  for (uint32_t tensor : {0u, 1u, 3u}) {
    EXPECT_EQ(row.operands.may_equal(tensor), by_hand.operands.may_equal(tensor)) << tensor;
    EXPECT_EQ(row.operands.is_written(tensor), by_hand.operands.is_written(tensor)) << tensor;
  }
}

// A kernel takes only an op whose arguments have the names and types of its own.
using Add = ops::add_out<KernelArguments>;
static_assert(takes_arguments_of<ops::sub_out<KernelArguments>, Add>());
static_assert(!takes_arguments_of<ops::add_Scalar_out<KernelArguments>, Add>());
static_assert(
    !takes_arguments_of<ops::pow_Tensor_Tensor_out<KernelArguments>, ops::mul_out<KernelArguments>>());

}  // namespace
}  // namespace etb::host
