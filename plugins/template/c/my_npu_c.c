// SPDX-License-Identifier: Apache-2.0
/* A plugin for etbackend in plain C. It supports aten.add.Tensor, ahead of time and at run time. This file has all calls
   of the ABI; the header of each table defines what its functions must do. Change the parts marked 1 to 4. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "etb/all.h"
#include "etb/ext/draft/values.h"

/* The identity. The host reads it from the library's note section without running code. my_npu_c.json repeats it. */
ETB_DEFINE_PLUGIN_NOTE(note, "com.example.my-npu-c", "Example Inc.", "0.1.0", "",
                       ETB_PROFILE_RUNTIME | ETB_PROFILE_AOT, 0);

/* ---- Errors and checks ---- */

static etb_status fail(etb_error* error, etb_status code, const char* text) {
  if (error != NULL && ETB_HAS_FIELD(etb_error, error, text)) {
    error->code = code;
    error->vendor_code = 0;
    error->reason[0] = '\0';
    snprintf(error->text, sizeof(error->text), "%s", text);
  }
  return code;
}

/* A struct from the host may be longer than here, but not shorter than in version 1.0 (ABI-SIZE-02). It must have no
   unknown flag, and zero in reserved fields (ABI-TYPE-02). */
#define ACCEPTABLE(type, ptr, last_field) \
  ((ptr) != NULL && ETB_HAS_FIELD(type, ptr, last_field) && (ptr)->flags == 0)

/* ---- 1. The payload: compile writes it and create reads it. Little-endian. ---- */

#define MAGIC 0x504e594du /* "MYNP" */
#define VERSION 1u
#define EVENT_NAME "my_npu_c.add" /* of the profiling event */

typedef struct payload {
  uint32_t magic;
  uint32_t version;
  uint32_t input_count;
  uint32_t left; /* the inputs to add */
  uint32_t right;
} payload;

/* ---- The objects of the handles. Each counts its children, because an early destroy returns ETB_BUSY. ---- */

struct etb_plugin {
  const etb_clock_service* clock; /* NULL if the host has none */
  atomic_uint children;
};

struct etb_device {
  etb_plugin* plugin;
  atomic_uint children;
};

struct etb_delegate {
  etb_plugin* plugin;
  atomic_uint* siblings; /* the count of the device, or of the plugin */
  payload program;
  float limit;
  atomic_uint children;
};

struct etb_context {
  etb_delegate* delegate;
};

/* ---- 2. Options: one, at delegate scope ---- */

static const etb_option default_limit = {
    ETB_INIT_SIZE(etb_option), 0, "limit", ETB_OPTION_F64, 0, 0, 0.0, NULL, {NULL, 0}, NULL, NULL};
static const etb_option_schema limit_schema = {
    ETB_INIT_SIZE(etb_option_schema),
    0,
    "limit",
    "Sums saturate at plus and minus this, as in fixed-point hardware; 0: they do not.",
    ETB_OPTION_F64,
    ETB_OBJECT_DELEGATE,
    ETB_OPTION_FIXED,
    0,
    &default_limit,
    0.0,
    1e30,
    NULL,
    NULL};

/* Bytes of a text to show: up to 64, and whole characters of UTF-8 (ABI-ERR-02). */
static int shown(const char* text) {
  size_t length = strlen(text);
  if (length <= 64) return (int)length;
  for (length = 64; length > 0 && ((unsigned char)text[length] & 0xc0u) == 0x80u;) --length;
  return (int)length;
}

