// SPDX-License-Identifier: Apache-2.0
#include "host/registry/system_library.hpp"

#include <glob.h>

#include <algorithm>
#include <sstream>

#include "host/registry/code_file.hpp"
#include "host/registry/diagnostic.hpp"
#include "host/registry/reason.hpp"

namespace etb::host {
namespace {

constexpr uint64_t kMaxConfBytes = 1 << 20;
constexpr int kMaxIncludeDepth = 4;

// The build sets ETB_MULTIARCH: "x86_64-linux-gnu", or "" where the system has no such folders.
const char* const kUsualFolders[] = {
    "/lib/" ETB_MULTIARCH, "/usr/lib/" ETB_MULTIARCH, "/lib64", "/usr/lib64", "/lib", "/usr/lib"};

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// Reads a file of ld.so.conf(5). Skips files that other users may write; the search is then only shorter.
class LoaderConf {
 public:
  explicit LoaderConf(const TrustPolicy& trust) : trust_(trust) {}

  void read(const std::string& path, int depth = 0) {
    const Result<SystemFile> file = open_system_file(path, trust_);
    if (!file || depth > kMaxIncludeDepth) return;
    const Result<std::string> text = read_text_file(file->file.get(), kMaxConfBytes);
    if (!text) return;
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) read_line(line.substr(0, line.find('#')), path, depth);
  }

  std::vector<std::string> folders;

 private:
  void read_line(std::string line, const std::string& conf, int depth) {
    std::replace_if(
        line.begin(), line.end(), [](char c) { return c == ',' || c == ':' || c == '\t'; }, ' ');
    std::istringstream words(line);
    bool is_include = false;
    for (std::string word; words >> word;) {
      if (word == "hwcap") return;
      if (is_include)
        include(word[0] == '/' ? word : parent_of(conf) + '/' + word, depth);
      else if (word == "include")
        is_include = true;
      else if (word[0] == '/')
        folders.push_back(word.substr(0, word.find('=')));
    }
  }

  void include(const std::string& pattern, int depth) {
    glob_t found{};
    if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
      for (size_t i = 0; i < found.gl_pathc; ++i) read(found.gl_pathv[i], depth + 1);
    ::globfree(&found);
  }

  const TrustPolicy& trust_;
};

}  // namespace

std::vector<std::string> system_folders(const TrustPolicy& trust, const std::string& conf) {
  LoaderConf reader(trust);
  reader.read(conf);
  reader.folders.insert(reader.folders.end(), std::begin(kUsualFolders), std::end(kUsualFolders));
  return reader.folders;
}

Result<SystemLibrary> find_system_library(const std::string& name, const std::string& arch,
                                          const std::vector<std::string>& folders, const TrustPolicy& trust) {
  for (const std::string& folder : folders) {
    const Result<SystemFile> file = open_system_file(folder + '/' + name, trust);
    if (!file && file.error().code == Code::NOT_FOUND) continue;
    if (!file) return refuse(Reason::kLibraryUntrusted, file.error().message);
    ETB_ASSIGN(const FileState state, file_state(file->file.get()));
    const FileBytes bytes(file->file.get(), state.nbytes);
    const Result<ElfFile> elf = read_elf(bytes);
    if (!elf || elf->arch != arch) continue;  // a linker script, or a library for another architecture
    Result<ElfDynamic> dynamic = read_elf_dynamic(bytes, *elf);
    if (!dynamic) return refuse(Reason::kLibraryFormat, file->path + ": " + dynamic.error().message);
    if (dynamic->soname != name)
      return refuse(Reason::kLibrarySoname,
                    file->path + ": SONAME " + in_quotes(dynamic->soname) + ", expected '" + name + "'");
    ETB_TRY(verify_needed_names(*dynamic, file->path));
    return SystemLibrary{file->path, std::move(*dynamic)};
  }
  return make_error(Code::NOT_FOUND, name + ": in none of the system's folders");
}

std::vector<std::string> run_path_folders(const SystemLibrary& library) {
  std::vector<std::string> out;
  for (const std::string& path : library.dynamic.run_paths) {
    if (path == "$ORIGIN" || path == "${ORIGIN}")
      out.push_back(parent_of(library.path));
    else if (!path.empty() && path[0] == '/' && path.find('$') == std::string::npos)
      out.push_back(path);
  }
  return out;
}

}  // namespace etb::host
