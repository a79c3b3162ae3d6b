// SPDX-License-Identifier: Apache-2.0
//
// DRAFT, may change. Values that a delegate computes inside, for a recording of intermediate outputs.
//
//   const etb::ValueReport values(run);
//   if (values.wants("conv1")) ETB_TRY(values.put("conv1", output));
#pragma once

#include <span>

#include "etb/cpp/run.hpp"
#include "etb/ext/draft/values.h"

namespace etb {

// Names are those of the artifact's debug map, which joins a value with the nodes that it is the result of.
class ValueReport {
 public:
  explicit ValueReport(const Run& run) : sink_(etb_values_of(run.raw().events)) {}

  // True if the host records any value of this run.
  bool is_wanted() const { return sink_ != nullptr; }
  // True if the host records values of this name. Ask before a copy from a device.
  bool wants(const char* name) const {
    return sink_ != nullptr && sink_->wants(sink_->events.ctx, name, -1) != 0;
  }

  // Reports one tensor or, with several, a list. They are packed and in host memory.
  Status put(const char* name, std::span<const etb_tensor> tensors) const {
    if (sink_ == nullptr) return {};
    etb_inner_value value{};
    value.struct_size = ETB_INIT_SIZE(etb_inner_value);
    value.name = name;
    value.debug_id = -1;
    value.kind = ETB_INNER_TENSORS;
    value.tensor_count = static_cast<uint32_t>(tensors.size());
    value.tensors = tensors.data();
    return from_host(sink_->put_value(sink_->events.ctx, &value), "value sink");
  }
  Status put(const char* name, const Tensor& tensor) const { return put(name, {&tensor.raw(), 1}); }

 private:
  const etb_value_sink* sink_;
};

}  // namespace etb
