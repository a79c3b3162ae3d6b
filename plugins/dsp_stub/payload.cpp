// SPDX-License-Identifier: Apache-2.0
#include "plugins/dsp_stub/payload.hpp"

#include "etb/cpp/bytes.hpp"
#include "etb/tensor.h"

namespace etb::dsp_stub {

namespace {

constexpr size_t kAlignment = 16;

size_t padding_after(size_t nbytes) { return (kAlignment - nbytes % kAlignment) % kAlignment; }

tl::unexpected<Error> bad(const std::string& what, uint64_t offset) {
  return make_error(Code::INVALID_DATA, "payload: " + what + " at byte " + std::to_string(offset));
}

void write_tensor(ByteWriter& out, const IoTensor& tensor, uint32_t version) {
  if (version >= kWidePayloadVersion) out.write(tensor.width);
  out.write(static_cast<uint32_t>(tensor.sizes.size()));
  for (const int64_t size : tensor.sizes) out.write(static_cast<uint32_t>(size));
}

// Reads width and sizes of one tensor; its bytes go into the layout.
Status read_tensor(ByteReader& in, uint32_t version, PayloadView& view, std::vector<IoTensor>& out) {
  const uint64_t offset = in.position();
  const uint32_t width = version >= kWidePayloadVersion ? in.read<uint32_t>() : 1;
  if (width != 1 && width != 2)
    return bad("codes of " + std::to_string(width) + " bytes, expected 1 or 2", offset);
  const auto rank = in.read<uint32_t>();
  if (rank > ETB_MAX_RANK) return bad("rank " + std::to_string(rank) + ", expected at most 16", offset);
  uint64_t nbytes = width;
  std::vector<int64_t> sizes;
  for (uint32_t i = 0; i < rank; ++i) {
    const auto size = in.read<uint32_t>();
    if (size == 0 || size > UINT32_MAX / nbytes)
      return bad("size " + std::to_string(size) + " of an input or output", offset);
    nbytes *= size;
    sizes.push_back(size);
  }
  view.layout.io_bytes[view.layout.io_count++] = static_cast<uint32_t>(nbytes);
  out.push_back({std::move(sizes), width});
  return {};
}

}  // namespace

std::vector<std::byte> write_payload(const PayloadParts& parts) {
  ByteWriter out;
  out.write(kPayloadMagic).write(parts.version);
  out.write(parts.tcm_bytes).write(parts.arena_bytes);
  out.write(static_cast<uint32_t>(parts.constants.size()));
  out.write(static_cast<uint32_t>(parts.commands.size() * sizeof(uint32_t)));
  out.write(static_cast<uint32_t>(parts.inputs.size())).write(static_cast<uint32_t>(parts.outputs.size()));
  if (parts.version >= kLayerPayloadVersion) out.write(parts.layer_count);
  for (const IoTensor& tensor : parts.inputs) write_tensor(out, tensor, parts.version);
  for (const IoTensor& tensor : parts.outputs) write_tensor(out, tensor, parts.version);
  std::vector<std::byte> bytes = out.take();
  bytes.resize(bytes.size() + padding_after(bytes.size()));
  bytes.insert(bytes.end(), parts.constants.begin(), parts.constants.end());
  bytes.resize(bytes.size() + padding_after(bytes.size()));
  ByteWriter commands;
  for (const uint32_t word : parts.commands) commands.write(word);
  const std::vector<std::byte> stream = commands.take();
  bytes.insert(bytes.end(), stream.begin(), stream.end());
  return bytes;
}

Result<PayloadView> read_payload(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  PayloadView view{};
  if (in.read<uint32_t>() != kPayloadMagic) return bad("not of dsp_stub", 0);
  const auto version = in.read<uint32_t>();
  if (version < kOldestPayloadVersion || version > kPayloadVersion)
    return make_error(Code::INCOMPATIBLE,
                      "payload: version " + std::to_string(version) + ", plugin reads 1 to 3");
  view.layout.tcm_bytes = in.read<uint32_t>();
  view.layout.arena_bytes = in.read<uint32_t>();
  view.layout.constant_bytes = in.read<uint32_t>();
  view.stream.nbytes = in.read<uint32_t>();
  const auto input_count = in.read<uint32_t>(), output_count = in.read<uint32_t>();
  if (input_count > DSP_MAX_IO || output_count > DSP_MAX_IO - input_count)
    return bad(std::to_string(input_count) + " inputs and " + std::to_string(output_count) +
                   " outputs, expected at most 64",
               24);
  if (version >= kLayerPayloadVersion) view.layout.layer_count = in.read<uint32_t>();
  view.layout.input_count = input_count;
  for (uint32_t i = 0; i < input_count; ++i) ETB_TRY(read_tensor(in, version, view, view.inputs));
  for (uint32_t i = 0; i < output_count; ++i) ETB_TRY(read_tensor(in, version, view, view.outputs));
  in.read_bytes(padding_after(in.position()));
  const auto constants = in.read_bytes(view.layout.constant_bytes);
  view.constants = reinterpret_cast<const uint8_t*>(constants.data());
  in.read_bytes(padding_after(in.position()));
  const uint64_t first_command = in.position();
  view.stream.bytes = reinterpret_cast<const uint8_t*>(in.read_bytes(view.stream.nbytes).data());
  if (const Status whole = in.finish(); !whole)
    return make_error(Code::INVALID_DATA, "payload: " + whole.error().message);
  dsp_defect defect{};
  if (dsp_verify(&view.stream, &view.layout, &defect) != 0)
    return bad(std::string("command stream: ") + defect.reason, first_command + defect.offset);
  return view;
}

}  // namespace etb::dsp_stub
