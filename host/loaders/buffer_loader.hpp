// SPDX-License-Identifier: Apache-2.0
// BufferLoader: reads a file that is in memory already (linked in, read by the caller, flash).
#pragma once

#include <cstring>

#include "etb/cpp/fail.hpp"
#include "host/runtime/data_loader.hpp"

namespace etb::host {

// The bytes outlive the loader and start on a 16-byte boundary. Nothing is copied.
class BufferLoader final : public DataLoader {
 public:
  explicit BufferLoader(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  etb_status size(uint64_t* out_nbytes, etb_error*) noexcept override {
    *out_nbytes = bytes_.size();
    return ETB_OK;
  }

  etb_status load(uint64_t offset, uint64_t nbytes, uint64_t, DataBlock* out,
                  etb_error* error) noexcept override {
    ETB_CHECK(check(offset, nbytes, error));
    *out = DataBlock(bytes_.subspan(static_cast<size_t>(offset), static_cast<size_t>(nbytes)));
    return ETB_OK;
  }

  etb_status read(uint64_t offset, std::span<std::byte> out, etb_error* error) noexcept override {
    ETB_CHECK(check(offset, out.size(), error));
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return ETB_OK;
  }

 private:
  etb_status check(uint64_t offset, uint64_t nbytes, etb_error* error) const noexcept {
    if (offset <= bytes_.size() && nbytes <= bytes_.size() - offset) return ETB_OK;
    return fail(error, ETB_ACCESS_FAILED, "%llu bytes at %llu of a buffer of %zu",
                static_cast<unsigned long long>(nbytes), static_cast<unsigned long long>(offset),
                bytes_.size());
  }

  std::span<const std::byte> bytes_;
};

}  // namespace etb::host
