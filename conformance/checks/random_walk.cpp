// SPDX-License-Identifier: Apache-2.0
// life: calls in random orders on several devices, delegates and contexts, beside calls that must fail. The check compares each
// run with one alone. A seed fixes the order.
#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "conformance/cases/values.hpp"
#include "conformance/checks/async_run.hpp"
#include "conformance/checks/devices.hpp"
#include "conformance/checks/groups.hpp"

namespace etb::conformance {
namespace {

// A claimed case, and the results of its runs when nothing else exists.
struct Sample {
  ClaimedCase item;
  std::vector<RunResult> expected;
};

std::vector<Sample> samples_of(CheckContext& context, Subject& subject) {
  std::vector<ClaimedCase> items = context.claimed(subject, 8);
  if (items.empty()) return {};
  for (ClaimedCase& item : context.find_claimed_of_ops(subject, "dyn.*", 4)) items.push_back(std::move(item));
  for (const char* pattern : {"op.*_w*", "quant.*_w*", "model.*constants*", "model.many_outputs*"})
    for (ClaimedCase& item : context.find_claimed_like(subject, pattern, 2)) items.push_back(std::move(item));
  std::vector<Sample> out;
  for (ClaimedCase& item : items) {
    const auto session = context.make_session(subject, item);
    if (!session) return {};
    std::vector<RunResult> expected;
    for (size_t i = 0; i < std::min<size_t>(item.built.runs.size(), 4); ++i)
      expected.push_back(session->run(item.built.runs[i]));
    out.push_back({std::move(item), std::move(expected)});
  }
  return out;
}

// The seed of an order. Behind the validate layer, calls that a host must not make are left out.
struct Order {
  uint64_t seed = 0;
  bool is_watched = false;
};

class Walk {
 public:
  Walk(CheckContext& context, Subject& subject, const std::vector<Sample>& samples, const DeviceList& devices,
       Order order)
      : context_(context),
        subject_(subject),
        table_(*subject.table().delegate),
        samples_(samples),
        devices_(devices),
        order_(order),
        random_(fmt::format("random walk {}", order.seed)) {}

  void take_steps(int count) {
    for (int i = 0; i < count && is_good(); ++i) step();
    while (!delegates_.empty() && is_good()) end_delegate(pick(delegates_.size()));
    for (auto& device : open_)
      if (is_good() && device->close() != ETB_OK) fail("close of a device without delegates fails");
  }

 private:
  struct Living {
    const Sample* sample = nullptr;
    OpenDevice* device = nullptr;  // null: the default
    std::unique_ptr<CaseSession> session;
    std::vector<etb_context*> contexts;  // beside the session's
  };

  void step() {
    constexpr size_t kMostDelegates = 8, kMostContexts = 3, kMostDevices = 3;
    const int64_t choice = random_.between(0, 19);
    const bool makes = choice == 0 || choice == 16;
    if (delegates_.empty() || (makes && delegates_.size() < kMostDelegates)) return create();
    Living& living = delegates_[pick(delegates_.size())];
    if (choice == 1) return end_delegate(pick(delegates_.size()));
    if ((choice == 2 || choice == 17) && living.contexts.size() < kMostContexts) return create_context(living);
    if (choice == 3 && !living.contexts.empty()) return end_context(living);
    if (order_.is_watched && (choice == 4 || choice == 5 || choice == 6 || choice == 12)) return run(living);
    if (choice == 4)
      return expect_busy("destroy of a delegate with a context",
                         table_.destroy(living.session->delegate(), nullptr));
    if (choice == 5)
      return expect_busy("deinit while a delegate lives",
                         subject_.table().deinit(subject_.handle(), nullptr));
    if (choice == 6) return run_damaged(living);
    if (choice == 7) return create_damaged();
    if (choice == 8) return reserve(living);
    if (choice == 9) return ask(living);
    if (choice == 10) return compile_again();
    if (choice == 11 && !devices_.empty() && open_.size() < kMostDevices) return open_device();
    if (choice == 12 && living.device != nullptr)
      return expect_busy("close of a device with a delegate", living.device->close());
    if (choice == 13) return cancel(living);
    if (choice == 14) return run_asynchronously(living);
    if (choice == 15) return run_stopped(living);
    run(living);
  }

  void create() {
    const Sample& sample = samples_[pick(samples_.size())];
    OpenDevice* const device =
        open_.empty() || random_.between(0, 1) == 0 ? nullptr : open_[pick(open_.size())].get();
    note("create of " + sample.item.item->name + (device != nullptr ? " on a device" : ""));
    auto made = CaseSession::make(subject_, sample.item.built, sample.item.payload, {},
                                  device != nullptr ? device->handle() : nullptr);
    if (!made && device != nullptr) return;  // the payload was compiled for the default device
    if (!made) return fail("create fails: " + made.error().message);
    delegates_.push_back({&sample, device, std::move(*made), {}});
  }

