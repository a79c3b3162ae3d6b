// SPDX-License-Identifier: Apache-2.0
// Rows of a profile as text, JSON and separated values.
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "partitioner_sdk/inspector/allocator_rows.hpp"
#include "partitioner_sdk/inspector/comparison.hpp"
#include "partitioner_sdk/inspector/event_rows.hpp"
#include "partitioner_sdk/inspector/source_rows.hpp"

namespace etb::tools {

// `has_cycles`: times are cycles of a clock of unknown length, stored as thousandths.
struct RowsStyle {
  std::string by = "instruction";
  bool has_record = false;
  bool has_cycles = false;
};

nlohmann::ordered_json rows_json(const inspector::Profile& profile);
nlohmann::ordered_json rows_json(const inspector::SourceProfile& profile);
nlohmann::ordered_json rows_json(std::span<const inspector::AllocatorRow> rows);
nlohmann::ordered_json rows_json(std::span<const inspector::ComparedRow> rows);

std::string rows_lines(const inspector::Profile& profile, char separator);
std::string rows_lines(const inspector::SourceProfile& profile, char separator);
std::string rows_lines(std::span<const inspector::ComparedRow> rows, char separator);

void print_rows(const inspector::Profile& profile, size_t total_rows, const RowsStyle& style,
                std::ostream& out);
void print_rows(const inspector::SourceProfile& profile, size_t total_rows, const RowsStyle& style,
                std::ostream& out);
void print_rows(std::span<const inspector::AllocatorRow> rows, std::ostream& out);
void print_rows(std::span<const inspector::ComparedRow> rows, size_t total_rows, const RowsStyle& style,
                std::ostream& out);

}  // namespace etb::tools
