// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/official/constants.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plugins/gpu/run/host_numbers.hpp"

namespace etb::gpu {

namespace fb = vulkan_schema;

namespace {

etb_dtype dtype_of(ElementType type) {
  static constexpr etb_dtype kDtypes[] = {ETB_DTYPE_BOOL,    ETB_DTYPE_UINT8,   ETB_DTYPE_INT8,
                                          ETB_DTYPE_INT32,   ETB_DTYPE_FLOAT16, ETB_DTYPE_FLOAT32,
                                          ETB_DTYPE_FLOAT64, ETB_DTYPE_INT64};
  return kDtypes[static_cast<uint8_t>(type)];
}

bool has_key(const fb::Constant& constant) {
  return constant.key() != nullptr && constant.key()->size() != 0;
}

struct Numbers {
  std::vector<float> floats;
  ReadNumbers facts;
};

Result<Numbers> read_all(const VulkanFile& file, const FileTensor& tensor, const NamedData& data) {
  const auto index = static_cast<uint32_t>(tensor.constant);
  const fb::Constant& constant = *file.graph().constants()->Get(index);
  const uint64_t expected = tensor.shape.numel() * nbytes_of(tensor.type);
  Numbers numbers;
  const auto read = [&](std::span<const std::byte> bytes) -> Status {
    if (bytes.size() < expected)
      return bad("constant ", index, ": ", bytes.size(), " bytes, expected ", expected);
    numbers.floats.resize(tensor.shape.numel());
    numbers.facts = read_numbers(bytes.data(), dtype_of(tensor.type), numbers.floats);
    return {};
  };
  if (has_key(constant)) {
    ETB_ASSIGN(const Payload bytes, data.get(constant.key()->c_str()));
    ETB_TRY(read(bytes.bytes()));
  } else {
    ETB_TRY(read(file.stored_bytes(constant)));
  }
  return numbers;
}

// NaN is no number here.
double largest_of(std::span<const float> floats) {
  double largest = 0;
  for (const float number : floats) largest = std::max(largest, std::abs(static_cast<double>(number)));
  return largest;
}

}  // namespace

Result<std::vector<float>> read_constant_floats(const VulkanFile& file, const FileTensor& tensor,
                                                const NamedData& data) {
  ETB_ASSIGN(Numbers numbers, read_all(file, tensor, data));
  return std::move(numbers.floats);
}

Result<FileConstant> read_constant(const VulkanFile& file, uint32_t value, const NamedData& data) {
  const FileTensor& tensor = *file.tensor(value);
  const auto index = static_cast<uint32_t>(tensor.constant);
  const fb::Constant& constant = *file.graph().constants()->Get(index);
  const uint64_t expected = tensor.shape.numel() * nbytes_of(tensor.type);
  if (constant.nbytes() < expected)
    return bad("value ", value, ": constant ", index, " of ", constant.nbytes(), " bytes, expected ",
               expected);
  FileConstant made;
  made.value.shape = tensor.shape;
  if (tensor.type == ElementType::kFloat32 && has_key(constant) && expected != 0) {
    made.value.role = ValueRole::kConstant;
    made.value.key = constant.key()->str();
    // A factor or summand of positions, most likely.
    constexpr uint64_t kMostRead = 16;
    made.magnitude = std::numeric_limits<double>::infinity();
    if (tensor.shape.numel() > kMostRead) return made;
    ETB_ASSIGN(const Numbers numbers, read_all(file, tensor, data));
    made.magnitude = largest_of(numbers.floats);
    return made;
  }
  auto numbers = read_all(file, tensor, data);
  if (!numbers)
    return tl::make_unexpected(with_context(std::move(numbers).error(), "value " + std::to_string(value)));
  if (!numbers->facts.is_exact)
    return make_error(Code::NOT_SUPPORTED, "value " + std::to_string(value) + ": constant " +
                                               std::to_string(index) +
                                               " has integers that floats do not represent");
  made.value.role = ValueRole::kInline;
  made.value.floats = std::move(numbers->floats);
  made.magnitude = largest_of(made.value.floats);
  return made;
}

}  // namespace etb::gpu
