// SPDX-License-Identifier: Apache-2.0
// Measures finding, choosing and loading plugins. The plugins are copies of the template
// plugin, each with its own id.
#include <benchmark/benchmark.h>

#include <cstdlib>

#include "host/registry/registry_json.hpp"
#include "host/testing/plugin_fixture.hpp"

namespace etb::host {
namespace {

using nlohmann::json;

constexpr char kId[] = "com.example.my-npu";

// Creates `count` plugins that differ in id and backend. Patches the note in each file, which the
// plugin's table also uses.
class ManyPlugins {
 public:
  explicit ManyPlugins(int count) {
    const json manifest =
        json::parse(PluginFixture::read_file(std::string(ETB_PLUGINS_DIR) + "/my_npu.json"));
    const std::string original = PluginFixture::read_file(std::string(ETB_PLUGINS_DIR) + "/my_npu.so");
    for (int i = 0; i < count; ++i) {
      char id[32];
      std::snprintf(id, sizeof(id), "com.example.n%05d", i % 100000);
      add(manifest, original, id, i);
    }
  }

  RegistryOptions options() const { return fixture_.options(); }

 private:
  void add(json manifest, std::string library, const std::string& id, int index) {
    const size_t at = library.find(kId);
    if (at == std::string::npos) std::abort();
    library.replace(at, id.size(), id);
    library[at - offsetof(etb_plugin_ident, id) + offsetof(etb_plugin_ident, flags)] = ETB_PLUGIN_UNLOADABLE;
    const std::string name = "plugin_" + std::to_string(index);
    manifest["id"] = id;
    manifest["provides"][0]["id"] = "Backend" + std::to_string(index);
    manifest["aliases"] = {"alias" + std::to_string(index)};
    manifest["flags"]["unloadable"] = true;
    manifest["libraries"][0]["path"] = name + ".so";
    manifest["libraries"][0]["sha256"] = PluginFixture::manifest(library, "x")["libraries"][0]["sha256"];
    fixture_.dir().write("plugins/" + name + ".so", library);
    fixture_.dir().write("plugins/" + name + ".json", manifest.dump());
  }

  PluginFixture fixture_;
};

void require(bool is_true, benchmark::State& state, const char* what) {
  if (!is_true) state.SkipWithError(what);
}

// Does the work of `etbackend list --json`.
void list(benchmark::State& state) {
  const ManyPlugins many(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    const Registry registry(many.options());
    std::string text = to_json(registry);
    benchmark::DoNotOptimize(text);
    for (const PluginEntry& entry : registry.plugins())
      require(entry.is_usable(), state, "a plugin was refused");
  }
}
BENCHMARK(list)->Arg(1)->Arg(200)->Unit(benchmark::kMillisecond);

void list_with_digests(benchmark::State& state) {
  const ManyPlugins many(static_cast<int>(state.range(0)));
  RegistryOptions options = many.options();
  options.check_digests = true;
  for (auto _ : state) {
    const Registry registry(options);
    require(registry.plugins()[0].digest == DigestState::kMatches, state, "a digest differs");
  }
}
BENCHMARK(list_with_digests)->Arg(200)->Unit(benchmark::kMillisecond);

void resolve_first_time(benchmark::State& state) {
  const Registry registry(ManyPlugins(200).options());
  for (auto _ : state) benchmark::DoNotOptimize(decide(registry.plugins(), "Backend150", {}));
}
BENCHMARK(resolve_first_time)->Unit(benchmark::kMicrosecond);

void resolve_warm(benchmark::State& state) {
  const ManyPlugins many(200);
  const Registry registry(many.options());
  for (auto _ : state) benchmark::DoNotOptimize(registry.resolve("Backend150"));
  require(registry.resolve("Backend150")->winner() != nullptr, state, "not found");
}
BENCHMARK(resolve_warm)->Unit(benchmark::kNanosecond)->ThreadRange(1, 2);

// Loads and unloads a plugin, from the manifest's entry to checked tables: open, verify,
// hash, map, query, unmap.
void load_and_query(benchmark::State& state) {
  const ManyPlugins many(1);
  const Registry registry(many.options());
  for (auto _ : state) {
    const auto plugin = LoadedPlugin::load(registry.plugins()[0], registry.load_options());
    require(plugin.has_value(), state, "not loaded");
    if (plugin) (*plugin)->on_deinit(ETB_OK);  // unmaps it, so that each round loads it again
  }
}
BENCHMARK(load_and_query)->Unit(benchmark::kMicrosecond);

void open_warm(benchmark::State& state) {
  const ManyPlugins many(1);
  Registry registry(many.options());
  for (auto _ : state) benchmark::DoNotOptimize(registry.open("Backend0"));
}
BENCHMARK(open_warm)->Unit(benchmark::kNanosecond);

}  // namespace
}  // namespace etb::host
