// SPDX-License-Identifier: Apache-2.0
#include "conformance/subject/aot_calls.hpp"

#include <cmath>
#include <cstring>
#include <deque>

#include "etb/cpp/graph_view.hpp"

namespace etb::conformance {
namespace {

etb_partition_args partition_args(const Subject& subject, const etb_graph_image& image,
                                  const AotOptions& options) {
  etb_partition_args args{};
  args.struct_size = ETB_INIT_SIZE(etb_partition_args);
  args.graph = &image;
  args.target = options.target;
  args.options = options.options.data();
  args.option_count = options.options.size();
  args.backend_id = subject.backend_id().c_str();
  return args;
}

etb_status ETB_CALL take_claim(void* ctx, const etb_claim* claim) {
  auto& answers = *static_cast<Answers*>(ctx);
  if (++answers.call_count == answers.failing_call) return kStop;
  answers.has_own_regions = answers.has_own_regions || (claim->flags & ETB_CLAIM_OWN_REGION) != 0;
  for (uint32_t i = 0; i < claim->node_count; ++i) {
    answers.claims[claim->node_ids[i]] = claim->group;
    // A NaN is not equal to itself, and answers are compared.
    if (std::isnan(claim->cost_ns))
      answers.error = "node " + std::to_string(claim->node_ids[i]) + " is claimed with a cost_ns of nan";
    else
      answers.costs[claim->node_ids[i]] = claim->cost_ns;
  }
  return ETB_OK;
}

etb_status ETB_CALL take_reject(void* ctx, const etb_reject* reject) {
  auto& answers = *static_cast<Answers*>(ctx);
  if (++answers.call_count == answers.failing_call) return kStop;
  for (uint32_t i = 0; i < reject->node_count; ++i)
    answers.reasons[reject->node_ids[i]] = std::string(reject->reason) + ": " + reject->text;
  return ETB_OK;
}

// Collects one payload. Reads constants from the image.
class Sink {
 public:
  Sink(const graph::ImageBytes& image, const CompileOptions& options, Compiled& out)
      : view_(graph::View::open(image.span())),
        options_(options),
        lender_(options.loans),
        compiled_(out),
        out_(out.payload) {
    writer_ = {ETB_INIT_SIZE(etb_blob_writer), 0, this, &write};
    sink_ = {ETB_INIT_SIZE(etb_artifact_sink), 0, this, &begin_payload, &named_blob, &end_payload};
    reader_ = {ETB_INIT_SIZE(etb_constant_reader), 0, this, &read_constant};
  }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  const etb_artifact_sink* sink() const { return &sink_; }
  const etb_constant_reader* reader() const { return &reader_; }

 private:
  bool fails(const char* call) {
    if (++compiled_.call_count != options_.aot.failing_call) return false;
    compiled_.failed_call = call;
    return true;
  }
  static etb_status ETB_CALL begin_payload(void* ctx, uint32_t, const etb_blob_writer** out) {
    if (static_cast<Sink*>(ctx)->fails("begin_payload")) return kStop;
    *out = &static_cast<Sink*>(ctx)->writer_;
    return ETB_OK;
  }
  static etb_status ETB_CALL write(void* ctx, uint64_t offset, const void* data, uint64_t nbytes) {
    constexpr uint64_t kMaxPayloadBytes = uint64_t{1} << 30;
    if (static_cast<Sink*>(ctx)->fails("write")) return kStop;
    std::vector<std::byte>& bytes = static_cast<Sink*>(ctx)->out_.bytes;
    if (offset > kMaxPayloadBytes || nbytes > kMaxPayloadBytes) return ETB_OUT_OF_RESOURCES;
    if (bytes.size() < offset + nbytes) bytes.resize(offset + nbytes);
    if (nbytes != 0) std::memcpy(bytes.data() + offset, data, nbytes);
    return ETB_OK;
  }
  static etb_status ETB_CALL named_blob(void* ctx, const etb_named_blob* blob) {
    auto& self = *static_cast<Sink*>(ctx);
    if (self.fails("named_blob")) return kStop;
    std::vector<std::byte>& bytes = self.out_.named[blob->key];
    const auto* data = static_cast<const std::byte*>(blob->value.data);
    uint64_t nbytes = blob->value.nbytes;
    if (blob->constant_key != nullptr && !self.find(blob->constant_key, data, nbytes)) return ETB_NOT_FOUND;
    bytes.assign(data, data + nbytes);
    self.out_.named_alignments[blob->key] = blob->alignment;
    return ETB_OK;
  }
  static etb_status ETB_CALL end_payload(void* ctx, const etb_artifact* artifact) {
    if (static_cast<Sink*>(ctx)->fails("end_payload")) return kStop;
    Payload& out = static_cast<Sink*>(ctx)->out_;
    for (uint64_t i = 0; i < artifact->spec_count; ++i) {
      const etb_compile_spec& spec = *ETB_AT(etb_compile_spec, artifact->specs, i);
      const auto* data = static_cast<const std::byte*>(spec.value.data);
      out.specs.emplace_back(spec.key, std::vector<std::byte>(data, data + spec.value.nbytes));
    }
    out.format_version = artifact->format_version;
    out.resident_bytes = artifact->resident_bytes;
    out.scratch_bytes = artifact->scratch_bytes;
    for (uint64_t i = 0; i < artifact->named_key_count; ++i)
      out.named_keys.emplace_back(artifact->named_keys[i]);
    for (uint64_t i = 0; i < artifact->debug_entry_count; ++i) {
      const etb_debug_entry& entry = *ETB_AT(etb_debug_entry, artifact->debug_map, i);
      out.debug_map.push_back({entry.debug_id,
                               entry.name != nullptr ? entry.name : "",
                               {entry.handles, entry.handles + entry.handle_count}});
      out.debug_ids.push_back(entry.debug_id);
      out.debug_handles.insert(out.debug_handles.end(), entry.handles, entry.handles + entry.handle_count);
    }
    return ETB_OK;
  }
  static etb_status ETB_CALL read_constant(void* ctx, const char* key, etb_payload_view* out, etb_error*) {
    const std::byte* data = nullptr;
    uint64_t nbytes = 0;
    auto& self = *static_cast<Sink*>(ctx);
    if (self.fails("read")) return kStop;
    if (!self.find(key, data, nbytes)) return ETB_NOT_FOUND;
    if (self.options_.change_constant) {
      std::vector<std::byte>& changed = self.changed_.emplace_back(data, data + nbytes);
      if (!self.options_.change_constant(changed)) return ETB_NOT_FOUND;
      data = changed.data();
      nbytes = changed.size();
    }
    self.lender_.lend({data, static_cast<size_t>(nbytes)}, *out);
    return ETB_OK;
  }
  bool find(const char* key, const std::byte*& data, uint64_t& nbytes) const {
    if (!view_) return false;
    if (options_.outside_constants != nullptr)
      if (const auto found = options_.outside_constants->find(key);
          found != options_.outside_constants->end()) {
        data = found->second.data();
        nbytes = found->second.size();
        return true;
      }
    for (uint32_t i = 0; i < view_->c().constants.count; ++i) {
      const etb_graph_constant constant = view_->constant(i);
      if (std::strcmp(constant.key, key) != 0) continue;
      data = static_cast<const std::byte*>(constant.data);
      nbytes = constant.nbytes;
      return data != nullptr || nbytes == 0;
    }
    return false;
  }

