// SPDX-License-Identifier: Apache-2.0
// CompiledFile: the program of an archive for some plugins, in a file without a name.
#pragma once

#include "host/registry/trusted_file.hpp"
#include "tools/bench/benchmark.hpp"

namespace etb::bench {

struct CompiledFile {
  host::FileDescriptor file;
  uint64_t nbytes = 0;
  double compile_us = 0;
};

// Compiles in a process of its own, so that this one keeps its memory. The file has a name until it is
// complete only.
[[nodiscard]] Result<CompiledFile> compile_archive(const Variant& variant, const Environment& environment);

}  // namespace etb::bench
