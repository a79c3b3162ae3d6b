// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/run/input_specs.hpp"

#include "plugins/gpu/run/host_numbers.hpp"

namespace etb::gpu {

std::vector<InputSpec> input_specs_of(const GpuGraph& graph) {
  static constexpr std::array<int64_t, kMaxRank> kNoElements = {};  // any size may be smaller in a run
  std::vector<InputSpec> specs(graph.inputs.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    const GpuValue& value = graph.value(graph.inputs[i]);
    const bool is_integer_tensor =
        value.host == HostNumbers::kIntegers || value.host == HostNumbers::kInt32Bits;
    etb_tensor_spec& spec = specs[i].spec;
    spec.struct_size = ETB_INIT_SIZE(etb_tensor_spec);
    spec.dtype = is_integer_tensor && value.shape.rank == 0 ? ETB_DTYPE_INT32 : expected_dtype(value);
    spec.rank = value.host == HostNumbers::kSize ? 0 : value.shape.rank;
    for (uint32_t d = 0; d < spec.rank; ++d) specs[i].sizes[d] = value.shape.sizes[d];
    spec.sizes = specs[i].sizes.data();
    spec.min_sizes = kNoElements.data();
  }
  return specs;
}

}  // namespace etb::gpu
