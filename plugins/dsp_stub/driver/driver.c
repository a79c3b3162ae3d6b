// SPDX-License-Identifier: Apache-2.0
/* The run-time half of dsp_stub in C11, for firmware: the same device and payloads as the plugin, no compiler. All memory
   comes from the host's service alloc/1, before the first run; a run needs none. */
#include <stdio.h>
#include <string.h>

#include "etb/delegate.h"
#include "etb/plugin.h"
#include "plugins/dsp_stub/driver/driver_payload.h"

ETB_DEFINE_PLUGIN_NOTE(note, "org.etbackend.dsp-stub", "etbackend", "0.1.0", "driver", ETB_PROFILE_RUNTIME,
                       0);

#define TIMEBASE "org.etbackend.dsp-stub.cycles"

struct etb_plugin {
  const etb_alloc_service* memory;
  uint32_t child_count;
};

struct etb_device {
  etb_plugin* plugin;
};

struct etb_delegate {
  etb_plugin* plugin;
  driver_payload payload;
  uint64_t nbytes;
  uint32_t child_count;
};

struct etb_context {
  etb_delegate* delegate;
  uint8_t* tcm;
  uint8_t* arena;
  uint64_t cycles; /* of all runs before */
};

static etb_status fail(etb_error* error, etb_status code, const char* text) {
  if (error != NULL && ETB_HAS_FIELD(etb_error, error, text)) {
    error->code = code;
    error->vendor_code = 0;
    error->reason[0] = '\0';
    snprintf(error->text, sizeof error->text, "%s", text);
  }
  return code;
}

static void* allocate(const etb_plugin* plugin, uint64_t nbytes, uint64_t alignment, const char* tag) {
  return plugin->memory->allocate(plugin->memory->ctx, nbytes, alignment, tag);
}

static void release(const etb_plugin* plugin, void* memory) {
  plugin->memory->free(plugin->memory->ctx, memory);
}

/* Rejects all options: those of the plugin are for its compiler. */
static etb_status check_options(const etb_option* options, uint64_t count, etb_error* error) {
  for (uint64_t i = 0; i < count; ++i) {
    const etb_option* option = ETB_AT(etb_option, options, i);
    if (!ETB_HAS_FIELD(etb_option, option, items) || option->key == NULL ||
        strncmp(option->key, "x-", 2) != 0)
      return fail(error, ETB_INVALID_ARGUMENT, "an option, the driver has none");
  }
  return ETB_OK;
}

static etb_status ETB_CALL init(const etb_host* host, const etb_option* options, uint64_t option_count,
                                etb_plugin** out, etb_error* error) {
  const etb_alloc_service* memory;
  etb_plugin* plugin;
  etb_status status;
  if (host == NULL || !ETB_HAS_FIELD(etb_host, host, layer_link))
    return fail(error, ETB_INVALID_ARGUMENT, "a host struct that is too short");
  status = check_options(options, option_count, error);
  if (status != ETB_OK) return status;
  memory = host->get_service(host, ETB_SERVICE_ALLOC);
  if (memory == NULL) return fail(error, ETB_NOT_SUPPORTED, "a host without the service alloc/1");
  plugin = memory->allocate(memory->ctx, sizeof *plugin, sizeof(void*), "plugin");
  if (plugin == NULL) return fail(error, ETB_OUT_OF_MEMORY, "no memory for the plugin");
  plugin->memory = memory;
  plugin->child_count = 0;
  *out = plugin;
  return ETB_OK;
}

static etb_status ETB_CALL deinit(etb_plugin* plugin, etb_error* error) {
  if (plugin->child_count != 0) return fail(error, ETB_BUSY, "plugin: objects made from it are alive");
  release(plugin, plugin);
  return ETB_OK;
}

/* ---- The device ---- */

static const etb_device_info device_info = {ETB_INIT_SIZE(etb_device_info),
                                            0,
                                            {'d', 's', 'p'},
                                            {'d', 's', 'p'},
                                            DSP_TCM_BYTES,
                                            DSP_TCM_BYTES,
                                            0,
                                            0,
                                            "dsp",
                                            "simulated fixed-point DSP",
                                            "",
                                            NULL,
                                            0};

static etb_status ETB_CALL device_enumerate(etb_plugin* plugin, const etb_device_sink* sink,
                                            etb_error* error) {
  (void)plugin, (void)error;
  return sink->put(sink->ctx, &device_info);
}

