// quantized_decomposed: mixed_mm, mixed_linear and the byte, 4-bit and 2-bit embeddings - float activations, integer weights.
#include "host/kernels/indexing.hpp"
#include "host/kernels/kernel.hpp"
#include "host/kernels/matrix.hpp"
#include "ops/quantized_decomposed/embedding_2bit.hpp"
#include "ops/quantized_decomposed/embedding_4bit.hpp"
#include "ops/quantized_decomposed/embedding_byte.hpp"
#include "ops/quantized_decomposed/mixed_linear.hpp"
#include "ops/quantized_decomposed/mixed_mm.hpp"

namespace etb::host {
namespace {

etb_status check_weights(KernelContext& context, const Tensor& weight, const Tensor& scales,
                         const Tensor* zero_points) {
  if (weight.rank() != 2 || (weight.dtype() != Dtype::INT8 && weight.dtype() != Dtype::UINT8)) {
    return context.fail(ETB_INVALID_TYPE, "weights are %s %s, expected int8 or uint8 of rank 2",
                        to_text(weight.dtype()), SizesText(weight.sizes()).text);
  }
  const bool has_scales = is_floating(scales.dtype()) && (scales.rank() == 1 || scales.rank() == 2) &&
                          scales.size(0) == weight.size(0) && scales.is_contiguous();
  if (!has_scales) {
    return context.fail(ETB_INVALID_ARGUMENT, "scales are %s %s for weights %s", to_text(scales.dtype()),
                        SizesText(scales.sizes()).text, SizesText(weight.sizes()).text);
  }
  if (zero_points == nullptr) return ETB_OK;
  const Tensor& points = *zero_points;
  if (points.numel() == scales.numel() && is_arithmetic(points.dtype()) && points.is_contiguous())
    return ETB_OK;
  return context.fail(ETB_INVALID_ARGUMENT, "zero points are %s %s", to_text(points.dtype()),
                      SizesText(points.sizes()).text);
}

// Columns of dequantized weights made at a time: as many as stay in the L2 cache.
int64_t block_columns(int64_t k, int64_t n) {
  constexpr int64_t kMostNbytes = 256 << 10;
  const int64_t fitting = kMostNbytes / (4 * (k > 0 ? k : 1));
  return std::min(n, std::max<int64_t>(fitting / 64 * 64, 64));
}

GemmTask make_task(const Tensor& input, int64_t m, int64_t k, const float* weights, Tensor& out, int64_t n,
                   int64_t begin, int64_t count) {
  GemmTask task = {};
  task.m = m;
  task.k = k;
  task.n = task.c_run = task.c_pitch = count;
  task.a = input.data();
  task.a_dtype = input.dtype();
  task.a_row_stride = k;
  task.a_column_stride = 1;
  task.b = weights;
  task.b_dtype = Dtype::FLOAT32;
  task.c = element_at(out, begin);
  task.c_dtype = out.dtype();
  task.c_row_stride = n;
  task.c_column_stride = 1;
  task.alpha = task.beta = 1.0;
  return task;
}

etb_status check_activations(KernelContext& context, const Tensor& input, const Tensor& out) {
  const bool is_typed =
      is_floating(input.dtype()) && input.dtype() != Dtype::FLOAT64 && is_floating(out.dtype());
  if (is_typed && input.is_contiguous() && out.is_contiguous()) return ETB_OK;
  return context.fail(ETB_INVALID_TYPE, "%s into %s, expected contiguous floats", to_text(input.dtype()),
                      to_text(out.dtype()));
}

// mixed_mm(input [m, k], weight [k, n], scales [k], zero_points [k], out)
etb_status mixed_mm_out(KernelContext& context,
                        ops::quantized_decomposed::mixed_mm_out<KernelArguments> args) {
  const Tensor &input = args.input(), &weight = args.weight(), &scales = args.weight_scales();
  const Tensor* zero_points = args.weight_zero_points();
  Tensor& out = args.out();
  ETB_CHECK(check_weights(context, weight, scales, zero_points));
  if (input.rank() != 2 || input.size(1) != weight.size(0) || scales.numel() != weight.size(0)) {
    return context.fail(ETB_INVALID_ARGUMENT, "%s times %s", SizesText(input.sizes()).text,
                        SizesText(weight.sizes()).text);
  }
  const int64_t m = input.size(0), k = input.size(1), n = weight.size(1), sizes[2] = {m, n};
  ETB_CHECK(resize_output(context, out, sizes));
  ETB_CHECK(check_activations(context, input, out));
  const ConvertLoops& loops = *vector_table(context).conversions;
  const int64_t columns = block_columns(k, n);
  float* block = context.allocate_array<float>(k * columns);
  if (block == nullptr) return context.fail_scratch(static_cast<uint64_t>(k * columns) * 4);
  for (int64_t begin = 0; begin < n; begin += columns) {
    const int64_t count = std::min(columns, n - begin);
    for (int64_t l = 0; l < k; ++l) {
      if (context.should_stop(count + 1)) return context.stopped();
      float* row = block + l * count;
      loops.load[static_cast<int>(weight.dtype())][static_cast<int>(Compute::kFloat)](
          row, element_at(weight, l * weight.stride(0) + begin * weight.stride(1)), weight.stride(1), count);
      const auto scale = load_element<float>(loops, scales, l);
      const float zero = zero_points == nullptr ? 0.0f : load_element<float>(loops, *zero_points, l);
      for (int64_t j = 0; j < count; ++j) row[j] = (row[j] - zero) * scale;
    }
    GemmTask task = make_task(input, m, k, block, out, n, begin, count);
    task.b_row_stride = count;
    task.b_column_stride = 1;
    KernelContext::Mark mark(context);
    ETB_CHECK(run_gemm(context, task, Compute::kFloat));
  }
  return ETB_OK;
}

// mixed_linear(input [.., k], weight [n, k], scales [n] or [n, groups], zero_points, dtype, out)
etb_status mixed_linear_out(KernelContext& context,
                            ops::quantized_decomposed::mixed_linear_out<KernelArguments> args) {
  const Tensor &input = args.input(), &weight = args.weight(), &scales = args.weight_scales();
  const Tensor* zero_points = args.weight_zero_points();
  Tensor& out = args.out();
  ETB_CHECK(check_weights(context, weight, scales, zero_points));
  const int rank = input.rank();
  const int64_t groups = scales.rank() == 2 ? scales.size(1) : 1;
  if (rank == 0 || input.size(rank - 1) != weight.size(1) || groups < 1 || weight.size(1) % groups != 0) {
    return context.fail(ETB_INVALID_ARGUMENT, "%s times the transpose of %s in %lld groups",
                        SizesText(input.sizes()).text, SizesText(weight.sizes()).text,
                        static_cast<long long>(groups));
  }
  const int64_t k = weight.size(1), n = weight.size(0),
                m = RowWalk(input, DimSet().set(static_cast<size_t>(rank - 1))).row_count();
  int64_t sizes[kMaxRank];
  std::copy(input.sizes().begin(), input.sizes().end(), sizes);
  sizes[rank - 1] = n;
  ETB_CHECK(resize_output(context, out, {sizes, static_cast<size_t>(rank)}));
  ETB_CHECK(check_activations(context, input, out));
  const ConvertLoops& loops = *vector_table(context).conversions;
  const int64_t columns = block_columns(k, n), group_size = k / groups;
  float* block = context.allocate_array<float>(k * columns);
  if (block == nullptr) return context.fail_scratch(static_cast<uint64_t>(k * columns) * 4);
  for (int64_t begin = 0; begin < n; begin += columns) {
    const int64_t count = std::min(columns, n - begin);
    for (int64_t j = 0; j < count; ++j) {
      if (context.should_stop(k + 1)) return context.stopped();
      float* row = block + j * k;
      loops.load[static_cast<int>(weight.dtype())][static_cast<int>(Compute::kFloat)](
          row, element_at(weight, (begin + j) * weight.stride(0)), weight.stride(1), k);
      for (int64_t group = 0; group < groups; ++group) {
        const int64_t index = (begin + j) * groups + group;
        const auto scale = load_element<float>(loops, scales, index);
        const float zero = zero_points == nullptr ? 0.0f : load_element<float>(loops, *zero_points, index);
        for (int64_t l = group * group_size; l < (group + 1) * group_size; ++l)
          row[l] = (row[l] - zero) * scale;
      }
    }
    GemmTask task = make_task(input, m, k, block, out, n, begin, count);
    task.b_row_stride = 1;
    task.b_column_stride = k;
    KernelContext::Mark mark(context);
    ETB_CHECK(run_gemm(context, task, Compute::kFloat));
  }
  return ETB_OK;
}

// Value `index` of a row of packed weights.
template <int bits>
int unpack(const Tensor& weight, int64_t row, int64_t index) {
  constexpr int kPerByte = 8 / bits;
  const int64_t offset = row * weight.stride(0) + index / kPerByte * weight.stride(1);
  const uint8_t byte = weight.data_as<uint8_t>()[offset];
  if constexpr (bits == 8) return weight.dtype() == Dtype::INT8 ? static_cast<int8_t>(byte) : byte;
  if constexpr (bits == 4)
    return (index % 2 == 0 ? byte >> 4 : byte & 15) - 8;  // the even one is in the high half
  return (byte >> (index % 4 * 2) & 3) - 2;
}

// Rounds to a dtype and back.
float rounded_to(const ConvertLoops& loops, Dtype dtype, float value) {
  alignas(8) char stored[8];
  loops.store[static_cast<int>(dtype)][static_cast<int>(Compute::kFloat)](stored, &value, 1, 1);
  loops.load[static_cast<int>(dtype)][static_cast<int>(Compute::kFloat)](&value, stored, 1, 1);
  return value;
}

// Scales are [n] or [n, groups].
template <int bits>
etb_status embed(KernelContext& context, const Tensor& weight, const Tensor& scales,
                 const Tensor* zero_points, const Tensor& indices, Tensor& out) {
  ETB_CHECK(check_weights(context, weight, scales, zero_points));
  ETB_CHECK(expect_index(context, indices));
  if (!is_floating(out.dtype()))
    return context.fail(ETB_INVALID_TYPE, "the output is %s, expected a float", to_text(out.dtype()));
  const int64_t width = weight.size(1) * (8 / bits), groups = scales.rank() == 2 ? scales.size(1) : 1;
  if (groups < 1 || width % groups != 0 || indices.rank() == kMaxRank) {
    return context.fail(ETB_INVALID_ARGUMENT, "%lld values a row in %lld groups",
                        static_cast<long long>(width), static_cast<long long>(groups));
  }
  int64_t sizes[kMaxRank];
  std::copy(indices.sizes().begin(), indices.sizes().end(), sizes);
  sizes[indices.rank()] = width;
  ETB_CHECK(resize_output(context, out, {sizes, static_cast<size_t>(indices.rank()) + 1}));
  if (out.numel() == 0) return ETB_OK;
  const ConvertLoops& loops = *vector_table(context).conversions;
  RowWalk to(out, DimSet().set(static_cast<size_t>(out.rank() - 1)));
  const int64_t group_size = width / groups;
  return for_each_element(context, indices, [&](int64_t, int64_t offset) {
    const int64_t row = index_at(indices, offset);
    if (row < 0 || row >= weight.size(0)) return fail_index(context, row, weight.size(0));
    for (int64_t group = 0; group < groups; ++group) {
      const auto scale = load_element<float>(loops, scales, row * groups + group);
      const float zero =
          zero_points == nullptr ? 0.0f : load_element<float>(loops, *zero_points, row * groups + group);
      for (int64_t i = group * group_size; i < (group + 1) * group_size; ++i) {
        // PyTorch's steps are in the dtype of the scales.
        const float centered =
            rounded_to(loops, scales.dtype(), static_cast<float>(unpack<bits>(weight, row, i)) - zero);
        if (context.should_stop(1)) return context.stopped();
        const float value = rounded_to(loops, scales.dtype(), centered * scale);
        to.store(loops, Compute::kFloat, &value, i, 1);
      }
    }
    to.advance();
    return static_cast<etb_status>(ETB_OK);
  });
}

template <int bits, class Arguments>
etb_status embedding_out(KernelContext& context, Arguments args) {
  return embed<bits>(context, args.weight(), args.weight_scales(), args.weight_zero_points(), args.indices(),
                     args.out());
}
using Embedding = ops::quantized_decomposed::embedding_byte_out<KernelArguments>;
using EmbeddingAs = ops::quantized_decomposed::embedding_byte_dtype_out<KernelArguments>;

constexpr Kernel kRows[] = {
    kernel_row<ops::quantized_decomposed::mixed_mm_out, mixed_mm_out>(),
    kernel_row<ops::quantized_decomposed::mixed_linear_out, mixed_linear_out>(),
    kernel_row<ops::quantized_decomposed::embedding_byte_out, embedding_out<8, Embedding>>(),
    kernel_row<ops::quantized_decomposed::embedding_byte_dtype_out, embedding_out<8, EmbeddingAs>>(),
    kernel_row<ops::quantized_decomposed::embedding_4bit_out, embedding_out<4, Embedding>>(),
    kernel_row<ops::quantized_decomposed::embedding_4bit_dtype_out, embedding_out<4, EmbeddingAs>>(),
    kernel_row<ops::quantized_decomposed::embedding_2bit_out, embedding_out<2, Embedding>>(),
    kernel_row<ops::quantized_decomposed::embedding_2bit_dtype_out, embedding_out<2, EmbeddingAs>>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(quantized_matrix, kRows);

}  // namespace etb::host
