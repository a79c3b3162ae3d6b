// SPDX-License-Identifier: Apache-2.0
// aten::convolution in one to three dims, grouped, dilated, for every arithmetic dtype and layout; convolution_transposed.cpp turns
// transposed ones into such.
//
// A band of output rows is computed at a time. The input rows it needs are copied into scratch: converted to the computing type, with
// padding around them, and split by stride phase, so that for every kernel position the values under consecutive outputs are dense.
// Then a convolution is a matrix product whose B has rows at known offsets of that copy (GemmTask::b_offsets), without a single bounds
// check inside, and a convolution with one input channel a group is a filter over one plane. Outputs come with a few columns
// too many a row (GemmTask::c_pitch), which are not stored. A 1x1 convolution needs no copy at all.
#include "host/kernels/convolution.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "etb/cpp/fail.hpp"
#include "host/kernels/kernel.hpp"
#include "host/kernels/matrix.hpp"
#include "ops/convolution.hpp"

namespace etb::host {
namespace {

class Forward {
 public:
  Forward(KernelContext& context, const Convolution& shape, const ConvolutionOperand& input,
          const ConvolutionOperand& weight, const Tensor* bias, const ConvolutionOperand& out)
      : context_(context),
        shape_(shape),
        input_(input),
        weight_(weight),
        bias_(bias),
        out_(out),
        compute_(compute_of(input.dtype)),
        table_(vector_table(context)),
        load_(table_.conversions->load[static_cast<int>(input.dtype)][static_cast<int>(compute_)]),
        value_nbytes_(compute_ == Compute::kFloat ? 4 : 8),
        group_in_(shape.in_channels / shape.groups),
        group_out_(shape.out_channels / shape.groups),
        kernel_numel_(shape.kernel[0] * shape.kernel[1] * shape.kernel[2]) {}

  etb_status run() {
    if (is_plain_product()) return run_plain();
    set_phases();
    is_filter_ = group_in_ == 1;
    ETB_CHECK(allocate());
    for (int64_t image = 0; image < shape_.batch; ++image) {
      for (int64_t group = 0; group < shape_.groups; ++group) {
        for (int64_t depth = 0; depth < shape_.out[0]; ++depth) {
          for (int64_t row = 0; row < shape_.out[1]; row += band_rows_) {
            const int64_t rows = std::min(band_rows_, shape_.out[1] - row);
            fill_band(image, group, depth, row, rows);
            if (context_.should_stop(1)) return context_.stopped();
            const etb_status status = is_filter_ ? filter_band(image, group, depth, row, rows)
                                                 : multiply_band(image, group, depth, row, rows);
            if (status != ETB_OK) return status;
          }
        }
      }
    }
    return ETB_OK;
  }

 private:
  static bool is_natural(Dtype dtype) {
    return dtype == Dtype::FLOAT32 || dtype == Dtype::FLOAT64 || dtype == Dtype::INT64;
  }

  // True if the input itself is matrix B: kernel 1, stride 1, no padding, positions dense.
  bool is_plain_product() const {
    int64_t dense = 1;
    for (int dim = 2; dim >= 0; --dim) {
      if (shape_.kernel[dim] != 1 || shape_.stride[dim] != 1 || shape_.padding[dim] != 0 ||
          shape_.in[dim] != shape_.out[dim])
        return false;
      if (shape_.in[dim] > 1 && (input_.inner[dim] != dense || out_.inner[dim] != dense)) return false;
      dense *= shape_.in[dim];
    }
    return is_natural(input_.dtype);
  }

  etb_status run_plain() {
    GemmTask task = {};
    set_weights(task);
    task.n = task.c_run = task.c_pitch = shape_.out[0] * shape_.out[1] * shape_.out[2];
    task.b_dtype = input_.dtype;
    task.b_row_stride = input_.outer[1];
    task.b_column_stride = 1;
    task.c_column_stride = 1;
    for (int64_t image = 0; image < shape_.batch; ++image) {
      for (int64_t group = 0; group < shape_.groups; ++group) {
        set_group(task, group);
        task.b = input_.at(image * input_.outer[0] + group * input_.group);
        task.c = out_.at(image * out_.outer[0] + group * out_.group);
        ETB_CHECK(run_product(task));
      }
    }
    return ETB_OK;
  }

