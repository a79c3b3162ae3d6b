// SPDX-License-Identifier: Apache-2.0
// Reports of a benchmark.
#pragma once

#include <string>
#include <string_view>

#include "tools/bench/results.hpp"

namespace etb::bench {

std::string to_text(const Options& options, const Results& results);
std::string to_markdown(const Options& options, const Results& results);
std::string to_csv(const Options& options, const Results& results);   // one row for each variant
std::string to_json(const Options& options, const Results& results);  // one object
std::string to_jsonl(const Options& options,
                     const Results& results);  // one object, and line, for each variant
std::string to_sql(const Options& options,
                   const Results& results);  // a table if there is none, and a row for each variant

// `format` is one of text, markdown, csv, json, jsonl, sql.
std::string to_report(std::string_view format, const Options& options, const Results& results);

// Returns the format for the ending of a file's name.
std::string_view format_of(std::string_view path);

}  // namespace etb::bench
