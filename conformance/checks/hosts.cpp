// SPDX-License-Identifier: Apache-2.0
// host: hosts that differ in what the contract leaves open, from clock and services to descriptions of tensors, threads and
// the order of calls. Results are the same on each.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "conformance/checks/async_run.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/subject/monotonic_clock.hpp"
#include "conformance/subject/payload_verdict.hpp"
#include "host/layers/validate/call.hpp"

namespace etb::conformance {
namespace {

// ---- services

// A host with small services of its own. `clock_offset_ns` is added to the processor's clock.
class OwnHost {
 public:
  OwnHost(const char* missing, int64_t clock_offset_ns)
      : missing_(missing), clock_offset_ns_(clock_offset_ns) {
    host_.struct_size = ETB_INIT_SIZE(etb_host);
    host_.abi_version = ETB_ABI_VERSION;
    host_.name = "another host";
    host_.version = "27.0.0-beta.1";
    host_.plugin_dir = "/nowhere";
    host_.ctx = this;
    host_.get_service = [](const etb_host* host, const char* id) {
      return static_cast<OwnHost*>(host->ctx)->find(id);
    };
  }
  OwnHost(const OwnHost&) = delete;
  OwnHost& operator=(const OwnHost&) = delete;

  const etb_host* get() const { return &host_; }
  uint64_t now_ns() const { return monotonic_ns() + static_cast<uint64_t>(clock_offset_ns_); }

  // Returns what was wrong with the first bad message to the log, "" if there was none.
  std::string log_defect() const {
    const std::lock_guard lock(mutex_);
    return log_defect_;
  }

 private:
  const void* find(const char* id) const {
    if (std::strcmp(id, missing_) == 0) return nullptr;
    if (std::strcmp(id, ETB_SERVICE_CLOCK) == 0) return &clock_;
    if (std::strcmp(id, ETB_SERVICE_LOG) == 0) return &log_;
    if (std::strcmp(id, ETB_SERVICE_ALLOC) == 0) return &alloc_;
    if (std::strcmp(id, ETB_SERVICE_PARALLEL) == 0) return &parallel_;
    return nullptr;
  }

  static void check_message(void* ctx, uint32_t level, const char* text, const etb_option*, uint64_t) {
    constexpr uint32_t kLevels[] = {ETB_LOG_DEBUG, ETB_LOG_INFO, ETB_LOG_WARNING, ETB_LOG_ERROR};
    auto& self = *static_cast<OwnHost*>(ctx);
    const std::lock_guard lock(self.mutex_);
    if (!self.log_defect_.empty()) return;
    if (std::find(std::begin(kLevels), std::end(kLevels), level) == std::end(kLevels))
      self.log_defect_ = fmt::format("has the unknown level {}", level);
    else if (text == nullptr || !host::validate::is_utf8(text))
      self.log_defect_ = "is no text in UTF-8";
    else if (std::strchr(text, '\n') != nullptr)
      self.log_defect_ = fmt::format("has several lines: '{}'", text);
  }

  // Its contents are undefined, and its address is aligned to no more than was asked for.
  static void* allocate(void*, uint64_t nbytes, uint64_t alignment, const char*) {
    const uint64_t step = std::max<uint64_t>(alignment, sizeof(void*));
    auto* const memory = static_cast<std::byte*>(std::malloc(nbytes + 4 * step));
    if (memory == nullptr) return nullptr;
    auto at = reinterpret_cast<uintptr_t>(memory) + sizeof(void*);
    at +=
        (2 * step - at % (2 * step)) % (2 * step) + step;  // a multiple of the step, but not of twice as much
    std::memcpy(reinterpret_cast<void*>(at - sizeof(void*)), &memory, sizeof(void*));
    std::memset(reinterpret_cast<void*>(at), 0xcd, nbytes);
    return reinterpret_cast<void*>(at);
  }
  static void release(void*, void* ptr) {
    if (ptr == nullptr) return;
    void* memory = nullptr;
    std::memcpy(&memory, static_cast<std::byte*>(ptr) - sizeof(void*), sizeof(void*));
    std::free(memory);
  }
  // Pieces in descending order, all by the caller.
  static void run_pieces(void*, uint64_t count, uint64_t grain,
                         void(ETB_CALL* task)(void*, uint64_t, uint64_t, uint32_t), void* arg) {
    const uint64_t step = std::max<uint64_t>(grain, 1);
    for (uint64_t end = count; end > 0;) {
      const uint64_t begin = (end - 1) / step * step;
      task(arg, begin, end, 0);
      end = begin;
    }
  }

