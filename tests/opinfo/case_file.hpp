// SPDX-License-Identifier: Apache-2.0
// Case files: calls of kernels with PyTorch's results, written by make_cases.py.
//
// Little-endian. "ETBCASE1", u32 case count, u32 name length, name of the op, cases. A case: u32 length of
// the rest, f64 scale (reference for the error of an accumulating op, else 0), u16 argument count, source,
// arguments. The source is u16 length and text. An argument is a kind byte and its content:
//    0 none   1 tensor   2 int i64   3 double f64   4 bool u8   5 string (u32 length, bytes)
//    6 int list, 7 double list, 8 bool list (u32 count, items)
//    9 tensor list, 10 optional tensor list (u32 count, u8 present, tensor)
//   11 output tensor (expected)   12 output tensor list   13 tensor changed in place (before, expected)
//   14 output with unspecified values
// A tensor: i8 dtype, u8 rank, i64 sizes, u8 dim order, elements in that order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "etb/cpp/result.hpp"
#include "host/runtime/evalue.hpp"

namespace etb::tests {

// A tensor that owns its elements in an allocation of exactly their size, so that AddressSanitizer detects
// access beyond.
class OwnedTensor {
 public:
  OwnedTensor(host::Dtype dtype, const std::vector<int64_t>& sizes, const std::vector<uint8_t>& dim_order,
              host::Dynamism dynamism);
  OwnedTensor(const OwnedTensor&) = delete;
  OwnedTensor& operator=(const OwnedTensor&) = delete;

  host::Tensor& tensor() { return tensor_; }
  const host::Tensor& tensor() const { return tensor_; }
  std::vector<uint8_t> bytes() const;

 private:
  host::TensorStorage storage_;
  std::unique_ptr<uint8_t[]> memory_;
  host::Tensor tensor_;
};

// One call: arguments for a kernel, and the expected contents of its outputs.
struct Case {
  struct Output {
    host::Tensor* actual;
    const host::Tensor* expected;
    bool is_open;  // only sizes are defined
  };
  std::string source;
  double scale = 0.0;
  std::vector<host::EValue*> args;
  std::vector<Output> outputs;
  std::vector<const OwnedTensor*> inputs;  // must stay unchanged
  std::vector<host::Dtype> input_dtypes;

  // Owners of the objects that the pointers above refer to.
  std::vector<std::unique_ptr<OwnedTensor>> tensors;
  std::vector<std::unique_ptr<host::EValue>> values;
  std::vector<std::unique_ptr<std::vector<host::EValue*>>> lists;
  std::vector<std::unique_ptr<std::vector<double>>> doubles;
  std::vector<std::unique_ptr<std::vector<uint8_t>>> bytes;
  std::vector<std::unique_ptr<std::string>> strings;
};

struct CaseFile {
  std::string op;
  std::vector<Case> cases;
};

// Reads a whole file. Outputs are bounded, filled with 0xA5 and have wrong sizes, so that a kernel must
// resize and fill them.
Result<CaseFile> read_case_file(const std::string& path);

// Returns a text about a difference beyond the error model, or "" if the tensors agree.
std::string compare(const std::string& op, const Case& one, const host::Tensor& actual,
                    const host::Tensor& expected);

}  // namespace etb::tests
