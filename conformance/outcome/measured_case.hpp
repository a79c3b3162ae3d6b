// SPDX-License-Identifier: Apache-2.0
// A graph that is no case of the suite, such as nodes of a model that `etbackend diff` found: its bounds are measured
// (judge/expected.hpp).
#pragma once

#include "conformance/outcome/small_case.hpp"

namespace etb::conformance {

// Returns a case of this name. The graph has one output.
std::shared_ptr<const Case> make_measured_case(const std::string& name, SmallCase small);

}  // namespace etb::conformance
