// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/online/online_tuner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>

#include "tuning/sample_kernels.hpp"

namespace gpushare {
namespace {

using namespace test;

constexpr ProbeOptions a_tenth{.loss = 0.1, .window = Duration(500'000)};

/// A GPU on which kernels have the rates that a function of the allocation says.
class MadeUpGpu {
 public:
  /// Blocks per nanosecond.
  using Rate = std::function<double(const SmAllocation& allocation, std::size_t kernel)>;

  MadeUpGpu(OnlineTuner tuner, Rate rate) : tuner_(std::move(tuner)), rate_(std::move(rate)) { tuner_.begin(Time{}); }

  /// Every 10 us, blocks of all kernels end. Remembers for how long each allocation was in force.
  void run_until(std::int64_t end_ns) {
    for (; now_ < end_ns; now_ += 10'000) {
      in_force_[named(tuner_.current())] += 10'000;
      for (std::size_t kernel = 0; kernel < progress_.size(); ++kernel) advance(kernel);
      tuner_.step(Time(Duration(now_)), progress_, device_);
    }
  }

  void suggest(SmAllocation allocation) { tuner_.suggest(std::move(allocation), Time(Duration(now_))); }

  /// An application leaves and comes back; if it was away for some time, all were.
  void interrupt(std::int64_t away_ns = 0) {
    if (away_ns > 0) {
      for (BlockProgress& each : progress_)
        each.observe({.time = Time(Duration(now_)), .kind = EventKind::LaunchEnded});
      now_ += away_ns;
      for (BlockProgress& each : progress_) {
        each.observe({.time = Time(Duration(now_)), .kind = EventKind::LaunchArrived});
      }
    }
    tuner_.begin(Time(Duration(now_)));
  }

  void pause() { tuner_.pause(Time(Duration(now_))); }

  const OnlineTuner& tuner() const { return tuner_; }
  const std::vector<int>& blocks() const { return tuner_.current().front().blocks; }
  std::map<std::vector<int>, std::int64_t>& in_force() { return in_force_; }
  std::int64_t now() const { return now_; }

 private:
  static std::vector<int> named(const SmAllocation& allocation) {
    std::vector<int> name;
    for (const SmGroup& group : allocation) {
      if (allocation.size() > 1) name.push_back(group.sms);
      name.insert(name.end(), group.blocks.begin(), group.blocks.end());
    }
    return name;
  }

  void advance(std::size_t kernel) {
    due_[kernel] += 10'000 * rate_(tuner_.current(), kernel);
    const auto blocks = static_cast<std::int32_t>(due_[kernel]);
    due_[kernel] -= blocks;
    const Time now{Duration(now_)};
    if (blocks > 0) {
      progress_[kernel].observe(
          {.time = now, .started = now - Duration(5'000), .blocks = blocks, .kind = EventKind::BlockEnded});
    }
    if (now_ % 500'000 != 0) return;
    if (now_ > 0) progress_[kernel].observe({.time = now, .kind = EventKind::LaunchEnded});
    progress_[kernel].observe({.time = now, .kind = EventKind::LaunchArrived});
  }

  Device device_ = mixing_device();
  OnlineTuner tuner_;
  Rate rate_;
  std::int64_t now_ = 0;
  std::vector<BlockProgress> progress_ = std::vector<BlockProgress>(2);
  std::array<double, 2> due_{};
  std::map<std::vector<int>, std::int64_t> in_force_;
};

class OnlineTunerOfTwo : public testing::Test {
 protected:
  OnlineTuner from(std::vector<int> blocks, std::vector<double> alone, ProbeOptions options = a_tenth,
                   double min_speed = 0) const {
    return OnlineTuner({{.sms = device_.sms, .blocks = std::move(blocks)}},
                       {contender_of(device_, one_, 1, min_speed), contender_of(device_, other_, 1, min_speed)},
                       std::move(alone), {}, options);
  }

  Device device_ = mixing_device();
  Kernel one_ = issuing_kernel("one");
  Kernel other_ = issuing_kernel("other");
};

constexpr double alone_rate = 0.01;

MadeUpGpu::Rate of_vectors(std::function<std::array<double, 2>(int, int)> speeds) {
  return [speeds](const SmAllocation& allocation, std::size_t kernel) {
    return alone_rate * speeds(allocation.front().blocks[0], allocation.front().blocks[1])[kernel];
  };
}

/// The first kernel has an eighth of its speed for each of its blocks, as long as the second has at most two; the
/// second has all of its speed with any number.
const MadeUpGpu::Rate better_with_few_of_the_second = of_vectors(
    [](int one, int other) { return std::array{one / 8.0 / (other > 2 ? 1.0 + 0.3 * (other - 2) : 1.0), 1.0}; });

TEST_F(OnlineTunerOfTwo, ClimbsToTheBestAndStays) {
  MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}), better_with_few_of_the_second);
  gpu.run_until(900'000'000);
  EXPECT_TRUE(gpu.tuner().is_done());
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(7, 1));
  const auto before = gpu.in_force();
  gpu.run_until(1'000'000'000);
  EXPECT_EQ(gpu.in_force().size(), before.size());
}

TEST_F(OnlineTunerOfTwo, ProbesTheFarthestNeighboursFirst) {
  MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}), better_with_few_of_the_second);
  while (gpu.in_force().size() < 2) gpu.run_until(gpu.now() + 1'000'000);
  EXPECT_FALSE(gpu.in_force().contains({3, 5}));
  EXPECT_FALSE(gpu.in_force().contains({5, 3}));
}

TEST_F(OnlineTunerOfTwo, ClimbsFromAPartitionToSharedSms) {
  const auto rate = [](const SmAllocation& allocation, std::size_t kernel) {
    if (allocation.size() > 1) return alone_rate * allocation[kernel].sms / 8;
    return alone_rate * (allocation.front().blocks == std::vector<int>{2, 6} ? 0.7 : 0.6);
  };
  const SmAllocation parts{{.sms = 4, .blocks = {8, 0}}, {.sms = 4, .blocks = {0, 8}}};
  MadeUpGpu gpu(OnlineTuner(parts, {contender_of(device_, one_), contender_of(device_, other_)},
                            {alone_rate, alone_rate}, {}, a_tenth),
                rate);
  gpu.run_until(900'000'000);
  EXPECT_TRUE(gpu.tuner().is_done());
  ASSERT_EQ(gpu.tuner().current().size(), 1U);
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(2, 6));
}

TEST_F(OnlineTunerOfTwo, ProbesCostNoMoreThanTheirShare) {
  // Whatever is tried is half as good: all but the base were probes.
  const auto worse_elsewhere =
      of_vectors([](int one, int) { return one == 4 ? std::array{0.6, 0.6} : std::array{0.3, 0.3}; });
  MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}), worse_elsewhere);
  for (std::int64_t end = 1'000'000; !gpu.tuner().is_done(); end += 1'000'000) gpu.run_until(end);
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(4, 4));
  std::int64_t probing = 0;
  for (const auto& [blocks, time] : gpu.in_force()) probing += blocks == gpu.blocks() ? 0 : time;
  EXPECT_GT(gpu.in_force().size(), 3U);
  // No rest follows the last one.
  EXPECT_LT(0.5 * static_cast<double>(probing), 0.15 * static_cast<double>(gpu.now()));
}

