// SPDX-License-Identifier: Apache-2.0
// The alternative's delegate and contexts beside those of the plugin.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "host/layers/compare/comparison.hpp"
#include "host/layers/replay/from_trace.hpp"

namespace etb::host::compare {

// A payload and named data that outlive the call of create.
class OtherDelegate {
 public:
  // Copies what the alternative needs. Call it before the plugin's create, which may return the payload to the host.
  OtherDelegate(Comparison& comparison, const etb_delegate_args& args);
  OtherDelegate(const OtherDelegate&) = delete;
  OtherDelegate& operator=(const OtherDelegate&) = delete;
  ~OtherDelegate();

  // Makes the alternative's delegate.
  [[nodiscard]] Status create(uint64_t number);

  // Destroys it. The plugin's named data is valid until then.
  void destroy();

  etb_delegate* handle() const { return handle_; }
  const etb_plugin_table& table() const { return plugin_->table(); }
  uint64_t number() const { return number_; }
  const std::string& method() const { return method_; }
  const etb_delegate_info& info() const { return info_; }
  void add_memory(etb_delegate_info& out) const;  // of the alternative and of the copied payload
  const OutputNode& node(uint32_t output) const;
  std::mutex& run_mutex() { return run_mutex_; }  // the alternative may allow one context at a time
  std::vector<replay::MemoryNeed> inputs, outputs;

 private:
  Status read_needs();
  etb_status get_named(const char* key, etb_payload_view* out, etb_error* error);

  Comparison& comparison_;
  const PluginContext* plugin_ = nullptr;
  uint64_t number_ = 0;
  std::string backend_id_, method_;
  std::vector<std::byte> payload_;
  const SourceGraph* graph_ = nullptr;
  etb_named_data from_{}, own_{};
  bool has_named_data_ = false;
  std::vector<etb_compile_spec> specs_;
  std::vector<std::pair<std::string, std::vector<std::byte>>> spec_bytes_;
  std::optional<replay::AlignedBytes> given_;
  uint64_t given_nbytes_ = 0;
  etb_delegate* handle_ = nullptr;
  etb_delegate_info info_{};
  std::mutex run_mutex_;
};

// A context of the alternative, and one run of it at a time.
class OtherContext {
 public:
  OtherContext(Comparison& comparison, std::shared_ptr<OtherDelegate> delegate)
      : comparison_(comparison), delegate_(std::move(delegate)) {}
  OtherContext(const OtherContext&) = delete;
  OtherContext& operator=(const OtherContext&) = delete;
  ~OtherContext() { destroy(); }

  [[nodiscard]] Status create();
  void destroy();

  // Copies the inputs of a run, which a state tensor changes.
  void begin(const etb_exec_args& args);
  // Runs the alternative, compares its outputs with those of `args`, and frees the copies. `status` is the plugin's.
  void finish(const etb_exec_args& args, etb_status status);

 private:
  void forget_inputs();
  Status run(const etb_exec_args& args, etb_status status);
  Status check_status(etb_status plugin_status, etb_status own_status, const etb_error& error) const;
  Status compare(const etb_exec_args& args, std::span<const etb_tensor> found);

  Comparison& comparison_;
  std::shared_ptr<OtherDelegate> delegate_;
  etb_context* handle_ = nullptr;
  uint64_t run_count_ = 0;
  std::vector<etb_tensor> inputs_;
  std::deque<std::vector<int64_t>> input_sizes_;
  std::deque<replay::AlignedBytes> input_memory_;
  Status copied_;
};

}  // namespace etb::host::compare
