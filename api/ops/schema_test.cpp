// SPDX-License-Identifier: Apache-2.0
#include "api/ops/schema.hpp"

#include <gtest/gtest.h>

namespace etb::ops {
namespace {

TEST(Schema, FindsArgumentsInOrderWithTypesAndDefaults) {
  const Schema* add = find_schema("aten.add.Tensor");
  ASSERT_NE(add, nullptr);
  ASSERT_EQ(add->argument_count(), 3u);
  EXPECT_EQ(add->argument(0).name, "self");
  EXPECT_EQ(add->argument(1).type, Type{});
  const Argument alpha = add->argument(2);
  EXPECT_EQ(alpha.name, "alpha");
  EXPECT_EQ(alpha.type.base, BaseType::kScalar);
  EXPECT_TRUE(alpha.is_keyword);
  EXPECT_TRUE(alpha.has_default);
  EXPECT_EQ(alpha.default_text, "1");
  EXPECT_EQ(add->op_namespace(), "aten");
  EXPECT_EQ(add->base_name(), "add");
  EXPECT_EQ(add->overload_name(), "Tensor");
  EXPECT_TRUE(add->is_core());
  EXPECT_EQ(add->find_argument("other"), 1);
  EXPECT_EQ(add->find_argument("none such"), -1);
}

TEST(Schema, KnowsListsThatOneNumberStandsFor) {
  const Schema* pool = find_schema("aten.max_pool2d.default");
  ASSERT_NE(pool, nullptr);
  const Argument padding = pool->argument(3);
  EXPECT_TRUE(padding.type.is_list);
  EXPECT_EQ(padding.type.list_size, 2);
  EXPECT_EQ(padding.default_text, "[0, 0]");
}

TEST(Schema, KnowsOptionalItemsOfLists) {
  const Argument indices = find_schema("aten.index.Tensor")->argument(1);
  EXPECT_TRUE(indices.type.is_list);
  EXPECT_TRUE(indices.type.has_optional_items);
  EXPECT_FALSE(indices.type.is_optional);
}

TEST(Schema, ReadsTheRulesOfResults) {
  const ResultRule* add = find_schema("aten.add.Tensor")->result_rule();
  ASSERT_NE(add, nullptr);
  EXPECT_EQ(add->dtypes[0].rule, DtypeRule::kPromoted);
  EXPECT_EQ(add->dtypes[0].operands.bits, 3);
  EXPECT_EQ(add->broadcast.bits, 3);
  const ResultRule* sort = find_schema("aten.sort.default")->result_rule();
  ASSERT_NE(sort, nullptr);
  EXPECT_EQ(sort->dtypes[0].rule, DtypeRule::kLike);
  EXPECT_EQ(sort->dtypes[1].rule, DtypeRule::kInt64);
  EXPECT_EQ(sort->broadcast.bits, 0);
  const ResultRule* svd = find_schema("aten._linalg_svd.default")->result_rule();
  ASSERT_NE(svd, nullptr);
  EXPECT_EQ(svd->dtypes[0].rule, DtypeRule::kLike);
  EXPECT_EQ(svd->dtypes[1].rule, DtypeRule::kReal);
  EXPECT_EQ(svd->dtypes[2].rule, DtypeRule::kLike);
  EXPECT_TRUE(find_schema("aten.addmm.default")->result_rule()->dtypes[0].operands.has(1));
  EXPECT_EQ(find_schema("aten.add.out")->result_rule(), nullptr);
}

TEST(Schema, RelatesVariants) {
  const auto out_of = [](const char* name) {
    const Schema* schema = find_schema(name);
    return schema && schema->out_variant() ? schema->out_variant()->name() : "";
  };
  EXPECT_EQ(out_of("aten.add.Tensor"), "aten.add.out");
  EXPECT_EQ(out_of("aten.max.dim"), "aten.max.dim_max");
  EXPECT_EQ(out_of("aten.topk.default"), "aten.topk.values");
  EXPECT_EQ(out_of("aten.sum.dim_IntList"), "aten.sum.IntList_out");
  EXPECT_EQ(out_of("aten.div.Tensor_mode"), "aten.div.out_mode");
  EXPECT_EQ(out_of("aten.arange.start_step"), "aten.arange.start_out");
  EXPECT_EQ(out_of("dim_order_ops._to_dim_order_copy.default"), "dim_order_ops._to_dim_order_copy.out");
  EXPECT_EQ(find_schema("aten.view.default")->copy_variant()->name(), "aten.view_copy.default");
  EXPECT_EQ(find_schema("aten.add_.Tensor")->functional_variant()->name(), "aten.add.Tensor");
}

TEST(Schema, TellsViewsFromInPlaceOpsFromOthers) {
  EXPECT_TRUE(find_schema("aten.view.default")->is_view());
  EXPECT_TRUE(find_schema("aten.split.Tensor")->is_view());
  EXPECT_FALSE(find_schema("aten.view_copy.default")->is_view());
  EXPECT_TRUE(find_schema("aten.add_.Tensor")->is_in_place());
  EXPECT_FALSE(find_schema("aten.add_.Tensor")->is_view());
  EXPECT_FALSE(find_schema("aten.add.out")->is_in_place());
}

TEST(Schema, TableIsSortedAndEveryOutVariantEndsInOutArguments) {
  ASSERT_GT(schema_count(), 2000u);
  for (uint32_t i = 0; i < schema_count(); ++i) {
    const Schema& schema = get_schema(i);
    EXPECT_EQ(find_schema(schema.name()), &schema) << schema.name();
    const Schema* out = schema.out_variant();
    if (out == nullptr) continue;
    uint32_t out_count = 0;
    for (uint32_t a = 0; a < out->argument_count(); ++a) out_count += out->argument(a).is_out;
    EXPECT_GT(out_count, 0u) << out->name();
    EXPECT_TRUE(out->argument(out->argument_count() - 1).is_out) << out->name();
  }
}

TEST(Schema, FindsNothingForUnknownNames) {
  EXPECT_EQ(find_schema(""), nullptr);
  EXPECT_EQ(find_schema("aten.add"), nullptr);
  EXPECT_EQ(find_schema("zzz.z.z"), nullptr);
}

}  // namespace
}  // namespace etb::ops