TEST_F(OnlineTunerOfTwo, SerialExecutionIsTriedFirstOnlyWhereNoMoreIsDone) {
  const std::vector<Contender> both{contender_of(device_, one_), contender_of(device_, other_)};
  for (const double together : {0.55, 0.65}) {
    const auto rate = [together](const SmAllocation& allocation, std::size_t) {
      return alone_rate * (allocation.size() > 1 ? together : 0.45);
    };
    MadeUpGpu gpu(OnlineTuner(equal_partition(device_, both), both, {alone_rate, alone_rate}, {}, a_tenth), rate);
    const SmAllocation serial = serial_allocation(device_, both);
    gpu.suggest(serial);
    while (gpu.in_force().size() < 2) gpu.run_until(gpu.now() + 10'000);
    EXPECT_EQ(same_allocation(gpu.tuner().current(), serial), together < 0.6);
    EXPECT_EQ(gpu.tuner().current().size(), 1U) << "shared SMs";
    gpu.run_until(900'000'000);
    EXPECT_TRUE(gpu.in_force().contains({both[0].max_residency, both[1].max_residency}));
  }
}

TEST_F(OnlineTunerOfTwo, AProbeThatLostMoreIsFollowedByALongerRest) {
  const auto time_until_two_were_tried = [this](double elsewhere) {
    const auto rate = of_vectors([elsewhere](int one, int) {
      const double speed = one == 4 ? 0.6 : elsewhere;
      return std::array{speed, speed};
    });
    MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}), rate);
    while (gpu.in_force().size() < 3) gpu.run_until(gpu.now() + 100'000);
    return gpu.now();
  };
  // Each probe lasts about a millisecond: a quarter of it is lost, or a twelfth.
  EXPECT_GT(time_until_two_were_tried(0.45), time_until_two_were_tried(0.55) + 1'000'000);
}

