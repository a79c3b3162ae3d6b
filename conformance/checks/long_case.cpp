// SPDX-License-Identifier: Apache-2.0
#include "conformance/checks/long_case.hpp"

#include "conformance/cases/case_builder.hpp"
#include "conformance/checks/plain_convolution.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

enum class Long { kProduct, kConvolution, kSum };

// A convolution of an image with constant filters.
uint32_t add_convolution(CaseBuilder& builder) {
  constexpr int64_t kChannels = 32, kSide = 64;
  const Shape image{ETB_DTYPE_FLOAT32, {1, kChannels, kSide, kSide}, {}};
  const uint32_t x = builder.input(image, Values::kExact);
  const uint32_t w = builder.constant(make_values({ETB_DTYPE_FLOAT32, {kChannels, kChannels, 3, 3}, {}},
                                                  Values::kExact, {}, 1, builder.random()));
  return add_plain_convolution(builder, x, w, 1, image);
}

// A node whose run takes a while.
Result<BuiltCase> long_case(Long kind) {
  CaseBuilder builder("long");
  constexpr int64_t kRows = 320, kElements = int64_t{1} << 22;
  if (kind == Long::kConvolution) {
    builder.output(add_convolution(builder));
    return builder.finish({});
  }
  const bool is_product = kind == Long::kProduct;
  const Shape shape{ETB_DTYPE_FLOAT32,
                    is_product ? std::vector<int64_t>{kRows, kRows} : std::vector<int64_t>{kElements},
                    {}};
  const uint32_t a = builder.input(shape, Values::kExact), b = builder.input(shape, Values::kExact);
  builder.output(is_product
                     ? builder.node("aten.mm.default", {value_arg(a, "self"), value_arg(b, "mat2")}, shape)
                     : builder.node("aten.add.Tensor", {value_arg(a, "self"), value_arg(b, "other")}, shape));
  return builder.finish({});
}

// Adds the case if the plugin claims it. Returns true if so.
bool add_claimed(Subject& subject, Long kind, std::vector<ClaimedCase>& out) {
  static const Case kCases[] = {{"a long product", "aten.mm.default", ETB_DTYPE_FLOAT32, {}},
                                {"a long convolution", "aten.convolution.default", ETB_DTYPE_FLOAT32, {}},
                                {"a long sum", "aten.add.Tensor", ETB_DTYPE_FLOAT32, {}}};
  Result<BuiltCase> built = long_case(kind);
  if (!built || subject.table().aot == nullptr || !partition(subject, built->image).is_whole_claim())
    return false;
  Compiled compiled = compile(subject, built->image);
  if (compiled.status != ETB_OK) return false;
  out.push_back({&kCases[static_cast<size_t>(kind)], std::move(*built), std::move(compiled.payload)});
  return true;
}

}  // namespace

std::vector<ClaimedCase> long_claimed(Subject& subject) {
  std::vector<ClaimedCase> out;
  for (const Long kind : {Long::kProduct, Long::kSum})
    if (add_claimed(subject, kind, out)) break;
  return out;
}

std::vector<ClaimedCase> every_long_claimed(Subject& subject) {
  std::vector<ClaimedCase> out;
  for (const Long kind : {Long::kProduct, Long::kConvolution}) (void)add_claimed(subject, kind, out);
  if (out.empty()) (void)add_claimed(subject, Long::kSum, out);
  return out;
}

}  // namespace etb::conformance
