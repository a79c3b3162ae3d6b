// SPDX-License-Identifier: Apache-2.0
//
// DRAFT, may change; no plugin of this repository writes it yet. An envelope that may precede a payload, so
// that a host can judge the payload without the plugin. Payloads without an envelope stay legal: the official
// exporter writes none.
#ifndef ETB_EXT_DRAFT_ENVELOPE_H_
#define ETB_EXT_DRAFT_ENVELOPE_H_

#include "etb/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Value of etb_payload_header.magic, without its NUL, and the largest number of sections.
#define ETB_PAYLOAD_MAGIC "ETBPAY1"
#define ETB_PAYLOAD_MAX_SECTIONS 16u

// One part of a payload.
typedef struct etb_payload_section {
  uint32_t kind;          // the plugin's own number
  uint32_t reserved;      // must be zero
  uint64_t offset_bytes;  // from the end of the header
  uint64_t nbytes;
} etb_payload_section;

// The envelope. The file has exactly this layout, little-endian.
typedef struct etb_payload_header {
  uint8_t magic[8];               // ETB_PAYLOAD_MAGIC and its NUL
  uint32_t header_nbytes;         // size of this struct as written, at most 4096
  uint32_t flags;                 // must be zero
  char backend_id[64];            // NUL-terminated delegate id
  uint32_t format_version;        // version of the payload
  uint32_t min_consumer_version;  // oldest format that a reader may know to read it
  uint32_t max_consumer_version;  // newest one
  uint32_t producer_version[3];    // major, minor, patch of the plugin that wrote it
  uint64_t payload_nbytes;         // bytes after the header
  uint8_t sha256[32];              // digest of those bytes
  uint8_t target_fingerprint[32];  // all zero: any device
  char features[128];              // space-separated ids that a reader must know, NUL-terminated
  uint32_t section_count;
  uint32_t reserved;
  etb_payload_section sections[ETB_PAYLOAD_MAX_SECTIONS];
} etb_payload_header;

#ifdef __cplusplus
}
#endif

#endif