TEST_F(OnlineTunerOfTwo, ProbesThatMayCostNextToNothingDoNotCome) {
  const auto equal_anywhere = of_vectors([](int, int) { return std::array{0.6, 0.6}; });
  for (const double loss : {1e-9, 1e-15, 1e-310}) {
    MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}, {.loss = loss, .window = Duration(500'000)}), equal_anywhere);
    gpu.run_until(100'000'000);
    EXPECT_EQ(gpu.in_force().size(), 1U) << loss;
  }
}

TEST_F(OnlineTunerOfTwo, NoiseDoesNotChangeTheAllocation) {
  Dice dice(1);
  const auto equal_anywhere = of_vectors([&](int, int) {
    const double noisy = 0.45 + 0.1 * dice.ratio();
    return std::array{noisy, noisy};
  });
  MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}), equal_anywhere);
  gpu.run_until(900'000'000);
  EXPECT_TRUE(gpu.tuner().is_done());
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(4, 4));
}

TEST_F(OnlineTunerOfTwo, TheBestIsSampledAgainInEveryRest) {
  // At first everything looks twice as good as it is, as if launches had just begun.
  std::int64_t now = 0;
  const auto rate = [&](const SmAllocation& allocation, std::size_t) {
    const bool is_new = (now += 5'000) < 6'000'000;
    return alone_rate * (is_new ? 1.0 : allocation.front().blocks[0] == 6 ? 0.6 : 0.5);
  };
  MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}), rate);
  gpu.run_until(900'000'000);
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(6, 2));
}

TEST_F(OnlineTunerOfTwo, UnknownKernelsAreMeasuredAloneFirst) {
  const auto half_as_fast_together = of_vectors([](int one, int other) {
    const double speed = one > 0 && other > 0 ? 0.25 : 1.0;
    return std::array{one > 0 ? speed : 0.0, other > 0 ? 4 * speed : 0.0};
  });
  MadeUpGpu gpu(from({4, 4}, {0, 0}), half_as_fast_together);
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(8, 0));
  gpu.run_until(800'000);
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(0, 8));
  gpu.run_until(4'000'000);
  EXPECT_NEAR(gpu.tuner().rate_alone(0), alone_rate, 0.02 * alone_rate);
  EXPECT_NEAR(gpu.tuner().rate_alone(1), 4 * alone_rate, 0.08 * alone_rate);
  ASSERT_TRUE(gpu.tuner().measured());
  EXPECT_NEAR(gpu.tuner().measured()->speeds[0], 0.25, 0.01);
}

TEST_F(OnlineTunerOfTwo, AMinSpeedIsKeptWhereBreakingItWouldGainThroughput) {
  MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}, a_tenth, 0.6), better_with_few_of_the_second);
  gpu.run_until(900'000'000);
  ASSERT_TRUE(gpu.tuner().measured());
  EXPECT_GE(gpu.tuner().measured()->slowest, 0.59);
}

