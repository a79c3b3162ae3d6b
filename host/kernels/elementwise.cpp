// SPDX-License-Identifier: Apache-2.0
// Promotion, broadcasting and blocked execution of element-wise loops.
#include "host/kernels/elementwise.hpp"

#include <algorithm>
#include <cstdio>

#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/broadcast.hpp"
#include "etb/cpp/fail.hpp"
#include "host/kernels/cpu_features.hpp"
#include "host/kernels/long_loops.hpp"

namespace etb::host {
namespace {

// Elements of a block: four buffers of the widest type stay within half an L1 cache.
constexpr int64_t kBlock = 512;
// Inner rows shorter than this are gathered into one block, so that the loop call pays.
constexpr int64_t kShortRow = 64;

union ComputeParams {
  float f32[4];
  double f64[4];
  int64_t i64[4];
};

ComputeParams to_compute(const LoopParams& params, Compute compute) {
  ComputeParams out;
  for (int i = 0; i < 4; ++i) {
    switch (compute) {
      case Compute::kFloat:
        out.f32[i] = static_cast<float>(params.real(i));
        break;
      case Compute::kDouble:
        out.f64[i] = params.real(i);
        break;
      case Compute::kInt64:
        out.i64[i] = params.integer(i);
        break;
    }
  }
  return out;
}

constexpr Dtype natural_dtype(Compute compute) {
  return compute == Compute::kFloat    ? Dtype::FLOAT32
         : compute == Compute::kDouble ? Dtype::FLOAT64
                                       : Dtype::INT64;
}
constexpr size_t compute_nbytes(Compute compute) { return compute == Compute::kFloat ? 4 : 8; }

// One tensor as the walk sees it: strides in elements per walked dim, innermost first.
struct Lane {
  char* data;
  int64_t strides[kMaxRank];
  size_t element_nbytes;
  ConvertLoop convert;    // load for inputs, store for the output
  ConvertLoop cut_store;  // when set: cut values to the promoted dtype by storing and loading them once more
  ConvertLoop cut_load;
  bool is_natural;  // has the computing type already
};

// The walk: sizes innermost first, lane 0 is the output.
struct Walk {
  int rank = 0;
  int64_t sizes[kMaxRank];
  int lane_count = 0;
  Lane lanes[1 + kMaxInputs];
  Compute compute;
  ElementLoop loop;
  ComputeParams params;
  int64_t work = 1;  // see ElementOp
};

void set_conversion(Lane& lane, const ConvertLoops& loops, Compute compute, Dtype dtype, bool is_output) {
  const auto code = static_cast<int>(dtype), type = static_cast<int>(compute);
  lane.element_nbytes = element_nbytes(dtype);
  lane.is_natural = dtype == natural_dtype(compute);
  lane.convert = is_output ? loops.store[code][type] : loops.load[code][type];
  lane.cut_store = lane.cut_load = nullptr;
}

void set_cut(Lane& lane, const ConvertLoops& loops, Compute compute, Dtype dtype) {
  lane.cut_store = loops.store[static_cast<int>(dtype)][static_cast<int>(compute)];
  lane.cut_load = loops.load[static_cast<int>(dtype)][static_cast<int>(compute)];
  lane.is_natural = false;
}

// Appends a dim to the walk, merging it into the previous one where all lanes continue seamlessly.
void append_dim(Walk& walk, int64_t size, const int64_t* strides) {
  if (size == 1) return;
  if (walk.rank > 0) {
    const int last = walk.rank - 1;
    bool merges = true;
    for (int i = 0; i < walk.lane_count; ++i) {
      merges = merges && strides[i] == walk.lanes[i].strides[last] * walk.sizes[last];
    }
    if (merges) {
      walk.sizes[last] *= size;
      return;
    }
  }
  walk.sizes[walk.rank] = size;
  for (int i = 0; i < walk.lane_count; ++i) walk.lanes[i].strides[walk.rank] = strides[i];
  ++walk.rank;
}

// The stride of an operand along a dim of the output; 0 where it broadcasts.
int64_t broadcast_stride(const Operand& operand, int out_rank, int out_dim) {
  const int dim = out_dim - (out_rank - operand.rank());
  if (dim < 0 || operand.sizes()[static_cast<size_t>(dim)] == 1) return 0;
  return operand.stride(dim);
}

void set_dims(Walk& walk, std::span<const Operand> inputs, const Tensor& out) {
  int64_t strides[1 + kMaxInputs];
  for (int i = out.rank(); i-- > 0;) {
    const int dim = out.dim_order()[static_cast<size_t>(i)];
    strides[0] = out.stride(dim);
    for (size_t k = 0; k < inputs.size(); ++k) strides[k + 1] = broadcast_stride(inputs[k], out.rank(), dim);
    append_dim(walk, out.size(dim), strides);
  }
  if (walk.rank == 0) {
    walk.rank = 1;
    walk.sizes[0] = 1;
    for (int i = 0; i < walk.lane_count; ++i) walk.lanes[i].strides[0] = 1;
  }
}

struct alignas(64) Buffers {
  char bytes[1 + kMaxInputs][kBlock * sizeof(double)];
};

// True if a block of `row_count` rows can be used in place.
bool is_dense(const Walk& walk, const Lane& lane, int64_t row_count) {
  return lane.strides[0] == 1 && (row_count == 1 || lane.strides[1] == walk.sizes[0]);
}

void cut(const Lane& lane, void* values, int64_t count) {
  alignas(64) char narrow[kBlock * sizeof(double)];
  lane.cut_store(narrow, values, 1, count);
  lane.cut_load(values, narrow, 1, count);
}

// Computes `row_count` rows of `count` elements each (whole rows unless row_count is 1).
void run_block(const Walk& walk, Buffers& buffers, char* const* pointers, int64_t row_count, int64_t count) {
  const void* in[kMaxInputs];
  const size_t nbytes = compute_nbytes(walk.compute);
  const int64_t total = row_count * count;
  for (int i = 1; i < walk.lane_count; ++i) {
    const Lane& lane = walk.lanes[i];
    const bool dense = is_dense(walk, lane, row_count);
    if (dense && lane.is_natural) {
      in[i - 1] = pointers[i];
      continue;
    }
    char* buffer = buffers.bytes[i];
    if (dense) {
      lane.convert(buffer, pointers[i], 1, total);
    } else {
      for (int64_t row = 0; row < row_count; ++row) {
        const char* from = pointers[i] + (row_count > 1 ? row * lane.strides[1] : 0) *
                                             static_cast<int64_t>(lane.element_nbytes);
        lane.convert(buffer + static_cast<size_t>(row * count) * nbytes, from, lane.strides[0], count);
      }
    }
    if (lane.cut_store != nullptr) cut(lane, buffer, total);
    in[i - 1] = buffer;
  }
  const Lane& out = walk.lanes[0];
  const bool dense = is_dense(walk, out, row_count);
  if (dense && out.is_natural) return walk.loop(pointers[0], in, total, &walk.params);
  char* buffer = buffers.bytes[0];
  walk.loop(buffer, in, total, &walk.params);
  if (out.cut_store != nullptr) cut(out, buffer, total);
  if (dense) return out.convert(pointers[0], buffer, 1, total);
  for (int64_t row = 0; row < row_count; ++row) {
    char* to =
        pointers[0] + (row_count > 1 ? row * out.strides[1] : 0) * static_cast<int64_t>(out.element_nbytes);
    out.convert(to, buffer + static_cast<size_t>(row * count) * nbytes, out.strides[0], count);
  }
}

// True if every lane is used in place, so that rows need not be cut into blocks.
bool needs_no_buffer(const Walk& walk) {
  for (int i = 0; i < walk.lane_count; ++i) {
    if (!walk.lanes[i].is_natural || walk.lanes[i].strides[0] != 1) return false;
  }
  return true;
}

etb_status run_walk(KernelContext& context, const Walk& walk) {
  Buffers buffers;
  const int64_t inner = walk.sizes[0];
  const bool gathers = walk.rank > 1 && inner < kShortRow;
  const int64_t rows_per_block = gathers ? kBlock / inner : 1;
  const int64_t row_total = walk.rank > 1 ? walk.sizes[1] : 1;
  const int64_t step = needs_no_buffer(walk) && !gathers
                           ? context.piece_of(inner, std::max<int64_t>(1, KernelContext::kPiece / walk.work))
                           : std::min(inner, kBlock);
  int64_t indices[kMaxRank] = {};
  while (true) {
    char* base[1 + kMaxInputs];
    for (int i = 0; i < walk.lane_count; ++i) {
      int64_t offset = 0;
      for (int dim = 2; dim < walk.rank; ++dim) offset += indices[dim] * walk.lanes[i].strides[dim];
      base[i] = walk.lanes[i].data + offset * static_cast<int64_t>(walk.lanes[i].element_nbytes);
    }
    for (int64_t row = 0; row < row_total; row += rows_per_block) {
      for (int64_t start = 0; start < inner; start += step) {
        char* pointers[1 + kMaxInputs];
        for (int i = 0; i < walk.lane_count; ++i) {
          const Lane& lane = walk.lanes[i];
          const int64_t offset = (walk.rank > 1 ? row * lane.strides[1] : 0) + start * lane.strides[0];
          pointers[i] = base[i] + offset * static_cast<int64_t>(lane.element_nbytes);
        }
        const int64_t row_count = std::min(rows_per_block, row_total - row),
                      count = std::min(step, inner - start);
        if (context.should_stop(row_count * count * walk.work)) return context.stopped();
        run_block(walk, buffers, pointers, row_count, count);
      }
    }
    int dim = 2;
    while (dim < walk.rank && ++indices[dim] == walk.sizes[dim]) indices[dim++] = 0;
    if (dim >= walk.rank) return ETB_OK;
  }
}

// The common case, worth no walk: everything of one layout in the computing type.
bool run_direct(KernelContext& context, const ElementOp& op, ElementLoop loop, Compute compute,
                std::span<const Operand> inputs, Tensor& out) {
  const Dtype dtype = natural_dtype(compute);
  if (out.dtype() != dtype) return false;
  const char* in[kMaxInputs];
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor* tensor = inputs[i].tensor();
    if (tensor == nullptr || tensor->dtype() != dtype || !tensor->has_layout_of(out)) return false;
    in[i] = tensor->data_as<char>();
  }
  const ComputeParams params = to_compute(op.params, compute);
  if (!context.stop_check().is_watching()) {
    const void* whole[kMaxInputs];
    std::copy_n(in, inputs.size(), whole);
    loop(out.data(), whole, out.numel(), &params);
    return true;
  }
  const auto nbytes = static_cast<int64_t>(compute_nbytes(compute));
  // A piece is as much work as elsewhere. The run itself asks why this ended.
  const int64_t piece = std::max<int64_t>(1, KernelContext::kPiece / op.work);
  for (int64_t begin = 0; begin < out.numel(); begin += piece) {
    const int64_t length = std::min(piece, out.numel() - begin);
    if (context.should_stop(length * op.work)) break;
    const void* part[kMaxInputs];
    for (size_t i = 0; i < inputs.size(); ++i) part[i] = in[i] + begin * nbytes;
    loop(out.data_as<char>() + begin * nbytes, part, length, &params);
  }
  return true;
}

etb_status resize_to_broadcast(KernelContext& context, std::span<const Operand> inputs, Tensor& out) {
  int64_t sizes[kMaxRank];
  int rank = 0;
  for (const Operand& input : inputs) rank = std::max(rank, input.rank());
  std::fill_n(sizes, rank, 1);
  for (const Operand& input : inputs) {
    if (!ops::broadcast_into(ops::Numbers(), input.sizes(), sizes, static_cast<size_t>(rank))) {
      return context.fail(ETB_INVALID_ARGUMENT, "sizes %s do not broadcast with %s",
                          SizesText(input.sizes()).text, SizesText({sizes, static_cast<size_t>(rank)}).text);
    }
  }
  const std::span<const int64_t> wanted(sizes, static_cast<size_t>(rank));
  // An input that is the output itself would grow with it.
  for (const Operand& input : inputs) {
    if (input.tensor() == &out && !std::ranges::equal(out.sizes(), wanted)) {
      return context.fail(ETB_INVALID_ARGUMENT, "the output has sizes %s, is an input and would become %s",
                          SizesText(out.sizes()).text, SizesText(wanted).text);
    }
  }
  return resize_output(context, out, wanted);
}

// An integer that is wider than the dtype it is promoted to (a rank-0 tensor, a number) is cut before it is used.
bool needs_cut(Dtype from, Dtype to) {
  return is_integer(from) && is_integer(to) && from != to && element_nbytes(from) >= element_nbytes(to);
}

}  // namespace

