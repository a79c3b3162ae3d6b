// SPDX-License-Identifier: Apache-2.0
// The main function of etbackend. cli.cpp has the rest, which tests can call, too.
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
