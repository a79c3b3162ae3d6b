// SPDX-License-Identifier: Apache-2.0
// Makes the test cases of a bundle from files, numbers and reference runs.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/format/bundled_program_writer.hpp"
#include "host/module/module.hpp"
#include "tools/bundle/case_texts.hpp"

namespace etb::tools {

// Runs methods for their outputs: a program, or the graph of an archive. Opens each file once.
class ReferenceRuns {
 public:
  enum class Source : uint8_t {
    kNone,
    kProgram,   // the program itself, with its plugins
    kPortable,  // the program itself, without plugins
    kEager      // the exported graph, node by node
  };
  // `models`: archive by method, "" for all others. `options` are those of the program with its plugins.
  // `program` has the bytes of the program, on a 16-byte boundary.
  ReferenceRuns(Source source, std::span<const std::byte> program, std::map<std::string, std::string> models,
                const host::ModuleOptions& options)
      : source_(source), program_(program), models_(std::move(models)), options_(options) {}

  Source source() const { return source_; }

  // Runs the method from its initial state. The outputs are valid until the next call.
  [[nodiscard]] Result<std::vector<host::EValue>> run(const std::string& method,
                                                      std::span<const host::EValue> inputs);

 private:
  struct Runner {
    std::shared_ptr<const void> memory;  // of a compiled archive
    host::Module module;
    std::string method;
  };
  Result<Runner*> runner_of(const std::string& method);
  Result<Runner> open(const std::string& key, const std::string& method) const;

  Source source_;
  std::span<const std::byte> program_;
  std::map<std::string, std::string> models_;
  host::ModuleOptions options_;
  std::map<std::string, Runner> runners_;  // by archive, or "" for the program
};

struct MadeCase {
  std::string method;
  format::BundledCase item;
  std::vector<std::string> notes;
};

// Makes one test case of a program.
[[nodiscard]] Result<MadeCase> make_case(const host::Module& program, const CaseText& text,
                                         ReferenceRuns& references);

}  // namespace etb::tools