  const char* missing_;
  int64_t clock_offset_ns_;
  mutable std::mutex mutex_;
  std::string log_defect_;  // guarded by `mutex_`
  etb_host host_{};
  etb_clock_service clock_ = {ETB_INIT_SIZE(etb_clock_service), 0, this,
                              [](void* ctx) { return static_cast<OwnHost*>(ctx)->now_ns(); }};
  etb_log_service log_ = {ETB_INIT_SIZE(etb_log_service), 0, this, ETB_LOG_DEBUG, 0, check_message};
  etb_alloc_service alloc_ = {ETB_INIT_SIZE(etb_alloc_service), 0, nullptr, allocate, release};
  etb_parallel_service parallel_ = {ETB_INIT_SIZE(etb_parallel_service), 0, nullptr, [](void*) { return 1u; },
                                    run_pieces};
};

void expect_right(CheckContext& context, ReadyCase& ready, const RunResult& result,
                  const std::string& where) {
  if (result.status != ETB_OK)
    context.fail(fmt::format("{}: {}: execute fails: {}", ready.name(), where, result.error.text));
  else if (!context.is_right(ready.item, result))
    context.fail(fmt::format("{}: {}: the result is wrong", ready.name(), where));
}

void each_service_missing(CheckContext& context) {
  for (const char* missing :
       {"", ETB_SERVICE_CLOCK, ETB_SERVICE_LOG, ETB_SERVICE_ALLOC, ETB_SERVICE_PARALLEL}) {
    const OwnHost host(missing, 0);
    const std::string where =
        *missing == '\0' ? "with services of another host" : fmt::format("without {}", missing);
    context.progress().at(where.c_str());
    context.each_session({.bare_host = host.get()}, 4,
                         [&](ReadyCase& ready) { expect_right(context, ready, ready.run(), where); });
    if (const std::string defect = host.log_defect(); !defect.empty())
      context.fail(fmt::format("{}, a message of the plugin to the log {}", where, defect));
    if (!context.outcome().findings.empty()) return;
  }
}

struct HostTimes {
  uint64_t first = UINT64_MAX, last = 0;
};
etb_status ETB_CALL note_times(void* ctx, const etb_event* event) {
  auto& times = *static_cast<HostTimes*>(ctx);
  if (event->timebase == nullptr || std::strcmp(event->timebase, ETB_TIMEBASE_HOST) != 0) return ETB_OK;
  times.first = std::min(times.first, event->begin_ticks);
  times.last = std::max(times.last, event->end_ticks);
  return ETB_OK;
}

// Deadlines and events are times of the host's clock, which need not be the processor's.
void other_clock(CheckContext& context) {
  constexpr uint64_t kMinuteNs = uint64_t{60} * 1000000000u;
  const int64_t begins_now = -static_cast<int64_t>(monotonic_ns());
  for (const int64_t offset : {begins_now, int64_t{1} << 60}) {
    const OwnHost host("", offset);
    context.each_session({.bare_host = host.get()}, 4, [&](ReadyCase& ready) {
      HostTimes times;
      const etb_event_sink sink = {ETB_INIT_SIZE(etb_event_sink), 0, &times, note_times};
      context.progress().at("a run on a host with another clock");
      const uint64_t begin = host.now_ns();
      const RunResult result = ready.run({.events = &sink, .deadline_ns = begin + kMinuteNs});
      const uint64_t end = host.now_ns();
      expect_right(context, ready, result, "with a deadline in a minute of another clock");
      if (times.last != 0 && (times.first < begin || times.last > end))
        context.fail(
            fmt::format("{}: events of {} last from {} to {}, outside of their run on the host's clock",
                        ready.name(), ETB_TIMEBASE_HOST, times.first, times.last));
    });
    if (!context.outcome().findings.empty()) return;
  }
}

// ---- tensors

// Descriptions of a packed tensor that mean the same.
enum class Description { kShort, kStrides, kLong, kUpperSizes };
constexpr Description kDescriptions[] = {Description::kShort, Description::kStrides, Description::kLong,
                                         Description::kUpperSizes};
const char* to_text(Description description) {
  constexpr const char* kTexts[] = {"packed tensors without strides", "packed tensors with strides",
                                    "packed tensors with strides and dim order",
                                    "static tensors with upper sizes"};
  return kTexts[static_cast<size_t>(description)];
}

// Room for what the tensors of a run point to.
struct Described {
  std::vector<std::vector<int64_t>> strides;
  std::vector<std::vector<uint8_t>> orders;
};

void describe(Description description, bool is_output, etb_tensor& tensor, Described& room) {
  const bool is_dynamic = tensor.upper_sizes != nullptr;
  if (description == Description::kShort) tensor.strides = nullptr;
  if (description == Description::kUpperSizes && !is_dynamic) tensor.upper_sizes = tensor.sizes;
  if (description != Description::kLong && description != Description::kStrides) return;
  std::vector<uint8_t>& order = room.orders.emplace_back(tensor.rank);
  for (uint32_t d = 0; d < tensor.rank; ++d)
    order[d] = tensor.dim_order != nullptr ? tensor.dim_order[d] : static_cast<uint8_t>(d);
  if (description == Description::kLong) tensor.dim_order = order.data();
  if (is_dynamic && is_output) return;  // without strides, by the contract
  std::vector<int64_t>& strides = room.strides.emplace_back(tensor.rank);
  int64_t stride = 1;
  for (uint32_t d = tensor.rank; d-- > 0;) {
    strides[order[d]] = stride;
    stride *= std::max<int64_t>(tensor.sizes[order[d]], 1);
  }
  tensor.strides = strides.data();
}

void equal_descriptions(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  std::vector<ClaimedCase> items = context.claimed(*subject, 12);
  for (const char* pattern : {"op.*_cl*", "dyn.*"})
    for (ClaimedCase& item : context.find_claimed_like(*subject, pattern, 6))
      items.push_back(std::move(item));
  context.each_session(*subject, items, [&](ReadyCase& ready) {
    for (const Description description : kDescriptions) {
      const std::unique_ptr<PreparedRun> run = ready.session.prepare(ready.inputs());
      Described room;
      room.strides.reserve(run->tensors.size());
      room.orders.reserve(run->tensors.size());
      for (size_t i = 0; i < run->tensors.size(); ++i)
        describe(description, i >= run->args.input_count, run->tensors[i], room);
      RunResult result;
      context.progress().at(to_text(description));
      result.status =
          ready.subject.table().delegate->execute(ready.session.context(), &run->args, &result.error);
      result.outputs = run->outputs();
      expect_right(context, ready, result, to_text(description));
    }
  });
}

bool are_alike(const Shape& a, const Shape& b) {
  return a.dtype == b.dtype && a.sizes == b.sizes && a.dim_order == b.dim_order;
}

// Two inputs with equal contents may be one piece of memory.
void inputs_share_memory(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  size_t count = 0;
  context.each_session(*subject, context.find_claimed_of_ops(*subject, "op.*", 60), [&](ReadyCase& ready) {
    std::vector<TensorData> inputs = ready.inputs();
    if (inputs.size() < 2 || !are_alike(inputs[0].shape, inputs[1].shape)) return;
    ++count;
    inputs[1] = inputs[0];
    const RunResult expected = ready.session.run(inputs);
    const std::unique_ptr<PreparedRun> run = ready.session.prepare(inputs);
    run->tensors[1].data = run->tensors[0].data;
    RunResult result;
    context.progress().at("a run with one memory for two inputs");
    result.status =
        ready.subject.table().delegate->execute(ready.session.context(), &run->args, &result.error);
    result.outputs = run->outputs();
    if (!has_same_result(result, expected))
      context.fail(ready.name() + ": two inputs in one memory have another result than in two");
  });
  if (count == 0 && context.outcome().findings.empty()) context.skip("no claimed case has two equal inputs");
}

// ---- threads and order

// No object belongs to the thread that made it. Each thread lives until the next one ended, so that none has the number of
// another.
void each_call_on_another_thread(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  for (const ClaimedCase& item : context.claimed(*subject, 6)) {
    std::unique_ptr<CaseSession> session;
    const auto run = [&] {
      ReadyCase ready{*subject, item, *session};
      expect_right(context, ready, ready.run(), "on a thread of its own");
    };
    const auto end = [&] {
      if (const Status ended = session->end(); !ended)
        context.fail(item.item->name + ": the end on another thread fails: " + ended.error().message);
    };
    context.progress().at("calls on threads of their own");
    std::thread([&] {
      session = context.make_session(*subject, item);
      if (!session) return;
      std::thread([&] {
        run();
        std::thread([&] {
          run();
          std::thread(end).join();
        }).join();
      }).join();
    }).join();
    if (!context.outcome().findings.empty()) return;
  }
}

// Contexts and delegates of several payloads end in the order in which they began, and the other way round.
void ends_in_any_order(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  const std::vector<ClaimedCase> items = context.claimed(*subject, 3);
  for (const bool is_reversed : {false, true}) {
    std::vector<std::unique_ptr<CaseSession>> sessions;
    for (const ClaimedCase& item : items) {
      sessions.push_back(context.make_session(*subject, item));
      if (!sessions.back()) return;
    }
    for (size_t i = 0; i < sessions.size(); ++i) {
      const size_t at = is_reversed ? sessions.size() - 1 - i : i;
      context.progress().at("a context ends");
      if (const Status ended = sessions[at]->end_context(); !ended)
        return context.fail("context_destroy fails: " + ended.error().message);
      for (size_t other = 0; other < sessions.size(); ++other) {
        if (sessions[other]->context() == nullptr) continue;
        ReadyCase ready{*subject, items[other], *sessions[other]};
        expect_right(context, ready, ready.run(), "after the context of another delegate ended");
      }
    }
    for (size_t i = 0; i < sessions.size(); ++i)
      if (const Status ended = sessions[is_reversed ? i : sessions.size() - 1 - i]->end(); !ended)
        return context.fail("destroy fails: " + ended.error().message);
  }
}

// ---- arguments

// execute waits for its fences, too, or rejects them.
void fences_of_execute(CheckContext& context) {
  context.each_session(bare(), 3, [&](ReadyCase& ready) {
    const std::unique_ptr<PreparedRun> run = ready.session.prepare(ready.inputs());
    Gate gate;
    const etb_fence fence = gate.fence();
    run->args.wait = &fence;
    run->args.wait_count = 1;
    for (TensorSlot& slot : run->slots)  // inputs that are not there yet
      if (slot.tensor.role == ETB_ROLE_INPUT && slot.data != nullptr)
        std::memset(slot.data, 0x01, slot.bound_nbytes);
    std::thread writer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      for (size_t i = 0; i < ready.inputs().size(); ++i)
        if (!ready.inputs()[i].bytes.empty())
          std::memcpy(run->slots[i].data, ready.inputs()[i].bytes.data(), ready.inputs()[i].bytes.size());
      gate.open();
    });
    RunResult result;
    context.progress().at("execute with a fence to wait for");
    result.status =
        ready.subject.table().delegate->execute(ready.session.context(), &run->args, &result.error);
    result.outputs = run->outputs();
    writer.join();
    if (result.status == ETB_OK)
      expect_right(context, ready, result, "with inputs that are written before a fence");
    else if (result.status != ETB_NOT_SUPPORTED && result.status != ETB_INVALID_ARGUMENT)
      context.fail(
          fmt::format("{}: execute with a fence to wait for returns {}, expected ETB_OK or ETB_NOT_SUPPORTED",
                      ready.name(), result.status));
  });
}

