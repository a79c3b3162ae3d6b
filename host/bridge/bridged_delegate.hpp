// SPDX-License-Identifier: Apache-2.0
// BridgedDelegate: a plugin's delegate in a program that another runtime runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/bridge/call_arguments.hpp"
#include "host/delegates/plugin_delegate.hpp"
#include "host/delegates/plugin_delegates.hpp"

namespace etb::host {

// Facts about a delegate that the other runtime has when it loads a method.
struct BridgedRequest {
  std::string backend_id;
  std::string method_name;
  DataBlock payload;
  const NamedDataSource* named_data = nullptr;  // lives as long as the delegate
  std::vector<etb_compile_spec> specs;          // borrowed for the call
  OptionTexts options;
};

// [serial:delegate]. Different delegates may run at the same time.
class BridgedDelegate {
 public:
  // `delegates` outlives the result.
  [[nodiscard]] static Result<std::unique_ptr<BridgedDelegate>> make(PluginDelegates& delegates,
                                                                     BridgedRequest request);

  // Runs once. The first call also plans for its arguments. Allocates nothing in a later call with tensors that are
  // not larger. Error texts name the plugin.
  [[nodiscard]] etb_status execute(std::span<const ForeignValue> values, etb_error* error) noexcept;

  uint32_t input_count() const noexcept { return delegate_->input_count(); }

  // Sizes of an argument after a run.
  std::span<const int64_t> sizes(size_t argument) const noexcept { return arguments_.sizes(argument); }

  const char* plugin_id() const noexcept { return delegate_->plugin_ident().id; }
  const std::string& backend_id() const noexcept { return backend_id_; }

 private:
  struct Destroy {
    void operator()(PluginDelegate* delegate) const noexcept { delegate->destroy(); }
  };

  BridgedDelegate(std::string backend_id, const NamedDataSource* named_data)
      : backend_id_(std::move(backend_id)),
        named_data_(named_data ? NamedDataMap(*named_data) : NamedDataMap()) {}

  std::string backend_id_;
  NamedDataMap named_data_;
  OptionTexts options_;  // borrowed by the delegate
  std::unique_ptr<PluginDelegate, Destroy> delegate_;
  CallArguments arguments_{0};
};

}  // namespace etb::host