static etb_status ETB_CALL device_open(etb_plugin* plugin, const uint8_t* uuid, const etb_option* options,
                                       uint64_t option_count, etb_device** out, etb_error* error) {
  const etb_status status = check_options(options, option_count, error);
  etb_device* device;
  if (status != ETB_OK) return status;
  if (memcmp(uuid, device_info.uuid, sizeof device_info.uuid) != 0)
    return fail(error, ETB_NOT_FOUND, "device: no device of this uuid");
  device = allocate(plugin, sizeof *device, sizeof(void*), "device");
  if (device == NULL) return fail(error, ETB_OUT_OF_MEMORY, "no memory for the device");
  device->plugin = plugin;
  ++plugin->child_count;
  *out = device;
  return ETB_OK;
}

static etb_status ETB_CALL device_close(etb_device* device, etb_error* error) {
  (void)error;
  --device->plugin->child_count;
  release(device->plugin, device);
  return ETB_OK;
}

static etb_status ETB_CALL device_query(etb_device* device, const etb_device_sink* sink, etb_error* error) {
  (void)device, (void)error;
  return sink->put(sink->ctx, &device_info);
}

static const etb_device_table device_table = {
    ETB_INIT_SIZE(etb_device_table), 0, device_enumerate, device_open, device_close, device_query};

/* ---- Delegates ---- */

static etb_status ETB_CALL check_payload(etb_plugin* plugin, const etb_payload_check* check,
                                         etb_verdict* verdict, etb_error* error) {
  static const uint8_t magic[4] = {'E', 'T', 'B', 'D'};
  const uint8_t* prefix = check->prefix.data;
  (void)plugin, (void)error;
  verdict->kind = ETB_VERDICT_UNSUPPORTED;
  verdict->reasons = ETB_REASON_CORRUPT;
  verdict->text[0] = '\0';
  if (check->prefix.nbytes < 8 || memcmp(prefix, magic, sizeof magic) != 0) return ETB_OK;
  verdict->reasons = ETB_REASON_FORMAT;
  if (prefix[4] < 1 || prefix[4] > 3 || prefix[5] != 0 || prefix[6] != 0 || prefix[7] != 0) return ETB_OK;
  verdict->reasons = 0;
  verdict->kind = ETB_VERDICT_OPTIMAL;
  return ETB_OK;
}

static etb_status ETB_CALL create(etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                                  etb_error* error) {
  etb_delegate* delegate;
  etb_status status = check_options(args->options, args->option_count, error);
  if (status != ETB_OK) return status;
  if (args->payload->data == NULL) return fail(error, ETB_INVALID_DATA, "payload: no bytes");
  delegate = allocate(plugin, sizeof *delegate, sizeof(uint64_t), "delegate");
  if (delegate == NULL) return fail(error, ETB_OUT_OF_MEMORY, "no memory for the delegate");
  status = driver_read_payload(args->payload->data, args->payload->nbytes, &delegate->payload, error);
  if (status != ETB_OK) {
    release(plugin, delegate);
    return status;
  }
  delegate->plugin = plugin;
  delegate->nbytes = args->payload->nbytes;
  delegate->child_count = 0;
  ++plugin->child_count;
  *out = delegate;
  return ETB_OK;
}

static etb_status ETB_CALL destroy(etb_delegate* delegate, etb_error* error) {
  if (delegate->child_count != 0) return fail(error, ETB_BUSY, "delegate: contexts made from it are alive");
  --delegate->plugin->child_count;
  release(delegate->plugin, delegate);
  return ETB_OK;
}

static etb_status ETB_CALL query(etb_delegate* delegate, etb_delegate_info* info, etb_error* error) {
  const dsp_layout* layout = &delegate->payload.layout;
  (void)error;
  info->input_count = layout->input_count;
  info->output_count = layout->io_count - layout->input_count;
  info->max_contexts = ETB_UNLIMITED;
  info->resident_bytes = sizeof *delegate + delegate->nbytes;
  info->context_bytes = sizeof(etb_context) + (uint64_t)layout->tcm_bytes + layout->arena_bytes;
  info->scratch_bytes = 0;
  info->scratch_alignment = 0;
  return ETB_OK;
}

