// SPDX-License-Identifier: Apache-2.0
#include "core/partitioning/sampling_window.hpp"

#include <gtest/gtest.h>

#include "hand_written_events.hpp"

namespace gpushare {
namespace {

using namespace test;

/// Two applications with one of two SMs each, of four blocks; windows of 1000 ns.
class TwoApplications : public HandWrittenRun {
 public:
  TwoApplications() : HandWrittenRun(small_device(2), workload_of({launch_of(900, 100), launch_of(900, 100)})) {
    const SmPart parts[] = {{ApplicationId{0}, 1}, {ApplicationId{1}, 1}};
    partition.resize(parts, 2);
    arrive(0, 0);
    arrive(1, 0);
    window.begin(Time{}, Duration(1000));
    start_group(0, 0, 4, 0);
    start_group(1, 1, 4, 0);
  }

  /// Waves of one application on its SM, each of this length, one after the other.
  void run_waves(int application, int waves, std::int64_t from, std::int64_t length) {
    for (int wave = 0; wave < waves; ++wave) {
      const std::int64_t begin = from + wave * length;
      end_group(application, application, 4, begin, begin + length);
      start_group(application, application, 4, begin + length);
    }
  }

  bool complete() { return window.complete(state(), partition, members); }
  std::optional<double> rate(int application) { return window.rate(members[application], partition); }

  std::vector<Member> members{{ApplicationId{0}, "kernel", 4, 900}, {ApplicationId{1}, "kernel", 4, 900}};
  SmPartition partition;
  SamplingWindow window;

 protected:
  void observed(const Event& event) override { window.observe(event, state(), members); }
};

TEST(SamplingWindow, FirstAWarmUpThenAProfile) {
  TwoApplications run;
  run.run_waves(0, 2, 0, 500);
  run.run_waves(1, 2, 0, 500);
  EXPECT_FALSE(run.complete());  // warm
  run.run_waves(0, 4, 1000, 250);
  run.run_waves(1, 2, 1000, 500);
  EXPECT_TRUE(run.complete());
  EXPECT_DOUBLE_EQ(*run.rate(0), 4 / 250.0);
  EXPECT_DOUBLE_EQ(*run.rate(1), 4 / 500.0);
}

TEST(SamplingWindow, ItLastsUntilAWaveOfBlocksHasEnded) {
  TwoApplications run;
  run.run_waves(0, 2, 0, 500);
  EXPECT_FALSE(run.complete());
  EXPECT_EQ(run.window.next_look(), Time(Duration(2000)));
  run.run_waves(1, 1, 0, 1500);
  EXPECT_FALSE(run.complete());  // warm only now
  EXPECT_EQ(run.rate(0), std::nullopt);
}

TEST(SamplingWindow, ATimeoutEndsTheWaitForBlocksThatDoNotEnd) {
  TwoApplications run;
  int looks = 0;
  for (std::int64_t now = 0; looks < 100; now += 1000) {
    run.run_waves(0, 2, now, 500);
    ++looks;
    if (run.complete()) break;
  }
  EXPECT_EQ(looks, 32);  // sixteen for each of both phases
  EXPECT_DOUBLE_EQ(*run.rate(0), 4 / 500.0);
  EXPECT_EQ(run.rate(1), std::nullopt);
}

TEST(SamplingWindow, SmsThatChangedHandsHaveToDrain) {
  TwoApplications run;
  run.start_group(0, 1, 1, 0);  // a block of the first on the second's SM
  run.run_waves(0, 2, 0, 500);
  run.run_waves(1, 2, 0, 500);
  EXPECT_FALSE(run.complete());
  run.run_waves(0, 2, 1000, 500);
  run.run_waves(1, 2, 1000, 500);
  EXPECT_FALSE(run.complete());  // not warm yet
  run.end_group(0, 1, 1, 0, 2000);
  EXPECT_FALSE(run.complete());  // warm
  run.run_waves(0, 2, 2000, 500);
  run.run_waves(1, 2, 2000, 500);
  EXPECT_TRUE(run.complete());
}

TEST(SamplingWindow, WhileOneIsBetweenLaunchesTheOthersBlocksDoNotCount) {
  TwoApplications run;
  run.end_group(1, 1, 4, 0, 100);
  run.end_launch(1, 100);
  run.run_waves(0, 5, 0, 200);
  EXPECT_EQ(run.rate(0), std::nullopt);
}

}  // namespace
}  // namespace gpushare
