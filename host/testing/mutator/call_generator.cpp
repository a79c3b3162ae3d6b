// SPDX-License-Identifier: Apache-2.0
#include "host/testing/mutator/call_generator.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <string_view>

#include "api/format/tensor_layout.hpp"
#include "api/ops/schema.hpp"

namespace etb::host {

using format::MethodSpec;
using format::ProgramSpec;
using format::TensorSpec;
using format::ValueSpec;

namespace {

constexpr int8_t kUint8 = 0, kInt8 = 1, kInt32 = 3, kInt64 = 4, kFloat32 = 6, kComplex64 = 9, kBool = 11;
// Kernels that take floats only, and those of matrices and of attention with their ranks.
constexpr std::string_view kOfFloats[] = {
    "linalg",         "lu_",   "geqrf",          "ormqr",        "fft",
    "complex",        "frexp", "batch_norm",     "grid_sampler", "dropout",
    "segment_reduce", "llama", "choose_qparams", "per_token",    "mixed_"};
constexpr std::string_view kOfMatrices[] = {
    "linalg", "lu_", "geqrf", "ormqr", "mixed_", "choose_qparams_per_token", "quantize_per_token"};
constexpr int64_t kMaxArenaNbytes = 1 << 16;

bool contains(std::string_view text, std::span<const std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return text.find(part) != text.npos; });
}
bool contains(std::string_view text, std::initializer_list<std::string_view> parts) {
  return contains(text, std::span(parts.begin(), parts.size()));
}

const ops::Schema* schema_of(const Kernel& kernel) {
  std::string name = kernel.name;
  name.replace(name.find("::"), 2, ".");
  if (name.find('.', name.find('.') + 1) == std::string::npos) name += ".default";
  return ops::find_schema(name);
}

}  // namespace

// A call under construction.
struct CallGenerator::Call {
  ProgramSpec& program;
  MethodSpec& method;
  const Kernel& kernel;
  const ops::Schema* schema;
  int8_t dtype;  // dtype of most tensors
  size_t rank;   // rank of most tensors
  int32_t size;  // size of most dims
  bool has_tensor = false;

  std::string_view name(uint32_t index) const {
    return schema != nullptr && index < schema->argument_count() ? schema->argument(index).name : "";
  }
  bool is_written(uint32_t index) const { return kernel.operands.is_written(index); }
  int32_t add(ValueSpec value) const {
    method.values.push_back(std::move(value));
    return static_cast<int32_t>(method.values.size()) - 1;
  }
};

int64_t CallGenerator::any_int() {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  constexpr int64_t kRare[] = {
      -1, 16, 255, 4096, int64_t{1} << 31, int64_t{1} << 48, kLargest, -kLargest - 1, kLargest / 2};
  return one_in(12) ? pick(kRare) : static_cast<int64_t>(below(5));
}

int8_t CallGenerator::any_dtype() {
  constexpr int8_t kDtypes[] = {6, 6, 6, 6, 4, 4, 11, 11, 0, 1, 2, 3, 5, 7, 15};
  return pick(kDtypes);
}

void CallGenerator::append_call(ProgramSpec& program, MethodSpec& method, const Kernel& kernel) {
  Call call{
      program, method, kernel, schema_of(kernel), any_dtype(), below(5), static_cast<int32_t>(1 + below(4))};
  if (contains(kernel.name, kOfFloats) && !one_in(8)) call.dtype = kFloat32;
  if (contains(kernel.name, kOfMatrices) && !one_in(4)) call.rank = 2;
  if (contains(kernel.name, {"llama"}) && !one_in(4)) call.rank = 4;
  if (contains(kernel.name, {"grid_sampler_3d"}) && !one_in(4)) call.rank = 5;
  format::InstructionSpec instruction;
  uint32_t index = 0;
  for (const char* letter = kernel.signature; *letter != '\0'; ++letter) {
    if (is_mark(*letter)) continue;
    instruction.args.push_back(add_argument(call, *letter, index++));
  }
  const std::string_view full = kernel.name;
  const size_t dot = full.find('.');
  format::OperatorSpec op{std::string(full.substr(0, dot)),
                          dot == full.npos ? "" : std::string(full.substr(dot + 1))};
  const auto same = [&](const format::OperatorSpec& other) {
    return other.name == op.name && other.overload == op.overload;
  };
  const auto found = std::ranges::find_if(method.operators, same);
  instruction.a = static_cast<int32_t>(found - method.operators.begin());
  if (found == method.operators.end()) method.operators.push_back(std::move(op));
  method.instructions.push_back(std::move(instruction));
}

