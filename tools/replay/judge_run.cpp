// SPDX-License-Identifier: Apache-2.0
#include "tools/replay/judge_run.hpp"

#include <algorithm>

#include "api/format/tensor_span.hpp"
#include "conformance/judge/expected.hpp"

namespace etb::tools {
namespace {

// A dense tensor as the model takes it; nullopt for any other.
std::optional<conformance::TensorData> to_data(const etb_tensor& tensor) {
  if (tensor.strides != nullptr) return std::nullopt;
  const auto nbytes = format::tensor_span_nbytes(tensor.dtype, {tensor.sizes, tensor.rank}, {});
  if (!nbytes || *nbytes > tensor.capacity_bytes) return std::nullopt;
  conformance::TensorData data;
  data.shape.dtype = tensor.dtype;
  data.shape.sizes.assign(tensor.sizes, tensor.sizes + tensor.rank);
  if (tensor.dim_order != nullptr)
    data.shape.dim_order.assign(tensor.dim_order, tensor.dim_order + tensor.rank);
  const auto* const bytes = static_cast<const std::byte*>(tensor.data);
  data.bytes.assign(bytes, bytes + *nbytes);
  return data;
}

}  // namespace

std::optional<std::string> judge_run(const host::replay::JudgedRun& run,
                                     const conformance::PrecisionContract& contract) {
  std::vector<conformance::TensorData> inputs;
  for (const etb_tensor& input : run.inputs) {
    auto data = to_data(input);
    if (!data) return std::nullopt;
    inputs.push_back(*std::move(data));
  }
  const host::ConstantBytes read = [&](const char* key) -> Result<std::span<const std::byte>> {
    return run.constant(key);
  };
  const std::span<const uint8_t> image{reinterpret_cast<const uint8_t*>(run.graph.data()), run.graph.size()};
  const auto expected = conformance::expect_results(image, read, inputs, contract, "replay");
  if (!expected || expected->size() != run.outputs.size()) return std::nullopt;
  for (size_t i = 0; i < expected->size(); ++i) {
    const auto found = to_data(run.outputs[i]);
    if (!found) return std::nullopt;
    const std::string wrong = conformance::describe_difference((*expected)[i], *found);
    if (!wrong.empty()) return "output " + std::to_string(i) + ": " + wrong;
  }
  return "";
}

}  // namespace etb::tools
