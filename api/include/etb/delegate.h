// SPDX-License-Identifier: Apache-2.0
//
// Delegates and contexts: one payload made ready, and one run of it.
//
// A delegate holds what all runs share: weights, compiled kernels. A context holds what one run needs:
// scratch, command buffers. The host may make several contexts of one delegate and run them at the same time
// on different threads, up to etb_delegate_info.max_contexts.
//
//   [payload] --create--> [created] --context_create--> [ready] --context_reserve--> [reserved] --execute--+
//                                                                                        ^--------------------+
//
// Contexts are destroyed before their delegate, delegates before their device, devices before the plugin
// (ABI-LIFE-01).
//
// The call sequence of a host in C is at the end of this header (example host.c).
#ifndef ETB_DELEGATE_H_
#define ETB_DELEGATE_H_

#include "etb/base.h"
#include "etb/device.h"
#include "etb/host.h"
#include "etb/option.h"
#include "etb/payload.h"
#include "etb/status.h"
#include "etb/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Before a delegate is made ------------------------------------------------------------------

// Description of a payload for check_payload.
typedef struct etb_payload_check {
  uint32_t struct_size;
  uint32_t flags;                 // must be zero
  const char* backend_id;         // the delegate id in the program
  const etb_target* target;       // device to run on; NULL: any device of this machine
  etb_bytes prefix;               // the first bytes of the payload, at most 4096
  uint64_t payload_nbytes;        // size of the whole payload
  const etb_compile_spec* specs;  // spec_count of them (ABI-SIZE-04)
  uint64_t spec_count;
} etb_payload_check;

// ---- Making a delegate --------------------------------------------------------------------------

// Arguments of create.
typedef struct etb_delegate_args {
  uint32_t struct_size;
  uint32_t flags;           // must be zero
  const char* backend_id;   // [borrowed-for-call]
  const char* method_name;  // [borrowed-for-call] e.g. "forward"

  // The device to run on; it outlives the delegate. NULL: the plugin's default device.
  etb_device* device;

  // The payload. The struct is [borrowed-for-call], its bytes are [host-releases-on-callback].
  const etb_payload_view* payload;

  // Named data of the program [borrowed-until-destroy]; NULL when the program has none.
  const etb_named_data* named_data;

  // Compile specs [borrowed-for-call], spec_count of them, byte for byte as given to the compiler
  // (ABI-SPEC-01).
  const etb_compile_spec* specs;
  uint64_t spec_count;

  // Options [borrowed-for-call], option_count of them, scope ETB_OBJECT_DELEGATE.
  const etb_option* options;
  uint64_t option_count;
} etb_delegate_args;

// Value of max_contexts without a bound.
#define ETB_UNLIMITED 0xffffffffu

// Facts about a delegate. The caller sets struct_size and zeroes the rest; the callee fills it.
typedef struct etb_delegate_info {
  uint32_t struct_size;
  uint32_t flags;              // must be zero
  uint32_t input_count;        // tensors that execute reads
  uint32_t output_count;       // tensors that execute writes
  uint32_t max_contexts;       // contexts that may run at the same time: 1, n, or ETB_UNLIMITED (ABI-EXEC-03)
  uint32_t reserved;           // must be zero
  uint64_t resident_bytes;     // memory that the delegate holds now
  uint64_t context_bytes;      // upper bound of the memory that one more context will hold
  uint64_t scratch_bytes;      // memory that the host passes to each execute (etb_exec_args.scratch), 0: none
  uint64_t scratch_alignment;  // alignment of that memory: a power of two
} etb_delegate_info;

