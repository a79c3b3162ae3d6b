// SPDX-License-Identifier: Apache-2.0
#include "host/plugin/device_buffer.hpp"

namespace etb::host {

Result<std::shared_ptr<DeviceBuffer>> DeviceBuffer::make(std::shared_ptr<const Device> device) {
  const auto* const table = static_cast<const etb_buffer_table*>(device->find_extension(ETB_EXT_BUFFER));
  if (table == nullptr || table->struct_size < ETB_SIZE_THROUGH(etb_buffer_table, free))
    return make_error(Code::NOT_SUPPORTED, "the plugin has no buffer/1 for this device");
  return std::shared_ptr<DeviceBuffer>(new DeviceBuffer(std::move(device), *table));
}

Result<std::shared_ptr<DeviceBuffer>> DeviceBuffer::allocate(std::shared_ptr<const Device> device,
                                                             const char* kind, uint64_t nbytes) {
  ETB_ASSIGN(auto made, make(std::move(device)));
  etb_error error = ETB_ERROR_INIT;
  etb_buffer* buffer = nullptr;
  ETB_TRY(check(made->table_.allocate(made->device_->handle(), kind, nbytes, &buffer, &error), error));
  if (buffer == nullptr) return make_error(Code::INTERNAL, "allocate answered ok without a buffer");
  made->buffer_ = buffer;
  return made;
}

Result<std::shared_ptr<DeviceBuffer>> DeviceBuffer::import(std::shared_ptr<const Device> device,
                                                           const etb_buffer_desc& memory,
                                                           std::shared_ptr<const void> owner) {
  ETB_ASSIGN(auto made, make(std::move(device)));
  made->owner_ = std::move(owner);
  etb_error error = ETB_ERROR_INIT;
  etb_buffer* buffer = nullptr;
  ETB_TRY(check(made->table_.import_buffer(made->device_->handle(), &memory, &buffer, &error), error));
  if (buffer == nullptr) return make_error(Code::INTERNAL, "import_buffer answered ok without a buffer");
  made->buffer_ = buffer;
  return made;
}

DeviceBuffer::~DeviceBuffer() {
  if (buffer_ != nullptr) table_.free(buffer_);
}

Result<etb_buffer_desc> DeviceBuffer::describe(const char* kind) const {
  etb_buffer_desc desc{};
  desc.struct_size = ETB_INIT_SIZE(etb_buffer_desc);
  desc.fd = -1;
  etb_error error = ETB_ERROR_INIT;
  ETB_TRY(check(table_.export_buffer(buffer_, kind, &desc, &error), error));
  return desc;
}

Status DeviceBuffer::sync(uint32_t access) {
  etb_error error = ETB_ERROR_INIT;
  return check(table_.sync(buffer_, access, &error), error);
}

}  // namespace etb::host
