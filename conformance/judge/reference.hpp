// SPDX-License-Identifier: Apache-2.0
// Reference results of a case: its graph in float64, from the stored inputs.
#pragma once

#include <vector>

#include "conformance/cases/case.hpp"
#include "host/runtime/kernel_registry.hpp"

namespace etb::conformance {

struct ReferenceTensor {
  std::vector<int64_t> sizes;
  std::vector<double> values;          // elements in memory order of the output's spec
  std::vector<double> magnitude;       // the second scale of a bound; empty if the rule needs none
  std::vector<std::byte> exact_bytes;  // integers and bools, which a double may not hold
};

// Returns the outputs of one run.
[[nodiscard]] Result<std::vector<ReferenceTensor>> make_reference(const BuiltCase& built, size_t run);

// Returns the case with a run's subnormal inputs replaced by zeros, as a plugin that flushes them sees it.
BuiltCase with_flushed_inputs(const BuiltCase& built, size_t run);

// Returns the kernels of the reference.
const host::KernelRegistry& reference_kernels();

}  // namespace etb::conformance
