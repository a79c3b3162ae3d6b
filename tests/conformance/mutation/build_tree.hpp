// SPDX-License-Identifier: Apache-2.0
// Compiles and links mutants with the commands of a build tree, outside of it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "etb/cpp/result.hpp"
#include "tests/conformance/mutation/limited_run.hpp"
#include "tests/conformance/mutation/target.hpp"

namespace etb::mutation {

// One compilation of a source file. Files of vector kernels have one for each CPU variant.
struct CompileCommand {
  std::string command;  // with "-o <object> -c <source>"
  std::string source;   // absolute
  std::string object;   // relative to the build tree
};

class BuildTree {
 public:
  // Reads compile_commands.json.
  [[nodiscard]] static Result<BuildTree> open(const std::string& root, const std::string& build);

  const std::string& root() const { return root_; }
  const std::string& build() const { return build_; }

  // Source files of the target, relative to the root, with their commands.
  std::map<std::string, std::vector<CompileCommand>> sources_of(const Target& target) const;

  // Compiles `text` in place of the command's source. The file has the same path each time, so that equal code gives equal objects.
  RunResult compile(const CompileCommand& command, const std::string& text, const std::string& folder,
                    const std::string& object) const;

  // The command that links `product`, such as "plugins.d/xnnpack.so", and its post-build commands.
  [[nodiscard]] Result<std::string> link_command(const std::string& ninja_target,
                                                 const std::string& folder) const;

  // Links with `objects` (old path in the build tree, new file) and writes `product` below `folder`. An object from an archive is put
  // before it, so the linker does not take the old one.
  RunResult link(const std::string& command, const std::string& product, const std::string& folder,
                 const std::vector<std::pair<std::string, std::string>>& objects) const;

 private:
  std::string root_, build_;
  std::vector<CompileCommand> commands_;
};

}  // namespace etb::mutation
