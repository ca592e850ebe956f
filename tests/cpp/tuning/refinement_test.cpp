// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/refinement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>

#include "sample_kernels.hpp"

namespace gpushare {
namespace {

using namespace test;

constexpr ProbeOptions a_tenth{.share = 0.1, .window = Duration(500'000)};

/// Plays a GPU on which kernels have the rates that a function of the division says.
class MadeUpGpu {
 public:
  /// Blocks per nanosecond.
  using Rate = std::function<double(const Division& division, std::size_t kernel)>;

  MadeUpGpu(Refinement refinement, Rate rate) : refinement_(std::move(refinement)), rate_(std::move(rate)) {
    refinement_.begin(Time{});
  }

  /// Every 10 us, blocks of all kernels end. Remembers for how long each division was in force.
  void run_until(std::int64_t end_ns) {
    for (; now_ < end_ns; now_ += 10'000) {
      in_force_[named(refinement_.current())] += 10'000;
      for (std::size_t kernel = 0; kernel < progress_.size(); ++kernel) advance(kernel);
      refinement_.look(Time(Duration(now_)), progress_, device_);
    }
  }

  void suggest(Division division) { refinement_.suggest(std::move(division), Time(Duration(now_))); }

  /// Somebody leaves, and comes back; for so long everybody.
  void interrupt(std::int64_t away_ns = 0) {
    if (away_ns > 0) {
      for (BlockProgress& each : progress_)
        each.observe({.time = Time(Duration(now_)), .kind = EventKind::LaunchEnded});
      now_ += away_ns;
      for (BlockProgress& each : progress_) {
        each.observe({.time = Time(Duration(now_)), .kind = EventKind::LaunchArrived});
      }
    }
    refinement_.begin(Time(Duration(now_)));
  }

  void pause() { refinement_.pause(Time(Duration(now_))); }

  const Refinement& refinement() const { return refinement_; }
  const std::vector<int>& blocks() const { return refinement_.current().front().blocks; }
  std::map<std::vector<int>, std::int64_t>& in_force() { return in_force_; }
  std::int64_t now() const { return now_; }

 private:
  static std::vector<int> named(const Division& division) {
    std::vector<int> name;
    for (const SmGroup& group : division) {
      if (division.size() > 1) name.push_back(group.sms);
      name.insert(name.end(), group.blocks.begin(), group.blocks.end());
    }
    return name;
  }

  void advance(std::size_t kernel) {
    due_[kernel] += 10'000 * rate_(refinement_.current(), kernel);
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
  Refinement refinement_;
  Rate rate_;
  std::int64_t now_ = 0;
  std::vector<BlockProgress> progress_ = std::vector<BlockProgress>(2);
  std::array<double, 2> due_{};
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

constexpr double alone_rate = 0.01;

MadeUpGpu::Rate of_vectors(std::function<std::array<double, 2>(int, int)> speeds) {
  return [speeds](const Division& division, std::size_t kernel) {
    return alone_rate * speeds(division.front().blocks[0], division.front().blocks[1])[kernel];
  };
}

/// The first kernel has an eighth of its speed for each of its blocks, as long as the second has at most two; the
/// second has all of its speed with any number.
const MadeUpGpu::Rate better_with_few_of_the_second = of_vectors(
    [](int one, int other) { return std::array{one / 8.0 / (other > 2 ? 1.0 + 0.3 * (other - 2) : 1.0), 1.0}; });

TEST_F(RefinementOfTwo, ClimbsToTheBestAndStays) {
  MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}), better_with_few_of_the_second);
  gpu.run_until(900'000'000);
  EXPECT_TRUE(gpu.refinement().is_done());
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(7, 1));
  const auto before = gpu.in_force();
  gpu.run_until(1'000'000'000);
  EXPECT_EQ(gpu.in_force().size(), before.size());
}

TEST_F(RefinementOfTwo, GoesFarFirst) {
  MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}), better_with_few_of_the_second);
  while (gpu.in_force().size() < 2) gpu.run_until(gpu.now() + 1'000'000);
  EXPECT_FALSE(gpu.in_force().contains({3, 5}));
  EXPECT_FALSE(gpu.in_force().contains({5, 3}));
}

