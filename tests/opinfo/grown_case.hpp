// SPDX-License-Identifier: Apache-2.0
// Grows a case until the kernel runs long: the same call with larger tensors.
#pragma once

#include <sys/mman.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/opinfo/case_file.hpp"

namespace etb::tests {

// Zeroed memory that the system allocates on first touch.
class LazyMemory {
 public:
  explicit LazyMemory(size_t nbytes);
  LazyMemory(const LazyMemory&) = delete;
  LazyMemory& operator=(const LazyMemory&) = delete;
  ~LazyMemory() { munmap(data_, nbytes_); }
  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(data_), nbytes_}; }

 private:
  void* data_;
  size_t nbytes_;
};

// The sizes to grow. Calling the kernel shows if it accepts them.
struct Growth {
  enum class Where : uint8_t { kEqualSizes, kEqualSizesAndNumbers, kFirstDim, kLastDim };
  Where where;
  int64_t value;  // for kEqualSizes: the size, or number, that grows in all positions
  std::string to_text() const;
};

// Returns all growths worth trying for a case.
std::vector<Growth> list_growths(const Case& one);

// Returns the bytes of all given tensors after growth; INT64_MAX if no number holds them.
int64_t grown_nbytes(const Case& one, const Growth& growth, int64_t factor);

class GrownCase {
 public:
  // Inputs repeat the elements of the case.
  GrownCase(const Case& one, const Growth& growth, int64_t factor);

  std::vector<host::EValue*>& args() { return args_; }

 private:
  host::EValue* make(host::EValue value);
  host::EValue* grow(const host::EValue& value);
  host::EValue* grow_tensor(const host::Tensor& from);
  int64_t grow_number(int64_t number) const;

  const Case& one_;
  const Growth growth_;
  const int64_t factor_;
  const int max_rank_;
  std::vector<host::EValue*> args_;
  std::vector<std::unique_ptr<host::EValue>> values_;
  std::vector<std::unique_ptr<std::vector<host::EValue*>>> lists_;
  std::vector<std::unique_ptr<host::TensorStorage>> storages_;
  std::vector<std::unique_ptr<host::Tensor>> tensors_;
  std::vector<std::unique_ptr<LazyMemory>> memory_;
};

}  // namespace etb::tests
