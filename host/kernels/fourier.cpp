// SPDX-License-Identifier: Apache-2.0
// aten::_fft_c2c, _fft_c2r and _fft_r2c: Fourier transforms along dims. Each dim is one step over the lines along it: some lines are
// copied to scratch, transformed side by side (fourier_plan.hpp), and copied to the result.
#include <algorithm>
#include <cmath>

#include "host/kernels/dims.hpp"
#include "host/kernels/fourier_plan.hpp"
#include "host/kernels/kernel.hpp"
#include "host/kernels/long_loops.hpp"
#include "ops/_fft_c2c.hpp"
#include "ops/_fft_c2r.hpp"
#include "ops/_fft_r2c.hpp"

namespace etb::host {
namespace {

constexpr int64_t kMaxLanes = 16;
// Numbers that are transformed at a time: their four arrays fit into the second-level cache.
constexpr int64_t kBlock = int64_t{1} << 15;

// Parts of the numbers of a tensor. Strides count parts: twice the tensor's if it is complex.
template <class T>
struct Numbers {
  T* re;
  T* im;  // null if the numbers are real
  int64_t strides[kMaxRank];
};

template <class T>
Numbers<T> numbers_of(const Tensor& tensor, T* data) {
  const bool is_pair = is_complex(tensor.dtype());
  Numbers<T> out{data, is_pair ? data + 1 : nullptr, {}};
  for (int dim = 0; dim < tensor.rank(); ++dim) out.strides[dim] = tensor.stride(dim) * (is_pair ? 2 : 1);
  return out;
}

template <class T>
Numbers<T> numbers_of(const Tensor& tensor) {
  return numbers_of(tensor, static_cast<T*>(tensor.data()));
}

// One step: the transform along `axis` of tensors whose other sizes are equal.
template <class T>
struct Step {
  Numbers<T> from, to;
  int rank, axis;
  const int64_t* sizes;  // all but that of the axis count
  int64_t length;        // of the transform
  bool is_forward;
  double scale;
  int64_t results;  // numbers to write: `length`, or only the first half of a real transform
};

// Walks over the lines along an axis, some at a time.
template <class T>
class LineWalk {
 public:
  explicit LineWalk(const Step<T>& step) : step_(step) {
    for (int dim = 0; dim < step.rank; ++dim)
      if (dim != step.axis) count_ *= step.sizes[dim];
  }
  int64_t count() const noexcept { return count_; }
  // Reads the offsets of the next lines; their number is at most `lanes`.
  int64_t next(int64_t lanes, int64_t* from, int64_t* to) noexcept {
    int64_t found = 0;
    for (; found < lanes && done_ < count_; ++found, ++done_) {
      from[found] = from_;
      to[found] = to_;
      advance();
    }
    return found;
  }

 private:
  void advance() noexcept {
    for (int dim = step_.rank - 1; dim >= 0; --dim) {
      if (dim == step_.axis) continue;
      from_ += step_.from.strides[dim];
      to_ += step_.to.strides[dim];
      if (++index_[dim] < step_.sizes[dim]) return;
      from_ -= step_.sizes[dim] * step_.from.strides[dim];
      to_ -= step_.sizes[dim] * step_.to.strides[dim];
      index_[dim] = 0;
    }
  }

