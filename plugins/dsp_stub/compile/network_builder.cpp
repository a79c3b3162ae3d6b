// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>

#include "plugins/dsp_stub/compile/lowering.hpp"

namespace etb::dsp_stub {

int64_t Codes::numel() const {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}

std::vector<int64_t> Codes::strides() const {
  std::vector<int64_t> out(sizes.size());
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    out[order[i]] = step;
    step *= sizes[order[i]];
  }
  return out;
}

std::vector<uint32_t> row_major(size_t rank) {
  std::vector<uint32_t> out(rank);
  for (uint32_t i = 0; i < rank; ++i) out[i] = i;
  return out;
}

std::vector<uint32_t> channels_last() { return {0, 2, 3, 1}; }

bool is_same_storage(const std::vector<int64_t>& sizes, const std::vector<uint32_t>& a,
                     const std::vector<uint32_t>& b) {
  std::vector<uint32_t> left, right;
  std::copy_if(a.begin(), a.end(), std::back_inserter(left), [&](uint32_t d) { return sizes[d] != 1; });
  std::copy_if(b.begin(), b.end(), std::back_inserter(right), [&](uint32_t d) { return sizes[d] != 1; });
  return left == right;
}

int32_t to_multiplier(double number, uint32_t shift) {
  const double scaled = std::nearbyint(std::ldexp(number, static_cast<int>(shift)));
  return static_cast<int32_t>(std::clamp<double>(scaled, INT32_MIN, INT32_MAX));
}

// From 2^29 on every sum but 0 saturates, so a smaller multiplier makes the same codes.
Multiplier to_multiplier(double number) {
  int exponent = 0;
  (void)std::frexp(number, &exponent);
  const auto shift = static_cast<uint32_t>(std::clamp(31 - exponent, 1, 62));
  return {to_multiplier(number, shift), shift};
}

int32_t quantise(float number, const Params& params) {
  const auto inverse = static_cast<float>(1.0 / params.scale);
  const double code = std::nearbyint(inverse * number) + params.zero;
  if (std::isnan(code)) return std::clamp(params.zero, params.low, params.high);
  return static_cast<int32_t>(std::clamp<double>(code, params.low, params.high));
}

// The device's multipliers for sums of int16 codes have 15 bits. A number of 2^15 or more saturates every sum but 0.
Multiplier to_wide_multiplier(double number) {
  int exponent = 0;
  (void)std::frexp(number, &exponent);
  Multiplier out;
  out.shift = static_cast<uint32_t>(std::clamp(15 - exponent, 0, 62));
  out.multiplier = to_multiplier(number, out.shift);
  if (out.multiplier == 1 << 15 && out.shift > 0) out = {1 << 14, out.shift - 1};
  out.multiplier = std::min(out.multiplier, INT16_MAX);
  return out;
}

uint32_t NetworkBuilder::add_buffer(uint64_t count, uint32_t width) {
  network_.buffers.push_back({.nbytes = count * width, .width = width});
  return static_cast<uint32_t>(network_.buffers.size() - 1);
}

Codes NetworkBuilder::add_codes(std::vector<int64_t> sizes, std::vector<uint32_t> order,
                                const Params& params) {
  Codes out{kNoBuffer, std::move(sizes), std::move(order), params};
  out.buffer = add_buffer(static_cast<uint64_t>(out.numel()), params.width);
  return out;
}

Layer& NetworkBuilder::add_layer(Layer layer) {
  layer.handles = handles_;
  network_.layers.push_back(std::move(layer));
  return network_.layers.back();
}

ConstantRange NetworkBuilder::add_constant(std::span<const std::byte> bytes) {
  const ConstantRange range = reserve_constant(bytes.size());
  if (!bytes.empty()) std::memcpy(network_.constants.data() + range.offset, bytes.data(), bytes.size());
  return range;
}

ConstantRange NetworkBuilder::reserve_constant(uint64_t nbytes) {
  const size_t offset = (network_.constants.size() + 15) / 16 * 16;
  network_.constants.resize(offset + static_cast<size_t>(nbytes));
  return {static_cast<uint32_t>(offset), static_cast<uint32_t>(nbytes)};
}