int32_t CallGenerator::add_argument(Call& call, char letter, uint32_t index) {
  const bool is_optional = std::string_view("tsnejfcy").find(letter) != std::string_view::npos;
  if (is_optional && !call.is_written(index) && one_in(2)) return call.add(std::monostate());
  switch (letter) {
    case 'T':
    case 't':
      return add_tensor(call, index);
    case 'S':
    case 's':
      return one_in(2) ? call.add(any_int()) : call.add(0.5 + static_cast<double>(below(3)));
    case 'i':
    case 'n':
      return add_int(call, index);
    case 'd':
    case 'e':
      return call.add(one_in(4) ? 1e30 : 0.5 + static_cast<double>(below(3)));
    case 'b':
    case 'c':
      return call.add(one_in(2));
    case 'z':
    case 'y': {
      static constexpr const char* kTexts[] = {"none", "tanh", "floor", "trunc", "sum",
                                               "prod", "mean", "amax",  "amin"};
      return call.add(std::string(pick(kTexts)));
    }
    case 'I':
    case 'j':
      return add_int_list(call, index);
    case 'D':
    case 'f':
      return call.add(format::DoubleListSpec{{0.5 + below(3), 0.5 + below(3)}});
    case 'B':
      return call.add(
          format::BoolListSpec{{1, static_cast<uint8_t>(below(2)), static_cast<uint8_t>(below(2))}});
    case 'L':
    case 'M':
      return add_tensor_list(call, letter, index);
    default:
      return call.add(any_int());
  }
}

std::vector<int32_t> CallGenerator::sizes_of_rank(Call& call, size_t rank) {
  std::vector<int32_t> sizes(rank, call.size);
  for (int32_t& size : sizes) {
    if (one_in(12)) size = static_cast<int32_t>(below(6));
  }
  return sizes;
}

