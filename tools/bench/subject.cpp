// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/subject.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <ctime>
#include <numeric>
#include <thread>

#include "tools/bench/processors.hpp"
#include "tools/run/blame_files.hpp"
#include "tools/run/load_mode.hpp"
#include "tools/run/timing.hpp"

namespace etb::bench {
namespace {

// Processor time of all threads of this process.
double cpu_us() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

// The difference of two readings; nothing for no counters.
std::vector<double> counted(const std::vector<double>& before, const std::vector<double>& after) {
  std::vector<double> out(after);
  for (size_t i = 0; i < out.size(); ++i) out[i] -= before[i];
  return out;
}

}  // namespace

Subject::Subject(const Setup& setup, Counters counters)
    : options_(setup.options),
      counters_(std::move(counters)),
      pool_(setup.variant.threads,
            setup.options.spins ? host::ThreadPool::Waiting::kSpin : host::ThreadPool::Waiting::kBlock) {}

Result<std::unique_ptr<Subject>> Subject::start(const Setup& setup, host::EventTracer* tracer) {
  ETB_ASSIGN(Counters counters, Counters::open(setup.options.counters));
  std::unique_ptr<Subject> out(new Subject(setup, std::move(counters)));
  if (setup.options.pins_threads) ETB_TRY(pin_threads());
  ETB_TRY(out->load(setup, tracer));
  ETB_TRY(out->check_pin(setup.variant));
  ETB_ASSIGN(out->times_.first_us, out->run_once(*out->module_));
  return out;
}

Status Subject::load(const Setup& setup, host::EventTracer* tracer) {
  const Variant& variant = setup.variant;
  host::ModuleOptions options;
  options.load_mode = tools::to_load_mode(variant.load_mode);
  options.data_files = options_.data_files;
  options.kernel_libraries = options_.plugins.kernel_libraries;
  options.secure = setup.secure;
  options.limits = options_.limits.limits;
  options.tracer = tracer;
  options.async = options_.plugins.is_async;
  options.pool = &pool_;
  ETB_ASSIGN(tools::DelegateChoices choices, tools::parse_choices(options_.plugins));
  if (variant.pin) choices.pins[variant.pin->first] = variant.pin->second;
  host::RegistryOptions registry = setup.registry;
  registry.services.pool = &pool_;
  delegates_ = std::make_unique<tools::SearchedDelegates>(std::move(registry), std::move(choices));
  options.delegates = delegates_.get();
  const tools::Stopwatch load_watch;
  ETB_ASSIGN(module_, setup.descriptor >= 0 ? host::Module::from_descriptor(setup.descriptor, 0, 0, options)
                                            : host::Module::open(variant.file, options));
  times_.load_us = load_watch.us();
  method_ = variant.method.empty() ? tools::choose_method(*module_) : variant.method;
  ETB_ASSIGN(const host::MethodMeta meta, module_->method_meta(method_));
  const tools::Stopwatch init_watch;
  ETB_TRY(tools::blame_files(module_->load_method(method_)));
  times_.init_us = init_watch.us();
  // A tracer sees the runs of one thread only.
  for (uint32_t i = 1; i < variant.parallel && tracer == nullptr; ++i) {
    ETB_ASSIGN(host::Module other, host::Module::from_program(module_->program(), options));
    ETB_TRY(other.load_method(method_));
    others_.push_back(std::move(other));
  }
  inputs_.emplace(meta);
  return tools::fill_inputs(options_.inputs, variant.shapes, method_, *inputs_);
}

// A pin is a preference of the registry. Here another plugin would be measured under a wrong name.
Status Subject::check_pin(const Variant& variant) const {
  if (!variant.pin) return {};
  const auto& [id, plugin] = *variant.pin;
  bool is_used = false;
  for (const auto& decision : delegates_->decisions()) {
    if (decision->name != id) continue;
    const host::Candidate* winner = decision->winner();
    if (winner != nullptr && winner->id != plugin)
      return make_error(Code::NOT_FOUND,
                        fmt::format("plugin '{}' is no candidate for the delegate '{}', which '{}' would run",
                                    plugin, id, winner->id));
    is_used = true;
  }
  if (is_used) return {};
  return make_error(Code::NOT_FOUND, fmt::format("the program has no delegate '{}'", id));
}

std::vector<DelegateUse> Subject::delegates() const {
  std::vector<DelegateUse> out;
  for (const auto& decision : delegates_->decisions()) {
    const host::Candidate* winner = decision->winner();
    if (winner == nullptr) continue;
    const auto same = std::find_if(out.begin(), out.end(), [&](const DelegateUse& use) {
      return use.id == decision->name && use.plugin == winner->id;
    });
    if (same == out.end())
      out.push_back({decision->name, winner->id, winner->version, 1});
    else
      ++same->count;
  }
  return out;
}

// Sets inputs before each run, as an application does, and because a run may reuse their memory.
Result<double> Subject::run_once(host::Module& module) const {
  const host::RunLimits limits = tools::limits_from_now(options_.limits);
  if (options_.excludes_inputs) ETB_TRY(tools::blame_files(module.set_inputs(method_, inputs_->values())));
  const tools::Stopwatch watch;
  if (!options_.excludes_inputs) ETB_TRY(tools::blame_files(module.set_inputs(method_, inputs_->values())));
  ETB_TRY(tools::blame_files(module.run(method_, limits)));
  return watch.us();
}

Status Subject::run_turn(host::Module& module, uint32_t count, uint32_t settling,
                         std::vector<double>& wall_us, const std::function<void()>& begin) const {
  Status settled;
  for (uint32_t i = 0; i < settling && settled; ++i)
    if (const auto us = run_once(module); !us) settled = tl::make_unexpected(us.error());
  wall_us.reserve(count);
  begin();
  ETB_TRY(settled);
  for (uint32_t i = 0; i < count; ++i) {
    ETB_ASSIGN(const double us, run_once(module));
    wall_us.push_back(us);
  }
  return {};
}

Result<Turn> Subject::run(uint32_t count, uint32_t settling) {
  if (!others_.empty()) return run_parallel(count, settling);
  Turn turn;
  double begin_us = 0;
  std::vector<double> begin_counts;
  ETB_TRY(run_turn(*module_, count, settling, turn.wall_us, [&] {
    begin_counts = counters_.read();
    begin_us = cpu_us();
  }));
  turn.cpu_us = cpu_us() - begin_us;
  turn.counts = counted(begin_counts, counters_.read());
  turn.elapsed_us = std::accumulate(turn.wall_us.begin(), turn.wall_us.end(), 0.0);
  return turn;
}

Result<Turn> Subject::run_parallel(uint32_t count, uint32_t settling) {
  std::vector<host::Module*> modules = {&*module_};
  for (host::Module& other : others_) modules.push_back(&other);
  std::vector<std::vector<double>> times(modules.size());
  std::vector<Status> statuses(modules.size());
  double begin_us = 0;
  std::vector<double> begin_counts;
  std::optional<tools::Stopwatch> watch;
  // The last thread that has settled starts the clocks; then all go on together.
  std::barrier start(static_cast<ptrdiff_t>(modules.size()), [&]() noexcept {
    begin_counts = counters_.read();
    begin_us = cpu_us();
    watch.emplace();
  });
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < modules.size(); ++i)
      threads.emplace_back([&, i] {
        statuses[i] = run_turn(*modules[i], count, settling, times[i], [&] { start.arrive_and_wait(); });
      });
  }
  Turn turn;
  turn.elapsed_us = watch->us();
  turn.cpu_us = cpu_us() - begin_us;
  turn.counts = counted(begin_counts, counters_.read());
  for (size_t i = 0; i < modules.size(); ++i) {
    ETB_TRY(statuses[i]);
    turn.wall_us.insert(turn.wall_us.end(), times[i].begin(), times[i].end());
  }
  return turn;
}

}  // namespace etb::bench