  const Step<T>& step_;
  int64_t count_ = 1, done_ = 0, from_ = 0, to_ = 0;
  int64_t index_[kMaxRank] = {};
};

// Calls visit(begin, end) for parts of `count` rows of `lanes` numbers.
template <class Visit>
etb_status for_each_rows(KernelContext& context, int64_t count, int64_t lanes, Visit visit) {
  const int64_t rows = std::max<int64_t>(1, KernelContext::kPiece / lanes);
  for (int64_t begin = 0; begin < count; begin += rows) {
    const int64_t end = std::min(begin + rows, count);
    if (context.should_stop(std::min((end - begin) * lanes, KernelContext::kPiece))) return context.stopped();
    visit(begin, end);
  }
  return ETB_OK;
}

// Copies `count` numbers of each line to rows of `lanes`, or back. Lines are read in tiles that stay in the first-level cache.
constexpr int64_t kTile = 32;
template <class T>
etb_status gather(KernelContext& context, T* rows, const T* data, const int64_t* offsets, int64_t stride,
                  int64_t count, int64_t lanes) {
  return for_each_rows(context, count, lanes, [&](int64_t first, int64_t last) {
    for (int64_t begin = first; begin < last; begin += kTile) {
      const int64_t end = std::min(begin + kTile, last);
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const T* line = data + offsets[lane];
        for (int64_t i = begin; i < end; ++i) rows[i * lanes + lane] = line[i * stride];
      }
    }
  });
}
template <class T>
etb_status scatter(KernelContext& context, T* data, const T* rows, const int64_t* offsets, int64_t stride,
                   int64_t count, int64_t lanes, T scale) {
  return for_each_rows(context, count, lanes, [&](int64_t first, int64_t last) {
    for (int64_t begin = first; begin < last; begin += kTile) {
      const int64_t end = std::min(begin + kTile, last);
      for (int64_t lane = 0; lane < lanes; ++lane) {
        T* line = data + offsets[lane];
        for (int64_t i = begin; i < end; ++i) line[i * stride] = rows[i * lanes + lane] * scale;
      }
    }
  });
}

// Memory of one step, and what is done with a block of lines.
template <class T>
struct Block {
  FourierPlan<T> plan;
  SplitNumbers<T> roots;  // of a real transform of even length
  int64_t from[kMaxLanes], to[kMaxLanes];
};

// Lines are transformed side by side while they fit.
int64_t lanes_for(int64_t length, int64_t lines) {
  return std::max<int64_t>(1, std::min({kBlock / length, kMaxLanes, lines}));
}

// Calls visit(lanes) for blocks of lines whose offsets are in `block`.
template <class T, class Visit>
etb_status for_each_block(KernelContext& context, const Step<T>& step, Block<T>& block, int64_t lanes,
                          Visit visit) {
  LineWalk<T> walk(step);
  while (const int64_t count = walk.next(lanes, block.from, block.to)) {
    const int64_t work = std::min(count * step.length, KernelContext::kPiece);
    if (context.should_stop(std::max<int64_t>(work, 1))) return context.stopped();
    ETB_CHECK(visit(count));
  }
  return ETB_OK;
}

template <class T>
etb_status write_lines(KernelContext& context, const Step<T>& step, const Block<T>& block,
                       SplitNumbers<T> rows, int64_t count, int64_t lanes) {
  const int64_t stride = step.to.strides[step.axis];
  const T scale = static_cast<T>(step.scale);
  ETB_CHECK(scatter(context, step.to.re, rows.re, block.to, stride, count, lanes, scale));
  if (step.to.im == nullptr) return ETB_OK;
  return scatter(context, step.to.im, rows.im, block.to, stride, count, lanes, scale);
}

// Numbers of a real transform beyond the first half: the conjugates of the first ones.
template <class T>
etb_status write_mirrored(KernelContext& context, const Step<T>& step, const Block<T>& block,
                          SplitNumbers<T> rows, int64_t lanes) {
  const int64_t stride = step.to.strides[step.axis], half = step.length / 2 + 1;
  const T scale = static_cast<T>(step.scale);
  return for_each_rows(context, step.results - half, lanes, [&](int64_t begin, int64_t end) {
    for (int64_t lane = 0; lane < lanes; ++lane) {
      for (int64_t i = half + begin; i < half + end; ++i) {
        const int64_t at = block.to[lane] + i * stride, mirrored = (step.length - i) * lanes + lane;
        step.to.re[at] = rows.re[mirrored] * scale;
        step.to.im[at] = -rows.im[mirrored] * scale;
      }
    }
  });
}

// Complex lines, or real ones as complex numbers without an imaginary part.
template <class T>
etb_status transform_complex(KernelContext& context, const Step<T>& step, int64_t lines) {
  const KernelContext::Mark mark(context);
  Block<T> block;
  const int64_t most = lanes_for(step.length, lines), stride = step.from.strides[step.axis];
  ETB_CHECK(block.plan.prepare(context, step.length, most));
  return for_each_block(context, step, block, most, [&](int64_t lanes) -> etb_status {
    const SplitNumbers<T> in = block.plan.input();
    ETB_CHECK(gather(context, in.re, step.from.re, block.from, stride, step.length, lanes));
    if (step.from.im != nullptr)
      ETB_CHECK(gather(context, in.im, step.from.im, block.from, stride, step.length, lanes));
    else
      ETB_CHECK(clear_bytes(context, in.im, static_cast<uint64_t>(step.length * lanes) * sizeof(T)));
    etb_status status = ETB_OK;
    const SplitNumbers<T> out = block.plan.run(context, lanes, step.is_forward, &status);
    ETB_CHECK(status);
    return write_lines(context, step, block, out, step.results, lanes);
  });
}

// Real lines of even length: half as many complex numbers.
template <class T>
etb_status transform_real(KernelContext& context, const Step<T>& step, int64_t lines) {
  if (step.length % 2 != 0) return transform_complex(context, step, lines);
  const KernelContext::Mark mark(context);
  Block<T> block;
  const int64_t m = step.length / 2, most = lanes_for(step.length, lines),
                stride = step.from.strides[step.axis];
  SplitNumbers<T> rows{context.allocate_array<T>((m + 1) * most), context.allocate_array<T>((m + 1) * most)};
  block.roots = {context.allocate_array<T>(m + 1), context.allocate_array<T>(m + 1)};
  if (rows.re == nullptr || rows.im == nullptr || block.roots.re == nullptr || block.roots.im == nullptr)
    return context.fail(ETB_OUT_OF_MEMORY, "a transform of %lld numbers",
                        static_cast<long long>(step.length));
  ETB_CHECK(compute_roots(context, block.roots, step.length, m + 1));
  ETB_CHECK(block.plan.prepare(context, m, most));
  const FourierLoops<T>& loops = vector_table(context).fourier<T>();
  return for_each_block(context, step, block, most, [&](int64_t lanes) -> etb_status {
    const SplitNumbers<T> in = block.plan.input();
    ETB_CHECK(gather(context, in.re, step.from.re, block.from, 2 * stride, m, lanes));
    ETB_CHECK(gather(context, in.im, step.from.re + stride, block.from, 2 * stride, m, lanes));
    etb_status status = ETB_OK;
    const SplitNumbers<T> out = block.plan.run(context, lanes, true, &status);
    ETB_CHECK(status);
    ETB_CHECK(for_each_rows(context, m + 1, lanes, [&](int64_t begin, int64_t end) {
      loops.split_pairs(rows.re, rows.im, out.re, out.im, block.roots.re, block.roots.im, m, begin, end,
                        lanes);
    }));
    ETB_CHECK(write_lines(context, step, block, rows, m + 1, lanes));
    return step.results > m + 1 ? write_mirrored(context, step, block, rows, lanes) : ETB_OK;
  });
}

// All numbers of lines of odd length from the first half: the others are conjugates.
template <class T>
etb_status mirror(KernelContext& context, SplitNumbers<T> out, SplitNumbers<T> half, int64_t length,
                  int64_t lanes) {
  return for_each_rows(context, length, lanes, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const bool is_first = i <= length / 2;
      const int64_t from = is_first ? i : length - i;
      for (int64_t lane = 0; lane < lanes; ++lane) {
        out.re[i * lanes + lane] = half.re[from * lanes + lane];
        out.im[i * lanes + lane] = is_first ? half.im[from * lanes + lane] : -half.im[from * lanes + lane];
      }
    }
  });
}

