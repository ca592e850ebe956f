// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/errors.hpp"
#include "hand_written_events.hpp"
#include "messages.hpp"
#include "recorded_run.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;

// b arrives at 50 and has the higher priority, but a's slice of eight blocks takes until 200.
TEST(Pkm, OthersWaitForTheEndOfTheSlice) {
  Workload workload = workload_of({launch_of(16, 100), launch_of(4, 100)}, {0, 50});
  workload.applications[1].priority = 1;
  const Trace trace = record(small_device(), workload, "pkm:blocks=8");
  EXPECT_EQ(block_starts(trace, 1).front(), 200);
  EXPECT_EQ(end_of(trace, 0), 500);
}

TEST(Pkm, ALaunchThatArrivesAtTheSameTimeIsServed) {
  Workload workload = workload_of({launch_of(16, 100), launch_of(4, 100)});
  workload.applications[1].priority = 1;
  const Trace trace = record(small_device(), workload, "pkm:blocks=8");
  EXPECT_EQ(block_starts(trace, 1).front(), 0);
  EXPECT_EQ(block_starts(trace, 0).front(), 100);
}

// Slices of six on four slots: four, two, drain.
TEST(Pkm, ASliceDrainsBeforeTheNextOne) {
  const Trace trace = record(small_device(), workload_of({launch_of(12, 100)}), "pkm:blocks=6");
  EXPECT_THAT(block_starts(trace, 0), ElementsAre(0, 0, 0, 0, 100, 100, 200, 200, 200, 200, 300, 300));
}

TEST(Pkm, ASmallSliceIsSpreadOverTheSms) {
  const Trace trace = record(small_device(2), workload_of({launch_of(6, 100)}), "pkm:blocks=3");
  EXPECT_THAT(block_starts(trace, 0), ElementsAre(0, 0, 0, 100, 100, 100));
  std::vector<int> sms = block_sms(trace, 0);
  EXPECT_EQ(std::ranges::count(sms, 0), 4);
}

// Blocks of 100 ns, four at a time: in 1 us there is room for 40. The first slice lasts until that is known.
TEST(Pkm, TheSliceFollowsFromTheTimeOfBlocks) {
  Workload workload = workload_of({launch_of(100, 100), launch_of(4, 100)}, {0, 50});
  workload.applications[1].priority = 1;
  const Trace trace = record(small_device(), workload, "pkm:delay_ns=1000");
  EXPECT_EQ(block_starts(trace, 1).front(), 1000);
}

TEST(Pkm, ASliceIsAWaveAtLeast) {
  Workload workload = workload_of({launch_of(100, 5000), launch_of(4, 100)}, {0, 50});
  workload.applications[1].priority = 1;
  const Trace trace = record(small_device(), workload, "pkm:delay_ns=1000");
  EXPECT_EQ(block_starts(trace, 1).front(), 5000);
}

TEST(Pkm, ASliceIsSoManyBlocksOrSoLong) {
  EXPECT_THAT(message_of<InvalidInput>([] { make_policy("pkm:blocks=4:delay_ns=10_000"); }),
              naming("blocks", "delay_ns"));
  EXPECT_THROW(make_policy("pkm:blocks=0.5"), InvalidInput);
  EXPECT_THROW(make_policy("pkm:blocks=0"), InvalidInput);
}

// Shorter than the clock can tell: nothing is known yet of how many go into a slice.
TEST(Pkm, BlocksThatTakeNoTimeDoNotEndTheFirstSlice) {
  PolicyRehearsal run("pkm:delay_ns=1000", small_device(), workload_of({launch_of(16, 1)}));
  run.arrive(0, 0);
  run.run_block(0, 0, 10, 10);
  run.start_block(0, 0, 10);
  EXPECT_EQ(run.plans(), 1);
  EXPECT_THAT(run.quotas(0), ElementsAre(4));
}

TEST(Pkm, EqualsAreServedInOrderOfArrival) {
  const Trace trace =
      record(small_device(), workload_of({launch_of(8, 100), launch_of(4, 100)}, {0, 50}), "pkm:blocks=4");
  EXPECT_EQ(end_of(trace, 0), 200);
  EXPECT_EQ(end_of(trace, 1), 300);
}

TEST(Pkm, EverySliceIsLaunchedAnew) {
  Device device = small_device();
  device.delays.signal = Duration(10);
  const auto length = [&](std::string_view policy) {
    return end_of(record(device, workload_of({launch_of(16, 100)}), policy), 0);
  };
  EXPECT_EQ(length("pkm:blocks=4") - length("pkm:blocks=16"), 3 * 10);
}

}  // namespace
}  // namespace gpushare