TEST_F(OnlineTunerOfTwo, WhileAMinSpeedIsBrokenProbesFollowAtOnce) {
  MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}, a_tenth, 0.6), better_with_few_of_the_second);
  gpu.run_until(5'000'000);
  ASSERT_TRUE(gpu.tuner().measured());
  EXPECT_GE(gpu.tuner().measured()->slowest, 0.59);
}

TEST_F(OnlineTunerOfTwo, ASuggestionIsProbedNextAndAdoptedIfItIsBetter) {
  for (const auto& [blocks, remains] : {std::pair(std::vector{5, 3}, true), std::pair(std::vector{3, 5}, false)}) {
    const auto rate = of_vectors([](int one, int) {
      const double speed = one == 5 ? 0.7 : one == 3 ? 0.4 : 0.5;
      return std::array{speed, speed};
    });
    MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}), rate);
    gpu.suggest({{.sms = device_.sms, .blocks = blocks}});
    while (gpu.in_force().size() < 2) gpu.run_until(gpu.now() + 10'000);
    EXPECT_EQ(gpu.blocks(), blocks);
    gpu.run_until(gpu.now() + 2'000'000);  // the probe is over, and a rest follows
    EXPECT_EQ(gpu.blocks() == blocks, remains);
  }
}

/// A partition is better than an even mix, and worse than the most uneven one.
MadeUpGpu::Rate two_hills(double shared) {
  return [shared](const SmAllocation& allocation, std::size_t) {
    if (allocation.size() > 1) return alone_rate * 0.60;
    const int blocks = allocation.front().blocks[0];
    return alone_rate * (blocks == 1 ? 0.65 : shared - 0.001 * blocks);
  };
}

TEST_F(OnlineTunerOfTwo, TheOtherKindIsClimbedIfItIsNearlyAsGood) {
  const std::vector<Contender> both{contender_of(device_, one_), contender_of(device_, other_)};
  const OnlineTuner start(equal_partition(device_, both), both, {alone_rate, alone_rate}, {}, a_tenth);
  MadeUpGpu nearly(start, two_hills(0.595));
  nearly.run_until(2'000'000'000);
  EXPECT_TRUE(nearly.tuner().is_done());
  EXPECT_THAT(nearly.blocks(), testing::ElementsAre(1, 7));
  MadeUpGpu lower(start, two_hills(0.55));
  lower.run_until(2'000'000'000);
  EXPECT_TRUE(lower.tuner().is_done());
  EXPECT_EQ(lower.tuner().current().size(), 2U);
}

TEST_F(OnlineTunerOfTwo, APauseOfTheHostDoesNotChangeTheAllocation) {
  std::int64_t now = 0;
  const auto rate = [&](const SmAllocation& allocation, std::size_t) {
    now += 5'000;
    const bool is_pause = now > 1'500'000 && now < 11'000'000;  // in the first rest
    return alone_rate * (allocation.front().blocks[0] == 4 ? 0.6 : 0.5) * (is_pause ? 0.5 : 1.0);
  };
  MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}), rate);
  gpu.run_until(900'000'000);
  EXPECT_TRUE(gpu.tuner().is_done());
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(4, 4));
}

TEST_F(OnlineTunerOfTwo, AProbeInWhichAKernelStandsStillIsRejected) {
  const auto rate = [](const SmAllocation& allocation, std::size_t kernel) {
    const int blocks = allocation.front().blocks[0];
    if (blocks == 2 && kernel == 1) return 0.0;
    return alone_rate * (blocks >= 6 ? 0.7 : 0.5);
  };
  MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}), rate);
  gpu.run_until(2'000'000'000);
  EXPECT_TRUE(gpu.tuner().is_done());
  EXPECT_GE(gpu.blocks()[0], 6);
  EXPECT_TRUE(gpu.in_force().contains({2, 6}));
  EXPECT_LT(gpu.in_force().at({2, 6}), 22'000'000) << "tried once";
}