/* Reads the options of one call. Rejects unknown keys unless they start with "x-" (ABI-OPT-01). */
static etb_status read_options(const etb_option* options, uint64_t count, uint32_t scope, double* out_limit,
                               etb_error* error) {
  char text[160];
  uint64_t i;
  for (i = 0; i < count; ++i) {
    const etb_option* option = ETB_AT(etb_option, options, i);
    if (!ACCEPTABLE(etb_option, option, reserved_pointer) || option->reserved_pointer != NULL ||
        option->key == NULL)
      return fail(error, ETB_INVALID_ARGUMENT, "an option that is too short, has flags or has no key");
    if (strncmp(option->key, "x-", 2) == 0) continue;
    if (scope != ETB_OBJECT_DELEGATE || strcmp(option->key, "limit") != 0) {
      snprintf(text, sizeof(text), "option '%.*s': unknown key", shown(option->key), option->key);
      return fail(error, ETB_INVALID_ARGUMENT, text);
    }
    if (option->type != ETB_OPTION_F64 || !(option->f64 >= 0.0 && option->f64 <= 1e30))
      return fail(error, ETB_INVALID_ARGUMENT, "option 'limit': expected a number from 0 to 1e30");
    *out_limit = option->f64;
  }
  return ETB_OK;
}

/* ---- The plugin ---- */

static etb_status ETB_CALL init(const etb_host* host, const etb_option* options, uint64_t option_count,
                                etb_plugin** out, etb_error* error) {
  double unused;
  etb_plugin* plugin;
  etb_status status;
  if (host == NULL || !ETB_HAS_FIELD(etb_host, host, layer_link))
    return fail(error, ETB_INVALID_ARGUMENT, "a host struct that is too short or has unknown flags");
  status = read_options(options, option_count, ETB_OBJECT_PLUGIN, &unused, error);
  if (status != ETB_OK) return status;
  plugin = calloc(1, sizeof(*plugin));
  if (plugin == NULL) return fail(error, ETB_OUT_OF_MEMORY, "out of memory");
  plugin->clock = host->get_service(host, ETB_SERVICE_CLOCK);
  *out = plugin;
  return ETB_OK;
}

static etb_status ETB_CALL deinit(etb_plugin* plugin, etb_error* error) {
  if (atomic_load(&plugin->children) != 0)
    return fail(error, ETB_BUSY, "plugin: objects made from it are alive");
  free(plugin);
  return ETB_OK;
}

static etb_status ETB_CALL option_schema(etb_plugin* plugin, const etb_option_schema_sink* sink,
                                         etb_error* error) {
  (void)plugin, (void)error;
  return sink->put(sink->ctx, &limit_schema);
}

/* ---- Devices: the processor that runs this code ---- */

static const etb_device_info this_processor = {ETB_INIT_SIZE(etb_device_info),
                                               0,
                                               {'c', 'p', 'u'},
                                               {'c', 'p', 'u'},
                                               0,
                                               0,
                                               0,
                                               0,
                                               "cpu",
                                               "this processor",
                                               "",
                                               NULL,
                                               0};

static etb_status ETB_CALL device_enumerate(etb_plugin* plugin, const etb_device_sink* sink,
                                            etb_error* error) {
  (void)plugin, (void)error;
  return sink->put(sink->ctx, &this_processor);
}

static etb_status ETB_CALL device_open(etb_plugin* plugin, const uint8_t* uuid, const etb_option* options,
                                       uint64_t option_count, etb_device** out, etb_error* error) {
  double unused;
  etb_device* device;
  const etb_status status = read_options(options, option_count, ETB_OBJECT_DEVICE, &unused, error);
  if (status != ETB_OK) return status;
  if (memcmp(uuid, this_processor.uuid, sizeof(this_processor.uuid)) != 0)
    return fail(error, ETB_NOT_FOUND, "device: no device of this uuid");
  device = calloc(1, sizeof(*device));
  if (device == NULL) return fail(error, ETB_OUT_OF_MEMORY, "out of memory");
  device->plugin = plugin;
  atomic_fetch_add(&plugin->children, 1);
  *out = device;
  return ETB_OK;
}

static etb_status ETB_CALL device_close(etb_device* device, etb_error* error) {
  if (atomic_load(&device->children) != 0)
    return fail(error, ETB_BUSY, "device: objects made from it are alive");
  atomic_fetch_sub(&device->plugin->children, 1);
  free(device);
  return ETB_OK;
}