Operand::Operand(const Tensor& tensor) noexcept
    : data_(tensor.data()),
      tensor_(&tensor),
      sizes_(tensor.sizes().data()),
      strides_(tensor.strides().data()),
      dtype_(tensor.dtype()),
      rank_(tensor.rank()) {}

Operand Operand::view(const void* data, Dtype dtype, std::span<const int64_t> sizes,
                      std::span<const int64_t> strides) noexcept {
  Operand operand;
  operand.data_ = data;
  operand.dtype_ = dtype;
  operand.sizes_ = sizes.data();
  operand.strides_ = strides.data();
  operand.rank_ = static_cast<int>(sizes.size());
  return operand;
}

Operand::Operand(const EValue& number) noexcept : is_number_(true) {
  if (number.is_double()) {
    number_.real = number.to_double();
    dtype_ = Dtype::FLOAT64;
  } else {
    number_.integer = number.to_int();
    dtype_ = number.is_bool() ? Dtype::BOOL : Dtype::INT64;
  }
}

void LoopParams::set(int index, double real) noexcept {
  real_[index] = real;
  // The nearest int64; formulas on integers never use a real that is out of range.
  integer_[index] = real >= 0x1.0p63 ? INT64_MAX : real >= -0x1.0p63 ? static_cast<int64_t>(real) : INT64_MIN;
}
void LoopParams::set(int index, int64_t integer) noexcept {
  real_[index] = static_cast<double>(integer);
  integer_[index] = integer;
}
void LoopParams::set(int index, const EValue& number) noexcept {
  number.is_double() ? set(index, number.to_double()) : set(index, number.to_int());
}

