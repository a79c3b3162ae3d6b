// SPDX-License-Identifier: Apache-2.0
// aten::linalg_solve_triangular.
#include "host/kernels/linalg.hpp"
#include "ops/linalg_solve_triangular.hpp"

namespace etb::host {
namespace {

struct Triangle {
  bool is_upper, is_left, is_unit;
};

// X T = B is solved as T' X' = B', so that rows stay dense.
template <class T>
etb_status solve_batch(KernelContext& context, const Tensor& a, const Tensor& b, const Triangle& kind,
                       std::span<const int64_t> batch, const Tensor& out) {
  const int64_t size = a.size(a.rank() - 1), columns = b.size(b.rank() - (kind.is_left ? 1 : 2));
  const MatrixBatch<T> triangles(a, 2, batch), right_sides(b, 2, batch), results(out, 2);
  Matrix<T> x;
  ETB_CHECK(allocate_matrix(context, size, columns, &x));
  const Matrix<T> x_out = kind.is_left ? x : x.transposed();
  const int64_t batch_count = product(batch);
  for (int64_t item = 0; item < batch_count; ++item) {
    const KernelContext::Mark mark(context);
    Matrix<T> triangle;
    ETB_CHECK(dense_side(context, triangles[item], &triangle));
    ETB_CHECK(copy_matrix(context, right_sides[item], x_out));
    ETB_CHECK(solve_triangular(context, kind.is_left ? triangle : triangle.transposed(),
                               kind.is_upper == kind.is_left, kind.is_unit, x));
    ETB_CHECK(copy_matrix(context, x_out, results[item]));
  }
  return ETB_OK;
}

etb_status solve_triangular_out(KernelContext& context,
                                ops::linalg_solve_triangular_out<KernelArguments> args) {
  const Tensor &a = args.self(), &b = args.B();
  const Triangle kind = {args.upper(), args.left(), args.unitriangular()};
  ETB_CHECK(expect_square(context, "A", a));
  ETB_CHECK(expect_matrices(context, "B", b));
  ETB_CHECK(expect_one_dtype(context, {&a, &b, &args.out()}));
  if (b.size(b.rank() - (kind.is_left ? 2 : 1)) != a.size(a.rank() - 1))
    return context.fail(ETB_INVALID_ARGUMENT, "B has sizes %s, for a matrix of sizes %s",
                        SizesText(b.sizes()).text, SizesText(a.sizes()).text);
  int64_t sizes[kMaxRank];
  size_t count = 0;
  ETB_CHECK(broadcast_batches(context, a, 2, b, 2, sizes, &count));
  const std::span<const int64_t> batch{sizes, count};
  ETB_CHECK(
      resize_output(context, args.out(), BatchedSizes(batch, {b.size(b.rank() - 2), b.size(b.rank() - 1)})));
  return with_number(a.dtype(), [&](auto type) {
    return solve_batch<decltype(type)>(context, a, b, kind, batch, args.out());
  });
}

constexpr Kernel kRows[] = {kernel_row<ops::linalg_solve_triangular_out, solve_triangular_out>()};

}  // namespace

ETB_PUBLISH_KERNELS(linalg_triangular, kRows);

}  // namespace etb::host
