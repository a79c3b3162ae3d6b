// SPDX-License-Identifier: Apache-2.0
// The twin of the firmware on this machine, under sanitizers: prints the same scores, then loads the program with one bit
// flipped, 10,000 times, and runs every tenth of the programs that load.
//
// usage: portable_twin MODEL.pte word.npy
#include <cstdio>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "classify.hpp"
#include "etb/cpp/error_id.hpp"

namespace {

struct alignas(16) Block {
  std::byte bytes[16];
};

std::vector<Block> read(const char* path, size_t skipped, size_t& nbytes) {
  std::vector<Block> out;
  std::FILE* const file = std::fopen(path, "rb");
  if (file == nullptr) return out;
  std::fseek(file, 0, SEEK_END);
  nbytes = static_cast<size_t>(std::ftell(file)) - skipped;
  std::fseek(file, static_cast<long>(skipped), SEEK_SET);
  out.resize(nbytes / sizeof(Block) + 1);
  if (std::fread(out.data(), 1, nbytes, file) != nbytes) nbytes = 0;
  std::fclose(file);
  return out;
}

uint64_t no_clock() { return 0; }

// True if an error has a text, or without texts a place. A plugin's own text comes before the places.
bool has_place(const etb_error& error) {
  return etb::kHasErrorTexts ? std::strlen(error.text) >= 8 : std::strchr(error.text, '@') != nullptr;
}

// Prints each place once, for error_texts.
void print_place(const etb_error& error) {
  static std::set<std::string> known;
  const char* const place = std::strchr(error.text, '@');
  if (etb::kHasErrorTexts || place == nullptr) return;
  if (known.insert(std::string(place, 5)).second) std::printf("place %s\n", place);
}

// Returns 1 for a program that was refused without a code or a place.
int flip(std::span<std::byte> model, const float* input, uint32_t count) {
  std::mt19937 random(11);
  uint32_t refused = 0, loaded = 0, ran = 0;
  for (uint32_t i = 0; i < count; ++i) {
    // Half of the flips are in the first 10,000 bytes: the structure.
    const size_t reach = i % 2 == 0 ? model.size() : std::min<size_t>(model.size(), 10000);
    const size_t place = random() % reach;
    const auto bit = static_cast<std::byte>(1u << (random() % 8));
    model[place] ^= bit;
    etb_error error = ETB_ERROR_INIT;
    Result result{};
    const etb_status status = classify(model, input, i % 10 == 0, no_clock, result, &error);
    model[place] ^= bit;
    if (status == ETB_OK) {
      ++loaded;
      ran += i % 10 == 0 ? 1 : 0;
      continue;
    }
    ++refused;
    print_place(error);
    if (error.code != status || !has_place(error)) {
      std::printf("byte %zu, bit %u: refused with %d and '%s'\n", place, static_cast<unsigned>(bit),
                  static_cast<int>(status), error.text);
      return 1;
    }
    if (refused % 1000 == 1) std::printf("byte %zu: %s\n", place, error.text);
  }
  std::printf("%u flips: %u refused with a code and a place, %u load, %u of these ran\n", count, refused,
              loaded, ran);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  size_t model_nbytes = 0, input_nbytes = 0;
  if (argc != 3) return 2;
  std::vector<Block> model = read(argv[1], 0, model_nbytes), input = read(argv[2], 128, input_nbytes);
  if (model_nbytes == 0 || input_nbytes != kInputCount * sizeof(float)) return 2;
  const std::span<std::byte> bytes(model.data()->bytes, model_nbytes);
  const auto* const floats = reinterpret_cast<const float*>(input.data());
  etb_error error = ETB_ERROR_INIT;
  Result result{};
  if (classify(bytes, floats, true, no_clock, result, &error) != ETB_OK) return std::puts(error.text), 1;
  std::printf("scores");
  for (const float score : result.scores) std::printf(" %d", static_cast<int>(score * 1000));
  std::printf("\nclass %d\n", result.best);
  return flip(bytes, floats, 10000);
}
