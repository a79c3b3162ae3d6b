// SPDX-License-Identifier: Apache-2.0
// A case without a reproducing name, so its graph and inputs are stored. Minimising creates them, and replay
// files store them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conformance/cases/case.hpp"

namespace etb::conformance {

struct SmallCase {
  graph::ImageBytes image;
  std::vector<std::vector<TensorData>> runs;  // inputs of each
};

// Adds the rule of the original case.
BuiltCase with_error_model(const SmallCase& small, const BuiltCase& of);

// Returns a case that runs it under the name of the original.
std::shared_ptr<const Case> make_case(const Case& of, SmallCase small);

// Returns "aten.mm.default, f32 [1, 7], f32 [7, 1]"; for several nodes their ops.
std::string describe(const SmallCase& small);

// Checks the inputs against the verified image.
[[nodiscard]] Status check_inputs(const SmallCase& small);

}  // namespace etb::conformance