int32_t CallGenerator::add_tensor(Call& call, uint32_t index) {
  const std::string_view name = call.name(index), op = call.kernel.name;
  const bool is_written = call.is_written(index);
  TensorSpec tensor;
  tensor.dtype = call.dtype;
  if (contains(name, {"mask", "condition"})) tensor.dtype = kBool;
  if (contains(name, {"ind", "offset", "repeats", "bag"}) && name != "input" && name != "grad_input")
    tensor.dtype = kInt64;
  if (is_written && contains(op, {"nonzero", "repeat_interleave", "argm"})) tensor.dtype = kInt64;
  if (is_written &&
      (contains(op, {"::any", "::eq", "::ne", "::lt", "::le", "::gt", "::ge", "::is", "logical"}) ||
       one_in(10)))
    tensor.dtype = one_in(4) ? any_dtype() : kBool;
  if (contains(op, {"quantize", "mixed_", "embedding_byte", "bit"}) && one_in(2))
    tensor.dtype = one_in(2) ? kFloat32 : any_dtype();
  const bool is_complex = contains(op, {"fft_c2c"}) || contains(op, {"as_real", "fft_c2r"}) != is_written;
  if (is_complex && contains(op, {"fft", "complex", "as_real"}) && !one_in(8)) tensor.dtype = kComplex64;
  if (contains(name, {"pivots", "info", "exponent"}) && !one_in(8)) tensor.dtype = kInt32;
  if (contains(op, {"embedding_"}) && name == "weight" && !one_in(4))
    tensor.dtype = contains(op, {"bit"}) ? kUint8 : kInt8;
  if (contains(op, {"mixed_"}) && name == "weight" && !one_in(4)) tensor.dtype = kInt8;
  size_t rank = one_in(4) ? below(5) : call.rank;
  if (contains(name, {"pivots", "info", "tau"}) && !one_in(4))
    rank = call.rank > 1 && !contains(name, {"info"}) ? call.rank - 1 : 0;
  if (contains(op, {"as_real", "as_complex"}) && is_written && !one_in(4))
    rank = contains(op, {"as_real"}) ? call.rank + 1 : call.rank - (call.rank != 0 ? 1 : 0);
  if (contains(name, {"bias", "running_", "save_", "mean", "rstd", "invstd"}) && one_in(2)) rank = 1;
  if (is_written && contains(op, {"masked_select", "repeat_interleave", "arange", "randperm"})) rank = 1;
  if (is_written && contains(op, {"nonzero"})) rank = 2;
  tensor.sizes = sizes_of_rank(call, rank);
  if (is_written) {
    tensor.dynamism = one_in(6) ? 0 : 1;
    for (int32_t& size : tensor.sizes) size += static_cast<int32_t>(tensor.dynamism == 1 ? 4 + below(4) : 0);
  } else {
    call.has_tensor = true;
    const int32_t found = one_in(2) ? find_tensor(call, tensor.dtype) : -1;
    if (found >= 0) return found;
    if (one_in(8)) tensor.dynamism = 1;
  }
  if (one_in(10) && tensor.sizes.size() > 1) {
    tensor.dim_order.resize(tensor.sizes.size());
    std::iota(tensor.dim_order.begin(), tensor.dim_order.end(), uint8_t{0});
    std::shuffle(tensor.dim_order.begin(), tensor.dim_order.end(), random_);
  }
  return place(call, std::move(tensor));
}

// Picks an existing tensor of the dtype. Returns -1 when there is none.
int32_t CallGenerator::find_tensor(Call& call, int8_t dtype) {
  std::vector<int32_t> fitting;
  for (size_t i = 0; i < call.method.values.size(); ++i) {
    const auto* tensor = std::get_if<TensorSpec>(&call.method.values[i]);
    if (tensor != nullptr && tensor->dtype == dtype) fitting.push_back(static_cast<int32_t>(i));
  }
  return fitting.empty() ? -1 : pick(fitting);
}

// Plans the tensor in arena 1: after all others, or over existing tensors.
int32_t CallGenerator::place(Call& call, TensorSpec tensor) {
  auto& arenas = call.method.arena_sizes;
  if (arenas.size() < 2) arenas.resize(2, 0);
  const auto nbytes = static_cast<int64_t>(
      format::checked_nbytes(static_cast<uint8_t>(tensor.dtype), tensor.sizes).value_or(0));
  int64_t offset = (arenas[1] + 15) / 16 * 16;
  if (offset + nbytes > kMaxArenaNbytes || one_in(16))
    offset = below(static_cast<size_t>(arenas[1] / 16 + 1)) * 16;
  arenas[1] = std::max(arenas[1], offset + nbytes);
  tensor.memory_id = 1;
  tensor.memory_offset = static_cast<uint64_t>(offset);
  if (one_in(3)) set_initial_value(call, tensor, static_cast<uint64_t>(nbytes));
  const bool is_input = tensor.data_index == 0 && one_in(6);
  const int32_t index = call.add(std::move(tensor));
  if (is_input) call.method.inputs.push_back(index);
  return index;
}

void CallGenerator::set_initial_value(Call& call, TensorSpec& tensor, uint64_t nbytes) {
  ProgramSpec& program = call.program;
  if (nbytes > 4096) return;
  if (program.mutable_offsets.empty()) {
    program.mutable_offsets.push_back(0);
    program.mutable_segment = static_cast<uint32_t>(program.segments.size());
    program.segments.emplace_back();
  }
  std::string& segment = program.segments[program.mutable_segment];
  tensor.data_index = static_cast<uint32_t>(program.mutable_offsets.size());
  program.mutable_offsets.push_back(segment.size());
  const uint32_t width = format::element_nbytes(static_cast<uint8_t>(tensor.dtype));
  for (uint64_t i = 0; i < nbytes; ++i) {
    // Makes small integers, or floats of about 1 where the high bytes decide.
    const bool is_low = width == 0 || i % width == 0;
    segment.push_back(is_low       ? static_cast<char>(below(3))
                      : one_in(64) ? static_cast<char>(below(256))
                                   : '\0');
  }
}

