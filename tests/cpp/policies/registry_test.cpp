// SPDX-License-Identifier: Apache-2.0
// The table of policies against the folder of policies, and what every policy's source must leave alone.
#include "core/policies/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "core/model/errors.hpp"
#include "messages.hpp"
#include "recorded_run.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

const std::filesystem::path core = std::filesystem::path(GPUSHARE_SOURCE_DIR) / "src/core";

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::vector<std::filesystem::path> sources_in(const char* folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(core / folder)) {
    if (entry.path().extension() == ".cpp" || entry.path().extension() == ".hpp") files.push_back(entry.path());
  }
  return files;
}

std::set<std::string> matches(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), expression), end; match != end; ++match) {
    found.insert(match->str(1));
  }
  return found;
}

TEST(Registry, TheTableAndTheFolderAgree) {
  std::set<std::string> defined;
  for (const auto& file : sources_in("policies")) {
    if (file.filename() == "registry.cpp" || file.filename() == "skeleton.cpp") continue;
    defined.merge(matches(text_of(file), R"(std::unique_ptr<Policy> (make_\w+)\(const PolicyOptions& [^)]*\) \{)"));
  }
  const std::set<std::string> listed =
      matches(text_of(core / "policies/registry.cpp"), R"re(entry\("[^"]+".*, (make_\w+)\))re");
  EXPECT_EQ(listed, defined);
  EXPECT_EQ(listed.size(), policies().size());
}

TEST(Registry, EveryEntryIsCompleteAndItsNameUnique) {
  std::set<std::string_view> names;
  for (const PolicyEntry& entry : policies()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_FALSE(entry.summary.empty()) << entry.name;
    EXPECT_FALSE(entry.source.empty()) << entry.name;
    EXPECT_NE(make_policy(entry.name), nullptr) << entry.name;
  }
}

TEST(Registry, OraclesAreThoseThatCannotDoWithoutTheRuntimes) {
  const Workload untold = workload_of({launch_of(8, 100), launch_of(8, 100)});
  for (const PolicyEntry& entry : policies()) {
    const auto run = [&] { record(small_device(), untold, std::string(entry.name)); };
    if (entry.is_oracle) {
      EXPECT_THROW(run(), PolicyError) << entry.name;
    } else {
      EXPECT_NO_THROW(run()) << entry.name;
    }
  }
}

TEST(Registry, AnUnknownNameIsRefusedWithTheKnownOnes) {
  const std::string message = message_of<InvalidInput>([] { make_policy("fifi"); });
  EXPECT_THAT(message, naming("fifi"));
  for (const PolicyEntry& entry : policies()) EXPECT_THAT(message, naming(entry.name));
}

TEST(Registry, NoPolicyReadsAClockStartsAThreadCallsCudaOrPrints) {
  const std::string forbidden =
      R"((\w+_clock\b|::now\(|<c?time>|\btime\(|std::j?thread|std::async|std::mutex|std::atomic|<thread>|\bcu[A-Z]\w*\(|)"
      R"(cuda\w*\(|cuda\w*\.h|printf|std::cout|std::cerr|std::clog|<iostream>|<cstdio>|random_device|\brand\())";
  for (const char* folder : {"policies", "policy_support", "partitioning", "priorities", "tuning", "predictors",
                             "kernel_rates", "ordering"}) {
    for (const auto& file : sources_in(folder)) {
      EXPECT_TRUE(matches(text_of(file), forbidden).empty())
          << file << " names " << *matches(text_of(file), forbidden).begin();
    }
  }
}

TEST(Registry, APolicyIsAtMostAHundredLines) {
  for (const auto& file : sources_in("policies")) {
    const std::string text = text_of(file);
    EXPECT_LE(std::ranges::count(text, '\n'), 100) << file;
  }
}

TEST(Registry, OraclePoliciesAreRefusedInAnOpenRun) {
  for (const PolicyEntry& entry : policies()) {
    const std::string message = message_of<InvalidInput>([&] { require_open_policy(entry.name); });
    EXPECT_EQ(message.empty(), !entry.is_oracle) << entry.name;
  }
  EXPECT_THAT(message_of<InvalidInput>([] { require_open_policy("sjf:whole_up_to_ns=5000"); }), naming("sjf", "srtf"));
}

}  // namespace
}  // namespace gpushare
