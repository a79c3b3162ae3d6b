// SPDX-License-Identifier: Apache-2.0
#include "conformance/subject/system_calls.hpp"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

namespace etb::conformance {

#if ETB_HAS_CALL_FILTER
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif

sock_filter statement(uint16_t code, uint32_t k) { return {code, 0, 0, k}; }
constexpr uint16_t kLoad = BPF_LD | BPF_W | BPF_ABS, kReturn = BPF_RET | BPF_K;

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
  std::vector<sock_filter> out = begin_call_filter();
  for (const uint32_t call : kOpening) {
    out.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, call});
    out.push_back(statement(kReturn, SECCOMP_RET_ERRNO | (EACCES & SECCOMP_RET_DATA)));
  }
  out.push_back(statement(kReturn, SECCOMP_RET_ALLOW));
  return out;
}

}  // namespace

std::vector<sock_filter> begin_call_filter() {
  const sock_filter end = statement(kReturn, SECCOMP_RET_KILL_PROCESS);
  std::vector<sock_filter> out;
  out.push_back(statement(kLoad, offsetof(seccomp_data, arch)));
  out.push_back({BPF_JMP | BPF_JEQ | BPF_K, 1, 0, kArchitecture});
  out.push_back(end);
  out.push_back(statement(kLoad, offsetof(seccomp_data, nr)));
#if defined(__x86_64__)
  out.push_back({BPF_JMP | BPF_JGE | BPF_K, 0, 1, 0x40000000u});  // numbers of the x32 ABI
  out.push_back(end);
#endif
  return out;
}

Status install_call_filter(std::vector<sock_filter> filter) {
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  // Without the flag, older kernels enable a slow mitigation of attacks that plugins do not need.
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) != 0)
    return make_error(Code::ACCESS_FAILED, std::string("seccomp: ") + std::strerror(errno));
  return {};
}

#endif

Status forbid_files_and_network() {
#if ETB_HAS_CALL_FILTER
  // An unprivileged process may install a filter only with this promise.
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return make_error(Code::ACCESS_FAILED, std::string("no new privileges: ") + std::strerror(errno));
  return install_call_filter(make_filter_of_files());
#else
  return make_error(Code::NOT_SUPPORTED, "no filter of system calls in this build");
#endif
}

}  // namespace etb::conformance
