// SPDX-License-Identifier: Apache-2.0
#include "host/layers/record/compile_capture.hpp"

#include <algorithm>
#include <cstring>

namespace etb::host::record {

TeeArtifacts::TeeArtifacts(const etb_artifact_sink* to, CallTraceWriter& writer) : to_(to), writer_(writer) {
  sink_ = {sizeof(sink_),
           0,
           this,
           [](void* ctx, uint32_t graph_index, const etb_blob_writer** out) -> etb_status {
             return static_cast<TeeArtifacts*>(ctx)->begin(graph_index, out);
           },
           [](void* ctx, const etb_named_blob* blob) -> etb_status {
             return static_cast<TeeArtifacts*>(ctx)->add(blob);
           },
           [](void* ctx, const etb_artifact* artifact) -> etb_status {
             return static_cast<TeeArtifacts*>(ctx)->finish_payload(artifact);
           }};
  own_writer_ = {sizeof(own_writer_), 0, this,
                 [](void* ctx, uint64_t offset, const void* data, uint64_t nbytes) -> etb_status {
                   return static_cast<TeeArtifacts*>(ctx)->write(offset, data, nbytes);
                 }};
}

etb_status TeeArtifacts::begin(uint32_t graph_index, const etb_blob_writer** out) {
  next_writer_ = nullptr;
  payload_.clear();
  const etb_status status = to_->begin_payload(to_->ctx, graph_index, &next_writer_);
  if (status == ETB_OK && out != nullptr) *out = next_writer_ == nullptr ? nullptr : &own_writer_;
  return status;
}

// Keeps only what the host accepted: it bounds the offsets.
etb_status TeeArtifacts::write(uint64_t offset, const void* data, uint64_t nbytes) {
  if (next_writer_ == nullptr) return ETB_INVALID_STATE;
  const etb_status status = next_writer_->write(next_writer_->ctx, offset, data, nbytes);
  if (status != ETB_OK || nbytes == 0) return status;
  payload_.resize(std::max<size_t>(payload_.size(), offset + nbytes));
  std::memcpy(payload_.data() + offset, data, nbytes);
  return status;
}

etb_status TeeArtifacts::add(const etb_named_blob* blob) {
  if (blob != nullptr && blob->struct_size >= sizeof(*blob))
    named_.push_back({text_of(blob->key), writer_.add_blob(bytes_of(blob->value.data, blob->value.nbytes)),
                      text_of(blob->constant_key), blob->alignment});
  return to_->named_blob(to_->ctx, blob);
}

etb_status TeeArtifacts::finish_payload(const etb_artifact* artifact) {
  if (artifact != nullptr && artifact->struct_size >= sizeof(*artifact)) {
    artifacts_.push_back(to_trace(*artifact));
    artifacts_.back().payload = writer_.add_blob(payload_);
  }
  next_writer_ = nullptr;
  return to_->end_payload(to_->ctx, artifact);
}

void TeeArtifacts::finish(TraceEnd& end) {
  end.artifacts = std::move(artifacts_);
  end.named_blobs = std::move(named_);
}

TeeConstants::TeeConstants(const etb_constant_reader* to, uint64_t call_number, CallTraceWriter& writer)
    : to_(to), number_(call_number), writer_(writer) {
  own_ = {sizeof(own_), 0, this,
          [](void* ctx, const char* key, etb_payload_view* out, etb_error* error) -> etb_status {
            return static_cast<TeeConstants*>(ctx)->read(key, out, error, false);
          }};
}

etb_status TeeConstants::read(const char* key, etb_payload_view* out, etb_error* error, bool is_by_recorder) {
  const etb_status status = to_->read(to_->ctx, key, out, error);
  if (key == nullptr) return status;
  format::TraceRead record{number_, key, status, 0, is_by_recorder ? 1U : 0U};
  if (status == ETB_OK && out != nullptr) record.data = store(*out, writer_);
  writer_.add(TraceRecordKind::READ, record);
  const std::lock_guard lock(mutex_);
  seen_.insert(key);
  return status;
}

void TeeConstants::read_rest(const std::vector<std::string>& keys) {
  if (to_ == nullptr) return;
  for (const std::string& key : keys) {
    if (seen_.count(key) != 0) continue;
    etb_payload_view view{};
    view.struct_size = sizeof(view);
    view.fd = -1;
    etb_error error = ETB_ERROR_INIT;
    if (read(key.c_str(), &view, &error, true) == ETB_OK && view.release != nullptr)
      view.release(view.release_ctx);
  }
}

Capture<calls::Compile>::Capture(Recorder& recorder, calls::Compile& call, TraceBegin& begin)
    : args(copy_struct(*call.args)),
      artifacts(args.sink, recorder.writer()),
      constants(args.constants, begin.number, recorder.writer()) {
  args.struct_size = sizeof(args);
  begin.backend_id = text_of(args.backend_id);
  for (uint64_t i = 0; args.graphs != nullptr && i < args.graph_count; ++i) {
    const etb_graph_image& image = *ETB_AT(etb_graph_image, args.graphs, i);
    begin.graphs.push_back(recorder.writer().add_blob(bytes_of(image.image.data, image.image.nbytes)));
    for (std::string& key : constant_keys(image)) keys.push_back(std::move(key));
  }
  begin.specs = to_trace(args.specs, args.spec_count);
  begin.target = to_trace(args.target);
  begin.options = to_trace(args.options, args.option_count);
  begin.has_progress = args.progress != nullptr ? 1 : 0;
  begin.has_cancel = args.cancel != nullptr ? 1 : 0;
  args.sink = artifacts.get();
  args.constants = constants.get();
  call.args = &args;
}

void Capture<calls::Compile>::finish(TraceEnd& end, etb_status) {
  constants.read_rest(keys);
  artifacts.finish(end);
}

}  // namespace etb::host::record
