// SPDX-License-Identifier: Apache-2.0
// aten::convolution in one to three dims, grouped, dilated, transposed, for every arithmetic dtype and layout.
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
  Forward(KernelContext& context, const Convolution& shape, const Tensor& input, const Tensor& weight,
          const Tensor* bias, Tensor& out)
      : context_(context),
        shape_(shape),
        input_(input),
        weight_(weight),
        bias_(bias),
        out_(out),
        compute_(compute_of(input.dtype())),
        table_(vector_table(context)),
        load_(table_.conversions->load[static_cast<int>(input.dtype())][static_cast<int>(compute_)]),
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
      if (shape_.in[dim] > 1 &&
          (shape_.spatial_stride(input_, dim) != dense || shape_.spatial_stride(out_, dim) != dense))
        return false;
      dense *= shape_.in[dim];
    }
    return is_natural(input_.dtype()) && !shape_.is_transposed;
  }

  etb_status run_plain() {
    GemmTask task = {};
    set_weights(task);
    task.n = task.c_run = task.c_pitch = shape_.out[0] * shape_.out[1] * shape_.out[2];
    task.b_dtype = input_.dtype();
    task.b_row_stride = input_.stride(1);
    task.b_column_stride = 1;
    task.c_column_stride = 1;
    for (int64_t image = 0; image < shape_.batch; ++image) {
      for (int64_t group = 0; group < shape_.groups; ++group) {
        set_group(task, group);
        task.b = at(input_, image * input_.stride(0) + group * group_in_ * input_.stride(1));
        task.c = at(out_, image * out_.stride(0) + group * group_out_ * out_.stride(1));
        ETB_CHECK(run_product(task));
      }
    }
    return ETB_OK;
  }

  // Sets A, C's rows and the bias, which every product shares.
  void set_weights(GemmTask& task) const {
    task.m = group_out_;
    task.k = group_in_ * kernel_numel_;
    task.a_dtype = weight_.dtype();
    task.a_row_stride = weight_.stride(shape_.is_transposed ? 1 : 0);
    task.a_column_stride = 1;
    const bool is_dense = !shape_.is_transposed && weight_.is_contiguous();
    task.a_offsets = is_dense ? nullptr : weight_offsets_;
    if (kernel_numel_ == 1 && !shape_.is_transposed) {
      task.a_offsets = nullptr;
      task.a_column_stride = weight_.stride(1);
    }
    task.c_dtype = out_.dtype();
    task.c_row_stride = out_.stride(1);
    task.alpha = task.beta = 1.0;
  }

  void set_group(GemmTask& task, int64_t group) const {
    task.a = weight_at_group(group);
    if (bias_ == nullptr) return;
    task.init = at(*bias_, group * group_out_);
    task.init_dtype = bias_->dtype();
    task.init_row_stride = 1;
  }

  const void* weight_at_group(int64_t group) const {
    return at(weight_, group * (shape_.is_transposed ? group_in_ : group_out_) * weight_.stride(0));
  }

  static char* at(const Tensor& tensor, int64_t offset) {
    return tensor.data_as<char>() + offset * static_cast<int64_t>(element_nbytes(tensor.dtype()));
  }

  // A transposed convolution is a plain one of stride 1 over the input with zeros between its elements, with the kernel turned round.
  int64_t step(int dim) const { return shape_.is_transposed ? 1 : shape_.stride[dim]; }
  int64_t spread(int dim) const { return shape_.is_transposed ? shape_.stride[dim] : 1; }
  int64_t border(int dim) const {
    if (!shape_.is_transposed) return shape_.padding[dim];
    return shape_.dilation[dim] * (shape_.kernel[dim] - 1) - shape_.padding[dim];
  }

  // Which (row phase, column phase) pairs of the strides the kernel touches: positions k * dilation % step repeat after step / gcd, and
  // differ before.
  void set_phases() {
    for (int axis = 0; axis < 2; ++axis) {
      const int dim = axis + 1;
      phase_count_[axis] =
          std::min(shape_.kernel[dim], step(dim) / std::gcd(shape_.dilation[dim], step(dim)));
      reach_[axis] = (shape_.kernel[dim] - 1) * shape_.dilation[dim] / step(dim);
    }
    pitch_ = shape_.out[2] + reach_[1];
  }

  int64_t phase_of(int axis, int64_t position) const {
    return position * shape_.dilation[axis + 1] % step(axis + 1);
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
    if (out_breaks_rows()) band_rows_ = 1;
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

  // True if consecutive output rows are not adjacent in memory.
  bool out_breaks_rows() const {
    return shape_.out[1] > 1 &&
           shape_.spatial_stride(out_, 1) != shape_.out[2] * shape_.spatial_stride(out_, 2);
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
            const int64_t phase =
                phase_index(0, row % step(1)) * phase_count_[1] + phase_index(1, column % step(2));
            offsets_[index] = (channel * shape_.kernel[0] + d) * plane + phase * phase_numel +
                              row / step(1) * pitch_ + column / step(2);
            const int64_t position[3] = {d, r, c};
            int64_t weight = channel * weight_.stride(shape_.is_transposed ? 0 : 1);
            for (int dim = 0; dim < 3; ++dim) {
              const int64_t turned =
                  shape_.is_transposed ? shape_.kernel[dim] - 1 - position[dim] : position[dim];
              weight += turned * shape_.spatial_stride(weight_, dim);
            }
            weight_offsets_[index] = weight;
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
        const int64_t in_depth = source_index(0, depth * step(0) + d * shape_.dilation[0]);
        const int64_t channel_offset =
            image * input_.stride(0) + (group * group_in_ + channel) * input_.stride(1);
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
              const int64_t in_row = source_index(1, (row + r) * step(1) + row_phase);
              char* row_to = phase_to + static_cast<size_t>(r * pitch_) * value_nbytes_;
              if (in_depth < 0 || in_row < 0) {
                std::memset(row_to, 0, static_cast<size_t>(pitch_) * value_nbytes_);
              } else {
                const int64_t offset = channel_offset + in_depth * shape_.spatial_stride(input_, 0) +
                                       in_row * shape_.spatial_stride(input_, 1);
                fill_row(row_to, offset, column_phase);
              }
            }
          }
        }
      }
    }
  }

  // The input index at a position of the padded (and spread) input, or -1 where that is zero.
  int64_t source_index(int dim, int64_t position) const {
    const int64_t index = position - border(dim);
    if (index < 0 || index % spread(dim) != 0 || index / spread(dim) >= shape_.in[dim]) return -1;
    return index / spread(dim);
  }

  void fill_row(char* to, int64_t offset, int64_t phase) {
    const int64_t element_stride = shape_.spatial_stride(input_, 2);
    if (shape_.is_transposed) {
      for (int64_t x = 0; x < pitch_; ++x) {
        const int64_t index = source_index(2, x);
        char* value = to + static_cast<size_t>(x) * value_nbytes_;
        if (index < 0) {
          std::memset(value, 0, value_nbytes_);
        } else {
          load_(value, at(input_, offset + index * element_stride), 1, 1);
        }
      }
      return;
    }
    // Positions x * step + phase - border that are within [0, in).
    const int64_t first_missing = border(2) - phase;
    const int64_t begin = std::min(pitch_, first_missing <= 0 ? 0 : (first_missing + step(2) - 1) / step(2));
    const int64_t last = shape_.in[2] - 1 + border(2) - phase;
    const int64_t end = last < 0 ? begin : std::max(begin, std::min(pitch_, last / step(2) + 1));
    std::memset(to, 0, static_cast<size_t>(begin) * value_nbytes_);
    const int64_t index = begin * step(2) + phase - border(2);
    if (end > begin) {
      load_(to + static_cast<size_t>(begin) * value_nbytes_, at(input_, offset + index * element_stride),
            step(2) * element_stride, end - begin);
    }
    std::memset(to + static_cast<size_t>(end) * value_nbytes_, 0,
                static_cast<size_t>(pitch_ - end) * value_nbytes_);
  }

  char* out_at(int64_t image, int64_t channel, int64_t depth, int64_t row) const {
    return at(out_, image * out_.stride(0) + channel * out_.stride(1) +
                        depth * shape_.spatial_stride(out_, 0) + row * shape_.spatial_stride(out_, 1));
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
    task.c_column_stride =
        shape_.out[2] > 1 || shape_.spatial_stride(out_, 2) > 0 ? shape_.spatial_stride(out_, 2) : 1;
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
        table_.conversions->load[static_cast<int>(weight_.dtype())][static_cast<int>(compute_)];
    const ConvertLoop store =
        table_.conversions->store[static_cast<int>(out_.dtype())][static_cast<int>(compute_)];
    const int64_t count = (rows - 1) * pitch_ + shape_.out[2], out_stride = shape_.spatial_stride(out_, 2);
    // Outputs between two questions whether to stop: a filter of a million weights leaves sixteen.
    const int64_t piece = std::max<int64_t>(16, KernelContext::kPiece * 64 / kernel_numel_ / 64 * 64);
    for (int64_t channel = 0; channel < group_out_; ++channel) {
      if (context_.should_stop(kernel_numel_)) return context_.stopped();
      const auto* weight = static_cast<const char*>(weight_at_group(group)) +
                           channel * weight_.stride(shape_.is_transposed ? 1 : 0) *
                               static_cast<int64_t>(element_nbytes(weight_.dtype()));
      for (int64_t l = 0; l < kernel_numel_; ++l) {
        load_weight(static_cast<char*>(weights_) + static_cast<size_t>(l) * value_nbytes_,
                    weight + weight_offsets_[l] * static_cast<int64_t>(element_nbytes(weight_.dtype())), 1,
                    1);
      }
      const int64_t out_channel = group * group_out_ + channel;
      alignas(8) char start[8] = {};
      if (bias_ != nullptr) {
        table_.conversions->load[static_cast<int>(bias_->dtype())][static_cast<int>(compute_)](
            start, at(*bias_, out_channel), 1, 1);
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
  const Tensor &input_, &weight_;
  const Tensor* bias_;
  Tensor& out_;
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
  return Forward(context, shape, input, weight, bias, out).run();
}

ETB_PUBLISH_KERNELS(convolution, kRows);

}  // namespace etb::host
