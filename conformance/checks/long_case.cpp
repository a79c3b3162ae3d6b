// SPDX-License-Identifier: Apache-2.0
#include "conformance/checks/long_case.hpp"

#include "conformance/cases/case_builder.hpp"

namespace etb::conformance {
namespace {

// A product, or else a sum, whose run takes a while.
Result<BuiltCase> long_case(bool is_product) {
  CaseBuilder builder("long");
  constexpr int64_t kRows = 320, kElements = int64_t{1} << 22;
  const Shape shape{ETB_DTYPE_FLOAT32,
                    is_product ? std::vector<int64_t>{kRows, kRows} : std::vector<int64_t>{kElements},
                    {}};
  const uint32_t a = builder.input(shape, Values::kExact), b = builder.input(shape, Values::kExact);
  builder.output(
      is_product
          ? builder.node("aten.mm.default", {graph::value_arg(a, "self"), graph::value_arg(b, "mat2")}, shape)
          : builder.node("aten.add.Tensor", {graph::value_arg(a, "self"), graph::value_arg(b, "other")},
                         shape));
  return builder.finish({});
}

}  // namespace

std::vector<ClaimedCase> long_claimed(Subject& subject) {
  for (const bool is_product : {true, false}) {
    Result<BuiltCase> built = long_case(is_product);
    if (!built || subject.table().aot == nullptr || !partition(subject, built->image).is_whole_claim())
      continue;
    Compiled compiled = compile(subject, built->image);
    static const Case kProduct{"a long product", "aten.mm.default", ETB_DTYPE_FLOAT32, {}},
        kSum{"a long sum", "aten.add.Tensor", ETB_DTYPE_FLOAT32, {}};
    if (compiled.status == ETB_OK) {
      std::vector<ClaimedCase> out(1);
      out[0] = {is_product ? &kProduct : &kSum, std::move(*built), std::move(compiled.payload)};
      return out;
    }
  }
  return {};
}

}  // namespace etb::conformance
