// SPDX-License-Identifier: Apache-2.0
// The table of one variant.
#include "host/kernels/vector/table.hpp"

#include "host/kernels/vector/variant.hpp"

namespace etb::host {
namespace ETB_VARIANT {
#define ETB_LOOP_TABLE(type, member, object) extern const type object;
ETB_LOOP_TABLES(ETB_LOOP_TABLE)
#undef ETB_LOOP_TABLE
extern const VectorTable kTable;

#define ETB_TEXT_(name) #name
#define ETB_TEXT(name) ETB_TEXT_(name)
#if defined(ETB_SELECTED_KERNELS)
const VectorTable kTable = {ETB_TEXT(ETB_VARIANT)};
#else
extern const ElementLoops kElementLoops;
#define ETB_LOOP_TABLE(type, member, object) &object,
const VectorTable kTable = {ETB_TEXT(ETB_VARIANT), &kElementLoops, ETB_LOOP_TABLES(ETB_LOOP_TABLE)};
#undef ETB_LOOP_TABLE
#endif
}  // namespace ETB_VARIANT
}  // namespace etb::host
