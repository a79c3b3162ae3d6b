// SPDX-License-Identifier: Apache-2.0
#include "host/registry/needed_libraries.hpp"

#include <algorithm>
#include <optional>

#include "host/registry/process_objects.hpp"
#include "host/registry/reason.hpp"

namespace etb::host {
namespace {

constexpr size_t kMaxLibraries = 256;
constexpr int kMaxDepth = 32;

constexpr const char* kConflictHint = "; hint: give a bundled library a unique name, or link it statically";

// Returns the first object that the loader would choose for a needed name.
std::optional<ProcessObject> find_object(const std::string& name) {
  std::vector<ProcessObject> objects = process_objects();
  const auto it = std::find_if(objects.begin(), objects.end(),
                               [&](const ProcessObject& object) { return object.soname == name; });
  return it == objects.end() ? std::nullopt : std::optional(std::move(*it));
}

tl::unexpected<Error> with_needs(Error error) {
  error.message.insert(0, "needs ");
  return tl::make_unexpected(std::move(error));
}

// True if the object was mapped from this file. A sealed copy never matches, because it must
// be compared by its bytes.
bool is_mapped_from(const ProcessObject& object, const LibrarySource& source) {
  const std::optional<MappedFile> mapped = Library::mapped_file(object.dynamic);
  return mapped && !source.is_sealed && mapped->state.device == source.state.device &&
         mapped->state.inode == source.state.inode;
}

Result<bool> has_same_bytes(const CodeFile& file, int other) {
  ETB_ASSIGN(const FileState state, file_state(other));
  if (state.nbytes != file.nbytes) return false;
  ETB_ASSIGN(const Sha256 ours, sha256_of(file.bytes()));
  ETB_ASSIGN(const Sha256 theirs, sha256_of(FileBytes(other, state.nbytes)));
  return ours == theirs;
}

tl::unexpected<Error> conflict(const std::string& name, const std::string& expected,
                               const std::string& path) {
  return refuse(Reason::kLibraryConflict, "needs " + name + " " + expected +
                                              ", but this process already has another one, from " + path +
                                              kConflictHint);
}

}  // namespace

Status NeededLibraries::bind() { return bind_all({code_.source.name, code_.dynamic.needed}); }

Status NeededLibraries::bind_all(const Requester& from) {
  if (from.depth > kMaxDepth || origins_.size() > kMaxLibraries)
    return refuse(Reason::kLibraryNeeded, from.name + ": needs more than " + std::to_string(kMaxLibraries) +
                                              " libraries, or more than " + std::to_string(kMaxDepth) +
                                              " one through the other");
  for (const std::string& name : from.needed) ETB_TRY(bind_one(name, from));
  return {};
}

Status NeededLibraries::bind_one(const std::string& name, const Requester& from) {
  const auto [it, is_new] = origins_.emplace(name, Origin::kPending);
  if (!is_new && it->second == Origin::kPending)
    return refuse(Reason::kLibraryNeeded, from.name + " and " + name + " need each other");
  if (it->second == Origin::kBundle)
    return from.is_system ? conflict(name, "of the system for " + from.name, "beside the code that is loaded")
                          : Status();
  // A bundled library also counts when a library of the system needed the name before.
  if (!from.is_system) {
    Result<CodeFile> beside = open_code_file(code_.folder.get(), name, policy_.trust, policy_.seal);
    if (beside) return bind_bundled(name, std::move(*beside), from);
    if (beside.error().code != Code::NOT_FOUND) return with_needs(std::move(beside).error());
  }
  if (!is_new) return {};
  ETB_TRY(bind_system(name, from));
  origins_[name] = Origin::kSystem;
  return {};
}

Status NeededLibraries::bind_bundled(const std::string& name, CodeFile file, const Requester& from) {
  origins_[name] = Origin::kPending;
  if (Status status = verify_content(name, file); !status) return with_needs(std::move(status).error());
  ETB_TRY(bind_all({name, file.dynamic.needed, false, {}, from.depth + 1}));
  const std::optional<ProcessObject> object = find_object(name);
  if (object && !is_mapped_from(*object, file.source)) {
    ETB_ASSIGN(Library shared, share(name, file, *object));
    bundled_.push_back(std::move(shared));
  } else {
    ETB_ASSIGN(Library loaded, Library::load(std::move(file.file), file.source));
    bundled_.push_back(std::move(loaded));
  }
  const void* const dynamic = bundled_.back().dynamic();
  // A library with the same bytes as one of the system's in this process: libraries of the
  // system may need it, too.
  origins_[name] = Library::mapped_file(dynamic) ? Origin::kBundle : Origin::kSystem;
  return verify_choice(name, dynamic);
}

// Checks a bundled library completely before any of its code runs.
Status NeededLibraries::verify_content(const std::string& name, CodeFile& file) const {
  const std::optional<Sha256> digest = digests_.bundled ? digests_.bundled(name) : std::nullopt;
  if (policy_.secure && !digest)
    return refuse(Reason::kNoDigest, name + ": secure mode loads only code with a sha256");
  ETB_TRY(verify_code_digest(name, file, digest, policy_));
  ETB_TRY(read_code_dynamic(file));
  if (!file.dynamic.soname.empty()) return {};
  return refuse(Reason::kLibrarySoname,
                name + ": no SONAME, expected '" + name + "'; hint: link it with -Wl,-soname," + name);
}

// Returns the library that the process has under this name, if it has the same bytes.
Result<Library> NeededLibraries::share(const std::string& name, const CodeFile& file,
                                       const ProcessObject& object) const {
  if (const std::optional<MappedFile> mapped = Library::mapped_file(object.dynamic)) {
    ETB_ASSIGN(const bool is_same, has_same_bytes(file, mapped->fd));
    if (!is_same) return conflict(name, "from beside " + code_.source.name, mapped->path);
    return std::move(*Library::share(object.dynamic));
  }
  // An object that the program itself or the system has loaded.
  const Result<SystemFile> other = open_system_file(object.path, policy_.trust);
  if (!other) return conflict(name, "from beside " + code_.source.name, object.path);
  ETB_ASSIGN(const bool is_same, has_same_bytes(file, other->file.get()));
  if (!is_same) return conflict(name, "from beside " + code_.source.name, object.path);
  return Library::hold(object);
}

Status NeededLibraries::bind_system(const std::string& name, const Requester& from) {
  const std::optional<ProcessObject> object = find_object(name);
  if (!object) return load_system(name, from);
  if (const std::optional<MappedFile> mapped = Library::mapped_file(object->dynamic))
    return conflict(name, "of the system", mapped->path);
  ETB_ASSIGN(Library held, Library::hold(*object));
  system_.push_back(std::move(held));
  return {};
}

Status NeededLibraries::load_system(const std::string& name, const Requester& from) {
  std::vector<std::string> folders = from.run_path;
  const std::vector<std::string> usual = system_folders(policy_.trust);
  folders.insert(folders.end(), usual.begin(), usual.end());
  Result<SystemLibrary> found = find_system_library(name, code_.elf.arch, folders, policy_.trust);
  if (!found && found.error().code == Code::NOT_FOUND)
    return refuse(Reason::kLibraryNeeded,
                  from.name + ": needs " + name +
                      ", which is neither beside it nor in a system folder; hint: put it beside the "
                      "library, or its folder into /etc/ld.so.conf");
  if (!found) return with_needs(std::move(found).error());
  ETB_TRY(bind_all({name, found->dynamic.needed, true, run_path_folders(*found), from.depth + 1}));
  ETB_ASSIGN(Library loaded, Library::load_path(found->path));
  system_.push_back(std::move(loaded));
  return verify_choice(name, system_.back().dynamic());
}

// The loader also knows objects by other names, so this asks the loader itself.
Status NeededLibraries::verify_choice(const std::string& name, const void* dynamic) {
  const std::optional<ProcessObject> object = find_object(name);
  if (!object || object->dynamic != dynamic)
    return refuse(Reason::kLibraryConflict, name + ": the loader would take another library of that name");
  ETB_ASSIGN(const Library held, Library::hold(*object));
  return {};
}

}  // namespace etb::host
