// SPDX-License-Identifier: Apache-2.0
#include "core/predictors/oracle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hand_written_events.hpp"
#include "messages.hpp"
#include "recorded_run.hpp"

namespace gpushare {
namespace {

using namespace test;

TEST(Oracle, AnUnknownRuntimeIsAPolicyErrorThatNamesTheKernel) {
  EXPECT_THAT(message_of<PolicyError>([] { known_runtime(launch_of(1, 1, "saxpy")); }), naming("saxpy"));
}

TEST(Oracle, WhatRemainsShrinksWithTheBlocksThatEnded) {
  HandWrittenRun run(small_device(), workload_of({with_alone(launch_of(8, 100), 1000)}));
  run.arrive(0, 0);
  EXPECT_EQ(known_remaining(run.running(0)), Duration(1000));
  run.run_block(0, 0, 0, 100);
  run.run_block(0, 0, 0, 100);
  EXPECT_EQ(known_remaining(run.running(0)), Duration(750));
}

TEST(Oracle, TogetherIsAHundredCycles) {
  Device device = small_device();
  device.clock_hz = 2e9;
  EXPECT_EQ(together(device), Duration(50));
}

}  // namespace
}  // namespace gpushare
