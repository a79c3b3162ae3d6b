// SPDX-License-Identifier: Apache-2.0
// A plugin in plain C11 that uses only the installed headers. It has no device, so no object can be created
// on it.
#include <etb/all.h>

ETB_DEFINE_PLUGIN_NOTE(note, "org.example.consumer-npu", "Example", "1.2.3", "", ETB_PROFILE_RUNTIME, 0);

static int context_marker;

static etb_status no_device(etb_error* error) {
  if (error != NULL) error->code = ETB_UNAVAILABLE;
  return ETB_UNAVAILABLE;
}

static etb_status init(const etb_host* host, const etb_option* options, uint64_t option_count, etb_plugin** out,
                       etb_error* error) {
  (void)host, (void)options, (void)option_count, (void)error;
  *out = (etb_plugin*)&context_marker;
  return ETB_OK;
}

static etb_status deinit(etb_plugin* plugin, etb_error* error) {
  (void)plugin, (void)error;
  return ETB_OK;
}

static etb_status enumerate(etb_plugin* plugin, const etb_device_sink* sink, etb_error* error) {
  (void)plugin, (void)sink, (void)error;
  return ETB_OK;
}

static etb_status device_open(etb_plugin* plugin, const uint8_t* uuid, const etb_option* options,
                              uint64_t option_count, etb_device** out, etb_error* error) {
  (void)plugin, (void)uuid, (void)options, (void)option_count, (void)out;
  return no_device(error);
}

static etb_status device_close(etb_device* device, etb_error* error) {
  (void)device;
  return no_device(error);
}

static etb_status device_query(etb_device* device, const etb_device_sink* sink, etb_error* error) {
  (void)device, (void)sink;
  return no_device(error);
}

static const etb_device_table devices = {
    .struct_size = ETB_INIT_SIZE(etb_device_table),
    .enumerate = enumerate,
    .open = device_open,
    .close = device_close,
    .query = device_query,
};

static const etb_plugin_table table = {
    .struct_size = ETB_INIT_SIZE(etb_plugin_table),
    .abi_version = ETB_ABI_MAKE(1, 0),
    .ident = &note.ident,
    .init = init,
    .deinit = deinit,
    .device = &devices,
};

ETB_EXPORT const etb_plugin_table* ETB_PLUGIN_QUERY(const etb_host* host, uint32_t abi_min, uint32_t abi_max);

const etb_plugin_table* ETB_PLUGIN_QUERY(const etb_host* host, uint32_t abi_min, uint32_t abi_max) {
  (void)host;
  return abi_min <= table.abi_version && table.abi_version <= abi_max ? &table : NULL;
}
