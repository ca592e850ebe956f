// SPDX-License-Identifier: Apache-2.0
// What no source of the package may contain.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

namespace gpushare {
namespace {

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// The module lives in processes that have several copies of the C++ library in them, some linked statically. They share
// the numbering of locale facets, not the facets: there, writing a double to a stream has ended the process.
TEST(Sources, UseNoStreamsAndNoLocales) {
  const std::regex forbidden(R"(#include <(\w*stream|locale|regex|iomanip)>)");
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(GPUSHARE_SOURCE_DIR "/src")) {
    if (!entry.is_regular_file()) continue;
    ++files;
    EXPECT_FALSE(std::regex_search(text_of(entry.path()), forbidden)) << entry.path();
  }
  EXPECT_GT(files, 100);
}

}  // namespace
}  // namespace gpushare
