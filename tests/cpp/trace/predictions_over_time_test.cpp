// SPDX-License-Identifier: Apache-2.0
#include "core/trace/predictions_over_time.hpp"

#include <gtest/gtest.h>

#include "core/trace/accuracy.hpp"
#include "event_groups.hpp"
#include "recorded_run.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

// Five waves of eight equal blocks on two SMs.
TEST(PredictionsOverTime, AreRightForEqualBlocks) {
  const Device device = small_device(2);
  const Workload workload = workload_of({launch_of(40, 100)});
  const Trace trace = record(device, workload, "fifo");
  const auto predictions = predictions_over_time(trace, device, workload);
  ASSERT_EQ(predictions.size(), 5U);
  for (std::size_t wave = 0; wave < predictions.size(); ++wave) {
    SCOPED_TRACE(wave);
    EXPECT_EQ(predictions[wave].time, Time(Duration(100 * (wave + 1))));
    EXPECT_EQ(predictions[wave].done, 8 * static_cast<std::int64_t>(wave + 1));
    EXPECT_EQ(predictions[wave].staircase, Duration(500));
    EXPECT_EQ(predictions[wave].simple_slicing, Duration(500));
    EXPECT_EQ(predictions[wave].drain_rate, Duration(500));
  }
}

TEST(PredictionsOverTime, ALineNeedsTwoEnds) {
  const Device device = small_device();
  const Workload workload = workload_of({launch_of(5, 100)});
  Workload one_by_one = workload;
  std::get<Launch>(one_by_one.applications[0].operations[0]).kernel.needs.threads = device.per_sm.threads;
  const auto predictions = predictions_over_time(record(device, one_by_one, "fifo"), device, one_by_one);
  ASSERT_EQ(predictions.size(), 5U);
  EXPECT_EQ(predictions[0].regression, Duration(100)) << "of a single end: as if nothing were left";
  for (std::size_t block = 1; block < 5; ++block) EXPECT_EQ(predictions[block].regression, Duration(500));
}

TEST(PredictionsOverTime, CountFromTheArrival) {
  const Device device = small_device(2);
  Workload workload = workload_of({launch_of(40, 100), launch_of(40, 100)});
  workload.applications[1].arrival = Duration(50);
  const auto predictions = predictions_over_time(record(device, workload, "fifo"), device, workload);
  ASSERT_EQ(predictions.size(), 10U);
  EXPECT_EQ(predictions.back().launch, OperationId{1});
  EXPECT_EQ(predictions.back().drain_rate, Duration(950));
  EXPECT_EQ(predictions.back().simple_slicing, Duration(950));
}

TEST(PredictionsOverTime, AnEarlyDrainRateIsPartOfTheCheckPerSm) {
  const Device device = small_device(2);
  const Workload workload = workload_of({launch_of(40, 100)});
  const auto checks = check_predictions(in_groups(record(device, workload, "fifo")), device, workload);
  ASSERT_EQ(checks.size(), 2U);
  for (const PredictionCheck& check : checks) EXPECT_EQ(check.drain_rate, Duration(500));
}

}  // namespace
}  // namespace gpushare
