// SPDX-License-Identifier: Apache-2.0
// Structs of the ABI as structs of a call trace. Pointers may be NULL, and structs of another size than 1.0's.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "api/format/call_trace.hpp"
#include "api/format/call_trace_writer.hpp"
#include "etb/all.h"

namespace etb::host::record {

inline std::string text_of(const char* text) { return text == nullptr ? "" : text; }

inline std::span<const std::byte> bytes_of(const void* data, uint64_t nbytes) {
  if (data == nullptr) return {};
  return {static_cast<const std::byte*>(data), static_cast<size_t>(nbytes)};
}

format::TraceOption to_trace(const etb_option& option);
std::vector<format::TraceOption> to_trace(const etb_option* options, uint64_t count);
std::vector<format::TraceSpec> to_trace(const etb_compile_spec* specs, uint64_t count);
std::vector<format::TraceTarget> to_trace(const etb_target* target);  // none or one
format::TraceDevice to_trace(const etb_device_info& info);
format::TraceSchema to_trace(const etb_option_schema& schema);
format::TraceOpRow to_trace(const etb_op_capability& row);
format::TraceClaim to_trace(const etb_claim& claim);
format::TraceClaim to_trace(const etb_reject& reject);
format::TraceIoReq to_trace(const etb_io_req& req);
format::TraceEvent to_trace(const etb_event& event);
format::TraceArtifact to_trace(const etb_artifact& artifact);
std::vector<std::string> fence_kinds(const etb_fence* fences, uint32_t count);

// Tensors of a call. Stores their bytes as blobs if `with_data`.
std::vector<format::TraceTensor> to_trace(const etb_tensor* tensors, uint32_t count, bool with_data,
                                          format::CallTraceWriter& writer);

// Stores the bytes of a payload, which may be in a file only.
format::BlobNumber store(const etb_payload_view& view, format::CallTraceWriter& writer);

// Keys of the constants of a graph image.
std::vector<std::string> constant_keys(const etb_graph_image& image);

}  // namespace etb::host::record