TEST_F(RefinementOfTwo, FromPartsOfTheirOwnTheyComeToShare) {
  const auto rate = [](const Division& division, std::size_t kernel) {
    if (division.size() > 1) return alone_rate * division[kernel].sms / 8;
    return alone_rate * (division.front().blocks == std::vector<int>{2, 6} ? 0.7 : 0.6);
  };
  const Division parts{{.sms = 4, .blocks = {8, 0}}, {.sms = 4, .blocks = {0, 8}}};
  MadeUpGpu gpu(Refinement(parts, {contender_of(device_, one_), contender_of(device_, other_)},
                           {alone_rate, alone_rate}, {}, a_tenth),
                rate);
  gpu.run_until(900'000'000);
  EXPECT_TRUE(gpu.refinement().is_done());
  ASSERT_EQ(gpu.refinement().current().size(), 1U);
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(2, 6));
}

TEST_F(RefinementOfTwo, ProbesTakeNoMoreThanTheirShare) {
  // Whatever is tried is worse: all but the base were probes.
  const auto worse_elsewhere =
      of_vectors([](int one, int) { return one == 4 ? std::array{0.6, 0.6} : std::array{0.3, 0.3}; });
  MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}), worse_elsewhere);
  for (std::int64_t end = 1'000'000; !gpu.refinement().is_done(); end += 1'000'000) gpu.run_until(end);
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(4, 4));
  std::int64_t probing = 0;
  for (const auto& [blocks, time] : gpu.in_force()) probing += blocks == gpu.blocks() ? 0 : time;
  EXPECT_GT(gpu.in_force().size(), 3U);
  // No rest follows the last one.
  EXPECT_LT(static_cast<double>(probing), 0.13 * static_cast<double>(gpu.now()));
}

TEST_F(RefinementOfTwo, NoiseChangesNoDivision) {
  Dice dice(1);
  const auto equal_anywhere = of_vectors([&](int, int) {
    const double noisy = 0.45 + 0.1 * dice.ratio();
    return std::array{noisy, noisy};
  });
  MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}), equal_anywhere);
  gpu.run_until(900'000'000);
  EXPECT_TRUE(gpu.refinement().is_done());
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(4, 4));
}

TEST_F(RefinementOfTwo, WhatItStandsOnIsMeasuredAnewAtEveryRest) {
  // At first everything looks twice as good as it is, as if launches had just begun.
  std::int64_t now = 0;
  const auto rate = [&](const Division& division, std::size_t) {
    const bool is_new = (now += 5'000) < 6'000'000;
    return alone_rate * (is_new ? 1.0 : division.front().blocks[0] == 6 ? 0.6 : 0.5);
  };
  MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}), rate);
  gpu.run_until(900'000'000);
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(6, 2));
}

TEST_F(RefinementOfTwo, UnknownKernelsAreMeasuredAloneFirst) {
  const auto half_as_fast_together = of_vectors([](int one, int other) {
    const double speed = one > 0 && other > 0 ? 0.25 : 1.0;
    return std::array{one > 0 ? speed : 0.0, other > 0 ? 4 * speed : 0.0};
  });
  MadeUpGpu gpu(from({4, 4}, {0, 0}), half_as_fast_together);
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(8, 0));
  gpu.run_until(800'000);
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(0, 8));
  gpu.run_until(4'000'000);
  EXPECT_NEAR(gpu.refinement().alone(0), alone_rate, 0.02 * alone_rate);
  EXPECT_NEAR(gpu.refinement().alone(1), 4 * alone_rate, 0.08 * alone_rate);
  ASSERT_TRUE(gpu.refinement().measured());
  EXPECT_NEAR(gpu.refinement().measured()->speeds[0], 0.25, 0.01);
}

