// SPDX-License-Identifier: Apache-2.0
#include "record/flusher.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <future>
#include <thread>

namespace gpushare::recording {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds never = std::chrono::hours(1);
constexpr milliseconds long_enough = std::chrono::minutes(1);

struct Flushed {
  Flusher flusher;
  std::atomic<int> flushes = 0;
  std::atomic<int> last_flushes = 0;
  std::promise<void> third;
  std::promise<void> go_on;

  void start(milliseconds period) {
    flusher.start(
        period,
        [this] {
          if (++flushes == 3) third.set_value();
        },
        [this] { ++last_flushes; });
  }
};

/// A flusher lives as long as the process.
Flushed& kept() {
  static std::deque<Flushed> all;
  return all.emplace_back();
}

TEST(FlusherTest, FlushesEachPeriod) {
  Flushed& flushed = kept();
  flushed.start(milliseconds(1));
  EXPECT_EQ(flushed.third.get_future().wait_for(long_enough), std::future_status::ready);
  EXPECT_EQ(flushed.last_flushes, 0);
  flushed.flusher.finish(long_enough);
  EXPECT_EQ(flushed.last_flushes, 1);
}

TEST(FlusherTest, ConcurrentFinishesFlushOnce) {
  Flushed& flushed = kept();
  flushed.start(never);
  const auto finish = [&flushed] {
    flushed.flusher.finish(long_enough);
    EXPECT_EQ(flushed.last_flushes, 1);
  };
  std::thread other(finish);
  finish();
  other.join();
  finish();
  EXPECT_EQ(flushed.flushes, 0);
}

TEST(FlusherTest, WaitsNoLongerThanItIsTold) {
  Flushed& flushed = kept();
  flushed.flusher.start(
      never, [] {},
      [&flushed] {
        flushed.go_on.get_future().wait();
        ++flushed.last_flushes;
      });
  for (int times = 0; times < 2; ++times) {
    const auto begin = std::chrono::steady_clock::now();
    flushed.flusher.finish(milliseconds(20));
    EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(20));
    EXPECT_EQ(flushed.last_flushes, 0);
  }
  flushed.go_on.set_value();
  flushed.flusher.finish(long_enough);
  EXPECT_EQ(flushed.last_flushes, 1);
}

TEST(FlusherTest, OneThatWasNotStartedIsNotWaitedFor) {
  Flusher flusher;
  const auto begin = std::chrono::steady_clock::now();
  flusher.finish(long_enough);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, long_enough);
}

}  // namespace
}  // namespace gpushare::recording
