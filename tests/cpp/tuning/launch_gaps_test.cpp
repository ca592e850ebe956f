// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/launch_gaps.hpp"

#include <gtest/gtest.h>

#include "sample_devices.hpp"

namespace gpushare {
namespace {

class LaunchGapsOfOne : public testing::Test {
 protected:
  /// The last block ends, then the launch; the first block of the next one starts so much later.
  void pause(std::int64_t gap) {
    happen(EventKind::BlockEnded);
    happen(EventKind::LaunchEnded);
    now_ += Duration(gap);
    happen(EventKind::BlockStarted);
  }
  void happen(EventKind kind) { gaps_.observe({.time = now_, .kind = kind}); }
  double gap() const { return gaps_.of(ApplicationId{0}, device_); }

  Device device_ = [] {
    Device device = test::small_device();
    device.delays.launch = Duration(700);
    device.delays.completion = Duration(300);
    return device;
  }();
  LaunchGaps gaps_;
  Time now_{};
};

TEST_F(LaunchGapsOfOne, IsTheDelayOfCommandsBeforeThereIsOne) {
  EXPECT_EQ(gap(), 1000);
  happen(EventKind::BlockEnded);
  happen(EventKind::BlockStarted);
  EXPECT_EQ(gap(), 1000) << "between blocks of one launch there is no gap";
}

TEST_F(LaunchGapsOfOne, IsTheShortestSeen) {
  pause(5000);
  EXPECT_EQ(gap(), 5000);
  pause(2000);
  pause(9000);
  EXPECT_EQ(gap(), 2000);
}

TEST_F(LaunchGapsOfOne, IsForgottenWithTheApplication) {
  pause(5000);
  happen(EventKind::ApplicationEnded);
  EXPECT_EQ(gap(), 1000);
}

}  // namespace
}  // namespace gpushare
