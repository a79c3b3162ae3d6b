// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/emit/shared_state.hpp"

namespace etb::emit {

namespace {
constexpr uint64_t kAlignment = 16;
}

Result<SharedState> SharedState::find(std::span<const ir::Module> methods) {
  struct Buffer {
    const ir::Constant* first = nullptr;
    size_t method_count = 0;
  };
  std::map<std::string, Buffer> buffers;
  std::set<std::string> written;
  for (const ir::Module& method : methods) {
    for (const ir::Output& output : method.main().outputs) {
      if (output.kind == ir::OutputKind::kBufferMutation) written.insert(output.target);
    }
  }
  for (const ir::Module& method : methods) {
    for (const ir::Input& input : method.main().inputs) {
      if (input.kind != ir::InputKind::kBuffer || input.constant == ir::kNone) continue;
      const ir::Constant& constant = method.constants[input.constant];
      Buffer& buffer = buffers[input.target];
      if (buffer.first == nullptr) buffer.first = &constant;
      ++buffer.method_count;
      if (buffer.first->dtype != constant.dtype || buffer.first->sizes != constant.sizes) {
        if (written.count(input.target) == 0) continue;
        return make_error(Code::INVALID_ARGUMENT, "buffer '" + input.target +
                                                      "' has other sizes or another dtype in method '" +
                                                      method.name + "' than in an earlier method");
      }
    }
  }
  SharedState state;
  for (const auto& [target, buffer] : buffers) {
    if (buffer.method_count < 2 || written.count(target) == 0) continue;
    state.offsets_[target] = state.nbytes_;
    state.nbytes_ += (buffer.first->nbytes() + kAlignment - 1) / kAlignment * kAlignment;
  }
  return state;
}

}  // namespace etb::emit
