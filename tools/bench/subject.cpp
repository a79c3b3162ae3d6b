// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/subject.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

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

}  // namespace

Subject::Subject(const Setup& setup) : options_(setup.options), pool_(setup.variant.threads) {}

Result<std::unique_ptr<Subject>> Subject::start(const Setup& setup, host::EventTracer* tracer) {
  std::unique_ptr<Subject> out(new Subject(setup));
  ETB_TRY(out->load(setup, tracer));
  ETB_TRY(out->check_pin(setup.variant));
  ETB_ASSIGN(out->times_.first_us, out->run_once());
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
  method_ = options_.method.empty() ? tools::choose_method(*module_) : options_.method;
  ETB_ASSIGN(const host::MethodMeta meta, module_->method_meta(method_));
  const tools::Stopwatch init_watch;
  ETB_TRY(module_->load_method(method_));
  times_.init_us = init_watch.us();
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
Result<double> Subject::run_once() {
  const host::RunLimits limits = tools::limits_from_now(options_.limits.timeout_ms);
  if (options_.excludes_inputs) ETB_TRY(module_->set_inputs(method_, inputs_->values()));
  const tools::Stopwatch watch;
  if (!options_.excludes_inputs) ETB_TRY(module_->set_inputs(method_, inputs_->values()));
  ETB_TRY(module_->run(method_, limits));
  return watch.us();
}

Result<Turn> Subject::run(uint32_t count, uint32_t settling) {
  for (uint32_t i = 0; i < settling; ++i) ETB_TRY(run_once());
  Turn turn;
  turn.wall_us.reserve(count);
  const double begin_us = cpu_us();
  for (uint32_t i = 0; i < count; ++i) {
    ETB_ASSIGN(const double us, run_once());
    turn.wall_us.push_back(us);
  }
  turn.cpu_us = cpu_us() - begin_us;
  return turn;
}

}  // namespace etb::bench
