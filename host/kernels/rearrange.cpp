// SPDX-License-Identifier: Apache-2.0
// Kernels that copy elements to other places in a regular pattern: flip, repeat, roll, diagonal, unfold, as_strided, tril,
// pixel_shuffle. Those of diagonals and strided parts also write into a copy of the tensor (diagonal_scatter, as_strided_scatter).
#include <algorithm>
#include <cstring>

#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/view.hpp"
#include "host/kernels/kernel.hpp"
#include "host/kernels/rows.hpp"
#include "ops/as_strided_copy.hpp"
#include "ops/as_strided_scatter.hpp"
#include "ops/diagonal_copy.hpp"
#include "ops/diagonal_scatter.hpp"
#include "ops/flip.hpp"
#include "ops/pixel_shuffle.hpp"
#include "ops/pixel_unshuffle.hpp"
#include "ops/repeat.hpp"
#include "ops/roll.hpp"
#include "ops/tril.hpp"
#include "ops/unfold_copy.hpp"

namespace etb::host {
namespace {

etb_status expect_same_dtype(KernelContext& context, const Tensor& self, const Tensor& out) {
  if (self.dtype() == out.dtype()) return ETB_OK;
  return context.fail(ETB_INVALID_TYPE, "the output is %s, expected %s", to_text(out.dtype()),
                      to_text(self.dtype()));
}

// Resizes the output and starts a copy into all of it; the caller sets the source's strides.
etb_status start_copy(KernelContext& context, const Tensor& self, std::span<const int64_t> sizes, Tensor& out,
                      StridedCopy* copy) {
  ETB_CHECK(resize_output(context, out, sizes));
  ETB_CHECK(expect_same_dtype(context, self, out));
  copy->element_nbytes = element_nbytes(self.dtype());
  copy->rank = out.rank();
  copy->to = out.data();
  copy->from = self.data();
  for (int dim = 0; dim < out.rank(); ++dim) {
    copy->sizes[dim] = out.size(dim);
    copy->to_strides[dim] = out.stride(dim);
  }
  return ETB_OK;
}

const char* element_at(const Tensor& tensor, int64_t offset) {
  return tensor.data_as<char>() + offset * static_cast<int64_t>(element_nbytes(tensor.dtype()));
}

etb_status flip_out(KernelContext& context, ops::flip_out<KernelArguments> args) {
  const Tensor& self = args.self();
  DimSet dims;
  if (!args.dims().empty()) {
    ETB_CHECK(wrap_dims(context, args.dims(), self.rank(), &dims));
  }
  StridedCopy copy;
  ETB_CHECK(start_copy(context, self, self.sizes(), args.out(), &copy));
  if (self.numel() == 0) return ETB_OK;
  int64_t last = 0;
  for (int dim = 0; dim < self.rank(); ++dim) {
    const bool is_turned = dims.test(static_cast<size_t>(dim));
    copy.from_strides[dim] = is_turned ? -self.stride(dim) : self.stride(dim);
    if (is_turned) last += (self.size(dim) - 1) * self.stride(dim);
  }
  copy.from = element_at(self, last);
  return copy.run(context);
}

// repeat(self, repeats, out): the output as [r0, s0, r1, s1, ...] with step 0 along the r; every pair is one dim of the output, so the
// copies go one by one over the repeats.
etb_status repeat_out(KernelContext& context, ops::repeat_out<KernelArguments> args) {
  const Tensor& self = args.self();
  const IntList repeats = args.repeats();
  Tensor& out = args.out();
  const int rank = static_cast<int>(repeats.size()), added = rank - self.rank();
  if (repeats.size() > kMaxRank || added < 0) {
    return context.fail(ETB_INVALID_ARGUMENT, "%zu repeats for a tensor of rank %d", repeats.size(),
                        self.rank());
  }
  int64_t sizes[kMaxRank];
  for (int dim = 0; dim < rank; ++dim) {
    const int64_t own = dim < added ? 1 : self.size(dim - added);
    if (repeats[static_cast<size_t>(dim)] < 0 ||
        __builtin_mul_overflow(own, repeats[static_cast<size_t>(dim)], &sizes[dim])) {
      return context.fail(ETB_INVALID_ARGUMENT, "repeat %d is %lld", dim,
                          static_cast<long long>(repeats[static_cast<size_t>(dim)]));
    }
  }
  StridedCopy copy;
  ETB_CHECK(start_copy(context, self, {sizes, static_cast<size_t>(rank)}, out, &copy));
  if (out.numel() == 0) return ETB_OK;
  for (int dim = 0; dim < rank; ++dim) {
    copy.sizes[dim] = dim < added ? 1 : self.size(dim - added);
    copy.from_strides[dim] = dim < added ? 0 : self.stride(dim - added);
  }
  int64_t indices[kMaxRank] = {};
  while (true) {
    int64_t offset = 0;
    for (int dim = 0; dim < rank; ++dim) offset += indices[dim] * copy.sizes[dim] * out.stride(dim);
    copy.to = const_cast<char*>(element_at(out, offset));
    ETB_CHECK(copy.run(context));
    int dim = rank - 1;
    while (dim >= 0 && ++indices[dim] == repeats[static_cast<size_t>(dim)]) indices[dim--] = 0;
    if (dim < 0) return ETB_OK;
  }
}

// roll(self, shifts, dims, out): each rolled dim splits the copy into two parts; without dims the tensor rolls as if it were flat.
etb_status roll_out(KernelContext& context, ops::roll_out<KernelArguments> args) {
  const Tensor& self = args.self();
  const IntList shifts = args.shifts(), dims = args.dims();
  Tensor& out = args.out();
  ETB_CHECK(resize_output(context, out, self.sizes()));
  ETB_CHECK(expect_same_dtype(context, self, out));
  if (dims.size() != shifts.size() && !(dims.empty() && shifts.size() == 1)) {
    return context.fail(ETB_INVALID_ARGUMENT, "%zu shifts for %zu dims", shifts.size(), dims.size());
  }
  if (self.numel() == 0) return ETB_OK;
  const size_t nbytes = element_nbytes(self.dtype());
  int64_t shift[kMaxRank] = {};
  for (size_t i = 0; i < dims.size(); ++i) {
    int dim = 0;
    ETB_CHECK(wrap_dim(context, dims[i], self.rank(), &dim));
    if (self.rank() > 0)
      shift[dim] = (shift[dim] + shifts[i] % self.size(dim) + self.size(dim)) % self.size(dim);
  }
  if (dims.empty()) {
    const int64_t count = self.numel(), by = (shifts[0] % count + count) % count;
    for (int64_t i = 0; i < count; ++i) {
      if (context.should_stop(1)) return context.stopped();
      std::memcpy(const_cast<char*>(element_at(out, row_major_offset(out, (i + by) % count))),
                  element_at(self, row_major_offset(self, i)), nbytes);
    }
    return ETB_OK;
  }
  // Bit d of `part` says which side of the seam along dim d is copied.
  for (uint32_t part = 0; part < (1u << self.rank()); ++part) {
    StridedCopy copy;
    copy.element_nbytes = nbytes;
    copy.rank = self.rank();
    int64_t to = 0, from = 0;
    bool is_empty = false;
    for (int dim = 0; dim < self.rank(); ++dim) {
      const bool is_wrapped = (part >> dim & 1) != 0;
      const int64_t size = self.size(dim), by = shift[dim];
      copy.sizes[dim] = is_wrapped ? by : size - by;
      is_empty = is_empty || copy.sizes[dim] == 0;
      copy.to_strides[dim] = out.stride(dim);
      copy.from_strides[dim] = self.stride(dim);
      to += (is_wrapped ? 0 : by) * out.stride(dim);
      from += (is_wrapped ? size - by : 0) * self.stride(dim);
    }
    if (is_empty) continue;
    copy.to = const_cast<char*>(element_at(out, to));
    copy.from = element_at(self, from);
    ETB_CHECK(copy.run(context));
  }
  return ETB_OK;
}

// Elements of a tensor's memory in a regular pattern.
struct StridedPart {
  size_t rank = 0;
  int64_t sizes[kMaxRank] = {}, strides[kMaxRank] = {}, start = 0;
  bool is_empty() const { return std::find(sizes, sizes + rank, 0) != sizes + rank; }
};

etb_status copy_part(KernelContext& context, const Tensor& self, const StridedPart& part, Tensor& out) {
  StridedCopy copy;
  ETB_CHECK(start_copy(context, self, {part.sizes, part.rank}, out, &copy));
  if (part.is_empty()) return ETB_OK;
  std::copy_n(part.strides, part.rank, copy.from_strides);
  copy.from = element_at(self, part.start);
  return copy.run(context);
}

// Writes src over a part of `out`, which has the other elements already.
etb_status write_part(KernelContext& context, const Tensor& src, const StridedPart& part, Tensor& out) {
  ETB_CHECK(expect_same_dtype(context, src, out));
  if (!std::equal(src.sizes().begin(), src.sizes().end(), part.sizes, part.sizes + part.rank)) {
    return context.fail(ETB_INVALID_ARGUMENT, "the source has sizes %s, expected %s",
                        SizesText(src.sizes()).text, SizesText({part.sizes, part.rank}).text);
  }
  if (part.is_empty()) return ETB_OK;
  StridedCopy copy;
  copy.element_nbytes = element_nbytes(src.dtype());
  copy.rank = src.rank();
  copy.to = const_cast<char*>(element_at(out, part.start));
  copy.from = src.data();
  for (int dim = 0; dim < src.rank(); ++dim) {
    copy.sizes[dim] = src.size(dim);
    copy.to_strides[dim] = part.strides[dim];
    copy.from_strides[dim] = src.stride(dim);
  }
  return copy.run(context);
}

// Copies self to out.
etb_status copy_whole(KernelContext& context, const Tensor& self, Tensor& out) {
  ETB_CHECK(resize_output(context, out, self.sizes()));
  ETB_CHECK(expect_same_dtype(context, self, out));
  return copy_tensor(context, self, out);
}

// Finds the diagonal of two dims, which becomes the last dim.
etb_status find_diagonal(KernelContext& context, const Tensor& self, int64_t offset, int64_t dim1,
                         int64_t dim2, StridedPart* out_part) {
  int first = 0, second = 0;
  ETB_CHECK(wrap_dim(context, dim1, self.rank(), &first));
  ETB_CHECK(wrap_dim(context, dim2, self.rank(), &second));
  if (first == second || self.rank() < 2)
    return context.fail(ETB_INVALID_ARGUMENT, "the diagonal of dims %d and %d", first, second);
  for (int dim = 0; dim < self.rank(); ++dim) {
    if (dim == first || dim == second) continue;
    out_part->sizes[out_part->rank] = self.size(dim);
    out_part->strides[out_part->rank++] = self.stride(dim);
  }
  ops::Numbers numbers;
  out_part->sizes[out_part->rank] = ops::diagonal_size(numbers, self.size(first), self.size(second), offset);
  out_part->strides[out_part->rank++] = self.stride(first) + self.stride(second);
  // Without elements the offset may be any number.
  if (!out_part->is_empty())
    out_part->start = offset >= 0 ? offset * self.stride(second) : -offset * self.stride(first);
  return ETB_OK;
}

etb_status diagonal_copy_out(KernelContext& context, ops::diagonal_copy_out<KernelArguments> args) {
  StridedPart part;
  ETB_CHECK(find_diagonal(context, args.self(), args.offset(), args.dim1(), args.dim2(), &part));
  return copy_part(context, args.self(), part, args.out());
}

etb_status diagonal_scatter_out(KernelContext& context, ops::diagonal_scatter_out<KernelArguments> args) {
  StridedPart part;
  ETB_CHECK(copy_whole(context, args.self(), args.out()));
  ETB_CHECK(find_diagonal(context, args.out(), args.offset(), args.dim1(), args.dim2(), &part));
  return write_part(context, args.src(), part, args.out());
}

// unfold_copy(self, dimension, size, step, out): windows along a dim; the positions in a window become the last dim.
etb_status unfold_copy_out(KernelContext& context, ops::unfold_copy_out<KernelArguments> args) {
  const Tensor& self = args.self();
  const int64_t size = args.size(), step = args.step();
  int dim = 0;
  ETB_CHECK(wrap_dim(context, args.dimension(), self.rank(), &dim));
  const int64_t own = self.rank() == 0 ? 1 : self.size(dim);
  if (size < 0 || size > own || step < 1 || self.rank() == kMaxRank) {
    return context.fail(ETB_INVALID_ARGUMENT, "windows of %lld in steps of %lld over %lld",
                        static_cast<long long>(size), static_cast<long long>(step),
                        static_cast<long long>(own));
  }
  int64_t sizes[kMaxRank];
  const auto rank = static_cast<size_t>(self.rank());
  std::copy(self.sizes().begin(), self.sizes().end(), sizes);
  if (rank > 0) sizes[dim] = (own - size) / step + 1;
  sizes[rank] = size;
  StridedCopy copy;
  ETB_CHECK(start_copy(context, self, {sizes, rank + 1}, args.out(), &copy));
  if (args.out().numel() == 0) return ETB_OK;
  // A single window takes no step, and a step that is longer than the dim may be any number.
  for (int i = 0; i < self.rank(); ++i)
    copy.from_strides[i] = i == dim && sizes[i] > 1 ? self.stride(i) * step : self.stride(i);
  copy.from_strides[rank] = rank == 0 ? 0 : self.stride(dim);
  return copy.run(context);
}

// Finds the part of a tensor's memory that sizes and strides name; all of it is inside.
etb_status find_strided(KernelContext& context, const Tensor& self, IntList sizes, IntList strides,
                        int64_t start, StridedPart* out_part) {
  if (sizes.size() != strides.size() || sizes.size() > kMaxRank || start < 0) {
    return context.fail(ETB_INVALID_ARGUMENT, "%zu sizes with %zu strides from %lld on", sizes.size(),
                        strides.size(), static_cast<long long>(start));
  }
  int64_t last = start;
  bool overflows = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t size = sizes[i], stride = strides[i];
    int64_t reach = 0;
    overflows = overflows || size < 0 || stride < 0 || __builtin_mul_overflow(size - 1, stride, &reach) ||
                __builtin_add_overflow(last, reach, &last);
    out_part->sizes[i] = size;
    out_part->strides[i] = stride;
  }
  out_part->rank = sizes.size();
  out_part->start = start;
  if (overflows || (!out_part->is_empty() && last >= self.numel())) {
    return context.fail(ETB_INVALID_ARGUMENT, "the view reaches element %lld of %lld",
                        static_cast<long long>(last), static_cast<long long>(self.numel()));
  }
  return ETB_OK;
}

etb_status as_strided_copy_out(KernelContext& context, ops::as_strided_copy_out<KernelArguments> args) {
  StridedPart part;
  ETB_CHECK(find_strided(context, args.self(), args.size(), args.stride(), args.storage_offset().value_or(0),
                         &part));
  return copy_part(context, args.self(), part, args.out());
}

// as_strided_scatter(self, src, size, stride, storage_offset, out): the strides are those of self's memory, so the output must have the
// same layout. As in PyTorch no element may be written along a dim of stride 0.
etb_status as_strided_scatter_out(KernelContext& context, ops::as_strided_scatter_out<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor& out = args.out();
  StridedPart part;
  ETB_CHECK(
      find_strided(context, self, args.size(), args.stride(), args.storage_offset().value_or(0), &part));
  for (size_t i = 0; i < part.rank; ++i) {
    if (part.strides[i] == 0 && part.sizes[i] > 1)
      return context.fail(ETB_INVALID_ARGUMENT, "dim %zu: %lld elements with stride 0 are one", i,
                          static_cast<long long>(part.sizes[i]));
  }
  ETB_CHECK(copy_whole(context, self, out));
  for (int dim = 0; dim < self.rank(); ++dim) {
    if (self.stride(dim) != out.stride(dim) && self.size(dim) > 1)
      return context.fail(ETB_NOT_SUPPORTED, "dim %d: the output has stride %lld, the input %lld", dim,
                          static_cast<long long>(out.stride(dim)), static_cast<long long>(self.stride(dim)));
  }
  return write_part(context, args.src(), part, out);
}

etb_status tril_out(KernelContext& context, ops::tril_out<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor& out = args.out();
  const int64_t diagonal = args.diagonal();
  if (self.rank() < 2)
    return context.fail(ETB_INVALID_ARGUMENT, "the input has rank %d, expected at least 2", self.rank());
  ETB_CHECK(resize_output(context, out, self.sizes()));
  ETB_CHECK(expect_same_dtype(context, self, out));
  if (self.numel() == 0) return ETB_OK;
  ETB_CHECK(clear_bytes(context, out.data(), out.nbytes()));
  const int row_dim = self.rank() - 2, column_dim = self.rank() - 1;
  DimSet dims;
  dims.set(static_cast<size_t>(row_dim)).set(static_cast<size_t>(column_dim));
  RowWalk from(self, dims), to(out, dims);
  for (int64_t matrix = 0; matrix < from.row_count(); ++matrix, from.advance(), to.advance()) {
    for (int64_t row = 0; row < self.size(row_dim); ++row) {
      if (context.should_stop(1)) return context.stopped();
      // Columns up to row + diagonal; the sum is clamped before it can overflow.
      const int64_t last = diagonal >= self.size(column_dim) ? self.size(column_dim)
                           : diagonal < -self.size(row_dim)  ? 0
                                                             : row + diagonal + 1;
      StridedCopy copy;
      copy.element_nbytes = element_nbytes(self.dtype());
      copy.rank = 1;
      copy.sizes[0] = std::clamp<int64_t>(last, 0, self.size(column_dim));
      copy.to = const_cast<char*>(element_at(out, to.offset() + row * out.stride(row_dim)));
      copy.from = element_at(self, from.offset() + row * self.stride(row_dim));
      copy.to_strides[0] = out.stride(column_dim);
      copy.from_strides[0] = self.stride(column_dim);
      ETB_CHECK(copy.run(context));
    }
  }
  return ETB_OK;
}

// [.., C*f*f, H, W] to [.., C, H*f, W*f], or back. Seen as [.., C, f, f, H, W] it is a permutation.
template <bool is_shuffle>
etb_status rearrange_pixels(KernelContext& context, const Tensor& self, int64_t factor, Tensor& out) {
  const int rank = self.rank();
  if (rank < 3 || rank > kMaxRank - 2 || factor < 1 || factor > (1 << 15)) {
    return context.fail(ETB_INVALID_ARGUMENT, "factor %lld on a tensor of rank %d",
                        static_cast<long long>(factor), rank);
  }
  int64_t sizes[kMaxRank];
  std::copy(self.sizes().begin(), self.sizes().end(), sizes);
  int64_t &channels = sizes[rank - 3], &height = sizes[rank - 2], &width = sizes[rank - 1];
  const bool fits =
      is_shuffle ? channels % (factor * factor) == 0 : height % factor == 0 && width % factor == 0;
  if (!fits)
    return context.fail(ETB_INVALID_ARGUMENT, "factor %lld does not divide %s",
                        static_cast<long long>(factor), SizesText(self.sizes()).text);
  channels = is_shuffle ? channels / (factor * factor) : channels * factor * factor;
  height = is_shuffle ? height * factor : height / factor;
  width = is_shuffle ? width * factor : width / factor;
  StridedCopy copy;
  ETB_CHECK(start_copy(context, self, {sizes, static_cast<size_t>(rank)}, out, &copy));
  if (out.numel() == 0) return ETB_OK;
  const Tensor &deep = is_shuffle ? self : out, &flat = is_shuffle ? out : self;
  // Dims: leading, C, row in block, column in block, H, W.
  const int c = rank - 3, h = rank - 2, w = rank - 1;
  copy.rank = rank + 2;
  int64_t deep_strides[kMaxRank], flat_strides[kMaxRank];
  for (int dim = 0; dim < c; ++dim) {
    copy.sizes[dim] = self.size(dim);
    deep_strides[dim] = deep.stride(dim);
    flat_strides[dim] = flat.stride(dim);
  }
  const int64_t counts[5] = {flat.size(c), factor, factor, deep.size(h), deep.size(w)};
  const int64_t in_deep[5] = {deep.stride(c) * factor * factor, deep.stride(c) * factor, deep.stride(c),
                              deep.stride(h), deep.stride(w)};
  const int64_t in_flat[5] = {flat.stride(c), flat.stride(h), flat.stride(w), flat.stride(h) * factor,
                              flat.stride(w) * factor};
  for (int i = 0; i < 5; ++i) {
    copy.sizes[c + i] = counts[i];
    deep_strides[c + i] = in_deep[i];
    flat_strides[c + i] = in_flat[i];
  }
  std::copy_n(is_shuffle ? deep_strides : flat_strides, copy.rank, copy.from_strides);
  std::copy_n(is_shuffle ? flat_strides : deep_strides, copy.rank, copy.to_strides);
  return copy.run(context);
}

etb_status pixel_shuffle_out(KernelContext& context, ops::pixel_shuffle_out<KernelArguments> args) {
  return rearrange_pixels<true>(context, args.self(), args.upscale_factor(), args.out());
}

etb_status pixel_unshuffle_out(KernelContext& context, ops::pixel_unshuffle_out<KernelArguments> args) {
  return rearrange_pixels<false>(context, args.self(), args.downscale_factor(), args.out());
}

constexpr Kernel kRows[] = {
    kernel_row<ops::flip_out, flip_out>(),
    kernel_row<ops::repeat_out, repeat_out>(),
    kernel_row<ops::roll_out, roll_out>(),
    kernel_row<ops::diagonal_copy_out, diagonal_copy_out>(),
    kernel_row<ops::diagonal_scatter_out, diagonal_scatter_out>(),
    kernel_row<ops::unfold_copy_out, unfold_copy_out>(),
    kernel_row<ops::as_strided_copy_out, as_strided_copy_out>(),
    kernel_row<ops::as_strided_scatter_out, as_strided_scatter_out>(),
    kernel_row<ops::tril_out, tril_out>(),
    kernel_row<ops::pixel_shuffle_out, pixel_shuffle_out>(),
    kernel_row<ops::pixel_unshuffle_out, pixel_unshuffle_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(rearrange, kRows);

}  // namespace etb::host
