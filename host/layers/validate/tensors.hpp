// The tensors of one run as the plugin gets them: inputs that it must not change, outputs that it must not leave
// (ABI-TENSOR-02, ABI-TENSOR-03), both in copies.
#pragma once

#include <memory>
#include <vector>

#include "host/layers/validate/structs.hpp"

namespace etb::host::validate {

// Whether the host may give this tensor. `need` NULL when the plugin was not asked what it needs.
bool check_tensor(Call& call, const etb_tensor& tensor, const IoNeed* need, const std::string& where);

// Tensors in the place of the host's.
class GuardedTensors {
 public:
  // `real` has passed check_tensor. `has_data` false: only sizes count (context_reserve).
  GuardedTensors(Call& call, const etb_tensor* real, uint32_t count, const char* name, bool is_output,
                 bool has_data, Place place = Place::kAtEnd);
  GuardedTensors(const GuardedTensors&) = delete;
  GuardedTensors& operator=(const GuardedTensors&) = delete;

  etb_tensor* get() { return reinterpret_cast<etb_tensor*>(structs_->data()); }

  // After the call: reports what was done, and gives outputs back to the host when it succeeded.
  void commit(etb_status status);

 private:
  struct One {
    std::unique_ptr<GuardedBytes> data;
    std::unique_ptr<GuardedBytes> sizes;
  };

  void copy_tensor(const etb_tensor& real, etb_tensor& out, One& one, bool has_data);
  void commit_sizes(const etb_tensor& real, const One& one, const std::string& where);
  void check_struct_bytes();

  Call& call_;
  const etb_tensor* const real_;
  const uint32_t count_;
  const char* const name_;
  const bool is_output_;
  const Access access_;
  const Place place_;
  std::unique_ptr<GuardedBytes> structs_;
  std::vector<etb_tensor> given_;  // what the structs were
  std::vector<One> ones_;
};

}  // namespace etb::host::validate
