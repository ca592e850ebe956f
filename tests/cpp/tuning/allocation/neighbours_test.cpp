// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/allocation/neighbours.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/tuning/tuning.hpp"
#include "tuning/sample_kernels.hpp"

namespace gpushare {

void PrintTo(const SmGroup& group, std::ostream* out) {
  *out << group.sms << " x " << testing::PrintToString(group.blocks);
}

namespace {

using namespace test;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

/// SMs, then blocks per SM, of every group.
using Named = std::vector<std::vector<int>>;

class Neighbours : public testing::Test {
 protected:
  std::vector<Named> of(const SmAllocation& allocation, double step) const {
    std::vector<Named> all;
    for (const SmAllocation& each : neighbours_of(device_, contenders_, allocation, step)) {
      Named named;
      for (const SmGroup& group : each) {
        named.push_back(group.blocks);
        named.back().insert(named.back().begin(), group.sms);
      }
      all.push_back(std::move(named));
    }
    return all;
  }

  SmAllocation shared(int one, int other) const { return {{.sms = 16, .blocks = {one, other}}}; }
  SmAllocation parts(int one, int other) const {
    return {{.sms = one, .blocks = {8, 0}}, {.sms = other, .blocks = {0, 8}}};
  }

  Device device_ = mixing_device(16);
  Kernel one_ = issuing_kernel("one");
  Kernel other_ = issuing_kernel("other");
  std::vector<Contender> contenders_{contender_of(device_, one_), contender_of(device_, other_)};
};

TEST_F(Neighbours, FarAwayAQuarterIsExchanged) {
  EXPECT_THAT(of(shared(4, 4), Tuning::largest_step), UnorderedElementsAre(Named{{16, 2, 6}}, Named{{16, 6, 2}}));
}

TEST_F(Neighbours, NearbyABlockIsExchangedOrLeftOut) {
  EXPECT_THAT(of(shared(4, 4), Tuning::smallest_step),
              UnorderedElementsAre(Named{{16, 3, 5}}, Named{{16, 5, 3}}, Named{{16, 3, 4}}, Named{{16, 4, 3}}));
  EXPECT_THAT(of(shared(1, 7), Tuning::smallest_step), UnorderedElementsAre(Named{{16, 2, 6}}, Named{{16, 1, 6}}));
}

TEST_F(Neighbours, OfPartsAreSharedSmsLikeThemAndOtherParts) {
  EXPECT_THAT(of(parts(12, 4), Tuning::smallest_step),
              ElementsAre(Named{{16, 6, 2}}, Named{{11, 8, 0}, {5, 0, 8}}, Named{{13, 8, 0}, {3, 0, 8}}));
}

TEST_F(Neighbours, FarFromPartsAreUnevenMixesToo) {
  EXPECT_THAT(of(parts(8, 8), Tuning::largest_step),
              UnorderedElementsAre(Named{{16, 4, 4}}, Named{{16, 2, 6}}, Named{{16, 6, 2}},
                                   Named{{4, 8, 0}, {12, 0, 8}}, Named{{12, 8, 0}, {4, 0, 8}}));
}

TEST_F(Neighbours, OfTurnsAreEqualPartsAndAnEvenMix) {
  EXPECT_THAT(of(serial_allocation(device_, contenders_), Tuning::largest_step),
              ElementsAre(Named{{8, 8, 0}, {8, 0, 8}}, Named{{16, 4, 4}}));
}

TEST_F(Neighbours, AKernelThatCannotShareAnSmHasOtherPartsOnly) {
  other_.needs.registers_per_thread = 255;
  contenders_[1] = contender_of(device_, other_);
  const std::vector<Named> all = of({{.sms = 8, .blocks = {8, 0}}, {.sms = 8, .blocks = {0, 1}}}, Tuning::largest_step);
  EXPECT_EQ(all.size(), 2U);
  for (const Named& each : all) EXPECT_EQ(each.size(), 2U);
}

}  // namespace
}  // namespace gpushare
