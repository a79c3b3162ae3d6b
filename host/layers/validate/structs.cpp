// SPDX-License-Identifier: Apache-2.0
#include "host/layers/validate/structs.hpp"

#include <cmath>

#include "api/format/graph_verifier.hpp"
#include "etb/cpp/tensor.hpp"

namespace etb::host::validate {
namespace {

constexpr uint32_t kAbsurdNbytes = 1u << 16;  // a hundred times the largest struct of version 1.0

struct Head {
  uint32_t struct_size;
  uint32_t flags;
};

bool is_option_type(uint32_t type) { return type >= ETB_OPTION_BOOL && type <= ETB_OPTION_LIST; }

bool report_value(Call& call, Side side, const std::string& where, const std::string& found,
                  const char* expected) {
  call.report(side, "ABI-TYPE-03", fmt::format("{} is {}, expected {}", where, found, expected));
  return false;
}

}  // namespace

bool check_head(Call& call, Side side, const void* head, const StructFacts& facts, const std::string& where) {
  Head read;
  std::memcpy(&read, head, sizeof(read));
  if (read.struct_size < facts.nbytes_1_0) {
    call.report(side, "ABI-SIZE-02",
                fmt::format("{}.struct_size is {}, {} of version 1.0 has {}", where, read.struct_size,
                            facts.type, facts.nbytes_1_0));
    return false;
  }
  if (read.struct_size > kAbsurdNbytes || read.struct_size % 4 != 0) {
    call.report(side, "ABI-SIZE-01",
                fmt::format("{}.struct_size is {}, not a size of {}", where, read.struct_size, facts.type));
    return false;
  }
  if ((read.flags & ~facts.known_flags) != 0) {
    call.report(side, "ABI-TYPE-02",
                fmt::format("{}.flags has unknown bits {:#x}", where, read.flags & ~facts.known_flags));
    return false;
  }
  return true;
}

bool check_text(Call& call, Side side, const char* text, const std::string& where) {
  if (text != nullptr) return true;
  call.report(side, "ABI-CALL-04", where + " is NULL");
  return false;
}

bool check_bytes(Call& call, Side side, const etb_bytes& bytes, const std::string& where) {
  if (bytes.data != nullptr || bytes.nbytes == 0) return true;
  call.report(side, "ABI-CALL-04", fmt::format("{}.data is NULL, its nbytes {}", where, bytes.nbytes));
  return false;
}

bool check_double(Call& call, Side side, double value, double minimum, double maximum,
                  const std::string& where) {
  if (value >= minimum && value <= maximum) return true;
  return report_value(call, side, where, fmt::format("{}", value),
                      fmt::format("{} to {}", minimum, maximum).c_str());
}

bool is_power_of_two(uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

bool is_dtype(etb_dtype dtype) { return dtype_bits(dtype) != 0; }

bool check_option(Call& call, Side side, const etb_option& option, const std::string& where, bool in_list) {
  if (!in_list && !check_text(call, side, option.key, where + ".key")) return false;
  if (!is_option_type(option.type) || (in_list && option.type == ETB_OPTION_LIST))
    return report_value(call, side, where + ".type", fmt::format("{}", option.type), "a type of option.h");
  if (option.type == ETB_OPTION_BOOL && option.i64 != 0 && option.i64 != 1)
    return report_value(call, side, where + ".i64", fmt::format("{}", option.i64), "0 or 1");
  if (option.type == ETB_OPTION_F64 && std::isnan(option.f64))
    return report_value(call, side, where + ".f64", "NaN", "a number");
  if (option.type == ETB_OPTION_TEXT) return check_text(call, side, option.text, where + ".text");
  if (option.type == ETB_OPTION_BYTES) return check_bytes(call, side, option.bytes, where + ".bytes");
  if (option.type == ETB_OPTION_LIST)
    return check_array(call, side, option.items, option.item_count, where + ".items",
                       [&](const etb_option& item, const std::string& name) {
                         return check_option(call, side, item, name, true);
                       });
  return true;
}

bool check_options(Call& call, Side side, const etb_option* options, uint64_t count,
                   const std::string& where) {
  return check_array(call, side, options, count, where,
                     [&](const etb_option& option, const std::string& name) {
                       return check_option(call, side, option, name);
                     });
}

bool check_specs(Call& call, Side side, const etb_compile_spec* specs, uint64_t count,
                 const std::string& where) {
  return check_array(call, side, specs, count, where,
                     [&](const etb_compile_spec& spec, const std::string& name) {
                       return check_text(call, side, spec.key, name + ".key") &&
                              check_bytes(call, side, spec.value, name + ".value");
                     });
}

bool check_target(Call& call, const etb_target* target) {
  if (target == nullptr) return true;
  return check_struct(call, Side::HOST, target, "target") &&
         check_text(call, Side::HOST, target->kind, "target.kind") &&
         check_text(call, Side::HOST, target->name, "target.name") &&
         check_options(call, Side::HOST, target->attributes, target->attribute_count, "target.attributes");
}

bool check_graph(Call& call, const etb_graph_image& image, const std::string& where) {
  if (!check_bytes(call, Side::HOST, image.image, where + ".image")) return false;
  if (reinterpret_cast<uintptr_t>(image.image.data) % ETB_GRAPH_ALIGNMENT != 0) {
    call.host("ABI-GRAPH-02", ETB_INVALID_ARGUMENT, "{}.image.data is not aligned to {}", where,
              ETB_GRAPH_ALIGNMENT);
    return true;
  }
  const auto* const data = static_cast<const uint8_t*>(image.image.data);
  if (const Status verified = graph::verify_graph_image({data, image.image.nbytes}); !verified)
    call.host("ABI-GRAPH-01", ETB_INVALID_DATA, "{}.image: {}", where, verified.error().message);
  return true;
}

bool check_tensor_spec(Call& call, const etb_tensor_spec& spec, const std::string& where) {
  if (!is_dtype(spec.dtype))
    return report_value(call, Side::PLUGIN, where + ".dtype", fmt::format("{}", spec.dtype),
                        "a code of dtype.def");
  if (spec.rank > ETB_MAX_RANK)
    return report_value(call, Side::PLUGIN, where + ".rank", fmt::format("{}", spec.rank), "at most 16");
  if (spec.rank == 0 || spec.sizes != nullptr) return true;
  call.plugin("ABI-CALL-04", "{}.sizes is NULL, its rank {}", where, spec.rank);
  return false;
}

bool check_payload_view(Call& call, Side side, const etb_payload_view& view, const std::string& where) {
  if (view.data == nullptr && view.nbytes != 0 && view.fd < 0) {
    call.report(side, "ABI-CALL-04",
                fmt::format("{} has {} bytes but neither data nor a file", where, view.nbytes));
    return false;
  }
  if (view.nbytes == 0) return true;
  if (!is_power_of_two(view.alignment) || view.alignment < 16)
    return report_value(call, side, where + ".alignment", fmt::format("{}", view.alignment),
                        "a power of two from 16");
  if (reinterpret_cast<uintptr_t>(view.data) % view.alignment != 0)
    return report_value(call, side, where + ".data", "not aligned",
                        fmt::format("a multiple of {}", view.alignment).c_str());
  return true;
}

bool check_item(Call& call, const etb_option& option) {
  return check_option(call, Side::PLUGIN, option, "option");
}

bool check_item(Call& call, const etb_option_schema& schema) {
  const Side side = Side::PLUGIN;
  if (!check_text(call, side, schema.key, "schema.key") || !check_text(call, side, schema.doc, "schema.doc"))
    return false;
  const std::string where = fmt::format("schema of '{}'", schema.key);
  if (!is_option_type(schema.type))
    return report_value(call, side, where + ".type", fmt::format("{}", schema.type), "a type of option.h");
  constexpr uint32_t kScopes = 2 * ETB_OBJECT_RUN - 1;
  if (schema.scopes == 0 || (schema.scopes & ~kScopes) != 0)
    return report_value(call, side, where + ".scopes", fmt::format("{:#x}", schema.scopes),
                        "ETB_OBJECT_* bits");
  if (schema.mutable_when > ETB_OPTION_ANY_TIME)
    return report_value(call, side, where + ".mutable_when", fmt::format("{}", schema.mutable_when),
                        "0 to 2");
  if (std::isnan(schema.minimum) || std::isnan(schema.maximum) || schema.minimum > schema.maximum)
    return report_value(call, side, where, fmt::format("from {} to {}", schema.minimum, schema.maximum),
                        "a range");
  for (uint32_t i = 0; i < schema.choice_count; ++i)
    if (schema.choices == nullptr || !check_text(call, side, schema.choices[i], where + ".choices"))
      return false;
  return schema.default_value == nullptr ||
         (check_struct(call, side, schema.default_value, where + ".default_value") &&
          check_option(call, side, *schema.default_value, where + ".default_value"));
}

bool check_item(Call& call, const etb_device_info& info) {
  const Side side = Side::PLUGIN;
  return check_text(call, side, info.kind, "info.kind") && check_text(call, side, info.name, "info.name") &&
         check_text(call, side, info.driver_version, "info.driver_version") &&
         check_options(call, side, info.attributes, info.attribute_count, "info.attributes");
}

bool check_item(Call& call, const etb_io_req& req) {
  const Side side = Side::PLUGIN;
  if (req.role != ETB_ROLE_INPUT && req.role != ETB_ROLE_OUTPUT)
    return report_value(call, side, "req.role", fmt::format("{:#x}", req.role), "input or output");
  if (!is_power_of_two(req.alignment))
    return report_value(call, side, "req.alignment", fmt::format("{}", req.alignment), "a power of two");
  for (uint32_t i = 0; i < req.kind_count; ++i)
    if (req.kinds == nullptr || !check_text(call, side, req.kinds[i], "req.kinds")) return false;
  return req.spec == nullptr ||
         (check_struct(call, side, req.spec, "req.spec") && check_tensor_spec(call, *req.spec, "req.spec"));
}

bool check_item(Call& call, const etb_op_capability& op) {
  const Side side = Side::PLUGIN;
  if (!check_text(call, side, op.op, "op.op") || !check_text(call, side, op.constraint, "op.constraint"))
    return false;
  for (uint32_t i = 0; i < op.dtype_count; ++i)
    if (op.dtypes == nullptr || !is_dtype(op.dtypes[i]))
      return report_value(call, side, fmt::format("dtypes of '{}'", op.op), "another", "codes of dtype.def");
  if (op.min_rank > op.max_rank || op.max_rank > ETB_MAX_RANK)
    return report_value(call, side, fmt::format("ranks of '{}'", op.op),
                        fmt::format("{} to {}", op.min_rank, op.max_rank), "a range within 0 to 16");
  constexpr uint32_t kLayouts = ETB_LAYOUT_CONTIGUOUS | ETB_LAYOUT_CHANNELS_LAST | ETB_LAYOUT_ANY;
  if ((op.layouts & ~kLayouts) != 0)
    return report_value(call, side, fmt::format("layouts of '{}'", op.op), fmt::format("{:#x}", op.layouts),
                        "ETB_LAYOUT_* bits");
  for (uint32_t i = 0; i < op.quant_scheme_count; ++i)
    if (op.quant_schemes == nullptr || !check_text(call, side, op.quant_schemes[i], "op.quant_schemes"))
      return false;
  return true;
}

bool check_item(Call& call, const etb_event& event) {
  const Side side = Side::PLUGIN;
  if (!check_text(call, side, event.timebase, "event.timebase") ||
      !check_bytes(call, side, event.metadata, "event.metadata"))
    return false;
  if (event.name == nullptr && event.debug_id == -1) {
    call.plugin("ABI-CALL-04", "the event has neither name nor debug_id");
    return false;
  }
  if (event.begin_ticks > event.end_ticks)
    call.plugin("ABI-PROF-01", "the event '{}' begins at {} and ends at {}", event.name ? event.name : "",
                event.begin_ticks, event.end_ticks);
  if (event.ns_numerator == 0 || event.ns_denominator == 0)
    return report_value(call, side, "event", "with ticks of length 0",
                        "ns_numerator and ns_denominator above 0");
  return true;
}

}  // namespace etb::host::validate
