// SPDX-License-Identifier: Apache-2.0
#include "conformance/process/symbols.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
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

// Asks addr2line for "file.cpp:12". Returns "" without the program or debug information.
std::string source_line(const std::string& path, uint64_t address) {
  if (path.find('\'') != std::string::npos) return "";
  const std::string command = fmt::format("addr2line -e '{}' {:#x} 2>/dev/null", path, address);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(::popen(command.c_str(), "re"), ::pclose);
  char line[1024] = {};
  if (!out || std::fgets(line, sizeof(line), out.get()) == nullptr) return "";
  std::string text = line;
  text = text.substr(0, text.find_first_of(" \n"));
  return text.empty() || text[0] == '?' || text.ends_with(":?") || text.ends_with(":0") ? ""
                                                                                        : file_name(text);
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

  // Returns "name+0x10 at file.cpp:3 (library.so)", or "" for an address outside of all files.
  std::string name(uint64_t address) {
    for (const Mapping& mapping : mappings_) {
      if (address < mapping.begin || address >= mapping.end) continue;
      auto& symbols = files_[mapping.path];
      if (!symbols) symbols = std::make_unique<ElfSymbols>(mapping.path);
      const uint64_t where = symbols->virtual_address(address - mapping.begin + mapping.offset);
      // A return address is the instruction after the call.
      const std::optional<Function> function = symbols->find(where - 1);
      std::string out = function ? fmt::format("{}+{:#x}", function->name, function->offset + 1)
                                 : fmt::format("{:#x}", where);
      if (const std::string line = source_line(mapping.path, where - 1); !line.empty()) out += " at " + line;
      return out + " (" + file_name(mapping.path) + ")";
    }
    return "";
  }

 private:
  std::vector<Mapping> mappings_;
  std::map<std::string, std::unique_ptr<ElfSymbols>> files_;
};

}  // namespace

std::string with_symbols(const std::string& stacks) {
  constexpr int kMostFrames = 64;
  Namer namer;
  const std::string mark = kMapLine;
  std::istringstream lines(stacks);
  for (std::string line; std::getline(lines, line);)
    if (line.rfind(mark, 0) == 0) namer.add_mapping(line.substr(mark.size()));
  std::string out;
  int frame = 0, named = 0;
  lines = std::istringstream(stacks);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(mark, 0) == 0) continue;
    const size_t open = line.rfind('[');
    if (open == std::string::npos) {  // the head of a thread
      frame = 0;
      out += line + "\n";
      continue;
    }
    const uint64_t address = std::strtoull(line.c_str() + open + 1, nullptr, 16);
    const std::string text = ++named <= kMostFrames ? namer.name(address) : "";
    out += fmt::format("#{} {}\n", frame++, text.empty() ? line : text);
  }
  return out;
}

}  // namespace etb::conformance
