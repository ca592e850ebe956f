// SPDX-License-Identifier: Apache-2.0
#include "core/model/lru_cache.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace gpushare {
namespace {

std::string known_of(const LruCache<char, int>& map) {
  std::string known;
  for (char key = 'a'; key <= 'z'; ++key) {
    if (map.peek(key) != nullptr) known += key;
  }
  return known;
}

std::map<char, int> entries_of(const LruCache<char, int>& map) {
  std::map<char, int> entries;
  for (const char key : known_of(map)) entries[key] = *map.peek(key);
  return entries;
}

LruCache<char, int> with_keys(const std::string& keys, std::size_t most) {
  LruCache<char, int> map(most);
  for (const char key : keys) map[key] = key;
  return map;
}

TEST(LruCache, EvictsTheLeastRecentlyUsedEntry) {
  auto map = with_keys("abc", 3);
  EXPECT_EQ(known_of(map), "abc");
  map['d'] = 4;
  EXPECT_EQ(known_of(map), "bcd");
  EXPECT_EQ(*map.find('b'), 'b');
  map['e'] = 5;
  EXPECT_EQ(known_of(map), "bde") << "b has been asked for";
  EXPECT_NE(map.peek('d'), nullptr);
  map['f'] = 6;
  EXPECT_EQ(known_of(map), "bef") << "to peek is not to ask";
  EXPECT_EQ(map.size(), 3u);
}

TEST(LruCache, MakesOnlyWhatIsNotKnown) {
  auto map = with_keys("a", 2);
  EXPECT_EQ(map.find_or('a', [] { return 7; }), 'a');
  EXPECT_EQ(map.find_or('b', [] { return 7; }), 7);
  EXPECT_EQ(map.find('c'), nullptr);
}

TEST(LruCache, KeepsAllWhereMakingOneFails) {
  auto map = with_keys("ab", 2);
  EXPECT_THROW(map.find_or('c', []() -> int { throw std::string("no"); }), std::string);
  EXPECT_EQ(known_of(map), "ab");
}

TEST(LruCache, ValuesStayWhereTheyAre) {
  LruCache<int, std::unique_ptr<int>> map(8);
  std::unique_ptr<int>& first = map.find_or(0, [] { return std::make_unique<int>(42); });
  for (int key = 1; key < 100; ++key) {
    map.find_or(key, [key] { return std::make_unique<int>(key); });
    EXPECT_EQ(map.find(0), &first);
  }
  LruCache<int, std::unique_ptr<int>> moved = std::move(map);
  moved.find_or(100, [] { return nullptr; });
  EXPECT_EQ(moved.find(0), &first);
  EXPECT_EQ(*first, 42);
}

TEST(LruCache, ForgetsWhatIsGone) {
  auto map = with_keys("abcd", 4);
  map.forget_if([](char key) { return key == 'b' || key == 'd'; });
  EXPECT_EQ(known_of(map), "ac");
  map['e'] = map['f'] = map['g'] = 1;
  EXPECT_EQ(map.size(), 4u);
}

/// The same as a list that is searched from its front.
TEST(LruCache, IsWhatAListWouldBe) {
  std::mt19937 random(7);
  LruCache<char, int> map(5);
  std::vector<std::pair<char, int>> latest;
  for (int step = 0; step < 20'000; ++step) {
    const char key = static_cast<char>('a' + random() % 9);
    const auto known = std::ranges::find(latest, key, [](const auto& entry) { return entry.first; });
    std::optional<int> value;
    if (known != latest.end()) {
      value = known->second;
      latest.erase(known);
    }
    if (random() % 2 == 0) {
      value = map[key] = step;
    } else {
      const int* found = map.find(key);
      ASSERT_EQ(found == nullptr ? std::nullopt : std::optional(*found), value);
    }
    if (value) latest.insert(latest.begin(), {key, *value});
    latest.resize(std::min<std::size_t>(latest.size(), 5));
    ASSERT_EQ(entries_of(map), (std::map<char, int>(latest.begin(), latest.end())));
    ASSERT_EQ(map.size(), latest.size());
  }
}

TEST(LruCache, ACopyKnowsTheSameAndForgetsTheSameNext) {
  LruCache<char, int> map(2);
  map['a'] = 1;
  map['b'] = 2;
  map['a'] = 3;
  LruCache<char, int> copy(map);
  copy['c'] = 4;
  EXPECT_EQ(entries_of(copy), (std::map<char, int>{{'a', 3}, {'c', 4}}));
  EXPECT_EQ(entries_of(map), (std::map<char, int>{{'a', 3}, {'b', 2}}));
}

}  // namespace
}  // namespace gpushare
