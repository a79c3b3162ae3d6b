// Delegates and contexts: one payload made ready, and one run of it.
//
// A delegate holds what all runs share (weights, compiled kernels). A context holds what one run needs
// (scratch, command buffers). The host may make several contexts of one delegate and run them at the same
// time on different threads, up to etb_delegate_info.max_contexts.
//
//   [payload] --create--> [created] --context_create--> [ready] --context_reserve--> [reserved] --execute--+
//                                                                                        ^--------------------+
//
// Contexts are destroyed before their delegate, delegates before their device, devices before the plugin
// (ABI-LIFE-01).
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

// ---- Questions before anything is made ----------------------------------------------------------

typedef struct etb_payload_check {
  uint32_t struct_size;
  uint32_t flags;                 // must be zero
  const char* backend_id;         // the delegate id in the program
  const etb_target* target;       // what it should run on, NULL: any device of this machine
  etb_bytes prefix;               // the first bytes of the payload, at most 4096
  uint64_t payload_nbytes;        // its whole size
  const etb_compile_spec* specs;  // spec_count of them, ABI-SIZE-04
  uint64_t spec_count;
} etb_payload_check;

// ---- Making a delegate --------------------------------------------------------------------------

typedef struct etb_delegate_args {
  uint32_t struct_size;
  uint32_t flags;                    // must be zero
  const char* backend_id;            // borrowed-for-call
  const char* method_name;           // borrowed-for-call, "forward"
  etb_device* device;                // outlives the delegate; NULL: the plugin's default device
  const etb_payload_view* payload;   // the struct borrowed-for-call, its bytes host-releases-on-callback
  const etb_named_data* named_data;  // borrowed-until-destroy; NULL when the program has none
  const etb_compile_spec* specs;     // borrowed-for-call, spec_count of them, ABI-SIZE-04
  uint64_t spec_count;
  const etb_option* options;  // borrowed-for-call, option_count of them, scope ETB_OBJECT_DELEGATE
  uint64_t option_count;
} etb_delegate_args;

#define ETB_UNLIMITED 0xffffffffu

// Facts of a delegate. The caller sets struct_size and zeroes the rest.
typedef struct etb_delegate_info {
  uint32_t struct_size;
  uint32_t flags;        // must be zero
  uint32_t input_count;  // tensors that execute takes and gives
  uint32_t output_count;
  uint32_t max_contexts;    // contexts that may run at the same time: 1, n, or ETB_UNLIMITED
  uint32_t reserved;        // must be zero
  uint64_t resident_bytes;  // memory held by the delegate now
  uint64_t context_bytes;   // memory that one more context will hold, an upper bound
  uint64_t scratch_bytes;  // memory that the host must bring to each execute (etb_exec_args.scratch), 0: none
  uint64_t scratch_alignment;
} etb_delegate_info;

// What a delegate wants of one input or output. The host keeps to it, or refuses the delegate when it is made. A state tensor
// stands among the inputs and again among the outputs, with role ETB_ROLE_STATE in both places.
typedef struct etb_io_req {
  uint32_t struct_size;
  uint32_t flags;            // must be zero
  uint32_t role;             // ETB_ROLE_INPUT, _OUTPUT or _STATE
  uint32_t index;            // position among the inputs or the outputs
  uint64_t alignment;        // of data, a power of two
  uint64_t padding_bytes;    // readable (writable) bytes behind the last element
  uint32_t may_alias_input;  // 1 + index of the input whose memory this output may share, 0: none
  uint32_t kind_count;
  const char* const* kinds;     // kind_count buffer kinds that it takes, best first; none: host memory only
  const etb_tensor_spec* spec;  // NULL when the payload does not say
} etb_io_req;

typedef struct etb_io_req_sink {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Takes one item [borrowed-for-call], on the thread of the call that was given the sink, before it returns (ABI-SINK-01).
  // threads  [serial:sink]   since 1.0
  etb_status(ETB_CALL* put)(void* ctx, const etb_io_req* req);
} etb_io_req_sink;

// ---- One run ------------------------------------------------------------------------------------

