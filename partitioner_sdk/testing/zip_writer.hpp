// SPDX-License-Identifier: Apache-2.0
// Writes small zip files for tests, valid and invalid ones.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace etb::pt2 {

struct ZipRecord {
  std::string name;
  std::string data;
};

// Fields of a record's entry that a test may change before writing.
struct ZipEntryFields {
  uint16_t flags = 0;
  uint16_t method = 0;
  uint32_t stored_nbytes = 0;
  uint32_t nbytes = 0;
  uint32_t header_offset = 0;
  std::string central_name;
  std::string local_name;
  std::string extra;
};

template <class T>
void put(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>((value >> (8 * i)) & 0xFF);
}

using BendEntry = std::function<void(size_t index, ZipEntryFields&)>;

inline std::string write_zip(const std::vector<ZipRecord>& records, const BendEntry& bend = {}) {
  std::string out, central;
  for (size_t i = 0; i < records.size(); ++i) {
    const ZipRecord& record = records[i];
    ZipEntryFields entry;
    entry.stored_nbytes = entry.nbytes = static_cast<uint32_t>(record.data.size());
    entry.header_offset = static_cast<uint32_t>(out.size());
    entry.central_name = entry.local_name = record.name;
    if (bend) bend(i, entry);
    put<uint32_t>(out, 0x04034b50);
    for (int k = 0; k < 11; ++k) put<uint16_t>(out, 0);
    put<uint16_t>(out, static_cast<uint16_t>(entry.local_name.size()));
    put<uint16_t>(out, 0);
    out += entry.local_name + record.data;
    put<uint32_t>(central, 0x02014b50);
    put<uint32_t>(central, 0);
    put<uint16_t>(central, entry.flags);
    put<uint16_t>(central, entry.method);
    put<uint64_t>(central, 0);
    put<uint32_t>(central, entry.stored_nbytes);
    put<uint32_t>(central, entry.nbytes);
    put<uint16_t>(central, static_cast<uint16_t>(entry.central_name.size()));
    put<uint16_t>(central, static_cast<uint16_t>(entry.extra.size()));
    for (int k = 0; k < 5; ++k) put<uint16_t>(central, 0);
    put<uint32_t>(central, entry.header_offset);
    central += entry.central_name + entry.extra;
  }
  const auto offset = static_cast<uint32_t>(out.size());
  out += central;
  put<uint32_t>(out, 0x06054b50);
  put<uint32_t>(out, 0);
  put<uint16_t>(out, static_cast<uint16_t>(records.size()));
  put<uint16_t>(out, static_cast<uint16_t>(records.size()));
  put<uint32_t>(out, static_cast<uint32_t>(central.size()));
  put<uint32_t>(out, offset);
  put<uint16_t>(out, 0);
  return out;
}

}  // namespace etb::pt2
