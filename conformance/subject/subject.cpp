// SPDX-License-Identifier: Apache-2.0
#include "conformance/subject/subject.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string_view>

#include "etb/status.h"

namespace etb::conformance {
namespace {

using Deinit = etb_status(ETB_CALL*)(etb_plugin* plugin, etb_error* error);

std::atomic<Deinit> deinit_of_library{nullptr};  // a process opens one library
std::atomic<etb_status> failed_end{ETB_OK};
thread_local bool is_closing = false;

etb_status ETB_CALL watched_deinit(etb_plugin* plugin, etb_error* error) {
  const etb_status status = deinit_of_library.load()(plugin, error);
  etb_status none = ETB_OK;
  if (is_closing && status != ETB_OK) failed_end.compare_exchange_strong(none, status);
  return status;
}

}  // namespace

void Subject::watch(const SubjectOptions& options) {
  watched_ = library_->table();
  deinit_of_library = watched_.deinit;
  watched_.deinit = watched_deinit;
  if (options.struct_changes != nullptr)
    changed_.wrap(watched_, *options.struct_changes);
  else if (options.has_longer_structs)
    changed_.wrap(watched_, longer_);
}

etb_status Subject::take_failed_end() { return failed_end.exchange(ETB_OK); }

Result<std::unique_ptr<Subject>> Subject::open(const SubjectSpec& spec, const SubjectOptions& options) {
  std::unique_ptr<Subject> subject(new Subject(spec));
  ETB_ASSIGN(subject->options_, host::read_init_options(spec.entry, subject->option_texts_));
  if (options.bare_host != nullptr) {
    host::LoadOptions load_options = spec.load_options;
    load_options.host = options.bare_host;
    ETB_ASSIGN(subject->library_, host::LoadedPlugin::load(spec.entry, load_options));
    subject->watch(options);
    subject->bare_host_ = subject->library_->host();
    subject->bare_host_.flags = options.bare_host->flags;  // a library is loaded by the rules of this process
    ETB_ASSIGN(host::PluginContext context,
               host::PluginContext::make(subject->library_, subject->watched_, subject->bare_host_,
                                         options.init_options));
    subject->context_ = std::make_unique<host::PluginContext>(std::move(context));
    return subject;
  }
  if (options.is_validated) {
    host::ValidateOptions validate;
    validate.memory = options.has_guard_pages ? host::ValidateOptions::Memory::GUARD_PAGES
                                              : host::ValidateOptions::Memory::CANARIES;
    validate.whole_process = options.whole_process;
    subject->validation_ = std::make_unique<host::Validation>(validate);
  }
  subject->pool_ = std::make_unique<host::ThreadPool>(options.worker_count);
  subject->log_ = std::make_unique<host::LogSink>(ETB_LOG_WARNING, [](const host::LogLine&) {});
  ETB_ASSIGN(subject->library_, host::LoadedPlugin::load(spec.entry, spec.load_options));
  subject->watch(options);
  std::vector<host::Layer> layers;
  if (subject->validation_) layers.push_back(subject->validation_->layer());
  if (spec.make_layers) {
    ETB_ASSIGN(subject->layers_, spec.make_layers());
    layers.insert(layers.end(), subject->layers_.layers().begin(), subject->layers_.layers().end());
  }
  host::StartArgs args;
  args.layers = layers;
  args.services = {subject->log_.get(), subject->pool_.get(), nullptr};
  args.memory_cap_bytes = options.memory_cap_bytes;
  args.application = options.application;
  args.plugin_dir = spec.entry.directory;
  args.options = options.init_options;
  ETB_ASSIGN(host::PluginContext context, host::start_plugin(subject->library_, subject->watched_, args));
  subject->context_ = std::make_unique<host::PluginContext>(std::move(context));
  return subject;
}

std::vector<etb_option> Subject::delegate_options(std::span<const etb_option> options) const {
  std::vector<etb_option> all = options_;
  std::erase_if(all, [&](const etb_option& own) {
    return std::any_of(options.begin(), options.end(), [&](const etb_option& other) {
      return other.key != nullptr && std::string_view(other.key) == own.key;
    });
  });
  all.insert(all.end(), options.begin(), options.end());
  return all;
}

void Subject::close() {
  is_closing = true;
  context_.reset();
  is_closing = false;
  library_.reset();
}

bool Subject::lists(const Case& item) {
  const std::set<std::string>& rows = claimed_rows();
  if (rows.empty() || item.op == "model") return true;
  const std::string row = item.op + " ";
  const auto first = rows.lower_bound(row);
  return first != rows.end() && first->starts_with(row);
}

const std::set<std::string>& Subject::claimed_rows() {
  if (has_rows_ || table().aot == nullptr) return claimed_rows_;
  has_rows_ = true;
  const etb_op_sink sink = {
      ETB_INIT_SIZE(etb_op_sink), 0, &claimed_rows_, [](void* ctx, const etb_op_capability* op) {
        for (uint32_t i = 0; op->op != nullptr && i < op->dtype_count; ++i)
          static_cast<std::set<std::string>*>(ctx)->insert(std::string(op->op) + " " +
                                                           std::to_string(op->dtypes[i]));
        return etb_status{ETB_OK};
      }};
  etb_error error = ETB_ERROR_INIT;
  table().aot->op_table(handle(), &sink, &error);  // a check of its own reports a failure
  return claimed_rows_;
}

}  // namespace etb::conformance
