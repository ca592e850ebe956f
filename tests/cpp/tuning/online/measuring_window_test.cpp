// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/online/measuring_window.hpp"

#include <gtest/gtest.h>

#include <array>

namespace gpushare {
namespace {

Time moment(std::int64_t ns) { return Time(Duration(ns)); }

/// One application, launch after launch: blocks of 100 ns, 64 at a time.
class Hand {
 public:
  explicit Hand(Duration patience = Duration(60)) : progress_{BlockProgress(patience)} {}

  void arrive() { progress_[0].observe({.time = moment(now_), .kind = EventKind::LaunchArrived}); }
  void end() { progress_[0].observe({.time = moment(now_), .kind = EventKind::LaunchEnded}); }
  void pause(std::int64_t ns) { now_ += ns; }
  void waves(int count) {
    for (int wave = 0; wave < count; ++wave) {
      progress_[0].observe({.time = moment(now_), .blocks = 64, .kind = EventKind::BlockStarted});
      now_ += 100;
      progress_[0].observe(
          {.time = moment(now_), .started = moment(now_ - 100), .blocks = 64, .kind = EventKind::BlockEnded});
    }
  }
  void launch(int count) {
    arrive();
    waves(count);
    end();
  }

  Time now() const { return moment(now_); }
  const std::array<BlockProgress, 1>& progress() const { return progress_; }

 private:
  std::array<BlockProgress, 1> progress_;
  std::int64_t now_ = 0;
};

constexpr Duration window_length(1000);

TEST(MeasuringWindow, IsFullWithBlocksAndALaunchOrLate) {
  Hand worker;
  MeasuringWindow window(window_length);
  worker.arrive();
  window.open(worker.now(), worker.progress());
  EXPECT_TRUE(window.is_open());
  EXPECT_FALSE(window.has_enough(worker.now(), worker.progress()));
  worker.waves(10);
  EXPECT_TRUE(window.has_enough_of(0, worker.now(), worker.progress()));
  EXPECT_FALSE(window.has_enough(worker.now(), worker.progress()));
  EXPECT_TRUE(window.has_enough(moment(8001), worker.progress())) << "so long a launch is waited for";
  worker.end();
  EXPECT_TRUE(window.has_enough(worker.now(), worker.progress()));
  EXPECT_FALSE(window.takes_too_long(moment(40'000)));
  EXPECT_TRUE(window.takes_too_long(moment(40'001)));
}

TEST(MeasuringWindow, GoesFromOneEndOfALaunchToAnother) {
  Hand worker;
  MeasuringWindow window(window_length);
  window.open(worker.now(), worker.progress());
  worker.launch(10);
  worker.pause(50);
  worker.arrive();
  worker.waves(3);
  window.open_next(worker.now(), worker.progress());
  worker.waves(7);
  worker.end();
  worker.pause(50);
  worker.launch(10);
  worker.pause(50);
  worker.arrive();
  worker.waves(1);
  // Two launches of 640 blocks, and the gaps before them.
  EXPECT_DOUBLE_EQ(window.rate(worker.now(), worker.progress()[0], 0, 64), 1280.0 / 2100);
}

TEST(MeasuringWindow, WhatEndedBeforeItIsNoEdgeOfIt) {
  Hand worker;
  worker.launch(10);
  worker.pause(50);
  MeasuringWindow window(window_length);
  window.open(worker.now(), worker.progress());
  worker.launch(10);
  EXPECT_DOUBLE_EQ(window.rate(worker.now(), worker.progress()[0], 0, 64), 0.64) << "the gap was before it";
}

TEST(MeasuringWindow, WithoutLaunchesBlocksInFlightCountInPart) {
  Hand worker;
  MeasuringWindow window(window_length);
  worker.arrive();
  worker.waves(3);
  window.open(worker.now(), worker.progress());
  worker.waves(10);
  window.open_next(worker.now(), worker.progress());
  worker.waves(10);
  EXPECT_DOUBLE_EQ(window.rate(worker.now(), worker.progress()[0], 0, 64), 0.64);
}

}  // namespace
}  // namespace gpushare