namespace {

template <class T>
std::vector<double> to_numbers(std::span<const std::byte> bytes) {
  std::vector<double> out(bytes.size() / sizeof(T));
  for (size_t i = 0; i < out.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof value);
    out[i] = static_cast<double>(value);
  }
  return out;
}

}  // namespace

Result<std::vector<double>> NetworkBuilder::read_numbers(uint32_t value) {
  const Graph& graph = facts_.graph();
  if (!facts_.is_constant(value))
    return reject("constant", "a tensor known only at run time, expected a constant");
  const etb_graph_spec spec = graph.spec_of(value);
  size_t count = 1;
  for (uint32_t i = 0; i < spec.rank; ++i) count *= static_cast<size_t>(std::max<int64_t>(spec.sizes[i], 0));
  if (spec.dtype != ETB_DTYPE_FLOAT32 && spec.dtype != ETB_DTYPE_FLOAT64 && spec.dtype != ETB_DTYPE_INT64 &&
      spec.dtype != ETB_DTYPE_INT32 && spec.dtype != ETB_DTYPE_INT16 && spec.dtype != ETB_DTYPE_INT8)
    return reject("dtype", std::string("a constant of ") + dtype_text(static_cast<etb_dtype>(spec.dtype)));
  if (is_claiming()) return std::vector<double>(count, 1);
  const etb_graph_constant constant = etb_graph_get_constant(&graph.view(), graph.input(value).constant);
  ETB_ASSIGN(const Payload payload, region_->read_constant(constant.key));
  if (payload.bytes().size() != count * (dtype_bits(static_cast<etb_dtype>(spec.dtype)) / 8))
    return make_error(Code::INVALID_DATA, std::string("constant '") + constant.key + "': another size");
  switch (spec.dtype) {
    case ETB_DTYPE_FLOAT32:
      return to_numbers<float>(payload.bytes());
    case ETB_DTYPE_FLOAT64:
      return to_numbers<double>(payload.bytes());
    case ETB_DTYPE_INT64:
      return to_numbers<int64_t>(payload.bytes());
    case ETB_DTYPE_INT32:
      return to_numbers<int32_t>(payload.bytes());
    case ETB_DTYPE_INT16:
      return to_numbers<int16_t>(payload.bytes());
    default:
      return to_numbers<int8_t>(payload.bytes());
  }
}

void append_code(int32_t code, uint32_t width, std::vector<std::byte>& out) {
  out.push_back(static_cast<std::byte>(code & 0xff));
  if (width == 2) out.push_back(static_cast<std::byte>(code >> 8 & 0xff));
}

// A constant is a buffer of the payload; in claims, any value from outside of the pattern is an input.
Result<Codes> NetworkBuilder::codes(uint32_t value) {
  if (const auto found = values_.find(value); found != values_.end()) return found->second;
  const etb_graph_spec spec = facts_.graph().spec_of(value);
  if (spec.dtype != ETB_DTYPE_INT8 && spec.dtype != ETB_DTYPE_INT16)
    return reject("dtype", std::string("codes of ") + dtype_text(static_cast<etb_dtype>(spec.dtype)) +
                               ", expected int8 or int16");
  Codes out{kNoBuffer, facts_.sizes(value), row_major(spec.rank), {}};
  out.params.width = spec.dtype == ETB_DTYPE_INT16 ? 2 : 1;
  out.params = out.params.whole();
  out.buffer = add_buffer(static_cast<uint64_t>(out.numel()), out.params.width);
  Buffer& buffer = network_.buffers[out.buffer];
  if (facts_.is_constant(value)) {
    ETB_ASSIGN(const std::vector<double> numbers, read_numbers(value));
    std::vector<std::byte> bytes;
    for (const double number : numbers) append_code(static_cast<int32_t>(number), out.params.width, bytes);
    network_.buffers[out.buffer].kind = Buffer::Kind::kConstant;
    network_.buffers[out.buffer].index = add_constant(bytes).offset;
  } else {
    buffer.kind = Buffer::Kind::kInput;
    buffer.index = static_cast<uint32_t>(network_.inputs.size());
    network_.inputs.push_back({out.sizes, out.params.width});
  }
  values_[value] = out;
  return out;
}

