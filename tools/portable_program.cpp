// SPDX-License-Identifier: Apache-2.0
#include "tools/portable_program.hpp"

#include <filesystem>
#include <span>
#include <string_view>

#include "api/format/input_file.hpp"
#include "partitioner_sdk/emit/emit.hpp"
#include "partitioner_sdk/import/import.hpp"
#include "partitioner_sdk/import/input_bounds.hpp"
#include "tools/portable_target.hpp"

namespace etb::tools {

bool is_archive(const std::string& path) {
  const auto file = format::InputFile::open(path);
  char magic[4] = {};
  return file && file->nbytes() >= sizeof(magic) && file->read(0, std::as_writable_bytes(std::span(magic))) &&
         std::string_view(magic, 4) == "PK\3\4";
}

namespace {

Status compile(const std::string& archive, format::OutputFile& output) {
  ETB_ASSIGN(ir::Module module, pt2::import_archive(archive, {}));
  if (auto bounded = pt2::bound_inputs(module, {}); !bounded) return tl::make_unexpected(bounded.error());
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
  if (failed) return make_error(Code::ACCESS_FAILED, "no folder for temporary files: " + failed.message());
  ETB_ASSIGN(format::OutputFile file, format::OutputFile::open_unnamed(where.string()));
  ETB_TRY(compile(archive, file));
  return PortableProgram(std::move(file));
}

}  // namespace etb::tools