static etb_status ETB_CALL query_io(etb_delegate* delegate, const etb_io_req_sink* sink, etb_error* error) {
  const dsp_layout* layout = &delegate->payload.layout;
  (void)error;
  for (uint32_t i = 0; i < layout->io_count; ++i) {
    etb_io_req req = {ETB_INIT_SIZE(etb_io_req), 0, ETB_ROLE_INPUT, i, 1, 0, 0, 0, NULL, NULL};
    etb_status status;
    if (i >= layout->input_count) {
      req.role = ETB_ROLE_OUTPUT;
      req.index = i - layout->input_count;
    }
    status = sink->put(sink->ctx, &req);
    if (status != ETB_OK) return status;
  }
  return ETB_OK;
}

static etb_status ETB_CALL context_create(etb_delegate* delegate, const etb_option* options,
                                          uint64_t option_count, etb_context** out, etb_error* error) {
  const dsp_layout* layout = &delegate->payload.layout;
  const etb_status status = check_options(options, option_count, error);
  etb_context* context;
  if (status != ETB_OK) return status;
  context = allocate(delegate->plugin, sizeof *context, sizeof(uint64_t), "context");
  if (context == NULL) return fail(error, ETB_OUT_OF_MEMORY, "no memory for the context");
  context->delegate = delegate;
  context->cycles = 0;
  context->tcm = allocate(delegate->plugin, layout->tcm_bytes + 1u, 16, "tightly coupled memory");
  context->arena = allocate(delegate->plugin, layout->arena_bytes + (uint64_t)1, 16, "arena");
  if (context->tcm == NULL || context->arena == NULL) {
    release(delegate->plugin, context->arena);
    release(delegate->plugin, context->tcm);
    release(delegate->plugin, context);
    return fail(error, ETB_OUT_OF_MEMORY, "no memory for the device's memories");
  }
  memset(context->tcm, 0, layout->tcm_bytes);
  memset(context->arena, 0, layout->arena_bytes);
  ++delegate->child_count;
  *out = context;
  return ETB_OK;
}

static etb_status ETB_CALL context_destroy(etb_context* context, etb_error* error) {
  const etb_plugin* plugin = context->delegate->plugin;
  (void)error;
  --context->delegate->child_count;
  release(plugin, context->arena);
  release(plugin, context->tcm);
  release(plugin, context);
  return ETB_OK;
}

/* ---- One run ---- */

typedef struct run {
  const etb_exec_args* args;
  uint64_t first_cycle;
  etb_status status;
} run;

static etb_status put_event(const run* self, int64_t id, const char* name, uint64_t begin, uint64_t end) {
  const etb_event event = {ETB_INIT_SIZE(etb_event),
                           0,
                           name,
                           id,
                           self->first_cycle + begin,
                           self->first_cycle + end,
                           TIMEBASE,
                           1000000000u / (DSP_CLOCK_HZ / 4),
                           4,
                           {NULL, 0}};
  if (self->args->events == NULL) return ETB_OK;
  return self->args->events->put(self->args->events->ctx, &event);
}

static int end_layer(void* ctx, uint32_t index, uint64_t begin, uint64_t end) {
  run* self = ctx;
  const etb_cancel_token* cancel = self->args->cancel;
  self->status = put_event(self, index, NULL, begin, end);
  if (self->status == ETB_OK && cancel != NULL && cancel->is_cancelled(cancel->ctx) != 0)
    self->status = ETB_CANCELLED;
  return self->status != ETB_OK;
}

static etb_status bad_tensor(etb_error* error, const char* what, uint32_t index) {
  char text[96];
  snprintf(text, sizeof text, "%s, of input or output", what);
  return driver_fail(error, ETB_INVALID_ARGUMENT, text, index);
}

