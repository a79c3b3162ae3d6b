#include "partitioner_sdk/emit/emit.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace etb::emit {

Result<Program> emit(std::span<ir::Module> methods, const EmitOptions& options) {
  Program program;
  DataSegment constants, states;
  for (ir::Module& module : methods) {
    MethodEmitter emitter(module, constants, states, options.has_kernel);
    auto method = emitter.run();
    if (!method)
      return tl::make_unexpected(with_context(std::move(method).error(), "method '" + module.name + "'"));
    program.methods.push_back({module.name, emitter.memory_plan().arena_nbytes,
                               emitter.memory_plan().lower_bound_nbytes, method->instructions.size()});
    program.parts.methods.push_back(*std::move(method));
  }
  // The official run time wants a constant segment even where there are no constants; such a file has no extended header.
  program.parts.constant_offsets = constants.offsets();
  program.parts.segment_nbytes.push_back(constants.nbytes());
  program.segments.push_back(constants.pieces());
  if (!states.is_empty()) {
    program.parts.mutable_segment = static_cast<uint32_t>(program.segments.size());
    program.parts.mutable_offsets = states.offsets();
    program.parts.segment_nbytes.push_back(states.nbytes());
    program.segments.push_back(states.pieces());
  }
  if (constants.nbytes() + states.nbytes() == 0) program.parts.header_length = 0;
  return program;
}

Status write_file(const Program& program, const std::string& path) {
  const std::string temporary = path + ".part";
  const auto fail = [&](const char* what) {
    const std::string why = std::strerror(errno);
    std::remove(temporary.c_str());
    return make_error(Code::ACCESS_FAILED, std::string(what) + " '" + path + "': " + why);
  };
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file(std::fopen(temporary.c_str(), "wb"));
  if (!file) return fail("cannot create");
  const Status written =
      format::write_program(program.parts, program.segments, [&](std::span<const std::byte> bytes) -> Status {
        if (std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size()) return {};
        return make_error(Code::ACCESS_FAILED, "short write");
      });
  if (!written) return fail("cannot write");
  if (std::fclose(file.release()) != 0) return fail("cannot write");
  if (std::rename(temporary.c_str(), path.c_str()) != 0) return fail("cannot rename to");
  return {};
}

}  // namespace etb::emit
