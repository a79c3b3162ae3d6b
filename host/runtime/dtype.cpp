// SPDX-License-Identifier: Apache-2.0
// Promotion of element types.
#include "host/runtime/dtype.hpp"

namespace etb::host {
namespace {

Dtype signed_of_nbytes(size_t nbytes) noexcept {
  switch (nbytes) {
    case 1:
      return Dtype::INT8;
    case 2:
      return Dtype::INT16;
    case 4:
      return Dtype::INT32;
    default:
      return Dtype::INT64;
  }
}

Dtype promote_unsigned(Dtype a, Dtype b) noexcept {
  const size_t a_nbytes = element_nbytes(a), b_nbytes = element_nbytes(b);
  if (is_unsigned_integer(a) == is_unsigned_integer(b)) return a_nbytes >= b_nbytes ? a : b;
  const size_t unsigned_nbytes = is_unsigned_integer(a) ? a_nbytes : b_nbytes;
  const size_t signed_nbytes = is_unsigned_integer(a) ? b_nbytes : a_nbytes;
  return signed_of_nbytes(signed_nbytes > unsigned_nbytes ? signed_nbytes : 2 * unsigned_nbytes);
}

}  // namespace

Dtype promote_any(Dtype a, Dtype b) noexcept {
  const std::optional<Dtype> defined = ops::promote(a, b);
  return defined ? *defined : promote_unsigned(a, b);
}

}  // namespace etb::host