static etb_status ETB_CALL device_query(etb_device* device, const etb_device_sink* sink, etb_error* error) {
  (void)device, (void)error;
  return sink->put(sink->ctx, &this_processor);
}

static const etb_device_table device_table = {
    ETB_INIT_SIZE(etb_device_table), 0, device_enumerate, device_open, device_close, device_query};

/* ---- 3. Run time ---- */

static etb_status ETB_CALL check_payload(etb_plugin* plugin, const etb_payload_check* check,
                                         etb_verdict* verdict, etb_error* error) {
  uint32_t words[2] = {0, 0};
  (void)plugin;
  if (!ACCEPTABLE(etb_payload_check, check, spec_count) || !ACCEPTABLE(etb_verdict, verdict, text))
    return fail(error, ETB_INVALID_ARGUMENT, "a struct that is too short or has flags");
  if (check->prefix.nbytes >= sizeof(words)) memcpy(words, check->prefix.data, sizeof(words));
  verdict->text[0] = '\0';
  verdict->reasons = words[0] != MAGIC ? ETB_REASON_CORRUPT : words[1] != VERSION ? ETB_REASON_FORMAT : 0;
  verdict->kind = verdict->reasons == 0 ? ETB_VERDICT_OPTIMAL : ETB_VERDICT_UNSUPPORTED;
  return ETB_OK;
}

/* A payload may hold any bytes: check every number before use. */
static etb_status parse(const etb_payload_view* view, payload* out, etb_error* error) {
  if (!ACCEPTABLE(etb_payload_view, view, release) || view->reserved != 0)
    return fail(error, ETB_INVALID_ARGUMENT, "a payload view that is too short or has flags");
  if (view->data == NULL || view->nbytes != sizeof(*out))
    return fail(error, ETB_INVALID_DATA, "payload: wrong length, expected 20 bytes");
  memcpy(out, view->data, sizeof(*out));
  if (out->magic != MAGIC) return fail(error, ETB_INVALID_DATA, "payload: not of my_npu_c");
  if (out->version != VERSION)
    return fail(error, ETB_INCOMPATIBLE, "payload: another version, plugin reads 1");
  if (out->input_count > 2 || out->left >= out->input_count || out->right >= out->input_count)
    return fail(error, ETB_INVALID_DATA, "payload: input out of range");
  return ETB_OK;
}

static etb_status ETB_CALL create(etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                                  etb_error* error) {
  payload program;
  double limit = 0.0;
  etb_delegate* delegate;
  etb_status status;
  if (!ACCEPTABLE(etb_delegate_args, args, option_count))
    return fail(error, ETB_INVALID_ARGUMENT, "delegate arguments that are too short or have flags");
  status = read_options(args->options, args->option_count, ETB_OBJECT_DELEGATE, &limit, error);
  if (status == ETB_OK) status = parse(args->payload, &program, error);
  if (status != ETB_OK) return status;
  delegate = calloc(1, sizeof(*delegate));
  if (delegate == NULL) return fail(error, ETB_OUT_OF_MEMORY, "out of memory");
  delegate->plugin = plugin;
  delegate->siblings = args->device != NULL ? &args->device->children : &plugin->children;
  delegate->program = program;
  delegate->limit = (float)limit;
  atomic_fetch_add(delegate->siblings, 1);
  *out = delegate;
  if (args->payload->release != NULL)
    args->payload->release(args->payload->release_ctx); /* copied: no longer needed */
  return ETB_OK;
}

static etb_status ETB_CALL destroy(etb_delegate* delegate, etb_error* error) {
  if (atomic_load(&delegate->children) != 0)
    return fail(error, ETB_BUSY, "delegate: contexts made from it are alive");
  atomic_fetch_sub(delegate->siblings, 1);
  free(delegate);
  return ETB_OK;
}

