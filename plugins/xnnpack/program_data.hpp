// For tests: the named data of a program, read in place, as a host would give it to a delegate.
#pragma once

#include <cstddef>
#include <vector>

#include "api/format/program_view.hpp"
#include "etb/delegate.h"

namespace etb {

struct ProgramData {
  const format::ProgramView& program;
  const std::vector<std::byte>& file;

  // Borrows this.
  etb_named_data table() const {
    return {ETB_INIT_SIZE(etb_named_data), 0, const_cast<ProgramData*>(this), &get};
  }
  static etb_status ETB_CALL get(void* ctx, const char* key, etb_payload_view* out, etb_error*) {
    const auto& self = *static_cast<const ProgramData*>(ctx);
    for (uint32_t i = 0; i < self.program.named_data_count(); ++i) {
      if (self.program.named_data_key(i) != key) continue;
      const auto range = self.program.segment(self.program.named_data_segment(i));
      out->data = self.file.data() + self.program.extent().segment_base + range.offset;
      out->nbytes = range.nbytes;
      out->alignment = 16;
      out->fd = -1;
      return ETB_OK;
    }
    return ETB_NOT_FOUND;
  }
};

}  // namespace etb