Dtype result_dtype(std::span<const Operand> operands) noexcept {
  // Nearly every call: tensors of one dtype.
  const bool is_uniform = std::all_of(operands.begin(), operands.end(), [&](const Operand& operand) {
    return !operand.is_number() && operand.dtype() == operands.front().dtype();
  });
  if (is_uniform && !operands.empty()) return operands.front().dtype();
  // Per group: tensors with dims, rank-0 tensors, numbers.
  Dtype groups[3];
  bool has_group[3] = {};
  for (const Operand& operand : operands) {
    Dtype dtype = operand.dtype();
    if (operand.is_number() && is_floating(dtype)) dtype = Dtype::FLOAT32;
    const int group = operand.is_number() ? 2 : operand.rank() == 0 ? 1 : 0;
    groups[group] = has_group[group] ? promote_any(groups[group], dtype) : dtype;
    has_group[group] = true;
  }
  Dtype result = Dtype::BOOL;
  bool has_result = false;
  for (int group = 2; group >= 0;
       --group) {  // from the weakest up: a stronger group wins unless it is of a lower kind
    if (!has_group[group]) continue;
    const Dtype strong = groups[group];
    const bool promotes = has_result && !is_floating(strong) && (is_bool(strong) || is_floating(result));
    result = promotes ? promote_any(strong, result) : strong;
    has_result = true;
  }
  return result;
}

