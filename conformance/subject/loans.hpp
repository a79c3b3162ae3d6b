// SPDX-License-Identifier: Apache-2.0
// Ways to lend bytes to a plugin: payloads, named data and constants (etb_payload_view).
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "etb/payload.h"

namespace etb::conformance {

// Memory that a host lends again when a plugin has released it.
class ReusedMemory {
 public:
  // Copies the bytes to the first block of their size that is not lent, and lends it.
  void lend(std::span<const std::byte> bytes, etb_payload_view& out);

 private:
  struct Block {
    std::vector<std::byte> memory;
    bool is_lent = false;
  };
  std::deque<Block> blocks_;
};

// Freedoms of the host that lends.
struct Loans {
  bool has_release = true;           // false: the host needs no call
  bool has_file = false;             // a file has the same bytes, at an offset
  bool has_bytes = true;             // false: the file alone has them, and the plugin may reject that
  bool has_least_alignment = false;  // addresses have exactly the alignment that is promised
  ReusedMemory* reused = nullptr;    // lends from it; it outlives the loans
};

// Makes views, and closes their files at its end.
class Lender {
 public:
  explicit Lender(const Loans& loans) : loans_(loans) {}
  ~Lender();
  Lender(const Lender&) = delete;
  Lender& operator=(const Lender&) = delete;

  // Fills a view. The bytes outlive it. A file that cannot be made is left out. `alignment`: what the plugin asked for, 0: nothing.
  void lend(std::span<const std::byte> bytes, etb_payload_view& out, uint64_t alignment = 0);

  // Returns what the borrower changed about the files, "" if nothing. A borrowed file stays open at its position.
  std::string file_damage() const;

 private:
  Loans loans_;
  struct File {
    int fd = -1;
    uint64_t inode = 0;
  };
  std::vector<File> files_;
  std::deque<std::vector<std::byte>> copies_;
};

}  // namespace etb::conformance
