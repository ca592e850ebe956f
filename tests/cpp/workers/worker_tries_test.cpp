// SPDX-License-Identifier: Apache-2.0
#include "core/workers/worker_tries.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "core/workers/worker_demand.hpp"
#include "sample_devices.hpp"

namespace gpushare {
namespace {

using namespace test;

TEST(WorkerTries, TheFirstIsTheUsualNumber) {
  EXPECT_EQ(WorkerTries().next(4, 132), 4);
  EXPECT_EQ(WorkerTries().next(1056, 1056), 1056);
}

TEST(WorkerTries, EachIsLargerThanTheOneBeforeUntilTheGpuIsFull) {
  WorkerTries tries;
  std::vector<int> asked;
  for (int time = 0; time < 6; ++time) asked.push_back(tries.next(2, 132));
  EXPECT_EQ(asked, (std::vector{2, 8, 32, 128, 132, 132}));
}

TEST(WorkerTries, GrowthIsOfWhatIsMissingByThen) {
  WorkerTries tries;
  tries.next(10, 132);
  EXPECT_EQ(tries.next(3, 132), 12);
}

TEST(WorkerTries, TheUsualNumberMayBeMoreThanFillTheGpu) {
  WorkerTries tries;
  for (int time = 0; time < 3; ++time) EXPECT_EQ(tries.next(200, 132), 200);
}

TEST(WorkerTries, AfterSuccessTheUsualNumberIsTriedFirst) {
  WorkerTries tries;
  tries.next(2, 132);
  tries.next(2, 132);
  tries.have_found_places();
  EXPECT_EQ(tries.next(2, 132), 2);
  EXPECT_EQ(tries.next(2, 132), 8);
}

TEST(WorkerTries, StayWithinTheGpuHoweverManyThereAre) {
  Dice dice(7);
  WorkerTries tries;
  for (int time = 0; time < 100'000; ++time) {
    const int usual = dice.between(1, 8448);
    const int workers = tries.next(usual, 4224);
    ASSERT_GE(workers, usual);
    ASSERT_LE(workers, std::max(usual, 4224));
  }
}

/// Blocks that do not end come to an empty GPU, which has each worker come to an SM with fewest of them, in one order.
class EmptyGpu {
 public:
  EmptyGpu(std::vector<std::size_t> order, int residency)
      : order_(std::move(order)), residency_(residency), present_(order_.size()) {}

  int places() const { return static_cast<int>(order_.size()) * residency_; }
  int blocks() const { return std::reduce(present_.begin(), present_.end()); }

  /// How often a launch has to ask until so many of its blocks are there; `most` if more often than that.
  int tries_until_there(int blocks_in_all, const std::vector<int>& quotas, int most) {
    WorkerTries tries;
    for (int tried = 1; tried < most; ++tried) {
      WorkerDemand demand;
      for (std::size_t sm = 0; sm < quotas.size(); ++sm) demand.add_sm(quotas[sm], present_[sm]);
      demand.missing = std::min(demand.missing, blocks_in_all - blocks());
      const int sms = static_cast<int>(order_.size());
      launch(tries.next(workers_to_launch(demand, sms, sms, residency_), places()), blocks_in_all, quotas);
      if (blocks() == blocks_in_all) return tried;
    }
    return most;
  }

 private:
  /// All are placed before the first one leaves.
  void launch(int workers, int blocks_in_all, const std::vector<int>& quotas) {
    std::vector<int> there = present_;
    for (int level = 0; level < residency_; ++level) {
      for (const std::size_t sm : order_) {
        if (there[sm] != level || workers == 0) continue;
        ++there[sm];
        --workers;
        if (there[sm] <= quotas[sm] && blocks() < blocks_in_all) ++present_[sm];
      }
    }
  }

  std::vector<std::size_t> order_;
  int residency_;
  std::vector<int> present_;
};

constexpr std::size_t sms_of_h100 = 132;

/// As SMs are numbered, as a GPU might take them whose SMs are in groups, and backwards.
std::vector<std::vector<std::size_t>> orders() {
  std::vector<std::size_t> forwards(sms_of_h100);
  std::iota(forwards.begin(), forwards.end(), 0);
  std::vector<std::size_t> in_groups;
  for (std::size_t first = 0; first < 18; ++first) {
    for (std::size_t sm = first; sm < sms_of_h100; sm += 18) in_groups.push_back(sm);
  }
  return {forwards, in_groups, {forwards.rbegin(), forwards.rend()}};
}

std::vector<int> quotas_on(std::size_t first, std::size_t count, int quota) {
  std::vector<int> quotas(sms_of_h100);
  std::fill_n(quotas.begin() + static_cast<std::ptrdiff_t>(first), count, quota);
  return quotas;
}

TEST(WorkerTries, AFewBlocksBeginWhicheverSmsTheyMayHave) {
  constexpr int most = 9;
  for (const std::size_t count : {1, 2, 3, 6, 11, 22, 33, 36, 44, 50, 66, 88, 120, 130}) {
    for (const std::size_t first : {std::size_t{0}, (sms_of_h100 - count) / 2, sms_of_h100 - count}) {
      for (const std::vector<std::size_t>& order : orders()) {
        for (const int residency : {1, 2, 32}) {
          for (const int blocks : {1, 2, 5}) {
            const std::vector<int> quotas = quotas_on(first, count, std::min(2, residency));
            if (blocks > std::reduce(quotas.begin(), quotas.end())) continue;
            EmptyGpu gpu(order, residency);
            EXPECT_LT(gpu.tries_until_there(blocks, quotas, most), most)
                << blocks << " blocks on " << count << " SMs from " << first << ", " << residency << " places on each";
          }
        }
      }
    }
  }
}

TEST(WorkerTries, OneBlockBeginsWithinFiveOfThem) {
  for (std::size_t count = 1; count <= sms_of_h100; ++count) {
    EmptyGpu gpu(orders().front(), 32);
    EXPECT_LE(gpu.tries_until_there(1, quotas_on(sms_of_h100 - count, count, 2), 9), 5) << count;
  }
}

TEST(WorkerTries, WhatTheGpuSpreadsEvenlyIsThereAtOnce) {
  const std::vector<int> quotas = quotas_on(96, 36, 2);
  EmptyGpu gpu(orders().front(), 32);
  EXPECT_EQ(gpu.tries_until_there(72, quotas, 9), 1);
}

}  // namespace
}  // namespace gpushare