TEST_F(RefinementOfTwo, AFloorIsKeptWhenMoreCouldBeDoneBelowIt) {
  MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}, a_tenth, 0.6), better_with_few_of_the_second);
  gpu.run_until(900'000'000);
  ASSERT_TRUE(gpu.refinement().measured());
  EXPECT_GE(gpu.refinement().measured()->slowest, 0.59);
}

TEST_F(RefinementOfTwo, AnApplicationBelowItsFloorIsRaisedAtOnce) {
  MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}, a_tenth, 0.6), better_with_few_of_the_second);
  gpu.run_until(5'000'000);
  ASSERT_TRUE(gpu.refinement().measured());
  EXPECT_GE(gpu.refinement().measured()->slowest, 0.59);
}

TEST_F(RefinementOfTwo, WhatIsSuggestedIsTriedNextAndKeptIfItIsBetter) {
  for (const auto& [blocks, remains] : {std::pair(std::vector{5, 3}, true), std::pair(std::vector{3, 5}, false)}) {
    const auto rate = of_vectors([](int one, int) { return one == 5 ? std::array{0.7, 0.7} : std::array{0.5, 0.5}; });
    MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}), rate);
    gpu.run_until(3'000'000);
    gpu.suggest({{.sms = device_.sms, .blocks = blocks}});
    gpu.run_until(3'100'000);
    EXPECT_EQ(gpu.blocks(), blocks);
    gpu.run_until(6'000'000);
    EXPECT_EQ(gpu.blocks() == blocks, remains);
  }
}

/// SMs of their own are better than what is shared in the same way, and worse than what is shared most unevenly.
MadeUpGpu::Rate two_hills(double shared) {
  return [shared](const Division& division, std::size_t) {
    if (division.size() > 1) return alone_rate * 0.60;
    const int blocks = division.front().blocks[0];
    return alone_rate * (blocks == 1 ? 0.65 : shared - 0.001 * blocks);
  };
}

TEST_F(RefinementOfTwo, TheOtherHillIsClimbedWhereItBeginsNearlyAsHigh) {
  const std::vector<Contender> both{contender_of(device_, one_), contender_of(device_, other_)};
  const Refinement start(equal_parts(device_, both), both, {alone_rate, alone_rate}, {}, a_tenth);
  MadeUpGpu nearly(start, two_hills(0.595));
  nearly.run_until(2'000'000'000);
  EXPECT_TRUE(nearly.refinement().is_done());
  EXPECT_THAT(nearly.blocks(), testing::ElementsAre(1, 7));
  MadeUpGpu lower(start, two_hills(0.55));
  lower.run_until(2'000'000'000);
  EXPECT_TRUE(lower.refinement().is_done());
  EXPECT_EQ(lower.refinement().current().size(), 2U);
}

TEST_F(RefinementOfTwo, APauseOfTheHostChangesNoDivision) {
  std::int64_t now = 0;
  const auto rate = [&](const Division& division, std::size_t) {
    now += 5'000;
    const bool is_pause = now > 1'500'000 && now < 11'000'000;  // in the first rest
    return alone_rate * (division.front().blocks[0] == 4 ? 0.6 : 0.5) * (is_pause ? 0.5 : 1.0);
  };
  MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}), rate);
  gpu.run_until(900'000'000);
  EXPECT_TRUE(gpu.refinement().is_done());
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(4, 4));
}

TEST_F(RefinementOfTwo, AProbeInWhichAnApplicationMakesNoProgressIsAbandoned) {
  const auto rate = [](const Division& division, std::size_t kernel) {
    const int blocks = division.front().blocks[0];
    if (blocks == 2 && kernel == 1) return 0.0;
    return alone_rate * (blocks >= 6 ? 0.7 : 0.5);
  };
  MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}), rate);
  gpu.run_until(2'000'000'000);
  EXPECT_TRUE(gpu.refinement().is_done());
  EXPECT_GE(gpu.blocks()[0], 6);
  EXPECT_TRUE(gpu.in_force().contains({2, 6}));
  EXPECT_LT(gpu.in_force().at({2, 6}), 12'000'000) << "tried once";
}

