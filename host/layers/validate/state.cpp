// SPDX-License-Identifier: Apache-2.0
#include "host/layers/validate/state.hpp"

#include <string_view>
#include <utility>

namespace etb::host::validate {
namespace {

constexpr size_t kRetiredCount = 4096;  // about a megabyte of handles
constexpr size_t kWatchedCount =
    256;  // slots twice, from the 4096 of fault_watch.cpp; the rest are for live objects

}  // namespace

State::State(const ValidateOptions& options) : options_(options), service_{sizeof(Service), 0, this} {
  if (options.memory == ValidateOptions::Memory::GUARD_PAGES)
    sentinel_ = std::make_unique<GuardedBytes>(options.memory, 1, 16);
  swept_fault_count_ = fault_count();
}

State::~State() {
  is_ending_ = true;
  // Moves the objects out of the members first, because their destructors use this object.
  const auto adopted = std::exchange(adopted_, {});
  const auto retired = std::exchange(retired_, {});
}

void State::report(Rule rule, Side side, const char* function, std::string text) {
  const std::lock_guard lock(report_mutex_);
  ++violation_count_;
  if (violations_.size() < options_.max_violations)
    violations_.push_back({rule.id, side, function, std::move(text)});
}

std::vector<Violation> State::take() {
  sweep();
  const std::lock_guard lock(report_mutex_);
  return std::exchange(violations_, {});
}

uint64_t State::violation_count() const {
  const std::lock_guard lock(report_mutex_);
  return violation_count_;
}

bool State::begin_init(const etb_plugin_table* plugin) {
  const std::lock_guard lock(mutex_);
  return ++inits_[plugin] == 1;
}

void State::end_init(const etb_plugin_table* plugin) {
  const std::lock_guard lock(mutex_);
  if (--inits_[plugin] == 0) inits_.erase(plugin);
}

void State::adopt(std::shared_ptr<void> object) {
  const std::lock_guard lock(mutex_);
  const void* const key = object.get();
  adopted_.emplace(key, std::move(object));
}

void State::retire(const void* object) {
  std::shared_ptr<void> evicted;  // destroyed after the lock is released: its destructor may use this object
  const std::lock_guard lock(mutex_);
  const auto found = adopted_.find(object);
  if (found == adopted_.end()) return;
  if (retired_.size() == kRetiredCount) {
    evicted = std::move(retired_.front());
    retired_.pop_front();
  }
  retired_.push_back(std::move(found->second));
  adopted_.erase(found);
}

void State::watch(std::unique_ptr<GuardedBytes> bytes, Rule rule, Side side, const char* function,
                  std::string what) {
  if (options_.memory != ValidateOptions::Memory::GUARD_PAGES) return;
  bytes->close();
  const std::lock_guard lock(mutex_);
  std::deque<Watched>& watched =
      std::string_view(function).starts_with("delegate.execute") ? watched_of_runs_ : watched_;
  if (watched.size() == kWatchedCount) watched.pop_front();
  watched.push_back({std::move(bytes), rule, side, function, std::move(what)});
}

void State::sweep() {
  if (options_.memory != ValidateOptions::Memory::GUARD_PAGES) return;
  const std::lock_guard lock(mutex_);
  const uint64_t now = fault_count();
  if (std::exchange(swept_fault_count_, now) == now) return;
  for (const std::deque<Watched>* of : {&watched_, &watched_of_runs_})
    for (const Watched& watched : *of)
      if (const auto damage = watched.bytes->take_damage())
        report(watched.rule, watched.side, watched.function, watched.what + ": " + *damage);
}

}  // namespace etb::host::validate

namespace etb::host {

Validation::Validation(const ValidateOptions& options) : state_(std::make_unique<validate::State>(options)) {}
Validation::~Validation() = default;

std::vector<Violation> Validation::take() { return state_->take(); }
uint64_t Validation::violation_count() const {
  state_->sweep();
  return state_->violation_count();
}

std::string format_violation(const Violation& violation) {
  return violation.rule + ": " + (violation.side == Side::HOST ? "host" : "plugin") + ", " +
         violation.function + ": " + violation.text;
}

}  // namespace etb::host