TEST_F(OnlineTunerOfTwo, AnAllocationThatBecameWorseIsReplacedByTheNextBest) {
  bool is_spoilt = false;
  const auto rate = [&](const SmAllocation& allocation, std::size_t) {
    const int blocks = allocation.front().blocks[0];
    return alone_rate * (blocks == 6 ? (is_spoilt ? 0.4 : 0.7) : blocks == 5 ? 0.6 : 0.5);
  };
  MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}), rate);
  gpu.run_until(900'000'000);
  EXPECT_TRUE(gpu.tuner().is_done());
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(6, 2));
  is_spoilt = true;
  gpu.run_until(1'100'000'000);
  EXPECT_EQ(gpu.blocks()[0], 5);
}

TEST_F(OnlineTunerOfTwo, AllSuggestionsAreProbed) {
  MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}), of_vectors([](int, int) { return std::array{0.5, 0.5}; }));
  gpu.suggest({{.sms = device_.sms, .blocks = {5, 3}}});
  gpu.suggest({{.sms = device_.sms, .blocks = {3, 5}}});
  gpu.run_until(150'000'000);
  EXPECT_TRUE(gpu.in_force().contains({5, 3}));
  EXPECT_TRUE(gpu.in_force().contains({3, 5}));
}

TEST_F(OnlineTunerOfTwo, AProbeThatIsInterruptedTooOftenIsRejected) {
  MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}), of_vectors([](int, int) { return std::array{0.5, 0.5}; }));
  while (gpu.blocks() == std::vector{4, 4}) gpu.run_until(gpu.now() + 100'000);
  for (int times = 0; times < 10; ++times) {
    gpu.run_until(gpu.now() + 500'000);
    gpu.interrupt();
  }
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(4, 4));
}

TEST_F(OnlineTunerOfTwo, AProbeIsNotInForceDuringAPause) {
  MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}), better_with_few_of_the_second);
  while (gpu.blocks() == std::vector{4, 4}) gpu.run_until(gpu.now() + 100'000);
  const std::vector<int> tried = gpu.blocks();
  gpu.pause();
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(4, 4));
  gpu.interrupt(1'000'000'000);
  while (gpu.blocks() == std::vector{4, 4}) gpu.run_until(gpu.now() + 100'000);
  EXPECT_EQ(gpu.blocks(), tried);
}

TEST_F(OnlineTunerOfTwo, InterruptedProbesTakeNoMoreThanTheirShare) {
  for (const bool is_paused : {true, false}) {
    SCOPED_TRACE(is_paused);
    const auto rate = of_vectors([](int, int) { return std::array{0.5, 0.5}; });
    MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}), rate);
    while (gpu.now() < 1'000'000'000) {
      gpu.run_until(gpu.now() + 100'000);
      if (gpu.blocks() == std::vector{4, 4}) continue;
      gpu.run_until(gpu.now() + 500'000);
      if (is_paused) gpu.pause();
      gpu.interrupt();
    }
    const std::vector<int> base{4, 4};
    EXPECT_GT(gpu.in_force()[base], 0.88 * 1'000'000'000);
    EXPECT_GT(gpu.in_force().size(), 3U);
  }
}

TEST_F(OnlineTunerOfTwo, TimeAwayIsNotProbeTime) {
  MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}), better_with_few_of_the_second);
  while (gpu.blocks() == std::vector{4, 4}) gpu.run_until(gpu.now() + 100'000);
  gpu.interrupt(10'000'000'000);
  gpu.run_until(gpu.now() + 900'000'000);
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(7, 1));
}

TEST_F(OnlineTunerOfTwo, WithoutAShareNothingIsProbed) {
  MadeUpGpu gpu(from({4, 4}, {0, 0}, {}), better_with_few_of_the_second);
  EXPECT_TRUE(gpu.tuner().is_done());
  gpu.suggest({{.sms = device_.sms, .blocks = {3, 5}}});
  gpu.run_until(10'000'000);
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(4, 4));
}

TEST_F(OnlineTunerOfTwo, BlocksThatAreTooLongEndTheSearch) {
  MadeUpGpu gpu(from({4, 4}, {1, 1}), of_vectors([](int, int) { return std::array{1e-6, 1e-6}; }));
  gpu.run_until(30'000'000);
  EXPECT_TRUE(gpu.tuner().is_done());
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(4, 4));
}

}  // namespace
}  // namespace gpushare
