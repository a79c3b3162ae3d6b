// SPDX-License-Identifier: Apache-2.0
// aten::convolution_backward: gradients of input, weight and bias, in one to three dims, grouped, dilated, transposed.
//
// The input's gradient is a convolution again (Convolution::backward). The weight's is, for each position of the kernel, a matrix
// product over all places where that position meets the input: [channels of one side, places] x [places, channels of the other].
#include <algorithm>
#include <cstring>

#include "etb/cpp/fail.hpp"
#include "host/kernels/convolution.hpp"
#include "host/kernels/indexing.hpp"
#include "host/kernels/kernel.hpp"
#include "host/kernels/matrix.hpp"
#include "ops/convolution_backward.hpp"

namespace etb::host {
namespace {

class WeightGradient {
 public:
  // `fixed` is the tensor whose places are counted one by one (the gradient of a plain convolution's output, the input of a transposed
  // one), `moved` the one that is read stride steps apart and shifted by the kernel's position.
  WeightGradient(KernelContext& context, const Convolution& shape, const Tensor& fixed, const Tensor& moved,
                 Tensor& out)
      : context_(context),
        shape_(shape),
        fixed_(fixed),
        moved_(moved),
        out_(out),
        compute_(compute_of(out.dtype())),
        places_(shape.is_transposed ? shape.in : shape.out),
        limits_(shape.is_transposed ? shape.out : shape.in),
        rows_(out.size(0) / shape.groups),
        columns_(out.size(1)) {}

  etb_status run() {
    const int64_t value_nbytes = compute_ == Compute::kDouble ? 8 : 4;
    fixed_offsets_ = context_.allocate_array<int64_t>(kChunk);
    moved_offsets_ = context_.allocate_array<int64_t>(kChunk);
    sums_ = context_.allocate(static_cast<uint64_t>(rows_ * columns_ * value_nbytes));
    if (fixed_offsets_ == nullptr || moved_offsets_ == nullptr || sums_ == nullptr) {
      return context_.fail_scratch(static_cast<uint64_t>(2 * kChunk * 8 + rows_ * columns_ * value_nbytes) +
                                   256);
    }
    for (int64_t group = 0; group < shape_.groups; ++group) {
      for (int64_t d = 0; d < shape_.kernel[0]; ++d) {
        for (int64_t r = 0; r < shape_.kernel[1]; ++r) {
          for (int64_t c = 0; c < shape_.kernel[2]; ++c) {
            const int64_t position[3] = {d, r, c};
            if (context_.should_stop(1 + rows_ * columns_)) return context_.stopped();
            std::memset(sums_, 0, static_cast<size_t>(rows_ * columns_ * value_nbytes));
            ETB_CHECK(add_places(group, position));
            store_sums(group, position);
          }
        }
      }
    }
    return ETB_OK;
  }

 private:
  static constexpr int64_t kChunk = 4096;  // places a product

  // Where a place lies along a spatial dim of `moved`, seen from a position of the kernel; -1 in the padding.
  int64_t moved_index(int dim, int64_t place, int64_t position) const {
    const int64_t index = place * shape_.stride[dim] - shape_.padding[dim] + position * shape_.dilation[dim];
    return index < limits_[dim] ? index : -1;
  }

  etb_status add_places(int64_t group, const int64_t (&position)[3]) {
    count_ = 0;
    for (int64_t image = 0; image < shape_.batch; ++image) {
      for (int64_t d = 0; d < places_[0]; ++d) {
        const int64_t moved_d = moved_index(0, d, position[0]);
        for (int64_t r = 0; moved_d >= 0 && r < places_[1]; ++r) {
          if (context_.should_stop(1 + places_[2])) return context_.stopped();
          const int64_t moved_r = moved_index(1, r, position[1]);
          for (int64_t c = 0; moved_r >= 0 && c < places_[2]; ++c) {
            const int64_t moved_c = moved_index(2, c, position[2]);
            if (moved_c < 0) continue;
            fixed_offsets_[count_] = offset_of(fixed_, image, d, r, c);
            moved_offsets_[count_] = offset_of(moved_, image, moved_d, moved_r, moved_c);
            if (++count_ < kChunk) continue;
            ETB_CHECK(add_products(group));
          }
        }
      }
    }
    return add_products(group);
  }