  // Sets A, C's rows and the bias, which every product shares.
  void set_weights(GemmTask& task) const {
    task.m = group_out_;
    task.k = group_in_ * kernel_numel_;
    task.a_dtype = weight_.dtype;
    task.a_row_stride = weight_.outer[0];
    task.a_column_stride = kernel_numel_ == 1 ? weight_.outer[1] : 1;
    task.a_offsets = kernel_numel_ == 1 || has_dense_weights() ? nullptr : weight_offsets_;
    task.c_dtype = out_.dtype;
    task.c_row_stride = out_.outer[1];
    task.alpha = task.beta = 1.0;
  }

  // True if the weights of an output channel are in memory as they are counted.
  bool has_dense_weights() const {
    int64_t dense = 1;
    for (int dim = 2; dim >= 0; --dim) {
      if (shape_.kernel[dim] > 1 && weight_.inner[dim] != dense) return false;
      dense *= shape_.kernel[dim];
    }
    return group_in_ == 1 || weight_.outer[1] == dense;
  }

  void set_group(GemmTask& task, int64_t group) const {
    task.a = weight_.at(group * weight_.group);
    if (bias_ == nullptr) return;
    task.init = bias_at(group * group_out_);
    task.init_dtype = bias_->dtype();
    task.init_row_stride = 1;
  }

  const void* bias_at(int64_t channel) const {
    return bias_->data_as<char>() + channel * static_cast<int64_t>(element_nbytes(bias_->dtype()));
  }

  // Which (row phase, column phase) pairs of the strides the kernel touches: positions k * dilation % step repeat after step / gcd, and
  // differ before.
  void set_phases() {
    for (int axis = 0; axis < 2; ++axis) {
      const int dim = axis + 1;
      phase_count_[axis] = std::min(shape_.kernel[dim],
                                    shape_.stride[dim] / std::gcd(shape_.dilation[dim], shape_.stride[dim]));
      reach_[axis] = (shape_.kernel[dim] - 1) * shape_.dilation[dim] / shape_.stride[dim];
    }
    pitch_ = shape_.out[2] + reach_[1];
  }

  int64_t phase_of(int axis, int64_t position) const {
    return position * shape_.dilation[axis + 1] % shape_.stride[axis + 1];
  }

  // The index of a phase among the used ones along an axis.
  int64_t phase_index(int axis, int64_t phase) const {
    int64_t index = 0;
    for (int64_t k = 0; k < phase_count_[axis]; ++k) index += phase_of(axis, k) < phase ? 1 : 0;
    return index;
  }

  // The inverse: the phase with an index.
  int64_t phase_at(int axis, int64_t index) const {
    int64_t k = 0;
    while (phase_index(axis, phase_of(axis, k)) != index) ++k;
    return phase_of(axis, k);
  }

  // A file chooses the factors: what no memory holds stays what no memory holds instead of wrapping around.
  static int64_t bounded_product(int64_t a, int64_t b) {
    constexpr int64_t kMost = int64_t{1} << 56;
    int64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? kMost : std::min(product, kMost);
  }

  // Elements of the copy of one plane (channel and kernel depth) for a band of `rows` output rows.
  int64_t plane_numel(int64_t rows) const {
    return bounded_product(phase_count_[0] * phase_count_[1], bounded_product(rows + reach_[0], pitch_));
  }

  int64_t band_numel_of(int64_t rows) const {
    return bounded_product(group_in_ * shape_.kernel[0], plane_numel(rows));
  }