static etb_status ETB_CALL query(etb_delegate* delegate, etb_delegate_info* info, etb_error* error) {
  if (!ACCEPTABLE(etb_delegate_info, info, scratch_alignment))
    return fail(error, ETB_INVALID_ARGUMENT, "an info struct that is too short or has flags");
  info->input_count = delegate->program.input_count;
  info->output_count = 1;
  info->max_contexts = ETB_UNLIMITED;
  info->resident_bytes = sizeof(*delegate);
  info->context_bytes = sizeof(etb_context);
  info->scratch_bytes = 0;
  info->scratch_alignment = 0;
  return ETB_OK;
}

static etb_status ETB_CALL query_io(etb_delegate* delegate, const etb_io_req_sink* sink, etb_error* error) {
  uint32_t i;
  (void)error;
  for (i = 0; i <= delegate->program.input_count; ++i) {
    const int is_output = i == delegate->program.input_count;
    etb_io_req req = {ETB_INIT_SIZE(etb_io_req), 0, ETB_ROLE_INPUT, 0, sizeof(float), 0, 0, 0, NULL, NULL};
    etb_status status;
    req.role = is_output ? ETB_ROLE_OUTPUT : ETB_ROLE_INPUT;
    req.index = is_output ? 0 : i;
    status = sink->put(sink->ctx, &req);
    if (status != ETB_OK) return status; /* ABI-SINK-02 */
  }
  return ETB_OK;
}

static etb_status ETB_CALL context_create(etb_delegate* delegate, const etb_option* options,
                                          uint64_t option_count, etb_context** out, etb_error* error) {
  double unused;
  etb_context* context;
  const etb_status status = read_options(options, option_count, ETB_OBJECT_CONTEXT, &unused, error);
  if (status != ETB_OK) return status;
  context = calloc(1, sizeof(*context));
  if (context == NULL) return fail(error, ETB_OUT_OF_MEMORY, "out of memory");
  context->delegate = delegate;
  atomic_fetch_add(&delegate->children, 1);
  *out = context;
  return ETB_OK;
}

static etb_status ETB_CALL context_destroy(etb_context* context, etb_error* error) {
  (void)error;
  atomic_fetch_sub(&context->delegate->children, 1);
  free(context);
  return ETB_OK;
}

/* Refuses a tensor with a text that names it. */
static etb_status wrong_tensor(etb_error* error, const char* role, uint32_t index, const char* text) {
  char named[128];
  snprintf(named, sizeof(named), "%s %u: %s", role, index, text);
  return fail(error, ETB_INVALID_ARGUMENT, named);
}

/* True if this plugin can read or write the tensor: float32, contiguous, in host memory (ABI-TENSOR-01). */
static etb_status check_tensor(const etb_tensor* tensor, const char* role, uint32_t index, etb_error* error) {
  int64_t expected = 1;
  uint64_t nbytes = sizeof(float);
  uint32_t i;
  if (!ACCEPTABLE(etb_tensor, tensor, reserved_pointer) || tensor->reserved != 0 ||
      tensor->reserved_pointer != NULL || tensor->rank > ETB_MAX_RANK)
    return wrong_tensor(error, role, index, "a tensor that is too short, has flags or a rank above 16");
  if (tensor->dtype != ETB_DTYPE_FLOAT32) return wrong_tensor(error, role, index, "dtype, expected float32");
  if (tensor->buffer != NULL)
    return wrong_tensor(error, role, index, "memory of another kind, expected host memory");
  for (i = tensor->rank; i-- > 0;) {
    const int in_order = tensor->dim_order == NULL || tensor->dim_order[i] == i;
    const int packed =
        tensor->strides == NULL ? in_order : tensor->sizes[i] == 1 || tensor->strides[i] == expected;
    if (!packed)
      return wrong_tensor(error, role, index, "strides or dim order, expected a contiguous tensor");
    expected *= tensor->sizes[i];
    nbytes *= (uint64_t)tensor->sizes[i];
  }
  if (nbytes > tensor->capacity_bytes || (tensor->data == NULL && nbytes > 0))
    return wrong_tensor(error, role, index, "capacity, expected room for every element");
  return ETB_OK;
}

