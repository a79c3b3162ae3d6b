// SPDX-License-Identifier: Apache-2.0
// The stored records of a zip file, in place. Opening checks everything: no record reaches outside the file
// or overlaps another. Compressed and encrypted records are rejected, so nothing can expand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "etb/cpp/result.hpp"

namespace etb::pt2 {

class ZipArchive {
 public:
  // The caller keeps ownership of `file`.
  [[nodiscard]] static Result<ZipArchive> open(std::span<const std::byte> file);

  // Returns the bytes of a record; nullopt if there is none of that name.
  std::optional<std::span<const std::byte>> find(std::string_view name) const;

  using Records = std::map<std::string, std::span<const std::byte>, std::less<>>;
  const Records& records() const { return records_; }  // by name
  const std::string& first_name() const { return first_name_; }
  uint64_t nbytes() const { return nbytes_; }  // size of the file

 private:
  Records records_;
  std::string first_name_;
  uint64_t nbytes_ = 0;
};

}  // namespace etb::pt2
