// SPDX-License-Identifier: Apache-2.0
// Complex numbers: factorisations of matrices, and systems of equations. Their kernels read and write complex tensors, so that two in
// a row pass them on as they are.
#include "partitioner_sdk/passes/complex_builder.hpp"

namespace etb::passes {

namespace {

bool is_number(Dtype dtype) { return ops::is_floating(dtype) || ops::is_complex(dtype); }

// The dtype of all operands of the call; pivots are integers and no operands. None if PyTorch does not promote them.
std::optional<Dtype> dtype_of_operands(ComplexBuilder& b, const Call& a) {
  std::optional<Dtype> out;
  for (const Argument& argument : a.arguments()) {
    const auto* tensor = ir::get_if<ValueRef>(argument);
    if (tensor == nullptr || !is_number(b.spec(tensor->id).dtype)) continue;
    out = out ? infer::promote_dtypes(*out, b.spec(tensor->id).dtype) : b.spec(tensor->id).dtype;
    if (!out) return std::nullopt;
  }
  return out;
}

// A tensor of complex numbers with this dtype. A real one has imaginary parts of 0.
ValueId as_whole(ComplexBuilder& b, ValueId value, Dtype dtype) {
  if (b.spec(value).dtype == dtype) return b.whole(value);
  return b.whole(b.make(b.parts(value), dtype));
}

// The op itself, with complex operands if one is complex. A result may be real (singular values) or an integer (pivots).
Values factorization(ComplexBuilder& b, const Call& a) {
  const std::optional<Dtype> dtype = dtype_of_operands(b, a);
  if (!dtype) {
    a.fail("operands of dtypes without a common one");
    return {};
  }
  std::vector<Argument> args(a.arguments().begin(), a.arguments().end());
  for (Argument& argument : args) {
    const auto* tensor = ir::get_if<ValueRef>(argument);
    if (tensor == nullptr || !ops::is_complex(*dtype) || !is_number(b.spec(tensor->id).dtype)) continue;
    argument = ValueRef{as_whole(b, tensor->id, *dtype)};
  }
  Values results = b.call_all_unchanged(a.op().name, std::move(args));
  for (ValueId& result : results)
    if (b.is_complex(result)) result = b.make_from_whole(result);
  return results;
}

}  // namespace

std::span<const ComplexRule> complex_linalg_rules() {
  static constexpr ComplexRule kRows[] = {
      {"aten._linalg_eigh", factorization},
      {"aten._linalg_svd", factorization},
      {"aten.geqrf", factorization},
      {"aten.linalg_cholesky_ex", factorization},
      {"aten.linalg_eig", factorization},
      {"aten.linalg_eigvals", factorization},
      {"aten.linalg_householder_product", factorization},
      {"aten.linalg_ldl_factor_ex", factorization},
      {"aten.linalg_ldl_solve", factorization},
      {"aten.linalg_lu_factor_ex", factorization},
      {"aten.linalg_lu_solve", factorization},
      {"aten.linalg_matrix_exp", factorization},
      {"aten.linalg_solve_triangular", factorization},
      {"aten.lu_unpack", factorization},
      {"aten.ormqr", factorization},
  };
  return kRows;
}

}  // namespace etb::passes
