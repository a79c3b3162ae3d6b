// SPDX-License-Identifier: Apache-2.0
#include "host/layers/validate/fault_watch.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include <mutex>
#include <vector>

namespace etb::host::validate {

// Read by the signal handler. `begin` is 0 while the slot is free, and written last.
struct WatchedPages::Slot {
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
  std::atomic<uintptr_t> fault_address{0};
  std::atomic<FaultKind> fault_kind{FaultKind::kUnknown};
  std::atomic<bool> is_open{false};  // a fault made all of it accessible, guards included
};

namespace {

// A signal handler receives no context, so its tables belong to the process: the only global state in this
// folder. The handler is installed while watched pages exist. The pages themselves stay, to be reused.
constexpr int kSlotCount = 4096;
WatchedPages::Slot slots[kSlotCount];
std::atomic<uint64_t> faults{0};
std::mutex install_mutex;
int in_use = 0;
struct sigaction previous_segv;
struct sigaction previous_bus;

void pass_on(int signal_number, siginfo_t* info, void* context) {
  const struct sigaction& previous = signal_number == SIGBUS ? previous_bus : previous_segv;
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal_number, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal_number);
  } else {
    signal(signal_number, SIG_DFL);  // the instruction runs again and ends the process as without the layer
  }
}

void on_fault(int signal_number, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (WatchedPages::Slot& slot : slots) {
    const uintptr_t begin = slot.begin.load(std::memory_order_acquire);
    const uintptr_t end = slot.end.load(std::memory_order_acquire);
    if (begin == 0 || address < begin || address >= end) continue;
    if (slot.begin.load(std::memory_order_relaxed) != begin)
      continue;  // another thread released the slot meanwhile
    uintptr_t none = 0;
    if (slot.fault_address.compare_exchange_strong(none, address)) {
      slot.fault_kind.store(fault_kind(*static_cast<const ucontext_t*>(context)));
      faults.fetch_add(1);
    }
    slot.is_open.store(true);
    if (mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE) == 0) return;
  }
  pass_on(signal_number, info, context);
}

void install() {
  const std::lock_guard lock(install_mutex);
  if (in_use++ != 0) return;
  struct sigaction action {};
  action.sa_sigaction = &on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &previous_segv);
  sigaction(SIGBUS, &action, &previous_bus);
}

void uninstall() {
  const std::lock_guard lock(install_mutex);
  if (--in_use != 0) return;
  sigaction(SIGSEGV, &previous_segv, nullptr);
  sigaction(SIGBUS, &previous_bus, nullptr);
}

// Never destroyed: its pages may be in use until the process ends.
PagePool& pool() {
  static PagePool* const made = [] {
    ::pthread_atfork([] { pool().lock(); }, [] { pool().unlock(); },
                     [] {
                       pool().forget();
                       pool().unlock();
                     });
    return new PagePool;
  }();
  return *made;
}

std::vector<WatchedPages::Slot*>& free_slots() {
  static std::vector<WatchedPages::Slot*> free = [] {
    std::vector<WatchedPages::Slot*> all;
    for (WatchedPages::Slot& slot : slots) all.push_back(&slot);
    return all;
  }();
  return free;
}

WatchedPages::Slot* take_slot(const PageRange& range) {
  const std::lock_guard lock(install_mutex);
  if (free_slots().empty()) return nullptr;
  WatchedPages::Slot* const slot = free_slots().back();
  free_slots().pop_back();
  const auto begin = reinterpret_cast<uintptr_t>(range.area);
  slot->end.store(begin + range.nbytes + 2 * page_nbytes(), std::memory_order_relaxed);
  slot->fault_address.store(0);
  slot->is_open.store(false);
  slot->begin.store(begin, std::memory_order_release);
  return slot;
}

void give_back_slot(WatchedPages::Slot* slot) {
  const std::lock_guard lock(install_mutex);
  slot->begin.store(0);
  free_slots().push_back(slot);
}

}  // namespace

WatchedPages::WatchedPages(uint64_t nbytes, Access access) {
  if (nbytes > SIZE_MAX / 4) return;
  range_ = pool().take(whole_pages(nbytes));
  if (!range_.is_valid()) return;
  slot_ = take_slot(range_);
  if (slot_ == nullptr) {
    pool().give_back(range_);
    return;
  }
  install();
  allow(access);
}

WatchedPages::~WatchedPages() {
  if (slot_ == nullptr) return;
  allow(Access::kNothing);
  give_back_slot(slot_);
  pool().give_back(range_);
  uninstall();
}

void WatchedPages::allow(Access access) noexcept {
  if (slot_->is_open.exchange(false)) {
    protect(range_.area, page_nbytes(), Access::kNothing);
    protect(end(), page_nbytes(), Access::kNothing);
    access_ = Access::kWrites;
  }
  if (access != access_) protect(begin(), range_.nbytes, access);
  access_ = access;
}

bool WatchedPages::take_fault(Fault& out_fault) noexcept {
  const uintptr_t address = slot_->fault_address.load();
  if (address == 0) return false;
  out_fault = {address, slot_->fault_kind.load()};
  slot_->fault_address.store(0);
  return true;
}

uint64_t fault_count() noexcept { return faults.load(std::memory_order_relaxed); }

}  // namespace etb::host::validate