/* Accepts int8 or int16 tensors, and sizes, as the payload has them, row-major, in host memory (ABI-TENSOR-01). */
static etb_status check_tensor(const driver_payload* payload, uint32_t index, const etb_tensor* tensor,
                               etb_error* error) {
  int64_t packed = 1;
  if (!ETB_HAS_FIELD(etb_tensor, tensor, buffer) || tensor->flags != 0 || tensor->buffer != NULL)
    return bad_tensor(error, "memory of another kind, expected host memory", index);
  if (tensor->dtype != (payload->width[index] == 2 ? ETB_DTYPE_INT16 : ETB_DTYPE_INT8))
    return bad_tensor(error, "dtype, expected that of the payload", index);
  if (tensor->rank != payload->rank[index]) return bad_tensor(error, "rank", index);
  for (uint32_t dim = tensor->rank; dim-- > 0;) {
    const int in_order = tensor->dim_order == NULL || tensor->dim_order[dim] == dim;
    if (tensor->sizes[dim] != driver_size(payload, index, dim)) return bad_tensor(error, "sizes", index);
    if (tensor->strides == NULL ? !in_order : tensor->sizes[dim] != 1 && tensor->strides[dim] != packed)
      return bad_tensor(error, "strides or dim order, expected row-major", index);
    packed *= tensor->sizes[dim];
  }
  if (tensor->capacity_bytes < payload->layout.io_bytes[index] || tensor->data == NULL)
    return bad_tensor(error, "capacity", index);
  return ETB_OK;
}

static etb_status bind(const driver_payload* payload, const etb_exec_args* args, dsp_memories* memories,
                       etb_error* error) {
  const uint32_t input_count = payload->layout.input_count;
  if (args->input_count != input_count || args->output_count != payload->layout.io_count - input_count)
    return fail(error, ETB_INVALID_ARGUMENT, "number of inputs or outputs, expected those of the payload");
  for (uint32_t i = 0; i < payload->layout.io_count; ++i) {
    const etb_tensor* tensor = i < input_count ? ETB_AT(etb_tensor, args->inputs, i)
                                               : ETB_AT(etb_tensor, args->outputs, i - input_count);
    const etb_status status = check_tensor(payload, i, tensor, error);
    if (status != ETB_OK) return status;
    if (i < input_count)
      memories->inputs[i] = tensor->data;
    else
      memories->outputs[i - input_count] = tensor->data;
  }
  return ETB_OK;
}

static etb_status ETB_CALL execute(etb_context* context, const etb_exec_args* args, etb_error* error) {
  const driver_payload* payload = &context->delegate->payload;
  dsp_memories memories = {context->tcm, context->arena, payload->constants,
                           {NULL},       {NULL},         payload->layout.input_count};
  run self = {args, context->cycles, ETB_OK};
  const dsp_observer observer = {end_layer, &self};
  dsp_clock clock;
  uint64_t end;
  etb_status status = check_options(args->options, args->option_count, error);
  if (status == ETB_OK && args->wait_count != 0)
    status = fail(error, ETB_NOT_SUPPORTED, "fences, expected none");
  if (status == ETB_OK && args->cancel != NULL && args->cancel->is_cancelled(args->cancel->ctx) != 0)
    status = fail(error, ETB_CANCELLED, "the host cancelled the run");
  if (status == ETB_OK) status = bind(payload, args, &memories, error);
  if (status != ETB_OK) return status;
  if (dsp_run(&payload->stream, &memories, &observer, &clock) != 0) {
    context->cycles += dsp_clock_end(&clock);
    return self.status == ETB_CANCELLED ? fail(error, ETB_CANCELLED, "the host cancelled the run")
                                        : self.status;
  }
  end = dsp_clock_end(&clock);
  status = payload->layout.layer_count == 0 ? put_event(&self, -1, "dsp_stub.run", 0, end) : ETB_OK;
  context->cycles += end;
  return status;
}

static const etb_delegate_table delegate_table = {ETB_INIT_SIZE(etb_delegate_table),
                                                  0,
                                                  0,
                                                  0,
                                                  check_payload,
                                                  create,
                                                  destroy,
                                                  query,
                                                  query_io,
                                                  context_create,
                                                  context_destroy,
                                                  NULL,
                                                  execute,
                                                  NULL,
                                                  NULL};

static const etb_plugin_table plugin_table = {ETB_INIT_SIZE(etb_plugin_table),
                                              0,
                                              ETB_ABI_MAKE(1, 0),
                                              0,
                                              &note.ident,
                                              init,
                                              deinit,
                                              NULL,
                                              NULL,
                                              NULL,
                                              NULL,
                                              &device_table,
                                              &delegate_table,
                                              NULL};

const etb_plugin_table* ETB_CALL ETB_PLUGIN_QUERY(const etb_host* host, uint32_t abi_min, uint32_t abi_max) {
  (void)host;
  return abi_min <= ETB_ABI_MAKE(1, 0) && ETB_ABI_MAKE(1, 0) <= abi_max ? &plugin_table : NULL;
}
