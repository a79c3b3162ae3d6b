#include "host/layers/validate/fault_watch.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mutex>

namespace etb::host::validate {

// What the signal handler reads. `begin` is 0 while the slot is free, and written last.
struct WatchedPages::Slot {
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
  std::atomic<uintptr_t> fault_address{0};
  std::atomic<bool> fault_is_write{false};
};

namespace {

// A signal handler is given no context of ours, so what it looks up is of the process: the one place in this folder
// with state that nobody made. The handler is installed while watched pages exist.
constexpr int kSlotCount = 4096;
WatchedPages::Slot slots[kSlotCount];
std::atomic<uint64_t> faults{0};
std::mutex install_mutex;
int in_use = 0;
struct sigaction previous_segv;
struct sigaction previous_bus;

bool is_write(const ucontext_t& context) {
#if defined(__x86_64__)
  return (context.uc_mcontext.gregs[REG_ERR] & 2) != 0;  // page fault error code, bit 1: a write
#else
  (void)context;
  return true;
#endif
}

void pass_on(int signal_number, siginfo_t* info, void* context) {
  const struct sigaction& previous = signal_number == SIGBUS ? previous_bus : previous_segv;
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal_number, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal_number);
  } else {
    signal(signal_number, SIG_DFL);  // the instruction runs again and ends the process as it would have
  }
}

void on_fault(int signal_number, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (WatchedPages::Slot& slot : slots) {
    const uintptr_t begin = slot.begin.load(std::memory_order_acquire);
    const uintptr_t end = slot.end.load(std::memory_order_acquire);
    if (begin == 0 || address < begin || address >= end) continue;
    if (slot.begin.load(std::memory_order_relaxed) != begin) continue;  // another thread's, given up meanwhile
    uintptr_t none = 0;
    if (slot.fault_address.compare_exchange_strong(none, address)) {
      slot.fault_is_write.store(is_write(*static_cast<const ucontext_t*>(context)));
      faults.fetch_add(1);
    }
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

uintptr_t page_nbytes() {
  static const auto nbytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  return nbytes;
}

WatchedPages::Slot* take_slot(uintptr_t begin, uintptr_t end) {
  const std::lock_guard lock(install_mutex);
  for (WatchedPages::Slot& slot : slots) {
    if (slot.begin.load(std::memory_order_acquire) != 0) continue;
    slot.end.store(end, std::memory_order_relaxed);
    slot.fault_address.store(0);
    slot.begin.store(begin, std::memory_order_release);
    return &slot;
  }
  return nullptr;
}

}  // namespace

WatchedPages::WatchedPages(uint64_t nbytes) {
  const uint64_t page = page_nbytes();
  if (nbytes > SIZE_MAX / 2) return;
  const uint64_t inner = (nbytes + page - 1) / page * page;
  void* const map = mmap(nullptr, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return;
  const auto begin = reinterpret_cast<uintptr_t>(map);
  slot_ = take_slot(begin, begin + inner + 2 * page);
  if (slot_ == nullptr) {
    munmap(map, inner + 2 * page);
    return;
  }
  install();
  mprotect(this->begin(), inner, PROT_READ | PROT_WRITE);  // the guards are mapped without access
}

WatchedPages::~WatchedPages() {
  if (slot_ == nullptr) return;
  const uintptr_t begin = slot_->begin.load();
  const uintptr_t end = slot_->end.load();
  slot_->begin.store(0);
  munmap(reinterpret_cast<void*>(begin), end - begin);
  uninstall();
}

uint8_t* WatchedPages::begin() const noexcept {
  return reinterpret_cast<uint8_t*>(slot_->begin.load(std::memory_order_relaxed) + page_nbytes());
}

uint8_t* WatchedPages::end() const noexcept { return reinterpret_cast<uint8_t*>(slot_->end - page_nbytes()); }

void WatchedPages::allow_writes() noexcept {
  mprotect(begin() - page_nbytes(), page_nbytes(), PROT_NONE);
  mprotect(begin(), static_cast<size_t>(end() - begin()), PROT_READ | PROT_WRITE);
  mprotect(end(), page_nbytes(), PROT_NONE);
}

void WatchedPages::allow_reads() noexcept {
  mprotect(begin(), static_cast<size_t>(end() - begin()), PROT_READ);
}

void WatchedPages::allow_nothing() noexcept {
  mprotect(begin(), static_cast<size_t>(end() - begin()), PROT_NONE);
}

bool WatchedPages::take_fault(Fault& out_fault) noexcept {
  const uintptr_t address = slot_->fault_address.load();
  if (address == 0) return false;
  out_fault = {address, slot_->fault_is_write.load()};
  slot_->fault_address.store(0);
  return true;
}

uint64_t fault_count() noexcept { return faults.load(std::memory_order_relaxed); }

}  // namespace etb::host::validate
