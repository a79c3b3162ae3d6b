// SPDX-License-Identifier: Apache-2.0
// Parses a rule file from any source. It is rejected, or applied so that the graph stays well formed.
#include <cstdlib>

#include "partitioner_sdk/ir/text.hpp"
#include "partitioner_sdk/ir/verify.hpp"
#include "partitioner_sdk/passes/rules.hpp"

namespace {

constexpr const char* kModel = R"(etg 1
module "forward"
symbol s0 {2..10}

graph @forward {
  user %x: float32[s0, 3]
  user %w: float32[3, 3]
  %s: float32[s0, 3] = aten.sigmoid.default(%x)
  %m: float32[s0, 3] = aten.mul.Tensor(%x, %s)
  %v: float32[s0, 2], %i: int64[s0, 2] = aten.topk.default(%m, 2, largest=false)
  %c: float32[s0, 5] = aten.cat.default([%v, %m], -1)
  %r: float32[s0, 5] = aten.relu.default(%c)
  %p: float32[3, s0] = aten.permute_copy.default(%m, [1, 0])
  %mm: float32[3, 3] = aten.mm.default(%p, %x)
  %a: float32[3, 3] = aten.add.Tensor(%mm, %w, alpha=2)
  return %r, %a
}
)";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace etb;
  auto custom_ops = std::make_shared<ops::CustomOps>();
  const auto rules =
      passes::RuleSet::parse({reinterpret_cast<const char*>(data), size}, "rules", *custom_ops);
  if (!rules) return 0;
  auto module = ir::parse(kModel);
  if (!module) std::abort();
  module->custom_ops = custom_ops;
  for (const auto stage : {passes::RuleStage::kAten, passes::RuleStage::kEdge, passes::RuleStage::kRest}) {
    if (!passes::apply_rules(*module, {&*rules, 1}, stage)) return 0;
    // A rule can pass arguments of the wrong kind to an op. The verifier finds them; printing must work all
    // the same.
    (void)ir::verify(*module);
    (void)ir::print(*module);
  }
  return 0;
}
