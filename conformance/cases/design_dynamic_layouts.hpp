// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conformance/cases/case.hpp"

namespace etb::conformance {

// Dynamic sizes after a permutation or a convolution, and ops with dims or broadcasting.
void add_dynamic_layout_designs(CaseList& out);

}  // namespace etb::conformance