  void end_delegate(size_t index) {
    Living& living = delegates_[index];
    while (!living.contexts.empty() && is_good()) end_context(living);
    note("the end of a delegate of " + living.sample->item.item->name);
    if (const Status ended = living.session->end(); !ended) fail("its end fails: " + ended.error().message);
    delegates_.erase(delegates_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  void create_context(Living& living) {
    note("context_create");
    etb_context* made = nullptr;
    etb_error error = ETB_ERROR_INIT;
    if (table_.context_create(living.session->delegate(), nullptr, 0, &made, &error) != ETB_OK)
      return fail(std::string("it fails: ") + error.text);
    living.contexts.push_back(made);
  }

  void end_context(Living& living) {
    note("context_destroy");
    const size_t index = pick(living.contexts.size());
    etb_error error = ETB_ERROR_INIT;
    if (table_.context_destroy(living.contexts[index], &error) != ETB_OK)
      return fail(std::string("it fails: ") + error.text);
    living.contexts.erase(living.contexts.begin() + static_cast<std::ptrdiff_t>(index));
  }

  etb_context* any_context(const Living& living) {
    const size_t index = pick(living.contexts.size() + 1);
    return index == 0 ? living.session->context() : living.contexts[index - 1];
  }

  void run(Living& living) {
    const size_t number = pick(living.sample->expected.size());
    note(fmt::format("run {} of {}", number, living.sample->item.item->name));
    const RunResult found =
        living.session->run_on(any_context(living), living.sample->item.built.runs[number],
                               {.fill = static_cast<uint8_t>(random_.between(0, 255))});
    if (!has_same_result(found, living.sample->expected[number]))
      fail(fmt::format("it returns {} ({}) or another result than alone", found.status, found.error.text));
  }

  void run_asynchronously(Living& living) {
    if ((table_.caps & ETB_DELEGATE_CAP_EXECUTE_ASYNC) == 0) return;
    const size_t number = pick(living.sample->expected.size());
    note(fmt::format("asynchronous run {} of {}", number, living.sample->item.item->name));
    auto run = living.session->prepare(living.sample->item.built.runs[number]);
    auto signals = std::make_unique<Signals>();
    const etb_fence fence = signals->fence(*run);
    run->args.signal = &fence;
    run->args.signal_count = 1;
    etb_error error = ETB_ERROR_INIT;
    const RunResult& expected = living.sample->expected[number];
    const etb_status started = table_.execute_async(any_context(living), &run->args, &error);
    if (started == ETB_NOT_SUPPORTED || (started != ETB_OK && started == expected.status)) return;
    if (started != ETB_OK) return fail(std::string("it does not start: ") + error.text);
    if (!signals->wait(context_.patience())) {
      (void)run.release(), (void)signals.release();  // the plugin may still use them
      living.session->abandon();
      return fail("its fence is not signalled");
    }
    if (signals->status() != expected.status ||
        (expected.status == ETB_OK && !has_same_outputs(signals->outputs(), expected.outputs)))
      fail(fmt::format("it ends with {} or another result than alone", signals->status()));
  }

  // A run whose token requests the end, or whose deadline is over, ends with that status or as usual.
  void run_stopped(Living& living) {
    static constexpr etb_cancel_token kStopped = {ETB_INIT_SIZE(etb_cancel_token), 0, nullptr,
                                                  [](void*) { return uint32_t{1}; }};
    const bool has_token = pick(2) == 0;
    note(has_token ? "a run that is cancelled" : "a run after its deadline");
    RunOptions options;
    if (has_token)
      options.cancel = &kStopped;
    else
      options.deadline_ns = 1;
    const RunResult& expected = living.sample->expected[0];
    const RunResult found =
        living.session->run_on(any_context(living), living.sample->item.built.runs[0], options);
    if (found.status != (has_token ? ETB_CANCELLED : ETB_DEADLINE_EXCEEDED) &&
        !has_same_result(found, expected))
      fail(fmt::format("it returns {} or another result than alone", found.status));
  }

  void run_damaged(Living& living) {
    note("a run with a wrong tensor");
    if (living.session->run_damaged(living.sample->item.built.runs[0], Damage::kDtype).status == ETB_OK)
      fail("it returns ETB_OK");
  }

  void create_damaged() {
    const ClaimedCase& item = samples_[pick(samples_.size())].item;
    Payload payload = item.payload;
    if (payload.bytes.empty()) return;
    note("create of half a payload");
    payload.bytes.resize(payload.bytes.size() / 2);
    if (CaseSession::make(subject_, item.built, std::move(payload))) fail("it succeeds");
  }

  void reserve(Living& living) {
    if ((table_.caps & ETB_DELEGATE_CAP_CONTEXT_RESERVE) == 0) return;
    const size_t number = pick(living.sample->expected.size());
    if (living.sample->expected[number].status != ETB_OK) return;
    note(fmt::format("context_reserve of the sizes of run {}", number));
    const auto prepared = living.session->prepare(living.sample->item.built.runs[number]);
    etb_error error = ETB_ERROR_INIT;
    if (table_.context_reserve(any_context(living), prepared->args.inputs, prepared->args.input_count,
                               &error) != ETB_OK)
      fail(std::string("it fails: ") + error.text);
  }

  void ask(Living& living) {
    note("query");
    etb_delegate_info info{};
    info.struct_size = ETB_INIT_SIZE(etb_delegate_info);
    const etb_delegate_info& first = living.session->info();
    etb_error error = ETB_ERROR_INIT;
    if (table_.query(living.session->delegate(), &info, &error) != ETB_OK ||
        info.input_count != first.input_count || info.output_count != first.output_count ||
        info.max_contexts != first.max_contexts || info.scratch_bytes != first.scratch_bytes)
      fail("it fails or reports other facts than after create");
  }

  void compile_again() {
    const ClaimedCase& item = samples_[pick(samples_.size())].item;
    note("compile of " + item.item->name);
    const Compiled compiled = compile(subject_, item.built.image);
    if (compiled.status != ETB_OK || !(compiled.payload == item.payload))
      fail("it fails or makes another payload");
  }

  void open_device() {
    const DeviceFacts& facts = devices_[pick(devices_.size())];
    note("open of " + facts.name);
    auto device = std::make_unique<OpenDevice>(context_, subject_, facts);
    if (is_open(context_, facts, *device)) open_.push_back(std::move(device));
  }

  void cancel(Living& living) {
    if ((table_.caps & ETB_DELEGATE_CAP_CANCEL) == 0) return;
    note("cancel without a run");
    if (table_.cancel(any_context(living), nullptr) != ETB_OK) fail("it fails");
  }

  void expect_busy(const char* call, etb_status status) {
    note(call);
    if (status != ETB_BUSY) fail(fmt::format("it returns {}, expected ETB_BUSY", status));
  }

  size_t pick(size_t count) {
    return static_cast<size_t>(random_.between(0, static_cast<int64_t>(count) - 1));
  }
  bool is_good() const { return context_.outcome().findings.empty(); }

  void note(const std::string& call) {
    constexpr size_t kMost = 6;
    context_.progress().at(call.c_str());
    last_.push_back(call);
    if (last_.size() > kMost) last_.pop_front();
    ++step_count_;
  }
  void fail(const std::string& text) {
    context_.fail(fmt::format("call {} of the order {}, {}: {}; the calls before: {}", step_count_,
                              order_.seed, last_.back(), text,
                              fmt::join(last_.begin(), last_.end() - 1, ", ")));
  }

  CheckContext& context_;
  Subject& subject_;
  const etb_delegate_table& table_;
  const std::vector<Sample>& samples_;
  const DeviceList& devices_;
  Order order_;
  Random random_;
  int step_count_ = 0;
  std::deque<std::string> last_;
  std::vector<std::unique_ptr<OpenDevice>> open_;  // ends after the delegates
  std::vector<Living> delegates_;
};

void walk_orders(CheckContext& context, bool is_watched, uint64_t first, uint64_t count) {
  constexpr int kSteps = 250;
  const auto subject = context.open({.is_validated = is_watched});
  if (!subject) return;
  const std::vector<Sample> samples = samples_of(context, *subject);
  if (samples.empty()) return;
  const DeviceList devices = devices_of(context, *subject);
  for (uint64_t order = first; order < first + count && context.outcome().findings.empty(); ++order) {
    context.progress().restart();
    Walk(context, *subject, samples, devices, {order, is_watched})
        .take_steps(context.repeats(kSteps, static_cast<double>(count)));
  }
  context.take_violations(*subject);
}

void random_orders(CheckContext& context) {
  constexpr uint64_t kBare = 6, kWatched = 2;
  walk_orders(context, false, 1, kBare);
  if (context.outcome().findings.empty()) walk_orders(context, true, 1 + kBare, kWatched);
}

constexpr Check kChecks[] = {
    {"life.random-orders",
     "Calls on several devices, delegates and contexts in random orders, beside calls that fail, return what "
     "they "
     "return alone.",
     "ABI-LIFE-01", random_orders},
};

}  // namespace

std::span<const Check> random_walk_checks() { return kChecks; }

}  // namespace etb::conformance
