// SPDX-License-Identifier: Apache-2.0
#include "conformance/checks/offering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "conformance/subject/process_facts.hpp"
#include "conformance/subject/sanitizer.hpp"

namespace etb::conformance {
namespace {

constexpr size_t kMaxAllocation = size_t{64} << 20;
// A damaged payload may still be valid and describe larger tensors: a flipped bit of a size doubles them
// several times. A delegate may use more if its info says so before the run, because a host can refuse that;
// but its size checks should refuse most sizes of that kind, so the figure is bounded, too.
constexpr size_t kMaxAllocationOfATaken = size_t{512} << 20;
constexpr uint64_t kMaxAnnounced = uint64_t{3584} << 20;  // three tensors of 1 GiB, and some more

// Returns how much address space an accepted payload may use.
size_t most_of_a_taken(const CaseSession& session) {
  const etb_delegate_info& info = session.info();
  const uint64_t announced =
      std::min(info.resident_bytes, kMaxAnnounced) + std::min(info.context_bytes, kMaxAnnounced);
  return std::max<size_t>(kMaxAllocationOfATaken, std::min(announced, kMaxAnnounced) + kMaxAllocation);
}

}  // namespace

Resigner::Resigner(CheckContext& context, Subject& subject) {
  if ((subject.library().table().caps & ETB_PLUGIN_CAP_GET_EXTENSION) == 0) return;
  subject_ = context.open(bare());
  if (subject_)
    table_ = static_cast<const etb_resign_table*>(subject_->table().get_extension(
        subject_->handle(), ETB_OBJECT_PLUGIN, subject_->handle(), ETB_EXT_RESIGN));
}

std::optional<std::vector<std::byte>> Resigner::resign(std::span<const std::byte> bytes) const {
  std::vector<std::byte> out;
  const etb_blob_writer writer = {ETB_INIT_SIZE(etb_blob_writer), 0, &out,
                                  [](void* ctx, uint64_t offset, const void* data, uint64_t nbytes) {
                                    auto& to = *static_cast<std::vector<std::byte>*>(ctx);
                                    if (offset > kMaxAllocation || nbytes > kMaxAllocation)
                                      return etb_status{ETB_OUT_OF_RESOURCES};
                                    to.resize(std::max<size_t>(to.size(), offset + nbytes));
                                    if (nbytes != 0) std::memcpy(to.data() + offset, data, nbytes);
                                    return etb_status{ETB_OK};
                                  }};
  etb_error error = ETB_ERROR_INIT;
  const etb_status status = table_->resign(subject_->handle(), {bytes.data(), bytes.size()}, &writer, &error);
  return status == ETB_OK ? std::optional(std::move(out)) : std::nullopt;
}

void Offering::operator()(std::vector<std::byte> bytes, const std::string& damage) {
  std::optional<std::vector<std::byte>> mended;
  if (resigner_.exists()) mended = resigner_.resign(bytes);
  if (mended && *mended != bytes) offer(std::move(*mended), damage + ", digest mended");
  offer(std::move(bytes), damage);
}

void Offering::offer(std::vector<std::byte> bytes, const std::string& damage) {
  const size_t before = peak_address_bytes();
  Payload payload = item_.payload;
  payload.bytes = std::move(bytes);
  context_.progress().at(damage.c_str());
  context_.progress().restart();
  const Result<std::unique_ptr<CaseSession>> session =
      CaseSession::make(subject_, item_.built, std::move(payload));
  if (!session) expect_status(session.error().code, damage);
  if (session) (void)(*session)->run(item_.built.runs[0]);
  const size_t most = session ? most_of_a_taken(**session) : kMaxAllocation;
  if (const size_t grown = peak_address_bytes() - before; !has_sanitizer() && grown > most)
    context_.fail(fmt::format("{}: create {} it and used {} MiB more address space, expected at most {}",
                              damage, session ? "accepts" : "rejects", grown >> 20, most >> 20));
  context_.take_violations(subject_);
}

// Create names these statuses for payloads. A damaged one may ask for other named data, for more memory, or for what the
// device does not have. INTERNAL is also what the suite reports about a delegate that does not fit the case. One finding of
// a check is enough.
void Offering::expect_status(Code code, const std::string& damage) {
  constexpr Code kCodes[] = {Code::INCOMPATIBLE,  Code::INVALID_DATA, Code::NOT_FOUND,
                             Code::OUT_OF_MEMORY, Code::UNAVAILABLE,  Code::INTERNAL};
  if (std::find(std::begin(kCodes), std::end(kCodes), code) != std::end(kCodes)) return;
  if (!context_.outcome().findings.empty()) return;
  context_.fail(
      fmt::format("{}: create returns {} ({}), expected ETB_INCOMPATIBLE, ETB_INVALID_DATA, "
                  "ETB_NOT_FOUND, ETB_OUT_OF_MEMORY or ETB_UNAVAILABLE",
                  damage, static_cast<etb_status>(code), to_text(code)));
}

}  // namespace etb::conformance
