// SPDX-License-Identifier: Apache-2.0
//
// Inputs of a run: Python objects as values of the C API. Elements stay where they are if their layout is the
// program's; else one copy is packed.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "etb/etbackend.h"

namespace etb::python {

// Description of one input or output of a method.
struct Spec {
  uint32_t kind = ETB_VALUE_NONE;  // ETB_VALUE_*
  etb_dtype dtype = 0;
  std::vector<int64_t> sizes;      // upper bounds of a dynamic tensor
  std::vector<uint8_t> dim_order;  // of a tensor
  uint64_t nbytes = 0;
  bool is_dynamic = false;
};

// DLPack's stable struct around a tensor (dlpack.h, version 0.x); nanobind has the tensor's alone.
struct ManagedTensor;

// One input. It holds the Python object's memory until it ends, which needs the GIL.
class InputValue {
 public:
  InputValue() = default;
  InputValue(const InputValue&) = delete;
  InputValue& operator=(const InputValue&) = delete;
  ~InputValue();

  // Reads a Python object. Raises etbackend.Error for one that is no value, or is not in host memory. `spec`: of
  // the input; NULL if the method has none at `index`.
  void read(nanobind::handle given, uint32_t index, const Spec* spec);

  const etb_value& value() const { return value_; }
  bool is_torch() const { return is_torch_; }

 private:
  bool read_number(nanobind::handle given, uint32_t index, const Spec* spec);
  void read_buffer(nanobind::handle given, uint32_t index, const Spec* spec);
  void read_dlpack(nanobind::handle given, uint32_t index, const Spec* spec);
  void set_tensor(const void* data, etb_dtype dtype, std::span<const int64_t> sizes,
                  std::span<const int64_t> byte_strides, const Spec* spec);
  void pack(const std::byte* data, std::span<const int64_t> byte_strides, std::span<const int64_t> packed,
            size_t nbytes, uint32_t item);

  etb_value value_ = ETB_VALUE_INIT;
  std::array<int64_t, ETB_MAX_RANK> sizes_{};
  Py_buffer buffer_{};
  bool has_buffer_ = false;
  ManagedTensor* managed_ = nullptr;
  std::unique_ptr<std::byte[]> packed_;
  bool is_torch_ = false;
};

}  // namespace etb::python