// The first half of complex lines to real ones. The imaginary parts of the numbers that are their own mirror images do not count.
template <class T>
etb_status transform_half(KernelContext& context, const Step<T>& step, int64_t lines) {
  const KernelContext::Mark mark(context);
  Block<T> block;
  const bool is_even = step.length % 2 == 0;
  const int64_t half = step.length / 2, m = is_even ? half : step.length;
  const int64_t most = lanes_for(step.length, lines), stride = step.from.strides[step.axis];
  SplitNumbers<T> rows{context.allocate_array<T>((half + 1) * most),
                       context.allocate_array<T>((half + 1) * most)};
  block.roots = {context.allocate_array<T>(half + 1), context.allocate_array<T>(half + 1)};
  if (rows.re == nullptr || rows.im == nullptr || block.roots.re == nullptr || block.roots.im == nullptr)
    return context.fail(ETB_OUT_OF_MEMORY, "a transform of %lld numbers",
                        static_cast<long long>(step.length));
  ETB_CHECK(compute_roots(context, block.roots, step.length, half + 1));
  ETB_CHECK(block.plan.prepare(context, m, most));
  const FourierLoops<T>& loops = vector_table(context).fourier<T>();
  return for_each_block(context, step, block, most, [&](int64_t lanes) -> etb_status {
    const SplitNumbers<T> in = block.plan.input();
    ETB_CHECK(gather(context, rows.re, step.from.re, block.from, stride, half + 1, lanes));
    ETB_CHECK(gather(context, rows.im, step.from.im, block.from, stride, half + 1, lanes));
    for (int64_t lane = 0; lane < lanes; ++lane) rows.im[lane] = 0;
    if (is_even) {
      for (int64_t lane = 0; lane < lanes; ++lane) rows.im[half * lanes + lane] = 0;
      ETB_CHECK(for_each_rows(context, m, lanes, [&](int64_t begin, int64_t end) {
        loops.join_pairs(in.re, in.im, rows.re, rows.im, block.roots.re, block.roots.im, m, begin, end,
                         lanes);
      }));
    } else {
      ETB_CHECK(mirror(context, in, rows, step.length, lanes));
    }
    etb_status status = ETB_OK;
    const SplitNumbers<T> out = block.plan.run(context, lanes, false, &status);
    ETB_CHECK(status);
    if (!is_even) return write_lines(context, step, block, {out.re, nullptr}, step.length, lanes);
    const int64_t to = step.to.strides[step.axis];
    const T scale = static_cast<T>(step.scale);
    ETB_CHECK(scatter(context, step.to.re, out.re, block.to, 2 * to, m, lanes, scale));
    return scatter(context, step.to.re + to, out.im, block.to, 2 * to, m, lanes, scale);
  });
}

