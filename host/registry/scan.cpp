// SPDX-License-Identifier: Apache-2.0
#include "host/registry/scan.hpp"

#include <algorithm>
#include <map>

#include "host/registry/json_document.hpp"
#include "host/registry/manifest_overlay.hpp"
#include "host/registry/needs.hpp"
#include "host/registry/open_library.hpp"

namespace etb::host {
namespace {

constexpr size_t kMaxManifestsPerFolder = 4096;
constexpr int32_t kMaxUserPriority = 50;

struct FoundOverlay {
  std::string path;
  Tier tier = Tier::kApplication;
  std::optional<ManifestOverlay> overlay;  // nullopt: invalid
  std::vector<Diagnostic> diagnostics;
  bool is_used = false;
};

bool ends_with(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

class Scan {
 public:
  explicit Scan(const ScanOptions& options) : options_(options), filter_(make_id_filter(options.search)) {}

  ScanResult run() {
    const SearchPath path = make_search_path(options_.search);
    out_.warnings = path.ignored;
    for (const SearchFolder& place : path.places) search(place);
    note_shadows();
    for (const auto& [id, overlays] : overlays_)
      for (const FoundOverlay& overlay : overlays)
        if (!overlay.is_used)
          out_.warnings.push_back(overlay.path + ": there is no plugin of this id in its folder or after it");
    return std::move(out_);
  }

 private:
  void search(const SearchFolder& place) {
    FolderReport& report = out_.places.emplace_back();
    report.place = place;
    const Result<FileDescriptor> folder = open_trusted_directory(place.path, options_.trust);
    const Result<std::vector<std::string>> names =
        folder ? list_directory(folder->get(), ".json", kMaxManifestsPerFolder)
               : tl::make_unexpected(folder.error());
    if (!names) {
      report.state = names.error().code == Code::NOT_FOUND ? FolderState::kMissing : FolderState::kRefused;
      if (report.state == FolderState::kRefused) report.reason = names.error().message;
      return;
    }
    if (is_repeated(folder->get(), report)) return;
    // Reads overlays first, because they apply to the manifests in the same folder.
    for (const std::string& name : *names)
      if (ends_with(name, kOverlaySuffix)) read_overlay(folder->get(), place, name);
    for (const std::string& name : *names) {
      if (ends_with(name, kOverlaySuffix)) continue;
      ++report.manifest_count;
      out_.entries.push_back(read_entry(folder->get(), place, name));
    }
  }

  // A folder that was searched under another name would only shadow its own plugins.
  bool is_repeated(int folder, FolderReport& report) {
    const Result<FileState> state = file_state(folder);
    if (!state) return false;
    const auto [it, is_new] = folders_.emplace(std::pair(state->device, state->inode), report.place.path);
    if (is_new) return false;
    report.state = FolderState::kRepeated;
    report.reason = "the same folder as " + it->second;
    return true;
  }

  void read_overlay(int folder, const SearchFolder& place, const std::string& name) {
    const std::string id = name.substr(0, name.size() - kOverlaySuffix.size());
    FoundOverlay& found = overlays_[id].emplace_back();
    found.path = place.path + '/' + name;
    found.tier = place.tier;
    const Result<std::string> text = read_file(folder, name);
    if (!text) {
      found.diagnostics.push_back({"$", text.error().message});
      return;
    }
    OverlayReading reading = parse_overlay(*text);
    found.overlay = std::move(reading.overlay);
    found.diagnostics = std::move(reading.diagnostics);
  }

  Result<std::string> read_file(int folder, const std::string& name) const {
    ETB_ASSIGN(const FileDescriptor fd, open_trusted_file(folder, name, options_.trust));
    return read_text_file(fd.get(), kJsonMaxBytes);
  }

  PluginEntry read_entry(int folder, const SearchFolder& place, const std::string& name) {
    PluginEntry entry;
    entry.tier = place.tier;
    entry.directory = place.path;
    entry.manifest_path = place.path + '/' + name;
    if (Status status = examine(folder, name, entry); !status) entry.problem = std::move(status).error();
    return entry;
  }

  Status examine(int folder, const std::string& name, PluginEntry& entry) {
    ETB_TRY(read_manifest(folder, name, entry));
    ETB_TRY(apply_overlays(entry));
    if (const std::string refusal = filter_.refusal(entry.id, entry.manifest->aliases); !refusal.empty())
      return refuse(Reason::kFiltered, refusal);
    ETB_TRY(verify_abi(entry.manifest->abi));
    ETB_TRY(choose(entry));
    return examine_library(folder, entry);
  }

  Status read_manifest(int folder, const std::string& name, PluginEntry& entry) const {
    const Result<std::string> text = read_file(folder, name);
    if (!text) {
      const bool is_trust = text.error().code == Code::PERMISSION_DENIED;
      return refuse(is_trust ? Reason::kManifestUntrusted : Reason::kManifestUnreadable,
                    text.error().message);
    }
    ManifestReading reading = parse_manifest(*text);
    entry.id = std::move(reading.id);
    entry.diagnostics = std::move(reading.diagnostics);
    if (!reading.manifest) return refuse(Reason::kManifestInvalid, first_of(entry.diagnostics));
    entry.manifest = std::move(reading.manifest);
    for (const std::string& key : entry.manifest->unknown_keys)
      entry.warnings.push_back("manifest: unknown key " + key);
    return {};
  }

  static std::string first_of(const std::vector<Diagnostic>& diagnostics) {
    const size_t more = diagnostics.size() - 1;
    return to_text(diagnostics[0]) + (more == 0 ? "" : " (and " + std::to_string(more) + " more)");
  }

  // Every overlay may disable the plugin, so that no overlay hides the `disable` of another.
  // Priority and pins come from the first overlay that sets them. Those of the system's plugins come
  // only from overlays of the system.
  Status apply_overlays(PluginEntry& entry) {
    entry.priority = entry.manifest->priority;
    const auto it = overlays_.find(entry.id);
    bool is_steered = false;
    if (it != overlays_.end())
      for (FoundOverlay& found : it->second) ETB_TRY(apply_overlay(found, entry, is_steered));
    if (!is_system_tier(entry.tier) && entry.priority > kMaxUserPriority) {
      entry.warnings.push_back("priority " + std::to_string(entry.priority) +
                               " counts as 50 outside the system's folders");
      entry.priority = kMaxUserPriority;
    }
    return {};
  }

  static Status apply_overlay(FoundOverlay& found, PluginEntry& entry, bool& is_steered) {
    found.is_used = true;
    if (entry.overlay_path.empty()) entry.overlay_path = found.path;
    if (!found.overlay) {
      entry.overlay_path = found.path;
      entry.diagnostics = found.diagnostics;
      return refuse(Reason::kOverlayInvalid, found.path + ": " + first_of(found.diagnostics));
    }
    if (found.overlay->disable) {
      entry.overlay_path = found.path;
      return refuse(Reason::kDisabled, "disabled by " + found.path);
    }
    if (is_steered || (!found.overlay->priority && found.overlay->pin.empty())) return {};
    if (is_system_tier(entry.tier) && !is_system_tier(found.tier)) {
      entry.warnings.push_back(found.path +
                               ": may disable a plugin of the system's folders, not pin or prioritise it");
      return {};
    }
    is_steered = true;
    entry.overlay_path = found.path;
    entry.priority = found.overlay->priority.value_or(entry.priority);
    entry.pins = found.overlay->pin;
    return {};
  }

  Status choose(PluginEntry& entry) const {
    LibraryChoice choice = choose_library(entry.manifest->libraries, options_.platform);
    entry.library_reasons = std::move(choice.reasons);
    if (choice.entry == nullptr) {
      std::string text;
      for (const std::string& reason : entry.library_reasons) text += (text.empty() ? "" : "; ") + reason;
      return refuse(Reason::kPlatform, text);
    }
    entry.library = *choice.entry;
    entry.library_path = entry.directory + '/' + choice.entry->path;
    entry.digest = choice.entry->sha256 ? DigestState::kUnchecked : DigestState::kNone;
    if (entry.manifest->certificate.empty()) return {};
    entry.certificate =
        options_.judge_certificate ? options_.judge_certificate(entry) : CertificateState::kUnchecked;
    return {};
  }

  Status examine_library(int folder, PluginEntry& entry) const {
    if (options_.search.secure && !entry.library->sha256)
      return refuse(Reason::kNoDigest, "libraries: no sha256 for " + entry.library->path);
    ETB_ASSIGN(OpenLibrary library,
               open_library(folder, *entry.manifest, *entry.library, options_.trust, SealPolicy::kNever));
    const CodeFile& code = library.code;
    ETB_TRY(verify_needs(entry.manifest->needs, options_.platform, code.folder.get(), options_.trust));
    entry.ident = std::move(library.ident);
    entry.needed = code.dynamic.needed;
    if (code.dynamic.export_count > 1)
      entry.warnings.push_back("exports " + std::to_string(code.dynamic.export_count) +
                               " symbols, expected only " ETB_PLUGIN_QUERY_SYMBOL);
    warn_about_flags(entry);
    if (!options_.check_digests || !entry.library->sha256) return {};
    ETB_ASSIGN(const Sha256 digest, sha256_of(code.bytes()));
    Status status = compare_digests(entry.library->path, digest, *entry.library->sha256);
    entry.digest = status ? DigestState::kMatches : DigestState::kDiffers;
    return status;
  }

  static void warn_about_flags(PluginEntry& entry) {
    const auto warn = [&](const char* name, bool manifest, bool note) {
      if (manifest != note)
        entry.warnings.push_back(std::string("flag ") + name + ": " +
                                 (manifest ? "set in the manifest" : "not set in the manifest") + ", " +
                                 (note ? "set in the library" : "not set in the library"));
    };
    warn("unloadable", entry.manifest->flags.unloadable, (entry.ident->flags & ETB_PLUGIN_UNLOADABLE) != 0);
    warn("own_threads", entry.manifest->flags.own_threads,
         (entry.ident->flags & ETB_PLUGIN_OWN_THREADS) != 0);
  }

  // The first plugin of an id wins even when it would not load. Otherwise a broken override would go
  // unnoticed. A warning names a usable plugin that it hides.
  void note_shadows() {
    std::map<std::string, std::vector<PluginEntry*>> by_id;
    for (PluginEntry& entry : out_.entries)
      if (!entry.id.empty()) by_id[entry.id].push_back(&entry);
    for (auto& [id, entries] : by_id) {
      if (entries.size() < 2) continue;
      PluginEntry* winner = entries.front();
      if (options_.no_shadow && !is_system_tier(winner->tier)) {
        const auto certified = std::find_if(entries.begin(), entries.end(), [](const PluginEntry* entry) {
          return is_system_tier(entry->tier) && entry->certificate == CertificateState::kHeld;
        });
        if (certified != entries.end()) winner = *certified;
      }
      for (PluginEntry* entry : entries) shadow(*entry, *winner, is_before(entry, winner));
    }
  }

  static bool is_before(const PluginEntry* a, const PluginEntry* b) { return a < b; }

  void shadow(PluginEntry& entry, const PluginEntry& winner, bool was_first) {
    if (&entry == &winner || entry.problem) return;
    entry.problem =
        (was_first ? refuse(Reason::kNoShadow, "may not shadow the certified " + place_of(winner))
                   : refuse(Reason::kShadowed, "shadowed by " + place_of(winner) + reason_of(winner)))
            .value();
    if (winner.problem)
      out_.warnings.push_back(place_of(winner) + ": hides " + place_of(entry) +
                              ", a plugin of the same id '" + entry.id +
                              "' that would load, and is refused itself: " + winner.problem->message);
  }

  static std::string reason_of(const PluginEntry& winner) {
    return winner.problem ? ", which is refused itself: " + winner.problem->reason : "";
  }

  const ScanOptions& options_;
  const IdFilter filter_;
  std::map<std::string, std::vector<FoundOverlay>> overlays_;  // in search order
  std::map<std::pair<dev_t, ino_t>, std::string> folders_;
  ScanResult out_;
};

}  // namespace

const char* to_text(FolderState state) {
  switch (state) {
    case FolderState::kSearched:
      return "searched";
    case FolderState::kMissing:
      return "missing";
    case FolderState::kRefused:
      return "refused";
    case FolderState::kRepeated:
      return "repeated";
  }
  return "unknown";
}

std::string to_text(const FolderReport& report) {
  std::string where = std::string(to_text(report.place.tier)) + ' ' + report.place.path;
  switch (report.state) {
    case FolderState::kSearched:
      return where + ": " + std::to_string(report.manifest_count) +
             (report.manifest_count == 1 ? " manifest" : " manifests");
    case FolderState::kMissing:
      return where + ": not there";
    case FolderState::kRefused:
      return where + ": refused, " + report.reason;
    case FolderState::kRepeated:
      return where + ": " + report.reason;
  }
  return where;
}

ScanResult scan_plugins(const ScanOptions& options) { return Scan(options).run(); }

}  // namespace etb::host