  int64_t offset_of(const Tensor& tensor, int64_t image, int64_t d, int64_t r, int64_t c) const {
    return image * tensor.stride(0) + d * shape_.spatial_stride(tensor, 0) +
           r * shape_.spatial_stride(tensor, 1) + c * shape_.spatial_stride(tensor, 2);
  }

  // sums += the products of the places collected so far.
  etb_status add_products(int64_t group) {
    if (count_ == 0) return ETB_OK;
    GemmTask task = {};
    task.m = rows_;
    task.k = count_;
    task.n = task.c_run = task.c_pitch = columns_;
    task.a = element_at(fixed_, group * rows_ * fixed_.stride(1));
    task.a_dtype = fixed_.dtype();
    task.a_row_stride = fixed_.stride(1);
    task.a_offsets = fixed_offsets_;
    task.b = element_at(moved_, group * columns_ * moved_.stride(1));
    task.b_dtype = moved_.dtype();
    task.b_offsets = moved_offsets_;
    task.b_column_stride = moved_.stride(1);
    task.c = sums_;
    task.c_dtype = compute_ == Compute::kDouble ? Dtype::FLOAT64 : Dtype::FLOAT32;
    task.c_row_stride = columns_;
    task.c_column_stride = 1;
    task.init = sums_;
    task.init_dtype = task.c_dtype;
    task.init_row_stride = columns_;
    task.init_column_stride = 1;
    task.alpha = task.beta = 1.0;
    count_ = 0;
    KernelContext::Mark mark(context_);
    return run_gemm(context_, task, compute_);
  }

  void store_sums(int64_t group, const int64_t (&position)[3]) const {
    const ConvertLoop store =
        vector_table(context_).conversions->store[static_cast<int>(out_.dtype())][static_cast<int>(compute_)];
    const int64_t value_nbytes = compute_ == Compute::kDouble ? 8 : 4;
    int64_t offset = group * rows_ * out_.stride(0);
    for (int dim = 0; dim < 3; ++dim) offset += position[dim] * shape_.spatial_stride(out_, dim);
    for (int64_t row = 0; row < rows_ && !context_.should_stop(columns_); ++row) {
      store(element_at(out_, offset + row * out_.stride(0)),
            static_cast<const char*>(sums_) + row * columns_ * value_nbytes, out_.stride(1), columns_);
    }
  }

