// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/remaining_time.hpp"

#include <gtest/gtest.h>

#include "hand_written_events.hpp"
#include "sample_devices.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

class RemainingTimes : public HandWrittenRun {
 public:
  using HandWrittenRun::HandWrittenRun;
  std::optional<Duration> of(int launch) const { return remaining_.of(running(launch), state()); }

 private:
  void observed(const Event& event) override { remaining_.observe(event, state()); }
  RemainingTime remaining_;
};

/// Blocks of 1000 ns, of which an SM holds four.
Launch launch(bool is_profiled, std::int64_t blocks = 400) {
  Launch made = launch_of(blocks, 1000, is_profiled ? "profiled" : "unknown");
  made.kernel.is_profiled = is_profiled;
  return made;
}

TEST(RemainingTime, IsThatAloneWhereThereIsAProfile) {
  RemainingTimes run(small_device(10), workload_of({launch(true)}));
  run.arrive(0, 0);
  ASSERT_TRUE(run.of(0));
  const Duration all = *run.of(0);
  run.start_group(0, 0, 100, 0);
  run.end_group(0, 0, 100, 0, 900'000);  // however long they took
  EXPECT_EQ(*run.of(0), all * 3 / 4);
}

TEST(RemainingTime, IsHowFastItDrainsWhereThereIsNone) {
  RemainingTimes run(small_device(10), workload_of({launch(false), launch(true)}));
  run.arrive(0, 0);
  EXPECT_FALSE(run.of(0));
  run.arrive(1, 0);
  run.start_group(0, 0, 4, 0);
  run.end_group(0, 0, 4, 0, 50'000);
  ASSERT_TRUE(run.of(0));
  EXPECT_GT(*run.of(0), Duration(100'000));
}

}  // namespace
}  // namespace gpushare
