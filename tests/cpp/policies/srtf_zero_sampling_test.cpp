// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/errors.hpp"
#include "hand_written_events.hpp"
#include "recorded_run.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;

TEST(SrtfZeroSampling, ServesTheShorterFirstWithoutSampling) {
  const Workload workload = workload_of({with_alone(launch_of(40, 100), 1000), with_alone(launch_of(8, 100), 200)});
  PolicyRehearsal run("srtf-zero-sampling", small_device(2), workload);
  run.arrive(0, 0);
  run.arrive(1, 10);
  EXPECT_THAT(run.order(), ElementsAre(1, 0));
  EXPECT_THAT(run.quotas(1), ElementsAre(4, 4));
}

TEST(SrtfZeroSampling, ComparesWhatRemainsAndNotTheWhole) {
  const Workload workload = workload_of({with_alone(launch_of(10, 100), 1000), with_alone(launch_of(8, 100), 700)});
  PolicyRehearsal run("srtf-zero-sampling", small_device(), workload);
  run.arrive(0, 0);
  for (int block = 0; block < 4; ++block) run.run_block(0, 0, 0, 100);
  run.arrive(1, 100);
  EXPECT_THAT(run.order(), ElementsAre(0, 1));  // 600 against 700
}

TEST(SrtfZeroSampling, HandsOffAtBlockBoundary) {
  const Workload workload =
      workload_of({with_alone(launch_of(40, 100), 1000), with_alone(launch_of(4, 100), 100)}, {0, 10});
  const Trace trace = record(small_device(), workload, "srtf-zero-sampling");
  EXPECT_THAT(block_starts(trace, 1), ElementsAre(100, 100, 100, 100));
}

TEST(SrtfZeroSampling, DemandsKnownRuntimes) {
  EXPECT_THROW(record(small_device(), workload_of({launch_of(1, 1), launch_of(1, 1)}), "srtf-zero-sampling"),
               PolicyError);
}

}  // namespace
}  // namespace gpushare
