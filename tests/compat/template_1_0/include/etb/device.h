// Devices: what hardware there is, and opening it.
#ifndef ETB_DEVICE_H_
#define ETB_DEVICE_H_

#include "etb/base.h"
#include "etb/option.h"
#include "etb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ETB_FINGERPRINT_NBYTES 32u

// One device, as it is now.
typedef struct etb_device_info {
  uint32_t struct_size;
  uint32_t flags;                               // must be zero
  uint8_t uuid[16];                             // the same after every boot on this machine
  uint8_t fingerprint[ETB_FINGERPRINT_NBYTES];  // equal fingerprints run each other's payloads at the same
                                                // verdict
  uint32_t vendor_number;                       // PCI id or the like, 0 when there is none
  uint32_t device_number;
  uint64_t memory_total_bytes;  // 0: unknown
  uint64_t memory_free_bytes;
  const char* kind;              // string id: "cpu", "gpu", "npu", "dsp", or reverse DNS
  const char* name;              // for people
  const char* driver_version;    // "" when there is none
  const etb_option* attributes;  // attribute_count of them, ABI-SIZE-04
  uint64_t attribute_count;
} etb_device_info;

// Takes devices; rules of sinks as in option.h. The info is borrowed-for-call.
typedef struct etb_device_sink {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Takes one item [borrowed-for-call], on the thread of the call that was given the sink, before it returns (ABI-SINK-01).
  // threads  [serial:sink]   since 1.0
  etb_status(ETB_CALL* put)(void* ctx, const etb_device_info* info);
} etb_device_sink;

// What to compile for. It can come from a file: no device is needed to compile (ABI-AOT-03).
typedef struct etb_target {
  uint32_t struct_size;
  uint32_t flags;                               // must be zero
  const char* kind;                             // as etb_device_info.kind; "" for the plugin's default
  const char* name;                             // the vendor's name of a device family, "" for the default
  uint8_t fingerprint[ETB_FINGERPRINT_NBYTES];  // all zero: any
  const etb_option* attributes;                 // attribute_count of them, ABI-SIZE-04
  uint64_t attribute_count;
} etb_target;

typedef struct etb_device_table {
  uint32_t struct_size;
  uint32_t flags;  // must be zero

  // Names every device. Cheap: opens no context, starts no driver thread. No device is no error: nothing is
  // put (ABI-DEV-01).
  //
  // returns  ETB_OK; the sink's status when it stopped.
  // threads  [any]   since 1.0   required
  etb_status(ETB_CALL* enumerate)(etb_plugin* plugin, const etb_device_sink* sink, etb_error* error);

  // Opens the device of a uuid that enumerate gave.
  //
  // uuid     [borrowed-for-call] 16 bytes.
  // options  [borrowed-for-call] scope ETB_OBJECT_DEVICE.
  // out      [transferred-handle] ended by close.
  // returns  ETB_OK; ETB_NOT_FOUND (no such uuid now); ETB_UNAVAILABLE (in use, lost, no rights).
  // threads  [any]   since 1.0   required
  etb_status(ETB_CALL* open)(etb_plugin* plugin, const uint8_t* uuid, const etb_option* options,
                             uint64_t option_count, etb_device** out, etb_error* error);

  // Ends a device. Its delegates must be destroyed before: else ETB_BUSY and nothing has changed
  // (ABI-LIFE-01).
  //
  // threads  [serial:device]   since 1.0   required
  etb_status(ETB_CALL* close)(etb_device* device, etb_error* error);

  // The device as it is now: free memory, attributes such as clock and throttling.
  //
  // sink     gets one item.
  // threads  [any]   since 1.0   required
  etb_status(ETB_CALL* query)(etb_device* device, const etb_device_sink* sink, etb_error* error);
} etb_device_table;

#ifdef __cplusplus
}
#endif

#endif
