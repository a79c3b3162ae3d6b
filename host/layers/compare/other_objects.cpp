// SPDX-License-Identifier: Apache-2.0
#include "host/layers/compare/other_objects.hpp"

#include <algorithm>
#include <cstring>

#include "api/format/tensor_span.hpp"
#include "etb/cpp/guard.hpp"
#include "etb/cpp/sink.hpp"

namespace etb::host::compare {
namespace {

constexpr uint32_t kMaxTensors = 1u << 16;
constexpr uint64_t kMaxScratchNbytes = uint64_t{4} << 30;
constexpr size_t kAlignment = 64;

std::string text_of(const char* text) { return text == nullptr ? "" : text; }

std::vector<std::byte> copy_of(const void* data, uint64_t nbytes) {
  const auto* const bytes = static_cast<const std::byte*>(data);
  return data == nullptr ? std::vector<std::byte>() : std::vector<std::byte>(bytes, bytes + nbytes);
}

Result<uint64_t> span_of(const etb_tensor& tensor, const int64_t* sizes) {
  const std::span<const int64_t> strides =
      tensor.strides == nullptr ? std::span<const int64_t>() : std::span(tensor.strides, tensor.rank);
  const auto nbytes = format::tensor_span_nbytes(tensor.dtype, {sizes, tensor.rank}, strides);
  if (nbytes) return *nbytes;
  return make_error(Code::NOT_SUPPORTED, "a tensor whose number of bytes is unknown");
}

replay::MemoryNeed need_of(const std::vector<replay::MemoryNeed>& needs, size_t index) {
  replay::MemoryNeed need = index < needs.size() ? needs[index] : replay::MemoryNeed{};
  need.alignment = std::clamp<uint64_t>(need.alignment, kAlignment, 4096);
  if ((need.alignment & (need.alignment - 1)) != 0) need.alignment = 4096;
  need.padding_bytes = std::clamp<uint64_t>(need.padding_bytes, kAlignment, 1 << 20);
  return need;
}

}  // namespace

// ---- OtherDelegate

OtherDelegate::OtherDelegate(Comparison& comparison, const etb_delegate_args& args)
    : comparison_(comparison), backend_id_(text_of(args.backend_id)), method_(text_of(args.method_name)) {
  if (args.payload != nullptr) payload_ = copy_of(args.payload->data, args.payload->nbytes);
  has_named_data_ = args.named_data != nullptr;
  if (has_named_data_) from_ = copy_struct(*args.named_data);
  own_ = {sizeof(own_), 0, this,
          [](void* ctx, const char* key, etb_payload_view* out, etb_error* error) -> etb_status {
            return static_cast<OtherDelegate*>(ctx)->get_named(key, out, error);
          }};
  for (uint64_t i = 0; i < args.spec_count; ++i) {
    const etb_compile_spec& spec = *ETB_AT(etb_compile_spec, args.specs, i);
    spec_bytes_.emplace_back(text_of(spec.key), copy_of(spec.value.data, spec.value.nbytes));
  }
  for (const auto& [key, value] : spec_bytes_)
    specs_.push_back({sizeof(etb_compile_spec), 0, key.c_str(), {value.data(), value.size()}});
  graph_ = comparison.next_graph(payload_);
}

OtherDelegate::~OtherDelegate() { destroy(); }

const OutputNode& OtherDelegate::node(uint32_t output) const {
  static const OutputNode kUnknown;
  return graph_ != nullptr && output < graph_->outputs.size() ? graph_->outputs[output] : kUnknown;
}

// Constants of the portable kernels come from the trace; everything else from the host.
etb_status OtherDelegate::get_named(const char* key, etb_payload_view* out, etb_error* error) {
  if (comparison_.options().is_portable && graph_ != nullptr) {
    const auto found = graph_->constants.find(text_of(key));
    if (found == graph_->constants.end() || out == nullptr)
      return fail(error, ETB_NOT_FOUND, "the trace has no constant '%.128s'", text_of(key).c_str());
    out->data = found->second.data();
    out->nbytes = found->second.size();
    out->alignment = 16;
    out->fd = -1;
    out->release = nullptr;
    return ETB_OK;
  }
  if (!has_named_data_) return fail(error, ETB_NOT_FOUND, "the program has no named data");
  return from_.get(from_.ctx, key, out, error);
}

Status OtherDelegate::create(uint64_t number) {
  number_ = number;
  ETB_ASSIGN(plugin_, comparison_.alternative());
  if (plugin_->table().delegate == nullptr) return make_error(Code::NOT_SUPPORTED, "it runs nothing");
  std::vector<std::byte> bytes = payload_;
  if (comparison_.options().is_portable) {
    if (graph_ == nullptr)
      return make_error(Code::NOT_FOUND,
                        "the trace has no compilation of this payload, so its graph is unknown");
    const uint64_t nbytes = graph_->image.size();
    bytes = copy_of(&nbytes, sizeof(nbytes));
    bytes.insert(bytes.end(), graph_->image.begin(), graph_->image.end());
    backend_id_ = "PortableBackend";
    specs_.clear();
  }
  given_.emplace(bytes.size(), 0, kAlignment);
  given_nbytes_ = bytes.size();
  std::copy(bytes.begin(), bytes.end(), given_->data());
  etb_payload_view view{};
  view.struct_size = sizeof(view);
  view.data = bytes.empty() ? nullptr : given_->data();
  view.nbytes = bytes.size();
  view.alignment = kAlignment;
  view.fd = -1;
  etb_delegate_args args{};
  args.struct_size = sizeof(args);
  args.backend_id = backend_id_.c_str();
  args.method_name = method_.c_str();
  args.payload = &view;
  args.named_data = &own_;
  args.specs = specs_.data();
  args.spec_count = specs_.size();
  etb_error error = ETB_ERROR_INIT;
  etb_delegate* made = nullptr;
  ETB_TRY(check(table().delegate->create(plugin_->handle(), &args, &made, &error), error));
  handle_ = made;
  return read_needs();
}

Status OtherDelegate::read_needs() {
  etb_error error = ETB_ERROR_INIT;
  info_.struct_size = sizeof(info_);
  ETB_TRY(check(table().delegate->query(handle_, &info_, &error), error));
  if (info_.input_count > kMaxTensors || info_.output_count > kMaxTensors ||
      info_.scratch_bytes > kMaxScratchNbytes)
    return make_error(Code::OUT_OF_RESOURCES,
                      "it asks for " + std::to_string(info_.scratch_bytes) + " bytes of scratch");
  inputs.resize(info_.input_count);
  outputs.resize(info_.output_count);
  auto put = [&](const etb_io_req& req) -> etb_status {
    auto& needs = (req.role & ETB_ROLE_OUTPUT) != 0 ? outputs : inputs;
    if (req.index < needs.size()) needs[req.index] = {req.alignment, req.padding_bytes};
    return ETB_OK;
  };
  const auto sink = sink_to<etb_io_req_sink>(put);
  return check(table().delegate->query_io(handle_, &sink, &error), error);
}

void OtherDelegate::add_memory(etb_delegate_info& out) const {
  const auto add = [](uint64_t& to, uint64_t nbytes) {
    to = nbytes > UINT64_MAX - to ? UINT64_MAX : to + nbytes;
  };
  add(out.resident_bytes, info_.resident_bytes);
  add(out.resident_bytes, payload_.size());
  add(out.resident_bytes, given_nbytes_);
  add(out.context_bytes, info_.context_bytes);
}

void OtherDelegate::destroy() {
  if (handle_ != nullptr) table().delegate->destroy(handle_, nullptr);
  handle_ = nullptr;
}

// ---- OtherContext

Status OtherContext::create() {
  if (delegate_->handle() == nullptr) return {};
  etb_error error = ETB_ERROR_INIT;
  return check(delegate_->table().delegate->context_create(delegate_->handle(), nullptr, 0, &handle_, &error),
               error);
}

void OtherContext::destroy() {
  if (handle_ != nullptr) delegate_->table().delegate->context_destroy(handle_, nullptr);
  handle_ = nullptr;
}

void OtherContext::begin(const etb_exec_args& args) {
  if (handle_ == nullptr) return;
  forget_inputs();
  const auto copy = [&](uint32_t i) -> Status {
    etb_tensor tensor = copy_struct(*ETB_AT(etb_tensor, args.inputs, i));
    tensor.struct_size = sizeof(tensor);
    if (tensor.buffer != nullptr) return make_error(Code::NOT_SUPPORTED, "an input is not in host memory");
    ETB_ASSIGN(const uint64_t nbytes, span_of(tensor, tensor.sizes));
    if (nbytes > tensor.capacity_bytes) return make_error(Code::INVALID_DATA, "an input without its bytes");
    input_sizes_.emplace_back(tensor.sizes, tensor.sizes + tensor.rank);
    input_sizes_.back().resize(ETB_MAX_RANK);
    tensor.sizes = input_sizes_.back().data();
    const replay::MemoryNeed need = need_of(delegate_->inputs, i);
    input_memory_.emplace_back(nbytes, need.padding_bytes, need.alignment);
    if (nbytes != 0) std::memcpy(input_memory_.back().data(), tensor.data, nbytes);
    tensor.data = input_memory_.back().data();
    tensor.capacity_bytes = nbytes + need.padding_bytes;
    inputs_.push_back(tensor);
    return {};
  };
  copied_ = {};
  for (uint32_t i = 0; i < args.input_count && copied_; ++i) copied_ = copy(i);
}

void OtherContext::forget_inputs() {
  inputs_.clear();
  input_sizes_.clear();
  input_memory_.clear();
}

void OtherContext::finish(const etb_exec_args& args, etb_status status) {
  if (handle_ == nullptr) return;
  ++run_count_;
  Status done = copied_;
  if (done) {
    const std::lock_guard lock(delegate_->run_mutex());
    done = run(args, status);
  }
  forget_inputs();
  if (!done)
    comparison_.note("delegate " + std::to_string(delegate_->number()) + ": " + done.error().message,
                     done.error().reason == "compare.difference");
}

Status OtherContext::check_status(etb_status plugin_status, etb_status own_status,
                                  const etb_error& error) const {
  if (plugin_status == own_status) return {};
  const Status own = etb::check(own_status, error);
  Error found;
  found.code = Code::INTERNAL;
  found.reason = "compare.difference";
  found.message = "the plugin returned " + std::string(to_text(static_cast<Code>(plugin_status))) + ", " +
                  comparison_.options().name + " returned " + (own ? "success" : own.error().message);
  return tl::make_unexpected(std::move(found));
}

Status OtherContext::run(const etb_exec_args& args, etb_status status) {
  std::vector<etb_tensor> outputs;
  std::deque<std::vector<int64_t>> sizes;
  std::deque<replay::AlignedBytes> memory;
  for (uint32_t i = 0; i < args.output_count; ++i) {
    etb_tensor tensor = copy_struct(*ETB_AT(etb_tensor, args.outputs, i));
    tensor.struct_size = sizeof(tensor);
    if (tensor.buffer != nullptr) return make_error(Code::NOT_SUPPORTED, "an output is not in host memory");
    ETB_ASSIGN(const uint64_t nbytes,
               span_of(tensor, tensor.upper_sizes != nullptr ? tensor.upper_sizes : tensor.sizes));
    const int64_t* const start = tensor.upper_sizes != nullptr ? tensor.upper_sizes : tensor.sizes;
    sizes.emplace_back(start, start + tensor.rank);
    sizes.back().resize(ETB_MAX_RANK);
    tensor.sizes = sizes.back().data();
    const replay::MemoryNeed need = need_of(delegate_->outputs, i);
    memory.emplace_back(nbytes, need.padding_bytes, need.alignment);
    tensor.data = memory.back().data();
    tensor.capacity_bytes = nbytes + need.padding_bytes;
    outputs.push_back(tensor);
  }
  const uint64_t alignment = std::clamp<uint64_t>(delegate_->info().scratch_alignment, kAlignment, 4096);
  const replay::AlignedBytes scratch(delegate_->info().scratch_bytes, 0, alignment);
  etb_exec_args own{};
  own.struct_size = sizeof(own);
  own.inputs = inputs_.data();
  own.outputs = outputs.data();
  own.input_count = static_cast<uint32_t>(inputs_.size());
  own.output_count = static_cast<uint32_t>(outputs.size());
  own.scratch = delegate_->info().scratch_bytes != 0 ? scratch.data() : nullptr;
  own.scratch_nbytes = delegate_->info().scratch_bytes;
  own.priority = args.priority;
  etb_error error = ETB_ERROR_INIT;
  const etb_status found = delegate_->table().delegate->execute(handle_, &own, &error);
  ETB_TRY(check_status(status, found, error));
  return status == ETB_OK ? compare(args, outputs) : Status{};
}

Status OtherContext::compare(const etb_exec_args& args, std::span<const etb_tensor> found) {
  for (uint32_t i = 0; i < found.size(); ++i) {
    const etb_tensor& plugins = *ETB_AT(etb_tensor, args.outputs, i);
    if (!std::equal(plugins.sizes, plugins.sizes + plugins.rank, found[i].sizes)) {
      Error error;
      error.reason = "compare.difference";
      error.message =
          "output " + std::to_string(i) + " has other sizes than that of " + comparison_.options().name;
      return tl::make_unexpected(std::move(error));
    }
    ETB_ASSIGN(const uint64_t nbytes, span_of(plugins, plugins.sizes));
    if (nbytes > plugins.capacity_bytes || nbytes > found[i].capacity_bytes) continue;
    const OutputDistance distance = measure_distance(
        plugins.dtype, {static_cast<const std::byte*>(found[i].data), nbytes},
        {static_cast<const std::byte*>(plugins.data), nbytes}, comparison_.options().tolerance);
    comparison_.add(delegate_->number(), delegate_->method(), i, delegate_->node(i), run_count_, distance);
  }
  return {};
}

}  // namespace etb::host::compare
