// The etbackend program. Everything is in cli.cpp, where tests reach it too.
#include <iostream>

#include "tools/command.hpp"

int main(int argc, char** argv) { return etb::tools::run_cli(argc, argv, std::cout, std::cerr); }