  Result<graph::View> view_;
  const CompileOptions& options_;
  std::deque<std::vector<std::byte>> changed_;
  Lender lender_;
  Compiled& compiled_;
  Payload& out_;
  etb_blob_writer writer_{};
  etb_artifact_sink sink_{};
  etb_constant_reader reader_{};
};

}  // namespace

Answers partition(Subject& subject, const graph::ImageBytes& image, const AotOptions& options) {
  Answers answers;
  answers.failing_call = options.failing_call;
  const etb_graph_image raw = image.to_c();
  const etb_partition_args args = partition_args(subject, raw, options);
  const etb_partition_sink sink = {ETB_INIT_SIZE(etb_partition_sink), 0, &answers, take_claim, take_reject};
  etb_error error = ETB_ERROR_INIT;
  answers.status = subject.table().aot->partition(subject.handle(), &args, &sink, &error);
  if (answers.status != ETB_OK) answers.error = error.text;
  if (const auto view = graph::View::open(image.span()))
    for (uint32_t i = 0; i < view->graph_count(); ++i) answers.node_count += view->graph(i).nodes().size();
  return answers;
}

etb_status estimate(Subject& subject, const graph::ImageBytes& image, etb_estimate& out,
                    const AotOptions& options) {
  const etb_graph_image raw = image.to_c();
  const etb_partition_args args = partition_args(subject, raw, options);
  etb_error error = ETB_ERROR_INIT;
  out = {};
  out.struct_size = ETB_INIT_SIZE(etb_estimate);
  return subject.table().aot->estimate(subject.handle(), &args, &out, &error);
}

etb_status dry_check(Subject& subject, const graph::ImageBytes& image, std::string& out_error,
                     const AotOptions& options) {
  const etb_graph_image raw = image.to_c();
  const etb_partition_args args = partition_args(subject, raw, options);
  etb_error error = ETB_ERROR_INIT;
  const etb_status status = subject.table().aot->dry_check(subject.handle(), &args, &error);
  if (status != ETB_OK) out_error = error.text;
  return status;
}

Compiled compile(Subject& subject, const graph::ImageBytes& image, const CompileOptions& options) {
  Compiled out;
  Sink sink(image, options, out);
  const etb_graph_image raw = image.to_c();
  std::vector<etb_compile_spec> specs;
  for (const auto& [key, value] : options.specs)
    specs.push_back({ETB_INIT_SIZE(etb_compile_spec), 0, key.c_str(), {value.data(), value.size()}});
  etb_compile_args args{};
  args.struct_size = ETB_INIT_SIZE(etb_compile_args);
  args.backend_id = subject.backend_id().c_str();
  args.graphs = &raw;
  args.graph_count = 1;
  args.specs = specs.data();
  args.spec_count = specs.size();
  args.constants = sink.reader();
  args.sink = sink.sink();
  args.target = options.aot.target;
  args.options = options.aot.options.data();
  args.option_count = options.aot.options.size();
  args.progress = options.progress;
  args.cancel = options.cancel != nullptr ? options.cancel : &kNeverCancelled;
  etb_error error = ETB_ERROR_INIT;
  out.status = subject.table().aot->compile(subject.handle(), &args, &error);
  if (out.status != ETB_OK) out.error = error.text;
  return out;
}

}  // namespace etb::conformance
