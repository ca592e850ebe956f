// SPDX-License-Identifier: Apache-2.0
#include "core/ordering/kernel_time.hpp"

#include <gtest/gtest.h>

#include "core/ordering/transfer_time.hpp"

namespace gpushare {
namespace {

TEST(KernelTime, KnowsNothingBeforeTheFirstRun) { EXPECT_EQ(KernelTime().of(100), std::nullopt); }

TEST(KernelTime, ScalesTheTimePerBlock) {
  KernelTime times;
  times.add(100, Duration(5000));
  EXPECT_TRUE(times.is_linear());
  EXPECT_EQ(times.of(800), Duration(40'000));
  times.add(200, Duration(9500));  // five per cent less a block: as good as linear, and the larger run counts
  EXPECT_TRUE(times.is_linear());
  EXPECT_EQ(times.of(800), Duration(38'000));
}

TEST(KernelTime, KeepsTheSizesThatCameLast) {
  KernelTime times;
  times.add(10'000, Duration(1));  // one that nothing else is like
  for (std::int64_t blocks = 1; blocks <= 1000; ++blocks) times.add(blocks, Duration(10 * blocks));
  EXPECT_TRUE(times.is_linear());
  EXPECT_EQ(times.of(10'000), Duration(100'000));
}

TEST(KernelTimes, KeepsTheKernelsThatCameLast) {
  KernelTimes times;
  const auto kernel = [](int number) { return Kernel{.name = std::to_string(number), .needs = {.threads = 64}}; };
  for (int number = 0; number < 10'000; ++number) times.add(kernel(number), 10, Duration(100));
  EXPECT_LT(times.size(), 5000u);
  EXPECT_EQ(times.of(kernel(0), 10), std::nullopt);
  EXPECT_EQ(times.of(kernel(9999), 10), Duration(100));
}

TEST(KernelTime, TwoRunsShowThatAKernelIsNotLinear) {
  KernelTime times;
  times.add(10, Duration(1000));
  times.add(20, Duration(4000));
  EXPECT_FALSE(times.is_linear());
  EXPECT_NEAR(static_cast<double>(times.of(40)->count()), 16'000, 1);
  times.add(40, Duration(16'000));
  EXPECT_NEAR(static_cast<double>(times.of(80)->count()), 64'000, 1);
}

TEST(KernelTime, APartThatDoesNotGrowWithTheGridIsFound) {
  KernelTime times;
  times.add(10, Duration(2000));
  times.add(20, Duration(3000));
  EXPECT_FALSE(times.is_linear());
  EXPECT_NEAR(static_cast<double>(times.of(80)->count()), 9000, 1);
}

TEST(KernelTime, FarFromAllRunsItIsStillATime) {
  KernelTime falls;
  falls.add(1, Duration(100'000));
  falls.add(2, Duration(60'000));
  EXPECT_EQ(falls.of(100), Duration(1));
  KernelTime soars;
  soars.add(1, Duration(1000));
  soars.add(2, Duration(1'000'000));
  EXPECT_EQ(soars.of(1'000'000), Duration(1'000'000'000'000'000));
}

TEST(KernelTime, OfRunsOfOneSizeTheLatestCounts) {
  KernelTime times;
  times.add(10, Duration(1000));
  times.add(10, Duration(3000));
  EXPECT_TRUE(times.is_linear());
  EXPECT_EQ(times.of(10), Duration(3000));
}

TEST(KernelTimes, BlocksOfAnotherSizeAreOfAnotherKernel) {
  KernelTimes times;
  Kernel kernel{.name = "k", .needs = {.threads = 64}};
  times.add(kernel, 10, Duration(100));
  EXPECT_EQ(times.of(kernel, 20), Duration(200));
  kernel.needs.threads = 128;
  EXPECT_EQ(times.of(kernel, 20), std::nullopt);
}

TEST(TransferTime, IsLatencyAndBytes) {
  const TransferTime fitted(TransferFit{.ns_per_byte = 0.2, .latency_ns = 7200});
  EXPECT_EQ(fitted.of(Bytes{1'000'000}), Duration(207'200));
  EXPECT_EQ(fitted.of(Bytes{0}), Duration(0));
  const TransferTime engine(CopyEngine{.latency = Duration(7200), .bandwidth = {5e9}});
  EXPECT_EQ(engine.of(Bytes{1'000'000}), Duration(207'200));
}

}  // namespace
}  // namespace gpushare
