// SPDX-License-Identifier: Apache-2.0
// One type for each function of a plugin's tables: its arguments, which a layer may read and change before the next
// table receives them. wrapping.hpp passes them to layers.
#pragma once

#include "etb/all.h"

namespace etb::host {

enum class ObjectKind : uint32_t {
  PLUGIN = ETB_OBJECT_PLUGIN,
  DEVICE = ETB_OBJECT_DEVICE,
  DELEGATE = ETB_OBJECT_DELEGATE,
  CONTEXT = ETB_OBJECT_CONTEXT
};

// "plugin", "device", "delegate", "context"
constexpr const char* to_text(ObjectKind kind) noexcept {
  switch (kind) {
    case ObjectKind::PLUGIN:
      return "plugin";
    case ObjectKind::DEVICE:
      return "device";
    case ObjectKind::DELEGATE:
      return "delegate";
    case ObjectKind::CONTEXT:
      return "context";
  }
  return "";
}

// The functions of the tables. No layer sees get_extension, because no extension passes it.
#define ETB_REQUIRED(table, function) table##_##function,
#define ETB_OPTIONAL(table, function, cap) table##_##function,
enum class Function : uint8_t {
#include "host/plugin/table_functions.def"
};
#undef ETB_REQUIRED
#undef ETB_OPTIONAL

// "delegate.execute"
constexpr const char* to_text(Function function) noexcept {
#define ETB_REQUIRED(table, function) #table "." #function,
#define ETB_OPTIONAL(table, function, cap) #table "." #function,
  constexpr const char* kTexts[] = {
#include "host/plugin/table_functions.def"
  };
#undef ETB_REQUIRED
#undef ETB_OPTIONAL
  return kTexts[static_cast<size_t>(function)];
}

namespace calls {

// The base of a call of one function.
template <Function kFunction>
struct Call {
  static constexpr Function function = kFunction;
};

struct Init : Call<Function::plugin_init> {
  const etb_plugin_ident* ident;
  const etb_host* host;  // as the layer received it
  const etb_option* options;
  uint64_t option_count;
};
struct Deinit : Call<Function::plugin_deinit> {};
struct OptionSchema : Call<Function::plugin_option_schema> {
  const etb_option_schema_sink* sink;
};
struct SetOption : Call<Function::plugin_set_option> {
  ObjectKind kind;  // of the object that the option belongs to
  uint64_t number;
  const etb_option* option;
};
struct GetOption : Call<Function::plugin_get_option> {
  ObjectKind kind;
  uint64_t number;
  const char* key;
  const etb_option_sink* sink;
};

struct Enumerate : Call<Function::device_enumerate> {
  const etb_device_sink* sink;
};
struct Open : Call<Function::device_open> {
  const uint8_t* uuid;
  const etb_option* options;
  uint64_t option_count;
};
struct Close : Call<Function::device_close> {};
struct QueryDevice : Call<Function::device_query> {
  const etb_device_sink* sink;
};

struct CheckPayload : Call<Function::delegate_check_payload> {
  const etb_payload_check* check;
  etb_verdict* verdict;
};
struct Create : Call<Function::delegate_create> {
  const etb_delegate_args* args;  // its device is the next layer's handle
  uint64_t device_number;         // 0: the plugin's default
};
struct Destroy : Call<Function::delegate_destroy> {};
struct QueryDelegate : Call<Function::delegate_query> {
  etb_delegate_info* info;
};
struct QueryIo : Call<Function::delegate_query_io> {
  const etb_io_req_sink* sink;
};
struct ContextCreate : Call<Function::delegate_context_create> {
  const etb_option* options;
  uint64_t option_count;
};
struct ContextDestroy : Call<Function::delegate_context_destroy> {};
struct ContextReserve : Call<Function::delegate_context_reserve> {
  const etb_tensor* inputs;
  uint32_t input_count;
};
struct Execute : Call<Function::delegate_execute> {
  const etb_exec_args* args;
};
struct ExecuteAsync : Call<Function::delegate_execute_async> {
  const etb_exec_args* args;
};
struct Cancel : Call<Function::delegate_cancel> {};

struct OpTable : Call<Function::aot_op_table> {
  const etb_op_sink* sink;
};
struct PreserveOps : Call<Function::aot_preserve_ops> {
  const etb_text_sink* sink;
};
struct Partition : Call<Function::aot_partition> {
  const etb_partition_args* args;
  const etb_partition_sink* sink;
};
struct DryCheck : Call<Function::aot_dry_check> {
  const etb_partition_args* args;
};
struct Estimate : Call<Function::aot_estimate> {
  const etb_partition_args* args;
  etb_estimate* estimate;
};
struct Compile : Call<Function::aot_compile> {
  const etb_compile_args* args;
};

}  // namespace calls
}  // namespace etb::host
