// SPDX-License-Identifier: Apache-2.0
#include "conformance/subject/usage.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>

namespace etb::conformance {
namespace {

namespace fs = std::filesystem;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

// One line of stat: "12 (name) S parent ...". The name may contain any characters.
struct ProcessLine {
  std::string name;
  char state = 'X';
  pid_t parent = 0;
};
ProcessLine read_line(pid_t pid) {
  ProcessLine out;
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(in, text);
  const size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return out;
  out.name = text.substr(open + 1, close - open - 1);
  std::sscanf(text.c_str() + close + 1, " %c %d", &out.state, &out.parent);
  return out;
}

bool is_living(char state) { return state != 'Z' && state != 'X'; }

std::vector<pid_t> all_processes() {
  std::vector<pid_t> out;
  const Folder folder(::opendir("/proc"));
  if (!folder) return out;
  while (const dirent* entry = ::readdir(folder.get()))
    if (const pid_t pid = std::atoi(entry->d_name); pid > 0) out.push_back(pid);
  return out;
}

void add_below(pid_t root, const std::multimap<pid_t, pid_t>& children, std::set<pid_t>& out) {
  const auto [first, last] = children.equal_range(root);
  for (auto at = first; at != last; ++at)
    if (out.insert(at->second).second) add_below(at->second, children, out);
}

struct FileId {
  dev_t device;
  ino_t inode;
  bool operator<(const FileId& other) const {
    return device != other.device ? device < other.device : inode < other.inode;
  }
};

// Returns the descriptors of a process, null if it has none any more. `out_is_hidden` becomes true if a live
// process keeps them hidden; an ending process hides them for a moment, which took more than 500 ms on a busy machine.
Folder open_descriptors(pid_t pid, bool& out_is_hidden) {
  constexpr int kTries = 500;
  constexpr useconds_t kRestUs = 5000;
  const std::string path = "/proc/" + std::to_string(pid) + "/fd";
  for (int i = 0; i < kTries; ++i) {
    Folder folder(::opendir(path.c_str()));
    if (folder || errno == ENOENT || errno == ESRCH || !is_living(read_line(pid).state)) return folder;
    ::usleep(kRestUs);
  }
  out_is_hidden = true;
  return nullptr;
}

// Adds open files without a name: memory files and deleted ones. Returns false if the process does not show
// them.
bool add_hidden_files(pid_t pid, std::map<FileId, uint64_t>& out) {
  bool is_hidden = false;
  const Folder folder = open_descriptors(pid, is_hidden);
  if (!folder) return !is_hidden;
  const int fd = ::dirfd(folder.get());
  while (const dirent* entry = ::readdir(folder.get())) {
    struct stat info {};
    if (entry->d_name[0] == '.' || ::fstatat(fd, entry->d_name, &info, 0) != 0) continue;
    if (S_ISREG(info.st_mode) && info.st_nlink == 0)
      out[{info.st_dev, info.st_ino}] = static_cast<uint64_t>(info.st_blocks) * 512;
  }
  return true;
}

uint64_t resident_bytes(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/statm");
  uint64_t all = 0, resident = 0;
  in >> all >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::string more_than(uint64_t found, const char* what, uint64_t most) {
  return std::to_string(found >> 20) + " MiB " + what + ", expected at most " + std::to_string(most >> 20);
}

}  // namespace

std::vector<pid_t> processes_below(pid_t root, bool is_namespace) {
  std::vector<pid_t> out;
  std::multimap<pid_t, pid_t> children;
  for (const pid_t pid : all_processes()) {
    const ProcessLine line = read_line(pid);
    if (is_namespace && pid != root && is_living(line.state)) out.push_back(pid);
    children.emplace(line.parent, pid);
  }
  if (is_namespace) return out;
  std::set<pid_t> below;
  add_below(root, children, below);
  for (const pid_t pid : below)
    if (is_living(read_line(pid).state)) out.push_back(pid);
  return out;
}

std::string names_of(const std::vector<pid_t>& pids) {
  constexpr size_t kMost = 4;
  std::string out;
  for (size_t i = 0; i < pids.size() && i < kMost; ++i)
    out += (i != 0 ? ", '" : "'") + read_line(pids[i]).name + "'";
  return pids.size() > kMost ? out + ", ..." : out;
}

std::string excess_of(const std::vector<pid_t>& pids, const UsageLimits& limits) {
  if (pids.size() > limits.processes)
    return std::to_string(pids.size()) + " processes, expected at most " + std::to_string(limits.processes);
  std::map<FileId, uint64_t> hidden;
  uint64_t resident = 0;
  for (const pid_t pid : pids) {
    resident += resident_bytes(pid);
    if (!add_hidden_files(pid, hidden)) return "a process whose descriptors cannot be read";
  }
  uint64_t hidden_bytes = 0;
  for (const auto& [file, nbytes] : hidden) hidden_bytes += nbytes;
  if (hidden_bytes > limits.hidden_bytes)
    return more_than(hidden_bytes, "in files of memory and deleted files", limits.hidden_bytes);
  if (limits.resident_bytes != 0 && resident > limits.resident_bytes)
    return more_than(resident, "of memory in all processes", limits.resident_bytes);
  return "";
}

FolderUsage usage_of_folder(const std::string& folder) {
  constexpr size_t kMostFiles = 100000;
  FolderUsage out;
  std::error_code failed;
  size_t count = 0;
  for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, failed),
       end;
       !failed && at != end && ++count < kMostFiles; at.increment(failed)) {
    struct stat info {};
    if (::lstat(at->path().c_str(), &info) != 0) continue;
    out.nbytes += static_cast<uint64_t>(info.st_blocks) * 512;
    out.socket_count += S_ISSOCK(info.st_mode) || S_ISFIFO(info.st_mode) ? 1 : 0;
  }
  return out;
}

}  // namespace etb::conformance
