// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <numeric>
#include <thread>

#include "served.hpp"

using namespace std::chrono_literals;

namespace {

class Copies : public Served {
 protected:
  static std::vector<std::uint8_t> sample(std::size_t count) {
    std::vector<std::uint8_t> values(count);
    for (std::size_t place = 0; place < count; ++place)
      values[place] = static_cast<std::uint8_t>(place * 7 + place / 251);
    return values;
  }
};

TEST_F(Copies, MemoryIsZeroed) {
  const auto found = downloaded<std::uint8_t>(session.allocate(100'003));
  EXPECT_EQ(std::accumulate(found.begin(), found.end(), 0), 0);
}

TEST_F(Copies, OddSizesComeBack) {
  constexpr std::size_t piece = 1 << 24;
  for (const std::size_t size : {1UL, 3UL, 4097UL, piece - 1, piece + 7, 3 * piece + 1}) {
    const auto values = sample(size);
    EXPECT_EQ(downloaded<std::uint8_t>(uploaded(values)), values) << size;
  }
}

TEST_F(Copies, APartIsCopiedAndTheRestStays) {
  const auto values = sample(1000);
  gs::Memory memory = session.allocate(3000);
  memory.write(values.data(), 333, 1001);
  std::vector<std::uint8_t> expected(3000);
  std::copy_n(values.begin(), 333, expected.begin() + 1001);
  EXPECT_EQ(downloaded<std::uint8_t>(memory), expected);
  std::vector<std::uint8_t> part(300);
  memory.read(part.data(), part.size(), 1005);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), values.begin() + 4));
}

TEST_F(Copies, NothingIsCopied) {
  gs::Memory memory = session.allocate(0);
  memory.write(nullptr, 0);
  memory.read(nullptr, 0);
  gs::PinnedMemory pinned = session.pin(0);
  memory.begin_write(pinned, 0).wait();
  EXPECT_EQ(memory.size(), 0U);
  EXPECT_EQ(pinned.bytes().size(), 0U);
}

TEST_F(Copies, PinnedMemoryIsCopiedWithoutWaiting) {
  constexpr std::size_t count = 100'001;
  const auto values = sample(count);
  gs::PinnedMemory from = session.pin(count);
  gs::PinnedMemory to = session.pin(count);
  EXPECT_EQ(from.as<std::uint32_t>().size(), count / 4);
  std::copy(values.begin(), values.end(), from.as<std::uint8_t>().begin());
  gs::Memory memory = session.allocate(count);
  std::vector<gs::PendingCopy> copies;
  copies.push_back(memory.begin_write(from, 50'000));
  copies.push_back(memory.begin_write(from, count - 50'000, 50'000, 50'000));
  copies.push_back(memory.begin_read(to, count - 1, 1, 1));  // copies are in order
  for (auto& copy : copies) {
    while (!copy.wait_for(1s)) {
    }
    copy.wait();
  }
  EXPECT_EQ(to.as<std::uint8_t>()[0], 0);
  EXPECT_TRUE(std::equal(values.begin() + 1, values.end(), to.as<std::uint8_t>().begin() + 1));
}

TEST_F(Copies, AWaitMayBeForEver) {
  constexpr std::size_t count = 1 << 26;
  gs::Session patient({.patience = std::chrono::nanoseconds::max()});
  gs::PinnedMemory pinned = patient.pin(count);
  gs::Memory memory = patient.allocate(count);
  EXPECT_TRUE(memory.begin_write(pinned, count).wait_for(std::chrono::nanoseconds::max()));
}

TEST_F(Copies, TheyGoOnWithoutTheirObjects) {
  const auto values = sample(1 << 20);
  gs::Memory memory = session.allocate(values.size());
  {
    gs::PinnedMemory pinned = session.pin(values.size());
    std::copy(values.begin(), values.end(), pinned.as<std::uint8_t>().begin());
    memory.begin_write(pinned, values.size());
  }
  EXPECT_EQ(downloaded<std::uint8_t>(memory), values);
}

TEST_F(Copies, OutsideIsRefused) {
  gs::Memory memory = session.allocate(100);
  gs::PinnedMemory pinned = session.pin(50);
  std::vector<std::uint8_t> values(200);
  expect_error_naming<gs::InvalidInput>({"101", "100"}, [&] { memory.write(values.data(), 101); });
  expect_error_naming<gs::InvalidInput>({"50", "51", "100"}, [&] { memory.read(values.data(), 50, 51); });
  expect_error_naming<gs::InvalidInput>({"60", "50"}, [&] { memory.begin_write(pinned, 60); });
  expect_error_naming<gs::InvalidInput>({"18446744073709551615"}, [&] { memory.write(values.data(), 2, ~0UL); });
}

TEST_F(Copies, FreedMemoryIsRefused) {
  std::vector<std::uint8_t> values(10);
  gs::Memory memory = session.allocate(10);
  memory.free();
  memory.free();
  expect_error_naming<gs::InvalidInput>({"10", "freed"}, [&] { memory.write(values.data(), 10); });
  gs::Memory other = session.allocate(10);
  gs::Memory moved = std::move(other);
  expect_error_naming<gs::InvalidInput>({"moved"}, [&] { other.read(values.data(), 10); });
}

TEST_F(Copies, MemoryOfOtherSessionsIsRefused) {
  gs::Session second;
  gs::PinnedMemory pinned = second.pin(10);
  gs::Memory memory = session.allocate(10);
  expect_error_naming<gs::InvalidInput>({"another session"}, [&] { memory.begin_write(pinned, 10); });
}

TEST_F(Copies, WhatCanNeverFitIsRefused) {
  expect_error_naming<gs::InvalidInput>({"1125899906842624"}, [&] { session.allocate(1UL << 50); });
  expect_error_naming<gs::Error>({"4611686018427387904"}, [&] { session.pin(1UL << 62); });
}

TEST_F(Copies, ThreadsCopyAtTheSameTime) {
  std::vector<std::thread> threads;
  for (std::size_t number = 0; number < 20; ++number) {
    threads.emplace_back([this, number] {
      const auto values = sample((1 << 20) + number);
      for (int round = 0; round < 3; ++round) EXPECT_EQ(downloaded<std::uint8_t>(uploaded(values)), values);
    });
  }
  for (auto& each : threads) each.join();
}

}  // namespace
