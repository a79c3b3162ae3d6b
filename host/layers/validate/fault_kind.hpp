// SPDX-License-Identifier: Apache-2.0
// FaultKind: whether a fault was a read or a write, by the context that the system passes to a signal handler.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <span>

namespace etb::host::validate {

enum class FaultKind {
  kUnknown,  // the system does not report it: Linux on riscv64, QEMU 7.2 for aarch64
  kRead,     // or the execution of an instruction
  kWrite,
};

// Called in signal handlers.
FaultKind fault_kind(const ucontext_t& context) noexcept;

// Reads the records that Linux on aarch64 stores after the registers of a context. Any processor can read them.
FaultKind fault_kind_of_aarch64_records(std::span<const uint8_t> records) noexcept;

}  // namespace etb::host::validate
