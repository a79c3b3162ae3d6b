// SPDX-License-Identifier: Apache-2.0
#include "tools/bind/bindings.hpp"

#include <fmt/format.h>

#include "api/ops/custom_ops.hpp"

namespace etb::tools {

namespace {

// How an argument of a schema reaches a C++ function.
struct Passing {
  std::string type;  // "const Tensor&"
  std::string read;  // "args.read_tensor(0)"
  std::string letter;
};

struct PlainType {
  ops::BaseType base;
  const char* type;  // of a value
  const char* read;  // "int": read_int, read_optional_int
  char letter, optional_letter;
};
constexpr PlainType kPlainTypes[] = {{ops::BaseType::kInt, "int64_t", "int", 'i', 'n'},
                                     {ops::BaseType::kFloat, "double", "float", 'd', 'e'},
                                     {ops::BaseType::kBool, "bool", "bool", 'b', 'c'},
                                     {ops::BaseType::kString, "std::string_view", "string", 'z', 'y'},
                                     {ops::BaseType::kDtype, "int64_t", "dtype", 'i', 'n'}};

Passing pass_tensor(const ops::Argument& argument, uint32_t index) {
  const ops::Type& type = argument.type;
  if (type.is_list)
    return {"std::span<EValue* const>", fmt::format("args.value_at({}).values()", index),
            type.has_optional_items ? "M" : "L"};
  if (argument.is_out || argument.is_write)
    return {"Tensor&", fmt::format("args.read_written_tensor({})", index), "T!"};
  if (type.is_optional) return {"const Tensor*", fmt::format("args.read_optional_tensor({})", index), "t"};
  return {"const Tensor&", fmt::format("args.read_tensor({})", index), "T"};
}

Passing pass_list(const ops::Type& type, uint32_t index) {
  switch (type.base) {
    case ops::BaseType::kInt:
      if (type.is_optional)
        return {"std::optional<IntList>", fmt::format("args.read_optional_int_list({}, 0)", index), "j"};
      return {"IntList", fmt::format("args.read_int_list({}, 0)", index), "I"};
    case ops::BaseType::kFloat:
      if (type.is_optional)
        return {"std::optional<std::span<const double>>",
                fmt::format("args.read_optional_float_list({})", index), "f"};
      return {"std::span<const double>", fmt::format("args.value_at({}).doubles()", index), "D"};
    case ops::BaseType::kBool:
      if (!type.is_optional)
        return {"std::span<const uint8_t>", fmt::format("args.read_bool_list({})", index), "B"};
      return {};
    default:
      return {};
  }
}

// Without a type where no C++ type is known.
Passing pass(const ops::Argument& argument, uint32_t index) {
  const ops::Type& type = argument.type;
  if (type.base == ops::BaseType::kTensor) return pass_tensor(argument, index);
  if (type.is_list) return pass_list(type, index);
  if (type.base == ops::BaseType::kScalar)
    return type.is_optional
               ? Passing{"const EValue*", fmt::format("args.read_optional_scalar({})", index), "s"}
               : Passing{"const EValue&", fmt::format("args.read_scalar({})", index), "S"};
  for (const PlainType& plain : kPlainTypes) {
    if (plain.base != type.base) continue;
    if (type.is_optional)
      return {fmt::format("std::optional<{}>", plain.type),
              fmt::format("args.read_optional_{}({})", plain.read, index),
              {plain.optional_letter}};
    return {plain.type, fmt::format("args.read_{}({})", plain.read, index), {plain.letter}};
  }
  return {};
}

std::string literal(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// my.scale.out -> my::scale.out, my.scale.default -> my::scale.
std::string program_name(const ops::Schema& schema) {
  const std::string_view overload = schema.overload_name();
  return fmt::format("{}::{}{}", schema.op_namespace(), schema.base_name(),
                     overload == "default" ? "" : "." + std::string(overload));
}

std::string default_function(const ops::Schema& schema) {
  const std::string_view overload = schema.overload_name();
  return fmt::format("{}::{}{}", schema.op_namespace(), schema.base_name(),
                     overload == "default" ? "" : "_" + std::string(overload));
}

struct Binding {
  std::string code;  // checks and wrapper
  std::string row;
};

Result<Binding> bind(const BoundOp& op, const ops::Schema& kernel, size_t number) {
  const std::string function = op.kernel.empty() ? default_function(kernel) : op.kernel;
  const std::string name = program_name(kernel), schema = "; the schema is " + op.schema;
  std::string checks, call, letters, names;
  for (uint32_t i = 0; i < kernel.argument_count(); ++i) {
    const ops::Argument argument = kernel.argument(i);
    const Passing passing = pass(argument, i);
    if (passing.type.empty())
      return make_error(
          Code::NOT_SUPPORTED,
          fmt::format("{}: no C++ type for argument '{}' of type {}{}", op.schema, argument.name,
                      to_text(argument.type.base), argument.type.is_list ? "[]" : ""));
    checks +=
        fmt::format("static_assert(Function{}::has<{}, {}>(), {});\n", number, i, passing.type,
                    literal(fmt::format("{}: parameter {} of {} is for the argument '{}' and must be {}{}",
                                        name, i + 2, function, argument.name, passing.type, schema)));
    call += ", " + passing.read;
    letters += passing.letter;
    names += (i == 0 ? "" : ", ") + std::string(argument.name);
  }
  Binding out;
  out.code = fmt::format(
      "// {schema}\nusing Function{n} = BoundFunction<decltype(&{function})>;\n"
      "static_assert(Function{n}::kIsKernel, {no_kernel});\n"
      "static_assert(Function{n}::has_count<{count}>(), {arity});\n{checks}"
      "etb_status call_{n}(KernelContext& context, EValue** values) {{\n"
      "  const KernelArguments args(values);\n  return {function}(context{call});\n}}\n\n",
      fmt::arg("schema", op.schema), fmt::arg("n", number), fmt::arg("function", function),
      fmt::arg("no_kernel",
               literal(fmt::format("{}: {} must return etb_status, and its first parameter must be "
                                   "etb::host::KernelContext&{}",
                                   name, function, schema))),
      fmt::arg("count", kernel.argument_count()),
      fmt::arg("arity", literal(fmt::format("{}: {} must have {} parameters after the context: {}{}", name,
                                            function, kernel.argument_count(), names, schema))),
      fmt::arg("checks", checks), fmt::arg("call", call));
  out.row = fmt::format("    Kernel({}, \"{}\", &call_{}),\n", literal(name), letters, number);
  return out;
}

}  // namespace

Result<std::string> write_bindings(const OpList& list, const std::string& source,
                                   const std::string& function) {
  ops::CustomOps custom;
  for (const BoundOp& op : list.ops)
    if (const Status declared = custom.declare(op.schema); !declared)
      return make_error(Code::INVALID_DATA, source + ": " + declared.error().message);
  std::string code, rows;
  for (size_t i = 0; i < list.ops.size(); ++i) {
    const BoundOp& op = list.ops[i];
    const ops::Schema* const schema = custom.find(ops::dotted_name(op.schema.substr(0, op.schema.find('('))));
    if (schema == nullptr) return make_error(Code::INTERNAL, "no schema of " + op.schema);
    // Programs call the variant that writes into given tensors.
    const ops::Schema* const out = schema->out_variant();
    ETB_ASSIGN(const Binding binding, bind(op, out == nullptr ? *schema : *out, i));
    code += binding.code;
    rows += binding.row;
  }
  std::string text = fmt::format("// Written by `etbackend bind` from {}.\n", source);
  text += "#include <optional>\n#include <span>\n#include <string_view>\n\n";
  for (const std::string& header : list.headers) text += fmt::format("#include \"{}\"\n", header);
  if (function.empty()) text += "#include \"host/module/kernel_library.hpp\"\n";
  text += "#include \"host/runtime/kernel_binding.hpp\"\n\nnamespace {\n\nusing namespace etb::host;\n\n";
  text += code + "constexpr Kernel kRows[] = {\n" + rows + "};\n\n}  // namespace\n\n";
  if (function.empty()) return text + "ETB_EXPORT_KERNELS(kRows)\n";
  return text + fmt::format("etb::host::KernelRows {0}();\netb::host::KernelRows {0}() {{ return kRows; }}\n",
                            function);
}

}  // namespace etb::tools
