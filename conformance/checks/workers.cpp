// SPDX-License-Identifier: Apache-2.0
// hyg: threads of the host that compute pieces of a run stay as they are.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <thread>

#include "conformance/checks/groups.hpp"
#include "conformance/subject/process_attributes.hpp"

namespace etb::conformance {
namespace {

// parallel/1 with a new thread for each piece. The attributes of that thread are compared before and after the piece.
class WatchedWorkers {
 public:
  WatchedWorkers() = default;
  WatchedWorkers(const WatchedWorkers&) = delete;
  WatchedWorkers& operator=(const WatchedWorkers&) = delete;

  const etb_host& host() const { return host_; }
  int piece_count() const { return piece_count_; }
  const std::string& difference() const { return difference_; }

 private:
  using Task = void(ETB_CALL*)(void*, uint64_t, uint64_t, uint32_t);
  static constexpr uint32_t kWorkers = 4;
  static constexpr int kMostWatched = 2000;

  // The pieces run one after another: reading attributes changes the umask for a moment. From inside a task, or while
  // another call has the workers, the caller runs them all.
  void run(uint64_t count, uint64_t grain, Task task, void* arg) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return task(arg, 0, count, 0);
    const uint64_t step = std::max({grain, (count + kWorkers - 1) / kWorkers, uint64_t{1}});
    uint32_t worker = 0;
    for (uint64_t begin = 0; begin < count; begin += step, ++worker) {
      std::thread piece([&] {
        const bool is_watched = difference_.empty() && ++piece_count_ <= kMostWatched;
        const ProcessAttributes before = is_watched ? read_process_attributes() : ProcessAttributes{};
        task(arg, begin, std::min(count, begin + step), worker);
        if (is_watched) difference_ = find_difference(before, read_process_attributes());
      });
      piece.join();
    }
  }

  std::mutex mutex_;
  int piece_count_ = 0;
  std::string difference_;
  etb_parallel_service service_ = {ETB_INIT_SIZE(etb_parallel_service), 0, this,
                                   [](void*) { return kWorkers; },
                                   [](void* ctx, uint64_t count, uint64_t grain, Task task, void* arg) {
                                     static_cast<WatchedWorkers*>(ctx)->run(count, grain, task, arg);
                                   }};
  etb_host host_ = [this] {
    etb_host made{};
    made.struct_size = ETB_INIT_SIZE(etb_host);
    made.abi_version = ETB_ABI_VERSION;
    made.ctx = &service_;
    made.get_service = [](const etb_host* host, const char* id) -> const void* {
      return std::strcmp(id, ETB_SERVICE_PARALLEL) == 0 ? host->ctx : nullptr;
    };
    return made;
  }();
};

void attributes_of_workers_are_unchanged(CheckContext& context) {
  constexpr size_t kOps = 40;
  WatchedWorkers workers;
  SubjectOptions options = bare();
  options.application = &workers.host();
  const auto subject = context.open(options);
  if (!subject) return;
  // Small runs have one piece only. Each op may have its own way to set up a thread.
  for (const char* pattern : {"op.*large*", "op.*"})
    context.each_session(
        *subject, context.find_claimed_of_ops(*subject, pattern, context.cases(kOps, 1)),
        [&](ReadyCase& ready) {
          context.progress().restart();
          context.progress().at("run");
          const RunResult result = ready.run();
          if (!workers.difference().empty())
            context.fail(ready.name() + ": a piece of the run changes its worker: " + workers.difference());
          else if (result.status != ETB_OK || !context.is_right(ready.item, result))
            context.fail(ready.name() + ": the run is wrong with four workers");
        });
  if (workers.piece_count() == 0 && context.outcome().findings.empty())
    context.skip("the plugin does not use parallel/1");
}

constexpr Check kChecks[] = {
    {"hyg.attributes-of-workers-are-unchanged",
     "A piece of a run leaves the attributes of the host's thread as they are.", "ABI-HYG-01",
     attributes_of_workers_are_unchanged},
};

}  // namespace

std::span<const Check> worker_checks() { return kChecks; }

}  // namespace etb::conformance
