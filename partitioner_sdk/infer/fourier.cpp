// SPDX-License-Identifier: Apache-2.0
// Fourier transforms: complex tensors in, complex or real tensors out.
#include "ops/_fft_c2c.hpp"
#include "ops/_fft_c2r.hpp"
#include "ops/_fft_r2c.hpp"
#include "partitioner_sdk/infer/infer.hpp"

namespace etb::infer {

namespace {

using ir::Dim;
using ir::TensorSpec;

// Returns the dimension that is transformed last, on which the halved dimension of a real transform is.
template <class C>
size_t last_axis(const C& call) {
  const size_t rank = call.self().spec().rank();
  const ir::Dims dims = call.dim().dims();
  if (dims.empty() || rank == 0) return rank;
  return call.axis(dims.back().value(), rank);
}

Specs complex_to_complex(const ops::_fft_c2c_default<Call>& call) { return {call.self().spec()}; }

Specs complex_to_real(const ops::_fft_c2r_default<Call>& call) {
  TensorSpec out = call.self().spec();
  const size_t axis = last_axis(call);
  if (axis < out.rank())
    out.sizes[axis] = call.last_dim_size().dim();
  else
    call.fail("no dimension to transform");
  return {out};
}

Specs real_to_complex(const ops::_fft_r2c_default<Call>& call) {
  TensorSpec out = call.self().spec();
  const size_t axis = last_axis(call);
  ir::SymbolTable& symbols = call.symbols();
  if (axis >= out.rank())
    call.fail("no dimension to transform");
  else if (call.onesided())
    out.sizes[axis] = symbols.add(symbols.floor_div(out.sizes[axis], 2), 1);
  return {out};
}

}  // namespace

std::span<const Rule> fourier_rules() {
  static constexpr Rule kRows[] = {
      row<ops::_fft_c2c_default, complex_to_complex>(ResultLayout::kContiguous),
      row<ops::_fft_c2r_default, complex_to_real>(ResultLayout::kContiguous),
      row<ops::_fft_r2c_default, real_to_complex>(ResultLayout::kContiguous),
  };
  return kRows;
}

}  // namespace etb::infer
