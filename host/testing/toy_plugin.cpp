// SPDX-License-Identifier: Apache-2.0
#include "host/testing/toy_plugin.hpp"

#include <cstring>

#include "etb/all.h"
#include "etb/cpp/fail.hpp"

namespace etb::host {
namespace {

constexpr uint8_t kUuid[16] = {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
constexpr double kMaxGain = 1e6;
constexpr char kGain[] = "gain";

etb_option gain_option(double value) {
  etb_option option{};
  option.struct_size = sizeof(option);
  option.key = kGain;
  option.type = ETB_OPTION_F64;
  option.f64 = value;
  return option;
}

etb_status apply(const etb_option& option, etb_status unknown, double& gain, etb_error* error) {
  if (std::strncmp(option.key, "x-", 2) == 0) return ETB_OK;
  if (std::strcmp(option.key, kGain) != 0) return fail(error, unknown, "unknown option '%s'", option.key);
  if (option.type != ETB_OPTION_F64)
    return fail(error, ETB_INVALID_ARGUMENT, "option 'gain': type %u, expected F64", option.type);
  if (!(option.f64 >= -kMaxGain && option.f64 <= kMaxGain))
    return fail(error, ETB_INVALID_ARGUMENT, "option 'gain': %g, expected -%g to %g", option.f64, kMaxGain,
                kMaxGain);
  gain = option.f64;
  return ETB_OK;
}

// ---- plugin

etb_status ETB_CALL toy_init(const etb_host* host, const etb_option* options, uint64_t option_count,
                             etb_plugin** out, etb_error* error) {
  double gain = 1.0;
  for (uint64_t i = 0; i < option_count; ++i)
    if (const etb_status status = apply(*ETB_AT(etb_option, options, i), ETB_INVALID_ARGUMENT, gain, error))
      return status;
  auto* const state = new ToyPluginState;
  state->host = host;
  state->clock = static_cast<const etb_clock_service*>(host->get_service(host, ETB_SERVICE_CLOCK));
  state->alloc = static_cast<const etb_alloc_service*>(host->get_service(host, ETB_SERVICE_ALLOC));
  state->gain = gain;
  *out = reinterpret_cast<etb_plugin*>(state);
  return ETB_OK;
}

etb_status ETB_CALL toy_deinit(etb_plugin* plugin, etb_error* error) {
  if (toy(plugin)->children != 0)
    return fail(error, ETB_BUSY, "%d objects live", toy(plugin)->children.load());
  delete toy(plugin);
  return ETB_OK;
}

const void* ETB_CALL toy_get_extension(etb_plugin*, uint32_t, void*, const char*) { return nullptr; }

etb_status ETB_CALL toy_option_schema(etb_plugin*, const etb_option_schema_sink* sink, etb_error*) {
  const etb_option value = gain_option(1.0);
  etb_option_schema schema{};
  schema.struct_size = sizeof(schema);
  schema.key = kGain;
  schema.doc = "what is added to each element";
  schema.type = ETB_OPTION_F64;
  schema.scopes = ETB_OBJECT_PLUGIN;
  schema.mutable_when = ETB_OPTION_BETWEEN;
  schema.default_value = &value;
  schema.minimum = -kMaxGain;
  schema.maximum = kMaxGain;
  return sink->put(sink->ctx, &schema);
}

etb_status ETB_CALL toy_set_option(etb_plugin* plugin, uint32_t, void*, const etb_option* option,
                                   etb_error* error) {
  return apply(*option, ETB_NOT_FOUND, toy(plugin)->gain, error);
}

etb_status ETB_CALL toy_get_option(etb_plugin* plugin, uint32_t, void*, const char* key,
                                   const etb_option_sink* sink, etb_error* error) {
  if (std::strcmp(key, kGain) != 0) return fail(error, ETB_NOT_FOUND, "unknown option '%s'", key);
  const etb_option option = gain_option(toy(plugin)->gain);
  return sink->put(sink->ctx, &option);
}

// ---- device

etb_device_info device_info() {
  etb_device_info info{};
  info.struct_size = sizeof(info);
  std::memcpy(info.uuid, kUuid, sizeof(kUuid));
  info.kind = "cpu";
  info.name = "toy";
  info.driver_version = "";
  return info;
}

etb_status ETB_CALL toy_enumerate(etb_plugin*, const etb_device_sink* sink, etb_error*) {
  const etb_device_info info = device_info();
  return sink->put(sink->ctx, &info);
}

etb_status ETB_CALL toy_open(etb_plugin* plugin, const uint8_t* uuid, const etb_option* options,
                             uint64_t option_count, etb_device** out, etb_error* error) {
  if (std::memcmp(uuid, kUuid, sizeof(kUuid)) != 0)
    return fail(error, ETB_NOT_FOUND, "no device of this uuid");
  if (option_count != 0) return fail(error, ETB_INVALID_ARGUMENT, "unknown option '%s'", options->key);
  *out = reinterpret_cast<etb_device*>(new ToyDeviceState{toy(plugin)});
  ++toy(plugin)->children;
  return ETB_OK;
}

etb_status ETB_CALL toy_close(etb_device* device, etb_error* error) {
  if (toy(device)->children != 0)
    return fail(error, ETB_BUSY, "%d delegates live", toy(device)->children.load());
  --toy(device)->plugin->children;
  delete toy(device);
  return ETB_OK;
}

etb_status ETB_CALL toy_device_query(etb_device*, const etb_device_sink* sink, etb_error*) {
  const etb_device_info info = device_info();
  return sink->put(sink->ctx, &info);
}

// ---- delegate

bool is_toy_payload(const void* data, uint64_t nbytes) {
  return nbytes >= 4 && std::memcmp(data, kToyPayload, 4) == 0;
}

etb_status ETB_CALL toy_check_payload(etb_plugin*, const etb_payload_check* args, etb_verdict* verdict,
                                      etb_error*) {
  const bool good = is_toy_payload(args->prefix.data, args->prefix.nbytes);
  verdict->kind = good ? ETB_VERDICT_OPTIMAL : ETB_VERDICT_UNSUPPORTED;
  verdict->reasons = good ? 0 : ETB_REASON_FORMAT;
  return ETB_OK;
}

etb_status ETB_CALL toy_create(etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                               etb_error* error) {
  if (!is_toy_payload(args->payload->data, args->payload->nbytes))
    return fail(error, ETB_INVALID_DATA, "payload does not begin with %s", kToyPayload);
  auto* const state = new ToyDelegateState;
  state->plugin = toy(plugin);
  state->device = toy(args->device);
  state->payload = *args->payload;
  if (args->named_data != nullptr) state->named_data.push_back(*args->named_data);
  ++state->plugin->children;
  if (state->device != nullptr) ++state->device->children;
  *out = reinterpret_cast<etb_delegate*>(state);
  return ETB_OK;
}

etb_status ETB_CALL toy_destroy(etb_delegate* delegate, etb_error* error) {
  ToyDelegateState* const state = toy(delegate);
  if (state->children != 0) return fail(error, ETB_BUSY, "%d contexts live", state->children.load());
  --state->plugin->children;
  if (state->device != nullptr) --state->device->children;
  delete state;
  return ETB_OK;
}

etb_status ETB_CALL toy_query(etb_delegate*, etb_delegate_info* info, etb_error*) {
  info->input_count = info->output_count = 1;
  info->max_contexts = ETB_UNLIMITED;
  return ETB_OK;
}

etb_status ETB_CALL toy_query_io(etb_delegate*, const etb_io_req_sink* sink, etb_error*) {
  etb_io_req req{};
  req.struct_size = sizeof(req);
  req.alignment = alignof(float);
  req.role = ETB_ROLE_INPUT;
  if (const etb_status status = sink->put(sink->ctx, &req); status != ETB_OK) return status;
  req.role = ETB_ROLE_OUTPUT;
  req.may_alias_input = 1;
  return sink->put(sink->ctx, &req);
}

etb_status ETB_CALL toy_context_create(etb_delegate* delegate, const etb_option* options,
                                       uint64_t option_count, etb_context** out, etb_error* error) {
  if (option_count != 0) return fail(error, ETB_INVALID_ARGUMENT, "unknown option '%s'", options->key);
  ++toy(delegate)->children;
  *out = reinterpret_cast<etb_context*>(new ToyContextState{toy(delegate)});
  return ETB_OK;
}

etb_status ETB_CALL toy_context_destroy(etb_context* context, etb_error*) {
  --toy(context)->delegate->children;
  delete toy(context);
  return ETB_OK;
}

etb_status ETB_CALL toy_reserve(etb_context*, const etb_tensor*, uint32_t input_count, etb_error* error) {
  return input_count == 1 ? ETB_OK : fail(error, ETB_INVALID_ARGUMENT, "%u inputs, expected 1", input_count);
}

uint64_t numel(const etb_tensor& tensor) {
  uint64_t count = 1;
  for (uint32_t i = 0; i < tensor.rank; ++i) count *= static_cast<uint64_t>(tensor.sizes[i]);
  return count;
}

etb_status check_tensors(const etb_exec_args& args, etb_error* error) {
  if (args.input_count != 1 || args.output_count != 1)
    return fail(error, ETB_INVALID_ARGUMENT, "%u inputs and %u outputs, expected 1 and 1", args.input_count,
                args.output_count);
  const etb_tensor& in = args.inputs[0];
  const etb_tensor& out = args.outputs[0];
  if (in.dtype != ETB_DTYPE_FLOAT32 || out.dtype != ETB_DTYPE_FLOAT32)
    return fail(error, ETB_INVALID_ARGUMENT, "dtypes %d and %d, expected float", in.dtype, out.dtype);
  if (in.strides != nullptr || in.dim_order != nullptr || out.strides != nullptr || out.dim_order != nullptr)
    return fail(error, ETB_INVALID_ARGUMENT, "strides or dim order, expected neither");
  if (in.rank != out.rank || out.capacity_bytes < numel(in) * sizeof(float))
    return fail(error, ETB_INVALID_ARGUMENT, "output does not hold the input's elements");
  return ETB_OK;
}

void put_event(const ToyPluginState& plugin, const etb_exec_args& args, uint64_t begin) {
  if (args.events == nullptr || plugin.clock == nullptr) return;
  etb_event event{};
  event.struct_size = sizeof(event);
  event.name = "add";
  event.debug_id = -1;
  event.begin_ticks = begin;
  event.end_ticks = plugin.clock->now_ns(plugin.clock->ctx);
  event.timebase = ETB_TIMEBASE_HOST;
  event.ns_numerator = event.ns_denominator = 1;
  args.events->put(args.events->ctx, &event);
}

etb_status ETB_CALL toy_execute(etb_context* context, const etb_exec_args* args, etb_error* error) {
  const ToyPluginState& plugin = *toy(context)->delegate->plugin;
  const bool timed = args->events != nullptr && plugin.clock != nullptr;
  const uint64_t begin = timed ? plugin.clock->now_ns(plugin.clock->ctx) : 0;
  if (args->cancel != nullptr && args->cancel->is_cancelled(args->cancel->ctx) != 0)
    return fail(error, ETB_CANCELLED, "cancelled");
  if (const etb_status status = check_tensors(*args, error); status != ETB_OK) return status;
  const etb_tensor& in = args->inputs[0];
  etb_tensor& out = args->outputs[0];
  const uint64_t count = numel(in);
  const auto* const from = static_cast<const float*>(in.data);
  auto* const to = static_cast<float*>(out.data);
  for (uint64_t i = 0; i < count; ++i) to[i] = from[i] + static_cast<float>(plugin.gain);
  for (uint32_t i = 0; i < in.rank; ++i) out.sizes[i] = in.sizes[i];
  put_event(plugin, *args, begin);
  return ETB_OK;
}

etb_status ETB_CALL toy_execute_async(etb_context* context, const etb_exec_args* args, etb_error* error) {
  for (uint32_t i = 0; i < args->signal_count; ++i)
    if (std::strcmp(ETB_AT(etb_fence, args->signal, i)->kind, "callback") != 0)
      return fail(error, ETB_NOT_SUPPORTED, "fence %u is not a callback", i);
  const etb_status status = toy_execute(context, args, error);
  for (uint32_t i = 0; i < args->signal_count; ++i) {
    const etb_fence& fence = *ETB_AT(etb_fence, args->signal, i);
    fence.signal(fence.handle, status);
  }
  return ETB_OK;
}

etb_status ETB_CALL toy_cancel(etb_context*, etb_error*) { return ETB_OK; }

// ---- ahead of time

constexpr char kToyOp[] = "aten.add.Tensor";

etb_status ETB_CALL toy_op_table(etb_plugin*, const etb_op_sink* sink, etb_error*) {
  const etb_dtype dtype = ETB_DTYPE_FLOAT32;
  etb_op_capability op{};
  op.struct_size = sizeof(op);
  op.op = kToyOp;
  op.dtypes = &dtype;
  op.dtype_count = 1;
  op.max_rank = ETB_MAX_RANK;
  op.layouts = ETB_LAYOUT_CONTIGUOUS;
  op.constraint = "";
  return sink->put(sink->ctx, &op);
}

etb_status ETB_CALL toy_preserve_ops(etb_plugin*, const etb_text_sink* sink, etb_error*) {
  return sink->put(sink->ctx, "aten.gelu.default");
}

etb_status put_node(const etb_partition_sink& sink, uint32_t id, bool claimed) {
  if (claimed) {
    const etb_claim claim{sizeof(etb_claim), 0, &id, 1, 0, 10.0};
    return sink.claim(sink.ctx, &claim);
  }
  const etb_reject reject{sizeof(etb_reject), 0, &id, 1, 0, "op", "only aten.add.Tensor is taken"};
  return sink.reject(sink.ctx, &reject);
}

etb_status ETB_CALL toy_partition(etb_plugin*, const etb_partition_args* args, const etb_partition_sink* sink,
                                  etb_error* error) {
  etb_graph_view view;
  if (etb_graph_open(args->graph, &view) != ETB_OK)
    return fail(error, ETB_INVALID_ARGUMENT, "not a graph image that this plugin reads");
  for (uint32_t g = 0; g < view.graphs.count; ++g) {
    const etb_graph_body body = etb_graph_get_body(&view, g);
    for (uint32_t i = 0; i < body.nodes.count; ++i) {
      const etb_graph_node node = etb_graph_get_node(&view, &body, i);
      const bool claimed = g == 0 && std::strcmp(etb_graph_op_name(&view, node.op), kToyOp) == 0;
      if (const etb_status status = put_node(*sink, body.first_node_id + i, claimed); status != ETB_OK)
        return status;
    }
  }
  return ETB_OK;
}

etb_status ETB_CALL toy_dry_check(etb_plugin*, const etb_partition_args*, etb_error*) { return ETB_OK; }

etb_status ETB_CALL toy_estimate(etb_plugin*, const etb_partition_args*, etb_estimate* estimate, etb_error*) {
  estimate->latency_ns = 10.0;
  estimate->confidence = 0.5;
  return ETB_OK;
}

etb_status compile_one(const etb_compile_args& args, uint32_t index) {
  const etb_artifact_sink& sink = *args.sink;
  const etb_blob_writer* writer = nullptr;
  if (const etb_status status = sink.begin_payload(sink.ctx, index, &writer); status != ETB_OK) return status;
  if (const etb_status status = writer->write(writer->ctx, 0, kToyPayload, 4); status != ETB_OK)
    return status;
  etb_artifact artifact{};
  artifact.struct_size = sizeof(artifact);
  artifact.graph_index = index;
  artifact.format_version = 1;
  return sink.end_payload(sink.ctx, &artifact);
}

etb_status ETB_CALL toy_compile(etb_plugin*, const etb_compile_args* args, etb_error*) {
  for (uint64_t i = 0; i < args->graph_count; ++i)
    if (const etb_status status = compile_one(*args, static_cast<uint32_t>(i)); status != ETB_OK)
      return status;
  return ETB_OK;
}

}  // namespace

ToyPlugin::ToyPlugin()
    : ident{},
      plugin{sizeof(plugin),
             0,
             ETB_ABI_VERSION,
             ETB_PLUGIN_CAPS_KNOWN,
             &ident,
             toy_init,
             toy_deinit,
             toy_get_extension,
             toy_option_schema,
             toy_set_option,
             toy_get_option,
             &device,
             &delegate,
             &aot},
      device{sizeof(device), 0, toy_enumerate, toy_open, toy_close, toy_device_query},
      delegate{sizeof(delegate),
               0,
               ETB_DELEGATE_CAPS_KNOWN,
               0,
               toy_check_payload,
               toy_create,
               toy_destroy,
               toy_query,
               toy_query_io,
               toy_context_create,
               toy_context_destroy,
               toy_reserve,
               toy_execute,
               toy_execute_async,
               toy_cancel},
      aot{sizeof(aot),        0,
          ETB_AOT_CAPS_KNOWN, 0,
          toy_op_table,       toy_preserve_ops,
          toy_partition,      toy_dry_check,
          toy_estimate,       toy_compile} {
  ident.struct_size = sizeof(ident);
  ident.abi_min = ETB_ABI_MAKE(1, 0);
  ident.abi_max = ETB_ABI_VERSION;
  ident.profiles = ETB_PROFILE_RUNTIME | ETB_PROFILE_AOT;
  ident.sanitizers = ETB_SANITIZERS_BUILT;
  ident.abi_candidate = ETB_ABI_RELEASE_CANDIDATE;
  std::strcpy(ident.id, "org.etbackend.toy");
  std::strcpy(ident.vendor, "etbackend");
  std::strcpy(ident.version, "1.0.0");
}

const ToyPlugin& toy_tables() {
  static const ToyPlugin tables;
  return tables;
}

}  // namespace etb::host
