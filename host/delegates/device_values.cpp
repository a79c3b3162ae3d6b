// SPDX-License-Identifier: Apache-2.0
#include "host/delegates/device_values.hpp"

#include <algorithm>

#include "etb/cpp/guard.hpp"

namespace etb::host {
namespace {

constexpr const char* kHostKind = "host";
constexpr uint32_t kMaxKinds = 64;

// This folder has the only class of the interface.
DeviceValues& values_of(const DeviceArguments::Reader& reader) {
  return static_cast<DeviceValues&>(*reader.delegate);
}

}  // namespace

void DeviceValues::set_memory(size_t argument, const etb_io_req& req) {
  arguments_[argument].padding_bytes = req.padding_bytes;
  std::vector<std::string>& kinds = arguments_[argument].kinds;
  kinds.clear();
  for (uint32_t i = 0; req.kinds != nullptr && i < std::min(req.kind_count, kMaxKinds); ++i)
    if (req.kinds[i] != nullptr && std::string_view(req.kinds[i]) != kHostKind)
      kinds.emplace_back(req.kinds[i]);
}

uint64_t DeviceValues::padding_of(std::span<const Reader> readers, uint64_t more) {
  for (const Reader& reader : readers)
    more = std::max(more, values_of(reader).arguments_[reader.argument].padding_bytes);
  return more;
}

Result<etb_buffer_desc> DeviceValues::describe(const DeviceBuffer& buffer, uint32_t argument,
                                               uint64_t nbytes) const {
  for (const std::string& kind : arguments_[argument].kinds) {
    Result<etb_buffer_desc> found = buffer.describe(kind.c_str());
    if (!found || found->nbytes < nbytes) continue;
    found->kind = kind.c_str();  // lives as long as this object
    return found;
  }
  return make_error(Code::NOT_SUPPORTED,
                    "no kind of memory that argument " + std::to_string(argument) + " accepts");
}

Result<std::vector<DeviceValues::Found>> DeviceValues::find_own_memory(uint32_t argument, uint64_t nbytes,
                                                                       std::span<const Reader> readers) {
  for (const std::string& kind : arguments_[argument].kinds) {
    auto buffer = DeviceBuffer::allocate(device_, kind.c_str(), nbytes);
    if (!buffer) continue;
    const auto add = [&](DeviceValues& values, uint32_t index, std::vector<Found>& out) -> Status {
      ETB_ASSIGN(const etb_buffer_desc desc, values.describe(**buffer, index, nbytes));
      out.push_back({&values, index, *buffer, desc, false});
      return {};
    };
    std::vector<Found> out;
    Status added = add(*this, argument, out);
    for (const Reader& reader : readers)
      if (added) added = add(values_of(reader), reader.argument, out);
    if (added) return out;
  }
  return make_error(Code::NOT_SUPPORTED, "no kind of memory that all delegates accept");
}

Result<std::vector<DeviceValues::Found>> DeviceValues::find_shared_memory(uint32_t argument, uint64_t nbytes,
                                                                          std::span<const Reader> readers) {
  std::vector<Found> out;
  ETB_ASSIGN(const auto buffer, DeviceBuffer::allocate(device_, kHostKind, nbytes));
  ETB_ASSIGN(const etb_buffer_desc own, describe(*buffer, argument, nbytes));
  ETB_ASSIGN(const etb_buffer_desc memory, buffer->describe(kHostKind));
  out.push_back({this, argument, buffer, own, true});
  for (const Reader& reader : readers) {
    DeviceValues& values = values_of(reader);
    auto used = buffer;
    if (values.device_ != device_) {
      ETB_ASSIGN(used, DeviceBuffer::import(values.device_, memory, buffer));
    }
    ETB_ASSIGN(const etb_buffer_desc desc, values.describe(*used, reader.argument, nbytes));
    out.push_back({&values, reader.argument, std::move(used), desc, values.device_ != device_});
  }
  return out;
}

etb_status DeviceValues::keep(uint32_t argument, uint64_t nbytes, std::span<const Reader> readers,
                              etb_error* error) noexcept {
  return guard(error, [&]() -> Status {
    nbytes += padding_of(readers, arguments_[argument].padding_bytes);
    const bool is_one_device = std::all_of(readers.begin(), readers.end(), [&](const Reader& reader) {
      return values_of(reader).device_ == device_;
    });
    ETB_ASSIGN(std::vector<Found> found, is_one_device ? find_own_memory(argument, nbytes, readers)
                                                       : find_shared_memory(argument, nbytes, readers));
    for (Found& each : found) {
      if (each.is_shared && !each.buffer->is_coherent()) {
        auto& list = each.values == this ? synced_outputs_ : each.values->synced_inputs_;
        list.push_back(each.argument);
      }
      Argument& kept = each.values->arguments_[each.argument];
      kept.buffer = std::move(each.buffer);
      kept.desc = each.desc;
    }
    return {};
  });
}

Result<DeviceStateBuffer::Buffers> DeviceValues::allocate_state(uint32_t argument, uint64_t nbytes) const {
  for (const std::string& kind : arguments_[argument].kinds) {
    DeviceStateBuffer::Buffers out;
    bool has_all = true;
    for (auto& buffer : out) {
      auto made = DeviceBuffer::allocate(device_, kind.c_str(), nbytes);
      has_all = has_all && made;
      if (made) buffer = *std::move(made);
    }
    if (has_all) return out;
  }
  return make_error(Code::NOT_SUPPORTED,
                    "no kind of memory of which the device has " + std::to_string(nbytes) + " bytes twice");
}

Result<DeviceValues::StateUse> DeviceValues::use_state(const DeviceStateBuffer::Buffers& buffers,
                                                       uint32_t argument, uint64_t nbytes,
                                                       Argument::Role role) {
  StateUse out{this, argument, role, {}};
  for (size_t i = 0; i < buffers.size(); ++i) {
    ETB_ASSIGN(out.descs[i], describe(*buffers[i], argument, nbytes));
  }
  return out;
}

Result<std::shared_ptr<DeviceStateBuffer>> DeviceValues::find_state(DeviceState* shared, uint32_t argument,
                                                                    uint64_t nbytes) const {
  if (shared == nullptr) {
    ETB_ASSIGN(DeviceStateBuffer::Buffers buffers, allocate_state(argument, nbytes));
    return std::make_shared<DeviceStateBuffer>(std::move(buffers), device_.get());
  }
  auto& known = static_cast<DeviceStateBuffer&>(*shared);  // this folder has the only class of the interface
  if (known.device() != device_.get()) return make_error(Code::NOT_SUPPORTED, "state of another device");
  return known.shared_from_this();
}

etb_status DeviceValues::keep_state(uint32_t argument, uint64_t nbytes, std::span<const Reader> readers,
                                    std::span<const Reader> result_readers, DeviceState** state,
                                    etb_error* error) noexcept {
  return guard(error, [&]() -> Status {
    nbytes += padding_of(result_readers, padding_of(readers, arguments_[argument].padding_bytes));
    ETB_ASSIGN(const std::shared_ptr<DeviceStateBuffer> found, find_state(*state, argument, nbytes));
    const DeviceStateBuffer::Buffers& buffers = found->buffers();
    std::vector<StateUse> uses;
    const auto use = [&](DeviceValues& values, uint32_t index, Argument::Role role) -> Status {
      if (values.device_ != device_) return make_error(Code::NOT_SUPPORTED, "state of two devices");
      ETB_ASSIGN(const StateUse made, values.use_state(buffers, index, nbytes, role));
      uses.push_back(made);
      return {};
    };
    ETB_TRY(use(*this, argument, Argument::Role::kWriteResult));
    for (const Reader& reader : readers)
      ETB_TRY(use(values_of(reader), reader.argument, Argument::Role::kRead));
    for (const Reader& reader : result_readers)
      ETB_TRY(use(values_of(reader), reader.argument, Argument::Role::kReadResult));
    for (const StateUse& each : uses) {
      Argument& kept = each.values->arguments_[each.argument];
      kept.role = each.role;
      kept.state = found;
      kept.state_descs = each.descs;
    }
    *state = found.get();
    return {};
  });
}

const etb_buffer_desc* DeviceValues::bind(size_t argument) noexcept {
  const Argument& found = arguments_[argument];
  if (found.state == nullptr) return found.buffer == nullptr ? nullptr : &found.desc;
  if (found.role == Argument::Role::kWriteResult) found.state->begin_result();
  const int index = found.role == Argument::Role::kRead ? found.state->state() : found.state->result();
  return index == DeviceStateBuffer::kHost ? nullptr : &found.state_descs[static_cast<size_t>(index)];
}

bool DeviceValues::has_any() const noexcept {
  return std::ranges::any_of(arguments_, [](const Argument& argument) {
    return argument.buffer != nullptr || argument.state != nullptr;
  });
}

void DeviceValues::let_go() noexcept {
  for (Argument& argument : arguments_) {
    argument.buffer.reset();
    if (argument.state != nullptr) argument.state->let_go();
  }
  synced_inputs_.clear();
  synced_outputs_.clear();
}

Status DeviceValues::before_run() noexcept {
  for (const uint32_t input : synced_inputs_) ETB_TRY(arguments_[input].buffer->to_device());
  return {};
}

Status DeviceValues::after_run() noexcept {
  for (const uint32_t output : synced_outputs_) ETB_TRY(arguments_[output].buffer->to_host());
  return {};
}

}  // namespace etb::host
