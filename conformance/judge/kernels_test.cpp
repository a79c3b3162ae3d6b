// SPDX-License-Identifier: Apache-2.0
// Runs the cases of the suite on the portable kernels with this processor's loops: no plugin, no isolation.
#include <gtest/gtest.h>

#include "conformance/judge/judge.hpp"
#include "host/kernels/portable.hpp"
#include "host/portable_backend/graph_executor.hpp"

namespace etb::conformance {
namespace {

std::vector<std::byte> bytes_of(const host::Tensor& tensor) {
  const auto* data = static_cast<const std::byte*>(tensor.data());
  return {data, data + tensor.nbytes()};
}

// Returns the error of one case, or "".
std::string run(const Case& item, const host::KernelRegistry& kernels, size_t& executed) {
  const Result<BuiltCase> built = item.build(item.name);
  if (!built) return built.error().message;
  Result<host::GraphExecutor> executor = host::GraphExecutor::make(built->image.span(), kernels);
  if (!executor) return "";  // an op that the kernels have only in parts
  for (size_t run = 0; run < built->runs.size(); ++run) {
    for (uint32_t i = 0; i < executor->input_count(); ++i) {
      const TensorData& input = built->runs[run][i];
      if (const Status set =
              executor->set_input(i, input.shape.sizes, input.bytes.data(), input.bytes.size());
          !set)
        return set.error().message;
    }
    if (!executor->run()) return "";  // a dtype that the kernel rejects
    const Result<std::vector<ReferenceTensor>> references = make_reference(*built, run);
    if (!references) return references.error().message;
    for (uint32_t i = 0; i < executor->output_count(); ++i) {
      const host::Tensor& output = executor->output(i);
      const Comparison comparison = judge(built->error_model, {}, static_cast<etb_dtype>(output.dtype()),
                                          (*references)[i], bytes_of(output).data());
      if (!comparison.is_right) return comparison.check + ": " + comparison.text;
    }
    ++executed;
  }
  return "";
}

TEST(PortableKernels, PassTheCasesOfTheSuite) {
  host::KernelRegistry kernels;
  host::add_portable_kernels(kernels);
  size_t executed = 0, failed = 0;
  for (const Case& item : all_cases()) {
    const std::string wrong = run(item, kernels, executed);
    if (wrong.empty()) continue;
    ADD_FAILURE() << item.name << ": " << wrong;
    if (++failed > 20) break;
  }
  EXPECT_GT(executed, 15000u);
}

}  // namespace
}  // namespace etb::conformance
