// SPDX-License-Identifier: Apache-2.0
#include "core/session/session_thread.hpp"

#include <gtest/gtest.h>

#include <latch>
#include <optional>

namespace gpushare {
namespace {

TEST(SessionThread, KnowsItselfFromOthersUntilItHasEnded) {
  for (int trial = 0; trial < 20; ++trial) {
    std::optional<SessionThread> thread;
    std::latch made(1);
    bool is_itself = false;
    thread.emplace([&] {
      made.wait();
      is_itself = thread->is_current();
    });
    made.count_down();
    EXPECT_FALSE(thread->is_current());
    thread->join();
    EXPECT_TRUE(is_itself);
    std::thread with_its_number([&] { EXPECT_FALSE(thread->is_current()); });
    with_its_number.join();
  }
}

TEST(SessionThread, SeveralThreadsJoinIt) {
  std::latch both_wait(2);
  SessionThread thread([&] { both_wait.wait(); });
  const auto join = [&] {
    both_wait.count_down();
    thread.join();
  };
  std::thread beside(join);
  join();
  beside.join();
  thread.join();
}

}  // namespace
}  // namespace gpushare