/* Writes the final sizes of the output, each at most its upper bound (ABI-TENSOR-02). */
static etb_status set_sizes(etb_tensor* output, const etb_tensor* like, etb_error* error) {
  uint32_t i;
  if (output->rank != like->rank)
    return fail(error, ETB_INVALID_ARGUMENT, "output: rank, expected that of the inputs");
  for (i = 0; i < like->rank; ++i) {
    const int fits = output->upper_sizes != NULL ? like->sizes[i] <= output->upper_sizes[i]
                                                 : like->sizes[i] == output->sizes[i];
    if (!fits)
      return fail(error, ETB_INVALID_ARGUMENT, "output: sizes of the inputs are above its upper bound");
  }
  for (i = 0; i < like->rank; ++i) output->sizes[i] = like->sizes[i];
  return ETB_OK;
}

static float saturate(float value, float limit) {
  return value > limit ? limit : value < -limit ? -limit : value;
}

// `sizes` may be NULL for rank 0.
static int has_sizes_of(const etb_tensor* a, const etb_tensor* b) {
  uint32_t i;
  if (a->rank != b->rank) return 0;
  for (i = 0; i < a->rank; ++i)
    if (a->sizes[i] != b->sizes[i]) return 0;
  return 1;
}

/* Reports a value inside of the delegate, the sum before it saturates, if the host records values. */
static etb_status put_sum(const etb_exec_args* args, const etb_tensor* sum) {
  const etb_value_sink* values = etb_values_of(args->events);
  const etb_inner_value value = {
      ETB_INIT_SIZE(etb_inner_value), 0, EVENT_NAME, -1, ETB_INNER_TENSORS, 1, sum, 0, 0};
  if (values == NULL || !values->wants(values->events.ctx, EVENT_NAME, -1)) return ETB_OK;
  return values->put_value(values->events.ctx, &value);
}

static etb_status add(const etb_delegate* delegate, const etb_exec_args* args, etb_error* error) {
  const etb_tensor* left = ETB_AT(etb_tensor, args->inputs, delegate->program.left);
  const etb_tensor* right = ETB_AT(etb_tensor, args->inputs, delegate->program.right);
  etb_tensor* sum = args->outputs;
  const float* a;
  const float* b;
  float* out;
  uint64_t numel = 1, i;
  etb_status status = check_tensor(left, "input", delegate->program.left, error);
  if (status == ETB_OK) status = check_tensor(right, "input", delegate->program.right, error);
  if (status != ETB_OK) return status;
  if (!has_sizes_of(left, right))
    return wrong_tensor(error, "input",
                        left->rank > right->rank ? delegate->program.left : delegate->program.right,
                        "sizes, expected those of the other operand");
  if (!ACCEPTABLE(etb_tensor, sum, buffer))
    return wrong_tensor(error, "output", 0, "too short, or has flags");
  status = set_sizes(sum, left, error);
  if (status == ETB_OK) status = check_tensor(sum, "output", 0, error);
  if (status != ETB_OK) return status;
  for (i = 0; i < left->rank; ++i) numel *= (uint64_t)left->sizes[i];
  a = left->data;
  b = right->data;
  out = sum->data;
  for (i = 0; i < numel; ++i) out[i] = a[i] + b[i];
  status = put_sum(args, sum);
  if (status != ETB_OK) return status;
  if (delegate->limit > 0)
    for (i = 0; i < numel; ++i) out[i] = saturate(out[i], delegate->limit);
  return ETB_OK;
}

