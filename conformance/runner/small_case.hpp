// A case of its own: no name makes it, so its graph and inputs are carried along. What minimising finds, and what a replay file holds.
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

// To be judged like the case that it was made from.
BuiltCase with_judgement(const SmallCase& small, const BuiltCase& of);

// A case that runs it under the name of the one it was made from.
std::shared_ptr<const Case> make_case(const Case& of, SmallCase small);

// "aten.mm.default, f32 [1, 7], f32 [7, 1]"; of several nodes their ops.
std::string describe(const SmallCase& small);

// Whether the inputs are what the verified image asks for.
[[nodiscard]] Status check_inputs(const SmallCase& small);

}  // namespace etb::conformance
