// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/fault_plugin/resources.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/conformance/fault_plugin/fault.hpp"
#include "tests/conformance/fault_plugin/shared_state.hpp"

namespace faulty {
namespace {

void forget(size_t nbytes) { *static_cast<volatile char*>(std::malloc(nbytes)) = 1; }

// True at every `step`th call for this counter.
bool is_turn(int& counter, int step) { return ++counter % step == 0; }

void use_one_processor() {
  cpu_set_t all;
  CPU_ZERO(&all);
  ::sched_getaffinity(0, sizeof(all), &all);
  int first = 0;
  while (first < CPU_SETSIZE - 1 && !CPU_ISSET(first, &all)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ::sched_setaffinity(0, sizeof(one), &one);
}

void set_alternate_stack() {
  static char memory[65536];
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = sizeof(memory);
  ::sigaltstack(&stack, nullptr);
}

void make_timer() {
  sigevent event{};
  event.sigev_notify = SIGEV_NONE;
  timer_t timer{};
  ::timer_create(CLOCK_MONOTONIC, &event, &timer);
}

void limit_core_files() {
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  limit.rlim_cur = limit.rlim_cur > 4096 ? 4096 : 0;
  ::setrlimit(RLIMIT_MEMLOCK, &limit);
}

void write_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd >= 0) ::close(fd);
}

std::vector<double> history;  // fault 264

// Each thread that runs keeps a buffer (fault 263).
void keep_buffer_of_thread() {
  static thread_local char* buffer = nullptr;
  if (buffer == nullptr) buffer = static_cast<char*>(std::malloc(300));
  *static_cast<volatile char*>(buffer) = 1;
}

}  // namespace

void use_resources_of_init() {
  if (has_fault(250)) (void)!::nice(5);
  if (has_fault(251)) use_one_processor();
  if (has_fault(252)) ::signal(SIGPIPE, SIG_IGN);
  if (has_fault(253)) set_alternate_stack();
  if (has_fault(254)) make_timer();
  if (has_fault(255)) ::prctl(PR_SET_DUMPABLE, 0);
  if (has_fault(256)) limit_core_files();
  if (has_fault(257)) ::fcntl(1, F_SETFL, ::fcntl(1, F_GETFL) | O_NONBLOCK);
  if (has_fault(258)) (void)::mlockall(MCL_FUTURE);
  if (has_fault(259) && ::fork() == 0) ::_exit(0);
  if (has_fault(260)) write_file("/var/tmp/etb_fault_260");
  if (has_fault(368)) write_file("/dev/shm/etb_fault_368");
  if (has_fault(261)) ::on_exit([](int, void*) { (void)!::write(1, "", 0); }, nullptr);
}

void use_resources_of_deinit() {
  if (has_fault(265)) forget(24);
}

void use_resources_of_create() {
  static int creates = 0;
  if (has_fault(266) && is_turn(creates, 100)) forget(16);
  if (has_fault(366)) used_device_bytes += 256;
  if (has_fault(267)) (void)::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

void use_resources_of_refusal() {
  if (has_fault(268)) forget(64);
  if (has_fault(269)) (void)::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void use_resources_of_compile(bool has_failed) {
  static int compilations = 0;
  if (has_fault(270) && has_failed) forget(100);
  if (has_fault(271) && !has_failed && is_turn(compilations, 10)) forget(16);
}

void use_resources_of_context() {
  if (has_fault(272)) forget(32);
}

void use_resources_of_run(int runs, bool is_cancelled, bool is_profiled) {
  static int all_runs = 0;
  if (has_fault(367) && is_turn(all_runs, 100)) used_device_bytes += 256;
  if (has_fault(263)) keep_buffer_of_thread();
  if (has_fault(264)) history.push_back(runs);
  if (has_fault(273) && is_turn(all_runs, 100)) forget(16);
  if (has_fault(274) && runs % 100 == 99) forget(16);
  if (has_fault(275) && is_cancelled) forget(48);
  if (has_fault(276) && is_profiled) forget(48);
  if (has_fault(277) && is_turn(all_runs, 50))
    (void)::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (has_fault(278)) ::setenv("ETB_FAULT_278", std::to_string(runs).c_str(), 1);
  if (has_fault(279)) (void)::prctl(PR_SET_NAME, "kernel");
}

void use_resources_of_failed_run() {
  if (has_fault(280)) forget(80);
}

}  // namespace faulty
