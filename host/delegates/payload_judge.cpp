// SPDX-License-Identifier: Apache-2.0
#include "host/delegates/payload_judge.hpp"

#include <algorithm>
#include <cstring>

#include "api/format/hex.hpp"
#include "host/delegates/program_fact.hpp"

namespace etb::host {

namespace {

constexpr size_t kPrefixNbytes = 4096;  // bytes that a plugin may read before it decides if a payload suits

using Fingerprint = std::array<uint8_t, ETB_FINGERPRINT_NBYTES>;

bool states_any_device(const Fingerprint& fingerprint) {
  return std::ranges::all_of(fingerprint, [](uint8_t byte) { return byte == 0; });
}

std::string to_text(const std::string& kind, const std::string& name, const Fingerprint& fingerprint) {
  constexpr size_t kShownDigits = 16;
  return kind + " '" + name + "' (fingerprint " + format::to_hex(fingerprint).substr(0, kShownDigits) +
         "...)";
}

// Returns the sentence with both devices; nothing if the payload was compiled for this one, or for any.
std::optional<std::string> difference(const format::TargetRecord& compiled_for, const etb_target& device) {
  const Fingerprint found = std::to_array(device.fingerprint);
  if (states_any_device(found) || states_any_device(compiled_for.fingerprint) ||
      found == compiled_for.fingerprint)
    return std::nullopt;
  return "compiled for " + to_text(compiled_for.kind, compiled_for.name, compiled_for.fingerprint) +
         ", the device is " + to_text(device.kind, device.name, found);
}

}  // namespace

Result<PayloadJudge> PayloadJudge::make(const DelegateRequest& request,
                                        std::span<const etb_compile_spec> specs) {
  PayloadJudge made(request, specs);
  const std::string key = format::target_record_key(request.id);
  ETB_ASSIGN(const std::optional<DataBlock> block, read_program_fact(request, key));
  if (!block) return made;
  auto record = format::read_target_record(block->bytes());
  if (!record)
    return tl::make_unexpected(with_context(std::move(record).error(), "named data '" + key + "'"));
  made.compiled_for_ = *std::move(record);
  return made;
}

Result<PayloadVerdict> PayloadJudge::judge(const PluginContext& plugin, const DeviceTarget* device) {
  const std::string id(request_->id);
  const std::span<const std::byte> bytes = request_->payload->bytes();
  etb_payload_check check{};
  check.struct_size = ETB_INIT_SIZE(etb_payload_check);
  check.backend_id = id.c_str();
  check.target = device == nullptr ? nullptr : &device->target();
  check.prefix = {bytes.data(), std::min(bytes.size(), kPrefixNbytes)};
  check.payload_nbytes = bytes.size();
  check.specs = specs_.data();
  check.spec_count = specs_.size();
  ETB_ASSIGN(const etb_verdict verdict, plugin.check_payload(check));
  PayloadVerdict out{verdict.kind, std::string(verdict.text, strnlen(verdict.text, sizeof verdict.text))};
  if (device == nullptr || !compiled_for_ || out.kind == ETB_VERDICT_OPTIMAL) return out;
  const auto differs = difference(*compiled_for_, device->target());
  // `compile --target` describes a device to all plugins that it asks, so another kind may not be meant for this one.
  if (!differs || (out.kind == ETB_VERDICT_UNKNOWN && compiled_for_->kind != device->target().kind))
    return out;
  out.text = *differs + (out.text.empty() ? "" : ": " + out.text);
  if (out.kind != ETB_VERDICT_UNSUPPORTED) notices_[plugin.table().ident->id] = out.text;
  return out;
}

std::string PayloadJudge::notice_for(const std::string& plugin_id) const {
  const auto found = notices_.find(plugin_id);
  if (found == notices_.end()) return "";
  return "delegate '" + std::string(request_->id) + "' of method '" + std::string(request_->method_name) +
         "': " + found->second;
}

}  // namespace etb::host
