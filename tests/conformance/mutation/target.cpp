// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/mutation/target.hpp"

#include "host/kernels/cpu_features.hpp"

namespace etb::mutation {

const std::vector<Target>& all_targets() {
  static const std::vector<Target> targets = {
      {"portable",
       "etb_plugin_portable_library",
       "tests/conformance/mutation/plugins/portable_library",
       "org.etbackend.portable",
       {"/etb_kernels.dir/", "/etb_kernels_baseline.dir/", "/etb_kernels_avx2.dir/",
        "/etb_kernels_avx512.dir/", "/etb_portable_backend.dir/", "/etb_plugin_portable_library.dir/"},
       "",
       true},
      {"xnnpack",
       "etb_plugin_xnnpack",
       "plugins.d/xnnpack",
       "xnnpack",
       {"/etb_xnnpack_plugin.dir/", "/etb_xnnpack_payload.dir/", "/etb_plugin_xnnpack.dir/"},
       "",
       false},
      {"my_npu",
       "etb_plugin_my_npu",
       "plugins.d/my_npu",
       "my_npu",
       {"/etb_plugin_my_npu.dir/"},
       "add",
       false},
      {"my_npu_c",
       "etb_plugin_my_npu_c",
       "plugins.d/my_npu_c",
       "my_npu_c",
       {"/etb_plugin_my_npu_c.dir/"},
       "add",
       false},
      {"dsp_stub",
       "etb_plugin_dsp_stub",
       "plugins.d/dsp_stub",
       "EtbDspStubBackend",
       {"/etb_dsp_core.dir/", "/etb_dsp_plugin.dir/", "/etb_plugin_dsp_stub.dir/"},
       "",
       false},
  };
  return targets;
}

bool is_run_here(const std::string& object) {
  const std::string folder = "/etb_kernels_";  // the plain kernels are in "/etb_kernels.dir/"
  const size_t at = object.find(folder);
  if (at == std::string::npos) return true;
  static const std::string chosen = host::select_vector_table(host::detect_cpu_features()).name;
  return object.compare(at + folder.size(), chosen.size() + 5, chosen + ".dir/") == 0;
}

const Target* find_target(const std::string& name) {
  for (const Target& target : all_targets())
    if (target.name == name) return &target;
  return nullptr;
}

}  // namespace etb::mutation
