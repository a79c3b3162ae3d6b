// SPDX-License-Identifier: Apache-2.0
// The C API of Module (etb/module.h): checks its arguments and converts errors and exceptions to a status.
#include <array>
#include <exception>
#include <new>

#include "etb/module.h"
#include "host/module/module.hpp"

namespace {

using etb::Code;
using etb::Error;
using etb::make_error;
using etb::Result;
using etb::Status;
using etb::host::EValue;
using etb::host::Module;

Status check_struct(uint32_t found, size_t expected, uint32_t flags, const char* what) {
  if (found < expected) {
    return make_error(Code::INVALID_ARGUMENT, std::string(what) + ": struct_size " + std::to_string(found) +
                                                  ", expected " + std::to_string(expected));
  }
  if (flags != 0) return make_error(Code::INVALID_ARGUMENT, std::string(what) + ": unknown flags");
  return {};
}

// Converts exceptions (std::bad_alloc) to a status. No other function here catches one.
template <class Call>
etb_status guard(etb_error* error, Call call) noexcept {
  try {
    const Status status = call();
    return status ? ETB_OK : etb::to_c(status.error(), error);
  } catch (const std::bad_alloc&) {
    return etb::to_c(Error{Code::OUT_OF_MEMORY, "no memory left", {}, 0}, error);
  } catch (const std::exception& thrown) {
    return etb::to_c(Error{Code::INTERNAL, thrown.what(), {}, 0}, error);
  }
}

}  // namespace

// The module, and the arrays of a returned spec until the next call.
struct etb_module {
  explicit etb_module(Module opened) : module(std::move(opened)), names(module.method_names()) {}
  Module module;
  std::vector<std::string> names;
  std::array<int64_t, ETB_MAX_RANK> spec_sizes{};
  std::array<uint8_t, ETB_MAX_RANK> spec_order{};
};