static etb_status ETB_CALL execute(etb_context* context, const etb_exec_args* args, etb_error* error) {
  const etb_delegate* delegate = context->delegate;
  const etb_clock_service* clock = delegate->plugin->clock;
  double unused;
  uint64_t begin_ns;
  etb_status status;
  if (!ACCEPTABLE(etb_exec_args, args, reserved) || args->reserved != 0)
    return fail(error, ETB_INVALID_ARGUMENT, "execute arguments that are too short or have flags");
  if (args->input_count != delegate->program.input_count || args->output_count != 1)
    return fail(error, ETB_INVALID_ARGUMENT,
                "number of inputs or outputs, expected those of the payload and 1");
  if (args->wait_count != 0) return fail(error, ETB_NOT_SUPPORTED, "fences to wait for, expected none");
  status = read_options(args->options, args->option_count, ETB_OBJECT_RUN, &unused, error);
  if (status != ETB_OK) return status;
  begin_ns = args->events != NULL && clock != NULL ? clock->now_ns(clock->ctx) : 0;
  status = add(delegate, args, error);
  if (status != ETB_OK || args->events == NULL || clock == NULL) return status;
  {
    const etb_event event = {
        ETB_INIT_SIZE(etb_event), 0, EVENT_NAME, -1,       begin_ns, clock->now_ns(clock->ctx),
        ETB_TIMEBASE_HOST,        1, 1,          {NULL, 0}};
    return args->events->put(args->events->ctx, &event);
  }
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
                                                  NULL /* context_reserve */,
                                                  execute,
                                                  NULL /* execute_async */,
                                                  NULL /* cancel */};

/* ---- 4. Ahead of time ---- */

static const etb_dtype float32_only[] = {ETB_DTYPE_FLOAT32};
static const etb_op_capability add_row = {
    ETB_INIT_SIZE(etb_op_capability),
    ETB_OP_DYNAMIC_SIZES,
    "aten.add.Tensor",
    float32_only,
    1,
    0,
    ETB_MAX_RANK,
    ETB_LAYOUT_CONTIGUOUS,
    NULL,
    0,
    0,
    "Both operands have the same sizes and are no constants; alpha is 1."};

static etb_status ETB_CALL op_table(etb_plugin* plugin, const etb_op_sink* sink, etb_error* error) {
  (void)plugin, (void)error;
  return sink->put(sink->ctx, &add_row);
}

/* True if both have equal sizes in every run: equal numbers, and for dynamic dimensions the same formula. */
static int have_equal_sizes(const etb_graph_spec* a, const etb_graph_spec* b) {
  uint32_t i;
  if (a->rank != b->rank || a->dynamic_dims != b->dynamic_dims) return 0;
  for (i = 0; i < a->rank; ++i) {
    const int is_dynamic = (a->dynamic_dims >> i & 1) != 0;
    const int same_formula = a->exprs[i] == b->exprs[i] && a->exprs[i] != ETB_GRAPH_NONE;
    if (a->sizes[i] != b->sizes[i] || (is_dynamic && !same_formula)) return 0;
  }
  return 1;
}

static int is_contiguous(const etb_graph_spec* spec) {
  uint32_t i;
  for (i = 0; i < spec->rank; ++i)
    if (spec->dim_order[i] != i) return 0;
  return 1;
}

/* The answer for a node: reason is NULL for a claim, else the cause of the rejection. */
typedef struct refusal {
  const char* reason;
  const char* text;
} refusal;

