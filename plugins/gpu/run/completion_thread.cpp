// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/run/completion_thread.hpp"

namespace etb::gpu {

namespace {

// A run that is posted meanwhile waits so long for its turn.
constexpr std::chrono::milliseconds kWaitAlone{5}, kWaitWithOthers{1};

}  // namespace

CompletionThread::~CompletionThread() {
  if (!thread_.is_running()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  posted_.notify_one();
  thread_.join();
}

Status CompletionThread::prepare() {
  ETB_TRY(process_.check());
  const std::lock_guard lock(mutex_);
  if (is_started_) return {};
  ETB_TRY(thread_.start(
      [](void* self) -> void* {
        static_cast<CompletionThread*>(self)->loop();
        return nullptr;
      },
      this));
  is_started_ = true;
  return {};
}

void CompletionThread::post(Entry& entry, uint32_t priority) noexcept {
  {
    const std::lock_guard lock(mutex_);
    entry.priority_ = priority;
    Entry** at = &first_;
    while (*at != nullptr && (*at)->priority_ >= priority) at = &(*at)->next_;
    entry.next_ = *at;
    *at = &entry;
  }
  posted_.notify_one();
}

CompletionThread::Entry** CompletionThread::link_to(const Entry& entry) noexcept {
  Entry** at = &first_;
  while (*at != &entry) at = &(*at)->next_;
  return at;
}

void CompletionThread::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    posted_.wait(lock, [this] { return first_ != nullptr || is_over_; });
    if (first_ == nullptr) return;
    advance_all(lock);
  }
}

// Only this thread removes entries. Others may be posted before or after the present one while the list is unlocked.
void CompletionThread::advance_all(std::unique_lock<std::mutex>& lock) {
  auto most = first_->next_ == nullptr ? kWaitAlone : kWaitWithOthers;
  for (Entry* present = first_; present != nullptr;) {
    Entry& entry = *present;
    lock.unlock();
    const bool is_over = entry.advance(std::exchange(most, std::chrono::milliseconds{0}));
    lock.lock();
    present = entry.next_;
    if (!is_over) continue;
    *link_to(entry) = entry.next_;
    lock.unlock();
    entry.end();
    lock.lock();
  }
}

}  // namespace etb::gpu
