// The etbackend program. Everything is in cli.cpp, where tests reach it too.
#include <unistd.h>

#include <iostream>

#include "tools/command.hpp"
#include "tools/process_setup.hpp"
#include "tools/screen.hpp"

int main(int argc, char** argv) {
  etb::tools::prepare_process();
  etb::tools::DescriptorBuffer buffer(STDOUT_FILENO);
  std::ostream out(&buffer);
  return etb::tools::run_cli(argc, argv, out, std::cerr);
}
