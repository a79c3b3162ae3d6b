// SPDX-License-Identifier: Apache-2.0
#include "host/layers/record/to_trace.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "api/format/tensor_span.hpp"

namespace etb::host::record {
namespace {

using namespace etb::format;  // NOLINT(google-build-using-namespace): this file is about nothing else

template <class T>
std::vector<T> list_of(const T* items, uint64_t count) {
  if (items == nullptr) return {};
  return {items, items + count};
}

std::vector<std::string> texts_of(const char* const* texts, uint64_t count) {
  std::vector<std::string> out;
  for (uint64_t i = 0; texts != nullptr && i < count; ++i) out.push_back(text_of(texts[i]));
  return out;
}

std::vector<uint8_t> bytes_list(const etb_bytes& bytes) {
  return list_of(static_cast<const uint8_t*>(bytes.data), bytes.nbytes);
}

}  // namespace

TraceOption to_trace(const etb_option& option) {
  TraceOption out;
  out.key = text_of(option.key);
  out.type = option.type;
  switch (option.type) {
    case ETB_OPTION_BOOL:
    case ETB_OPTION_I64:
      out.i64 = option.i64;
      break;
    case ETB_OPTION_F64:
      out.f64 = option.f64;
      break;
    case ETB_OPTION_TEXT:
      out.text = text_of(option.text);
      break;
    case ETB_OPTION_BYTES:
      out.bytes = bytes_list(option.bytes);
      break;
    case ETB_OPTION_LIST:
      for (uint32_t i = 0; option.items != nullptr && i < option.item_count; ++i) {
        const etb_option& item = *ETB_AT(etb_option, option.items, i);
        if (item.type != ETB_OPTION_LIST) out.items.push_back(to_trace(item));
      }
      break;
    default:
      break;
  }
  return out;
}

std::vector<TraceOption> to_trace(const etb_option* options, uint64_t count) {
  std::vector<TraceOption> out;
  for (uint64_t i = 0; options != nullptr && i < count; ++i)
    out.push_back(to_trace(*ETB_AT(etb_option, options, i)));
  return out;
}

std::vector<TraceSpec> to_trace(const etb_compile_spec* specs, uint64_t count) {
  std::vector<TraceSpec> out;
  for (uint64_t i = 0; specs != nullptr && i < count; ++i) {
    const etb_compile_spec& spec = *ETB_AT(etb_compile_spec, specs, i);
    out.push_back({text_of(spec.key), bytes_list(spec.value)});
  }
  return out;
}

std::vector<TraceTarget> to_trace(const etb_target* target) {
  if (target == nullptr) return {};
  TraceTarget out;
  out.kind = text_of(target->kind);
  out.name = text_of(target->name);
  std::copy_n(target->fingerprint, out.fingerprint.size(), out.fingerprint.begin());
  out.attributes = to_trace(target->attributes, target->attribute_count);
  return {std::move(out)};
}

TraceDevice to_trace(const etb_device_info& info) {
  TraceDevice out;
  std::copy_n(info.uuid, out.uuid.size(), out.uuid.begin());
  std::copy_n(info.fingerprint, out.fingerprint.size(), out.fingerprint.begin());
  out.kind = text_of(info.kind);
  out.name = text_of(info.name);
  out.driver_version = text_of(info.driver_version);
  out.memory_total_bytes = info.memory_total_bytes;
  return out;
}

TraceSchema to_trace(const etb_option_schema& schema) {
  TraceSchema out;
  out.key = text_of(schema.key);
  out.type = schema.type;
  out.scopes = schema.scopes;
  out.mutable_when = schema.mutable_when;
  if (schema.default_value != nullptr) out.default_value.push_back(to_trace(*schema.default_value));
  out.minimum = schema.minimum;
  out.maximum = schema.maximum;
  out.choices = texts_of(schema.choices, schema.choice_count);
  return out;
}

TraceOpRow to_trace(const etb_op_capability& row) {
  TraceOpRow out;
  out.op = text_of(row.op);
  out.flags = row.flags;
  out.dtypes = list_of(row.dtypes, row.dtype_count);
  out.min_rank = row.min_rank;
  out.max_rank = row.max_rank;
  out.layouts = row.layouts;
  out.quant_schemes = texts_of(row.quant_schemes, row.quant_scheme_count);
  return out;
}

TraceClaim to_trace(const etb_claim& claim) {
  TraceClaim out;
  out.node_ids = list_of(claim.node_ids, claim.node_count);
  out.flags = claim.flags;
  out.group = claim.group;
  out.cost_ns = claim.cost_ns;
  return out;
}

TraceClaim to_trace(const etb_reject& reject) {
  TraceClaim out;
  out.node_ids = list_of(reject.node_ids, reject.node_count);
  out.reason = text_of(reject.reason);
  out.text = text_of(reject.text);
  out.is_reject = 1;
  return out;
}

TraceIoReq to_trace(const etb_io_req& req) {
  TraceIoReq out;
  out.role = req.role;
  out.index = req.index;
  out.alignment = req.alignment;
  out.padding_bytes = req.padding_bytes;
  out.may_alias_input = req.may_alias_input;
  out.kinds = texts_of(req.kinds, req.kind_count);
  if (req.spec != nullptr && req.spec->rank <= ETB_MAX_RANK) {
    TraceTensor& spec = out.spec.emplace_back();
    spec.dtype = req.spec->dtype;
    spec.rank = req.spec->rank;
    spec.sizes = list_of(req.spec->sizes, req.spec->rank);
  }
  return out;
}

TraceEvent to_trace(const etb_event& event) {
  TraceEvent out;
  out.name = text_of(event.name);
  out.debug_id = event.debug_id;
  out.begin_ticks = event.begin_ticks;
  out.end_ticks = event.end_ticks;
  out.timebase = text_of(event.timebase);
  out.ns_numerator = event.ns_numerator;
  out.ns_denominator = event.ns_denominator;
  out.metadata = bytes_list(event.metadata);
  return out;
}

TraceArtifact to_trace(const etb_artifact& artifact) {
  TraceArtifact out;
  out.graph_index = artifact.graph_index;
  out.format_version = artifact.format_version;
  out.named_keys = texts_of(artifact.named_keys, artifact.named_key_count);
  out.scratch_bytes = artifact.scratch_bytes;
  out.resident_bytes = artifact.resident_bytes;
  out.specs = to_trace(artifact.specs, artifact.spec_count);
  for (uint64_t i = 0; artifact.debug_map != nullptr && i < artifact.debug_entry_count; ++i) {
    const etb_debug_entry& entry = *ETB_AT(etb_debug_entry, artifact.debug_map, i);
    out.debug_map.push_back(
        {entry.debug_id, text_of(entry.name), list_of(entry.handles, entry.handle_count)});
  }
  return out;
}

std::vector<std::string> fence_kinds(const etb_fence* fences, uint32_t count) {
  std::vector<std::string> out;
  for (uint32_t i = 0; fences != nullptr && i < count; ++i)
    out.push_back(text_of(ETB_AT(etb_fence, fences, i)->kind));
  return out;
}

std::vector<TraceTensor> to_trace(const etb_tensor* tensors, uint32_t count, bool with_data,
                                  CallTraceWriter& writer) {
  std::vector<TraceTensor> out;
  for (uint32_t i = 0; tensors != nullptr && i < count; ++i) {
    const etb_tensor& from = *ETB_AT(etb_tensor, tensors, i);
    TraceTensor& to = out.emplace_back();
    to.dtype = from.dtype;
    to.rank = from.rank <= ETB_MAX_RANK ? from.rank : 0;
    to.role = from.role;
    to.sizes = list_of(from.sizes, to.rank);
    to.sizes.resize(to.rank);
    to.strides = list_of(from.strides, to.rank);
    to.dim_order = list_of(from.dim_order, to.rank);
    to.upper_sizes = list_of(from.upper_sizes, to.rank);
    to.capacity_bytes = from.capacity_bytes;
    if (from.buffer != nullptr) to.buffer_kind = text_of(from.buffer->kind);
    if (!with_data || from.data == nullptr || from.buffer != nullptr) continue;
    const auto nbytes = tensor_span_nbytes(to.dtype, to.sizes, to.strides);
    if (nbytes && *nbytes <= from.capacity_bytes) to.data = writer.add_blob(bytes_of(from.data, *nbytes));
  }
  return out;
}

BlobNumber store(const etb_payload_view& view, CallTraceWriter& writer) {
  if (view.data != nullptr || view.nbytes == 0) return writer.add_blob(bytes_of(view.data, view.nbytes));
  std::vector<std::byte> bytes(static_cast<size_t>(view.nbytes));
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::pread(view.fd, bytes.data() + done, bytes.size() - done,
                                  static_cast<off_t>(view.fd_offset_bytes + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return 0;
    done += static_cast<size_t>(count);
  }
  return writer.add_blob(bytes);
}

std::vector<std::string> constant_keys(const etb_graph_image& image) {
  std::vector<std::string> keys;
  etb_graph_view view;
  if (etb_graph_open(&image, &view) != ETB_OK) return keys;
  for (uint32_t i = 0; i < view.constants.count; ++i)
    keys.push_back(text_of(etb_graph_get_constant(&view, i).key));
  return keys;
}

}  // namespace etb::host::record
