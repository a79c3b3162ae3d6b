// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/record/stored_zip.hpp"

#include <array>

namespace etb::record {

namespace {

template <class T>
void put(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>((value >> (8 * i)) & 0xFF);
}

// The polynomial of zip (ISO 3309), bits reversed.
uint32_t crc32(std::string_view data) {
  static const std::array<uint32_t, 256> kTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t row = i;
      for (int bit = 0; bit < 8; ++bit) row = (row >> 1) ^ ((row & 1) != 0 ? 0xEDB88320u : 0u);
      table[i] = row;
    }
    return table;
  }();
  uint32_t crc = 0xFFFFFFFFu;
  for (const char c : data) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFF];
  return crc ^ 0xFFFFFFFFu;
}

// Writes the fields that both headers of a record share: version needed, flags, method (stored), time and
// date (1980-01-01), crc, sizes, length of the name, no extra field.
void put_fields(std::string& out, std::string_view name, std::string_view data) {
  put<uint16_t>(out, 20);
  put<uint16_t>(out, 0);
  put<uint16_t>(out, 0);
  put<uint16_t>(out, 0);
  put<uint16_t>(out, 0x21);
  put<uint32_t>(out, crc32(data));
  put<uint32_t>(out, static_cast<uint32_t>(data.size()));
  put<uint32_t>(out, static_cast<uint32_t>(data.size()));
  put<uint16_t>(out, static_cast<uint16_t>(name.size()));
  put<uint16_t>(out, 0);
}

}  // namespace

void StoredZip::add(std::string_view name, std::string_view data) {
  const auto offset = static_cast<uint32_t>(out_.size());
  put<uint32_t>(out_, 0x04034b50);
  put_fields(out_, name, data);
  out_ += name;
  out_ += data;
  put<uint32_t>(directory_, 0x02014b50);
  put<uint16_t>(directory_, 20);
  put_fields(directory_, name, data);
  for (int i = 0; i < 3; ++i) put<uint16_t>(directory_, 0);  // comment, disk, internal attributes
  put<uint32_t>(directory_, 0);                              // external attributes
  put<uint32_t>(directory_, offset);
  directory_ += name;
  ++count_;
}

std::string StoredZip::finish() {
  const auto offset = static_cast<uint32_t>(out_.size());
  out_ += directory_;
  put<uint32_t>(out_, 0x06054b50);
  put<uint32_t>(out_, 0);
  put<uint16_t>(out_, count_);
  put<uint16_t>(out_, count_);
  put<uint32_t>(out_, static_cast<uint32_t>(directory_.size()));
  put<uint32_t>(out_, offset);
  put<uint16_t>(out_, 0);
  return std::move(out_);
}

}  // namespace etb::record
