// SPDX-License-Identifier: Apache-2.0
// What a fuzzer checks (tests/fuzz), without a fuzzer: every seed of its corpus, and seeded mutations of each.
#include <gtest/gtest.h>

#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/transform/ptx/ptx_tokens.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace gpushare::ptx {
namespace {

std::set<std::filesystem::path> seeds() {
  const std::filesystem::path tests = std::filesystem::path(GPUSHARE_SOURCE_DIR) / "tests";
  std::set<std::filesystem::path> found;
  for (const auto& folder : {tests / "fuzz" / "corpus", tests / "data" / "ptx"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".ptx") found.insert(entry.path());
    }
  }
  return found;
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// On failure the text is kept, to be run again by itself.
void expect_read_or_refused(const std::string& text, const std::string& origin) {
  try {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  } catch (const std::exception& error) {
    const std::string path = testing::TempDir() + "ptx_fuzz_failure.ptx";
    std::ofstream(path, std::ios::binary) << text;
    ADD_FAILURE() << origin << ": " << error.what() << "; the text is in " << path;
  }
}

/// Changes a text at random, the same way on every machine.
class Mutator {
 public:
  Mutator(std::string_view seed, std::uint64_t number) : seed_(seed), tokens_(tokenize(seed)), random_(number) {}

  std::string next() {
    std::string text(seed_);
    // From the end to the front, so that the tokens that are still to be changed keep their places.
    std::set<std::size_t, std::greater<>> places;
    for (std::size_t count = 1 + below(4); count > 0; --count) places.insert(below(tokens_.size()));
    for (const std::size_t place : places) {
      below(3) == 0 ? change_byte(text, tokens_[place].offset) : change_token(text, tokens_[place]);
    }
    return text;
  }

 private:
  std::size_t below(std::size_t limit) { return random_() % limit; }

  void change_byte(std::string& text, std::size_t offset) {
    switch (below(3)) {
      case 0:
        text[offset] = static_cast<char>(below(256));
        break;
      case 1:
        text.insert(offset, 1, static_cast<char>(below(256)));
        break;
      default:
        text.erase(offset, 1);
        break;
    }
  }

  void change_token(std::string& text, const Token& token) {
    const std::string other(tokens_[below(tokens_.size())].text);
    switch (below(6)) {
      case 0:
        text.erase(token.offset, token.text.size());
        break;
      case 1:
        text.insert(token.offset, other + " ");
        break;
      case 2:
        text.insert(token.offset, std::string(token.text) + " ");
        break;
      case 3:
        text.erase(token.offset, below(200));
        break;
      case 4:
        text.resize(below(20) == 0 ? token.offset : text.size());
        break;
      default:
        text.replace(token.offset, token.text.size(), other);
        break;
    }
  }

  std::string_view seed_;
  std::vector<Token> tokens_;
  std::mt19937_64 random_;
};

TEST(PtxFuzz, EverySeedIsReadOrRefused) {
  for (const auto& seed : seeds()) expect_read_or_refused(content_of(seed), seed.filename());
}

#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t bytes_to_read = 300'000;  // five times as slow
#else
constexpr std::size_t bytes_to_read = 1'200'000;
#endif

/// Long seeds get fewer mutations, so that each takes about the same time.
TEST(PtxFuzz, EveryMutationIsReadOrRefused) {
  std::uint64_t number = 0;
  for (const auto& seed : seeds()) {
    const std::string text = content_of(seed);
    Mutator mutator(text, ++number);
    const std::size_t mutations = bytes_to_read / (text.size() + 500);
    for (std::size_t mutation = 0; mutation < mutations && !testing::Test::HasFailure(); ++mutation) {
      expect_read_or_refused(mutator.next(), seed.filename().string() + ", mutation " + std::to_string(mutation));
    }
  }
}

}  // namespace
}  // namespace gpushare::ptx
