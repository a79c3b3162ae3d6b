// SPDX-License-Identifier: Apache-2.0
// EValue: one value of a method - a tensor, a number, a string, a list, or nothing.
#pragma once

#include <cassert>
#include <cstdint>
#include <span>
#include <string_view>

#include "host/runtime/tensor.hpp"

namespace etb::host {

class EValue;

// Kind of the value that an EValue holds. An optional argument that is absent is kNone.
enum class Tag : uint8_t {
  kNone,
  kTensor,
  kString,
  kDouble,
  kInt,
  kBool,
  kBoolList,
  kDoubleList,
  kIntList,             // items are values of tag kInt: a size may be known only at run time
  kTensorList,          // items are values of tag kTensor
  kOptionalTensorList,  // items are values of tag kTensor or kNone; a null pointer also means none
};

constexpr const char* to_text(Tag tag) noexcept {
  constexpr const char* kText[] = {"none",
                                   "tensor",
                                   "string",
                                   "double",
                                   "int",
                                   "bool",
                                   "bool list",
                                   "double list",
                                   "int list",
                                   "tensor list",
                                   "optional tensor list"};
  return static_cast<size_t>(tag) < std::size(kText) ? kText[static_cast<size_t>(tag)] : "unknown tag";
}

// A list of ints that are stored in other values. Read an item when it is needed, because it may change.
class IntList {
 public:
  IntList() = default;
  IntList(EValue* const* items, size_t count) : items_(items), count_(count) {}
  size_t size() const noexcept { return count_; }
  bool empty() const noexcept { return count_ == 0; }
  inline int64_t operator[](size_t index) const noexcept;

 private:
  EValue* const* items_ = nullptr;
  size_t count_ = 0;
};

// A value of 16 bytes, copied freely. Pointers inside are borrowed from the creator of the value (a method, a
// test). Copying a tensor value aliases the tensor, sizes included.
class EValue {
 public:
  EValue() noexcept : as_{.integer = 0} {}
  explicit EValue(Tensor* tensor) noexcept : as_{.tensor = tensor}, tag_(Tag::kTensor) {}
  explicit EValue(int64_t value) noexcept : as_{.integer = value}, tag_(Tag::kInt) {}
  explicit EValue(double value) noexcept : as_{.real = value}, tag_(Tag::kDouble) {}
  explicit EValue(bool value) noexcept : as_{.integer = value ? 1 : 0}, tag_(Tag::kBool) {}
  explicit EValue(std::string_view text) noexcept
      : as_{.text = text.data()}, count_(static_cast<uint32_t>(text.size())), tag_(Tag::kString) {}

  // Without this overload a literal would become a bool.
  explicit EValue(const char* text) noexcept : EValue(std::string_view(text)) {}

  // The caller keeps `items`. The flatbuffer stores bools as bytes, so a bool list is a list of bytes.
  static EValue bool_list(std::span<const uint8_t> items) noexcept {
    return {Payload{.bools = items.data()}, items.size(), Tag::kBoolList};
  }
  static EValue double_list(std::span<const double> items) noexcept {
    return {Payload{.reals = items.data()}, items.size(), Tag::kDoubleList};
  }
  static EValue int_list(std::span<EValue* const> items) noexcept {
    return {Payload{.values = items.data()}, items.size(), Tag::kIntList};
  }
  static EValue tensor_list(std::span<EValue* const> items) noexcept {
    return {Payload{.values = items.data()}, items.size(), Tag::kTensorList};
  }
  static EValue optional_tensor_list(std::span<EValue* const> items) noexcept {
    return {Payload{.values = items.data()}, items.size(), Tag::kOptionalTensorList};
  }

  Tag tag() const noexcept { return tag_; }
  bool is_none() const noexcept { return tag_ == Tag::kNone; }
  bool is_tensor() const noexcept { return tag_ == Tag::kTensor; }
  bool is_int() const noexcept { return tag_ == Tag::kInt; }
  bool is_double() const noexcept { return tag_ == Tag::kDouble; }
  bool is_bool() const noexcept { return tag_ == Tag::kBool; }
  // True for an int, double or bool, which a schema calls Scalar.
  bool is_scalar() const noexcept { return is_int() || is_double() || is_bool(); }

  // The getters below expect the tag in their name. The caller of a kernel has checked it (check_arguments).
  Tensor& tensor() const noexcept {
    assert(is_tensor());
    return *as_.tensor;
  }
  int64_t to_int() const noexcept {
    assert(is_int() || is_bool());
    return as_.integer;
  }
  bool to_bool() const noexcept {
    assert(is_bool() || is_int());
    return as_.integer != 0;
  }
  // Returns a double, converted from any kind of number.
  double to_double() const noexcept {
    assert(is_scalar());
    return is_double() ? as_.real : static_cast<double>(as_.integer);
  }
  std::string_view string() const noexcept {
    assert(tag_ == Tag::kString);
    return {as_.text, count_};
  }
  std::span<const uint8_t> bools() const noexcept {
    assert(tag_ == Tag::kBoolList);
    return {as_.bools, count_};
  }
  std::span<const double> doubles() const noexcept {
    assert(tag_ == Tag::kDoubleList);
    return {as_.reals, count_};
  }
  IntList ints() const noexcept {
    assert(tag_ == Tag::kIntList);
    return {as_.values, count_};
  }
  // Items of an int, tensor or optional tensor list.
  std::span<EValue* const> values() const noexcept {
    assert(tag_ == Tag::kIntList || tag_ == Tag::kTensorList || tag_ == Tag::kOptionalTensorList);
    return {as_.values, count_};
  }

 private:
  union Payload {
    int64_t integer;
    double real;
    Tensor* tensor;
    const char* text;
    const uint8_t* bools;
    const double* reals;
    EValue* const* values;
  };
  EValue(Payload payload, size_t count, Tag tag) noexcept
      : as_(payload), count_(static_cast<uint32_t>(count)), tag_(tag) {}

  Payload as_;
  uint32_t count_ = 0;
  Tag tag_ = Tag::kNone;
};

static_assert(sizeof(EValue) == 16 || sizeof(void*) != 8);

inline int64_t IntList::operator[](size_t index) const noexcept { return items_[index]->to_int(); }

}  // namespace etb::host
