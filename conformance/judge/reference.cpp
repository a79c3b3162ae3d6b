// SPDX-License-Identifier: Apache-2.0
#include "conformance/judge/reference.hpp"

#include <cmath>
#include <cstring>

#include "host/kernels/portable.hpp"
#include "host/portable_backend/graph_executor.hpp"

namespace etb::conformance {
namespace {

using host::GraphExecutor;
using host::Precision;

// The portable loops instead of this processor's: the same reference on every machine.
struct Kernels {
  Kernels() { host::add_portable_kernels(registry, host::CpuFeatures{}); }
  host::KernelRegistry registry;
};

Result<GraphExecutor> run_graph(const BuiltCase& built, const std::vector<TensorData>& inputs,
                                Precision precision, bool absolute) {
  const bool has_parts = !built.reference_image.span().empty();
  ETB_ASSIGN(
      GraphExecutor executor,
      GraphExecutor::make((has_parts ? built.reference_image : built.image).span(), reference_kernels(),
                          {.precision = precision, .absolute = absolute, .read_constant = {}}));
  for (uint32_t i = 0; i < executor.input_count(); ++i)
    ETB_TRY(executor.set_input(i, inputs[i].shape.sizes, inputs[i].bytes.data(), inputs[i].bytes.size()));
  ETB_TRY(executor.run());
  return executor;
}

std::vector<double> values_of(const host::Tensor& tensor) {
  std::vector<double> out(static_cast<size_t>(tensor.numel()));
  for (int64_t i = 0; i < tensor.numel(); ++i)
    out[static_cast<size_t>(i)] = load_element(static_cast<etb_dtype>(tensor.dtype()), tensor.data(), i);
  return out;
}

}  // namespace

BuiltCase with_flushed_inputs(const BuiltCase& built, size_t run) {
  BuiltCase out = built;
  for (TensorData& input : out.runs[run]) {
    if (!is_floating(input.shape.dtype)) continue;
    const double smallest = std::ldexp(1.0, float_format(input.shape.dtype).min_exponent - 1);
    for (int64_t i = 0; i < input.shape.numel(); ++i) {
      const double value = load_element(input.shape.dtype, input.bytes.data(), i);
      if (value != 0 && std::abs(value) < smallest)
        store_element(input.shape.dtype, input.bytes.data(), i, std::copysign(0.0, value));
    }
  }
  return out;
}

const host::KernelRegistry& reference_kernels() {
  static const Kernels kernels;
  return kernels.registry;
}

// From results that the case has computed by formulas.
ReferenceTensor computed_reference(const TensorData& result, const ErrorModel& error_model,
                                   const std::vector<TensorData>& inputs) {
  ReferenceTensor out;
  out.sizes = result.shape.sizes;
  for (int64_t i = 0; i < result.shape.numel(); ++i)
    out.values.push_back(load_element(result.shape.dtype, result.bytes.data(), i));
  if (!is_floating(result.shape.dtype)) out.exact_bytes = result.bytes;
  if (error_model.magnitude) out.magnitude = error_model.magnitude(inputs);
  return out;
}

Result<std::vector<ReferenceTensor>> make_reference(const BuiltCase& built, size_t run) {
  if (!built.references.empty()) {
    std::vector<ReferenceTensor> out;
    for (const TensorData& result : built.references.at(run))
      out.push_back(computed_reference(result, built.error_model, built.runs[run]));
    return out;
  }
  const Precision precision = built.widen_integers ? Precision::kAllFloat64 : Precision::kFloat64;
  const std::vector<TensorData>& inputs = built.runs[run];
  ETB_ASSIGN(const GraphExecutor executor, run_graph(built, inputs, precision, false));
  std::vector<ReferenceTensor> out;
  for (uint32_t i = 0; i < executor.output_count(); ++i) {
    const host::Tensor& tensor = executor.output(i);
    ReferenceTensor& made = out.emplace_back();
    made.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
    made.values = values_of(tensor);
    const auto stored = static_cast<etb_dtype>(executor.output_spec(i).dtype);
    if (static_cast<etb_dtype>(tensor.dtype()) == stored && !is_floating(stored)) {
      const auto* bytes = static_cast<const std::byte*>(tensor.data());
      made.exact_bytes.assign(bytes, bytes + tensor.nbytes());
    }
  }
  if (built.error_model.magnitude) {
    for (ReferenceTensor& made : out) made.magnitude = built.error_model.magnitude(inputs);
  } else if (built.error_model.has_input_magnitude) {
    ETB_ASSIGN(const GraphExecutor magnitudes, run_graph(built, inputs, Precision::kAllFloat64, true));
    for (uint32_t i = 0; i < magnitudes.output_count(); ++i)
      for (const double value : values_of(magnitudes.output(i))) out[i].magnitude.push_back(std::abs(value));
  }
  return out;
}

}  // namespace etb::conformance
