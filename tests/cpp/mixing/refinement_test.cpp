// SPDX-License-Identifier: Apache-2.0
#include "core/mixing/refinement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "sample_kernels.hpp"

namespace gpushare {
namespace {

using namespace test;

constexpr ProbeOptions a_tenth{.share = 0.1, .window = Duration(500'000)};

/// Plays a GPU on which a kernel's blocks take as long as a function of the division says.
class MadeUpGpu {
 public:
  using BlockTime = std::function<double(const std::vector<int>& blocks, std::size_t kernel)>;

  MadeUpGpu(Refinement refinement, BlockTime block_time)
      : refinement_(std::move(refinement)), block_time_(std::move(block_time)) {
    refinement_.begin(Time{});
  }

  /// Every 10 us, blocks of all kernels end. Remembers for how long each vector was in force.
  void run_until(std::int64_t end_ns) {
    for (; now_ < end_ns; now_ += 10'000) {
      const std::vector<int> blocks = refinement_.current().front().blocks;
      in_force_[blocks] += 10'000;
      for (std::size_t kernel = 0; kernel < blocks.size(); ++kernel) {
        if (blocks[kernel] == 0) continue;
        const auto took = static_cast<std::int64_t>(block_time_(blocks, kernel));
        const Event ended{.time = Time(Duration(now_)), .started = Time(Duration(now_ - took)), .blocks = 8};
        if (refinement_.add(ended, kernel, device_)) break;
      }
    }
  }

  const Refinement& refinement() const { return refinement_; }
  const std::vector<int>& blocks() const { return refinement_.current().front().blocks; }
  std::map<std::vector<int>, std::int64_t>& in_force() { return in_force_; }
  std::int64_t now() const { return now_; }

 private:
  Device device_ = mixing_device();
  Refinement refinement_;
  BlockTime block_time_;
  std::int64_t now_ = 0;
  std::map<std::vector<int>, std::int64_t> in_force_;
};

class RefinementOfTwo : public testing::Test {
 protected:
  Refinement from(std::vector<int> blocks, std::vector<double> alone, ProbeOptions options = a_tenth,
                  double floor = 0) const {
    return Refinement({{.sms = device_.sms, .blocks = std::move(blocks)}},
                      {contender_of(device_, one_, 1, floor), contender_of(device_, other_, 1, floor)},
                      std::move(alone), {}, options);
  }

  Device device_ = mixing_device();
  Kernel one_ = issuing_kernel("one");
  Kernel other_ = issuing_kernel("other");
};

/// The first kernel has 1 / 20 us per block and SM, as long as the second has at most two blocks.
double better_with_few_of_the_second(const std::vector<int>& blocks, std::size_t kernel) {
  return kernel == 0 ? 20'000 * (blocks[1] > 2 ? 1.0 + 0.3 * (blocks[1] - 2) : 1.0) : 10'000.0 * blocks[1];
}

TEST_F(RefinementOfTwo, ClimbsToTheBestAndStays) {
  // Alone: 8 SMs with 8 blocks of 20 us, and of 10 us each of which waits for the others.
  MadeUpGpu gpu(from({4, 4}, {8 * 8 / 20e3, 8 / 10e3}), better_with_few_of_the_second);
  gpu.run_until(200'000'000);
  EXPECT_TRUE(gpu.refinement().is_done());
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(7, 1));
  const auto before = gpu.in_force();
  gpu.run_until(300'000'000);
  EXPECT_EQ(gpu.in_force().size(), before.size());
}

TEST_F(RefinementOfTwo, ProbesTakeNoMoreThanTheirShare) {
  // Whatever is tried is worse: all but the base were probes.
  const auto worse_elsewhere = [](const std::vector<int>& blocks, std::size_t) {
    return blocks == std::vector<int>{4, 4} ? 10'000.0 : 40'000.0;
  };
  MadeUpGpu gpu(from({4, 4}, {8 * 4 / 10e3, 8 * 4 / 10e3}), worse_elsewhere);
  for (std::int64_t end = 1'000'000; !gpu.refinement().is_done(); end += 1'000'000) gpu.run_until(end);
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(4, 4));
  std::int64_t probing = 0;
  for (const auto& [blocks, time] : gpu.in_force()) probing += blocks == gpu.blocks() ? 0 : time;
  EXPECT_GT(gpu.in_force().size(), 3U);
  EXPECT_LT(static_cast<double>(probing), 0.12 * static_cast<double>(gpu.now()));
}

TEST_F(RefinementOfTwo, NoiseMovesNobody) {
  Dice dice(1);
  const auto noisy = [&](const std::vector<int>&, std::size_t) { return 10'000 * (0.95 + 0.1 * dice.ratio()); };
  const auto equal_anywhere = [&](const std::vector<int>& blocks, std::size_t kernel) {
    return noisy(blocks, kernel) * blocks[kernel];
  };
  MadeUpGpu gpu(from({4, 4}, {8 / 5e3, 8 / 5e3}), equal_anywhere);
  gpu.run_until(200'000'000);
  EXPECT_TRUE(gpu.refinement().is_done());
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(4, 4));
}

TEST_F(RefinementOfTwo, UnknownKernelsAreMeasuredAloneFirst) {
  const auto twice_as_long_together = [](const std::vector<int>& blocks, std::size_t kernel) {
    return (blocks[0] > 0 && blocks[1] > 0 ? 2.0 : 1.0) * (kernel == 0 ? 20'000 : 5'000);
  };
  MadeUpGpu gpu(from({4, 4}, {0, 0}), twice_as_long_together);
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(8, 0));
  gpu.run_until(700'000);
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(0, 8));
  gpu.run_until(2'000'000);
  EXPECT_NEAR(gpu.refinement().alone(0), 8 * 8 / 20e3, 1e-6);
  EXPECT_NEAR(gpu.refinement().alone(1), 8 * 8 / 5e3, 1e-6);
  ASSERT_TRUE(gpu.refinement().measured());
  EXPECT_NEAR(gpu.refinement().measured()->speeds[0], 0.25, 0.01);
}

TEST_F(RefinementOfTwo, AFloorIsKeptWhenMoreCouldBeDoneBelowIt) {
  MadeUpGpu gpu(from({4, 4}, {8 * 8 / 20e3, 8 / 10e3}, a_tenth, 0.6), better_with_few_of_the_second);
  gpu.run_until(300'000'000);
  ASSERT_TRUE(gpu.refinement().measured());
  EXPECT_GE(gpu.refinement().measured()->slowest, 0.6);
}

TEST_F(RefinementOfTwo, WhoIsShortOfHisFloorDoesNotWaitForIt) {
  MadeUpGpu gpu(from({4, 4}, {8 * 8 / 20e3, 8 / 10e3}, a_tenth, 0.6), better_with_few_of_the_second);
  gpu.run_until(3'000'000);
  ASSERT_TRUE(gpu.refinement().measured());
  EXPECT_GE(gpu.refinement().measured()->slowest, 0.6);
}

class RefinementWithAFallback : public RefinementOfTwo {
 protected:
  /// From 7 + 1, where `better_with_few_of_the_second` measures 0.9 + 1; 4 + 4 is the fallback.
  MadeUpGpu expecting(double throughput) const {
    const Division fallback{{.sms = device_.sms, .blocks = {4, 4}}};
    const std::vector contenders{contender_of(device_, one_), contender_of(device_, other_)};
    const Outlook expected = outlook_of({throughput / 2, throughput / 2}, contenders);
    Refinement refinement({{.sms = device_.sms, .blocks = {7, 1}}}, contenders, {8 * 8 / 20e3, 8 / 10e3}, {}, a_tenth,
                          Fallback{fallback, expected});
    return MadeUpGpu(std::move(refinement), better_with_few_of_the_second);
  }
};

TEST_F(RefinementWithAFallback, AStartThatDoesLessGivesWay) {
  MadeUpGpu gpu = expecting(2.5);
  gpu.run_until(1'000'000);
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(4, 4));
  EXPECT_FALSE(gpu.refinement().measured());
  gpu.run_until(200'000'000);  // what has been given up is not tried again
  EXPECT_THAT(gpu.blocks(), testing::Not(testing::ElementsAre(7, 1)));
}

TEST_F(RefinementWithAFallback, AStartThatDoesMoreStays) {
  MadeUpGpu gpu = expecting(1.5);
  gpu.run_until(200'000'000);
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(7, 1));
}

TEST_F(RefinementOfTwo, WithoutAShareNothingIsTried) {
  MadeUpGpu gpu(from({4, 4}, {0, 0}, {}), better_with_few_of_the_second);
  EXPECT_TRUE(gpu.refinement().is_done());
  gpu.run_until(10'000'000);
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(4, 4));
}

TEST_F(RefinementOfTwo, BlocksThatHardlyEverEndEndTheSearch) {
  const auto never = [](const std::vector<int>&, std::size_t) { return 1e9; };
  MadeUpGpu gpu(from({4, 4}, {1, 1}), never);
  gpu.run_until(30'000'000);
  EXPECT_TRUE(gpu.refinement().is_done());
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(4, 4));
}

}  // namespace
}  // namespace gpushare
