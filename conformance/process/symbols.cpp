// SPDX-License-Identifier: Apache-2.0
#include "conformance/process/symbols.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <vector>

namespace etb::conformance {
namespace {

struct Mapping {
  uint64_t begin = 0, end = 0, offset = 0;
  std::string path;
};

struct Function {
  std::string name;
  uint64_t offset = 0;  // position of the address in it
};

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                    std::free);
  return text ? text.get() : name;
}

// The parts of an ELF file that name addresses. An unreadable or damaged file has none.
class ElfSymbols {
 public:
  explicit ElfSymbols(const std::string& path) : in_(path, std::ios::binary) {
    if (!read(0, head_) || std::memcmp(head_.e_ident, ELFMAG, SELFMAG) != 0 ||
        head_.e_ident[EI_CLASS] != ELFCLASS64 || head_.e_phentsize != sizeof(Elf64_Phdr) ||
        head_.e_shentsize != sizeof(Elf64_Shdr))
      return;
    for (uint32_t i = 0; i < head_.e_phnum; ++i) {
      Elf64_Phdr& program = programs_.emplace_back();
      if (!read(head_.e_phoff + i * sizeof(program), program)) programs_.pop_back();
    }
    if (!read_table(SHT_SYMTAB)) (void)read_table(SHT_DYNSYM);
  }

  // Returns the address as the file's tables have it.
  uint64_t virtual_address(uint64_t file_offset) const {
    for (const Elf64_Phdr& program : programs_)
      if (program.p_type == PT_LOAD && file_offset >= program.p_offset &&
          file_offset < program.p_offset + program.p_filesz)
        return file_offset - program.p_offset + program.p_vaddr;
    return file_offset;
  }

  std::optional<Function> find(uint64_t address) const {
    for (const Elf64_Sym& symbol : symbols_)
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && address >= symbol.st_value &&
          address < symbol.st_value + symbol.st_size && symbol.st_name < names_.size())
        return Function{demangled(names_.data() + symbol.st_name), address - symbol.st_value};
    return std::nullopt;
  }

 private:
  template <class T>
  bool read(uint64_t offset, T& out) {
    in_.clear();
    in_.seekg(static_cast<std::streamoff>(offset));
    return static_cast<bool>(in_.read(reinterpret_cast<char*>(&out), sizeof(out)));
  }

  bool read_table(uint32_t type) {
    constexpr uint64_t kMostBytes = uint64_t{256} << 20;
    for (uint32_t i = 0; i < head_.e_shnum; ++i) {
      Elf64_Shdr table{}, names{};
      if (!read(head_.e_shoff + i * sizeof(table), table) || table.sh_type != type ||
          table.sh_entsize != sizeof(Elf64_Sym) || table.sh_size > kMostBytes ||
          !read(head_.e_shoff + table.sh_link * sizeof(names), names) || names.sh_size > kMostBytes)
        continue;
      symbols_.resize(table.sh_size / sizeof(Elf64_Sym));
      names_.resize(names.sh_size + 1);
      in_.clear();
      in_.seekg(static_cast<std::streamoff>(table.sh_offset));
      in_.read(reinterpret_cast<char*>(symbols_.data()), static_cast<std::streamsize>(table.sh_size));
      in_.seekg(static_cast<std::streamoff>(names.sh_offset));
      if (in_.read(names_.data(), static_cast<std::streamsize>(names.sh_size))) return true;
      symbols_.clear();
    }
    return false;
  }

  std::ifstream in_;
  Elf64_Ehdr head_{};
  std::vector<Elf64_Phdr> programs_;
  std::vector<Elf64_Sym> symbols_;
  std::string names_;
};

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Asks addr2line once for the lines of all addresses, since each start reads the file's whole debug
// information. Returns "file.cpp:12" or "" for each address; all are "" without the program.
std::vector<std::string> source_lines(const std::string& path, const std::vector<uint64_t>& addresses) {
  std::vector<std::string> out(addresses.size());
  if (path.find('\'') != std::string::npos) return out;
  std::string command = fmt::format("addr2line -e '{}'", path);
  for (const uint64_t address : addresses) command += fmt::format(" {:#x}", address);
  command += " 2>/dev/null";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> answer(::popen(command.c_str(), "re"), ::pclose);
  char line[1024] = {};
  for (std::string& text : out) {
    if (!answer || std::fgets(line, sizeof(line), answer.get()) == nullptr) break;
    text = line;
    text = text.substr(0, text.find_first_of(" \n"));
    const bool is_known = !text.empty() && text[0] != '?' && !text.ends_with(":?") && !text.ends_with(":0");
    text = is_known ? file_name(text) : "";
  }
  return out;
}

