// SPDX-License-Identifier: Apache-2.0
#include "cuda/quiet_moments.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <optional>

namespace gpushare::cuda::test {
namespace {

constexpr Duration for_ever_quiet(3'600'000'000'000);
constexpr std::chrono::milliseconds a_moment(20);

/// Asks in a thread of its own, which has the moment until it is told to let it go.
class Asker {
 public:
  explicit Asker(QuietMoments& moments)
      : thread_([this, &moments] {
          const Quiet quiet = moments.ask();
          has_it_.set_value();
          lets_go_.get_future().wait();
        }) {}
  ~Asker() {
    if (thread_.joinable()) let_go();
  }

  bool has_it_within(std::chrono::milliseconds time) const { return got_.wait_for(time) == std::future_status::ready; }
  void wait() const { got_.wait(); }
  void let_go() {
    lets_go_.set_value();
    thread_.join();
  }

 private:
  std::promise<void> has_it_, lets_go_;
  std::future<void> got_ = has_it_.get_future();
  std::thread thread_;
};

void wait_until_wanted(const QuietMoments& moments) {
  while (!moments.is_wanted()) std::this_thread::yield();
}

TEST(QuietMoments, BeginAtOnceWhereNothingIsOnTheGpu) {
  QuietMoments moments(for_ever_quiet);
  {
    const Quiet quiet = moments.ask();
    EXPECT_FALSE(moments.is_wanted());
    EXPECT_FALSE(moments.begin_use());
  }
  EXPECT_TRUE(moments.begin_use());
}

TEST(QuietMoments, BeginWhenTheGpuIsEmptyAndLastUntilNobodyWantsThemAnyMore) {
  QuietMoments moments(for_ever_quiet);
  ASSERT_TRUE(moments.begin_use());
  Asker first(moments);
  Asker second(moments);
  EXPECT_FALSE(first.has_it_within(a_moment));
  EXPECT_FALSE(second.has_it_within(a_moment));
  moments.end_use();
  first.wait();
  second.wait();
  Asker third(moments);
  third.wait();
  first.let_go();
  third.let_go();
  EXPECT_FALSE(moments.begin_use());
  second.let_go();
  EXPECT_TRUE(moments.begin_use());
}

TEST(QuietMoments, WhoComesLaterHasTheNextOne) {
  QuietMoments moments(for_ever_quiet);
  Asker first(moments);
  first.wait();
  EXPECT_FALSE(moments.begin_use());
  Asker later(moments);
  wait_until_wanted(moments);
  EXPECT_FALSE(later.has_it_within(a_moment));
  first.let_go();
  EXPECT_TRUE(moments.begin_use());
  EXPECT_FALSE(later.has_it_within(a_moment));
  EXPECT_TRUE(moments.is_wanted());
  moments.end_use();
  later.wait();
}

TEST(QuietMoments, WhereTheUserOfTheGpuIsGoneAllHaveOne) {
  QuietMoments moments(for_ever_quiet);
  Asker first(moments);
  first.wait();
  EXPECT_FALSE(moments.begin_use());
  Asker second(moments);
  wait_until_wanted(moments);
  moments.end_use();
  second.wait();
  first.let_go();
  EXPECT_FALSE(moments.begin_use());
  second.let_go();
  EXPECT_TRUE(moments.begin_use());
}

TEST(QuietMoments, WhoHasAskedTooLongGoesOnWithout) {
  QuietMoments moments(Duration(1'000'000));
  ASSERT_TRUE(moments.begin_use());
  Asker asker(moments);
  asker.wait();
  EXPECT_FALSE(moments.is_wanted());
}

TEST(QuietMoments, TakenBackTheyAreOverForAllWhoHaveAsked) {
  QuietMoments moments(for_ever_quiet);
  ASSERT_TRUE(moments.begin_use());
  Asker waits(moments);
  wait_until_wanted(moments);
  moments.take_back();
  waits.wait();
  EXPECT_FALSE(moments.is_wanted());
  moments.end_use();
  Asker has_one(moments);
  has_one.wait();
  moments.take_back();
  EXPECT_TRUE(moments.begin_use());
  Asker next(moments);
  has_one.let_go();  // which is not the next one's
  EXPECT_FALSE(next.has_it_within(a_moment));
  EXPECT_TRUE(moments.is_wanted());
  moments.end_use();
  next.wait();
}

TEST(QuietMoments, WhoUsesTheGpuDoesNotWaitForItself) {
  QuietMoments moments(for_ever_quiet);
  ASSERT_TRUE(moments.begin_use());
  const Quiet quiet = moments.ask();
  EXPECT_FALSE(moments.is_wanted());
}

TEST(QuietMoments, NorWhoWaitsToUseIt) {
  QuietMoments moments(for_ever_quiet);
  Asker other(moments);
  other.wait();
  ASSERT_FALSE(moments.begin_use());
  int freed = 0;
  moments.free([&] { freed += 1; });
  EXPECT_EQ(freed, 0);
  const Quiet quiet = moments.ask();
  EXPECT_FALSE(moments.is_wanted());
  moments.end_use();
}

TEST(QuietMoments, WhatWasLeftIsFreedByWhoeverHasTheNextOne) {
  QuietMoments moments(for_ever_quiet);
  int freed = 0;
  ASSERT_TRUE(moments.begin_use());
  moments.free([&] { freed += 1; });
  moments.end_use();
  EXPECT_EQ(freed, 0);
  const Quiet quiet = moments.ask();
  EXPECT_EQ(freed, 1);
}

TEST(QuietMoments, WhoHasAskedHasWhatItCanGet) {
  QuietMoments moments(Duration(1'000'000));
  std::promise<void> is_used;
  std::promise<void> is_over;
  std::thread user([&] {
    moments.begin_use();
    is_used.set_value();
    is_over.get_future().wait();
  });
  is_used.get_future().wait();
  {
    const Quiet without = moments.ask();
    const Quiet within = moments.ask();
    EXPECT_FALSE(moments.is_wanted());
  }
  moments.end_use();
  const Quiet quiet = moments.ask();
  {
    const Quiet within = moments.ask();
  }
  EXPECT_FALSE(moments.begin_use());
  is_over.set_value();
  user.join();
}

TEST(QuietMoments, WhatTheUserOfTheGpuFreesIsLeftToOthers) {
  QuietMoments moments(for_ever_quiet);
  int freed = 0;
  ASSERT_TRUE(moments.begin_use());
  moments.free([&] { freed += 1; });
  moments.free([&] { freed += 10; });
  EXPECT_EQ(freed, 0);
  std::thread other([&] { moments.free([&] { freed += 100; }); });
  wait_until_wanted(moments);
  EXPECT_EQ(freed, 0);
  moments.end_use();
  other.join();
  EXPECT_EQ(freed, 111);
  ASSERT_TRUE(moments.begin_use());
  moments.free([&] { freed += 1000; });
  moments.free_left();
  EXPECT_EQ(freed, 1111);
}

}  // namespace
}  // namespace gpushare::cuda::test
