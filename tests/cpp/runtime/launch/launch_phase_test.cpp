// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/launch/launch_phase.hpp"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace gpushare {
namespace {

using enum LaunchPhase;
using Step = LaunchStep;

LaunchPhase phase_after(std::initializer_list<Step> steps) {
  LaunchPhase phase = Queued;
  for (const Step step : steps) phase = after(phase, step);
  return phase;
}

TEST(LaunchPhase, RunsFromQueuedToEnded) {
  EXPECT_EQ(phase_after({}), Queued);
  EXPECT_EQ(phase_after({Step::Granted}), Queued);
  EXPECT_EQ(phase_after({Step::Started}), Resident);
  EXPECT_EQ(phase_after({Step::Started, Step::GridsEnded}), Drained);
  EXPECT_EQ(phase_after({Step::Started, Step::GridsEnded, Step::Ended}), Ended);
}

TEST(LaunchPhase, EvictedLaunchReturns) {
  EXPECT_EQ(phase_after({Step::Started, Step::ToldToLeave}), Evicting);
  EXPECT_EQ(phase_after({Step::Started, Step::ToldToLeave, Step::Granted}), Resident);
  EXPECT_EQ(phase_after({Step::Started, Step::ToldToLeave, Step::GridsEnded}), Drained);
  EXPECT_EQ(phase_after({Step::Started, Step::ToldToLeave, Step::GridsEnded, Step::Granted, Step::Started}), Resident);
}

TEST(LaunchPhase, LaunchThatNeverBeganCanEnd) { EXPECT_EQ(phase_after({Step::Ended}), Ended); }

TEST(LaunchPhase, ImpossibleStepsAreDefects) {
  const std::vector<std::tuple<LaunchPhase, Step>> impossible{
      {Queued, Step::GridsEnded},  {Resident, Step::Ended}, {Evicting, Step::Started}, {Evicting, Step::Ended},
      {Drained, Step::GridsEnded}, {Ended, Step::Started},  {Ended, Step::GridsEnded}};
  for (const auto& [phase, step] : impossible) EXPECT_ANY_THROW(after(phase, step));
}

}  // namespace
}  // namespace gpushare
