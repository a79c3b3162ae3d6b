// SPDX-License-Identifier: Apache-2.0
// Runs a payload of dsp_stub on the driver in C, with random codes, and prints a digest of the results and the cycles of each
// run. It needs no C library but the functions that the driver needs, so it runs on any processor; all print the same lines.
#include "tests/cross/codes/platform.h"

#include <string.h>

#include "etb/plugin.h"
#include "plugins/dsp_stub/driver/driver_payload.h"

#define RUNS 4u
#define MEMORY_BYTES 393216u
#define IO_BYTES 65536u

extern const uint8_t payload_begin[], payload_end[];

static _Alignas(16) uint8_t memory[MEMORY_BYTES], io_memory[IO_BYTES];
static uint32_t memory_used;
static uint64_t end_of_run;

static void* ETB_CALL allocate(void* ctx, uint64_t nbytes, uint64_t alignment, const char* tag) {
  const uint32_t begin = (uint32_t)((memory_used + alignment - 1) / alignment * alignment);
  (void)ctx, (void)tag;
  if (nbytes > MEMORY_BYTES - begin) return NULL;
  memory_used = begin + (uint32_t)nbytes;
  return memory + begin;
}
static void ETB_CALL release(void* ctx, void* ptr) { (void)ctx, (void)ptr; }

static const etb_alloc_service alloc_service = {ETB_INIT_SIZE(etb_alloc_service), 0, NULL, allocate, release};

static const void* ETB_CALL find_service(const etb_host* host, const char* id) {
  (void)host;
  return strcmp(id, ETB_SERVICE_ALLOC) == 0 ? &alloc_service : NULL;
}

static etb_status ETB_CALL note_end(void* ctx, const etb_event* event) {
  (void)ctx;
  end_of_run = event->end_ticks;
  return ETB_OK;
}

static uint32_t random_word(uint32_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

// FNV-1a of 64 bits.
static uint64_t digest(const uint8_t* bytes, uint32_t nbytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (uint32_t i = 0; i < nbytes; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return hash;
}

static void write_hex(uint64_t number) {
  char text[17];
  for (int i = 0; i < 16; ++i) text[i] = "0123456789abcdef"[number >> (60 - 4 * i) & 15];
  text[16] = '\0';
  platform_write(text);
}

static void write_number(uint64_t number) {
  char text[21];
  int at = 20;
  text[at] = '\0';
  do {
    text[--at] = (char)('0' + number % 10);
    number /= 10;
  } while (number != 0);
  platform_write(text + at);
}

static int stop(const char* what, const etb_error* error) {
  platform_write("FAILED: ");
  platform_write(what);
  platform_write(": ");
  platform_write(error->text);
  platform_write("\n");
  return 1;
}

// Inputs and outputs as the payload has them. Returns the number of bytes of all outputs, and where they begin.
static uint32_t bind(const driver_payload* payload, etb_tensor* tensors, int64_t sizes[][8],
                     uint8_t** outputs) {
  uint32_t at = 0, output_bytes = 0;
  for (uint32_t i = 0; i < payload->layout.io_count; ++i) {
    const uint32_t nbytes = payload->layout.io_bytes[i];
    etb_tensor* const tensor = &tensors[i];
    memset(tensor, 0, sizeof *tensor);
    tensor->struct_size = ETB_INIT_SIZE(etb_tensor);
    tensor->dtype = payload->width[i] == 2 ? ETB_DTYPE_INT16 : ETB_DTYPE_INT8;
    tensor->rank = payload->rank[i];
    for (uint32_t dim = 0; dim < tensor->rank; ++dim) sizes[i][dim] = driver_size(payload, i, dim);
    tensor->sizes = sizes[i];
    tensor->data = io_memory + at;
    tensor->capacity_bytes = nbytes;
    if (i == payload->layout.input_count) *outputs = io_memory + at;
    if (i >= payload->layout.input_count) output_bytes += nbytes;
    at += nbytes;
  }
  return output_bytes;
}

int main(void) {
  static driver_payload payload;
  static etb_tensor tensors[DSP_MAX_IO];
  static int64_t sizes[DSP_MAX_IO][8];
  static etb_error error = ETB_ERROR_INIT;
  const etb_host host = {
      .struct_size = ETB_INIT_SIZE(etb_host), .abi_version = ETB_ABI_VERSION, .get_service = find_service};
  const etb_payload_view view = {.struct_size = ETB_INIT_SIZE(etb_payload_view),
                                 .data = payload_begin,
                                 .nbytes = (uint64_t)(payload_end - payload_begin)};
  const etb_delegate_args create_args = {.struct_size = ETB_INIT_SIZE(etb_delegate_args), .payload = &view};
  const etb_event_sink sink = {ETB_INIT_SIZE(etb_event_sink), 0, NULL, note_end};
  const etb_plugin_table* const table = ETB_PLUGIN_QUERY(&host, ETB_ABI_MAKE(1, 0), ETB_ABI_MAKE(1, 0));
  etb_exec_args args = {.struct_size = ETB_INIT_SIZE(etb_exec_args), .events = &sink};
  etb_plugin* plugin = NULL;
  etb_delegate* delegate = NULL;
  etb_context* context = NULL;
  uint8_t* outputs = io_memory;
  uint32_t output_bytes, io_bytes = 0;
  uint64_t begin_of_run = 0;
  if (driver_read_payload(view.data, view.nbytes, &payload, &error) != ETB_OK) return stop("payload", &error);
  for (uint32_t i = 0; i < payload.layout.io_count; ++i) {
    io_bytes += payload.layout.io_bytes[i];
    if (payload.rank[i] > 8 || io_bytes > IO_BYTES)
      return stop("inputs and outputs are larger than the memory", &error);
  }
  output_bytes = bind(&payload, tensors, sizes, &outputs);
  if (table->init(&host, NULL, 0, &plugin, &error) != ETB_OK) return stop("init", &error);
  if (table->delegate->create(plugin, &create_args, &delegate, &error) != ETB_OK)
    return stop("create", &error);
  if (table->delegate->context_create(delegate, NULL, 0, &context, &error) != ETB_OK)
    return stop("context", &error);
  args.inputs = tensors;
  args.input_count = payload.layout.input_count;
  args.outputs = tensors + args.input_count;
  args.output_count = payload.layout.io_count - args.input_count;
  for (uint32_t run = 0; run < RUNS; ++run) {
    uint32_t state = 2463534242u + run;
    for (uint32_t i = 0; i < io_bytes; ++i) io_memory[i] = (uint8_t)(random_word(&state) >> 24);
    if (table->delegate->execute(context, &args, &error) != ETB_OK) return stop("execute", &error);
    write_hex(digest(outputs, output_bytes));
    platform_write(" ");
    write_number(end_of_run - begin_of_run);
    platform_write(" cycles\n");
    begin_of_run = end_of_run;
  }
  return 0;
}
