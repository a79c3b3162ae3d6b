// SPDX-License-Identifier: Apache-2.0
// Element types of tensors; see api/ops/dtype.hpp.
#pragma once

#include "api/ops/dtype.hpp"

namespace etb::host {

using ops::Dtype;
using ops::element_nbytes;
using ops::is_abi_dtype;
using ops::is_arithmetic;
using ops::is_bool;
using ops::is_complex;
using ops::is_float8;
using ops::is_floating;
using ops::is_integer;
using ops::is_known;
using ops::is_unsigned_integer;
using ops::kDtypeCount;
using ops::real_part;
using ops::to_text;

// Like ops::promote, but defined for every pair of arithmetic types, so that kernels need no error case. For
// pairs that PyTorch rejects (unsigned 16/32/64-bit with another integer) returns the signed type of twice
// the width, at most int64.
Dtype promote_any(Dtype a, Dtype b) noexcept;

}  // namespace etb::host