  etb_status allocate() {
    const int64_t k = group_in_ * kernel_numel_;
    offsets_ = context_.allocate_array<int64_t>(k);
    weight_offsets_ = context_.allocate_array<int64_t>(k);
    weights_ = context_.allocate(static_cast<uint64_t>(kernel_numel_) * 8);
    // One convolution's matrix product wants panels of B beside the band; a filter wants a row of outputs.
    const uint64_t left = context_.scratch_left_bytes();
    constexpr uint64_t kMostBand = 512 << 10;  // as for the panels of a product: more leaves the L2 cache
    const uint64_t budget = std::min<uint64_t>(left / 2, kMostBand);
    band_rows_ = shape_.out[1];
    context_.wish_for(
        2 * std::min<uint64_t>(static_cast<uint64_t>(band_numel_of(band_rows_)) * value_nbytes_, kMostBand) +
        4096);
    while (band_rows_ > 1 && static_cast<uint64_t>(band_numel_of(band_rows_)) * value_nbytes_ > budget) {
      band_rows_ = (band_rows_ + 1) / 2;
    }
    const int64_t band_numel = band_numel_of(band_rows_);
    band_ = static_cast<char*>(context_.allocate(static_cast<uint64_t>(band_numel) * value_nbytes_));
    if (is_filter_)
      row_ =
          static_cast<char*>(context_.allocate(static_cast<uint64_t>(band_rows_ * pitch_) * value_nbytes_));
    if (offsets_ == nullptr || weight_offsets_ == nullptr || weights_ == nullptr || band_ == nullptr ||
        (is_filter_ && row_ == nullptr)) {
      return context_.fail_scratch(static_cast<uint64_t>(2 * k + band_numel + band_rows_ * pitch_) * 8 + 512);
    }
    fill_offsets();
    return context_.stopped();
  }

  // Offsets of the first output's input values in the band, and of the weights, in the order channel, depth, row, column.
  void fill_offsets() {
    int64_t index = 0;
    const int64_t plane = plane_numel(band_rows_), phase_numel = (band_rows_ + reach_[0]) * pitch_;
    for (int64_t channel = 0; channel < group_in_; ++channel) {
      for (int64_t d = 0; d < shape_.kernel[0]; ++d) {
        for (int64_t r = 0; r < shape_.kernel[1]; ++r) {
          for (int64_t c = 0; c < shape_.kernel[2]; ++c, ++index) {
            if (context_.should_stop(phase_count_[0] + phase_count_[1])) return;
            const int64_t row = r * shape_.dilation[1], column = c * shape_.dilation[2];
            const int64_t phase = phase_index(0, row % shape_.stride[1]) * phase_count_[1] +
                                  phase_index(1, column % shape_.stride[2]);
            offsets_[index] = (channel * shape_.kernel[0] + d) * plane + phase * phase_numel +
                              row / shape_.stride[1] * pitch_ + column / shape_.stride[2];
            weight_offsets_[index] = channel * weight_.outer[1] + d * weight_.inner[0] +
                                     r * weight_.inner[1] + c * weight_.inner[2];
          }
        }
      }
    }
  }

  void fill_band(int64_t image, int64_t group, int64_t depth, int64_t row, int64_t rows) {
    const int64_t plane = plane_numel(band_rows_), phase_numel = (band_rows_ + reach_[0]) * pitch_;
    for (int64_t channel = 0; channel < group_in_; ++channel) {
      for (int64_t d = 0; d < shape_.kernel[0]; ++d) {
        char* to = band_ + static_cast<size_t>((channel * shape_.kernel[0] + d) * plane) * value_nbytes_;
        const int64_t in_depth = source_index(0, depth * shape_.stride[0] + d * shape_.dilation[0]);
        const int64_t channel_offset =
            image * input_.outer[0] + group * input_.group + channel * input_.outer[1];
        for (int64_t p = 0; p < phase_count_[0]; ++p) {
          const int64_t row_phase = phase_at(0, p);
          for (int64_t q = 0; q < phase_count_[1]; ++q) {
            const int64_t column_phase = phase_at(1, q);
            char* phase_to =
                to + static_cast<size_t>((p * phase_count_[1] + q) * phase_numel) * value_nbytes_;
            // phase_at() takes the square of the number of phases.
            if (context_.should_stop(1 + phase_count_[0] + phase_count_[1] * phase_count_[1] / 4)) return;
            for (int64_t r = 0; r < rows + reach_[0]; ++r) {
              if (context_.should_stop(pitch_ + 1)) return;
              const int64_t in_row = source_index(1, (row + r) * shape_.stride[1] + row_phase);
              char* row_to = phase_to + static_cast<size_t>(r * pitch_) * value_nbytes_;
              if (in_depth < 0 || in_row < 0) {
                std::memset(row_to, 0, static_cast<size_t>(pitch_) * value_nbytes_);
              } else {
                const int64_t offset = channel_offset + in_depth * input_.inner[0] + in_row * input_.inner[1];
                fill_row(row_to, offset, column_phase);
              }
            }
          }
        }
      }
    }
  }

