// The host as a plugin sees it: who it is, and services by string id.
//
// A plugin asks for a service once, in init, and works without any that it gets NULL for (ABI-HOST-01). Ids
// without a dot belong to this ABI; others are reverse-DNS.
#ifndef ETB_HOST_H_
#define ETB_HOST_H_

#include "etb/base.h"
#include "etb/option.h"
#include "etb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct etb_layer_link;

#define ETB_HOST_SECURE 0x1u  // runs with more rights than its caller: read no environment, no user files

typedef struct etb_host {
  uint32_t struct_size;
  uint32_t flags;        // ETB_HOST_*
  uint32_t abi_version;  // newest ABI version that the host speaks
  uint32_t reserved;     // must be zero
  const char* name;      // e.g. "etbackend"
  const char* version;   // semantic version of the host
  const char*
      plugin_dir;  // absolute path of the folder that holds the plugin's manifest; "" when it has none
  void* ctx;       // the host's own; a layer that hands on a copy of this struct keeps it

  // A service table by id, or NULL when the host lacks it.
  //
  // host     [borrowed-for-call] this struct, or a layer's copy of it.
  // returns  [borrowed-until-destroy] the table, valid until deinit.
  // threads  [any], from init until deinit returns; never from query (ABI-SYM-02)   since 1.0
  const void*(ETB_CALL* get_service)(const struct etb_host* host, const char* id);

  const struct etb_layer_link* layer_link;  // for layers only, see layer.h; NULL for every other plugin
} etb_host;

// ---- log/1: messages for people -----------------------------------------------------------------

#define ETB_SERVICE_LOG "log/1"
#define ETB_LOG_DEBUG 10u
#define ETB_LOG_INFO 20u
#define ETB_LOG_WARNING 30u
#define ETB_LOG_ERROR 40u

typedef struct etb_log_service {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;
  uint32_t min_level;  // messages below it are dropped; do not make them
  uint32_t reserved;   // must be zero

  // Logs one line.
  // text, fields  [borrowed-for-call] fields may be NULL when field_count is 0.
  // threads       [any]   since 1.0
  void(ETB_CALL* write)(void* ctx, uint32_t level, const char* text, const etb_option* fields,
                        uint64_t field_count);
} etb_log_service;

// ---- alloc/1: accounted host memory -------------------------------------------------------------

#define ETB_SERVICE_ALLOC "alloc/1"

// Memory taken here is counted under the plugin's name and bounded by the host; what is still held after
// deinit is a leak (ABI-HYG-03).
typedef struct etb_alloc_service {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // nbytes bytes at an address that is a multiple of alignment (a power of two); NULL when there is no
  // memory. tag      [borrowed-for-call] what it is for, e.g. "weights"; may be NULL. returns
  // [transferred-handle] ended by free.
  // threads  [any]   since 1.0
  void*(ETB_CALL* allocate)(void* ctx, uint64_t nbytes, uint64_t alignment, const char* tag);

  // threads  [any]   since 1.0   ptr may be NULL
  void(ETB_CALL* free)(void* ctx, void* ptr);
} etb_alloc_service;

// ---- parallel/1: one thread pool per process ----------------------------------------------------

#define ETB_SERVICE_PARALLEL "parallel/1"

typedef struct etb_parallel_service {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // How many workers parallel_for may use, the calling thread included; at least 1. May change between runs.
  // threads  [any]   since 1.0
  uint32_t(ETB_CALL* max_workers)(void* ctx);

  // Calls task(arg, begin, end, worker) over [0, count) in pieces of at least `grain` items and returns when
  // all are done. worker < max_workers and no two pieces of one call with the same worker run at once. With
  // one worker, from inside a task, or while another call has the workers, all runs on the calling thread.
  // threads  [any]   since 1.0   may block: yes
  void(ETB_CALL* parallel_for)(void* ctx, uint64_t count, uint64_t grain,
                               void(ETB_CALL* task)(void* arg, uint64_t begin, uint64_t end, uint32_t worker),
                               void* arg);
} etb_parallel_service;

// ---- clock/1: the time that events and deadlines use --------------------------------------------

#define ETB_SERVICE_CLOCK "clock/1"

typedef struct etb_clock_service {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Nanoseconds on a monotonic clock; deadlines (etb_exec_args.deadline_ns) are on it.
  // threads  [any]   since 1.0
  uint64_t(ETB_CALL* now_ns)(void* ctx);
} etb_clock_service;

// ---- diag/1: facts for programs -----------------------------------------------------------------

#define ETB_SERVICE_DIAG "diag/1"

// Rich data about the call that is running on this thread: the counterpart of an error's text for programs.
typedef struct etb_diag_service {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // topic, fields  [borrowed-for-call]
  // threads        [any]   since 1.0
  void(ETB_CALL* report)(void* ctx, const char* topic, const etb_option* fields, uint64_t field_count);
} etb_diag_service;

// ---- cancellation and progress, handed to long calls --------------------------------------------

// Asked by the callee now and then during a long call; [any] thread, cheap.
typedef struct etb_cancel_token {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // threads  [any]   since 1.0
  uint32_t(ETB_CALL* is_cancelled)(void* ctx);  // 1: stop and return ETB_CANCELLED
} etb_cancel_token;

typedef struct etb_progress {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // threads  [serial:progress]   since 1.0
  void(ETB_CALL* report)(void* ctx, double done,
                         const char* what);  // done in [0, 1], never smaller than before
} etb_progress;

#ifdef __cplusplus
}
#endif

#endif
