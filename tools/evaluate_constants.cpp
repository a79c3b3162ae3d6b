#include "tools/evaluate_constants.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>

#include "host/module/module.hpp"
#include "partitioner_sdk/emit/emit.hpp"

namespace etb::tools {

namespace {

struct FreeMemory {
  void operator()(std::byte* data) const { std::free(data); }
};

}  // namespace

Result<std::vector<std::vector<std::byte>>> evaluate_constants(ir::Module& module) {
  ETB_ASSIGN(const emit::Program program, emit::emit({&module, 1}));
  // In memory, aligned as the run time wants it.
  constexpr size_t kAlignment = 128;
  const size_t capacity = format::make_program_head(program.parts).file_nbytes;
  const std::unique_ptr<std::byte, FreeMemory> image(static_cast<std::byte*>(
      std::aligned_alloc(kAlignment, (capacity + kAlignment - 1) / kAlignment * kAlignment)));
  if (!image) return make_error(Code::OUT_OF_MEMORY, "no memory for folding constants");
  size_t nbytes = 0;
  ETB_TRY(
      format::write_program(program.parts, program.segments, [&](std::span<const std::byte> bytes) -> Status {
        if (bytes.size() > capacity - nbytes)
          return make_error(Code::INTERNAL, "program longer than announced");
        if (!bytes.empty()) std::memcpy(image.get() + nbytes, bytes.data(), bytes.size());
        nbytes += bytes.size();
        return {};
      }));
  ETB_ASSIGN(host::Module runner, host::Module::from_bytes({image.get(), nbytes}));
  ETB_ASSIGN(const std::vector<host::EValue> outputs, runner.forward({}));
  std::vector<std::vector<std::byte>> values;
  for (const host::EValue& output : outputs) {
    const host::Tensor& tensor = output.tensor();
    const auto* data = static_cast<const std::byte*>(tensor.data());
    values.emplace_back(data, data + tensor.nbytes());
  }
  return values;
}

}  // namespace etb::tools
