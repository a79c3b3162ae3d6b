// SPDX-License-Identifier: Apache-2.0
// Writes a zip file of uncompressed records in memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace etb::record {

class StoredZip {
 public:
  void add(std::string_view name, std::string_view data);
  // Returns the file. The object must not be used afterwards.
  std::string finish();

 private:
  std::string out_;
  std::string directory_;
  uint16_t count_ = 0;
};

}  // namespace etb::record
