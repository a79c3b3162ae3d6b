// SPDX-License-Identifier: Apache-2.0
// BorrowedData: bytes that a delegate borrows until it is destroyed: its payload, and the named data that it requested.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "host/loaders/mmap_loader.hpp"
#include "host/loaders/program_files.hpp"
#include "host/runtime/delegate_resolver.hpp"

namespace etb::host {

class BorrowedData {
 public:
  // Moves the payload of the request. Keeps the files of the request open if it names them; else they outlive this object.
  // `file`: bytes of it are lent with its descriptor, too.
  BorrowedData(const DelegateRequest& request, const FileMapping& file);
  BorrowedData(const BorrowedData&) = delete;
  BorrowedData& operator=(const BorrowedData&) = delete;

  etb_payload_view payload_view();
  etb_named_data named_data();
  // The named data as this object searches it: a copy of the request's.
  const NamedDataMap& named_data_map() const noexcept { return named_data_; }

 private:
  void put_file(etb_payload_view& view) const;
  static void ETB_CALL release_payload(void* ctx);
  static void ETB_CALL release_named(void* ctx);
  static etb_status ETB_CALL get_named(void* ctx, const char* key, etb_payload_view* out, etb_error* error);

  std::shared_ptr<const ProgramFiles> files_;  // destroyed last: the bytes are in them
  std::mutex mutex_;                           // the plugin may release data on any thread
  DataBlock payload_;
  NamedDataMap named_data_;
  FileMapping file_;
  std::vector<std::unique_ptr<DataBlock>> named_;  // every requested block; a released block is empty
};

}  // namespace etb::host
