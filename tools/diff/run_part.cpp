// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/run_part.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "partitioner_sdk/emit/program_memory.hpp"
#include "partitioner_sdk/partition/partition.hpp"
#include "partitioner_sdk/partition/report.hpp"
#include "partitioner_sdk/passes/passes.hpp"
#include "tools/portable_target.hpp"

namespace etb::diff {
namespace {

passes::PipelineOptions pipeline_of(const CompileTarget& target) {
  return target.folds_constants ? tools::portable_pipeline() : passes::PipelineOptions{};
}

Result<partition::Partition> partition_method(ir::Module& module, const CompileTarget& target,
                                              partition::ConstantKeys& keys) {
  ETB_TRY(passes::make_row_major(module));
  ETB_ASSIGN(partition::Partition done,
             partition::partition({&module, 1}, target.compilers, partition::PartitionOptions{}, keys));
  for (const partition::PluginError& error : done.plugin_errors)
    return make_error(Code::INTERNAL, "plugin '" + error.plugin + "': " + error.text);
  return done;
}

std::vector<DelegatedRegion> regions_of(const partition::Partition& done) {
  std::vector<DelegatedRegion> out;
  for (const partition::Region& region : done.regions)
    if (region.graph == 0) out.push_back({region.compiler, region.nodes});
  return out;
}

template <class T>
TensorData number_of(etb_dtype dtype, T value) {
  TensorData out;
  out.shape.dtype = dtype;
  out.bytes.resize(sizeof(value));
  std::memcpy(out.bytes.data(), &value, sizeof(value));
  return out;
}

}  // namespace

TensorData copy_of(const host::EValue& value) {
  if (value.is_double()) return number_of(ETB_DTYPE_FLOAT64, value.to_double());
  if (value.is_bool()) return number_of(ETB_DTYPE_BOOL, static_cast<uint8_t>(value.to_bool()));
  if (value.is_int()) return number_of(ETB_DTYPE_INT64, value.to_int());
  TensorData out;
  if (!value.is_tensor()) return out;
  const host::Tensor& tensor = value.tensor();
  out.shape.dtype = static_cast<etb_dtype>(tensor.dtype());
  out.shape.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  if (!tensor.is_contiguous())
    out.shape.dim_order.assign(tensor.dim_order().begin(), tensor.dim_order().end());
  out.bytes.resize(tensor.nbytes());
  if (!out.bytes.empty()) std::memcpy(out.bytes.data(), tensor.data(), out.bytes.size());
  return out;
}

// In order of life.
struct CompiledMethod::Memory {
  ir::Module module;  // its constants are read in place
  partition::ConstantKeys keys;
  partition::Partition partition;
  std::optional<emit::ProgramMemory> program;
  std::optional<host::Module> runner;
};

CompiledMethod::~CompiledMethod() = default;

Result<std::unique_ptr<CompiledMethod>> CompiledMethod::make(ir::Module module, const CompileTarget& target) {
  std::unique_ptr<CompiledMethod> out(new CompiledMethod);
  out->memory_ = std::make_unique<Memory>();
  Memory& memory = *out->memory_;
  memory.module = std::move(module);
  const passes::PipelineOptions pipeline = pipeline_of(target);
  const std::span<ir::Module> modules(&memory.module, 1);
  emit::EmitOptions options;
  std::vector<emit::Delegate> delegates;
  std::vector<emit::NamedBytes> named;
  if (!target.compilers.empty()) {
    ETB_ASSIGN(memory.partition, partition_method(memory.module, target, memory.keys));
    out->regions_ = regions_of(memory.partition);
    ETB_TRY(partition::lower(modules, memory.partition));
    for (const partition::Region& region : memory.partition.regions)
      delegates.push_back({.id = memory.partition.backend_ids[region.compiler],
                           .payload = region.artifact.payload,
                           .specs = region.artifact.specs,
                           .debug_names = {}});
    for (const partition::NamedBlob& blob : memory.partition.blobs)
      named.push_back({blob.key,
                       blob.constant_key.empty() ? blob.bytes : memory.keys.find(blob.constant_key)->bytes,
                       blob.alignment});
  }
  ETB_TRY(passes::to_edge(memory.module, pipeline));  // preserved ops that no region has
  ETB_TRY(passes::to_portable(memory.module, pipeline));
  if (target.kernel_libraries.empty()) {
    ETB_ASSIGN(options.has_kernel, tools::portable_kernels());
  }
  options.delegates = delegates;
  options.named_data = named;
  ETB_ASSIGN(const emit::Program program, emit::emit(modules, options));
  ETB_ASSIGN(memory.program, emit::ProgramMemory::make(program));
  host::ModuleOptions load;
  load.delegates = target.delegates;
  load.kernel_libraries = target.kernel_libraries;
  ETB_ASSIGN(memory.runner, host::Module::from_bytes(memory.program->bytes(), load));
  return out;
}

Result<host::MethodMeta> CompiledMethod::meta() const { return memory_->runner->method_meta("forward"); }

Result<std::vector<TensorData>> CompiledMethod::run(std::span<const host::EValue> inputs) {
  ETB_ASSIGN(const std::vector<host::EValue> outputs, memory_->runner->execute("forward", inputs));
  std::vector<TensorData> out;
  for (const host::EValue& output : outputs) out.push_back(copy_of(output));
  return out;
}

Result<std::vector<TensorData>> CompiledMethod::run(std::span<const TensorData* const> inputs) {
  std::vector<host::OwnedTensor> tensors;
  std::vector<host::EValue> values;
  tensors.reserve(inputs.size());
  for (const TensorData* input : inputs) {
    tensors.emplace_back(static_cast<host::Dtype>(input->shape.dtype), input->shape.sizes,
                         input->shape.dim_order);
    std::copy(input->bytes.begin(), input->bytes.end(), tensors.back().bytes().begin());
    values.push_back(tensors.back().value());
  }
  return run(std::span<const host::EValue>(values));
}

Result<std::vector<DelegatedRegion>> find_regions(ir::Module module, const CompileTarget& target) {
  if (target.compilers.empty()) return std::vector<DelegatedRegion>{};
  partition::ConstantKeys keys;
  ETB_ASSIGN(const partition::Partition done, partition_method(module, target, keys));
  return regions_of(done);
}

}  // namespace etb::diff
