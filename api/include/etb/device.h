// SPDX-License-Identifier: Apache-2.0
//
// Devices: the hardware that a plugin finds, and the functions that open it.
//
// A device is a piece of hardware that a delegate can run on: a processor, a GPU, an NPU. The host lists
// devices to let people and policies choose, opens the chosen one by its uuid, and passes the handle to
// delegate creation:
//
//   table->device->enumerate(plugin, &sink, &error);              // one sink.put per device
//   table->device->open(plugin, info.uuid, NULL, 0, &device, &error);
//   ... delegates on the device ...
//   table->device->close(device, &error);
#ifndef ETB_DEVICE_H_
#define ETB_DEVICE_H_

#include "etb/base.h"
#include "etb/option.h"
#include "etb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ETB_FINGERPRINT_NBYTES 32u

// One device in its present state.
typedef struct etb_device_info {
  uint32_t struct_size;
  uint32_t flags;     // must be zero
  uint8_t uuid[16];   // the same after every boot on this machine

  // Made by the plugin of all that payloads depend on. Devices with equal ones run each other's payloads at the same verdict.
  uint8_t fingerprint[ETB_FINGERPRINT_NBYTES];

  uint32_t vendor_number;        // PCI id or the like, 0 when there is none
  uint32_t device_number;        // the same
  uint64_t memory_total_bytes;   // 0: unknown
  uint64_t memory_free_bytes;    // 0: unknown
  const char* kind;              // string id: "cpu", "gpu", "npu", "dsp", or reverse DNS
  const char* name;              // for people
  const char* driver_version;    // "" when there is none
  const etb_option* attributes;  // attribute_count of them (ABI-SIZE-04), e.g. clock and throttling
  uint64_t attribute_count;
} etb_device_info;

// Sink of devices. The rules of all sinks are in base.h.
typedef struct etb_device_sink {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Receives one device.
  //
  // info     [borrowed-for-call]
  // returns  ETB_OK; any other status ends the call that was given the sink (ABI-SINK-02).
  // presence required
  // threads  [serial:sink]
  // since    1.0
  etb_status(ETB_CALL* put)(void* ctx, const etb_device_info* info);
} etb_device_sink;

// Target of a compilation. It can come from a file: compiling needs no device (ABI-AOT-03).
typedef struct etb_target {
  uint32_t struct_size;
  uint32_t flags;                               // must be zero
  const char* kind;                             // as etb_device_info.kind; "" for the plugin's default
  const char* name;                             // the vendor's name of a device family, "" for the default
  uint8_t fingerprint[ETB_FINGERPRINT_NBYTES];  // of a device's info, compared with the device at load; all zero: any
  const etb_option* attributes;                 // attribute_count of them (ABI-SIZE-04)
  uint64_t attribute_count;
} etb_target;

// The device table. A plugin with ETB_PROFILE_RUNTIME has one.
typedef struct etb_device_table {
  uint32_t struct_size;
  uint32_t flags;  // must be zero

  // Lists every device. The call is cheap: it opens no context and starts no driver thread. A machine without
  // the plugin's hardware is not an error: the sink then receives nothing (ABI-DEV-01).
  //
  // plugin   from init.
  // sink     [borrowed-for-call] receives one item per device.
  // returns  ETB_OK; the sink's status when it stopped.
  // presence required
  // threads  [any]
  // since    1.0
  etb_status(ETB_CALL* enumerate)(etb_plugin* plugin, const etb_device_sink* sink, etb_error* error);

  // Opens a device by the uuid that enumerate reported.
  //
  // plugin   from init.
  // uuid     [borrowed-for-call] 16 bytes.
  // options  [borrowed-for-call] option_count of them, scope ETB_OBJECT_DEVICE.
  // out      [transferred-handle] ended by close.
  // returns  ETB_OK; ETB_NOT_FOUND (no device has this uuid now); ETB_UNAVAILABLE (in use, lost, no rights);
  //          ETB_INVALID_ARGUMENT (option).
  // presence required
  // threads  [any]   may block: yes
  // since    1.0
  etb_status(ETB_CALL* open)(etb_plugin* plugin, const uint8_t* uuid, const etb_option* options,
                             uint64_t option_count, etb_device** out, etb_error* error);

  // Ends a device. Its delegates must be destroyed before.
  //
  // device   from open; consumed on success.
  // returns  ETB_OK; ETB_BUSY while a delegate of the device is alive, and then nothing has changed
  //          (ABI-LIFE-01).
  // presence required
  // threads  [serial:device]
  // since    1.0
  etb_status(ETB_CALL* close)(etb_device* device, etb_error* error);

  // Reports the present state of a device: free memory, attributes such as clock and throttling.
  //
  // device   from open.
  // sink     [borrowed-for-call] receives exactly one item.
  // returns  ETB_OK; ETB_UNAVAILABLE (the device was lost); the sink's status when it stopped.
  // presence required
  // threads  [any]
  // since    1.0
  etb_status(ETB_CALL* query)(etb_device* device, const etb_device_sink* sink, etb_error* error);
} etb_device_table;

#ifdef __cplusplus
}
#endif

#endif
