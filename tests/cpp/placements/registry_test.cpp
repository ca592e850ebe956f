// SPDX-License-Identifier: Apache-2.0
#include "core/placements/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/model/errors.hpp"
#include "messages.hpp"

namespace gpushare {
namespace {

using namespace test;

TEST(PlacementRegistry, HasEveryPlacementOfTheFolder) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(GPUSHARE_SOURCE_DIR "/src/core/placements")) {
    if (entry.path().extension() == ".cpp") files.insert(entry.path().stem().string());
  }
  std::set<std::string> names{"registry"};
  for (const PlacementEntry& each : placements()) {
    std::string name(each.name);
    std::ranges::replace(name, '-', '_');
    names.insert(name);
    EXPECT_FALSE(each.summary.empty());
  }
  EXPECT_EQ(files, names);
}

TEST(PlacementRegistry, AnUnknownNameIsRefusedWithTheKnownOnes) {
  EXPECT_THAT(message_of<InvalidInput>([] { make_placement("best-fit"); }),
              naming("best-fit", "predicted", "least-loaded", "first-fit"));
}

TEST(PlacementRegistry, OptionsAreThoseOfThePlacement) {
  EXPECT_THAT(message_of<InvalidInput>([] { make_placement("first-fit:gain=1"); }),
              naming("placement", "first-fit", "gain"));
  EXPECT_THAT(message_of<InvalidInput>([] { make_placement("predicted:gain=-1"); }),
              naming("placement", "predicted", "gain", "-1"));
  EXPECT_THAT(message_of<InvalidInput>([] { make_placement("predicted:gain"); }), naming("placement", "gain"));
  ASSERT_EQ(placement_options("predicted").size(), 1U);
  EXPECT_EQ(placement_options("predicted").front().name, "gain");
}

}  // namespace
}  // namespace gpushare
