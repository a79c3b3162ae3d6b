// SPDX-License-Identifier: Apache-2.0
// Names of the entries of a record's zip file.
#pragma once

#include <string_view>

namespace etb::record {

// Official writers leave the marker empty and official readers do not read it, so it holds the program's identity here.
inline constexpr std::string_view kMarker = "ETRECORD_V0";
inline constexpr std::string_view kExportedProgram = "exported_program";
// Before 1.2 the only edge graph has this name; later ones have "/METHOD" after it.
inline constexpr std::string_view kEdgeProgram = "edge_dialect_exported_program";
inline constexpr std::string_view kDebugHandleMap = "debug_handle_map";
inline constexpr std::string_view kDelegateMap = "delegate_map";
inline constexpr std::string_view kOutputCounts = "instruction_id_to_num_outs_map";
inline constexpr std::string_view kExportGraphId = "export_graph_id";
inline constexpr std::string_view kReferenceOutputs = "reference_outputs";
inline constexpr std::string_view kRepresentativeInputs = "representative_inputs";
// Files beside a graph.
inline constexpr std::string_view kStateDict = "_state_dict", kConstants = "_constants",
                                  kExampleInputs = "_example_inputs";
// Official readers refuse an extra module whose name contains one of these.
inline constexpr std::string_view kReservedNames[] = {
    kMarker,         kExportedProgram, kExportGraphId, kEdgeProgram,      "et_dialect_graph_module",
    kDebugHandleMap, kDelegateMap,     kOutputCounts,  kReferenceOutputs, kRepresentativeInputs};

}  // namespace etb::record