// Requirement of a delegate for one input or output. The host meets it (ABI-EXEC-04), or rejects the delegate
// at once. State that a run reads and writes, such as a key-value cache, is listed among the inputs and again among the
// outputs.
typedef struct etb_io_req {
  uint32_t struct_size;
  uint32_t flags;      // must be zero
  uint32_t role;       // ETB_ROLE_INPUT or ETB_ROLE_OUTPUT
  uint32_t index;      // position among the inputs or the outputs
  uint64_t alignment;  // alignment of data, a power of two

  // Bytes after the last element that the delegate may read; of an output, write.
  uint64_t padding_bytes;

  uint32_t may_alias_input;     // 1 + index of the input whose memory this output may share, 0: none
  uint32_t kind_count;          // number of kinds
  const char* const* kinds;     // buffer kinds that the delegate accepts, best first; none: host memory only
  const etb_tensor_spec* spec;  // NULL when the payload does not state it
} etb_io_req;

// Sink of requirements. The rules of all sinks are in base.h.
typedef struct etb_io_req_sink {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Receives the requirement for one input or output.
  //
  // req      [borrowed-for-call]
  // returns  ETB_OK; any other status ends the call that was given the sink (ABI-SINK-02).
  // presence required
  // threads  [serial:sink]
  // since    1.0
  etb_status(ETB_CALL* put)(void* ctx, const etb_io_req* req);
} etb_io_req_sink;

// ---- One run ------------------------------------------------------------------------------------

// A point in time on a device or the host. A signal fence of kind "callback" carries the status of the run.
// The other kinds only report that the run is over; the next call on the context returns the status of a
// failed run. A fence to wait for of kind "sync-fd" is reached when its descriptor becomes readable; one of kind "callback"
// cannot be waited for.
typedef struct etb_fence {
  uint32_t struct_size;
  uint32_t flags;     // must be zero
  const char* kind;   // string id: "timeline", "sync-fd", "callback", or reverse DNS
  void* handle;       // the kind's handle; for "callback" the first argument of signal
  uint64_t value;     // for "timeline": the counter's value
  int32_t fd;         // for "sync-fd"; else -1
  uint32_t reserved;  // must be zero

  // Reports the end of a run. Called once; NULL for every kind but "callback". It returns soon, and calls no function of the
  // plugin: the thread may be the one that the plugin needs to end the context.
  //
  // handle   the field of that name.
  // status   of the run.
  // threads  [any]
  // since    1.0
  void(ETB_CALL* signal)(void* handle, etb_status status);
  const void* reserved_pointer;  // must be NULL
} etb_fence;

// Timebase whose ticks are nanoseconds on the host's clock (host.h).
#define ETB_TIMEBASE_HOST "clock/1"

// Flag of etb_event.flags: times are rounded or sampled.
#define ETB_EVENT_LOSSY 0x1u

// One profiling event. Either `name` or `debug_id` identifies the work; debug ids are those of the payload's
// debug map (etb_artifact.debug_map in aot.h).
typedef struct etb_event {
  uint32_t struct_size;
  uint32_t flags;           // ETB_EVENT_*
  const char* name;         // NULL: debug_id identifies the work
  int64_t debug_id;         // -1: name identifies the work
  uint64_t begin_ticks;     // begin <= end, both inside the execute call (ABI-PROF-01)
  uint64_t end_ticks;
  const char* timebase;     // ETB_TIMEBASE_HOST or the plugin's own id
  uint64_t ns_numerator;    // one tick is ns_numerator / ns_denominator nanoseconds
  uint64_t ns_denominator;
  etb_bytes metadata;       // the plugin's own data about the event
} etb_event;

// Sink of events. The rules of all sinks are in base.h.
typedef struct etb_event_sink {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Receives one event.
  //
  // event    [borrowed-for-call]
  // returns  ETB_OK; any other status ends the call that was given the sink (ABI-SINK-02).
  // presence required
  // threads  [serial:sink]
  // since    1.0
  etb_status(ETB_CALL* put)(void* ctx, const etb_event* event);
} etb_event_sink;

