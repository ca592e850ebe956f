// SPDX-License-Identifier: Apache-2.0
#include "daemon/channel/handle_table.hpp"

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "messages.hpp"
#include "sample_devices.hpp"

namespace gpushare::daemon {
namespace {

using test::message_of;
using test::naming;

using Table = HandleTable<int>;

TEST(HandleTable, FindsWhatIsInIt) {
  Table table("array", 10);
  const Handle one = table.add(std::make_shared<int>(1));
  const Handle two = table.add(std::make_shared<int>(2));
  EXPECT_EQ(*table.find(one), 1);
  EXPECT_EQ(*table.find(two), 2);
  EXPECT_EQ(table.size(), 2u);
}

TEST(HandleTable, RefusesForgedHandles) {
  Table table("array", 10);
  const Handle handle = table.add(std::make_shared<int>(1));
  const Handle generation = Handle{1} << 32;
  for (const Handle forged : {Handle{0}, handle + 1, handle ^ generation, handle ^ (generation << 31), ~Handle{0}}) {
    EXPECT_THROW(table.find(forged), InvalidInput) << forged;
    EXPECT_THROW(table.remove(forged), InvalidInput) << forged;
  }
  EXPECT_EQ(*table.find(handle), 1);
}

TEST(HandleTable, RefusesStaleHandlesAlsoWhereTheirPlaceIsUsedAgain) {
  Table table("array", 1);
  const Handle first = table.add(std::make_shared<int>(1));
  EXPECT_EQ(*table.remove(first), 1);
  EXPECT_THROW(table.find(first), InvalidInput);
  const Handle second = table.add(std::make_shared<int>(2));
  EXPECT_NE(first, second);
  EXPECT_THROW(table.find(first), InvalidInput);
  EXPECT_EQ(*table.find(second), 2);
}

TEST(HandleTable, HasALimitAndSaysIt) {
  Table table("kernel", 2);
  const Handle first = table.add(std::make_shared<int>(1));
  table.add(std::make_shared<int>(2));
  EXPECT_THAT(message_of<InvalidInput>([&] { table.add(std::make_shared<int>(3)); }), naming(2));
  table.remove(first);
  EXPECT_NO_THROW(table.add(std::make_shared<int>(3)));
}

TEST(HandleTable, WhatHasBeenFoundStaysWhileInUse) {
  Table table("array", 2);
  const Handle handle = table.add(std::make_shared<int>(5));
  const auto used = table.find(handle);
  table.remove(handle);
  EXPECT_EQ(*used, 5);
}

TEST(HandleTable, AgreesWithAMapUnderRandomUse) {
  Table table("array", 64);
  std::map<Handle, int> expected;
  std::vector<Handle> stale;
  test::Dice dice(7);
  for (int step = 0; step < 50'000; ++step) {
    if (expected.size() < 64 && dice.once_in(2)) {
      const Handle handle = table.add(std::make_shared<int>(step));
      ASSERT_TRUE(expected.emplace(handle, step).second);
    } else if (!expected.empty()) {
      const auto chosen = std::next(expected.begin(), dice.between(0, static_cast<int>(expected.size()) - 1));
      ASSERT_EQ(*table.remove(chosen->first), chosen->second);
      stale.push_back(chosen->first);
      expected.erase(chosen);
    }
    for (const auto& [handle, value] : expected) {
      if (!dice.once_in(8)) continue;
      ASSERT_EQ(*table.find(handle), value);
    }
    if (!stale.empty()) {
      const auto chosen = static_cast<std::size_t>(dice.between(0, static_cast<int>(stale.size()) - 1));
      ASSERT_THROW(table.find(stale[chosen]), InvalidInput);
    }
  }
}

TEST(HandleTable, CanBeUsedByManyThreads) {
  Table table("array", 1000);
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&table, number] {
      for (int time = 0; time < 5'000; ++time) {
        const Handle handle = table.add(std::make_shared<int>(number));
        EXPECT_EQ(*table.find(handle), number);
        EXPECT_EQ(*table.remove(handle), number);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(table.size(), 0u);
}

}  // namespace
}  // namespace gpushare::daemon
