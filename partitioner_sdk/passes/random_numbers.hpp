// SPDX-License-Identifier: Apache-2.0
// Random numbers in decompositions. They come from the kernels of rand and randn, which the method's seed determines.
#pragma once

#include "partitioner_sdk/passes/arithmetic.hpp"

namespace etb::passes {

// Uniform numbers of [0, 1).
ValueId uniform_numbers(Builder& b, Dims sizes, Dtype dtype);
// Sets a share `p` of the elements to 0 and scales the others, so that the mean stays. `p` is from 0 to 1.
ValueId dropped_out(Builder& b, ValueId x, double p);

}  // namespace etb::passes
