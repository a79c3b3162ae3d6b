// SPDX-License-Identifier: Apache-2.0
// Reads the header of an ELF file: kind of library and segments, verified so that loading it cannot fault.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/registry/byte_source.hpp"

namespace etb::host {

struct ElfSegment {
  uint32_t type = 0;
  uint64_t offset = 0;
  uint64_t address = 0;
  uint64_t file_nbytes = 0;
  uint64_t memory_nbytes = 0;
  uint64_t alignment = 0;
};

struct ElfFile {
  bool is_64_bit = true;
  std::string arch;  // as manifests name it: "x86_64", "aarch64"
  std::vector<ElfSegment> segments;

  // Bytes of the file that are mapped from this address to the end of its segment.
  struct Range {
    uint64_t offset = 0;
    uint64_t nbytes = 0;
  };
  [[nodiscard]] Result<Range> to_range(uint64_t address) const;

  // Returns the file offset of the byte at this address.
  [[nodiscard]] Result<uint64_t> to_offset(uint64_t address) const;
};

// Rejects everything but a little-endian shared library whose segments are all within the file. No two
// segments share a page, so the loader maps the bytes of each segment unchanged.
[[nodiscard]] Result<ElfFile> read_elf(const ByteSource& source);

// Returns one name for each processor architecture: "amd64" is "x86_64", "armv7l" is "arm".
std::string normalise_arch(std::string_view arch);

}  // namespace etb::host
