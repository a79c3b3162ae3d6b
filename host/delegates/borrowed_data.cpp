// SPDX-License-Identifier: Apache-2.0
#include "host/delegates/borrowed_data.hpp"

#include <cstring>
#include <new>

#include "etb/cpp/guard.hpp"

namespace etb::host {

namespace {

constexpr uint64_t kAlignment = 16;  // alignment of payloads and named data

// Returns the bytes on the boundary that plugins are promised: the same block, or a copy when the
// file has another alignment.
DataBlock to_aligned(DataBlock block) {
  const auto bytes = block.bytes();
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kAlignment == 0) return block;
  void* const copy = ::operator new (bytes.size(), std::align_val_t{kAlignment});
  std::memcpy(copy, bytes.data(), bytes.size());
  return DataBlock({static_cast<const std::byte*>(copy), bytes.size()},
                   [](void*, const std::byte* data, uint64_t) {
                     ::operator delete (const_cast<std::byte*>(data), std::align_val_t{kAlignment});
                   });
}

}  // namespace

BorrowedData::BorrowedData(const DelegateRequest& request, const FileMapping& file)
    : payload_(to_aligned(std::move(*request.payload))), file_(file) {
  if (request.named_data != nullptr) named_data_ = *request.named_data;
  if (request.files != nullptr) files_ = request.files->shared_from_this();
}

etb_payload_view BorrowedData::payload_view() {
  etb_payload_view view{};
  view.struct_size = ETB_INIT_SIZE(etb_payload_view);
  view.data = payload_.bytes().data();
  view.nbytes = payload_.bytes().size();
  view.alignment = 16;
  put_file(view);
  view.release_ctx = this;
  view.release = &release_payload;
  return view;
}

// A copy of unaligned bytes is in no file.
void BorrowedData::put_file(etb_payload_view& view) const {
  view.fd = -1;
  view.fd_offset_bytes = 0;
  const auto begin = reinterpret_cast<uintptr_t>(view.data),
             first = reinterpret_cast<uintptr_t>(file_.bytes.data());
  if (file_.descriptor < 0 || begin < first || begin - first > file_.bytes.size()) return;
  view.fd = file_.descriptor;
  view.fd_offset_bytes = file_.offset + (begin - first);
}

etb_named_data BorrowedData::named_data() { return {ETB_INIT_SIZE(etb_named_data), 0, this, &get_named}; }

void BorrowedData::release_payload(void* ctx) {
  auto& self = *static_cast<BorrowedData*>(ctx);
  const std::lock_guard lock(self.mutex_);
  self.payload_.reset();
}

void BorrowedData::release_named(void* ctx) { static_cast<DataBlock*>(ctx)->reset(); }

etb_status BorrowedData::get_named(void* ctx, const char* key, etb_payload_view* out, etb_error* error) {
  auto& self = *static_cast<BorrowedData*>(ctx);
  return guard(error, [&]() -> Status {
    auto block = std::make_unique<DataBlock>();
    etb_error why = ETB_ERROR_INIT;
    if (key == nullptr || out == nullptr || !ETB_HAS_FIELD(etb_payload_view, out, release))
      return make_error(Code::INVALID_ARGUMENT, "named data: no key, or no view of the size of version 1.0");
    ETB_TRY(check(self.named_data_.find(key, block.get(), nullptr, &why), why));
    *block = to_aligned(std::move(*block));
    out->data = block->bytes().data();
    out->nbytes = block->bytes().size();
    out->alignment = 16;
    self.put_file(*out);
    out->release_ctx = block.get();
    out->release = &release_named;
    const std::lock_guard lock(self.mutex_);
    self.named_.push_back(std::move(block));
    return {};
  });
}

}  // namespace etb::host
