// SPDX-License-Identifier: Apache-2.0
#include "host/registry/loaded_plugin.hpp"

#include <algorithm>

#include "host/registry/open_library.hpp"

namespace etb::host {
namespace {

// No table is near this size. A larger one is a defect, not a newer version.
constexpr uint32_t kMaxTableBytes = 1 << 16;

constexpr const char* kHostName = "etbackend";
#define ETB_TEXT_(x) #x
#define ETB_TEXT(x) ETB_TEXT_(x)
constexpr const char* kHostVersion =
    ETB_TEXT(ETB_VERSION_MAJOR) "." ETB_TEXT(ETB_VERSION_MINOR) "." ETB_TEXT(ETB_VERSION_PATCH);
#undef ETB_TEXT
#undef ETB_TEXT_

const void* ETB_CALL no_service(const etb_host*, const char*) { return nullptr; }

template <class Table>
Status verify_size(const Table* table, const char* name) {
  if (table == nullptr || table->struct_size <= kMaxTableBytes) return {};
  return refuse(Reason::kTable, std::string(name) + " table: struct_size " +
                                    std::to_string(table->struct_size) + ", expected at most " +
                                    std::to_string(kMaxTableBytes));
}

// Returns the digest of a bundled library from the manifest.
std::optional<Sha256> digest_of(const Needs& needs, const std::string& name) {
  const auto entry = std::find_if(needs.libraries.begin(), needs.libraries.end(),
                                  [&](const NeededLibrary& library) { return library.name == name; });
  return entry == needs.libraries.end() ? std::nullopt : entry->sha256;
}

// The only call into a plugin in this folder. A plugin must not throw (ABI-CALL-03); one that throws is
// refused.
Result<const etb_plugin_table*> call_query(etb_plugin_query_fn query, const etb_host& host) {
  try {
    return query(&host, kHostAbi.min, kHostAbi.max);
  } catch (...) {
    return refuse(Reason::kQueryThrew, "query threw an exception");
  }
}

}  // namespace

Result<std::shared_ptr<LoadedPlugin>> LoadedPlugin::load(const PluginEntry& entry,
                                                         const LoadOptions& options) {
  if (entry.problem) return tl::make_unexpected(*entry.problem);
  if (entry.static_query != nullptr) return link(entry.static_query, options);
  Result<FileDescriptor> folder = open_trusted_directory(entry.directory, options.trust);
  if (!folder) return refuse(Reason::kLibraryUntrusted, folder.error().message);
  ETB_ASSIGN(OpenLibrary file,
             open_library(folder->get(), *entry.manifest, *entry.library, options.trust, options.seal));
  const Needs& needs = entry.manifest->needs;
  const ExpectedDigests digests{entry.library->sha256,
                                [&needs](const std::string& name) { return digest_of(needs, name); }};
  std::shared_ptr<LoadedPlugin> plugin(new LoadedPlugin);
  ETB_ASSIGN(plugin->code_, load_code(std::move(file.code), options, digests));
  const auto query = reinterpret_cast<etb_plugin_query_fn>(plugin->find_symbol(ETB_PLUGIN_QUERY_SYMBOL));
  if (query == nullptr)
    return refuse(Reason::kLibrarySymbol, entry.library->path + ": does not export " ETB_PLUGIN_QUERY_SYMBOL);
  plugin->make_host(options, entry.directory);
  ETB_TRY(plugin->ask(query));
  if (plugin->ident_.bytes != file.ident.bytes)
    return refuse(Reason::kIdentQuery, "query reports another identity than the note: id '" +
                                           plugin->ident_.id + "', version '" + plugin->ident_.version + "'");
  return plugin;
}

Result<std::shared_ptr<LoadedPlugin>> LoadedPlugin::link(etb_plugin_query_fn query,
                                                         const LoadOptions& options) {
  std::shared_ptr<LoadedPlugin> plugin(new LoadedPlugin);
  plugin->make_host(options, "");
  ETB_TRY(plugin->ask(query));
  return plugin;
}

LoadedPlugin::~LoadedPlugin() {
  if (!may_unload_ && code_) code_->keep();
}

void* LoadedPlugin::find_symbol(const char* name) const {
  return code_ ? code_->library.find_symbol(name) : nullptr;
}

void LoadedPlugin::on_deinit(etb_status status) noexcept {
  may_unload_ = status == ETB_OK && (ident_.flags & ETB_PLUGIN_UNLOADABLE) != 0;
}

void LoadedPlugin::make_host(const LoadOptions& options, std::string directory) {
  directory_ = std::move(directory);
  host_ = etb_host{};
  host_.struct_size = sizeof(host_);
  host_.flags = options.secure ? ETB_HOST_SECURE : 0;
  host_.abi_version = kHostAbi.max;
  host_.name = options.host != nullptr && options.host->name != nullptr ? options.host->name : kHostName;
  host_.version =
      options.host != nullptr && options.host->version != nullptr ? options.host->version : kHostVersion;
  host_.plugin_dir = directory_.c_str();
  host_.ctx = options.host != nullptr ? options.host->ctx : nullptr;
  host_.get_service = options.host != nullptr && options.host->get_service != nullptr
                          ? options.host->get_service
                          : no_service;
}

Status LoadedPlugin::ask(etb_plugin_query_fn query) {
  query_ = query;
  ETB_ASSIGN(raw_, call_query(query, host_));
  if (raw_ == nullptr)
    return refuse(Reason::kQueryNull, "query gave no table for abi " + format_abi(kHostAbi.min) + " to " +
                                          format_abi(kHostAbi.max));
  ETB_TRY(verify_size(raw_, "plugin"));
  if (raw_->struct_size < ETB_SIZE_THROUGH(etb_plugin_table, aot))
    return refuse(Reason::kTable, "plugin table: struct_size " + std::to_string(raw_->struct_size) +
                                      ", version 1.0 has " +
                                      std::to_string(ETB_SIZE_THROUGH(etb_plugin_table, aot)));
  ETB_TRY(verify_size(raw_->device, "device"));
  ETB_TRY(verify_size(raw_->delegate, "delegate"));
  ETB_TRY(verify_size(raw_->aot, "aot"));
  if (raw_->abi_version < kHostAbi.min || raw_->abi_version > kHostAbi.max)
    return refuse(Reason::kAbi, "the table follows abi " + format_abi(raw_->abi_version) + ", asked for " +
                                    format_abi(kHostAbi.min) + " to " + format_abi(kHostAbi.max));
  if (raw_->ident == nullptr) return refuse(Reason::kIdentQuery, "the table's ident is NULL");
  if (raw_->ident->struct_size > kMaxTableBytes)
    return refuse(Reason::kIdentQuery,
                  "the table's ident has struct_size " + std::to_string(raw_->ident->struct_size));
  Result<PluginIdent> ident =
      verify_plugin_ident({reinterpret_cast<const uint8_t*>(raw_->ident), raw_->ident->struct_size});
  if (!ident) return refuse(Reason::kIdentQuery, "the table's ident: " + ident.error().message);
  ident_ = std::move(*ident);
  if (is_layer()) return {};
  if (Status complete = complete_.assign(*raw_); !complete)
    return refuse(Reason::kTable, complete.error().message);
  return {};
}

}  // namespace etb::host