  // The input index at a position of the padded input, or -1 where that is zero.
  int64_t source_index(int dim, int64_t position) const {
    const int64_t index = position - shape_.padding[dim];
    return index < 0 || index >= shape_.in[dim] ? -1 : index;
  }

  void fill_row(char* to, int64_t offset, int64_t phase) {
    const int64_t element_stride = input_.inner[2];
    // Positions x * step + phase - padding that are within [0, in).
    const int64_t first_missing = shape_.padding[2] - phase;
    const int64_t begin =
        std::min(pitch_, first_missing <= 0 ? 0 : (first_missing + shape_.stride[2] - 1) / shape_.stride[2]);
    const int64_t last = shape_.in[2] - 1 + shape_.padding[2] - phase;
    const int64_t end = last < 0 ? begin : std::max(begin, std::min(pitch_, last / shape_.stride[2] + 1));
    std::memset(to, 0, static_cast<size_t>(begin) * value_nbytes_);
    const int64_t index = begin * shape_.stride[2] + phase - shape_.padding[2];
    if (end > begin) {
      load_(to + static_cast<size_t>(begin) * value_nbytes_, input_.at(offset + index * element_stride),
            shape_.stride[2] * element_stride, end - begin);
    }
    std::memset(to + static_cast<size_t>(end) * value_nbytes_, 0,
                static_cast<size_t>(pitch_ - end) * value_nbytes_);
  }

  char* out_at(int64_t image, int64_t channel, int64_t depth, int64_t row) const {
    return out_.at(image * out_.outer[0] + channel / group_out_ * out_.group +
                   channel % group_out_ * out_.outer[1] + depth * out_.inner[0] + row * out_.inner[1]);
  }

  etb_status multiply_band(int64_t image, int64_t group, int64_t depth, int64_t row, int64_t rows) {
    GemmTask task = {};
    set_weights(task);
    set_group(task, group);
    task.n = (rows - 1) * pitch_ + shape_.out[2];
    task.b = band_;
    task.b_dtype = compute_ == Compute::kFloat    ? Dtype::FLOAT32
                   : compute_ == Compute::kDouble ? Dtype::FLOAT64
                                                  : Dtype::INT64;
    task.b_offsets = offsets_;
    task.b_column_stride = 1;
    task.c = out_at(image, group * group_out_, depth, row);
    task.c_column_stride = out_.inner[2] > 0 ? out_.inner[2] : 1;
    task.c_line_stride = out_.inner[1];
    task.c_run = shape_.out[2];
    task.c_pitch = pitch_;
    return run_product(task);
  }

  // Each band's product releases its scratch at the end.
  etb_status run_product(GemmTask& task) {
    KernelContext::Mark mark(context_);
    return run_gemm(context_, task, compute_);
  }

  // One input channel a group: every output channel of the group is a filter over the same plane.
  etb_status filter_band(int64_t image, int64_t group, int64_t depth, int64_t row, int64_t rows) {
    const ConvertLoop load_weight =
        table_.conversions->load[static_cast<int>(weight_.dtype)][static_cast<int>(compute_)];
    const ConvertLoop store =
        table_.conversions->store[static_cast<int>(out_.dtype)][static_cast<int>(compute_)];
    const int64_t count = (rows - 1) * pitch_ + shape_.out[2], out_stride = out_.inner[2];
    // Outputs between two questions whether to stop: a filter of a million weights leaves sixteen.
    const int64_t piece = std::max<int64_t>(16, KernelContext::kPiece * 64 / kernel_numel_ / 64 * 64);
    for (int64_t channel = 0; channel < group_out_; ++channel) {
      if (context_.should_stop(kernel_numel_)) return context_.stopped();
      const int64_t weight = group * weight_.group + channel * weight_.outer[0];
      for (int64_t l = 0; l < kernel_numel_; ++l) {
        load_weight(static_cast<char*>(weights_) + static_cast<size_t>(l) * value_nbytes_,
                    weight_.at(weight + weight_offsets_[l]), 1, 1);
      }
      const int64_t out_channel = group * group_out_ + channel;
      alignas(8) char start[8] = {};
      if (bias_ != nullptr) {
        table_.conversions->load[static_cast<int>(bias_->dtype())][static_cast<int>(compute_)](
            start, bias_at(out_channel), 1, 1);
      }
      for (int64_t begin = 0; begin < count; begin += context_.piece_of(count, piece)) {
        const int64_t length = std::min(context_.piece_of(count, piece), count - begin);
        if (context_.should_stop(1 + length * kernel_numel_ / 8)) return context_.stopped();
        const size_t skipped = static_cast<size_t>(begin) * value_nbytes_;
        table_.matrices->filter[static_cast<int>(compute_)](row_ + skipped, band_ + skipped, offsets_,
                                                            weights_, kernel_numel_, length, start);
      }
      for (int64_t r = 0; r < rows; ++r) {
        store(out_at(image, out_channel, depth, row + r),
              row_ + static_cast<size_t>(r * pitch_) * value_nbytes_, out_stride, shape_.out[2]);
      }
    }
    return ETB_OK;
  }