TEST_F(RefinementOfTwo, WhatNoLongerDoesWhatItDidIsLeftForTheNextBest) {
  bool is_spoilt = false;
  const auto rate = [&](const Division& division, std::size_t) {
    const int blocks = division.front().blocks[0];
    return alone_rate * (blocks == 6 ? (is_spoilt ? 0.4 : 0.7) : blocks == 5 ? 0.6 : 0.5);
  };
  MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}), rate);
  gpu.run_until(900'000'000);
  EXPECT_TRUE(gpu.refinement().is_done());
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(6, 2));
  is_spoilt = true;
  gpu.run_until(1'100'000'000);
  EXPECT_EQ(gpu.blocks()[0], 5);
}

TEST_F(RefinementOfTwo, AllThatIsSuggestedIsTried) {
  MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}), of_vectors([](int, int) { return std::array{0.5, 0.5}; }));
  gpu.suggest({{.sms = device_.sms, .blocks = {5, 3}}});
  gpu.suggest({{.sms = device_.sms, .blocks = {3, 5}}});
  gpu.run_until(150'000'000);
  EXPECT_TRUE(gpu.in_force().contains({5, 3}));
  EXPECT_TRUE(gpu.in_force().contains({3, 5}));
}

TEST_F(RefinementOfTwo, AProbeThatIsInterruptedAgainAndAgainIsGivenUp) {
  MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}), of_vectors([](int, int) { return std::array{0.5, 0.5}; }));
  while (gpu.blocks() == std::vector{4, 4}) gpu.run_until(gpu.now() + 100'000);
  for (int times = 0; times < 10; ++times) {
    gpu.run_until(gpu.now() + 500'000);
    gpu.interrupt();
  }
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(4, 4));
}

TEST_F(RefinementOfTwo, WhatIsTriedIsNotLeftInForceThroughAPause) {
  MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}), better_with_few_of_the_second);
  while (gpu.blocks() == std::vector{4, 4}) gpu.run_until(gpu.now() + 100'000);
  const std::vector<int> tried = gpu.blocks();
  gpu.pause();
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(4, 4));
  gpu.interrupt(1'000'000'000);
  while (gpu.blocks() == std::vector{4, 4}) gpu.run_until(gpu.now() + 100'000);
  EXPECT_EQ(gpu.blocks(), tried);
}

TEST_F(RefinementOfTwo, ProbesThatNeverEndTakeNoMoreThanTheirShareAndAreGivenUpForOthers) {
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

TEST_F(RefinementOfTwo, TimeAwayIsNoProbing) {
  MadeUpGpu gpu(from({4, 4}, {alone_rate, alone_rate}), better_with_few_of_the_second);
  while (gpu.blocks() == std::vector{4, 4}) gpu.run_until(gpu.now() + 100'000);
  gpu.interrupt(10'000'000'000);
  gpu.run_until(gpu.now() + 900'000'000);
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(7, 1));
}

TEST_F(RefinementOfTwo, WithoutAShareNothingIsTried) {
  MadeUpGpu gpu(from({4, 4}, {0, 0}, {}), better_with_few_of_the_second);
  EXPECT_TRUE(gpu.refinement().is_done());
  gpu.suggest({{.sms = device_.sms, .blocks = {3, 5}}});
  gpu.run_until(10'000'000);
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(4, 4));
}

TEST_F(RefinementOfTwo, BlocksThatHardlyEverEndEndTheSearch) {
  MadeUpGpu gpu(from({4, 4}, {1, 1}), of_vectors([](int, int) { return std::array{1e-6, 1e-6}; }));
  gpu.run_until(30'000'000);
  EXPECT_TRUE(gpu.refinement().is_done());
  EXPECT_THAT(gpu.blocks(), testing::ElementsAre(4, 4));
}

}  // namespace
}  // namespace gpushare