namespace {

Status check_call(const etb_module* module, const char* method) {
  if (module == nullptr || method == nullptr)
    return make_error(Code::INVALID_ARGUMENT, "module or method is NULL");
  return {};
}

Result<etb::host::ModuleOptions> read_options(const etb_module_options* given) {
  etb::host::ModuleOptions options;
  if (given == nullptr) return options;
  ETB_TRY(check_struct(given->struct_size, sizeof(etb_module_options), given->flags, "options"));
  if (given->load_mode > ETB_LOAD_MMAP_TRY_LOCK) {
    return make_error(Code::INVALID_ARGUMENT,
                      "options: load mode " + std::to_string(given->load_mode) + ", expected 0 to 3");
  }
  options.load_mode = static_cast<etb::host::LoadMode>(given->load_mode);
  options.thread_count = given->thread_count;
  if (given->max_memory_bytes != 0) options.limits.max_memory_bytes = given->max_memory_bytes;
  for (uint64_t i = 0; i < given->data_path_count; ++i) {
    if (given->data_paths == nullptr || given->data_paths[i] == nullptr) {
      return make_error(Code::INVALID_ARGUMENT, "options: data path " + std::to_string(i) + " is NULL");
    }
    options.data_files.emplace_back(given->data_paths[i]);
  }
  return options;
}

template <class Open>
etb_status open_module(const etb_module_options* given, etb_module** out, etb_error* error,
                       Open open) noexcept {
  return guard(error, [&]() -> Status {
    if (out == nullptr) return make_error(Code::INVALID_ARGUMENT, "out is NULL");
    ETB_ASSIGN(auto options, read_options(given));
    ETB_ASSIGN(Module opened, open(std::move(options)));
    *out = new etb_module(std::move(opened));
    return {};
  });
}

void put_spec(etb_module& module, const etb::format::ValueView& spec, etb_value& out) {
  using etb::format::ValueKind;
  switch (spec.kind()) {
    case ValueKind::kNull:
      out.kind = ETB_VALUE_NONE;
      return;
    case ValueKind::kInt:
      out.kind = ETB_VALUE_INT;
      return;
    case ValueKind::kDouble:
      out.kind = ETB_VALUE_DOUBLE;
      return;
    case ValueKind::kBool:
      out.kind = ETB_VALUE_BOOL;
      return;
    case ValueKind::kTensor:
      break;
    default:
      out.kind = ETB_VALUE_OTHER;
      return;
  }
  const auto record = spec.as_tensor();
  std::copy(record.sizes.begin(), record.sizes.end(), module.spec_sizes.begin());
  std::copy(record.dim_order.begin(), record.dim_order.end(), module.spec_order.begin());
  out.kind = ETB_VALUE_TENSOR;
  out.tensor.dtype = record.dtype;
  out.tensor.rank = static_cast<uint32_t>(record.sizes.size());
  out.tensor.sizes = module.spec_sizes.data();
  out.tensor.dim_order = module.spec_order.data();
  if (record.dynamism != etb::format::Dynamism::kStatic) out.tensor.upper_sizes = module.spec_sizes.data();
  out.tensor.capacity_bytes = record.nbytes;
}

etb_status get_spec(etb_module* module, const char* method, uint32_t index, bool is_input, etb_value* out,
                    etb_error* error) noexcept {
  return guard(error, [&]() -> Status {
    ETB_TRY(check_call(module, method));
    if (out == nullptr) return make_error(Code::INVALID_ARGUMENT, "out is NULL");
    ETB_TRY(check_struct(out->struct_size, sizeof(etb_value), 0, "out"));
    ETB_ASSIGN(const auto meta, module->module.method_meta(method));
    const uint32_t count = is_input ? meta.input_count() : meta.output_count();
    if (index >= count) {
      return make_error(Code::INVALID_ARGUMENT, std::string(is_input ? "input " : "output ") +
                                                    std::to_string(index) + ": the method has " +
                                                    std::to_string(count));
    }
    *out = ETB_VALUE_INIT;
    put_spec(*module, is_input ? meta.input(index) : meta.output(index), *out);
    return {};
  });
}

// Converts a C value. A tensor's arrays are copied into `storage`.
Result<EValue> read_value(const etb_value& given, etb::host::TensorStorage& storage,
                          etb::host::Tensor& tensor) {
  switch (given.kind) {
    case ETB_VALUE_NONE:
      return EValue();
    case ETB_VALUE_INT:
      return EValue(given.integer);
    case ETB_VALUE_DOUBLE:
      return EValue(given.real);
    case ETB_VALUE_BOOL:
      return EValue(given.boolean != 0);
    case ETB_VALUE_TENSOR:
      break;
    default:
      return make_error(Code::INVALID_ARGUMENT,
                        "value of kind " + std::to_string(given.kind) + ", expected 0 to 4");
  }
  const etb_tensor& from = given.tensor;
  ETB_TRY(check_struct(from.struct_size, sizeof(etb_tensor), from.flags, "tensor"));
  if (from.rank > ETB_MAX_RANK || (from.rank != 0 && from.sizes == nullptr)) {
    return make_error(Code::INVALID_ARGUMENT,
                      "tensor of rank " + std::to_string(from.rank) + " without as many sizes");
  }
  if (!etb::host::is_known(from.dtype) || from.buffer != nullptr) {
    return make_error(Code::INVALID_ARGUMENT,
                      "tensor of dtype " + std::to_string(from.dtype) + ", or not in host memory");
  }
  const std::span<const int64_t> sizes(from.sizes, from.rank);
  const std::span<const uint8_t> order(from.dim_order, from.dim_order == nullptr ? 0 : from.rank);
  uint32_t seen = 0;
  for (const uint8_t dim : order) seen |= dim < from.rank ? 1U << dim : 0;
  int64_t numel = 0;
  if (!etb::host::count_elements(sizes, &numel) || (!order.empty() && seen != (1U << from.rank) - 1)) {
    return make_error(Code::INVALID_ARGUMENT,
                      "tensor with a negative size, too many elements or a wrong dim order");
  }
  const auto dtype = static_cast<etb::host::Dtype>(from.dtype);
  uint64_t nbytes = 0;
  if (__builtin_mul_overflow(static_cast<uint64_t>(numel), etb::host::element_nbytes(dtype), &nbytes) ||
      nbytes > from.capacity_bytes) {
    return make_error(Code::INVALID_ARGUMENT, "tensor memory of " + std::to_string(from.capacity_bytes) +
                                                  " bytes, its sizes need more");
  }
  tensor = storage.make(dtype, sizes, from.data, from.capacity_bytes, order);
  for (uint32_t dim = 0; from.strides != nullptr && dim < from.rank; ++dim) {
    if (from.sizes[dim] > 1 && from.strides[dim] != tensor.stride(static_cast<int>(dim))) {
      return make_error(Code::NOT_SUPPORTED, "tensor whose strides are not those of its dim order");
    }
  }
  return EValue(&tensor);
}

void put_value(const EValue& value, etb_value& out) {
  using etb::host::Tag;
  switch (value.tag()) {
    case Tag::kNone:
      out.kind = ETB_VALUE_NONE;
      return;
    case Tag::kInt:
      out.kind = ETB_VALUE_INT;
      out.integer = value.to_int();
      return;
    case Tag::kDouble:
      out.kind = ETB_VALUE_DOUBLE;
      out.real = value.to_double();
      return;
    case Tag::kBool:
      out.kind = ETB_VALUE_BOOL;
      out.boolean = value.to_bool() ? 1 : 0;
      return;
    case Tag::kTensor:
      break;
    default:
      out.kind = ETB_VALUE_OTHER;
      return;
  }
  const auto& tensor = value.tensor();
  out.kind = ETB_VALUE_TENSOR;
  out.tensor.dtype = static_cast<etb_dtype>(tensor.dtype());
  out.tensor.rank = static_cast<uint32_t>(tensor.rank());
  // etb_tensor is shared with plugins, which write sizes. An application only reads them.
  out.tensor.sizes = const_cast<int64_t*>(tensor.sizes().data());
  out.tensor.strides = tensor.strides().data();
  out.tensor.dim_order = tensor.dim_order().data();
  out.tensor.data = tensor.data();
  out.tensor.capacity_bytes = tensor.capacity_bytes();
}

}  // namespace