// The dims of a transform.
struct Axes {
  int count = 0;
  int axis[kMaxRank];
};

etb_status read_axes(KernelContext& context, IntList dims, int rank, Axes* out) {
  DimSet seen;
  if (dims.size() > static_cast<size_t>(rank))
    return context.fail(ETB_INVALID_ARGUMENT, "%zu dims for rank %d", dims.size(), rank);
  for (size_t i = 0; i < dims.size(); ++i) {
    int axis = 0;
    ETB_CHECK(wrap_dim(context, dims[i], rank, &axis));
    if (seen.test(static_cast<size_t>(axis))) return context.fail(ETB_INVALID_ARGUMENT, "dim %d twice", axis);
    seen.set(static_cast<size_t>(axis));
    out->axis[out->count++] = axis;
  }
  return ETB_OK;
}

// Reads the factor of the results: 1, or one over the root (1) or all (2) of the numbers of a transform.
etb_status read_scale(KernelContext& context, int64_t normalization, const Axes& axes, const int64_t* sizes,
                      double* out) {
  double count = 1;
  for (int i = 0; i < axes.count; ++i) count *= static_cast<double>(sizes[axes.axis[i]]);
  if (normalization < 0 || normalization > 2)
    return context.fail(ETB_INVALID_ARGUMENT, "normalization %lld, expected 0 to 2",
                        static_cast<long long>(normalization));
  *out = normalization == 0 ? 1.0 : normalization == 1 ? 1.0 / std::sqrt(count) : 1.0 / count;
  return ETB_OK;
}