const VectorTable& vector_table(const KernelContext& context) noexcept {
  return context.vector_table() != nullptr ? *context.vector_table() : baseline_vector_table();
}

StopHook stop_hook(StopCheck& check) noexcept {
  return {&check, [](void* self, int64_t work) { return static_cast<StopCheck*>(self)->should_stop(work); }};
}

etb_status resize_output(KernelContext& context, Tensor& out, std::span<const int64_t> sizes) noexcept {
  const etb_status status = out.resize(sizes);
  if (status == ETB_OK) return ETB_OK;
  return context.fail(status, "the output has sizes %s and room for %llu bytes, expected sizes %s",
                      SizesText(out.sizes()).text, static_cast<unsigned long long>(out.capacity_bytes()),
                      SizesText(sizes).text);
}

etb_status run_elements(KernelContext& context, const ElementOp& op, std::span<const Operand> inputs,
                        Tensor& out) noexcept {
  const ConvertLoops& conversions = *vector_table(context).conversions;
  for (const Operand& input : inputs) {
    if (conversions.load[static_cast<int>(input.dtype())][0] == nullptr) {
      return context.fail(ETB_INVALID_TYPE, "an input is %s", to_text(input.dtype()));
    }
  }
  if (!can_store(op.result, out.dtype()) || conversions.store[static_cast<int>(out.dtype())][0] == nullptr) {
    return context.fail(ETB_INVALID_TYPE, "the result is %s, the output %s", to_text(op.result),
                        to_text(out.dtype()));
  }
  ETB_CHECK(resize_to_broadcast(context, inputs, out));
  if (out.numel() == 0) return ETB_OK;
  const Compute compute = compute_of(op.common);
  const ElementLoop loop = op.loops[static_cast<int>(compute)];
  if (run_direct(context, op, loop, compute, inputs, out)) return context.stopped();

  Walk walk;
  walk.compute = compute;
  walk.loop = loop;
  walk.params = to_compute(op.params, compute);
  walk.work = op.work;
  walk.lane_count = 1 + static_cast<int>(inputs.size());
  walk.lanes[0].data = out.data_as<char>();
  set_conversion(walk.lanes[0], conversions, compute, out.dtype(), true);
  if (out.dtype() != op.result && !is_bool(op.result) && op.result != natural_dtype(compute)) {
    set_cut(walk.lanes[0], conversions, compute, op.result);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    Lane& lane = walk.lanes[i + 1];
    lane.data = static_cast<char*>(const_cast<void*>(inputs[i].data()));  // only read
    set_conversion(lane, conversions, compute, inputs[i].dtype(), false);
    if (needs_cut(inputs[i].dtype(), op.common)) set_cut(lane, conversions, compute, op.common);
  }
  set_dims(walk, inputs, out);
  return run_walk(context, walk);
}

SizesText::SizesText(std::span<const int64_t> sizes) noexcept {
  size_t used = 0;
  const auto put = [&](const char* format, long long value) {
    if (used + 1 >= sizeof(text)) return;
    used += static_cast<size_t>(std::snprintf(text + used, sizeof(text) - used, format, value));
  };
  put("[", 0);
  for (size_t i = 0; i < sizes.size(); ++i) put(i == 0 ? "%lld" : ", %lld", static_cast<long long>(sizes[i]));
  put("]", 0);
}

}  // namespace etb::host
