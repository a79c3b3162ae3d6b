// SPDX-License-Identifier: Apache-2.0
// Runs the delegates of a program on the plugin under test, and records the inputs and outputs of each call,
// so that each region is judged by itself.
#pragma once

#include <vector>

#include "conformance/cases/tensor_data.hpp"
#include "conformance/subject/subject.hpp"
#include "host/delegates/run_watchdog.hpp"
#include "host/delegates/staging_memory.hpp"
#include "host/runtime/delegate_resolver.hpp"

namespace etb::conformance {

struct RegionCall {
  uint32_t region = 0;
  std::vector<TensorData> inputs, outputs;
};

TensorData copy_of(const host::Tensor& tensor);

// The subject outlives it, and it outlives each module that runs with it.
class RecordingDelegates final : public host::DelegateResolver {
 public:
  explicit RecordingDelegates(Subject& subject);

  etb_status create(const host::DelegateRequest& request, host::MethodDelegate** out,
                    etb_error* error) noexcept override;

  // Returns the calls since the last time.
  std::vector<RegionCall> take_calls() { return std::move(calls_); }

 private:
  class Recorder;

  Subject& subject_;
  host::RunWatchdog watchdog_;
  std::shared_ptr<host::StagingMemory> copies_ = std::make_shared<host::StagingMemory>();
  uint32_t created_ = 0;
  std::vector<RegionCall> calls_;
};

}  // namespace etb::conformance