class Namer {
 public:
  void add_mapping(const std::string& line) {
    Mapping mapping;
    int at = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx %*s %*s %n", &mapping.begin, &mapping.end, &mapping.offset,
                    &at) < 3)
      return;
    mapping.path = line.substr(std::min(line.size(), static_cast<size_t>(at)));
    if (mapping.path.rfind('/', 0) == 0) mappings_.push_back(std::move(mapping));
  }

  void add_frame(uint64_t address) {
    for (const Mapping& mapping : mappings_) {
      if (address < mapping.begin || address >= mapping.end) continue;
      File& file = files_[mapping.path];
      if (!file.symbols) file.symbols = std::make_unique<ElfSymbols>(mapping.path);
      const uint64_t where = file.symbols->virtual_address(address - mapping.begin + mapping.offset);
      const std::optional<Function> function = file.symbols->find(where - 1);
      Frame& frame = frames_[address];
      frame.file = file_name(mapping.path);
      frame.function = function ? fmt::format("{}+{:#x}", function->name, function->offset + 1)
                                : fmt::format("{:#x}", where);
      file.frames.emplace(where - 1, &frame);  // a return address is the instruction after the call
      return;
    }
  }

  // Looks the source lines up, but for frames of the suite itself: they say nothing about the plugin, and
  // the suite's debug information takes a second to read.
  void add_lines() {
    std::error_code error;
    const std::string suite = std::filesystem::read_symlink("/proc/self/exe", error).string();
    for (auto& [path, file] : files_) {
      if (path == suite) continue;
      std::vector<uint64_t> addresses;
      for (const auto& [where, frame] : file.frames) addresses.push_back(where);
      const std::vector<std::string> lines = source_lines(path, addresses);
      size_t at = 0;
      for (auto& [where, frame] : file.frames) frame->line = lines[at++];
    }
  }

  // Returns "name+0x10 at file.cpp:3 (library.so)", or "" for an address outside of all files.
  std::string name(uint64_t address) const {
    const auto found = frames_.find(address);
    if (found == frames_.end()) return "";
    const Frame& frame = found->second;
    return frame.function + (frame.line.empty() ? "" : " at " + frame.line) + " (" + frame.file + ")";
  }

 private:
  struct Frame {
    std::string function, line, file;
  };
  struct File {
    std::unique_ptr<ElfSymbols> symbols;
    std::map<uint64_t, Frame*> frames;  // by address in the file
  };

  std::vector<Mapping> mappings_;
  std::map<std::string, File> files_;
  std::map<uint64_t, Frame> frames_;
};

// Returns the address of a frame, which backtrace_symbols_fd() writes as "file(name+0x1) [0x7f00]".
std::optional<uint64_t> address_of(const std::string& line) {
  const size_t open = line.rfind('[');
  if (open == std::string::npos) return std::nullopt;
  return std::strtoull(line.c_str() + open + 1, nullptr, 16);
}

}  // namespace

std::string with_symbols(const std::string& stacks) {
  constexpr int kMostFrames = 64;
  Namer namer;
  const std::string mark = kMapLine;
  std::vector<std::string> lines;
  std::istringstream in(stacks);
  for (std::string line; std::getline(in, line);)
    if (line.rfind(mark, 0) == 0)
      namer.add_mapping(line.substr(mark.size()));
    else
      lines.push_back(line);
  int named = 0;
  for (const std::string& line : lines)
    if (const auto address = address_of(line); address && ++named <= kMostFrames) namer.add_frame(*address);
  namer.add_lines();
  std::string out;
  int frame = 0;
  for (const std::string& line : lines) {
    const auto address = address_of(line);
    if (!address) {  // the head of a thread
      frame = 0;
      out += line + "\n";
      continue;
    }
    const std::string text = namer.name(*address);
    out += fmt::format("#{} {}\n", frame++, text.empty() ? line : text);
  }
  return out;
}

}  // namespace etb::conformance