static refusal check_node(const etb_graph_view* view, const etb_graph_body* body,
                          const etb_graph_node* node) {
  static const refusal taken = {NULL, NULL}, op = {"op", "only aten.add.Tensor is taken"},
                       dtype = {"dtype", "only float32 is taken"},
                       quant = {"quant", "quantized, expected a plain tensor"},
                       layout = {"layout", "dim order, expected a contiguous tensor"},
                       alpha = {"attribute", "alpha, expected 1"},
                       broadcast = {"com.example.my-npu-c.broadcast",
                                    "operands of different sizes, expected equal ones"},
                       constant = {"com.example.my-npu-c.constant",
                                   "a constant or state operand, expected run-time values"};
  const etb_graph_value result = etb_graph_get_value(view, body, node->first_output);
  etb_graph_spec specs[2];
  uint32_t i;
  if (strcmp(etb_graph_op_name(view, node->op), "aten.add.Tensor") != 0) return op;
  for (i = 0; i < 2; ++i) {
    const etb_graph_argument argument = etb_graph_get_argument(view, node, i);
    const etb_graph_value value = etb_graph_get_value(view, body, argument.value);
    if (argument.kind != ETB_GRAPH_ARGUMENT_VALUE || value.kind != ETB_GRAPH_VALUE_TENSOR) return broadcast;
    if (value.quant != ETB_GRAPH_NONE) return quant;
    specs[i] = etb_graph_get_spec(view, value.spec);
    if (specs[i].dtype != ETB_DTYPE_FLOAT32) return dtype;
    if (!is_contiguous(&specs[i])) return layout;
    if (argument.value < body->inputs.count &&
        etb_graph_get_input(view, body, argument.value).kind != ETB_GRAPH_INPUT_USER)
      return constant;
  }
  if (result.quant != ETB_GRAPH_NONE) return quant;
  if (!have_equal_sizes(&specs[0], &specs[1])) return broadcast;
  i = etb_graph_find_argument(view, node, "alpha");
  if (i != ETB_GRAPH_NONE) {
    const etb_graph_argument argument = etb_graph_get_argument(view, node, i);
    if (argument.as_int != 1 && argument.as_float != 1.0) return alpha;
  }
  return taken;
}

static etb_status ETB_CALL partition(etb_plugin* plugin, const etb_partition_args* args,
                                     const etb_partition_sink* sink, etb_error* error) {
  etb_graph_view view;
  uint32_t g, i;
  double unused;
  etb_status status;
  (void)plugin;
  if (!ACCEPTABLE(etb_partition_args, args, option_count) ||
      !ACCEPTABLE(etb_graph_image, args->graph, image) || !ACCEPTABLE(etb_partition_sink, sink, reject))
    return fail(error, ETB_INVALID_ARGUMENT, "a struct that is too short or has flags");
  status = read_options(args->options, args->option_count, ETB_OBJECT_PLUGIN, &unused, error);
  if (status != ETB_OK) return status;
  status = etb_graph_open(args->graph, &view);
  if (status != ETB_OK) return fail(error, status, "graph image cannot be read");
  for (g = 0; g < view.graphs.count; ++g) {
    const etb_graph_body body = etb_graph_get_body(&view, g);
    for (i = 0; i < body.nodes.count; ++i) {
      const uint32_t id = body.first_node_id + i;
      const etb_graph_node node = etb_graph_get_node(&view, &body, i);
      const refusal refused = check_node(&view, &body, &node);
      const etb_claim claim = {ETB_INIT_SIZE(etb_claim), ETB_CLAIM_OWN_REGION, &id, 1, 0, 0.0};
      const etb_reject reject = {ETB_INIT_SIZE(etb_reject), 0, &id, 1, 0, refused.reason, refused.text};
      status = refused.reason == NULL ? sink->claim(sink->ctx, &claim) : sink->reject(sink->ctx, &reject);
      if (status != ETB_OK) return status;
    }
  }
  return ETB_OK;
}

