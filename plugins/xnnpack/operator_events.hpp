// One profiling event for each operator that XNNPACK ran.
#pragma once

#include <string>
#include <vector>

#include "api/format/xnnpack_payload.hpp"
#include "etb/cpp/run.hpp"
#include "plugins/xnnpack/xnn_handles.hpp"

namespace etb::xnnpack {

// What the operator of node `position` is called in events and in the debug map that compilation makes.
std::string event_name(const format::XnnNode& node, size_t position);

class OperatorEvents {
 public:
  // Of a runtime made with XNN_FLAG_BASIC_PROFILING. Matches its operators with the nodes of the payload: they come in the same order, a
  // node may have several, and none where no output needs it or XNNPACK made it part of another. An operator whose node is not found has
  // XNNPACK's name.
  [[nodiscard]] static Result<OperatorEvents> make(xnn_runtime_t runtime, const format::XnnPayload& payload);

  // Puts the events of the run that began at `begin_ns`, by the host's clock. XNNPACK counts in microseconds.
  [[nodiscard]] Status put(const Run& run, xnn_runtime_t runtime, uint64_t begin_ns);

 private:
  struct Operator {
    std::string name, kind;
  };
  std::vector<Operator> operators_;
  std::vector<uint64_t> micros_;
};

}  // namespace etb::xnnpack