int32_t CallGenerator::add_int(Call& call, uint32_t index) {
  const std::string_view name = call.name(index);
  if (contains(name, {"dim", "axis"}) && !one_in(8)) {
    const auto rank = static_cast<int64_t>(std::max<size_t>(call.rank, 1));
    return call.add(static_cast<int64_t>(below(static_cast<size_t>(2 * rank))) - rank);
  }
  if (contains(name, {"dtype"})) return call.add(static_cast<int64_t>(one_in(2) ? call.dtype : any_dtype()));
  if (contains(name, {"group"}) && !one_in(4)) return call.add(int64_t{1});
  if (name == "N" || name == "C" || contains(name, {"factor"}))
    return call.add(int64_t{one_in(2) ? call.size : 1});
  if (contains(name, {"quant_min"})) return call.add(int64_t{-128});
  if (contains(name, {"quant_max"})) return call.add(int64_t{127});
  return call.add(any_int());
}

int32_t CallGenerator::add_int_list(Call& call, uint32_t index) {
  const std::string_view name = call.name(index), op = call.kernel.name;
  size_t count = call.rank;
  if (call.schema != nullptr && index < call.schema->argument_count()) {
    const uint8_t list_size = call.schema->argument(index).type.list_size;
    if (list_size != 0 && !one_in(6)) count = list_size;
  }
  if (contains(op, {"pad1d"})) count = 2;
  if (contains(op, {"pad2d", "constant_pad"})) count = 4;
  if (contains(op, {"pad3d"})) count = 6;
  if (contains(op, {"2d", "3d"}) && name != "padding") count = contains(op, {"3d"}) ? 3 : 2;
  if (contains(op, {"convolution"})) count = one_in(2) || call.rank < 3 ? 1 : call.rank - 2;
  if (contains(name, {"normalized_shape"})) count = 1 + below(2);
  if (one_in(16)) count = below(6);
  format::IntListSpec list;
  for (size_t i = 0; i < count; ++i) {
    int64_t item = any_int();
    if (contains(name, {"size", "shape"}) && !one_in(6)) item = call.size;
    if (contains(name, {"kernel", "stride", "dilation", "repeats"}) && !one_in(6)) item = 1 + below(2);
    if (contains(name, {"pad"}) && !one_in(6)) item = below(2);
    if (contains(name, {"dim"}) && !one_in(6)) item = static_cast<int64_t>(i);
    list.items.push_back(call.add(item));
  }
  return call.add(std::move(list));
}

int32_t CallGenerator::add_tensor_list(Call& call, char letter, uint32_t index) {
  std::vector<int32_t> items;
  size_t count = letter == 'M' ? std::max<size_t>(1, call.rank) : 1 + below(4);
  if (call.is_written(index) && !one_in(4)) count = static_cast<size_t>(call.size);
  for (size_t i = 0; i < count; ++i) {
    if (letter == 'M' && one_in(3)) {
      items.push_back(-1);
      continue;
    }
    TensorSpec tensor;
    tensor.dtype = letter == 'M' ? (one_in(3) ? kBool : kInt64) : call.dtype;
    tensor.sizes = sizes_of_rank(call, letter == 'M' && !one_in(3) ? 1 : call.rank);
    tensor.dynamism = call.is_written(index) ? 1 : 0;
    items.push_back(place(call, std::move(tensor)));
  }
  if (letter == 'M') return call.add(format::OptionalTensorListSpec{std::move(items)});
  return call.add(format::TensorListSpec{std::move(items)});
}

}  // namespace etb::host