  KernelContext& context_;
  const Convolution& shape_;
  const ConvolutionOperand &input_, &weight_;
  const Tensor* bias_;
  const ConvolutionOperand& out_;
  const Compute compute_;
  const VectorTable& table_;
  const ConvertLoop load_;
  const size_t value_nbytes_;
  const int64_t group_in_, group_out_, kernel_numel_;

  bool is_filter_ = false;
  int64_t phase_count_[2] = {}, reach_[2] = {};  // rows, columns
  int64_t pitch_ = 0, band_rows_ = 0;
  int64_t *offsets_ = nullptr, *weight_offsets_ = nullptr;
  void* weights_ = nullptr;
  char *band_ = nullptr, *row_ = nullptr;
};

etb_status convolution_out(KernelContext& context, ops::convolution_out<KernelArguments> args) {
  const Tensor &input = args.input(), &weight = args.weight();
  const Tensor* bias = args.bias();
  Tensor& out = args.out();
  Convolution shape;
  ETB_CHECK(shape.read(context, input, weight, ConvolutionArguments(args)));
  const bool has_dtypes = is_arithmetic(input.dtype()) && weight.dtype() == input.dtype() &&
                          can_store(input.dtype(), out.dtype()) && is_arithmetic(out.dtype());
  if (!has_dtypes) {
    return context.fail(ETB_INVALID_TYPE, "%s with weights %s into %s", to_text(input.dtype()),
                        to_text(weight.dtype()), to_text(out.dtype()));
  }
  if (bias != nullptr &&
      (bias->rank() != 1 || bias->size(0) != shape.out_channels || !is_arithmetic(bias->dtype()))) {
    return context.fail(ETB_INVALID_ARGUMENT, "bias has sizes %s, expected [%lld]",
                        SizesText(bias->sizes()).text, static_cast<long long>(shape.out_channels));
  }
  int64_t sizes[kMaxRank];
  shape.fill_out_sizes(sizes);
  ETB_CHECK(resize_output(context, out, {sizes, static_cast<size_t>(input.rank())}));
  if (out.numel() == 0) return ETB_OK;
  return run_convolution(context, shape, input, weight, bias, out);
}

constexpr Kernel kRows[] = {kernel_row<ops::convolution_out, convolution_out>()};

}  // namespace

etb_status run_convolution(KernelContext& context, const Convolution& shape, const Tensor& input,
                           const Tensor& weight, const Tensor* bias, Tensor& out) noexcept {
  const auto from = ConvolutionOperand::places(shape, input, shape.in_channels),
             to = ConvolutionOperand::places(shape, out, shape.out_channels),
             weights = ConvolutionOperand::weights(shape, weight);
  return shape.is_transposed ? run_transposed(context, shape, from, weights, bias, to)
                             : run_windows(context, shape, from, weights, bias, to);
}

etb_status run_windows(KernelContext& context, const Convolution& shape, const ConvolutionOperand& input,
                       const ConvolutionOperand& weight, const Tensor* bias,
                       const ConvolutionOperand& out) noexcept {
  return Forward(context, shape, input, weight, bias, out).run();
}

ETB_PUBLISH_KERNELS(convolution, kRows);

}  // namespace etb::host
