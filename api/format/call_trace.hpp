// SPDX-License-Identifier: Apache-2.0
// Call traces (.etbt). A trace has each call between a host and a plugin, with its arguments and answers. `etbackend
// replay` repeats the calls on another plugin, version or machine. docs/call_trace.md describes the file.
//
// These are the structs of the records. `fields` lists the fields of each in file order. A later version appends
// fields and kinds of records, and changes nothing else: readers skip what they do not know, and what an older file
// lacks keeps its default.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace etb::format {

inline constexpr char kCallTraceMagic[9] = "ETBCALLS";
inline constexpr uint32_t kCallTraceVersion = 1;

// Kinds of records.
enum class TraceRecordKind : uint32_t {
  BLOB = 1,
  SOURCE = 2,
  BEGIN = 3,
  END = 4,
  READ = 5,
  SIGNAL = 6,
  STOP = 7
};

// Number of a blob: bytes that are stored once. The first blob of the file is 1, and 0 is none.
using BlobNumber = uint32_t;

struct TraceOption {
  std::string key;
  uint32_t type = 0;
  int64_t i64 = 0;
  double f64 = 0;
  std::string text;
  std::vector<uint8_t> bytes;
  std::vector<TraceOption> items;
  template <class A>
  void fields(A& a) {
    a(key, type, i64, f64, text, bytes, items);
  }
};

struct TraceSpec {
  std::string key;
  std::vector<uint8_t> value;
  template <class A>
  void fields(A& a) {
    a(key, value);
  }
};

// One tensor of a call. An array that was NULL is empty.
struct TraceTensor {
  int32_t dtype = 0;
  uint32_t rank = 0;
  uint32_t role = 0;
  std::vector<int64_t> sizes, strides;
  std::vector<uint8_t> dim_order;
  std::vector<int64_t> upper_sizes;
  uint64_t capacity_bytes = 0;
  BlobNumber data = 0;        // an output has its bytes after the call
  std::string buffer_kind;    // kind of the device memory; its bytes are not recorded
  uint32_t shared_input = 0;  // 1 + index of the input whose memory the output shares; 0: none
  template <class A>
  void fields(A& a) {
    a(dtype, rank, role, sizes, strides, dim_order, upper_sizes, capacity_bytes, data, buffer_kind,
      shared_input);
  }
};

struct TraceTarget {
  std::string kind, name;
  std::array<uint8_t, 32> fingerprint{};
  std::vector<TraceOption> attributes;
  template <class A>
  void fields(A& a) {
    a(kind, name, fingerprint, attributes);
  }
};

struct TraceDevice {
  std::array<uint8_t, 16> uuid{};
  std::array<uint8_t, 32> fingerprint{};
  std::string kind, name, driver_version;
  uint64_t memory_total_bytes = 0;
  template <class A>
  void fields(A& a) {
    a(uuid, fingerprint, kind, name, driver_version, memory_total_bytes);
  }
};

struct TraceSchema {
  std::string key;
  uint32_t type = 0, scopes = 0, mutable_when = 0;
  std::vector<TraceOption> default_value;  // none or one
  double minimum = 0, maximum = 0;
  std::vector<std::string> choices;
  template <class A>
  void fields(A& a) {
    a(key, type, scopes, mutable_when, default_value, minimum, maximum, choices);
  }
};

struct TraceOpRow {
  std::string op;
  uint32_t flags = 0;
  std::vector<int32_t> dtypes;
  uint32_t min_rank = 0, max_rank = 0, layouts = 0;
  std::vector<std::string> quant_schemes;
  template <class A>
  void fields(A& a) {
    a(op, flags, dtypes, min_rank, max_rank, layouts, quant_schemes);
  }
};

// A claim; with a reason it is a rejection.
struct TraceClaim {
  std::vector<uint32_t> node_ids;
  uint32_t flags = 0, group = 0;
  double cost_ns = 0;
  std::string reason, text;
  uint32_t is_reject = 0;
  template <class A>
  void fields(A& a) {
    a(node_ids, flags, group, cost_ns, reason, text, is_reject);
  }
};

struct TraceDebugEntry {
  int64_t debug_id = -1;
  std::string name;
  std::vector<uint32_t> handles;
  template <class A>
  void fields(A& a) {
    a(debug_id, name, handles);
  }
};

struct TraceArtifact {
  uint32_t graph_index = 0, format_version = 0;
  BlobNumber payload = 0;
  std::vector<std::string> named_keys;
  uint64_t scratch_bytes = 0, resident_bytes = 0;
  std::vector<TraceSpec> specs;
  std::vector<TraceDebugEntry> debug_map;
  template <class A>
  void fields(A& a) {
    a(graph_index, format_version, payload, named_keys, scratch_bytes, resident_bytes, specs, debug_map);
  }
};

struct TraceNamedBlob {
  std::string key;
  BlobNumber value = 0;
  std::string constant_key;
  uint64_t alignment = 0;
  template <class A>
  void fields(A& a) {
    a(key, value, constant_key, alignment);
  }
};

struct TraceIoReq {
  uint32_t role = 0, index = 0;
  uint64_t alignment = 0, padding_bytes = 0;
  uint32_t may_alias_input = 0;
  std::vector<std::string> kinds;
  std::vector<TraceTensor> spec;  // none or one: dtype, rank, sizes, upper sizes
  template <class A>
  void fields(A& a) {
    a(role, index, alignment, padding_bytes, may_alias_input, kinds, spec);
  }
};

