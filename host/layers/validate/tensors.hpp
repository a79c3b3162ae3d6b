// SPDX-License-Identifier: Apache-2.0
// GuardedTensors: copies of a run's tensors for the plugin: inputs that it must not change, and outputs
// outside of which it must not write (ABI-TENSOR-02, ABI-TENSOR-03).
#pragma once

#include <memory>
#include <vector>

#include "host/layers/validate/borrowed.hpp"

namespace etb::host::validate {

// True if the host may pass this tensor. `need` is NULL when the delegate's requirements are unknown.
bool check_tensor(Call& call, const etb_tensor& tensor, const IoNeed* need, const std::string& where);

// Replaces the host's tensors.
class GuardedTensors {
 public:
  // `real` has passed check_tensor. `has_data` false: passes only sizes (context_reserve).
  GuardedTensors(Call& call, const etb_tensor* real, uint32_t count, const char* name, bool is_output,
                 bool has_data, GuardSide side = GuardSide::kAtEnd);
  GuardedTensors(const GuardedTensors&) = delete;
  GuardedTensors& operator=(const GuardedTensors&) = delete;

  etb_tensor* get() { return reinterpret_cast<etb_tensor*>(structs_->data()); }

  // Called after the call: reports violations, and copies outputs back to the host when the call succeeded.
  void commit(etb_status status);

 private:
  struct One {
    std::unique_ptr<GuardedBytes> data;
    std::unique_ptr<GuardedBytes> sizes;
  };

  void copy_tensor(const etb_tensor& real, etb_tensor& out, One& one, bool has_data);
  void copy_descriptions();
  void commit_sizes(const etb_tensor& real, const One& one, const std::string& where);
  void check_struct_bytes();

  Call& call_;
  const etb_tensor* const real_;
  const uint32_t count_;
  const char* const name_;
  const bool is_output_;
  const Access access_;
  const GuardSide place_;
  std::unique_ptr<GuardedBytes> structs_;
  std::vector<etb_tensor> given_;  // original contents of the structs
  std::vector<One> ones_;
  std::unique_ptr<BorrowedCopy> descriptions_;
};

}  // namespace etb::host::validate
