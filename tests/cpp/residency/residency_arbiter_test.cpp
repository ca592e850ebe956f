// SPDX-License-Identifier: Apache-2.0
#include "core/residency/residency_arbiter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "sample_devices.hpp"

namespace gpushare {
namespace {

using test::h100_like;

constexpr int most_launches = 4;

/// Mostly as it was, as claims are from look to look.
void change_something(std::vector<ResidencyRequest>& launches, const Device& device, std::minstd_rand& random) {
  const auto below = [&random](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
  const auto sms = static_cast<std::size_t>(device.sms);
  if (launches.empty() || (launches.size() < most_launches && below(4) == 0)) {
    launches.push_back({.block = footprint(device, {.threads = 32 * (1 + below(16))}),
                        .wanted = std::vector<int>(sms, below(9)),
                        .present = std::vector<int>(sms, below(5)),
                        .unclaimed = below(20'000)});
    return;
  }
  ResidencyRequest& launch = launches[static_cast<std::size_t>(below(static_cast<int>(launches.size())))];
  switch (below(4)) {
    case 0:
      launch.unclaimed = below(20'000);
      break;
    case 1:
      launch.present[static_cast<std::size_t>(below(device.sms))] = below(5);
      break;
    case 2:
      launch.wanted[static_cast<std::size_t>(below(device.sms))] = below(9);
      break;
    default:
      break;
  }
}

}  // namespace

TEST(ResidencyArbiter, CachedGrantsEqualNewOnes) {
  const Device device = h100_like();
  std::minstd_rand random(1);
  ResidencyArbiter arbiter(device);
  std::vector<ResidencyRequest> launches;
  for (int round = 0; round < 2000; ++round) {
    if (random() % 50 == 0) launches.clear();
    change_something(launches, device, random);
    const std::span<const ResidencyGrant> grants = arbiter.share_out(launches, std::nullopt);
    const std::vector<ResidencyGrant> anew = arbitrate(device, launches);
    ASSERT_EQ(grants.size(), anew.size());
    for (std::size_t rank = 0; rank < anew.size(); ++rank) {
      ASSERT_EQ(grants[rank].workers, anew[rank].workers) << "round " << round << ", rank " << rank;
      ASSERT_EQ(grants[rank].open_sms, anew[rank].open_sms) << "round " << round << ", rank " << rank;
    }
  }
}

TEST(ResidencyArbiter, PollHasAPlaceBesideLaunchesThatFillTheGpu) {
  const Device device = h100_like();
  ResidencyArbiter arbiter(device);
  const BlockNeeds block{.threads = 1024};
  const auto sms = static_cast<std::size_t>(device.sms);
  const int most = max_residency(device, block);
  const ResidencyRequest fills{.block = footprint(device, block),
                               .wanted = std::vector<int>(sms, most),
                               .present = std::vector<int>(sms, most),
                               .unclaimed = 1'000'000};
  EXPECT_EQ(arbiter.share_out({fills}, std::nullopt)[0].workers, fills.wanted);
  EXPECT_FALSE(arbiter.reserves_place_for_poll());
  const std::span<const ResidencyGrant> grants = arbiter.share_out({fills}, BlockNeeds{.threads = 128});
  ASSERT_EQ(grants.size(), 1u);
  EXPECT_TRUE(arbiter.reserves_place_for_poll());
  EXPECT_EQ(grants[0].workers.back(), most - 1);
  EXPECT_EQ(grants[0].workers.front(), most);
}

TEST(ResidencyArbiter, LaunchOnReservedSmsFillsThemFromTheLastOn) {
  const ResidencyRequest six =
      on_reserved_sms({.wanted = {4, 4, 4}, .present = {0, 0, 0}, .unclaimed = 6, .is_seen = false});
  EXPECT_THAT(six.present, testing::ElementsAre(0, 2, 4));
  EXPECT_EQ(six.wanted, six.present);
  EXPECT_EQ(six.unclaimed, 0);
  EXPECT_TRUE(six.is_seen);
}

TEST(ResidencyArbiter, MoreBlocksThanReservedPlacesWaitForOneAnother) {
  const ResidencyRequest many = on_reserved_sms({.wanted = {4, 4, 4}, .present = {0, 0, 0}, .unclaimed = 100});
  EXPECT_THAT(many.present, testing::ElementsAre(4, 4, 4));
  EXPECT_EQ(many.unclaimed, 0);
}

}  // namespace gpushare
