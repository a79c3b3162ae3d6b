// SPDX-License-Identifier: Apache-2.0
// blob: the status of create for a payload of a newer version, where a digest or a strict reader hides the version's offset.
#include <fmt/format.h>

#include "conformance/checks/groups.hpp"
#include "conformance/checks/offering.hpp"
#include "conformance/checks/version_bytes.hpp"

namespace etb::conformance {
namespace {

// The answer of create about a payload with one changed byte.
struct Answer {
  Code code = Code::OK;
  std::string text;
  bool has_right_digest = false;  // resign mended it

  // True if the error speaks of a version.
  bool names_version() const {
    std::string lower = text;
    for (char& c : lower)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return lower.find("version") != std::string::npos;
  }
};

class Questions {
 public:
  Questions(CheckContext& context, ReadyCase& ready, const Resigner& resigner)
      : context_(context), ready_(ready), resigner_(resigner) {}

  const std::vector<std::byte>& good() const { return ready_.item.payload.bytes; }

  Answer ask(size_t at, std::byte byte) const {
    Payload payload = ready_.item.payload;
    payload.bytes[at] = byte;
    context_.progress().at(fmt::format("byte {} is {:#x}", at, static_cast<uint32_t>(byte)).c_str());
    context_.progress().restart();
    Answer out;
    if (resigner_.exists())
      if (auto mended = resigner_.resign(payload.bytes)) {
        payload.bytes = std::move(*mended);
        out.has_right_digest = true;
      }
    const auto made = CaseSession::make(ready_.subject, ready_.item.built, std::move(payload));
    if (made) return out;
    out.code = made.error().code;
    out.text = made.error().message;
    return out;
  }

  // True if create accepts another change near this byte, so that no digest is over it.
  bool has_accepted_neighbour(size_t at) const {
    constexpr size_t kNear = 24;
    for (size_t other = at < kNear ? 0 : at - kNear; other < std::min(good().size(), at + kNear); ++other)
      if (other != at && ask(other, good()[other] ^ std::byte{1}).code == Code::OK) return true;
    return false;
  }

 private:
  CheckContext& context_;
  ReadyCase& ready_;
  const Resigner& resigner_;
};

// Returns how create shows that it looked at the version in this byte, or that nothing but the version can be its reason. ""
// if it may have refused the payload for a digest.
std::string evidence(const Questions& questions, size_t at, const Answer& newer) {
  if (newer.has_right_digest) return "its digest is right";
  const size_t last = questions.good().size() - 1;
  if (newer.names_version() && at != last &&
      !questions.ask(last, questions.good()[last] ^ std::byte{1}).names_version())
    return "the error names the version";
  return questions.has_accepted_neighbour(at) ? "no digest is over this byte" : "";
}

// One of the bytes that have the artifact's format_version makes the payload one of a newer version.
void newer_versions_have_the_status(CheckContext& context) {
  const std::optional<VersionRange> versions = payload_versions_of(context.spec());
  if (!versions) return context.skip("the manifest names no payload_versions, or too many to test");
  context.each_session(bare(), 3, [&](ReadyCase& ready) {
    const Resigner resigner(context, ready.subject);
    const Questions questions(context, ready, resigner);
    const std::vector<std::byte>& good = questions.good();
    std::string finding;
    for (const size_t at : version_bytes(good, *versions)) {
      const uint32_t base = base_of(good[at]), version = versions->second + 1;
      if (static_cast<uint32_t>(good[at]) - base != ready.item.payload.format_version) continue;
      const Answer newer = questions.ask(at, static_cast<std::byte>(base + version));
      if (newer.code == Code::INCOMPATIBLE) return;
      if (newer.code == Code::OK || !finding.empty()) continue;
      if (const std::string why = evidence(questions, at, newer); !why.empty())
        finding = fmt::format(
            "{}: no byte with the artifact's format_version {} makes the payload one of version {} that is "
            "refused as ETB_INCOMPATIBLE; with another byte {}, create returns {} ({}), although {}",
            ready.name(), ready.item.payload.format_version, version, at, static_cast<etb_status>(newer.code),
            newer.text, why);
    }
    if (!finding.empty()) context.fail(finding);
  });
}

constexpr Check kChecks[] = {
    {"blob.newer-versions-have-the-status",
     "Create refuses a payload of a newer version as ETB_INCOMPATIBLE, also where a digest is over it.", "",
     newer_versions_have_the_status},
};

}  // namespace

std::span<const Check> newer_version_checks() { return kChecks; }

}  // namespace etb::conformance
