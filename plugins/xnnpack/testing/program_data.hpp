// SPDX-License-Identifier: Apache-2.0
// For tests: a program's data for its delegates, read in place, as a host passes it.
#pragma once

#include <cstddef>
#include <vector>

#include "api/format/program_view.hpp"
#include "plugins/xnnpack/payload_arguments.hpp"

namespace etb {

struct ProgramData {
  const format::ProgramView& program;
  const std::vector<std::byte>& file;

  std::span<const std::byte> payload() const {
    return segment(program.segment(program.method(0).delegate(0).payload_index()));
  }
  template <class Range>
  std::span<const std::byte> segment(const Range& range) const {
    return std::span(file).subspan(program.extent().segment_base + range.offset, range.nbytes);
  }
  // Borrows this object.
  etb_named_data table() const {
    return {ETB_INIT_SIZE(etb_named_data), 0, const_cast<ProgramData*>(this), &get};
  }
  static etb_status ETB_CALL get(void* ctx, const char* key, etb_payload_view* out, etb_error*) {
    const auto& self = *static_cast<const ProgramData*>(ctx);
    for (uint32_t i = 0; i < self.program.named_data_count(); ++i) {
      if (self.program.named_data_key(i) != key) continue;
      const auto range = self.program.segment(self.program.named_data_segment(i));
      point_at(*out, self.segment(range));
      return ETB_OK;
    }
    return ETB_NOT_FOUND;
  }
};

}  // namespace etb
