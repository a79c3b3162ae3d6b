// SPDX-License-Identifier: Apache-2.0
// host: thread pools that differ in what parallel/1 leaves open, from the number of workers, which may change between runs, to
// the pieces, their order and the worker of each.
#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "conformance/checks/groups.hpp"
#include "conformance/checks/long_case.hpp"

namespace etb::conformance {
namespace {

using Task = void(ETB_CALL*)(void* arg, uint64_t begin, uint64_t end, uint32_t worker);

// A host with no service but parallel/1. Its workers are threads that take pieces in no order.
class WorkerHost {
 public:
  explicit WorkerHost(uint64_t seed) : random_(seed) {
    host_.struct_size = ETB_INIT_SIZE(etb_host);
    host_.abi_version = ETB_ABI_VERSION;
    host_.name = "a host of workers";
    host_.version = "1.0.0";
    host_.plugin_dir = "/nowhere";
    host_.ctx = this;
    host_.get_service = [](const etb_host* host, const char* id) -> const void* {
      const bool is_parallel = std::strcmp(id, ETB_SERVICE_PARALLEL) == 0;
      return is_parallel ? &static_cast<WorkerHost*>(host->ctx)->service_ : nullptr;
    };
  }
  WorkerHost(const WorkerHost&) = delete;
  WorkerHost& operator=(const WorkerHost&) = delete;

  const etb_host* get() const { return &host_; }
  // To call between runs.
  void set_workers(uint32_t count) { count_ = count; }

 private:
  struct Piece {
    uint64_t begin, end;
  };

  // Returns pieces of one to four grains in random order.
  std::vector<Piece> cut(uint64_t count, uint64_t grain) {
    constexpr uint64_t kMostPieces = 64;  // so that runs with a grain of 1 do not take long
    const uint64_t step = std::max({uint64_t{1}, grain, count / kMostPieces});
    std::vector<Piece> pieces;
    for (uint64_t begin = 0; begin < count;) {
      const uint64_t nitems = std::min(count - begin, step * (1 + random_() % 4));
      pieces.push_back({begin, begin + nitems});
      begin += nitems;
    }
    std::shuffle(pieces.begin(), pieces.end(), random_);
    return pieces;
  }

  void run(uint64_t count, uint64_t grain, Task task, void* arg) {
    if (is_busy_.exchange(true)) {  // from inside a task, or of another run
      if (count != 0) task(arg, 0, count, 0);
      return;
    }
    const std::vector<Piece> pieces = cut(count, grain);
    std::atomic<size_t> next{0};
    const auto work = [&](uint32_t worker) {
      for (size_t i = next++; i < pieces.size(); i = next++)
        task(arg, pieces[i].begin, pieces[i].end, worker);
    };
    std::vector<std::thread> threads;
    // The caller is the last worker: none of the numbers is special.
    for (uint32_t worker = 0; worker + 1 < count_; ++worker) threads.emplace_back(work, worker);
    work(count_ - 1);
    for (std::thread& thread : threads) thread.join();
    is_busy_ = false;
  }

  std::mt19937_64 random_;
  std::atomic<uint32_t> count_{1};
  std::atomic<bool> is_busy_{false};
  etb_host host_{};
  etb_parallel_service service_ = {ETB_INIT_SIZE(etb_parallel_service), 0, this,
                                   [](void* ctx) { return static_cast<WorkerHost*>(ctx)->count_.load(); },
                                   [](void* ctx, uint64_t count, uint64_t grain, Task task, void* arg) {
                                     static_cast<WorkerHost*>(ctx)->run(count, grain, task, arg);
                                   }};
};

void workers_change(CheckContext& context) {
  constexpr uint32_t kNumbers[] = {1, 5, 2, 16, 3};
  WorkerHost host(hash_text(context.outcome().name));
  const auto subject = context.open({.is_validated = false, .bare_host = host.get()});
  if (!subject) return;
  const size_t count = context.cases(40, std::size(kNumbers));
  std::vector<ClaimedCase> items = context.claimed(*subject, count);
  for (const char* pattern : {"op.*.large*", "quant.*", "dyn.*"})
    for (ClaimedCase& item : context.find_claimed_of_ops(*subject, pattern, count / 2))
      items.push_back(std::move(item));
  // Convolutions have several ways to divide their work, by the sizes of images and filters.
  for (const char* pattern : {"op.convolution.*.large*", "quant.convolution.*.large*"})
    for (ClaimedCase& item : context.find_claimed_like(*subject, pattern, context.cases(6, 10)))
      items.push_back(std::move(item));
  for (ClaimedCase& item : every_long_claimed(*subject)) items.push_back(std::move(item));
  context.each_session(*subject, items, [&](ReadyCase& ready) {
    context.progress().restart();
    for (const uint32_t number : kNumbers) {
      host.set_workers(number);
      context.progress().at(fmt::format("a run with {} workers", number).c_str());
      const RunResult result = ready.run();
      if (result.status != ETB_OK)
        return context.fail(
            fmt::format("{}: with {} workers a run fails: {}", ready.name(), number, result.error.text));
      if (!context.is_right(ready.item, result))
        return context.fail(fmt::format("{}: with {} workers the result is wrong", ready.name(), number));
    }
  });
}

constexpr Check kChecks[] = {
    {"host.workers-change",
     "The number of workers of parallel/1 may change between runs, and pieces have any size, order and "
     "worker.",
     "ABI-HOST-01", workers_change},
};

}  // namespace

std::span<const Check> worker_number_checks() { return kChecks; }

}  // namespace etb::conformance