template <class T>
int64_t lines_of(const Step<T>& step) {
  return LineWalk<T>(step).count();
}

// Complex steps along some dims, the first one from `from` to `to`, the others in place.
template <class T>
etb_status transform_axes(KernelContext& context, Numbers<T> from, const Numbers<T>& to, int rank,
                          const int64_t* sizes, const int* axes, int count, bool is_forward, double scale) {
  for (int i = 0; i < count; ++i) {
    const Step<T> step{
        from, to, rank, axes[i], sizes, sizes[axes[i]], is_forward, i == 0 ? scale : 1.0, sizes[axes[i]]};
    ETB_CHECK(transform_complex(context, step, lines_of(step)));
    from = to;
  }
  return ETB_OK;
}

// Calls f(float()) or f(double()) by the dtype of parts.
template <class F>
etb_status with_parts(KernelContext& context, const Tensor& self, const Tensor& out, F f) {
  if (real_part(self.dtype()) == Dtype::FLOAT32 && real_part(out.dtype()) == Dtype::FLOAT32)
    return f(float());
  if (real_part(self.dtype()) == Dtype::FLOAT64 && real_part(out.dtype()) == Dtype::FLOAT64)
    return f(double());
  return context.fail(ETB_INVALID_TYPE, "%s into %s, expected parts of float32 or float64",
                      to_text(self.dtype()), to_text(out.dtype()));
}

etb_status expect_complex(KernelContext& context, const Tensor& tensor, bool is_so) {
  if (is_complex(tensor.dtype()) == is_so) return ETB_OK;
  return context.fail(ETB_INVALID_TYPE, "%s, expected %s numbers", to_text(tensor.dtype()),
                      is_so ? "complex" : "real");
}

// _fft_c2c(self, dim, normalization, forward, out)
etb_status c2c(KernelContext& context, ops::_fft_c2c_out<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor& out = args.out();
  ETB_CHECK(expect_complex(context, self, true));
  ETB_CHECK(expect_complex(context, out, true));
  ETB_CHECK(resize_output(context, out, self.sizes()));
  Axes axes;
  ETB_CHECK(read_axes(context, args.dim(), self.rank(), &axes));
  double scale = 1;
  ETB_CHECK(read_scale(context, args.normalization(), axes, self.sizes().data(), &scale));
  return with_parts(context, self, out, [&](auto part) -> etb_status {
    using T = decltype(part);
    if (out.numel() == 0) return ETB_OK;
    if (axes.count == 0) return copy_tensor(context, self, out);
    return transform_axes(context, numbers_of<T>(self), numbers_of<T>(out), self.rank(), self.sizes().data(),
                          axes.axis, axes.count, args.forward(), scale);
  });
}