struct TraceEvent {
  std::string name;
  int64_t debug_id = -1;
  uint64_t begin_ticks = 0, end_ticks = 0;
  std::string timebase;
  uint64_t ns_numerator = 0, ns_denominator = 0;
  std::vector<uint8_t> metadata;
  template <class A>
  void fields(A& a) {
    a(name, debug_id, begin_ticks, end_ticks, timebase, ns_numerator, ns_denominator, metadata);
  }
};

// The program that made the file. The first record.
struct TraceSource {
  std::string program, version, machine, command;
  uint64_t started_s = 0;  // seconds since 1970
  uint64_t clock_ns = 0;   // the clock of begin_ns and end_ns at that time
  template <class A>
  void fields(A& a) {
    a(program, version, machine, command, started_s, clock_ns);
  }
};

// Arguments of one call. Each function has some of the fields.
struct TraceBegin {
  uint64_t number = 0;   // calls are numbered from 1
  std::string function;  // "delegate.execute"
  uint32_t thread = 0;   // numbered from 1 by its first call
  uint64_t begin_ns = 0;
  uint32_t object_kind = 0;    // ETB_OBJECT_*, 0 for init
  uint64_t object_number = 0;  // numbered by kind from 1, as trace prints them
  uint32_t target_kind = 0;    // the object of an option; the device of create
  uint64_t target_number = 0;
  std::string plugin_id, plugin_version, plugin_build;  // init
  uint32_t host_flags = 0;
  std::vector<TraceOption> options;
  std::vector<TraceSpec> specs;
  std::vector<TraceTarget> target;  // none or one
  std::string backend_id, method_name, key;
  std::array<uint8_t, 16> uuid{};
  BlobNumber payload = 0;       // create: all of it; check_payload: its first bytes
  uint64_t payload_nbytes = 0;  // size of the whole payload
  uint32_t has_named_data = 0, has_events = 0, has_cancel = 0, has_progress = 0;
  std::vector<BlobNumber> graphs;  // graph images
  std::vector<TraceTensor> inputs, outputs;
  uint64_t scratch_nbytes = 0, deadline_after_ns = 0, run_id = 0;
  uint32_t priority = 0;
  std::vector<std::string> wait_kinds, signal_kinds;
  template <class A>
  void fields(A& a) {
    a(number, function, thread, begin_ns, object_kind, object_number, target_kind, target_number, plugin_id,
      plugin_version, plugin_build, host_flags, options, specs, target, backend_id, method_name, key, uuid,
      payload, payload_nbytes, has_named_data, has_events, has_cancel, has_progress, graphs, inputs, outputs,
      scratch_nbytes, deadline_after_ns, run_id, priority, wait_kinds, signal_kinds);
  }
};

// Answers of one call.
struct TraceEnd {
  uint64_t number = 0;
  uint64_t end_ns = 0;
  uint64_t duration_ns = 0;  // time of the plugin's work, without the recorder's
  int32_t status = 0, vendor_code = 0;
  std::string reason, text;
  uint32_t made_kind = 0;
  uint64_t made_number = 0;
  std::vector<TraceOption> options;
  std::vector<TraceSchema> schemas;
  std::vector<TraceDevice> devices;
  int32_t verdict = 0;
  uint32_t verdict_reasons = 0;
  std::string verdict_text;
  std::vector<uint64_t>
      info;  // query: inputs, outputs, max_contexts, resident, context, scratch, its alignment
  std::vector<TraceIoReq> io_reqs;
  std::vector<TraceTensor> outputs;
  std::vector<TraceEvent> events;
  std::vector<TraceOpRow> ops;
  std::vector<std::string> texts;
  std::vector<TraceClaim> claims;  // and rejections, in order
  std::vector<double> estimate;    // latency, confidence, moved bytes, peak bytes, energy
  std::vector<TraceArtifact> artifacts;
  std::vector<TraceNamedBlob> named_blobs;
  template <class A>
  void fields(A& a) {
    a(number, end_ns, duration_ns, status, vendor_code, reason, text, made_kind, made_number, options,
      schemas, devices, verdict, verdict_reasons, verdict_text, info, io_reqs, outputs, events, ops, texts,
      claims, estimate, artifacts, named_blobs);
  }
};

// One read of named data or of a constant by a plugin, or by the recorder where a plugin did not ask.
struct TraceRead {
  uint64_t number = 0;  // number of the create or compile call that passed the reader
  std::string key;
  int32_t status = 0;
  BlobNumber data = 0;
  uint32_t is_by_recorder = 0;
  template <class A>
  void fields(A& a) {
    a(number, key, status, data, is_by_recorder);
  }
};

// The end of an asynchronous run.
struct TraceSignal {
  uint64_t number = 0;  // number of the execute_async call
  uint64_t end_ns = 0;
  int32_t status = 0;
  std::vector<TraceTensor> outputs;
  std::vector<TraceEvent> events;
  std::vector<TraceTensor> inputs;  // after a run that waited for fences: they were written after its begin
  template <class A>
  void fields(A& a) {
    a(number, end_ns, status, outputs, events, inputs);
  }
};

// Nothing was recorded afterwards.
struct TraceStop {
  std::string cause;
  template <class A>
  void fields(A& a) {
    a(cause);
  }
};

}  // namespace etb::format
