// SPDX-License-Identifier: Apache-2.0
// ExecutorchBackend: a delegate id of our plugins, as a backend of the official ExecuTorch run time.
#pragma once

#include <executorch/runtime/backend/interface.h>

#include <string>

#include "host/bridge/bridge.hpp"

namespace etb::host {

// Serves any thread. The run time never destroys its backends.
class ExecutorchBackend final : public executorch::runtime::BackendInterface {
 public:
  // Returns the bridge of the process, which starts threads and loads no plugin yet. Called with the first delegate.
  using FindBridge = Result<Bridge*> (*)();

  ExecutorchBackend(std::string name, std::string backend_id, FindBridge find_bridge)
      : name_(std::move(name)), backend_id_(std::move(backend_id)), find_bridge_(find_bridge) {}

  const std::string& name() const noexcept { return name_; }

  // True although a plugin may still fail to load: only init can report the reason.
  bool is_available() const override { return true; }
  executorch::runtime::Result<executorch::runtime::DelegateHandle*> init(
      executorch::runtime::BackendInitContext& context, executorch::runtime::FreeableBuffer* processed,
      executorch::runtime::ArrayRef<executorch::runtime::CompileSpec> compile_specs) const override;
  executorch::runtime::Error execute(
      executorch::runtime::BackendExecutionContext& context, executorch::runtime::DelegateHandle* handle,
      executorch::runtime::Span<executorch::runtime::EValue*> args) const override;
  executorch::runtime::Error set_option(
      executorch::runtime::BackendOptionContext& context,
      const executorch::runtime::Span<executorch::runtime::BackendOption>& backend_options) override;
  void destroy(executorch::runtime::DelegateHandle* handle) const override;

 private:
  std::string name_;
  std::string backend_id_;
  FindBridge find_bridge_;
};

// Text of the last error of a backend on this thread.
const char* last_bridge_error() noexcept;

}  // namespace etb::host
