// SPDX-License-Identifier: Apache-2.0
// Tests the passes that language models need: updates of caches, and sizes that a view proves equal.
#include "partitioner_sdk/passes/passes.hpp"

#include <gmock/gmock.h>

#include "partitioner_sdk/testing/run_pass.hpp"

namespace etb::passes {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string expanded(const std::string& nodes, const std::string& outputs) {
  return testing::after_pass(R"(etg 1
module "m"
symbol u0 {0..6}
constant "k": float32[1, 8, 2, 4] = ...

graph @forward {
  buffer %k: float32[1, 8, 2, 4] = "k" as "k"
  user %q: float32[1, 2, 4, 4]
  user %v: float32[1, 2, 2, 4]
  user %at: int64[]
  user %rows: int64[1, 2]
  %p: sym_int(u0) = aten.item.default(%at)
)" + nodes + "\n  return " + outputs +
                                 "\n}\n",
                             expand_cache_updates);
}

TEST(CacheUpdates, AnUpdateWritesRowsFromItsPosition) {
  const std::string text = expanded("  %u: float32[1] = llama.update_cache.default(%v, %k, u0)", "%k");
  EXPECT_THAT(text, HasSubstr("aten.arange.start_step(u0, u0+2, dtype=int64)"));
  EXPECT_THAT(text, HasSubstr("aten.index_put_.default(%k, [none, %"));
  EXPECT_THAT(text, Not(HasSubstr("llama.")));
}

TEST(CacheUpdates, IndicesSelectTheRows) {
  const std::string text =
      expanded("  %u: float32[1] = llama.update_cache_with_indices.default(%v, %k, 0, %rows)", "%k");
  EXPECT_THAT(text, HasSubstr("aten.select.int(%rows, 0, 0)"));
  EXPECT_THAT(text, HasSubstr("aten.index_put_.default(%k, [none, %"));
}

TEST(CacheUpdates, AttentionWithACacheIsTwoUpdatesAndAttention) {
  const std::string text = expanded(
      "  %o: float32[1, 2, 4, 4] = llama.sdpa_with_kv_cache.default(%q, %v, %v, %k, %k, u0, 2, none, 0.0, "
      "true)",
      "%o");
  EXPECT_THAT(text, HasSubstr(" = llama.custom_sdpa.default(%q, %k, %k, u0"));
}

TEST(CacheUpdates, RejectsWhatTheOpRejects) {
  EXPECT_THAT(expanded("  %u: float32[1] = llama.update_cache.default(%v, %k, -1)", "%k"),
              HasSubstr("start_pos is -1, expected at least 0"));
  EXPECT_THAT(expanded("  %u: float32[1] = llama.update_cache.default(%at, %k, 0)", "%k"),
              HasSubstr("a value of rank 0 for a cache of rank 4"));
  EXPECT_THAT(expanded("  %u: float32[1] = llama.update_cache_with_indices.default(%v, %k, 0, %at)", "%k"),
              HasSubstr("indices of rank 0, expected 2"));
}

std::string simplified(const std::string& view) {
  return testing::after_pass(R"(etg 1
module "m"
symbol s0 {1..7} hint 2
symbol u0 {0..7}

graph @forward {
  user %table: float32[8, 4]
  user %x: float32[s0, 4]
  user %at: int64[]
  %p: sym_int(u0) = aten.item.default(%at)
  %rows: float32[-1*u0+max(u0, min(u0+s0, 8)), 4] = aten.slice.Tensor(%table, start=u0, end=u0+s0)
)" + view + "\n  return %y\n}\n",
                             simplify_equal_sizes);
}

TEST(EqualSizes, AViewProvesThatASliceHasAllItsRows) {
  const std::string text = simplified("  %y: float32[1, s0, 4] = aten.view.default(%rows, [1, s0, 4])");
  EXPECT_THAT(text, HasSubstr("%rows: float32[s0, 4] = aten.slice.Tensor"));
}

TEST(EqualSizes, ASumProvesItToo) {
  const std::string text = simplified("  %y: float32[s0, 4] = aten.add.Tensor(%x, %rows)");
  EXPECT_THAT(text, HasSubstr("%rows: float32[s0, 4] = aten.slice.Tensor"));
}

TEST(EqualSizes, AViewThatSplitsASizeProvesNothing) {
  EXPECT_EQ(simplified("  %y: float32[s0, 2, 2] = aten.view.default(%x, [s0, 2, 2])"), "unchanged");
}

}  // namespace
}  // namespace etb::passes
