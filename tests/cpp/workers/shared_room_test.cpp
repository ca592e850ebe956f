// SPDX-License-Identifier: Apache-2.0
#include "core/workers/shared_room.hpp"

#include <gtest/gtest.h>

#include <random>

#include "sample_devices.hpp"

namespace gpushare {
namespace {

using test::h100_like;

constexpr int most_launches = 4;

/// Mostly as it was, as claims are from look to look.
void change_something(std::vector<RoomClaim>& launches, const Device& device, std::minstd_rand& random) {
  const auto below = [&random](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
  const auto sms = static_cast<std::size_t>(device.sms);
  if (launches.empty() || (launches.size() < most_launches && below(4) == 0)) {
    launches.push_back({.block = footprint(device, {.threads = 32 * (1 + below(16))}),
                        .wanted = std::vector<int>(sms, below(9)),
                        .present = std::vector<int>(sms, below(5)),
                        .unclaimed = below(20'000)});
    return;
  }
  RoomClaim& launch = launches[static_cast<std::size_t>(below(static_cast<int>(launches.size())))];
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

TEST(SharedRoom, IsWhatIsSharedOutAnew) {
  const Device device = h100_like();
  std::minstd_rand random(1);
  SharedRoom room;
  std::vector<RoomClaim> launches;
  for (int round = 0; round < 2000; ++round) {
    if (random() % 50 == 0) launches.clear();
    change_something(launches, device, random);
    const std::vector<Allowance>& allowed = room.share_out(device, launches);
    const std::vector<Allowance> anew = make_room(device, launches);
    ASSERT_EQ(allowed.size(), anew.size());
    for (std::size_t rank = 0; rank < anew.size(); ++rank) {
      ASSERT_EQ(allowed[rank].workers, anew[rank].workers) << "round " << round << ", rank " << rank;
      ASSERT_EQ(allowed[rank].open_sms, anew[rank].open_sms) << "round " << round << ", rank " << rank;
    }
  }
}

}  // namespace gpushare
