// SPDX-License-Identifier: Apache-2.0
#include "api/format/unfinished_files.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>

#include "api/format/output_file.hpp"

namespace etb::format {

namespace {

enum SlotState : int { kFree, kBusy, kNoted };

struct Slot {
  std::atomic<int> state{kFree};
  int folder = -1;
  char name[UnfinishedFile::kNameNbytes] = {};
};

// A global, because a signal handler can reach nothing else. Writers synchronise by the atomics alone.
constinit Slot slots[16];

constexpr size_t kNoSlot = std::size(slots);

}  // namespace

UnfinishedFile::UnfinishedFile(int folder, const char* name) noexcept : slot_(kNoSlot) {
  for (size_t i = 0; i < std::size(slots); ++i) {
    int expected = kFree;
    if (!slots[i].state.compare_exchange_strong(expected, kBusy)) continue;
    slots[i].folder = folder;
    std::strncpy(slots[i].name, name, kNameNbytes - 1);
    slots[i].state.store(kNoted);
    slot_ = i;
    return;
  }
}

UnfinishedFile::~UnfinishedFile() {
  if (slot_ != kNoSlot) slots[slot_].state.store(kFree);
}

void remove_unfinished_files() noexcept {
  const int saved = errno;
  for (const Slot& slot : slots)
    if (slot.state.load() == kNoted) ::unlinkat(slot.folder, slot.name, 0);
  errno = saved;
}

}  // namespace etb::format
