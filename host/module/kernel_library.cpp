// SPDX-License-Identifier: Apache-2.0
#include "host/module/kernel_library.hpp"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

#include "api/format/hex.hpp"
#include "host/registry/load_code.hpp"
#include "host/registry/reason.hpp"

namespace etb::host {
namespace {

constexpr std::string_view kDigestMark = "@sha256:";

struct Reference {
  std::string path;
  std::optional<Sha256> sha256;
};

Result<Reference> parse_reference(const std::string& text) {
  const size_t at = text.rfind(kDigestMark);
  if (at == std::string::npos) return Reference{text, std::nullopt};
  const std::string digest = text.substr(at + kDigestMark.size());
  Reference out{text.substr(0, at), format::parse_hex<32>(digest)};
  if (!out.sha256)
    return make_error(Code::INVALID_ARGUMENT, "kernel library '" + text + "': sha256 '" + digest +
                                                  "', expected 64 lower-case hexadecimal digits");
  return out;
}

Result<CodeFile> open_file(const std::string& text, const CodePolicy& policy) {
  std::error_code failed;
  const std::filesystem::path path = std::filesystem::absolute(text, failed).lexically_normal();
  if (failed) return refuse(Reason::kLibraryUnreadable, "the current folder: " + failed.message());
  const Result<FileDescriptor> folder = open_trusted_directory(path.parent_path().string(), policy.trust);
  if (!folder) {
    const bool is_missing = folder.error().code == Code::NOT_FOUND;
    return refuse(is_missing ? Reason::kLibraryMissing : Reason::kLibraryUntrusted, folder.error().message);
  }
  ETB_ASSIGN(CodeFile file,
             open_code_file(folder->get(), path.filename().string(), policy.trust, policy.seal));
  ETB_TRY(read_code_dynamic(file));
  return file;
}

Result<LoadedCode> load(const Reference& from, bool secure) {
  const CodePolicy policy = make_code_policy(secure);
  if (policy.secure && !from.sha256)
    return refuse(Reason::kNoDigest, "secure mode loads only code with a sha256, expected '" + from.path +
                                         std::string(kDigestMark) + "HEX'");
  ETB_ASSIGN(CodeFile file, open_file(from.path, policy));
  return load_code(std::move(file), policy, {from.sha256});
}

}  // namespace

// The loaded library. Defined here, so that the header does not depend on how code is loaded.
struct KernelLibrary::Mapped {
  LoadedCode code;
};

KernelLibrary::KernelLibrary(std::unique_ptr<Mapped> mapped) noexcept : mapped_(std::move(mapped)) {}
KernelLibrary::~KernelLibrary() = default;

Result<std::shared_ptr<const KernelLibrary>> KernelLibrary::open(const std::string& text, bool secure) {
  ETB_ASSIGN(const Reference from, parse_reference(text));
  const std::string where = "kernel library '" + from.path + "'";
  if (from.path.find('/') == std::string::npos)
    return make_error(Code::INVALID_ARGUMENT,
                      where + ": a path with a folder is expected, nothing is searched");
  Result<LoadedCode> code = load(from, secure);
  if (!code) return tl::make_unexpected(with_context(std::move(code).error(), where));
  const std::shared_ptr<KernelLibrary> library(
      new KernelLibrary(std::make_unique<Mapped>(Mapped{std::move(*code)})));
  using Query = const KernelLibraryTable* (*)();
  const auto query =
      reinterpret_cast<Query>(library->mapped_->code.library.find_symbol("etb_kernel_library"));
  if (query == nullptr) return make_error(Code::INVALID_DATA, where + ": exports no etb_kernel_library");
  const KernelLibraryTable& table = *query();
  if (table.layout != kKernelLayout)
    return make_error(Code::INCOMPATIBLE, where + ": built from other headers than this program");
  library->rows_ = {table.rows, static_cast<size_t>(table.row_count)};
  return library;
}

}  // namespace etb::host
