#include "tools/portable_program.hpp"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string_view>

#include "partitioner_sdk/emit/emit.hpp"
#include "partitioner_sdk/import/import.hpp"
#include "tools/portable_target.hpp"

namespace etb::tools {

bool is_archive(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  char magic[4] = {};
  return in.read(magic, sizeof(magic)) && std::string_view(magic, 4) == "PK\3\4";
}

namespace {

Status compile(const std::string& archive, const std::string& output) {
  ETB_ASSIGN(ir::Module module, pt2::import_archive(archive, {}));
  module.name = "forward";
  const passes::PipelineOptions pipeline = portable_pipeline();
  ETB_TRY(passes::to_edge(module, pipeline));
  ETB_TRY(passes::simplify(module, pipeline));
  ETB_TRY(passes::to_portable(module, pipeline));
  emit::EmitOptions options;
  ETB_ASSIGN(options.has_kernel, portable_kernels());
  const std::vector<ir::FileBytes> files = module.files;
  ETB_ASSIGN(const emit::Program program, emit::emit({&module, 1}, options));
  return emit::write_file(program, output, files);
}

}  // namespace

Result<PortableProgram> PortableProgram::make(const std::string& archive) {
  std::error_code failed;
  const std::filesystem::path where = std::filesystem::temp_directory_path(failed);
  std::string folder = (where / "etbackend-run-XXXXXX").string();
  if (failed || ::mkdtemp(folder.data()) == nullptr)
    return make_error(Code::ACCESS_FAILED, "no folder for temporary files in '" + where.string() + "'");
  PortableProgram program(std::move(folder));
  ETB_TRY(compile(archive, program.path()));
  return program;
}

PortableProgram::~PortableProgram() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

}  // namespace etb::tools
