// SPDX-License-Identifier: Apache-2.0
// execute_async. A run is over when the call returns; with some faults it has a thread.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "etb/cpp/fail.hpp"
#include "tests/conformance/fault_plugin/plugin.hpp"

namespace faulty {
namespace {

etb_delegate_table table;  // without asynchronous runs
etb_context* latest_context = nullptr;
etb_exec_args latest_args;                     // of latest_context
std::atomic<etb_context*> cancelled{nullptr};  // for fault 526
pid_t first_process = 0;                       // for fault 622
constexpr uint32_t kNormalPriority = 500;      // runs of it do not wait in fault 626

void signal(const etb_exec_args& args, etb_status status) {
  for (uint32_t i = 0; i < args.signal_count; ++i) {
    if (has_fault(521) && i + 1 == args.signal_count) return;
    const etb_fence& fence = *ETB_AT(etb_fence, args.signal, i);
    fence.signal(fence.handle, status);
    if (has_fault(205)) fence.signal(fence.handle, status);
  }
}

bool is_known(const etb_fence* fences, uint32_t count, const char* kind) {
  for (uint32_t i = 0; i < count; ++i)
    if (std::strcmp(ETB_AT(etb_fence, fences, i)->kind, kind) != 0) return false;
  return true;
}

// Runs into memory of its own, and signals before it copies the results.
etb_status run_late(etb_context* context, etb_exec_args args, etb_error* error) {
  std::vector<etb_tensor> outputs(args.outputs, args.outputs + args.output_count);
  std::vector<std::vector<std::byte>> results;
  for (etb_tensor& output : outputs) output.data = results.emplace_back(output.capacity_bytes + 64).data();
  etb_tensor* const real = std::exchange(args.outputs, outputs.data());
  const etb_status status = table.execute(context, &args, error);
  if (status == ETB_OK) signal(args, status);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (real[i].capacity_bytes != 0 && status == ETB_OK)
      std::memcpy(real[i].data, results[i].data(), real[i].capacity_bytes);
  return status;
}

// The outputs of this run and of the one that another context started before change places.
etb_status run_swapped(etb_context* context, const etb_exec_args& args, etb_error* error) {
  etb_exec_args mine = args;
  if (latest_context != nullptr && latest_context != context) std::swap(mine.outputs, latest_args.outputs);
  const etb_status status = table.execute(context, &mine, error);
  latest_context = context;
  latest_args = args;
  return status;
}

// Waits on a thread until the context is cancelled, and forgets the run.
void run_until_cancelled(etb_context* context, const etb_exec_args* args) {
  cancelled = nullptr;
  std::thread([context, args] {
    for (int i = 0; i < 50; ++i, ::usleep(1000))
      if (cancelled == context) return;
    signal(*args, table.execute(context, args, nullptr));
  }).detach();
}

uint64_t monotonic_ns() {
  timespec now{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

// Waits on a thread for the first fence, and forgets the deadline or the token meanwhile.
void run_behind_a_fence(etb_context* context, const etb_exec_args* args) {
  std::thread([context, args] {
    const auto end = [&]() -> etb_status {
      pollfd polled{args->wait->fd, POLLIN, 0};
      while (::poll(&polled, 1, 1) == 0) {
        if (has_fault(581) && args->deadline_ns != 0 && monotonic_ns() >= args->deadline_ns)
          return ETB_DEADLINE_EXCEEDED;
        if (has_fault(580) && args->cancel != nullptr && args->cancel->is_cancelled(args->cancel->ctx) != 0)
          return ETB_CANCELLED;
      }
      etb_exec_args mine = *args;
      mine.wait_count = 0;
      return table.execute(context, &mine, nullptr);
    };
    signal(*args, end());
  }).detach();
}

// A queue of the device, whose thread takes the lowest priority first and ends when nothing waits.
struct LowestFirst {
  struct Run {
    etb_context* context;
    const etb_exec_args* args;
  };
  std::mutex mutex;
  std::vector<Run> waiting;
  bool has_thread = false;
  std::thread thread;

  ~LowestFirst() {
    if (thread.joinable()) thread.join();
  }
  void put(etb_context* context, const etb_exec_args* args) {
    const std::lock_guard lock(mutex);
    waiting.push_back({context, args});
    if (std::exchange(has_thread, true)) return;
    if (thread.joinable()) thread.join();
    thread = std::thread([this] { work(); });
  }
  void work() {
    ::usleep(2000);  // the others may be on their way
    while (const std::optional<Run> run = take()) {
      const etb_status status = table.execute(run->context, run->args, nullptr);
      signal(*run->args, status);
    }
  }
  std::optional<Run> take() {
    const std::lock_guard lock(mutex);
    const auto lowest = std::min_element(
        waiting.begin(), waiting.end(),
        [](const Run& one, const Run& other) { return one.args->priority < other.args->priority; });
    if (lowest == waiting.end()) return has_thread = false, std::nullopt;
    const Run run = *lowest;
    waiting.erase(lowest);
    return run;
  }
} lowest_first;

etb_status ETB_CALL cancel(etb_context* context, etb_error* error) {
  cancelled = context;
  return table.cancel(context, error);
}

etb_status ETB_CALL execute_async(etb_context* context, const etb_exec_args* args, etb_error* error) {
  const bool takes_all = has_fault(524);
  if (!takes_all && !is_known(args->signal, args->signal_count, "callback"))
    return etb::fail(error, ETB_NOT_SUPPORTED, "a signal fence of another kind than callback");
  if (has_fault(524) && args->wait_count != 0) return ETB_OK;
  // The run would begin on a thread when the fence is reached. The check never lets it be.
  if (has_fault(527) && args->wait_count != 0) return ETB_OK;
  if (has_fault(526) && args->wait_count == 0) return run_until_cancelled(context, args), ETB_OK;
  if (has_fault(622) && ::getpid() != first_process) return ETB_OK;  // the thread is in the first process
  if (has_fault(626) && args->priority != kNormalPriority) return lowest_first.put(context, args), ETB_OK;
  if ((has_fault(580) || has_fault(581)) && args->wait_count == 1)
    return run_behind_a_fence(context, args), ETB_OK;
  etb_exec_args mine = *args;
  if (has_fault(523)) mine.wait_count = 0;
  if (has_fault(520)) return run_late(context, mine, error);
  const etb_event_sink* const events = mine.events;
  if (has_fault(528)) mine.events = nullptr;
  const etb_status status =
      has_fault(525) ? run_swapped(context, mine, error) : table.execute(context, &mine, error);
  if (status == ETB_NOT_SUPPORTED && args->wait_count != 0) return status;
  if (status != ETB_OK && has_fault(204)) return signal(*args, ETB_OK), ETB_OK;
  if (status != ETB_OK && has_fault(529)) return signal(*args, status), status;
  if (status != ETB_OK && has_fault(522)) return signal(*args, ETB_INTERNAL), ETB_OK;
  if (status != ETB_OK) return status;
  signal(*args, ETB_OK);
  if (has_fault(528) && events != nullptr) {
    etb_event event{};
    event.struct_size = ETB_INIT_SIZE(etb_event);
    event.name = "fault.run";
    event.debug_id = -1;
    event.timebase = ETB_TIMEBASE_HOST;
    event.ns_numerator = event.ns_denominator = 1;
    (void)events->put(events->ctx, &event);
  }
  return status;
}

}  // namespace

void add_async_runs(Tables& tables) {
  table = tables.delegate;
  first_process = ::getpid();
  if (has_fault(526)) tables.delegate.cancel = cancel;
  tables.delegate.caps |= ETB_DELEGATE_CAP_EXECUTE_ASYNC;
  tables.delegate.execute_async = execute_async;
}

}  // namespace faulty
