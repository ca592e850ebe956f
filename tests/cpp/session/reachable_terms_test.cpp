// SPDX-License-Identifier: Apache-2.0
#include "core/session/reachable_terms.hpp"

#include <gtest/gtest.h>

#include "core/model/errors.hpp"
#include "messages.hpp"
#include "recorded_run.hpp"
#include "sample_devices.hpp"
#include "sample_workloads.hpp"

namespace gpushare::test {
namespace {

/// Of two waves of 1000 ns, alone.
const Launch two_waves = launch_of(16, 1000);

Application due_after(std::int64_t deadline) { return {.name = "a", .deadline = Duration(deadline)}; }

TEST(ReachableTerms, ADeadlineThatTheFirstLaunchMissesEvenAloneIsRefused) {
  EXPECT_EQ(
      message_of<InvalidInput>([] { require_reachable_terms(due_after(1300), two_waves, small_device(2)); }),
      "application 'a': a deadline 1300 ns after its first launch cannot be met: 'kernel' takes about 2000 ns with "
      "the GPU to itself");
}

TEST(ReachableTerms, ALatencyBoundThatTheFirstLaunchMissesEvenAloneIsRefused) {
  const Application in_time{.name = "a", .latency = Duration(1400)};
  const Application late{.name = "a", .latency = Duration(1300)};
  EXPECT_NO_THROW(require_reachable_terms(in_time, two_waves, small_device(2)));
  EXPECT_EQ(message_of<InvalidInput>([&] { require_reachable_terms(late, two_waves, small_device(2)); }),
            "application 'a': a latency of 1300 ns cannot be met: 'kernel' takes about 2000 ns with the GPU to itself");
}

TEST(ReachableTerms, WhatPredictionCannotRuleOutIsNot) {
  EXPECT_NO_THROW(require_reachable_terms(due_after(1400), two_waves, small_device(2)));
  EXPECT_NO_THROW(require_reachable_terms({.name = "a"}, two_waves, small_device(2)));
  EXPECT_NO_THROW(require_reachable_terms(due_after(1), copy_to_device(1'000'000), small_device(2)));
  Launch unknown = two_waves;
  unknown.kernel.is_profiled = false;
  EXPECT_NO_THROW(require_reachable_terms(due_after(1), unknown, small_device(2)));
}

}  // namespace
}  // namespace gpushare::test
