// SPDX-License-Identifier: Apache-2.0
// The firmware: classifies one input of DS-CNN, and prints class, time and memory.
#include <cstdio>

#include "board.h"
#include "classify.hpp"

extern "C" const std::byte model_begin[], model_end[], input_begin[], flash_code_end[], flash_end[],
    model_section_begin[], model_section_end[], data_begin[], data_end[];

namespace {

template <class... Arguments>
void print(const char* format, Arguments... arguments) {
  char text[256];
  std::snprintf(text, sizeof text, format, arguments...);
  board_write(text);
}

unsigned address(const std::byte* at) { return static_cast<unsigned>(reinterpret_cast<uintptr_t>(at)); }

void print_result(const Result& result) {
  print("scores");
  for (const float score : result.scores) print(" %d", static_cast<int>(score * 1000));
  print("\nclass %d\n%s: %llu ticks\n", result.best, BOARD, static_cast<unsigned long long>(result.ticks));
  const unsigned variables = address(data_end) - address(data_begin), stack = board_stack_bytes();
  print("RAM %u: model %u, scratch %u, variables %u, stack %u\n",
        result.model_bytes + result.scratch_bytes + variables + stack,
        static_cast<unsigned>(result.model_bytes), static_cast<unsigned>(result.scratch_bytes), variables,
        stack);
  const unsigned all = address(flash_end), code = address(flash_code_end),
                 model = address(model_section_end) - address(model_section_begin);
  print("flash %u: code and constants %u, model and input %u, other %u\n", all, code, model,
        all - code - model);
}

}  // namespace

int main() {
  etb_error error = ETB_ERROR_INIT;
  Result result{};
  const etb_status status = classify({model_begin, model_end}, reinterpret_cast<const float*>(input_begin),
                                     true, board_ticks, result, &error);
  if (status == ETB_OK) {
    print_result(result);
    return 0;
  }
  print("error %d: ", static_cast<int>(status));
  board_write(error.text);
  board_write("\n");
  return 1;
}
