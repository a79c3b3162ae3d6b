// SPDX-License-Identifier: Apache-2.0
// usage: consumer_app [plugin.so]: queries the identity of a plugin, loaded or linked in. For a loaded one,
// reads the manifest beside it with the host library.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <etb/all.h>
#include <host/registry/manifest.hpp>

#ifdef LINKED_STATICALLY
extern "C" ETB_DECLARE_STATIC_PLUGIN(consumer_npu);
#endif

namespace {

int check_ident(const etb_plugin_table* table) {
  if (table == nullptr || std::strcmp(table->ident->id, "org.example.consumer-npu") != 0) {
    std::puts("not the expected plugin");
    return 1;
  }
  std::printf("%s %s\n", table->ident->id, table->ident->version);
  return 0;
}

int check_manifest(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  const etb::host::ManifestReading reading = etb::host::parse_manifest(text.str());
  for (const etb::host::Diagnostic& diagnostic : reading.diagnostics)
    std::puts(etb::host::to_text(diagnostic).c_str());
  if (!reading.manifest || !reading.manifest->libraries.at(0).sha256) return 1;
  std::printf("manifest of %s\n", reading.manifest->id.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
#ifdef LINKED_STATICALLY
    return check_ident(etb_plugin_query_consumer_npu(nullptr, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION));
#else
    return 2;
#endif
  }
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::puts(dlerror());
    return 1;
  }
  const auto query = reinterpret_cast<etb_plugin_query_fn>(dlsym(library, ETB_PLUGIN_QUERY_SYMBOL));
  if (query == nullptr || check_ident(query(nullptr, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION)) != 0) return 1;
  const auto manifest = std::filesystem::path(argv[1]).replace_extension(".json");
  return std::filesystem::exists(manifest) ? check_manifest(manifest) : 0;
}
