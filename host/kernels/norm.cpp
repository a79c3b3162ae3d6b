// SPDX-License-Identifier: Apache-2.0
// aten::native_layer_norm, native_group_norm and the batch norms.
//
// Statistics are taken in float blocks added in double (float64: all in double), the result is rounded once. 16-bit floats are
// computed in float32; weights, biases and statistics may be of another float dtype than the input.
#include <cmath>

#include "host/kernels/kernel.hpp"
#include "host/kernels/moments.hpp"
#include "host/kernels/rows.hpp"
#include "ops/_native_batch_norm_legit.hpp"
#include "ops/_native_batch_norm_legit_no_training.hpp"
#include "ops/native_group_norm.hpp"
#include "ops/native_layer_norm.hpp"

namespace etb::host {
namespace {

// A vector of one value a channel (weight, bias, mean, variance) read as T; null tensors give null.
template <class T>
class Channels {
 public:
  // False when scratch is used up.
  bool read(KernelContext& context, const Tensor* tensor, int64_t count) {
    if (tensor == nullptr) return true;
    if (tensor->dtype() == kDtypeOf<T> && tensor->is_contiguous()) {
      values_ = tensor->data_as<T>();
      return true;
    }
    T* buffer = context.allocate_array<T>(count);
    if (buffer == nullptr) return false;
    RowWalk(*tensor, DimSet().set())
        .load(context, *vector_table(context).conversions, kComputeOf<T>, buffer, count);
    values_ = buffer;
    return true;
  }
  const T* values() const { return values_; }
  T value(int64_t index, T absent) const { return values_ != nullptr ? values_[index] : absent; }

