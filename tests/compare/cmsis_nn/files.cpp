// SPDX-License-Identifier: Apache-2.0
#include "files.hpp"

#include <cstdio>
#include <cstdlib>

namespace compare {

void write_file(const std::string& path, const void* data, size_t bytes) {
  FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr || std::fwrite(data, 1, bytes, file) != bytes || std::fclose(file) != 0) {
    std::fprintf(stderr, "cannot write %s\n", path.c_str());
    std::exit(1);
  }
}

void write_numbers(const std::string& base, const Layer& l) {
  char text[512];
  const int length =
      std::snprintf(text, sizeof text,
                    "{\"kind\": %d, \"input\": [%d, %d, %d, %d], \"outputs\": %d, \"groups\": %d, "
                    "\"kernel\": [%d, %d], \"stride\": [%d, %d], "
                    "\"padding\": [%d, %d], \"dilation\": [%d, %d], \"input_offset\": %d, \"output_offset\": "
                    "%d, \"low\": %d, \"high\": %d, "
                    "\"output\": [%d, %d, %d, %d]}\n",
                    static_cast<int>(l.kind), l.batch, l.in_h, l.in_w, l.in_c, l.out_c, l.groups, l.kernel_h,
                    l.kernel_w, l.stride_h, l.stride_w, l.padding_h, l.padding_w, l.dilation_h, l.dilation_w,
                    l.input_offset, l.output_offset, l.low, l.high, l.batch, l.out_h(), l.out_w(), l.out_c);
  write_file(base + ".json", text, static_cast<size_t>(length));
}

}  // namespace compare
