// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/isolated_compiler.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "host/registry/child_process.hpp"
#include "host/registry/trusted_file.hpp"
#include "partitioner_sdk/partition/wire.hpp"

namespace etb::tools {

namespace {

// The child's last byte: present only if all earlier bytes are.
constexpr std::byte kDone{0x21}, kFailed{0x3f};

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return true;
}

// Reads the whole file, independent of the child's file position.
Result<std::vector<std::byte>> read_all(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || info.st_size < 0)
    return make_error(Code::ACCESS_FAILED, "cannot read the answer of the child process");
  std::vector<std::byte> out(static_cast<size_t>(info.st_size));
  for (size_t done = 0; done < out.size();) {
    const ssize_t count = ::pread(fd, out.data() + done, out.size() - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return make_error(Code::ACCESS_FAILED, "cannot read the answer of the child process");
    done += static_cast<size_t>(count);
  }
  return out;
}

void write_result(int fd, const Result<std::vector<std::byte>>& result) {
  if (result) {
    if (write_all(fd, *result)) write_all(fd, {&kDone, 1});
    return;
  }
  const std::string& text = result.error().message;
  write_all(fd, {reinterpret_cast<const std::byte*>(text.data()), text.size()});
  write_all(fd, {&kFailed, 1});
}

}  // namespace

Result<std::unique_ptr<partition::Compiler>> IsolatedCompiler::open() const {
  auto& self = const_cast<IsolatedCompiler&>(*this);
  ETB_ASSIGN(self.plugin_, registry_.initialise(entry_));
  ETB_ASSIGN(auto made, partition::PluginCompiler::make(name(), backend_id(), plugin_->table(),
                                                        plugin_->handle(), options_));
  return std::unique_ptr<partition::Compiler>(std::move(made));
}

template <class Job>
Result<std::vector<std::byte>> IsolatedCompiler::run(const char* doing, Job job) {
  // A memory file: payloads are too large for a pipe that is read up to a limit.
  const host::FileDescriptor file(::memfd_create("etbackend-plugin", MFD_CLOEXEC));
  if (file.get() < 0)
    return make_error(Code::OUT_OF_RESOURCES,
                      "cannot create a file in memory: " + std::generic_category().message(errno));
  const auto body = [&](int) {
    const auto work = [&]() -> Result<std::vector<std::byte>> {
      ETB_ASSIGN(const std::unique_ptr<partition::Compiler> compiler, open());
      return job(*compiler);
    };
    write_result(file.get(), work());
  };
  ETB_ASSIGN(const host::ChildOutcome outcome, host::run_in_child(body, deadline_));
  const bool has_ended_well = outcome.end == host::ChildEnd::kExited && outcome.value == 0;
  if (!has_ended_well)
    return make_error(outcome.end == host::ChildEnd::kTimedOut ? Code::DEADLINE_EXCEEDED : Code::INTERNAL,
                      "in " + std::string(doing) + ": " + to_text(outcome, deadline_));
  ETB_ASSIGN(std::vector<std::byte> bytes, read_all(file.get()));
  const std::byte last = bytes.empty() ? std::byte{} : bytes.back();
  if (last != kDone && last != kFailed)
    return make_error(Code::INTERNAL, "in " + std::string(doing) + ": the process ended without an answer");
  bytes.pop_back();
  if (last == kDone) return bytes;
  return make_error(Code::INTERNAL, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

Result<std::vector<std::string>> IsolatedCompiler::preserved_ops() {
  ETB_ASSIGN(const std::vector<std::byte> bytes,
             run("preserve_ops", [](partition::Compiler& plugin) -> Result<std::vector<std::byte>> {
               ETB_ASSIGN(const std::vector<std::string> ops, plugin.preserved_ops());
               return partition::to_bytes(ops);
             }));
  return partition::read_texts(bytes);
}

Result<partition::Answers> IsolatedCompiler::partition(const graph::ImageBytes& method) {
  ETB_ASSIGN(const std::vector<std::byte> bytes,
             run("partition", [&](partition::Compiler& plugin) -> Result<std::vector<std::byte>> {
               ETB_ASSIGN(const partition::Answers answers, plugin.partition(method));
               return partition::to_bytes(answers);
             }));
  return partition::read_answers(bytes);
}

Result<partition::Compiled> IsolatedCompiler::compile(std::span<const graph::ImageBytes* const> regions,
                                                      const partition::ConstantKeys& constants) {
  ETB_ASSIGN(const std::vector<std::byte> bytes,
             run("compile", [&](partition::Compiler& plugin) -> Result<std::vector<std::byte>> {
               ETB_ASSIGN(const partition::Compiled compiled, plugin.compile(regions, constants));
               return partition::to_bytes(compiled);
             }));
  return partition::read_compiled(bytes, regions.size(), constants);
}

}  // namespace etb::tools
