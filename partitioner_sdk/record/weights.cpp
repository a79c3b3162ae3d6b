// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/record/weights.hpp"

#include <set>

#include "api/format/printable_text.hpp"
#include "partitioner_sdk/record/pickle_writer.hpp"

namespace etb::record {
namespace {

// A dict of the inputs that `wants` accepts, by their target.
template <class Wants>
Result<std::string> save_inputs(const ir::Module& module, Wants wants) {
  PickleWriter out;
  std::set<std::string> names;  // one tensor may be several inputs
  out.begin_dict();
  for (const ir::Input& input : module.main().inputs) {
    if (!wants(input.kind) || input.constant == ir::kNone || !names.insert(input.target).second) continue;
    out.put_text(input.target);
    const ir::Constant& constant = module.constants[input.constant];
    if (Status put =
            input.kind == ir::InputKind::kParameter ? out.put_parameter(constant) : out.put_tensor(constant);
        !put)
      return tl::make_unexpected(
          with_context(std::move(put).error(), "'" + format::made_printable(input.target) + "'"));
  }
  out.end_dict();
  return out.finish();
}

}  // namespace

Status add_weights(const ir::Module& module, SavedProgram& program) {
  ETB_ASSIGN(program.state_dict, save_inputs(module, [](ir::InputKind kind) {
               return kind == ir::InputKind::kParameter || kind == ir::InputKind::kBuffer;
             }));
  ETB_ASSIGN(program.constants,
             save_inputs(module, [](ir::InputKind kind) { return kind == ir::InputKind::kConstant; }));
  return {};
}

}  // namespace etb::record