extern "C" {

etb_status ETB_CALL etb_module_open(const char* path, const etb_module_options* options, etb_module** out,
                                    etb_error* error) {
  return open_module(options, out, error, [path](etb::host::ModuleOptions read) -> Result<Module> {
    if (path == nullptr) return make_error(Code::INVALID_ARGUMENT, "path is NULL");
    return Module::open(path, std::move(read));
  });
}

etb_status ETB_CALL etb_module_open_bytes(etb_bytes bytes, const etb_module_options* options,
                                          etb_module** out, etb_error* error) {
  return open_module(options, out, error, [bytes](etb::host::ModuleOptions read) {
    const auto* first = static_cast<const std::byte*>(bytes.data);
    return Module::from_bytes({first, first == nullptr ? 0 : static_cast<size_t>(bytes.nbytes)},
                              std::move(read));
  });
}

void ETB_CALL etb_module_close(etb_module* module) { delete module; }

uint32_t ETB_CALL etb_module_method_count(const etb_module* module) {
  return module == nullptr ? 0 : static_cast<uint32_t>(module->names.size());
}

const char* ETB_CALL etb_module_method_name(const etb_module* module, uint32_t index) {
  return index < etb_module_method_count(module) ? module->names[index].c_str() : nullptr;
}

etb_status ETB_CALL etb_module_load_method(etb_module* module, const char* method, etb_error* error) {
  return guard(error, [&]() -> Status {
    ETB_TRY(check_call(module, method));
    return module->module.load_method(method);
  });
}

void ETB_CALL etb_module_unload_method(etb_module* module, const char* method) {
  if (module != nullptr && method != nullptr) module->module.unload_method(method);
}

etb_status ETB_CALL etb_module_io_count(etb_module* module, const char* method, uint32_t* out_input_count,
                                        uint32_t* out_output_count, etb_error* error) {
  return guard(error, [&]() -> Status {
    ETB_TRY(check_call(module, method));
    ETB_ASSIGN(const auto meta, module->module.method_meta(method));
    if (out_input_count != nullptr) *out_input_count = meta.input_count();
    if (out_output_count != nullptr) *out_output_count = meta.output_count();
    return {};
  });
}

etb_status ETB_CALL etb_module_input_spec(etb_module* module, const char* method, uint32_t index,
                                          etb_value* out, etb_error* error) {
  return get_spec(module, method, index, true, out, error);
}

etb_status ETB_CALL etb_module_output_spec(etb_module* module, const char* method, uint32_t index,
                                           etb_value* out, etb_error* error) {
  return get_spec(module, method, index, false, out, error);
}

etb_status ETB_CALL etb_module_set_input(etb_module* module, const char* method, uint32_t index,
                                         const etb_value* value, etb_error* error) {
  return guard(error, [&]() -> Status {
    ETB_TRY(check_call(module, method));
    if (value == nullptr) return make_error(Code::INVALID_ARGUMENT, "value is NULL");
    ETB_TRY(check_struct(value->struct_size, sizeof(etb_value), value->flags, "value"));
    etb::host::TensorStorage storage;
    etb::host::Tensor tensor;
    ETB_ASSIGN(const EValue read, read_value(*value, storage, tensor));
    return module->module.set_input(method, index, read);
  });
}

etb_status ETB_CALL etb_module_set_output(etb_module* module, const char* method, uint32_t index,
                                          void* memory, uint64_t nbytes, etb_error* error) {
  return guard(error, [&]() -> Status {
    ETB_TRY(check_call(module, method));
    if (memory == nullptr) return make_error(Code::INVALID_ARGUMENT, "memory is NULL");
    return module->module.set_output(method, index,
                                     {static_cast<std::byte*>(memory), static_cast<size_t>(nbytes)});
  });
}

etb_status ETB_CALL etb_module_execute(etb_module* module, const char* method, const etb_run_limits* limits,
                                       etb_error* error) {
  return guard(error, [&]() -> Status {
    ETB_TRY(check_call(module, method));
    etb::host::RunLimits read;
    if (limits != nullptr) {
      ETB_TRY(check_struct(limits->struct_size, sizeof(etb_run_limits), limits->flags, "limits"));
      read.max_instructions = limits->max_instructions;
      const auto& platform = etb::host::kDefaultPlatformHooks;
      if (limits->timeout_ns != 0) read.deadline_ns = platform.now_ns(platform.self) + limits->timeout_ns;
    }
    return module->module.run(method, read);
  });
}

etb_status ETB_CALL etb_module_get_output(etb_module* module, const char* method, uint32_t index,
                                          etb_value* out, etb_error* error) {
  return guard(error, [&]() -> Status {
    ETB_TRY(check_call(module, method));
    if (out == nullptr) return make_error(Code::INVALID_ARGUMENT, "out is NULL");
    ETB_TRY(check_struct(out->struct_size, sizeof(etb_value), 0, "out"));
    ETB_ASSIGN(const EValue value, module->module.get_output(method, index));
    *out = ETB_VALUE_INIT;
    put_value(value, *out);
    return {};
  });
}

}  // extern "C"
