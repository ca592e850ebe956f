// SPDX-License-Identifier: Apache-2.0
#include "core/model/move_time.hpp"

#include <gtest/gtest.h>

#include "sample_devices.hpp"

namespace gpushare {
namespace {

using namespace test;

Device with_host_copies(double out, double in, int latency) {
  Device device = small_device();
  device.to_host = {.latency = Duration(latency), .bandwidth = {out}};
  device.to_device = {.latency = Duration(2 * latency), .bandwidth = {in}};
  return device;
}

TEST(MoveTime, GoesByWayOfTheHostAtTheSlowerSide) {
  const Device from = with_host_copies(4e9, 1e9, 10);
  const Device to = with_host_copies(1e9, 2e9, 100);
  EXPECT_EQ(move_time(from, to, Bytes{1000}), Duration(10 + 200 + 500));
  EXPECT_EQ(move_time(to, from, Bytes{1000}), Duration(100 + 20 + 1000));
}

TEST(MoveTime, GoesOverTheLinkWhereBothHaveOne) {
  Device from = with_host_copies(1e9, 1e9, 100);
  Device to = from;
  from.peer = {.latency = Duration(3), .bandwidth = {10e9}};
  EXPECT_EQ(move_time(from, to, Bytes{1000}), Duration(1300));
  to.peer = {.latency = Duration(5), .bandwidth = {5e9}};
  EXPECT_EQ(move_time(from, to, Bytes{1000}), Duration(205));
}

TEST(MoveTime, ASlowLinkMakesItLongAndNotNegative) {
  const Device slow = with_host_copies(1e-3, 1e9, 10);
  EXPECT_GT(move_time(slow, slow, Bytes{80'000'000'000}), std::chrono::hours(24 * 365));
  EXPECT_GT(latest_time + move_time(slow, slow, Bytes{80'000'000'000}), latest_time);
}

TEST(MoveTime, NothingTakesTheLatency) {
  EXPECT_EQ(move_time(with_host_copies(1e9, 1e9, 10), with_host_copies(1e9, 1e9, 10), Bytes{0}), Duration(30));
}

}  // namespace
}  // namespace gpushare
