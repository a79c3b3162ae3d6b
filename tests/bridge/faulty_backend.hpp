// SPDX-License-Identifier: Apache-2.0
// A backend of ExecuTorch with one defect, around a good one: verify must name the plugin and the defect.
#pragma once

#include <executorch/runtime/backend/interface.h>

#include <cstdlib>
#include <cstring>

namespace etb::bridge_test {

enum class Defect { kAborts, kOtherCount, kOtherSizes, kKeepsPointers };

class FaultyBackend final : public executorch::runtime::BackendInterface {
 public:
  FaultyBackend(executorch::runtime::BackendInterface* good, Defect defect) : good_(good), defect_(defect) {}

  bool is_available() const override { return good_->is_available(); }

  executorch::runtime::Result<executorch::runtime::DelegateHandle*> init(
      executorch::runtime::BackendInitContext& context, executorch::runtime::FreeableBuffer* processed,
      executorch::runtime::ArrayRef<executorch::runtime::CompileSpec> compile_specs) const override {
    return good_->init(context, processed, compile_specs);
  }

  executorch::runtime::Error execute(
      executorch::runtime::BackendExecutionContext& context, executorch::runtime::DelegateHandle* handle,
      executorch::runtime::Span<executorch::runtime::EValue*> args) const override {
    if (defect_ == Defect::kAborts) std::abort();
    const executorch::runtime::Error status = good_->execute(context, handle, args);
    if (status != executorch::runtime::Error::Ok || args.size() == 0) return status;
    auto& last = args[args.size() - 1]->toTensor();
    if (defect_ == Defect::kOtherSizes) shrink(last);
    if (defect_ == Defect::kKeepsPointers) write_into_the_call_before(last);
    return status;
  }

  void destroy(executorch::runtime::DelegateHandle* handle) const override { good_->destroy(handle); }

 private:
  // A size below the one that the run must produce.
  static void shrink(executorch::aten::Tensor& tensor) {
    if (tensor.dim() == 0 || tensor.numel() == 0) return;
    auto* const sizes = const_cast<executorch::aten::SizesType*>(tensor.sizes().data());
    sizes[0] -= 1;
  }

  // Overwrites the first byte of the output that an earlier call lent.
  void write_into_the_call_before(executorch::aten::Tensor& tensor) const {
    static void* before = nullptr;
    if (before != nullptr && before != tensor.mutable_data_ptr()) std::memset(before, 0x7f, 1);
    before = tensor.nbytes() != 0 ? tensor.mutable_data_ptr() : nullptr;
  }

  executorch::runtime::BackendInterface* good_;
  Defect defect_;
};

}  // namespace etb::bridge_test