// _fft_r2c(self, dim, normalization, onesided, out): the last of the dims first, while numbers are real.
etb_status r2c(KernelContext& context, ops::_fft_r2c_out<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor& out = args.out();
  ETB_CHECK(expect_complex(context, self, false));
  ETB_CHECK(expect_complex(context, out, true));
  Axes axes;
  ETB_CHECK(read_axes(context, args.dim(), self.rank(), &axes));
  if (axes.count == 0 || self.rank() == 0) return context.fail(ETB_INVALID_ARGUMENT, "no dim to transform");
  const int last = axes.axis[axes.count - 1];
  const int64_t length = self.size(last);
  if (length < 1) return context.fail(ETB_INVALID_ARGUMENT, "a dim of size 0 to transform");
  int64_t sizes[kMaxRank];
  for (int dim = 0; dim < self.rank(); ++dim) sizes[dim] = self.size(dim);
  if (args.onesided()) sizes[last] = length / 2 + 1;
  ETB_CHECK(resize_output(context, out, {sizes, static_cast<size_t>(self.rank())}));
  double scale = 1;
  ETB_CHECK(read_scale(context, args.normalization(), axes, self.sizes().data(), &scale));
  return with_parts(context, self, out, [&](auto part) -> etb_status {
    using T = decltype(part);
    if (out.numel() == 0) return ETB_OK;
    const Numbers<T> to = numbers_of<T>(out);
    const Step<T> step{numbers_of<T>(self), to, self.rank(), last, sizes, length, true, scale, sizes[last]};
    ETB_CHECK(transform_real(context, step, lines_of(step)));
    return transform_axes(context, to, to, self.rank(), sizes, axes.axis, axes.count - 1, true, 1.0);
  });
}

// _fft_c2r(self, dim, normalization, last_dim_size, out): the last of the dims last, from a copy if there are others.
etb_status c2r(KernelContext& context, ops::_fft_c2r_out<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor& out = args.out();
  ETB_CHECK(expect_complex(context, self, true));
  ETB_CHECK(expect_complex(context, out, false));
  Axes axes;
  ETB_CHECK(read_axes(context, args.dim(), self.rank(), &axes));
  if (axes.count == 0 || self.rank() == 0) return context.fail(ETB_INVALID_ARGUMENT, "no dim to transform");
  const int last = axes.axis[axes.count - 1];
  const int64_t length = args.last_dim_size();
  if (length < 1 || self.size(last) < length / 2 + 1) {
    return context.fail(ETB_INVALID_ARGUMENT,
                        "%lld numbers from %lld, expected at least 1 and half as many and one",
                        static_cast<long long>(length), static_cast<long long>(self.size(last)));
  }
  int64_t sizes[kMaxRank];
  for (int dim = 0; dim < self.rank(); ++dim) sizes[dim] = self.size(dim);
  sizes[last] = length;
  ETB_CHECK(resize_output(context, out, {sizes, static_cast<size_t>(self.rank())}));
  double scale = 1;
  ETB_CHECK(read_scale(context, args.normalization(), axes, sizes, &scale));
  return with_parts(context, self, out, [&](auto part) -> etb_status {
    using T = decltype(part);
    if (out.numel() == 0) return ETB_OK;
    const KernelContext::Mark mark(context);
    Numbers<T> from = numbers_of<T>(self);
    if (axes.count > 1) {
      T* memory = context.allocate_array<T>(2 * self.numel());
      if (memory == nullptr)
        return context.fail(ETB_OUT_OF_MEMORY, "a copy of %lld numbers",
                            static_cast<long long>(self.numel()));
      Numbers<T> copy{memory, memory + 1, {}};
      for (int64_t dim = self.rank() - 1, stride = 2; dim >= 0;
           stride *= self.size(static_cast<int>(dim)), --dim)
        copy.strides[dim] = stride;
      ETB_CHECK(transform_axes(context, from, copy, self.rank(), self.sizes().data(), axes.axis,
                               axes.count - 1, false, 1.0));
      from = copy;
    }
    const Step<T> step{from, numbers_of<T>(out), self.rank(), last, sizes, length, false, scale, length};
    return transform_half(context, step, lines_of(step));
  });
}

constexpr Kernel kRows[] = {
    kernel_row<ops::_fft_c2c_out, c2c>(),
    kernel_row<ops::_fft_c2r_out, c2r>(),
    kernel_row<ops::_fft_r2c_out, r2c>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(fourier, kRows);

}  // namespace etb::host