namespace {

// Joins dimensions whose steps continue each other on both sides, and drops those of one element.
std::vector<CopyDim> merged(const std::vector<CopyDim>& dims) {
  std::vector<CopyDim> out;
  for (const CopyDim& dim : dims) {
    if (dim.extent == 1) continue;
    if (!out.empty() && out.back().from_stride == uint64_t{dim.from_stride} * dim.extent &&
        out.back().to_stride == uint64_t{dim.to_stride} * dim.extent)
      out.back() = {out.back().extent * dim.extent, dim.from_stride, dim.to_stride};
    else
      out.push_back(dim);
  }
  if (out.empty()) out.push_back({1, 1, 1});
  return out;
}

// A copy has six dimensions. More become several copies.
void add_copies(Copy copy, std::vector<Copy>& out) {
  if (copy.dims.size() <= DSP_DMA_MAX_RANK) {
    out.push_back(std::move(copy));
    return;
  }
  const CopyDim first = copy.dims.front();
  copy.dims.erase(copy.dims.begin());
  for (uint32_t i = 0; i < first.extent; ++i) {
    Copy part = copy;
    part.from_offset += uint64_t{i} * first.from_stride;
    part.to_offset += uint64_t{i} * first.to_stride;
    add_copies(std::move(part), out);
  }
}

}  // namespace

void NetworkBuilder::copy_into(const Codes& from, const Codes& to, const std::vector<int64_t>& begins,
                               const std::vector<int64_t>& from_begins,
                               const std::vector<int64_t>& from_steps) {
  const std::vector<int64_t> from_strides = from.strides(), to_strides = to.strides();
  const uint32_t width = from.params.width;
  Copy copy{.from = from.buffer};
  std::vector<CopyDim> dims;
  for (const uint32_t d : to.order) {
    const int64_t step = from_steps.empty() ? 1 : from_steps[d], begin = begins.empty() ? 0 : begins[d],
                  from_begin = from_begins.empty() ? 0 : from_begins[d];
    // A dimension of one element is repeated.
    const bool is_repeated = from.sizes[d] == 1 && to.sizes[d] != 1 && begins.empty() && from_begins.empty();
    const int64_t extent = is_repeated || !from_begins.empty() ? to.sizes[d] : from.sizes[d];
    dims.push_back({static_cast<uint32_t>(extent),
                    is_repeated ? 0 : static_cast<uint32_t>(from_strides[d] * step * width),
                    static_cast<uint32_t>(to_strides[d] * width)});
    copy.from_offset += static_cast<uint64_t>(from_begin * from_strides[d] * width);
    copy.to_offset += static_cast<uint64_t>(begin * to_strides[d] * width);
  }
  dims.push_back({width, 1, 1});
  copy.dims = merged(dims);
  // A layer that fills its output before continues with this copy.
  Layer* last = network_.layers.empty() ? nullptr : &network_.layers.back();
  if (last == nullptr || last->kind != Layer::Kind::kCopy || last->output != to.buffer)
    last = &add_layer({.kind = Layer::Kind::kCopy, .output = to.buffer});
  add_copies(std::move(copy), last->copies);
}

Codes NetworkBuilder::reorder(const Codes& codes, const std::vector<uint32_t>& order) {
  Codes out = codes;
  out.order = order;
  if (is_same_storage(codes.sizes, codes.order, order)) return out;
  out = add_codes(codes.sizes, order, codes.params);
  copy_into(codes, out, {});
  return out;
}

void NetworkBuilder::add_input(uint32_t value) {
  if (!facts_.is_constant(value)) (void)codes(value);
}

Status NetworkBuilder::add_output(uint32_t value) {
  const auto found = values_.find(value);
  if (found == values_.end()) return reject("op", "an output that no pattern makes");
  const Codes codes = reorder(found->second, row_major(found->second.sizes.size()));
  const auto index = static_cast<uint32_t>(network_.outputs.size());
  network_.outputs.push_back({codes.sizes, codes.params.width});
  uint32_t buffer = codes.buffer;
  if (network_.buffers[buffer].kind != Buffer::Kind::kInner) {
    const Codes copy = add_codes(codes.sizes, codes.order, codes.params);
    copy_into(codes, copy, {});
    buffer = copy.buffer;
  }
  network_.buffers[buffer].kind = Buffer::Kind::kOutput;
  network_.buffers[buffer].index = index;
  return {};
}

}  // namespace etb::dsp_stub
