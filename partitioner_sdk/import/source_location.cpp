// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/import/source_location.hpp"

#include <charconv>

namespace etb::pt2 {

namespace {

bool is_of_torch(std::string_view file) {
  return file.find("site-packages/torch/") != file.npos || file.find("/torch/nn/") != file.npos;
}

// Reads one line of a trace: File "FILE", line N, in FUNCTION.
bool read_frame(std::string_view line, ir::Source& source) {
  constexpr std::string_view kFile = "File \"", kLine = "\", line ", kIn = ", in ";
  const size_t start = line.find(kFile);
  const size_t middle = line.rfind(kLine);
  if (start == line.npos || middle == line.npos || middle < start + kFile.size()) return false;
  source.file = line.substr(start + kFile.size(), middle - start - kFile.size());
  const std::string_view rest = line.substr(middle + kLine.size());
  std::from_chars(rest.data(), rest.data() + rest.size(), source.line);
  const size_t in = rest.find(kIn);
  source.function = in == rest.npos ? std::string_view() : rest.substr(in + kIn.size());
  return true;
}

}  // namespace

ir::Source read_source(Json metadata) {
  ir::Source best;
  std::string_view trace = metadata["stack_trace"].as_string().value_or("");
  while (!trace.empty()) {
    const size_t end = std::min(trace.find('\n'), trace.size());
    ir::Source frame;
    if (read_frame(trace.substr(0, end), frame) && (best.file.empty() || !is_of_torch(frame.file)))
      best = frame;
    trace.remove_prefix(std::min(end + 1, trace.size()));
  }
  // Entries are "key,path,type", joined by ';'.
  const std::string_view stack = metadata["nn_module_stack"].as_string().value_or("");
  const size_t last = stack.rfind(';');
  const std::string_view entry = last == stack.npos ? stack : stack.substr(last + 1);
  const size_t first_comma = entry.find(',');
  const size_t last_comma = entry.rfind(',');
  if (first_comma != entry.npos && last_comma > first_comma) {
    best.module_path = entry.substr(first_comma + 1, last_comma - first_comma - 1);
    best.module_type = entry.substr(last_comma + 1);
  }
  return best;
}

}  // namespace etb::pt2
