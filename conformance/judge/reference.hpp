// What a case should give: its graph in float64, from the stored inputs.
#pragma once

#include <vector>

#include "conformance/cases/case.hpp"
#include "host/runtime/kernel_registry.hpp"

namespace etb::conformance {

struct ReferenceTensor {
  std::vector<int64_t> sizes;
  std::vector<double> values;          // in memory order of the output's spec
  std::vector<double> magnitude;       // the second scale of a bound; empty when the rule needs none
  std::vector<std::byte> exact_bytes;  // of integers and bool: what a double might not hold
};

// Outputs of one run.
[[nodiscard]] Result<std::vector<ReferenceTensor>> make_reference(const BuiltCase& built, size_t run);

// The same case with subnormal inputs of a run as zeros: what a plugin that flushes them computes with.
BuiltCase with_flushed_inputs(const BuiltCase& built, size_t run);

// The kernels that the reference computes with.
const host::KernelRegistry& reference_kernels();

}  // namespace etb::conformance