/* One region: one node that partition claimed. */
static etb_status compile_region(const etb_graph_image* image, uint32_t index, const etb_artifact_sink* sink,
                                 etb_error* error) {
  payload program = {MAGIC, VERSION, 0, 0, 0};
  etb_graph_view view;
  etb_graph_body body;
  etb_graph_node node;
  const etb_blob_writer* writer = NULL;
  etb_artifact artifact;
  etb_debug_entry event = {ETB_INIT_SIZE(etb_debug_entry), 0, -1, EVENT_NAME, NULL, 1};
  etb_status status =
      ACCEPTABLE(etb_graph_image, image, image) ? etb_graph_open(image, &view) : ETB_INVALID_ARGUMENT;
  if (status != ETB_OK) return fail(error, status, "graph image cannot be read");
  body = etb_graph_get_body(&view, 0);
  if (body.nodes.count != 1 || body.outputs.count != 1)
    return fail(error, ETB_NOT_SUPPORTED, "a region of more than one node or output, expected 1");
  node = etb_graph_get_node(&view, &body, 0);
  if (check_node(&view, &body, &node).reason != NULL)
    return fail(error, ETB_NOT_SUPPORTED, "node 0 of the region is none that partition claims");
  event.handles = &node.debug_handle;
  program.input_count = body.inputs.count;
  program.left = etb_graph_get_argument(&view, &node, 0).value;
  program.right = etb_graph_get_argument(&view, &node, 1).value;

  status = sink->begin_payload(sink->ctx, index, &writer);
  if (status == ETB_OK) status = writer->write(writer->ctx, 0, &program, sizeof(program));
  if (status != ETB_OK) return status;
  memset(&artifact, 0, sizeof(artifact));
  artifact.struct_size = ETB_INIT_SIZE(etb_artifact);
  artifact.graph_index = index;
  artifact.format_version = VERSION;
  /* Joins the event of execute with the node, so that profiles show its line in the model's source. */
  artifact.debug_map = &event;
  artifact.debug_entry_count = 1;
  return sink->end_payload(sink->ctx, &artifact);
}

static etb_status ETB_CALL compile(etb_plugin* plugin, const etb_compile_args* args, etb_error* error) {
  double unused;
  uint64_t i;
  etb_status status;
  (void)plugin;
  if (!ACCEPTABLE(etb_compile_args, args, cancel) || !ACCEPTABLE(etb_artifact_sink, args->sink, end_payload))
    return fail(error, ETB_INVALID_ARGUMENT, "a struct that is too short or has flags");
  /* To ignore a compile spec would drop what the user asked for. */
  if (args->spec_count != 0)
    return fail(error, ETB_INVALID_ARGUMENT, "compile spec: unknown, the plugin has none");
  status = read_options(args->options, args->option_count, ETB_OBJECT_PLUGIN, &unused, error);
  for (i = 0; status == ETB_OK && i < args->graph_count; ++i) {
    if (args->cancel != NULL && args->cancel->is_cancelled(args->cancel->ctx) != 0)
      return fail(error, ETB_CANCELLED, "the host cancelled the compilation");
    status = compile_region(ETB_AT(etb_graph_image, args->graphs, i), (uint32_t)i, args->sink, error);
  }
  return status;
}

static const etb_aot_table aot_table = {ETB_INIT_SIZE(etb_aot_table),
                                        0,
                                        0,
                                        0,
                                        op_table,
                                        NULL /* preserve_ops */,
                                        partition,
                                        NULL /* dry_check */,
                                        NULL /* estimate */,
                                        compile};

/* ---- The one exported symbol ---- */

static const etb_plugin_table plugin_table = {ETB_INIT_SIZE(etb_plugin_table),
                                              0,
                                              ETB_ABI_MAKE(1, 0),
                                              ETB_PLUGIN_CAP_OPTION_SCHEMA,
                                              &note.ident,
                                              init,
                                              deinit,
                                              NULL /* get_extension */,
                                              option_schema,
                                              NULL /* set_option */,
                                              NULL /* get_option */,
                                              &device_table,
                                              &delegate_table,
                                              &aot_table};

const etb_plugin_table* ETB_CALL ETB_PLUGIN_QUERY(const etb_host* host, uint32_t abi_min, uint32_t abi_max) {
  (void)host;
  return abi_min <= ETB_ABI_MAKE(1, 0) && ETB_ABI_MAKE(1, 0) <= abi_max ? &plugin_table : NULL;
}