// Arguments of one run.
typedef struct etb_exec_args {
  uint32_t struct_size;
  uint32_t flags;            // must be zero
  const etb_tensor* inputs;  // input_count of them in payload order (ABI-SIZE-04)
  etb_tensor* outputs;       // output_count of them in payload order (ABI-SIZE-04)
  uint32_t input_count;
  uint32_t output_count;

  // Memory for this run: scratch_bytes of etb_delegate_info, with undefined content; NULL when that is 0.
  void* scratch;
  uint64_t scratch_nbytes;

  // End of the time for this run, on clock/1; 0: none. After it the callee returns ETB_DEADLINE_EXCEEDED when
  // it can. A host without clock/1 passes 0.
  uint64_t deadline_ns;

  const etb_cancel_token* cancel;  // NULL: not cancellable
  const etb_event_sink* events;    // NULL: make no events (ABI-PROF-02)
  const etb_option* options;       // option_count of them, scope ETB_OBJECT_RUN
  uint64_t option_count;
  const etb_fence* wait;           // wait_count fences to wait for before reading inputs
  const etb_fence* signal;         // signal_count fences to signal after the outputs are written: none in execute, else some
  uint32_t wait_count;
  uint32_t signal_count;
  uint64_t run_id;                 // the host's number of this run, for logs and traces
  uint32_t priority;               // 0 (background) to 1000, 500 is normal
  uint32_t reserved;               // must be zero
} etb_exec_args;

// ---- The table ----------------------------------------------------------------------------------

// Capability bits of etb_delegate_table.caps. A set bit promises that the function of that name is not NULL.
#define ETB_DELEGATE_CAP_CONTEXT_RESERVE 0x1u
#define ETB_DELEGATE_CAP_EXECUTE_ASYNC 0x2u
#define ETB_DELEGATE_CAP_CANCEL 0x4u
#define ETB_DELEGATE_CAPS_KNOWN 0x7u