// A point in time on a device or the host. A signal fence of kind "callback" carries the run's status; the other kinds only say
// that it is over, and the next call on the context answers the status of a run that failed.
typedef struct etb_fence {
  uint32_t struct_size;
  uint32_t flags;     // must be zero
  const char* kind;   // string id: "timeline", "sync-fd", "callback", or reverse DNS
  void* handle;       // the kind's handle; for "callback" the argument
  uint64_t value;     // for "timeline": the counter's value
  int32_t fd;         // for "sync-fd"; else -1
  uint32_t reserved;  // must be zero

  // For "callback": called once when the run is done, with its status; NULL for every other kind.
  // threads  [any]   since 1.0
  void(ETB_CALL* signal)(void* handle, etb_status status);
  const void* reserved_pointer;  // must be NULL
} etb_fence;

#define ETB_TIMEBASE_HOST "clock/1"  // ticks are the host clock's nanoseconds

#define ETB_EVENT_LOSSY 0x1u  // times are rounded or sampled

// One profiling event. Either `name` or `debug_id` says what ran; debug ids are those of the payload's
// debug-handle map.
typedef struct etb_event {
  uint32_t struct_size;
  uint32_t flags;        // ETB_EVENT_*
  const char* name;      // NULL: debug_id counts
  int64_t debug_id;      // -1: name counts
  uint64_t begin_ticks;  // begin <= end, both inside the execute call (ABI-PROF-01)
  uint64_t end_ticks;
  const char* timebase;   // ETB_TIMEBASE_HOST or the plugin's own id
  uint64_t ns_numerator;  // one tick is ns_numerator / ns_denominator nanoseconds
  uint64_t ns_denominator;
  etb_bytes metadata;
} etb_event;

typedef struct etb_event_sink {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Takes one item [borrowed-for-call], on the thread of the call that was given the sink, before it returns (ABI-SINK-01).
  // threads  [serial:sink]   since 1.0
  etb_status(ETB_CALL* put)(void* ctx, const etb_event* event);
} etb_event_sink;

typedef struct etb_exec_args {
  uint32_t struct_size;
  uint32_t flags;            // must be zero
  const etb_tensor* inputs;  // input_count of them in payload order, ABI-SIZE-04
  etb_tensor* outputs;       // output_count of them in payload order, ABI-SIZE-04
  uint32_t input_count;
  uint32_t output_count;
  void* scratch;  // scratch_bytes as delegate_info asked, undefined content; NULL when it asked none
  uint64_t scratch_nbytes;
  uint64_t deadline_ns;  // on clock/1; 0: none. Past it the callee answers ETB_DEADLINE_EXCEEDED when it can
  const etb_cancel_token* cancel;  // NULL: not cancellable
  const etb_event_sink* events;    // NULL: no events wanted, and none made (ABI-PROF-02)
  const etb_option* options;       // option_count of them, scope ETB_OBJECT_RUN
  uint64_t option_count;
  const etb_fence* wait;    // wait_count fences to wait for before reading inputs
  const etb_fence* signal;  // signal_count fences to signal when outputs are written; execute_async only
  uint32_t wait_count;
  uint32_t signal_count;
  uint64_t run_id;    // the host's number of this run, for logs and traces
  uint32_t priority;  // 0 (background) to 1000, 500 is normal
  uint32_t reserved;  // must be zero
} etb_exec_args;

// ---- The table ----------------------------------------------------------------------------------

#define ETB_DELEGATE_CAP_CONTEXT_RESERVE 0x1u
#define ETB_DELEGATE_CAP_EXECUTE_ASYNC 0x2u
#define ETB_DELEGATE_CAP_CANCEL 0x4u
#define ETB_DELEGATE_CAPS_KNOWN 0x7u