 private:
  const T* values_ = nullptr;
};

etb_status expect_floating(KernelContext& context, const char* what, const Tensor* tensor) {
  if (tensor == nullptr || is_floating(tensor->dtype())) return ETB_OK;
  return context.fail(ETB_INVALID_TYPE, "%s is %s, expected a float", what, to_text(tensor->dtype()));
}

etb_status expect_channels(KernelContext& context, const char* what, const Tensor* tensor, int64_t count) {
  ETB_CHECK(expect_floating(context, what, tensor));
  if (tensor == nullptr || tensor->numel() == count) return ETB_OK;
  return context.fail(ETB_INVALID_ARGUMENT, "%s has sizes %s, expected %lld elements", what,
                      SizesText(tensor->sizes()).text, static_cast<long long>(count));
}

void store_value(const VectorTable& table, const Tensor& out, int64_t index, double value) {
  if (out.numel() <= index) return;
  const int64_t offset = row_major_offset(out, index) * static_cast<int64_t>(element_nbytes(out.dtype()));
  table.conversions->store[static_cast<int>(out.dtype())][static_cast<int>(Compute::kDouble)](
      out.data_as<char>() + offset, &value, 1, 1);
}

// --- layer norm -------------------------------------------------------------------------------------------------------------

template <class T>
etb_status layer_norm_rows(KernelContext& context, const Tensor& input, const DimSet& dims,
                           const Tensor* weight, const Tensor* bias, double eps, Tensor& out,
                           Tensor& mean_out, Tensor& rstd_out) {
  const VectorTable& table = vector_table(context);
  RowWalk from(input, dims), to(out, dims);
  const int64_t count = from.row_numel();
  Channels<T> weights, biases;
  T* buffer = context.allocate_array<T>(count);
  if (buffer == nullptr || !weights.read(context, weight, count) || !biases.read(context, bias, count)) {
    return context.fail_scratch(static_cast<uint64_t>(count) * 3 * sizeof(T));
  }
  for (int64_t row = 0; row < from.row_count(); ++row, from.advance(), to.advance()) {
    if (context.should_stop(1 + std::min(count, kSumPiece))) return context.stopped();
    const T* x = from.dense<T>(kDtypeOf<T>);
    if (x == nullptr) from.load(context, *table.conversions, kComputeOf<T>, buffer, count);
    const Moments stats = moments(context, table, x != nullptr ? x : buffer, count);
    const double rstd = 1.0 / std::sqrt(stats.variance + eps);
    T* y = to.dense<T>(kDtypeOf<T>);
    const T *read = x != nullptr ? x : buffer, *scale = weights.values(), *shift = biases.values();
    T* written = y != nullptr ? y : buffer;
    const auto mean = static_cast<T>(stats.mean), factor = static_cast<T>(rstd);
    const int64_t first = context.piece_of(count);
    table.rows<T>().normalize(written, read, first, mean, factor, scale, shift);
    for (int64_t begin = first; begin < count; begin += first) {
      if (context.should_stop(first)) return context.stopped();
      table.rows<T>().normalize(written + begin, read + begin, std::min(first, count - begin), mean, factor,
                                scale == nullptr ? nullptr : scale + begin,
                                shift == nullptr ? nullptr : shift + begin);
    }
    if (y == nullptr) to.store(context, *table.conversions, kComputeOf<T>, buffer, count);
    store_value(table, mean_out, row, stats.mean);
    store_value(table, rstd_out, row, rstd);
  }
  return ETB_OK;
}

etb_status layer_norm_out(KernelContext& context, ops::native_layer_norm_out<KernelArguments> args) {
  const Tensor& input = args.input();
  const IntList shape = args.normalized_shape();
  const Tensor *weight = args.weight(), *bias = args.bias();
  Tensor& out = args.out0();
  const int rank = input.rank(), first = rank - static_cast<int>(shape.size());
  if (shape.empty() || first < 0)
    return context.fail(ETB_INVALID_ARGUMENT, "%zu normalized dims of rank %d", shape.size(), rank);
  DimSet dims;
  int64_t count = 1, stat_sizes[kMaxRank];
  for (int dim = 0; dim < rank; ++dim) {
    stat_sizes[dim] = dim < first ? input.size(dim) : 1;
    if (dim < first) continue;
    if (shape[static_cast<size_t>(dim - first)] != input.size(dim)) {
      return context.fail(ETB_INVALID_ARGUMENT, "dim %d of %s is normalized as %lld", dim,
                          SizesText(input.sizes()).text,
                          static_cast<long long>(shape[static_cast<size_t>(dim - first)]));
    }
    dims.set(static_cast<size_t>(dim));
    count *= input.size(dim);
  }
  ETB_CHECK(expect_floating(context, "input", &input));
  ETB_CHECK(expect_floating(context, "output", &out));
  ETB_CHECK(expect_channels(context, "weight", weight, count));
  ETB_CHECK(expect_channels(context, "bias", bias, count));
  ETB_CHECK(resize_output(context, out, input.sizes()));
  for (Tensor* statistics : {&args.out1(), &args.out2()}) {
    const std::span<const int64_t> sizes(stat_sizes, static_cast<size_t>(rank));
    ETB_CHECK(expect_floating(context, "statistics", statistics));
    ETB_CHECK(resize_output(context, *statistics, sizes));
  }
  if (input.numel() == 0 && count == 0) return ETB_OK;
  const double eps = args.eps();
  if (is_float64(input.dtype())) {
    return layer_norm_rows<double>(context, input, dims, weight, bias, eps, out, args.out1(), args.out2());
  }
  return layer_norm_rows<float>(context, input, dims, weight, bias, eps, out, args.out1(), args.out2());
}

// --- one scale and shift a channel --------------------------------------------------------------------------------------------

// out[n, c, ...] = input[n, c, ...] * scale(n, c) + shift(n, c)
template <class T, class ScaleShift>
etb_status apply_affine(KernelContext& context, const Tensor& input, Tensor& out, ScaleShift scale_shift) {
  const VectorTable& table = vector_table(context);
  DimSet dims;
  for (int dim = 2; dim < input.rank(); ++dim) dims.set(static_cast<size_t>(dim));
  RowWalk from(input, dims), to(out, dims);
  constexpr int64_t kChunk = 1024;
  alignas(64) T buffer[kChunk];
  const int64_t channels = input.size(1);
  for (int64_t row = 0; row < from.row_count(); ++row, from.advance(), to.advance()) {
    const auto [scale, shift] = scale_shift(row / channels, row % channels);
    const T* x = from.dense<T>(kDtypeOf<T>);
    T* y = to.dense<T>(kDtypeOf<T>);
    if (context.should_stop(1)) return context.stopped();
    if (x != nullptr && y != nullptr) {
      const etb_status status = for_each_piece(
          context, from.row_numel(), [&, scale = scale, shift = shift](int64_t begin, int64_t length) {
            table.rows<T>().affine(y + begin, x + begin, length, scale, shift);
          });
      if (status != ETB_OK) return status;
      continue;
    }
    for (int64_t begin = 0; begin < from.row_numel(); begin += kChunk) {
      if (context.should_stop(kChunk)) return context.stopped();
      const int64_t count = std::min(kChunk, from.row_numel() - begin);
      from.load(*table.conversions, kComputeOf<T>, buffer, begin, count);
      table.rows<T>().affine(buffer, buffer, count, scale, shift);
      to.store(*table.conversions, kComputeOf<T>, buffer, begin, count);
    }
  }
  return ETB_OK;
}

// The same for channels that are innermost (channels_last): whole rows of channels at once.
template <class T>
etb_status apply_affine_channels_last(KernelContext& context, const Tensor& input, Tensor& out,
                                      const T* scales, const T* shifts) {
  const VectorTable& table = vector_table(context);
  const int64_t channels = input.size(1);
  const T* x = input.data_as<T>();
  T* y = out.data_as<T>();
  for (int64_t i = 0; i < input.numel(); i += channels) {
    const etb_status status = for_each_piece(context, channels, [&](int64_t begin, int64_t length) {
      table.rows<T>().normalize(y + i + begin, x + i + begin, length, T(0), T(1), scales + begin,
                                shifts + begin);
    });
    if (status != ETB_OK) return status;
  }
  return ETB_OK;
}

template <class T>
etb_status normalize_channels(KernelContext& context, const Tensor& input, Tensor& out,
                              const Channels<T>& weight, const Channels<T>& bias, const double* means,
                              const double* rstds) {
  const int64_t channels = input.size(1);
  T* scales = context.allocate_array<T>(channels);
  T* shifts = context.allocate_array<T>(channels);
  if (scales == nullptr || shifts == nullptr)
    return context.fail_scratch(static_cast<uint64_t>(channels) * 2 * sizeof(T));
  for (int64_t c = 0; c < channels; ++c) {
    if (context.should_stop(1)) return context.stopped();
    const double scale = rstds[c] * static_cast<double>(weight.value(c, T(1)));
    scales[c] = static_cast<T>(scale);
    shifts[c] = static_cast<T>(static_cast<double>(bias.value(c, T(0))) - means[c] * scale);
  }
  if (input.dtype() == kDtypeOf<T> && out.dtype() == kDtypeOf<T> && input.has_layout_of(out) &&
      channels > 1 && input.stride(1) == 1) {
    return apply_affine_channels_last<T>(context, input, out, scales, shifts);
  }
  struct Pair {
    T scale, shift;
  };
  return apply_affine<T>(context, input, out, [&](int64_t, int64_t c) { return Pair{scales[c], shifts[c]}; });
}

etb_status check_batch_norm(KernelContext& context, const Tensor& input, const Tensor* weight,
                            const Tensor* bias, Tensor& out) {
  if (input.rank() < 2)
    return context.fail(ETB_INVALID_ARGUMENT, "the input has rank %d, expected at least 2", input.rank());
  ETB_CHECK(expect_floating(context, "input", &input));
  ETB_CHECK(expect_floating(context, "output", &out));
  ETB_CHECK(expect_channels(context, "weight", weight, input.size(1)));
  ETB_CHECK(expect_channels(context, "bias", bias, input.size(1)));
  return resize_output(context, out, input.sizes());
}

template <class T>
etb_status batch_norm_eval(KernelContext& context, const Tensor& input, const Tensor* weight,
                           const Tensor* bias, const Tensor& mean, const Tensor& var, double eps,
                           Tensor& out) {
  const int64_t channels = input.size(1);
  Channels<T> weights, biases;
  Channels<double> mean_values, var_values;
  double* rstds = context.allocate_array<double>(channels);
  const bool has_room = rstds != nullptr && weights.read(context, weight, channels) &&
                        biases.read(context, bias, channels) && mean_values.read(context, &mean, channels) &&
                        var_values.read(context, &var, channels);
  if (!has_room) return context.fail_scratch(static_cast<uint64_t>(channels) * 5 * sizeof(double));
  const etb_status inverted = for_each_piece(context, channels, [&](int64_t begin, int64_t length) {
    for (int64_t c = begin; c < begin + length; ++c) rstds[c] = 1.0 / std::sqrt(var_values.values()[c] + eps);
  });
  if (inverted != ETB_OK) return inverted;
  return normalize_channels<T>(context, input, out, weights, biases, mean_values.values(), rstds);
}

// Takes mean and variance of every channel over batch and positions; scratch arrays of `channels` doubles.
template <class T>
void channel_moments(KernelContext& context, const VectorTable& table, const Tensor& input, double* means,
                     double* variances) {
  DimSet dims;
  for (int dim = 0; dim < input.rank(); ++dim) dims.set(static_cast<size_t>(dim), dim != 1);
  RowWalk walk(input, dims);
  constexpr int64_t kChunk = 1024;
  alignas(64) T buffer[kChunk];
  const auto for_each_chunk = [&](auto visit) {
    double total = 0.0;
    for (int64_t begin = 0; begin < walk.row_numel() && !context.should_stop(kChunk); begin += kChunk) {
      const int64_t count = std::min(kChunk, walk.row_numel() - begin);
      walk.load(*table.conversions, kComputeOf<T>, buffer, begin, count);
      total += visit(count);
    }
    return total / static_cast<double>(walk.row_numel());
  };
  for (int64_t c = 0; c < walk.row_count() && !context.should_stop(1); ++c, walk.advance()) {
    means[c] = for_each_chunk([&](int64_t count) { return table.rows<T>().sum(buffer, count); });
    variances[c] = for_each_chunk(
        [&](int64_t count) { return table.rows<T>().squared_deviations(buffer, count, means[c]); });
  }
}

template <class T>
etb_status batch_norm_train(KernelContext& context, const Tensor& input, const Tensor* weight,
                            const Tensor* bias, Tensor* running_mean, Tensor* running_var, double momentum,
                            double eps, Tensor& out, Tensor& save_mean, Tensor& save_invstd) {
  const VectorTable& table = vector_table(context);
  const int64_t channels = input.size(1);
  Channels<T> weights, biases;
  double* means = context.allocate_array<double>(channels);
  double* rstds = context.allocate_array<double>(channels);
  if (means == nullptr || rstds == nullptr || !weights.read(context, weight, channels) ||
      !biases.read(context, bias, channels)) {
    return context.fail_scratch(static_cast<uint64_t>(channels) * 4 * sizeof(double));
  }
  channel_moments<T>(context, table, input, means, rstds);
  // Means that were never computed must not become running statistics.
  if (context.should_stop(1)) return context.stopped();
  const double count =
      channels == 0 ? 0.0 : static_cast<double>(input.numel()) / static_cast<double>(channels);
  Channels<double> old_mean, old_var;
  if (running_mean != nullptr &&
      (!old_mean.read(context, running_mean, channels) || !old_var.read(context, running_var, channels))) {
    return context.fail_scratch(static_cast<uint64_t>(channels) * 2 * sizeof(double));
  }
  for (int64_t c = 0; c < channels; ++c) {
    if (context.should_stop(1)) return context.stopped();
    const double variance = rstds[c];
    rstds[c] = 1.0 / std::sqrt(variance + eps);
    store_value(table, save_mean, c, means[c]);
    store_value(table, save_invstd, c, rstds[c]);
    if (running_mean == nullptr) continue;
    store_value(table, *running_mean, c, momentum * means[c] + (1.0 - momentum) * old_mean.values()[c]);
    store_value(table, *running_var, c,
                momentum * variance * count / (count - 1.0) + (1.0 - momentum) * old_var.values()[c]);
  }
  return normalize_channels<T>(context, input, out, weights, biases, means, rstds);
}

// The statistics outputs are empty.
etb_status batch_norm_no_training_out(KernelContext& context,
                                      ops::_native_batch_norm_legit_no_training_out<KernelArguments> args) {
  const Tensor& input = args.input();
  const Tensor *weight = args.weight(), *bias = args.bias();
  Tensor& out = args.out0();
  ETB_CHECK(check_batch_norm(context, input, weight, bias, out));
  const Tensor &mean = args.running_mean(), &var = args.running_var();
  ETB_CHECK(expect_channels(context, "running_mean", &mean, input.size(1)));
  ETB_CHECK(expect_channels(context, "running_var", &var, input.size(1)));
  const int64_t none = 0;
  for (Tensor* statistics : {&args.out1(), &args.out2()}) {
    ETB_CHECK(resize_output(context, *statistics, {&none, 1}));
  }
  if (input.numel() == 0) return ETB_OK;
  const double eps = args.eps();
  if (is_float64(input.dtype()))
    return batch_norm_eval<double>(context, input, weight, bias, mean, var, eps, out);
  return batch_norm_eval<float>(context, input, weight, bias, mean, var, eps, out);
}

// The arguments of both overloads. Running statistics are null for no_stats_out.
struct BatchNorm {
  const Tensor &input, *weight, *bias;
  Tensor *running_mean, *running_var;
  bool is_training;
  double momentum, eps;
  Tensor &out, &save_mean, &save_invstd;
};

etb_status batch_norm_legit(KernelContext& context, const BatchNorm& norm) {
  const auto& [input, weight, bias, running_mean, running_var, is_training, momentum, eps, out, save_mean,
               save_invstd] = norm;
  ETB_CHECK(check_batch_norm(context, input, weight, bias, out));
  const int64_t channels = input.size(1);
  ETB_CHECK(expect_channels(context, "running_mean", running_mean, channels));
  ETB_CHECK(expect_channels(context, "running_var", running_var, channels));
  const int64_t stat_size = is_training ? channels : 0;
  for (Tensor* stat : {&save_mean, &save_invstd}) {
    ETB_CHECK(expect_floating(context, "statistics", stat));
    ETB_CHECK(resize_output(context, *stat, {&stat_size, 1}));
  }
  if (input.numel() == 0 && stat_size != 0)
    return context.fail(ETB_INVALID_ARGUMENT, "an input without elements has no mean");
  if (input.numel() == 0) return ETB_OK;
  const bool is_double = is_float64(input.dtype());
  if (!is_training) {
    return is_double
               ? batch_norm_eval<double>(context, input, weight, bias, *running_mean, *running_var, eps, out)
               : batch_norm_eval<float>(context, input, weight, bias, *running_mean, *running_var, eps, out);
  }
  return is_double ? batch_norm_train<double>(context, input, weight, bias, running_mean, running_var,
                                              momentum, eps, out, save_mean, save_invstd)
                   : batch_norm_train<float>(context, input, weight, bias, running_mean, running_var,
                                             momentum, eps, out, save_mean, save_invstd);
}

etb_status batch_norm_legit_out(KernelContext& context,
                                ops::_native_batch_norm_legit_out<KernelArguments> args) {
  return batch_norm_legit(context, {.input = args.input(),
                                    .weight = args.weight(),
                                    .bias = args.bias(),
                                    .running_mean = &args.running_mean(),
                                    .running_var = &args.running_var(),
                                    .is_training = args.training(),
                                    .momentum = args.momentum(),
                                    .eps = args.eps(),
                                    .out = args.out(),
                                    .save_mean = args.save_mean(),
                                    .save_invstd = args.save_invstd()});
}

etb_status batch_norm_no_stats_out(KernelContext& context,
                                   ops::_native_batch_norm_legit_no_stats_out<KernelArguments> args) {
  return batch_norm_legit(context, {.input = args.input(),
                                    .weight = args.weight(),
                                    .bias = args.bias(),
                                    .running_mean = nullptr,
                                    .running_var = nullptr,
                                    .is_training = true,
                                    .momentum = args.momentum(),
                                    .eps = args.eps(),
                                    .out = args.out(),
                                    .save_mean = args.save_mean(),
                                    .save_invstd = args.save_invstd()});
}

// --- group norm ---------------------------------------------------------------------------------------------------------------

template <class T>
etb_status group_norm(KernelContext& context, const Tensor& input, const Tensor* weight, const Tensor* bias,
                      int64_t groups, double eps, Tensor& out, Tensor& mean_out, Tensor& rstd_out) {
  const VectorTable& table = vector_table(context);
  const int64_t channels = input.size(1), batch = input.size(0), per_group = channels / groups;
  Channels<T> weights, biases;
  double* means = context.allocate_array<double>(batch * groups);
  double* rstds = context.allocate_array<double>(batch * groups);
  if (means == nullptr || rstds == nullptr || !weights.read(context, weight, channels) ||
      !biases.read(context, bias, channels)) {
    return context.fail_scratch(static_cast<uint64_t>(batch * groups) * 2 * sizeof(double) +
                                static_cast<uint64_t>(channels) * 2 * sizeof(T));
  }
  DimSet dims;
  for (int dim = 2; dim < input.rank(); ++dim) dims.set(static_cast<size_t>(dim));
  constexpr int64_t kChunk = 1024;
  alignas(64) T buffer[kChunk];
  // Two passes over the channels of each group: sums first, deviations from the mean then.
  for (int pass = 0; pass < 2; ++pass) {
    RowWalk walk(input, dims);
    const double count = static_cast<double>(per_group * walk.row_numel());
    for (int64_t row = 0; row < walk.row_count(); ++row, walk.advance()) {
      const int64_t group = row / per_group;
      double& total = pass == 0 ? means[group] : rstds[group];
      if (row % per_group == 0) total = 0.0;
      if (context.should_stop(1)) return context.stopped();
      for (int64_t begin = 0; begin < walk.row_numel(); begin += kChunk) {
        if (context.should_stop(kChunk)) return context.stopped();
        const int64_t length = std::min(kChunk, walk.row_numel() - begin);
        walk.load(*table.conversions, kComputeOf<T>, buffer, begin, length);
        total += pass == 0 ? table.rows<T>().sum(buffer, length)
                           : table.rows<T>().squared_deviations(buffer, length, means[group]);
      }
      if (row % per_group == per_group - 1)
        total = pass == 0 ? total / count : 1.0 / std::sqrt(total / count + eps);
    }
  }
  for (int64_t i = 0; i < batch * groups; ++i) {
    if (context.should_stop(1)) return context.stopped();
    store_value(table, mean_out, i, means[i]);
    store_value(table, rstd_out, i, rstds[i]);
  }
  struct Pair {
    T scale, shift;
  };
  return apply_affine<T>(context, input, out, [&](int64_t n, int64_t c) {
    const int64_t group = n * groups + c / per_group;
    const double scale = rstds[group] * static_cast<double>(weights.value(c, T(1)));
    return Pair{static_cast<T>(scale),
                static_cast<T>(static_cast<double>(biases.value(c, T(0))) - means[group] * scale)};
  });
}

etb_status group_norm_out(KernelContext& context, ops::native_group_norm_out<KernelArguments> args) {
  const Tensor& input = args.input();
  const Tensor *weight = args.weight(), *bias = args.bias();
  Tensor& out = args.out0();
  ETB_CHECK(check_batch_norm(context, input, weight, bias, out));
  const int64_t groups = args.group(), batch = args.N(), channels = args.C();
  if (batch != input.size(0) || channels != input.size(1) || groups < 1 || channels % groups != 0) {
    return context.fail(ETB_INVALID_ARGUMENT, "input %s as N %lld, C %lld in %lld groups",
                        SizesText(input.sizes()).text, static_cast<long long>(batch),
                        static_cast<long long>(channels), static_cast<long long>(groups));
  }
  const int64_t sizes[2] = {batch, groups};
  for (Tensor* statistics : {&args.out1(), &args.out2()}) {
    ETB_CHECK(expect_floating(context, "statistics", statistics));
    ETB_CHECK(resize_output(context, *statistics, sizes));
  }
  if (input.numel() == 0) return ETB_OK;
  const double eps = args.eps();
  if (is_float64(input.dtype())) {
    return group_norm<double>(context, input, weight, bias, groups, eps, out, args.out1(), args.out2());
  }
  return group_norm<float>(context, input, weight, bias, groups, eps, out, args.out1(), args.out2());
}

constexpr Kernel kRows[] = {
    kernel_row<ops::native_layer_norm_out, layer_norm_out>(),
    kernel_row<ops::native_group_norm_out, group_norm_out>(),
    kernel_row<ops::_native_batch_norm_legit_no_training_out, batch_norm_no_training_out>(),
    kernel_row<ops::_native_batch_norm_legit_out, batch_norm_legit_out>(),
    kernel_row<ops::_native_batch_norm_legit_no_stats_out, batch_norm_no_stats_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(norm, kRows);

}  // namespace etb::host