// The delegate table. A plugin with ETB_PROFILE_RUNTIME has one.
typedef struct etb_delegate_table {
  uint32_t struct_size;
  uint32_t flags;     // must be zero
  uint32_t caps;      // ETB_DELEGATE_CAP_*
  uint32_t reserved;  // must be zero

  // Judges from the first bytes of a payload whether it suits. The call reads nothing else and opens no
  // device.
  //
  // check    [borrowed-for-call]
  // verdict  the caller sets struct_size and zeroes the rest; filled by the callee.
  // returns  ETB_OK with any verdict, ETB_VERDICT_UNKNOWN included; an error only when the callee could not
  //          judge.
  // presence required
  // threads  [any]
  // since    1.0
  etb_status(ETB_CALL* check_payload)(etb_plugin* plugin, const etb_payload_check* check,
                                      etb_verdict* verdict, etb_error* error);

  // Makes a payload ready to run. The payload may be any bytes: the callee rejects bad ones and never crashes
  // (ABI-BLOB-01).
  //
  // plugin   from init.
  // args     [borrowed-for-call] the ownership of its fields is at each field.
  // out      [transferred-handle] ended by destroy; unchanged on error.
  // returns  ETB_OK; ETB_INCOMPATIBLE (format or version); ETB_INVALID_DATA (corrupt, with the offset);
  //          ETB_NOT_FOUND (named data); ETB_OUT_OF_MEMORY; ETB_UNAVAILABLE (device); ETB_INVALID_ARGUMENT
  //          (option).
  // presence required
  // threads  [any]   may block: yes
  // since    1.0     mirrors  ExecuTorch runtime/backend/interface.h, BackendInterface::init
  etb_status(ETB_CALL* create)(etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                               etb_error* error);

  // Ends a delegate. Its contexts must be destroyed before.
  //
  // delegate from create; consumed on success.
  // returns  ETB_OK; ETB_BUSY while a context is alive, and then nothing has changed (ABI-LIFE-01).
  // presence required
  // threads  [serial:delegate]
  // since    1.0     mirrors  ExecuTorch BackendInterface::destroy
  etb_status(ETB_CALL* destroy)(etb_delegate* delegate, etb_error* error);

  // Reports facts about a delegate: number of tensors, memory, contexts.
  //
  // delegate from create.
  // info     the caller sets struct_size and zeroes the rest; filled by the callee.
  // returns  ETB_OK.
  // presence required
  // threads  [any]
  // since    1.0
  etb_status(ETB_CALL* query)(etb_delegate* delegate, etb_delegate_info* info, etb_error* error);

  // Reports the requirements for each tensor.
  //
  // delegate from create.
  // sink     [borrowed-for-call] receives one item per input in order, then one per output in order
  //          (ABI-SINK-03).
  // returns  ETB_OK; the sink's status when it stopped.
  // presence required
  // threads  [any]
  // since    1.0
  etb_status(ETB_CALL* query_io)(etb_delegate* delegate, const etb_io_req_sink* sink, etb_error* error);

  // Makes a context. More than max_contexts may exist; no more than that run at the same time (ABI-EXEC-03).
  //
  // delegate from create.
  // options  [borrowed-for-call] option_count of them, scope ETB_OBJECT_CONTEXT.
  // out      [transferred-handle] ended by context_destroy; unchanged on error.
  // returns  ETB_OK; ETB_OUT_OF_MEMORY; ETB_INVALID_ARGUMENT (option).
  // presence required
  // threads  [any]
  // since    1.0
  etb_status(ETB_CALL* context_create)(etb_delegate* delegate, const etb_option* options,
                                       uint64_t option_count, etb_context** out, etb_error* error);

  // Ends a context that no call runs on.
  //
  // context  from context_create; consumed on success.
  // returns  ETB_OK; ETB_BUSY while an asynchronous run is in flight, and then nothing has changed (ABI-LIFE-01).
  // presence required
  // threads  [serial:context]
  // since    1.0
  etb_status(ETB_CALL* context_destroy)(etb_context* context, etb_error* error);

  // Plans for the given input sizes. An execute with these sizes or smaller ones then allocates nothing
  // (ABI-EXEC-02).
  //
  // context  from context_create.
  // inputs   [borrowed-for-call] input_count of them; data may be NULL.
  // returns  ETB_OK; ETB_INVALID_ARGUMENT (a size that the payload does not support); ETB_OUT_OF_MEMORY.
  // presence optional: ETB_DELEGATE_CAP_CONTEXT_RESERVE
  // threads  [serial:context]
  // since    1.0
  etb_status(ETB_CALL* context_reserve)(etb_context* context, const etb_tensor* inputs, uint32_t input_count,
                                        etb_error* error);

  // Runs once and returns after the outputs are written.
  //
  // context  from context_create.
  // args     [borrowed-for-call] Input sizes differ from the planned ones only in dimensions that the spec
  //          marks dynamic. Outputs have storage for the upper bound; the callee writes data and final sizes
  //          (ABI-TENSOR-02).
  // returns  ETB_OK; ETB_INVALID_ARGUMENT (count, dtype, rank, size or stride not understood, naming the tensor);
  //          ETB_NOT_SUPPORTED (fences to wait for); ETB_UNAVAILABLE (device lost: the host may fall back); ETB_CANCELLED;
  //          ETB_DEADLINE_EXCEEDED. On error outputs hold unspecified bytes and the context stays usable
  //          (ABI-EXEC-01).
  // presence required
  // threads  [serial:context]   may block: yes
  // since    1.0     mirrors  ExecuTorch BackendInterface::execute
  etb_status(ETB_CALL* execute)(etb_context* context, const etb_exec_args* args, etb_error* error);

  // Starts a run and returns. The signal fences report its end (ABI-EXEC-05). Until then the event sink may
  // be called on any thread, and the context counts as in a call.
  //
  // context  from context_create.
  // args     [borrowed-until-signalled] with everything in it.
  // returns  ETB_OK when the run was started; on any error no fence is signalled: ETB_NOT_SUPPORTED (kind of a fence),
  //          ETB_INVALID_ARGUMENT (no fence to signal), and those of execute.
  // presence optional: ETB_DELEGATE_CAP_EXECUTE_ASYNC
  // threads  [serial:context], until the run is signalled
  // since    1.0
  etb_status(ETB_CALL* execute_async)(etb_context* context, const etb_exec_args* args, etb_error* error);

  // Asks the run of a context to stop; that run then returns ETB_CANCELLED. Without a run the call does
  // nothing.
  //
  // context  from context_create.
  // returns  ETB_OK.
  // presence optional: ETB_DELEGATE_CAP_CANCEL
  // threads  [any]
  // since    1.0
  etb_status(ETB_CALL* cancel)(etb_context* context, etb_error* error);
} etb_delegate_table;

