// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/ask_plugins.hpp"

#include "partitioner_sdk/import/import.hpp"
#include "partitioner_sdk/import/input_bounds.hpp"
#include "tools/compile/delegation.hpp"
#include "tools/plugin_registry.hpp"
#include "tools/portable_target.hpp"

namespace etb::tools {

Result<AskedModel> ask_plugins(const std::string& archive, const std::string& model,
                               const std::vector<std::string>& names, const Session& session) {
  host::Registry registry(registry_options(session));
  DelegationOptions options;
  options.backends.names = names;
  ETB_ASSIGN(Extensions extensions, Extensions::open({}));
  ETB_ASSIGN(Delegation delegation, Delegation::open(registry, options, extensions));
  AskedModel out;
  ETB_ASSIGN(out.module, pt2::import_archive(archive, {model, extensions.custom_ops()}));
  passes::PipelineOptions pipeline = portable_pipeline();
  pipeline.rules = extensions.rules();
  pipeline.on_rule_fault = [&](const std::string& owner, const Error& error) {
    delegation.add_rule_error(owner, error);
  };
  pipeline.decompose.preserved = delegation.preserved_ops();
  pipeline.quantized_constants = passes::QuantizedConstants::kKeep;
  ETB_TRY(passes::to_edge(out.module, pipeline));
  (void)pt2::bound_data_sizes(out.module);
  ETB_TRY(passes::simplify(out.module, pipeline));
  ETB_ASSIGN(out.report, delegation.ask({&out.module, 1}));
  return out;
}

}  // namespace etb::tools
