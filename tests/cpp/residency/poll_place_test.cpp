// SPDX-License-Identifier: Apache-2.0
#include "core/residency/poll_place.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;

const BlockNeeds needs{.threads = 128, .registers_per_thread = 16};

Device device_of(int sms) {
  Device device = small_device();
  device.sms = sms;
  return device;
}

ResidencyRequest claim_of(std::vector<int> wanted) {
  const std::vector<int> present(wanted.size(), 0);
  return {.wanted = std::move(wanted), .present = present, .unclaimed = 100};
}

TEST(PollPlace, IsOneBlockOnTheLastSm) {
  const auto claim = request_of_poll(device_of(3), needs, {});
  ASSERT_TRUE(claim);
  EXPECT_THAT(claim->wanted, ElementsAre(0, 0, 1));
  EXPECT_EQ(claim->unclaimed, 1);
}

TEST(PollPlace, IsNotTheLastSlotOfALaunch) {
  const std::vector<ResidencyRequest> claims{claim_of({4, 0, 1}), claim_of({0, 2, 2})};
  const auto claim = request_of_poll(device_of(3), needs, claims);
  ASSERT_TRUE(claim);
  EXPECT_THAT(claim->wanted, ElementsAre(0, 1, 0));
}

TEST(PollPlace, IsMissingIfEverySmIsTheLastOfALaunch) {
  EXPECT_FALSE(request_of_poll(device_of(2), needs, std::vector{claim_of({1, 0}), claim_of({3, 1})}));
}

}  // namespace
}  // namespace gpushare
