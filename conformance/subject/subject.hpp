// SPDX-License-Identifier: Apache-2.0
// The plugin under test, opened in this process: loaded, wrapped by the validate layer, initialised.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "conformance/cases/case.hpp"
#include "conformance/subject/changed_structs.hpp"
#include "host/layers/layer_kind.hpp"
#include "host/layers/start_plugin.hpp"
#include "host/layers/validate/validation.hpp"
#include "host/registry/loaded_plugin.hpp"
#include "host/registry/option_text.hpp"
#include "partitioner_sdk/passes/fold_constants.hpp"

namespace etb::conformance {

// The plugin to open. Selected without running its code, so that it can be passed to child processes.
struct SubjectSpec {
  host::PluginEntry entry;
  host::LoadOptions load_options;
  std::string backend_id;          // one of its delegate ids
  passes::Evaluate evaluate = {};  // folds constants of networks that the suite compiles
  host::OptionTexts delegate_options = {};  // texts of --delegate-option; a check may set others

  // Makes layers between the validate layer and the plugin, in each process that opens it. Not set: none.
  std::function<Result<host::LayerSet>()> make_layers = {};
};

struct SubjectOptions {
  bool is_validated = true;
  bool has_guard_pages = true;
  bool has_longer_structs = false;          // as of a host of a later minor version
  StructChanges* struct_changes = nullptr;  // wrong structs in place of longer ones; outlives the subject
  bool whole_process =
      false;  // the validate layer also watches handlers, locale, directory, environment, threads
  uint32_t worker_count = 1;  // workers of parallel/1
  uint64_t memory_cap_bytes = host::AccountedAllocator::kUnbounded;
  std::vector<etb_option> init_options = {};
  const etb_host* application = nullptr;  // asked for services first; outlives the subject
  const etb_host* bare_host = nullptr;    // passed to the plugin unchanged: no layers, no other services
};

class Subject {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Subject>> open(const SubjectSpec& spec,
                                                             const SubjectOptions& options = {});

  // As applications see them, except for the validate layer.
  const etb_plugin_table& table() const { return context_->table(); }
  etb_plugin* handle() const { return context_->handle(); }
  const host::PluginContext& context() const { return *context_; }
  const host::LoadedPlugin& library() const { return *library_; }
  const std::string& backend_id() const { return backend_id_; }
  // Returns `options` after those of the specification that they do not set.
  std::vector<etb_option> delegate_options(std::span<const etb_option> options) const;

  // Returns the violations that the layer saw since the last call.
  std::vector<host::Violation> take_violations() {
    return validation_ ? validation_->take() : std::vector<host::Violation>{};
  }

  ~Subject() { close(); }
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  // Deinitialises the plugin, and unloads it if it claims to support that. Violations remain available.
  void close();

  // Returns the first status other than ETB_OK that deinit returned to a closed subject of this process since the last
  // call, ETB_OK if there was none.
  static etb_status take_failed_end();

  // Returns the rows of the op table: "aten.add.Tensor 6" for each op and dtype.
  const std::set<std::string>& claimed_rows();
  // False if the op table has no row of the case's op.
  bool lists(const Case& item);

 private:
  explicit Subject(const SubjectSpec& spec)
      : backend_id_(spec.backend_id), option_texts_(spec.delegate_options) {}
  void watch(const SubjectOptions& options);

  // In order of life.
  std::string backend_id_;
  host::OptionTexts option_texts_;
  std::vector<etb_option> options_;  // option_texts_, read; they borrow from it
  std::unique_ptr<host::Validation> validation_;
  host::LayerSet layers_;
  std::unique_ptr<host::ThreadPool> pool_;
  std::unique_ptr<host::LogSink> log_;
  std::shared_ptr<host::LoadedPlugin> library_;
  etb_host bare_host_{};  // a copy of options.bare_host with this plugin's folder
  StructChanges longer_;
  ChangedStructs changed_;
  etb_plugin_table watched_{};  // the library's table, with a deinit whose status is kept
  std::unique_ptr<host::PluginContext> context_;
  std::set<std::string> claimed_rows_;
  bool has_rows_ = false;
};

}  // namespace etb::conformance
