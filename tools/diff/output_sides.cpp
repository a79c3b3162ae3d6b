// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/output_sides.hpp"

#include <algorithm>

#include "tools/file_kind.hpp"
#include "tools/run/load_mode.hpp"
#include "tools/run/npy.hpp"
#include "tools/run/searched_delegates.hpp"

namespace etb::diff {
namespace {

constexpr uint64_t kMaxArrayBytes = uint64_t{4} << 30;

std::unique_ptr<Side> open_program(const std::string& path, const SideOptions& options) {
  return Side::of_outputs(
      path, [path, options](const std::vector<host::EValue>& inputs) -> Result<std::vector<TensorData>> {
        tools::SearchedDelegates delegates(options.registry, {});
        host::ModuleOptions load;
        load.delegates = &delegates;
        load.kernel_libraries = options.kernel_libraries;
        ETB_ASSIGN(host::Module module, host::Module::open(path, load));
        ETB_ASSIGN(const std::vector<host::EValue> outputs,
                   module.execute(tools::choose_method(module), inputs));
        std::vector<TensorData> out;
        for (const host::EValue& output : outputs) out.push_back(copy_of(output));
        return out;
      });
}

Result<TensorData> read_array(const std::string& path) {
  ETB_ASSIGN(tools::Array array, tools::read_npy(path, kMaxArrayBytes));
  return TensorData{{static_cast<etb_dtype>(array.dtype), array.sizes, array.dim_order},
                    std::move(array.bytes)};
}

Result<std::unique_ptr<Side>> open_arrays(const std::string& text, const std::vector<std::string>& paths) {
  std::vector<TensorData> outputs;
  for (const std::string& path : paths) {
    auto read = read_array(path);
    if (!read) return tl::make_unexpected(with_context(std::move(read).error(), "'" + path + "'"));
    outputs.push_back(*std::move(read));
  }
  return Side::of_outputs(
      text,
      [outputs](const std::vector<host::EValue>&) -> Result<std::vector<TensorData>> { return outputs; });
}

}  // namespace

Result<std::unique_ptr<Side>> open_side(const std::string& text, const SideOptions& options) {
  const std::vector<std::string> names = split_side(text);
  const bool has_arrays =
      std::all_of(names.begin(), names.end(), [](const std::string& name) { return name.ends_with(".npy"); });
  if (has_arrays) return open_arrays(text, names);
  if (tools::find_file_kind(text) == tools::FileKind::kProgram) return open_program(text, options);
  return Side::open(text, options);
}

}  // namespace etb::diff
