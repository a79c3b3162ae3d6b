// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/sanitizer_host.hpp"

#include <sys/personality.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include "conformance/subject/sanitizer.hpp"
#include "host/registry/elf_dynamic.hpp"
#include "host/registry/library_file.hpp"
#include "tools/process_setup.hpp"

namespace etb::tools {
namespace {

constexpr const char* kPreload = "LD_PRELOAD";
// Set for the program that was started again.
constexpr const char* kMark = "ETB_SANITIZER_HOST";

// The user's own options come last and win.
void add_options(const char* variable, const std::string& options) {
  const char* const own = std::getenv(variable);
  ::setenv(variable, (options + (own != nullptr ? std::string(":") + own : "")).c_str(), 1);
}

void set_environment(const std::string& runtime) {
  const char* const before = std::getenv(kPreload);
  ::setenv(kPreload, (runtime + (before != nullptr ? std::string(":") + before : "")).c_str(), 1);
  ::setenv(kMark, "1", 1);
  // Processes of the suite end without destructors, so memory that is in use is no leak; checks count it. The
  // program has its own operator new for large blocks, but not for all of them.
  add_options("ASAN_OPTIONS",
              "detect_leaks=0:abort_on_error=1:allocator_may_return_null=1:alloc_dealloc_mismatch=0");
  add_options("TSAN_OPTIONS", "halt_on_error=1:abort_on_error=1:die_after_fork=0:report_signal_unsafe=0");
  add_options("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1");
}

std::vector<std::string> own_arguments() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> out;
  for (std::string text; std::getline(in, text, '\0');) out.push_back(text);
  return out;
}

}  // namespace

std::string sanitizer_of(const std::string& library_path) {
  if (library_path.empty()) return "";
  const Result<host::LibraryFile> library = host::LibraryFile::open(library_path);
  if (!library) return "";
  const Result<host::ElfDynamic> dynamic = host::read_elf_dynamic(library->bytes(), library->elf);
  if (!dynamic) return "";
  for (const std::string& name : dynamic->needed)
    if (conformance::is_sanitizer_library(name)) return name;
  return "";
}

Status enter_sanitizer_host(const std::string& runtime) {
  if (runtime.empty() || conformance::has_sanitizer()) return {};
  if (runtime.find_first_of(" :") != std::string::npos)
    return make_error(Code::INVALID_ARGUMENT, "--sanitizer-host '" + runtime +
                                                  "': a path with a space or a colon cannot be preloaded");
  const std::string needs = "the plugin needs the run-time library of a sanitizer, '" + runtime + "'";
  if (std::getenv(kMark) != nullptr)
    return make_error(Code::NOT_FOUND,
                      needs + ", which the loader did not load\nhint: --sanitizer-host FILE");
  if (!is_program())
    return make_error(Code::UNAVAILABLE, needs + "\nhint: start the program with LD_PRELOAD=" + runtime);
  const std::vector<std::string> arguments = own_arguments();
  std::vector<char*> argv;
  for (const std::string& text : arguments) argv.push_back(const_cast<char*>(text.c_str()));
  argv.push_back(nullptr);
  set_environment(runtime);
  // The shadow memory of ThreadSanitizer has fixed addresses, which random ones may hit.
  if (runtime.find("tsan") != std::string::npos) (void)::personality(ADDR_NO_RANDOMIZE);
  ::execv("/proc/self/exe", argv.data());
  return make_error(Code::ACCESS_FAILED,
                    needs + ", and the program cannot start again: " + std::strerror(errno));
}

}  // namespace etb::tools
