// SPDX-License-Identifier: Apache-2.0
// An official VulkanBackend payload, read and verified: a header with the magic "VH00" (api/format/delegate_sections.hpp),
// a graph (a FlatBuffer, "VK00"), and the bytes of constants that are not named data.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "etb/cpp/result.hpp"
#include "etb_schema/vulkan_graph_generated.h"
#include "plugins/gpu/graph/graph.hpp"

namespace etb::gpu {

// Element types by their number in the file.
enum class ElementType : int8_t {
  kBool = 0,
  kUint8 = 1,
  kInt8 = 2,
  kInt32 = 3,
  kFloat16 = 4,
  kFloat32 = 5,
  kFloat64 = 6,
  kInt64 = 7,
};
const char* to_text(ElementType type);
uint32_t nbytes_of(ElementType type);

struct FileTensor {
  ElementType type = ElementType::kFloat32;
  bool is_half_outside = false;  // float16 in the program, too
  Shape shape = {};              // upper bounds
  int32_t constant = -1;
};

// The graph of a payload. Refers to the payload's bytes.
class VulkanFile {
 public:
  // Reads any bytes. Returns a file only if sizes, offsets and indices are within their bounds: each value has content, each
  // tensor a known type and at most kMaxRank sizes, each call an operator and arguments.
  [[nodiscard]] static Result<VulkanFile> read(std::span<const std::byte> bytes);

  const vulkan_schema::Graph& graph() const { return *graph_; }
  uint32_t value_count() const { return static_cast<uint32_t>(tensors_.size()); }
  const vulkan_schema::Value& value(uint32_t index) const { return *graph_->values()->Get(index); }
  // The tensor of a value, or NULL if it is none.
  const FileTensor* tensor(uint32_t index) const { return is_tensor_[index] ? &tensors_[index] : nullptr; }
  // True if tensors have smaller bounds than the file states, because no device has memory for those.
  bool has_smaller_bounds() const { return divisor_ != 1; }
  // Bytes of a constant without a key.
  std::span<const std::byte> stored_bytes(const vulkan_schema::Constant& constant) const {
    return bytes_.subspan(constant.offset(), constant.nbytes());
  }

 private:
  Status verify();
  Status verify_values();
  Status read_tensors(uint32_t divisor);
  Status verify_constants();
  Status verify_calls();
  Status verify_arguments(const flatbuffers::Vector<uint32_t>* ids, const char* what);

  std::vector<uint64_t> aligned_;  // a copy of a graph at an odd address
  std::span<const std::byte> bytes_;
  const vulkan_schema::Graph* graph_ = nullptr;
  std::vector<FileTensor> tensors_;  // by value
  std::vector<bool> is_tensor_;
  uint32_t divisor_ = 1;  // long dimensions are divided by it
};

// A part of a message.
class MessagePart {
 public:
  MessagePart(std::string_view text) : text_(text) {}
  MessagePart(const std::string& text) : text_(text) {}
  MessagePart(const char* text) : text_(text) {}
  template <class T>
  MessagePart(T number) requires std::is_arithmetic_v<T> : is_text_(false), is_whole_(std::is_integral_v<T>) {
    if constexpr (std::is_integral_v<T>) {
      whole_ = static_cast<int64_t>(number);
      is_unsigned_ = std::is_unsigned_v<T>;
    } else {
      number_ = number;
    }
  }
  void append_to(std::string& out) const;

 private:
  std::string_view text_ = {};
  int64_t whole_ = 0;
  double number_ = 0;
  bool is_text_ = true, is_whole_ = false, is_unsigned_ = false;
};

// Returns an error with the parts joined as its text.
[[gnu::cold]] tl::unexpected<Error> failed(Code code, std::initializer_list<MessagePart> parts);

template <class... T>
tl::unexpected<Error> bad(const T&... parts) {
  return failed(Code::INVALID_DATA, {MessagePart(parts)...});
}

}  // namespace etb::gpu
