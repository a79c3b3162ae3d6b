// SPDX-License-Identifier: Apache-2.0
//
// The host as a plugin sees it: its name and version, and its services by string id.
//
// A plugin asks for services once, in init, and works without any service for which it receives NULL
// (ABI-HOST-01). Ids without a dot belong to this ABI; others are reverse DNS. A revision of a service is a
// new id:
//
//   const etb_log_service* log = (const etb_log_service*)host->get_service(host, ETB_SERVICE_LOG);
//   if (log != NULL && log->min_level <= ETB_LOG_INFO) log->write(log->ctx, ETB_LOG_INFO, "ready", NULL, 0);
//
//   log/1        messages for people          clock/1   the time of events and deadlines
//   alloc/1      accounted host memory        diag/1    facts about a call, for programs
//   parallel/1   the thread pool of the host
#ifndef ETB_HOST_H_
#define ETB_HOST_H_

#include "etb/base.h"
#include "etb/option.h"
#include "etb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct etb_layer_link;

// Flag of etb_host.flags: the process has more rights than its user. Read no environment variables and no
// user files.
#define ETB_HOST_SECURE 0x1u

// The host. [borrowed-until-destroy]: valid until deinit returns.
typedef struct etb_host {
  uint32_t struct_size;
  uint32_t flags;          // ETB_HOST_*
  uint32_t abi_version;    // newest ABI version that the host speaks
  uint32_t reserved;       // must be zero
  const char* name;        // e.g. "etbackend"
  const char* version;     // semantic version of the host
  const char* plugin_dir;  // absolute path of the folder with the plugin's manifest; "" when it has none
  void* ctx;               // the host's own; a layer keeps it in its copy of this struct

  // Returns a service table by id, or NULL when the host lacks the service (ABI-EXT-01).
  //
  // host     [borrowed-for-call] this struct, or a layer's copy of it.
  // id       [borrowed-for-call] e.g. ETB_SERVICE_LOG.
  // returns  [borrowed-until-destroy] the table, valid until deinit; or NULL.
  // presence required
  // threads  [any], from init until deinit returns; never from query (ABI-SYM-02)
  // since    1.0
  const void*(ETB_CALL* get_service)(const struct etb_host* host, const char* id);

  const struct etb_layer_link* layer_link;  // for layers only, see layer.h; NULL for every other plugin
} etb_host;

// ---- log/1: messages for people -----------------------------------------------------------------

#define ETB_SERVICE_LOG "log/1"

// Levels of a message.
#define ETB_LOG_DEBUG 10u
#define ETB_LOG_INFO 20u
#define ETB_LOG_WARNING 30u
#define ETB_LOG_ERROR 40u

// The log of the host.
typedef struct etb_log_service {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;
  uint32_t min_level;  // the host drops messages below it; do not format them
  uint32_t reserved;   // must be zero

  // Logs one line.
  //
  // level    ETB_LOG_*.
  // text     [borrowed-for-call] UTF-8, one line.
  // fields   [borrowed-for-call] field_count key-value pairs that belong to the message.
  // presence required
  // threads  [any]
  // since    1.0
  void(ETB_CALL* write)(void* ctx, uint32_t level, const char* text, const etb_option* fields,
                        uint64_t field_count);
} etb_log_service;

// ---- alloc/1: accounted host memory -------------------------------------------------------------

#define ETB_SERVICE_ALLOC "alloc/1"

// Memory that the host counts under the plugin's name and bounds. Memory that is still held after deinit is a
// leak (ABI-HYG-03).
typedef struct etb_alloc_service {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Allocates nbytes bytes. Their content is undefined.
  //
  // alignment  of the returned address: a power of two.
  // tag        [borrowed-for-call] purpose of the memory for reports, e.g. "weights"; may be NULL.
  // returns    [transferred-handle] ended by free; NULL when there is no memory.
  // presence   required
  // threads    [any]
  // since      1.0
  void*(ETB_CALL* allocate)(void* ctx, uint64_t nbytes, uint64_t alignment, const char* tag);

  // Frees memory that allocate returned.
  //
  // ptr      may be NULL.
  // presence required
  // threads  [any]
  // since    1.0
  void(ETB_CALL* free)(void* ctx, void* ptr);
} etb_alloc_service;

// ---- parallel/1: one thread pool per process ----------------------------------------------------

#define ETB_SERVICE_PARALLEL "parallel/1"

// The thread pool of the host. A plugin that uses it needs no threads of its own (ABI-HYG-02).
typedef struct etb_parallel_service {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Returns the number of workers that parallel_for may use, the calling thread included.
  //
  // returns  at least 1; the number may change between runs.
  // presence required
  // threads  [any]
  // since    1.0
  uint32_t(ETB_CALL* max_workers)(void* ctx);

  // Calls task(arg, begin, end, worker) over [0, count) in pieces, and returns when all pieces are done. With
  // one worker, from inside a task, or while another call has the workers, all pieces run on the calling
  // thread.
  //
  // count    number of items.
  // grain    least number of items of a piece, except the last.
  // task     called with worker < max_workers; no two pieces of one call with the same worker run at the same
  //          time.
  // arg      first argument of task.
  // presence required
  // threads  [any]   may block: yes
  // since    1.0
  void(ETB_CALL* parallel_for)(void* ctx, uint64_t count, uint64_t grain,
                               void(ETB_CALL* task)(void* arg, uint64_t begin, uint64_t end, uint32_t worker),
                               void* arg);
} etb_parallel_service;

// ---- clock/1: the time of events and deadlines --------------------------------------------------

#define ETB_SERVICE_CLOCK "clock/1"

// The clock of etb_exec_args.deadline_ns and of events with ETB_TIMEBASE_HOST.
typedef struct etb_clock_service {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Returns the time in nanoseconds on a monotonic clock.
  //
  // presence required
  // threads  [any]
  // since    1.0
  uint64_t(ETB_CALL* now_ns)(void* ctx);
} etb_clock_service;

// ---- diag/1: facts for programs -----------------------------------------------------------------

#define ETB_SERVICE_DIAG "diag/1"

// Structured data about the call that runs on this thread: for programs, as the text of an error is for
// people.
typedef struct etb_diag_service {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Reports facts about the current call.
  //
  // topic    [borrowed-for-call] stable id, e.g. "vulkan.device-lost".
  // fields   [borrowed-for-call] field_count key-value pairs.
  // presence required
  // threads  [any]
  // since    1.0
  void(ETB_CALL* report)(void* ctx, const char* topic, const etb_option* fields, uint64_t field_count);
} etb_diag_service;

// ---- Cancellation and progress, passed to long calls --------------------------------------------

// Cancellation of one call. The callee polls it during a long call.
typedef struct etb_cancel_token {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Returns 1 if the caller wants the call to stop. The function is cheap.
  //
  // returns  1: stop and return ETB_CANCELLED; 0: go on.
  // presence required
  // threads  [any]
  // since    1.0
  uint32_t(ETB_CALL* is_cancelled)(void* ctx);
} etb_cancel_token;

// Progress of one call, reported by the callee.
typedef struct etb_progress {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Reports progress.
  //
  // done     from 0 to 1, never smaller than before.
  // what     [borrowed-for-call] name of the current step, for people.
  // presence required
  // threads  [serial:progress]
  // since    1.0
  void(ETB_CALL* report)(void* ctx, double done, const char* what);
} etb_progress;

#ifdef __cplusplus
}
#endif

#endif