  KernelContext& context_;
  const Convolution& shape_;
  const Tensor &fixed_, &moved_;
  Tensor& out_;
  const Compute compute_;
  const int64_t *places_, *limits_;
  const int64_t rows_, columns_;  // sizes of one group's gradient at one position of the kernel
  int64_t *fixed_offsets_ = nullptr, *moved_offsets_ = nullptr;
  void* sums_ = nullptr;
  int64_t count_ = 0;
};

etb_status input_gradient(KernelContext& context, const Convolution& shape, const Tensor& grad,
                          const Tensor& weight, Tensor& out) {
  if (out.numel() == 0) return ETB_OK;
  if (grad.numel() == 0 || weight.numel() == 0) {
    return clear_bytes(context, out.data(), out.nbytes());
  }
  KernelContext::Mark mark(context);
  return run_convolution(context, shape.backward(), grad, weight, nullptr, out);
}

// The sum of the gradient over everything but channels.
etb_status bias_gradient(KernelContext& context, const Tensor& grad, Tensor& out) {
  DimSet summed;
  for (int dim = 0; dim < grad.rank(); ++dim) summed.set(static_cast<size_t>(dim), dim != 1);
  const ConvertLoops& loops = *vector_table(context).conversions;
  RowWalk walk(grad, summed);
  constexpr int64_t kBlock = 512;
  double values[kBlock];
  for (int64_t channel = 0; channel < walk.row_count(); ++channel, walk.advance()) {
    double sum = 0.0;
    if (context.should_stop(1)) return context.stopped();
    for (int64_t begin = 0; begin < walk.row_numel(); begin += kBlock) {
      if (context.should_stop(kBlock)) return context.stopped();
      const int64_t count = std::min(kBlock, walk.row_numel() - begin);
      walk.load(loops, Compute::kDouble, values, begin, count);
      sum += vector_table(context).double_rows->sum(values, count);
    }
    store_element(loops, out, channel, sum);
  }
  return ETB_OK;
}

using Arguments = ops::convolution_backward_out<KernelArguments>;

etb_status expect_gradient(KernelContext& context, const Convolution& shape, const Tensor& grad,
                           const Tensor& input) {
  int64_t sizes[kMaxRank];
  shape.fill_out_sizes(sizes);
  if (grad.rank() == input.rank() && std::equal(sizes, sizes + grad.rank(), grad.sizes().begin()))
    return ETB_OK;
  return context.fail(ETB_INVALID_ARGUMENT, "a gradient of %s, expected %s", SizesText(grad.sizes()).text,
                      SizesText({sizes, static_cast<size_t>(input.rank())}).text);
}

// An output that the mask leaves out stays as it is and may be none.
etb_status convolution_backward_out(KernelContext& context, Arguments args) {
  const Tensor &grad = args.grad_output(), &input = args.input(), &weight = args.weight();
  const auto mask = args.output_mask();
  Tensor* const outs[] = {args.find_written_tensor(Arguments::Index::out0),
                          args.find_written_tensor(Arguments::Index::out1),
                          args.find_written_tensor(Arguments::Index::out2)};
  Convolution shape;
  ETB_CHECK(shape.read(context, input, weight, ConvolutionArguments(args)));
  ETB_CHECK(expect_gradient(context, shape, grad, input));
  if (mask.size() != 3)
    return context.fail(ETB_INVALID_ARGUMENT, "an output mask of %zu items, expected 3", mask.size());
  const bool has_dtypes =
      is_floating(grad.dtype()) && input.dtype() == grad.dtype() && weight.dtype() == grad.dtype();
  if (!has_dtypes) {
    return context.fail(ETB_INVALID_TYPE, "a gradient of %s for %s with weights %s", to_text(grad.dtype()),
                        to_text(input.dtype()), to_text(weight.dtype()));
  }
  const int64_t channels[] = {shape.out_channels};
  const std::span<const int64_t> sizes[] = {input.sizes(), weight.sizes(), channels};
  for (size_t i = 0; i < 3; ++i) {
    if (mask[i] == 0) continue;
    if (outs[i] == nullptr)
      return context.fail(ETB_INVALID_ARGUMENT, "gradient %zu is wanted but its output is none", i);
    Tensor& out = *outs[i];
    ETB_CHECK(expect_same_dtype(context, grad, out));
    ETB_CHECK(resize_output(context, out, sizes[i]));
  }
  if (mask[0] != 0) {
    ETB_CHECK(input_gradient(context, shape, grad, weight, *outs[0]));
  }
  if (mask[1] != 0 && weight.numel() != 0) {
    KernelContext::Mark mark(context);
    const etb_status status = WeightGradient(context, shape, shape.is_transposed ? input : grad,
                                             shape.is_transposed ? grad : input, *outs[1])
                                  .run();
    if (status != ETB_OK) return status;
  }
  return mask[2] != 0 ? bias_gradient(context, grad, *outs[2]) : ETB_OK;
}

constexpr Kernel kRows[] = {
    {Arguments::kProgramName, "TTTjIIIbIiBt!t!t!", run_kernel<convolution_backward_out>}};

}  // namespace

ETB_PUBLISH_KERNELS(convolution_backward, kRows);

}  // namespace etb::host
