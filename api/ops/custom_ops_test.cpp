// SPDX-License-Identifier: Apache-2.0
#include "api/ops/custom_ops.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace etb::ops {
namespace {

using testing::HasSubstr;

TEST(CustomOps, KnowsArgumentsTypesAndDefaults) {
  CustomOps own;
  const char* text =
      "my::mix.sizes(Tensor x, Tensor? y, SymInt[2] sizes=1, *, float s=2, str mode='a b', bool b=True, "
      "ScalarType? dtype=None, Tensor?[] rest) -> (Tensor, Tensor out)";
  ASSERT_TRUE(own.declare(text));
  const Schema* op = own.find("my.mix.sizes");
  ASSERT_NE(op, nullptr);
  EXPECT_TRUE(op->is_own());
  EXPECT_EQ(op->name(), "my.mix.sizes");
  EXPECT_EQ(op->op_namespace(), "my");
  EXPECT_EQ(op->base_name(), "mix");
  EXPECT_EQ(op->overload_name(), "sizes");
  ASSERT_EQ(op->argument_count(), 8u);
  EXPECT_EQ(op->argument(0).name, "x");
  EXPECT_FALSE(op->argument(0).has_default);
  EXPECT_TRUE(op->argument(1).type.is_optional);
  EXPECT_EQ(op->argument(2).type, (Type{BaseType::kInt, false, true, false, 2}));
  EXPECT_EQ(op->argument(2).default_text, "[1, 1]");
  EXPECT_EQ(op->argument(3).default_text, "2.0");
  EXPECT_TRUE(op->argument(3).is_keyword);
  EXPECT_EQ(op->argument(4).default_text, "\"a b\"");
  EXPECT_EQ(op->argument(5).default_text, "true");
  EXPECT_EQ(op->argument(6).default_text, "none");
  EXPECT_TRUE(op->argument(7).type.has_optional_items);
  EXPECT_EQ(op->result_count(), 2u);
  EXPECT_EQ(op->find_argument("mode"), 4);
  EXPECT_FALSE(op->is_view() || op->is_in_place() || op->is_core());
  EXPECT_EQ(CustomOps::text(*op), text);
}

TEST(CustomOps, GiveAnOpTheOutVariantOfTheConventions) {
  CustomOps own;
  ASSERT_TRUE(own.declare("my::scale(Tensor x, float s=2.0) -> Tensor"));
  ASSERT_TRUE(own.declare("my::halves.dim(Tensor x) -> (Tensor, Tensor)"));
  const Schema* out = own.find("my.scale.default")->out_variant();
  ASSERT_NE(out, nullptr);
  EXPECT_EQ(out->name(), "my.scale.out");
  ASSERT_EQ(out->argument_count(), 3u);
  EXPECT_EQ(out->argument(2).name, "out");
  EXPECT_TRUE(out->argument(2).is_out);
  const Schema* halves = own.find("my.halves.dim")->out_variant();
  EXPECT_EQ(halves->name(), "my.halves.dim_out");
  EXPECT_EQ(halves->argument(2).name, "out1");
}

TEST(CustomOps, TakeTheOutVariantThatWasDeclaredBeforeOrAfter) {
  const char* functional = "my::scale(Tensor x) -> Tensor";
  const char* out = "my::scale.into(Tensor x, *, Tensor(a!) y) -> Tensor(a!)";
  for (const bool out_first : {true, false}) {
    CustomOps own;
    ASSERT_TRUE(own.declare(out_first ? out : functional));
    ASSERT_TRUE(own.declare(out_first ? functional : out));
    EXPECT_EQ(own.find("my.scale.default")->out_variant()->name(), "my.scale.into");
  }
  CustomOps own;  // replaces the generated variant
  ASSERT_TRUE(own.declare(functional));
  ASSERT_TRUE(own.declare("my::scale.out(Tensor x, *, Tensor(a!) y) -> Tensor(a!)"));
  EXPECT_EQ(own.find("my.scale.default")->out_variant()->argument(1).name, "y");
}

TEST(CustomOps, TakeOneLineTwiceButNotTwoForOneName) {
  CustomOps own;
  ASSERT_TRUE(own.declare("my::f(Tensor x) -> Tensor"));
  EXPECT_TRUE(own.declare("my::f(Tensor x) -> Tensor"));
  const Status other = own.declare("my::f(Tensor x, int i) -> Tensor");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("declared otherwise: 'my::f(Tensor x) -> Tensor'"));
}

TEST(CustomOps, RefuseAnotherOpUnderTheNameOfAVariant) {
  CustomOps own;
  ASSERT_TRUE(own.declare("my::f(Tensor x) -> Tensor"));
  EXPECT_FALSE(own.declare("my::f.out(Tensor x) -> Tensor"));
  EXPECT_FALSE(own.declare("my::f.out(int i, *, Tensor(a!) out) -> Tensor(a!)"));
  EXPECT_EQ(own.find("my.f.default")->out_variant()->argument(0).name, "x");
}

TEST(CustomOps, SayWhatIsWrongWithALine) {
  const std::pair<const char*, const char*> kRows[] = {
      {"f(Tensor x) -> Tensor", "expected '::'"},
      {"aten::f(Tensor x) -> Tensor", "the name is taken"},
      {"quantized_decomposed::add(Tensor x) -> Tensor", "the name is taken"},
      {"my::f(Tensr x) -> Tensor", "character 11: no type 'Tensr'"},
      {"my::f(Tensor x, Tensor x) -> Tensor", "a second argument 'x'"},
      {"my::f(Tensor(a!) x) -> Tensor(a!)", "'x' is written"},
      {"my::f(Tensor(a) x) -> Tensor(a)", "views of an op's own"},
      {"my::f(Tensor x) -> int", "results are tensors"},
      {"my::f(Tensor x) -> ()", "an op needs a result"},
      {"my::f(Tensor x, int i=1.5) -> Tensor", "expected a number"},
      {"my::f(Tensor x, float i=inf) -> Tensor", "expected a number"},
      {"my::f(Tensor x, int i=None) -> Tensor", "only an optional argument"},
      {"my::f(Tensor x, str s=\"a\\\"\") -> Tensor", "need escapes"},
      {"my::f(Tensor x, int[999] i) -> Tensor", "length of a list"},
      {"my::f(Tensor x) -> Tensor Tensor", "text behind the end"},
      {"my::f(Tensor x, *, Tensor(a!) out) -> Tensor", "do not belong together"},
      {"my::f(Tensor x, *, Tensor(a!) a, Tensor(b!) b) -> Tensor(a!)", "as many 'out' arguments"},
  };
  for (const auto& [text, wanted] : kRows) {
    CustomOps own;
    const Status status = own.declare(text);
    ASSERT_FALSE(status) << text;
    EXPECT_THAT(status.error().message, HasSubstr(wanted)) << text;
    EXPECT_TRUE(own.is_empty());
  }
  CustomOps own;
  EXPECT_FALSE(own.declare("my::f(" + std::string(CustomOps::kMaxTextBytes, 'x') + ") -> Tensor"));
}

}  // namespace
}  // namespace etb::ops