#ifdef __cplusplus
}
#endif

// ---- Example ------------------------------------------------------------------------------------

// Example host.c: the call sequence of a host in C11, without registry and error texts. It makes one payload
// ready and runs it once on a float32 vector. The test header_examples runs it with the plugin relu.c of
// plugin.h.
//
//   #include "etb/all.h"
//
//   static const void* ETB_CALL no_service(const etb_host* host, const char* id) {
//     (void)host, (void)id;
//     return NULL;
//   }
//
//   etb_status run_once(etb_plugin_query_fn query, etb_bytes payload, const float* from, float* to,
//                       int64_t count, etb_error* error) {
//     etb_host host = {.struct_size = ETB_INIT_SIZE(etb_host),
//                      .abi_version = ETB_ABI_VERSION,
//                      .name = "host.c",
//                      .version = "1.0.0",
//                      .plugin_dir = "",
//                      .get_service = no_service};
//     etb_payload_view view = {.struct_size = ETB_INIT_SIZE(etb_payload_view),
//                              .data = payload.data,
//                              .nbytes = payload.nbytes,
//                              .alignment = 16,
//                              .fd = -1};
//     etb_delegate_args args = {.struct_size = ETB_INIT_SIZE(etb_delegate_args),
//                               .backend_id = "ReluBackend",
//                               .method_name = "forward",
//                               .payload = &view};
//     int64_t from_sizes[1] = {count}, to_sizes[1] = {count};
//     etb_tensor input = {.struct_size = ETB_INIT_SIZE(etb_tensor),
//                         .dtype = ETB_DTYPE_FLOAT32,
//                         .rank = 1,
//                         .role = ETB_ROLE_INPUT,
//                         .sizes = from_sizes,
//                         .data = (void*)(uintptr_t)from,
//                         .capacity_bytes = (uint64_t)count * sizeof(float)};
//     etb_tensor output = {.struct_size = ETB_INIT_SIZE(etb_tensor),
//                          .dtype = ETB_DTYPE_FLOAT32,
//                          .rank = 1,
//                          .role = ETB_ROLE_OUTPUT,
//                          .sizes = to_sizes,
//                          .data = to,
//                          .capacity_bytes = (uint64_t)count * sizeof(float)};
//     etb_exec_args run = {.struct_size = ETB_INIT_SIZE(etb_exec_args),
//                          .inputs = &input,
//                          .outputs = &output,
//                          .input_count = 1,
//                          .output_count = 1,
//                          .priority = 500};
//     const etb_plugin_table* table = query(&host, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION);
//     etb_plugin* plugin = NULL;
//     etb_delegate* delegate = NULL;
//     etb_context* context = NULL;
//     etb_status status;
//
//     if (table == NULL) return ETB_INCOMPATIBLE; /* the plugin speaks no version of this host */
//     status = table->init(&host, NULL, 0, &plugin, error);
//     if (status == ETB_OK) status = table->delegate->create(plugin, &args, &delegate, error);
//     if (status == ETB_OK) status = table->delegate->context_create(delegate, NULL, 0, &context, error);
//     if (status == ETB_OK) status = table->delegate->execute(context, &run, error);
//     if (context != NULL) table->delegate->context_destroy(context, NULL);
//     if (delegate != NULL) table->delegate->destroy(delegate, NULL);
//     if (plugin != NULL) table->deinit(plugin, NULL);
//     return status;
//   }

#endif
