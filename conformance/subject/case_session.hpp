// SPDX-License-Identifier: Apache-2.0
// A compiled case ready to run: delegate, context, and runs on it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "conformance/cases/case.hpp"
#include "conformance/subject/aot_calls.hpp"
#include "conformance/subject/loans.hpp"

namespace etb::conformance {

// Memory of one tensor as the ABI requires it.
struct TensorSlot {
  etb_tensor tensor{};
  std::vector<int64_t> sizes, upper_sizes, strides;
  std::vector<uint8_t> dim_order;
  std::vector<std::byte> memory;
  std::byte* data = nullptr;
  uint64_t bound_nbytes = 0;  // bytes of the largest sizes, without padding
  uint64_t room_nbytes = 0;   // bytes that are allocated
};

// The host's part of create, as far as the contract leaves it open.
struct SessionOptions {
  std::vector<etb_option> options = {};  // the delegate's
  etb_device* device = nullptr;
  Loans loans = {};
  bool has_named_data = true;  // false: NULL instead of named data without keys
  const char* method_name = "forward";
  int failing_get = 0;  // the get of named data that fails, counted from 1
};

// Deliberate defects in the tensors of a run.
enum class Damage {
  kRank,      // an input with one dimension more, the first
  kSize,      // an input one larger than its bound in the first dimension
  kCapacity,  // an output with one byte less than it needs
  kLastRank,  // a tensor with one dimension more, the last
  kDtype,     // a tensor of a dtype that no plugin has
};
const char* to_text(Damage damage);

struct RunOptions {
  uint8_t fill = 0xa5;               // contents of outputs before the run
  bool has_least_alignment = false;  // data has exactly the requested alignment
  bool shares_memory = false;        // outputs share the memory of inputs where the plugin allows it
  const etb_event_sink* events = nullptr;
  const etb_cancel_token* cancel = nullptr;
  std::vector<etb_option> options = {};
  uint64_t deadline_ns = 0;
  uint32_t priority = 500;
  uint64_t run_id = 0;
};

struct RunResult {
  etb_status status = ETB_OK;
  etb_error error = ETB_ERROR_INIT;
  std::vector<TensorData> outputs;  // outputs with the sizes that the plugin wrote
};

// One run with everything that its arguments point to.
struct PreparedRun {
  std::vector<TensorSlot> slots;  // inputs, then outputs
  std::vector<etb_tensor> tensors;
  std::vector<std::byte> scratch;
  RunOptions options;
  etb_exec_args args{};

  // Returns the outputs with the sizes that the plugin wrote.
  std::vector<TensorData> outputs() const;
};

class CaseSession {
 public:
  // Keeps a copy of the payload. The case must outlive it. `options` are the delegate's.
  [[nodiscard]] static Result<std::unique_ptr<CaseSession>> make(Subject& subject, const BuiltCase& built,
                                                                 Payload payload,
                                                                 const std::vector<etb_option>& options = {},
                                                                 etb_device* device = nullptr) {
    return make(subject, built, std::move(payload), SessionOptions{.options = options, .device = device});
  }
  [[nodiscard]] static Result<std::unique_ptr<CaseSession>> make(Subject& subject, const BuiltCase& built,
                                                                 Payload payload,
                                                                 const SessionOptions& options);
  ~CaseSession();
  CaseSession(const CaseSession&) = delete;
  CaseSession& operator=(const CaseSession&) = delete;

  RunResult run(const std::vector<TensorData>& inputs, const RunOptions& options = {});
  // Runs with a second one of the last input or output. Needs a subject without layers.
  RunResult run_with_one_more(const std::vector<TensorData>& inputs, uint32_t role);
  // Runs with invalid tensors. Needs a subject without layers, which would reject them.
  RunResult run_damaged(const std::vector<TensorData>& inputs, Damage damage);
  // Damages one tensor: an input, or after the inputs an output. All others are valid.
  RunResult run_damaged(const std::vector<TensorData>& inputs, Damage damage, size_t tensor);
  // As run(), on a context of the caller's.
  RunResult run_on(etb_context* context, const std::vector<TensorData>& inputs,
                   const RunOptions& options = {});

  // Returns a run to pass to execute or execute_async, or whose inputs to pass to context_reserve.
  std::unique_ptr<PreparedRun> prepare(const std::vector<TensorData>& inputs,
                                       const RunOptions& options = {}) const;

  etb_delegate* delegate() const { return delegate_; }
  etb_context* context() const { return context_; }
  const etb_delegate_info& info() const { return info_; }
  int get_count() const { return get_count_; }                       // gets of named data until now
  std::string file_damage() const { return lender_.file_damage(); }  // damage of lent files
  uint32_t input_count() const { return static_cast<uint32_t>(input_specs_.size()); }
  uint32_t output_count() const { return static_cast<uint32_t>(output_specs_.size()); }
  const etb_graph_spec& input_spec(uint32_t index) const { return input_specs_[index]; }
  const etb_graph_spec& output_spec(uint32_t index) const { return output_specs_[index]; }
  // True if an output may share the memory of an input.
  bool may_share_memory() const;

  // Destroys the context only.
  Status end_context();
  // Destroys context and delegate. Returns their first error.
  Status end();
  // Leaves context and delegate as they are: a call on them has not ended.
  void abandon() { context_ = nullptr, delegate_ = nullptr; }

 private:
  CaseSession(Subject& subject, Payload payload, const SessionOptions& options)
      : subject_(subject),
        payload_(std::move(payload)),
        lender_(options.loans),
        failing_get_(options.failing_get) {}
  Status open(const BuiltCase& built, const SessionOptions& options);
  void fill_slot(TensorSlot& slot, const etb_graph_spec& spec, const std::vector<int64_t>& sizes,
                 uint32_t role) const;
  // Returns valid tensors, inputs first. `has_spare_memory`: their memory is larger than their capacity.
  std::vector<TensorSlot> make_slots(const std::vector<TensorData>& inputs, const RunOptions& options,
                                     bool has_spare_memory) const;
  void damage_slots(Damage damage, std::vector<TensorSlot>& slots) const;
  std::unique_ptr<PreparedRun> prepare(std::vector<TensorSlot> slots, const RunOptions& options) const;
  RunResult execute(etb_context* context, PreparedRun& run);
  static etb_status ETB_CALL get_named(void* ctx, const char* key, etb_payload_view* out, etb_error* error);

  Subject& subject_;
  Payload payload_;
  Lender lender_;
  int failing_get_;
  int get_count_ = 0;
  etb_payload_view view_{};
  etb_named_data named_data_{};
  etb_delegate* delegate_ = nullptr;
  etb_context* context_ = nullptr;
  etb_delegate_info info_{};
  std::vector<etb_graph_spec> input_specs_, output_specs_;
  std::vector<uint64_t> alignments_, paddings_;  // inputs, then outputs
  std::vector<uint64_t> least_alignments_;       // exactly as query_io has them
  std::vector<uint32_t> shared_inputs_;  // for each output: 1 + the input whose memory it may share, or 0
};

}  // namespace etb::conformance