// check_payload sees the first bytes only, which may be few.
void short_prefixes(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  for (const ClaimedCase& item : context.claimed(*subject, 4)) {
    const uint64_t nbytes = item.payload.bytes.size(), seen = std::min<uint64_t>(nbytes / 2, 4096);
    if (nbytes < 128) continue;
    context.progress().at("check_payload with half of a payload");
    etb_verdict verdict;
    (void)ask_verdict(*subject, std::span(item.payload.bytes).first(seen), nbytes, verdict);
    if (verdict.kind == ETB_VERDICT_UNSUPPORTED)
      context.fail(fmt::format("{}: check_payload rejects a good payload of {} bytes of which it sees {}",
                               item.item->name, nbytes, seen));
  }
  context.take_violations(*subject);
}

// Memory whose end is the end of what may be read.
class LastPage {
 public:
  LastPage()
      : nbytes_(static_cast<size_t>(::sysconf(_SC_PAGESIZE))),
        area_(::mmap(nullptr, 2 * nbytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (exists()) ::mprotect(end(), nbytes_, PROT_NONE);
  }
  ~LastPage() {
    if (exists()) ::munmap(area_, 2 * nbytes_);
  }
  LastPage(const LastPage&) = delete;
  LastPage& operator=(const LastPage&) = delete;

  bool exists() const { return area_ != MAP_FAILED; }
  // Copies bytes to the end. They are at most a page.
  std::span<const std::byte> put_last(std::span<const std::byte> bytes) {
    std::copy(bytes.begin(), bytes.end(), end() - bytes.size());
    return {end() - bytes.size(), bytes.size()};
  }

 private:
  std::byte* end() const { return static_cast<std::byte*>(area_) + nbytes_; }
  size_t nbytes_;
  void* area_;
};

// Prefixes of any length, after which no byte can be read. An answer about the same bytes elsewhere is the same.
void prefixes_at_the_end_of_memory(CheckContext& context) {
  constexpr size_t kMostBytes = 64;
  const auto subject = context.open(bare());
  if (!subject) return;
  LastPage page;
  if (!page.exists()) return context.skip("the suite has no memory for a page");
  for (const ClaimedCase& item : context.claimed(*subject, 4))
    for (size_t length = 0; length <= std::min(kMostBytes, item.payload.bytes.size()); ++length) {
      const auto prefix = std::span(item.payload.bytes).first(length);
      const std::string step = fmt::format("check_payload of {} bytes before a page without access", length);
      context.progress().at(step.c_str());
      etb_verdict last, other;
      const etb_status status = ask_verdict(*subject, page.put_last(prefix), item.payload.bytes.size(), last);
      if (ask_verdict(*subject, prefix, item.payload.bytes.size(), other) != status ||
          other.kind != last.kind)
        return context.fail(fmt::format(
            "{}: check_payload has two answers about one prefix of {} bytes, by the bytes after it",
            item.item->name, length));
    }
}

constexpr Check kChecks[] = {
    {"host.each-service-missing",
     "Results are right on a host with services of its own, and if one is missing.", "ABI-HOST-01",
     each_service_missing},
    {"host.other-clock", "Deadlines and events follow the host's clock, which need not be the processor's.",
     "ABI-PROF-01", other_clock},
    {"host.equal-descriptions",
     "Packed tensors are read, described with and without strides, order and upper sizes.", "ABI-TENSOR-01",
     equal_descriptions},
    {"host.inputs-share-memory", "Two inputs may be one piece of memory.", "ABI-TENSOR-03",
     inputs_share_memory},
    {"host.each-call-on-another-thread", "Objects are used and ended on threads that did not make them.",
     "ABI-THREAD-01", each_call_on_another_thread},
    {"host.ends-in-any-order",
     "Contexts of different delegates end in any order and leave the others usable.", "ABI-LIFE-01",
     ends_in_any_order},
    {"host.fences-of-execute", "Execute waits for its fences before it reads, or rejects them.",
     "ABI-EXEC-05", fences_of_execute},
    {"host.prefixes-at-the-end-of-memory", "check_payload reads no byte after a prefix of 0 to 64 bytes.",
     "ABI-BLOB-01", prefixes_at_the_end_of_memory},
    {"host.short-prefixes", "check_payload does not reject a good payload of which it sees a part.", "",
     short_prefixes},
};

}  // namespace

std::span<const Check> host_checks() { return kChecks; }

}  // namespace etb::conformance
