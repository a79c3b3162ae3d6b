// SPDX-License-Identifier: Apache-2.0
#include "host/layers/validate/fault_kind.hpp"

#include <cstring>

namespace etb::host::validate {
namespace {

// Head of a record. Linux, arch/arm64/include/uapi/asm/sigcontext.h: _aarch64_ctx. The last one is all zero.
struct RecordHead {
  uint32_t magic = 0;
  uint32_t nbytes = 0;  // with the head
};
constexpr uint32_t kSyndromeMagic = 0x45535201;  // ESR_MAGIC: 8 bytes, the exception syndrome register

// Arm Architecture Reference Manual, ESR_EL1: the class of the exception, and bits of data aborts.
FaultKind kind_of_syndrome(uint64_t syndrome) noexcept {
  constexpr uint64_t kInstructionAbort = 0x20, kDataAbort = 0x24;  // both of a program
  constexpr uint64_t kWrite = 1 << 6,
                     kCacheMaintenance = 1 << 8;  // cache maintenance sets both, and writes nothing
  const uint64_t exception_class = syndrome >> 26 & 0x3f;
  if (exception_class == kInstructionAbort) return FaultKind::kRead;
  if (exception_class != kDataAbort) return FaultKind::kUnknown;
  return (syndrome & (kWrite | kCacheMaintenance)) == kWrite ? FaultKind::kWrite : FaultKind::kRead;
}

}  // namespace

FaultKind fault_kind_of_aarch64_records(std::span<const uint8_t> records) noexcept {
  RecordHead head;
  uint64_t syndrome = 0;
  while (records.size() >= sizeof(head)) {
    std::memcpy(&head, records.data(), sizeof(head));
    if (head.nbytes < sizeof(head) || head.nbytes > records.size()) break;
    if (head.magic == kSyndromeMagic && head.nbytes >= sizeof(head) + sizeof(syndrome)) {
      std::memcpy(&syndrome, records.data() + sizeof(head), sizeof(syndrome));
      return kind_of_syndrome(syndrome);
    }
    records = records.subspan(head.nbytes);
  }
  return FaultKind::kUnknown;
}

FaultKind fault_kind(const ucontext_t& context) noexcept {
#if defined(__x86_64__)
  constexpr auto kWrite = 2;  // bit of the page fault error code
  return (context.uc_mcontext.gregs[REG_ERR] & kWrite) != 0 ? FaultKind::kWrite : FaultKind::kRead;
#elif defined(__aarch64__)
  return fault_kind_of_aarch64_records(context.uc_mcontext.__reserved);
#else
  (void)context;
  return FaultKind::kUnknown;
#endif
}

}  // namespace etb::host::validate
