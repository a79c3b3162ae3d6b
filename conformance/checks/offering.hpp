// SPDX-License-Identifier: Apache-2.0
// Offers damaged payloads to a plugin.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "conformance/checks/check.hpp"
#include "etb/ext/draft/resign.h"

namespace etb::conformance {

// Mends the digest of a damaged payload with the plugin's own code (etb/ext/draft/resign.h), from an instance
// without layers, which extensions do not pass.
class Resigner {
 public:
  Resigner(CheckContext& context, Subject& subject);

  bool exists() const { return table_ != nullptr; }
  // Returns the mended bytes; nothing if they have no room for a digest.
  std::optional<std::vector<std::byte>> resign(std::span<const std::byte> bytes) const;

 private:
  std::unique_ptr<Subject> subject_;
  const etb_resign_table* table_ = nullptr;
};

// Passes damaged payloads of one case to the plugin. Each must be rejected with a status for it or run, without a crash, an
// access outside, or much memory.
class Offering {
 public:
  Offering(CheckContext& context, Subject& subject, const Resigner& resigner, const ClaimedCase& item)
      : context_(context), subject_(subject), resigner_(resigner), item_(item) {}

  // Offers the bytes, and if the plugin has a digest, also with a right one. `damage` is the text for messages.
  void operator()(std::vector<std::byte> bytes, const std::string& damage);

 private:
  void offer(std::vector<std::byte> bytes, const std::string& damage);
  void expect_status(Code code, const std::string& damage);

  CheckContext& context_;
  Subject& subject_;
  const Resigner& resigner_;
  const ClaimedCase& item_;
};

}  // namespace etb::conformance
