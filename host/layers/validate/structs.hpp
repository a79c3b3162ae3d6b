// SPDX-License-Identifier: Apache-2.0
// Checks structs: their size, flags and reserved fields (ABI-SIZE-01, -02, -04, ABI-TYPE-02), and
// the ranges that the headers define (ABI-TYPE-03, ABI-CALL-04). The functions return true if the
// struct may be read further.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "etb/all.h"
#include "host/layers/validate/call.hpp"

namespace etb::host::validate {

struct StructFacts {
  const char* type;
  uint32_t nbytes_1_0;
  uint32_t known_flags;
};

template <class T>
StructFacts facts_of();

#define ETB_STRUCT(type, last_field, known_flags)                      \
  template <>                                                          \
  inline StructFacts facts_of<type>() {                                \
    return {#type, ETB_SIZE_THROUGH(type, last_field), (known_flags)}; \
  }
#include "host/layers/validate/struct_facts.def"
#undef ETB_STRUCT

// Checks struct_size and flags, the first two fields of every struct.
bool check_head(Call& call, Side side, const void* head, const StructFacts& facts, const std::string& where);

template <class T>
bool check_struct(Call& call, Side side, const T* item, const std::string& where) {
  if (item == nullptr) {
    call.report(side, "ABI-CALL-04", where + " is NULL");
    return false;
  }
  if (!check_head(call, side, item, facts_of<T>(), where)) return false;
  if constexpr (requires { item->reserved; })
    if (item->reserved != 0) call.report(side, "ABI-TYPE-02", where + ".reserved is not zero");
  return true;
}

// Checks a struct of the host with a function that the plugin calls. Rejects the call without the function.
template <class T, class F>
bool check_callable(Call& call, const T* item, F T::*function, const std::string& where) {
  if (!check_struct(call, Side::HOST, item, where)) {
    call.refuse();
    return false;
  }
  if (item->*function != nullptr) return true;
  call.fatal("ABI-CALL-04", ETB_INVALID_ARGUMENT, "{} has no function to call", where);
  return false;
}

// Checks an array of structs, and that they are struct_size bytes apart.
template <class T, class Each>
bool check_array(Call& call, Side side, const T* items, uint64_t count, const std::string& where,
                 Each&& each) {
  if (count == 0) return true;
  if (items == nullptr) {
    call.report(side, "ABI-CALL-04", fmt::format("{} is NULL, its count {}", where, count));
    return false;
  }
  const uint32_t stride = items->struct_size;
  for (uint64_t i = 0; i < count; ++i) {
    const T* const item = reinterpret_cast<const T*>(reinterpret_cast<const char*>(items) + i * stride);
    const std::string name = fmt::format("{}[{}]", where, i);
    if (!check_struct(call, side, item, name)) return false;
    if (item->struct_size != stride) {
      call.report(side, "ABI-SIZE-04",
                  fmt::format("{}.struct_size is {}, of the first {}", name, item->struct_size, stride));
      return false;
    }
    if (!each(*item, name)) return false;
  }
  return true;
}

bool check_text(Call& call, Side side, const char* text, const std::string& where);
bool check_bytes(Call& call, Side side, const etb_bytes& bytes, const std::string& where);
bool check_double(Call& call, Side side, double value, double minimum, double maximum,
                  const std::string& where);
bool check_option(Call& call, Side side, const etb_option& option, const std::string& where,
                  bool in_list = false);
bool check_options(Call& call, Side side, const etb_option* options, uint64_t count,
                   const std::string& where);
bool check_specs(Call& call, Side side, const etb_compile_spec* specs, uint64_t count,
                 const std::string& where);
bool check_target(Call& call, const etb_target* target);  // NULL is allowed
bool check_graph(Call& call, const etb_graph_image& image, const std::string& where);
bool check_tensor_spec(Call& call, const etb_tensor_spec& spec, const std::string& where);
bool check_payload_view(Call& call, Side side, const etb_payload_view& view, const std::string& where);
bool is_dtype(etb_dtype dtype);
bool is_power_of_two(uint64_t value);

// Checks of items that plugins put into sinks.
bool check_item(Call& call, const etb_option& option);
bool check_item(Call& call, const etb_option_schema& schema);
bool check_item(Call& call, const etb_device_info& info);
bool check_item(Call& call, const etb_io_req& req);
bool check_item(Call& call, const etb_op_capability& op);
bool check_item(Call& call, const etb_event& event);

// A struct that the callee fills: a guarded copy with the caller's struct_size. commit copies it back.
template <class T>
class OutStruct {
 public:
  OutStruct(Call& call, T* real, const char* where) : call_(call), real_(real), where_(where) {
    if (!check_struct(call, Side::HOST, static_cast<const T*>(real), where)) {
      call.refuse();
      return;
    }
    nbytes_ = real->struct_size;
    copy_ = std::make_unique<GuardedBytes>(call.memory(), nbytes_, alignof(T));
    std::memcpy(copy_->inside(), real, nbytes_);
  }

  T* get() { return copy_ == nullptr ? nullptr : reinterpret_cast<T*>(copy_->data()); }

  // Reports writes outside the struct. Copies the struct back when the call succeeded.
  void commit(etb_status status) {
    if (copy_ == nullptr) return;
    if (const auto damage = copy_->take_damage()) call_.plugin("ABI-SIZE-03", "{}: {}", where_, *damage);
    if (get()->struct_size != nbytes_) {
      call_.plugin("ABI-SIZE-03", "{}.struct_size was changed from {} to {}", where_, nbytes_,
                   get()->struct_size);
      get()->struct_size = nbytes_;
    }
    if (status == ETB_OK) std::memcpy(real_, copy_->inside(), nbytes_);
    call_.state().watch(std::move(copy_), "ABI-OWN-01", Side::PLUGIN, call_.function(),
                        where_ + std::string(" after the call"));
  }

 private:
  Call& call_;
  T* const real_;
  const char* const where_;
  uint32_t nbytes_ = 0;
  std::unique_ptr<GuardedBytes> copy_;
};

}  // namespace etb::host::validate