typedef struct etb_delegate_table {
  uint32_t struct_size;
  uint32_t flags;     // must be zero
  uint32_t caps;      // ETB_DELEGATE_CAP_*
  uint32_t reserved;  // must be zero

  // Says from the first bytes alone whether a payload suits. Reads nothing else and opens no
  // device.
  //
  // check    [borrowed-for-call]   verdict  filled by the callee.
  // returns  ETB_OK with any verdict, ETB_VERDICT_UNKNOWN included; an error only when it could not judge at
  //          all.
  // threads  [any]   since 1.0   required
  etb_status(ETB_CALL* check_payload)(etb_plugin* plugin, const etb_payload_check* check,
                                      etb_verdict* verdict, etb_error* error);

  // Makes a payload ready to run. Any bytes may come: it refuses bad ones and never crashes (ABI-BLOB-01).
  //
  // args     [borrowed-for-call] see its fields.
  // out      [transferred-handle] ended by destroy; untouched on error.
  // returns  ETB_OK; ETB_INCOMPATIBLE (format or version); ETB_INVALID_DATA (corrupt, with the place);
  //          ETB_NOT_FOUND (named data);
  //          ETB_OUT_OF_MEMORY; ETB_UNAVAILABLE (device).
  // threads  [any]   since 1.0   required   may block: yes   mirrors ExecuTorch BackendInterface::init
  etb_status(ETB_CALL* create)(etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                               etb_error* error);

  // Ends a delegate whose contexts are all destroyed; ETB_BUSY otherwise, and nothing has changed
  // (ABI-LIFE-01).
  //
  // threads  [serial:delegate]   since 1.0   required
  etb_status(ETB_CALL* destroy)(etb_delegate* delegate, etb_error* error);

  // Facts of a delegate.
  //
  // info     the caller sets struct_size; filled by the callee.
  // threads  [any]   since 1.0   required
  etb_status(ETB_CALL* query)(etb_delegate* delegate, etb_delegate_info* info, etb_error* error);

  // What it wants of each input (in order), then of each output.
  //
  // threads  [any]   since 1.0   required
  etb_status(ETB_CALL* query_io)(etb_delegate* delegate, const etb_io_req_sink* sink, etb_error* error);

  // Makes a context. More than max_contexts may be made; no more may run at once.
  //
  // out      [transferred-handle] ended by context_destroy.
  // threads  [any]   since 1.0   required
  etb_status(ETB_CALL* context_create)(etb_delegate* delegate, const etb_option* options,
                                       uint64_t option_count, etb_context** out, etb_error* error);

  // threads  [serial:context]   since 1.0   required
  etb_status(ETB_CALL* context_destroy)(etb_context* context, etb_error* error);

  // Plans for these input sizes, so that an execute with them, or smaller ones, allocates nothing
  // (ABI-EXEC-02).
  //
  // inputs   [borrowed-for-call] data may be NULL.
  // threads  [serial:context]   since 1.0   optional: ETB_DELEGATE_CAP_CONTEXT_RESERVE
  etb_status(ETB_CALL* context_reserve)(etb_context* context, const etb_tensor* inputs, uint32_t input_count,
                                        etb_error* error);

  // Runs once, and returns when the outputs are written.
  //
  // args     [borrowed-for-call] Input sizes differ from the planned ones only in dimensions that the spec
  //          marks dynamic. Outputs
  //          bring storage for the upper bound; the callee writes data and final sizes.
  // returns  ETB_OK; ETB_INVALID_ARGUMENT (count, dtype, rank, size or stride not understood, naming the
  //          tensor);
  //          ETB_UNAVAILABLE (device lost: the host may fall back); ETB_CANCELLED; ETB_DEADLINE_EXCEEDED. On
  //          error outputs hold unspecified bytes and the context stays usable (ABI-EXEC-01).
  // threads  [serial:context]   since 1.0   required   may block: yes   mirrors ExecuTorch
  //          BackendInterface::execute
  etb_status(ETB_CALL* execute)(etb_context* context, const etb_exec_args* args, etb_error* error);

  // Starts a run and returns; the signal fences say when it is done. Events are put on any thread until then.
  //
  // args     [borrowed-until-signalled] with everything in it.
  // returns  ETB_OK when the run was started; otherwise no fence is signalled.
  // threads  [serial:context], where the run counts until it is signalled
  // since    1.0   optional: ETB_DELEGATE_CAP_EXECUTE_ASYNC
  etb_status(ETB_CALL* execute_async)(etb_context* context, const etb_exec_args* args, etb_error* error);

  // Asks a run to stop; the run then answers ETB_CANCELLED. Without a run it does nothing.
  //
  // threads  [any]   since 1.0   optional: ETB_DELEGATE_CAP_CANCEL
  etb_status(ETB_CALL* cancel)(etb_context* context, etb_error* error);
} etb_delegate_table;

#ifdef __cplusplus
}
#endif

#endif
