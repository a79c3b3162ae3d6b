// SPDX-License-Identifier: Apache-2.0
#include "host/application/engine.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <map>
#include <vector>

#include "etb/library.h"
#include "host/application/process_log.hpp"
#include "host/layers/layer_kinds.hpp"

namespace etb::host {
namespace {

namespace fs = std::filesystem;

// The build defines ETB_PLUGINS_FROM_LIB, ETB_PLUGINS_FROM_BIN (paths from the folder of the library, or of a
// program that links it statically, to the plugins) and ETB_PLUGINS_INSTALLED (where `make install` puts them).
constexpr const char* kFromObject[] = {ETB_PLUGINS_FROM_LIB, ETB_PLUGINS_FROM_BIN, "../plugins.d"};

// Path of the file that contains this code: the shared library, or the program.
std::optional<fs::path> own_file() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&etb_version), &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code failed;
  fs::path path = fs::canonical(info.dli_fname, failed);
  // The loader knows a program by the text of its command line, which PATH may have completed.
  if (failed) path = fs::read_symlink("/proc/self/exe", failed);
  if (failed) return {};
  return path;
}

}  // namespace

RegistryOptions installed_plugins() {
  RegistryOptions options;
  if (const auto file = own_file()) {
    for (const char* relative : kFromObject)
      options.distribution_paths.push_back((file->parent_path() / relative).lexically_normal().string());
  }
  options.distribution_paths.emplace_back(ETB_PLUGINS_INSTALLED);
  return options;
}

Result<LayerSet> make_layers(std::span<const std::string> texts) {
  // The only list of layers of the C API. Those that check plugins are in the program `etbackend`, to keep this library
  // small.
  const LayerKind kinds[] = {kFaultKind, kTraceKind};
  LayerHost host;
  host.print = [](const std::string& line) { log_warning(line); };
  return LayerSet::make(texts, kinds, host);
}

Engine::Engine(RegistryOptions options, uint32_t thread_count, LayerSet layers)
    : pool_(thread_count), layers_(std::move(layers)), options_(std::move(options)) {
  const std::vector<Layer>& named = layers_.layers();
  options_.layers.insert(options_.layers.end(), named.begin(), named.end());
  options_.services.log = &process_log();
  options_.services.pool = &pool_;
}

Engine::~Engine() {
  registry_.reset();
  layers_.finish();
}

Registry& Engine::registry() {
  std::call_once(searched_, [this] { registry_.emplace(options_); });
  return *registry_;
}

std::shared_ptr<Engine> default_engine(uint32_t thread_count) {
  struct Engines {
    std::mutex mutex;
    std::map<uint32_t, std::weak_ptr<Engine>> by_thread_count;
  };
  static Engines* const engines = new Engines;  // never destroyed: modules may be opened at exit
  const std::lock_guard lock(engines->mutex);
  std::erase_if(engines->by_thread_count, [](const auto& item) { return item.second.expired(); });
  std::weak_ptr<Engine>& known = engines->by_thread_count[thread_count];
  if (auto engine = known.lock()) return engine;
  auto engine = std::make_shared<Engine>(installed_plugins(), thread_count);
  known = engine;
  return engine;
}

}  // namespace etb::host
