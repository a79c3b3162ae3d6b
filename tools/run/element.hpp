// SPDX-License-Identifier: Apache-2.0
// One element of a tensor as a number.
#pragma once

#include <cstddef>

#include "api/ops/dtype.hpp"

namespace etb::tools {

// Reads the element of a real dtype at `at`, which need not be aligned. Large 64-bit integers are rounded.
double element_as_double(ops::Dtype dtype, const std::byte* at);

}  // namespace etb::tools
