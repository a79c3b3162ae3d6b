// SPDX-License-Identifier: Apache-2.0
#include "tools/program_info/stored_bytes.hpp"

namespace etb::tools {

using Bytes = std::span<const std::byte>;

Bytes segment_bytes(const ProgramFile& file, format::SegmentRange range) {
  return file.bytes.subspan(file.view.extent().segment_base + range.offset, range.nbytes);
}

std::optional<Bytes> stored_bytes(const ProgramFile& file, const format::TensorRecord& tensor) {
  const format::ProgramView& program = file.view;
  if (tensor.storage == format::Storage::kPlannedInitialized)
    return segment_bytes(file, program.mutable_data(tensor.data_index)).first(tensor.nbytes);
  if (tensor.storage != format::Storage::kConstant) return {};
  if (program.has_inline_constants()) return program.inline_constant(tensor.data_index).first(tensor.nbytes);
  return segment_bytes(file, program.constant_segment())
      .subspan(program.constant_offset(tensor.data_index), tensor.nbytes);
}

Bytes payload_bytes(const ProgramFile& file, const format::DelegateView& delegate) {
  return delegate.is_inline() ? file.view.inline_payload(delegate.payload_index())
                              : segment_bytes(file, file.view.segment(delegate.payload_index()));
}

Bytes named_data_bytes(const ProgramFile& file, uint32_t index) {
  return segment_bytes(file, file.view.segment(file.view.named_data_segment(index)));
}

}  // namespace etb::tools
