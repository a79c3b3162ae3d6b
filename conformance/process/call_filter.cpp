// SPDX-License-Identifier: Apache-2.0
// The system call filter of a process that holds a plugin.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

#include "conformance/process/confinement.hpp"

// A sanitizer traces its own process, which the filter would end.
#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define ETB_HAS_CALL_FILTER 1
#else
#define ETB_HAS_CALL_FILTER 0
#endif

namespace etb::conformance {

#if ETB_HAS_CALL_FILTER
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif

constexpr uint32_t kNever[] = {SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev};
// System calls whose first argument is the target process.
constexpr uint32_t kReachingProcess[] = {
    SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_pidfd_open};

uint32_t low_half_of_argument(int index) {
  return static_cast<uint32_t>(offsetof(seccomp_data, args) + sizeof(uint64_t) * static_cast<size_t>(index));
}

sock_filter statement(uint16_t code, uint32_t k) { return {code, 0, 0, k}; }
// Skips `if_true` statements if the test is true.
sock_filter jump(uint16_t test, uint32_t k, size_t if_true) {
  return {static_cast<uint16_t>(BPF_JMP | test | BPF_K), static_cast<uint8_t>(if_true), 0, k};
}

constexpr uint16_t kLoad = BPF_LD | BPF_W | BPF_ABS, kReturn = BPF_RET | BPF_K;

// Returns the beginning of a filter: it ends a process that calls with another architecture, and loads the number of the call.
std::vector<sock_filter> begin_filter() {
  const sock_filter end = statement(kReturn, SECCOMP_RET_KILL_PROCESS);
  std::vector<sock_filter> out;
  out.push_back(statement(kLoad, offsetof(seccomp_data, arch)));
  out.push_back(jump(BPF_JEQ, kArchitecture, 1));
  out.push_back(end);
  out.push_back(statement(kLoad, offsetof(seccomp_data, nr)));
#if defined(__x86_64__)
  out.push_back({BPF_JMP | BPF_JGE | BPF_K, 0, 1, 0x40000000u});  // numbers of the x32 ABI
  out.push_back(end);
#endif
  return out;
}

std::vector<sock_filter> make_filter(std::span<const pid_t> pids) {
  const sock_filter allow = statement(kReturn, SECCOMP_RET_ALLOW);
  const sock_filter end = statement(kReturn, SECCOMP_RET_KILL_PROCESS);
  std::vector<sock_filter> out = begin_filter();
  for (const uint32_t call : kNever) {
    out.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, call});
    out.push_back(end);
  }
  for (size_t i = 0; i < std::size(kReachingProcess); ++i)
    out.push_back(jump(BPF_JEQ, kReachingProcess[i], std::size(kReachingProcess) - i));
  out.push_back(allow);
  out.push_back(statement(kLoad, low_half_of_argument(0)));
  out.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0});  // the own group
  out.push_back(end);
  out.push_back({BPF_JMP | BPF_JSET | BPF_K, 0, 1, 0x80000000u});  // another group, or all processes
  out.push_back(end);
  for (const pid_t pid : pids) {
    out.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, static_cast<uint32_t>(pid)});
    out.push_back(end);
  }
  out.push_back(allow);
  return out;
}

std::vector<sock_filter> make_filter_of_files() {
  constexpr uint32_t kOpening[] = {
#if defined(__x86_64__)
    SYS_open,
    SYS_creat,
#endif
    SYS_openat,
    SYS_openat2,
    SYS_open_by_handle_at,
    SYS_memfd_create,
    SYS_socket,
    SYS_socketpair
  };
  std::vector<sock_filter> out = begin_filter();
  for (const uint32_t call : kOpening) {
    out.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, call});
    out.push_back(statement(kReturn, SECCOMP_RET_ERRNO | (EACCES & SECCOMP_RET_DATA)));
  }
  out.push_back(statement(kReturn, SECCOMP_RET_ALLOW));
  return out;
}

Status install(std::vector<sock_filter> filter) {
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  // Without the flag, older kernels enable a slow mitigation of attacks that plugins do not need.
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) != 0)
    return make_error(Code::ACCESS_FAILED, std::string("seccomp: ") + std::strerror(errno));
  return {};
}

}  // namespace
#endif

Status forbid_reaching_others([[maybe_unused]] std::span<const pid_t> pids) {
#if ETB_HAS_CALL_FILTER
  return install(make_filter(pids));
#else
  return {};
#endif
}

Status forbid_files_and_network() {
#if ETB_HAS_CALL_FILTER
  // An unprivileged process may install a filter only with this promise.
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return make_error(Code::ACCESS_FAILED, std::string("no new privileges: ") + std::strerror(errno));
  return install(make_filter_of_files());
#else
  return make_error(Code::NOT_SUPPORTED, "no filter of system calls in this build");
#endif
}

}  // namespace etb::conformance
