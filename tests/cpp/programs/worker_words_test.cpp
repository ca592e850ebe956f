// SPDX-License-Identifier: Apache-2.0
#include "programs/worker_words.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <thread>

namespace gpushare::programs {
namespace {

class WorkerWordsTest : public testing::Test {
 protected:
  bool all_have(WorkerOrder order) const {
    return std::ranges::all_of(words_.orders,
                               [&](const auto& each) { return each == std::bit_cast<std::uint32_t>(order); });
  }

  WorkerWords words_{};
};

TEST_F(WorkerWordsTest, HoldTellsAllWorkersToLeaveAndLettingGoAllToStay) {
  let_workers_go(words_);
  EXPECT_TRUE(may_workers_go(words_));
  EXPECT_TRUE(all_have(all_workers));
  hold_workers(words_);
  EXPECT_FALSE(may_workers_go(words_));
  EXPECT_TRUE(all_have(no_workers));
  const std::uint32_t held = words_.go;
  hold_workers(words_);
  EXPECT_EQ(words_.go, held);
  let_workers_go(words_);
  hold_workers(words_);
  EXPECT_GT(words_.go, held) << "each hold has a number of its own";
}

TEST_F(WorkerWordsTest, OrdersAreThoseOfTheWordWhenSeveralThreadsHaveChangedIt) {
  constexpr int rounds = 2000;
  int wrong = 0;
  std::barrier round(3, [&]() noexcept { wrong += !all_have(may_workers_go(words_) ? all_workers : no_workers); });
  const auto at_once = [&](auto change) {
    return std::jthread([&, change] {
      for (int number = 0; number < rounds; ++number) {
        change(words_);
        round.arrive_and_wait();
      }
    });
  };
  {
    const std::array changing{at_once(let_workers_go), at_once(let_workers_go), at_once(hold_workers)};
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace gpushare::programs
