// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/inspection.hpp"

#include <cmath>

#include "api/format/etdump_program.hpp"
#include "api/format/input_file.hpp"
#include "api/format/printable_text.hpp"
#include "tools/file_kind.hpp"

namespace etb::tools {
namespace {

// A flatbuffer ends at 2 GiB.
constexpr uint64_t kMaxNbytes = uint64_t{2} << 30;

Result<std::vector<format::EtdumpBlock>> read_profile(const std::string& file) {
  ETB_TRY(expect_kind(file, {FileKind::kEtdump}, "a record of runs (.etdp)"));
  ETB_ASSIGN(const std::string bytes, format::read_file_text(file, kMaxNbytes));
  auto blocks = format::read_etdump(std::as_bytes(std::span(bytes)));
  if (!blocks)
    return tl::make_unexpected(
        with_context(std::move(blocks).error(), "'" + format::made_printable(file) + "'"));
  return blocks;
}

}  // namespace

std::vector<format::EtdumpBlock> Inspection::blocks_in_ns() const {
  std::vector<format::EtdumpBlock> out = blocks;
  if (source == inspector::TimeScale::kNs || source == inspector::TimeScale::kCycles) return out;
  const double factor = 1 / inspector::scale_factor(source, inspector::TimeScale::kNs);
  // A hostile time must not leave the range of the conversion.
  const auto scaled = [&](uint64_t ticks) {
    return static_cast<uint64_t>(std::min(static_cast<double>(ticks) * factor, 4e18));
  };
  for (format::EtdumpBlock& block : out)
    for (format::EtdumpEvent& event : block.events) {
      const uint64_t elapsed = scaled(event.elapsed_ns());
      event.begin_ns = scaled(event.begin_ns);
      event.end_ns = event.begin_ns + elapsed;
    }
  return out;
}

Result<Inspection> open_inspection(const std::string& file, const std::string& record_file,
                                   const std::string& shown_file) {
  Inspection out;
  out.file = shown_file;
  out.record_file = record_file;
  ETB_ASSIGN(out.blocks, read_profile(file));
  if (record_file.empty()) return out;
  ETB_TRY(expect_kind(record_file, {FileKind::kRecord}, "a record of a compilation (.etrecord)"));
  ETB_ASSIGN(record::Record record, record::read_record_file(record_file, record::Contents::kWithoutWeights));
  ETB_ASSIGN(out.record, inspector::RecordIndex::make(std::move(record)));
  ETB_TRY(out.record->expect_program_of(out.blocks, shown_file, record_file));
  for (size_t i = 0; i < out.blocks.size(); ++i)
    if (auto method = out.record->find_method(out.blocks[i]); !method)
      return tl::make_unexpected(
          with_context(std::move(method).error(), "'" + format::made_printable(shown_file) + "' with '" +
                                                      format::made_printable(record_file) + "', block " +
                                                      std::to_string(i)));
  return out;
}

}  // namespace etb::tools
