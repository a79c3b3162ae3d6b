// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/run/constants.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "plugins/gpu/plan/codes.hpp"
#include "plugins/gpu/run/host_numbers.hpp"

namespace etb::gpu {

namespace {

// Bytes of an element in the program.
uint32_t stored_nbytes(const GpuValue& value) {
  if (value.codes.bits != 0) return 1;
  return value.host == HostNumbers::kHalves ? 2 : nbytes_of(value.type);
}

// Returns the bytes of a constant in the program: at least as many as its sizes say.
Result<Payload> named_bytes(const GpuValue& value, const NamedData& data) {
  ETB_ASSIGN(Payload bytes, data.get(value.key.c_str()));
  const uint64_t expected = value.shape.numel() * stored_nbytes(value);
  if (bytes.bytes().size() < expected)
    return make_error(Code::INVALID_DATA, "named data '" + value.key + "' of " +
                                              std::to_string(bytes.bytes().size()) + " bytes, expected " +
                                              std::to_string(expected));
  return bytes;
}

Result<std::vector<float>> decoded_numbers(const GpuGraph& graph, const GpuValue& value,
                                           const NamedData& data);

// Returns the numbers of a constant, in the order of the program.
Result<std::vector<float>> numbers_of(const GpuGraph& graph, uint32_t id, const NamedData& data) {
  const GpuValue& value = graph.value(id);
  if (value.role == ValueRole::kInline) return value.floats;
  if (value.codes.bits != 0) return decoded_numbers(graph, value, data);
  std::vector<float> numbers(value.shape.numel());
  ETB_ASSIGN(const Payload bytes, named_bytes(value, data));
  read_numbers(bytes.bytes().data(), expected_dtype(value), numbers);
  return numbers;
}

// The numbers beside the codes of a constant.
struct Factors {
  std::vector<float> scales, zero_points;
};

Result<Factors> factors_of(const GpuGraph& graph, const Codes& codes, const NamedData& data) {
  Factors factors;
  ETB_ASSIGN(factors.scales, numbers_of(graph, codes.scales, data));
  if (codes.zero_points != kNoValue) {
    ETB_ASSIGN(factors.zero_points, numbers_of(graph, codes.zero_points, data));
  }
  return factors;
}

Result<std::vector<float>> decoded_numbers(const GpuGraph& graph, const GpuValue& value,
                                           const NamedData& data) {
  ETB_ASSIGN(const Factors factors, factors_of(graph, value.codes, data));
  ETB_ASSIGN(const Payload bytes, named_bytes(value, data));
  std::vector<float> numbers(value.shape.numel());
  decode({value, factors.scales, factors.zero_points, bytes.bytes()}, numbers);
  return numbers;
}

// Returns the numbers of a value that a batch norm is folded into; nothing for other values.
Result<std::vector<float>> folded_numbers(const ExecutionPlan& plan, uint32_t value, const NamedData& data) {
  for (const BatchNormFold& fold : plan.folds) {
    if (fold.filters != value && fold.new_bias != value) continue;
    const auto numbers = [&](uint32_t id) { return numbers_of(plan.graph, id, data); };
    ETB_ASSIGN(const std::vector<float> weight, numbers(fold.weight));
    ETB_ASSIGN(const std::vector<float> bias, numbers(fold.bias));
    ETB_ASSIGN(const std::vector<float> mean, numbers(fold.mean));
    ETB_ASSIGN(const std::vector<float> variance, numbers(fold.variance));
    const BatchNormNumbers norm{weight, bias, mean, variance, fold.eps};
    std::vector<float> made(weight.size(), 0.0f);
    if (fold.filters == value) {
      ETB_ASSIGN(made, numbers(value));
      fold_filters(norm, made);
      return made;
    }
    if (fold.convolution_bias != kNoValue) {
      ETB_ASSIGN(made, numbers(fold.convolution_bias));
    }
    fold_bias(norm, made);
    return made;
  }
  return std::vector<float>();
}

constexpr uint64_t kLeastFromFile = 64 << 10;  // less is not worth the calls

// Copies the first bytes of a payload: large ones from its file, so that they are in the memory of the device and nowhere else.
void copy_bytes(const Payload& from, std::byte* to, uint64_t nbytes) {
  const Payload::File file = from.file();
  uint64_t done = 0;
  while (file.fd >= 0 && nbytes >= kLeastFromFile && done < nbytes) {
    const ssize_t count =
        ::pread(file.fd, to + done, nbytes - done, static_cast<off_t>(file.offset_bytes + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;  // the bytes are in memory, too
    done += static_cast<uint64_t>(count);
  }
  if (done < nbytes) std::memcpy(to + done, from.bytes().data() + done, nbytes - done);
}

// Writes the codes of a constant, or their scales and zero points.
Status write_coded(const ExecutionPlan& plan, const PackedConstant& constant, const NamedData& data,
                   std::byte* to) {
  const bool are_factors = constant.packing == Packing::kFactors;
  const PackedConstant& codes = are_factors ? plan.constants[constant.codes] : constant;
  const GpuValue& value = plan.graph.value(codes.value);
  if (are_factors) {
    ETB_ASSIGN(const Factors factors, factors_of(plan.graph, value.codes, data));
    pack_factors(codes, {value, factors.scales, factors.zero_points},
                 {reinterpret_cast<float*>(to), factor_count(codes, value)});
    return {};
  }
  ETB_ASSIGN(const Payload bytes, named_bytes(value, data));
  return pack_codes(constant, {value, {}, {}, bytes.bytes()},
                    {reinterpret_cast<uint32_t*>(to), code_word_count(constant, value)});
}

// Writes a constant that has elements of float16 in the program and on the device.
Status write_half_elements(const PackedConstant& constant, const GpuValue& value, const NamedData& data,
                           std::byte* to) {
  ETB_ASSIGN(const Payload bytes, named_bytes(value, data));
  if (constant.packing == Packing::kPlain) {
    copy_bytes(bytes, to, value.shape.numel() * element_nbytes(value));
  } else {
    pack(constant, value.shape, bytes.bytes().data(), reinterpret_cast<uint16_t*>(to));
  }
  return {};
}

}  // namespace

Status write_constants(const ExecutionPlan& plan, const NamedData& data, std::byte* to) {
  for (const PackedConstant& constant : plan.constants) {
    const GpuValue& value = plan.graph.value(constant.value);
    std::byte* at = to + plan.memory.locations[constant.value].offset;
    if (value.factors != kNoValue || constant.packing == Packing::kFactors) {
      ETB_TRY(write_coded(plan, constant, data, at));
      continue;
    }
    if (value.has_halves) {
      ETB_ASSIGN(const Payload bytes, named_bytes(value, data));
      pack_halves(constant, value.shape, bytes.bytes().data(), reinterpret_cast<uint32_t*>(at));
      continue;
    }
    if (value.is_half) {
      ETB_TRY(write_half_elements(constant, value, data, at));
      continue;
    }
    ETB_ASSIGN(std::vector<float> changed, folded_numbers(plan, constant.value, data));
    if (changed.empty() && (value.codes.bits != 0 || value.host == HostNumbers::kHalves)) {
      ETB_ASSIGN(changed, numbers_of(plan.graph, constant.value, data));
    }
    if (!changed.empty()) {
      pack(constant, value.shape, std::as_bytes(std::span(changed)).data(), reinterpret_cast<float*>(at));
      continue;
    }
    if (value.role == ValueRole::kInline) {
      pack(constant, value.shape, std::as_bytes(std::span(value.floats)).data(),
           reinterpret_cast<float*>(at));
      continue;
    }
    ETB_ASSIGN(const Payload bytes, named_bytes(value, data));
    if (constant.packing == Packing::kPlain) {
      copy_bytes(bytes, at, value.shape.numel() * nbytes_of(value.type));
    } else {
      pack(constant, value.shape, bytes.bytes().data(), reinterpret_cast<float*>(at));
    }
  }
  return {};
}

}  // namespace etb::gpu
