// SPDX-License-Identifier: Apache-2.0
#include "daemon/channel/ring.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "daemon/channel/peer_errors.hpp"
#include "daemon/channel/port_memory.hpp"
#include "sample_devices.hpp"

namespace gpushare::daemon {
namespace {

using test::Dice;

/// Both ends in this process. In memory of their own, so that ThreadSanitizer sees every access.
struct Pair {
  explicit Pair(std::size_t bytes) : memory(bytes), writer(control, memory), reader(control, memory) {}
  RingControl control;
  std::vector<std::byte> memory;
  RingWriter writer;
  RingReader reader;
};

/// A record that says what it must be: its number, and then bytes that follow from number and size.
std::vector<std::byte> record(std::uint64_t number, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t at = 0; at < size; ++at) bytes[at] = static_cast<std::byte>(number * 31 + at * 7 + size);
  return bytes;
}

/// GPUSHARE_RING_RECORDS asks for more.
int records() {
  const char* wanted = std::getenv("GPUSHARE_RING_RECORDS");
  return wanted != nullptr ? std::atoi(wanted) : 200'000;
}

/// Both sides roll the same dice.
std::size_t next_size(Dice& dice, int most) { return static_cast<std::size_t>(dice.between(0, most)); }

void write_all(RingWriter& writer, int count, int most, std::uint64_t seed) {
  Dice dice(seed);
  for (int number = 0; number < count; ++number) {
    const auto bytes = record(static_cast<std::uint64_t>(number), next_size(dice, most));
    const std::size_t cut = bytes.size() / 3;
    const Part all = bytes;
    while (!writer.write({all.first(cut), all.subspan(cut)})) std::this_thread::yield();
  }
}

/// The number of the first record that is wrong, or -1.
int read_all(RingReader& reader, int count, int most, std::uint64_t seed) {
  Dice dice(seed);
  std::vector<std::byte> buffer(static_cast<std::size_t>(most));
  for (int number = 0; number < count; ++number) {
    const auto expected = record(static_cast<std::uint64_t>(number), next_size(dice, most));
    std::optional<std::size_t> size;
    while (!(size = reader.read(buffer))) std::this_thread::yield();
    if (!std::ranges::equal(Part(buffer).first(*size), expected)) return number;
  }
  return reader.has_record() ? count : -1;
}

TEST(Ring, GivesBackRecordsInOrderAndOverItsEnd) {
  for (const std::size_t bytes : {64, 128, 1024}) {
    Pair pair(bytes);
    Dice dice(bytes);
    std::uint64_t written = 0, read = 0;
    const int most = static_cast<int>(pair.writer.most_record_bytes());
    std::vector<std::size_t> sizes;
    std::vector<std::byte> buffer(bytes);
    for (int step = 0; step < 20'000; ++step) {
      if (dice.once_in(2)) {
        const std::size_t size = next_size(dice, dice.once_in(8) ? most : most / 5);
        if (!pair.writer.write({record(written, size)})) continue;
        sizes.push_back(size);
        ++written;
      } else if (const auto size = pair.reader.read(buffer)) {
        ASSERT_EQ(*size, sizes[read]);
        ASSERT_TRUE(std::ranges::equal(Part(buffer).first(*size), record(read, *size)));
        ++read;
      } else {
        ASSERT_EQ(read, written);
      }
    }
    EXPECT_GT(read, 2000u);
  }
}

TEST(Ring, TakesExactlyWhatFits) {
  Pair pair(64);
  EXPECT_TRUE(pair.writer.write({record(0, 60)}));
  EXPECT_FALSE(pair.writer.write({record(1, 0)}));
  std::array<std::byte, 60> buffer{};
  EXPECT_EQ(pair.reader.read(buffer), 60u);
  EXPECT_EQ(pair.reader.read(buffer), std::nullopt);
  EXPECT_TRUE(pair.writer.write({record(1, 28)}));
  EXPECT_TRUE(pair.writer.write({record(2, 28)}));
  EXPECT_FALSE(pair.writer.write({}));
}

TEST(Ring, CarriesRecordsBetweenThreads) {
  for (const int most : {16, 200, 1000}) {
    Pair pair(4096);
    const int count = records() / 4;
    std::thread writer([&] { write_all(pair.writer, count, most, 3); });
    EXPECT_EQ(read_all(pair.reader, count, most, 3), -1);
    writer.join();
  }
}

TEST(Ring, CarriesRecordsBetweenProcesses) {
  const PortMemory memory = PortMemory::create(4096, 4096);
  const int count = records();
  const pid_t child = ::fork();
  if (child == 0) {
    const PortMemory mapped = PortMemory::map(FileDescriptor::duplicate(memory.descriptor()));
    RingWriter writer(*mapped.commands().control, mapped.commands().bytes);
    write_all(writer, count, 100, 5);
    ::_exit(0);
  }
  RingReader reader(*memory.commands().control, memory.commands().bytes);
  EXPECT_EQ(read_all(reader, count, 100, 5), -1);
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Ring, ASleepingReaderIsToBeWokenOnce) {
  Pair pair(256);
  pair.writer.write({});
  EXPECT_FALSE(pair.writer.must_wake_reader());
  pair.reader.announce_sleep();
  EXPECT_TRUE(pair.reader.has_record());
  pair.writer.write({});
  EXPECT_TRUE(pair.writer.must_wake_reader());
  EXPECT_FALSE(pair.writer.must_wake_reader());
}

TEST(Ring, AReaderSaysWhereItSleeps) {
  Pair pair(256);
  EXPECT_EQ(pair.writer.take_sleeper(), Sleeper::None);
  pair.reader.announce_sleep();
  EXPECT_EQ(pair.writer.take_sleeper(), Sleeper::AtBell);
  pair.reader.announce_sleep(Sleeper::AtWord);
  EXPECT_EQ(pair.writer.take_sleeper(), Sleeper::AtWord);
  pair.control.reader_sleeps = 77;  // forged
  EXPECT_EQ(pair.writer.take_sleeper(), Sleeper::AtBell);
}

TEST(Ring, AWaitReturnsAtOnceIfTheWordHasChanged) {
  Pair pair(256);
  pair.reader.announce_sleep(Sleeper::AtWord);
  EXPECT_FALSE(pair.reader.sleep_at_word(std::chrono::milliseconds(1)));
  EXPECT_EQ(pair.writer.take_sleeper(), Sleeper::AtWord);
  EXPECT_TRUE(pair.reader.sleep_at_word(std::chrono::seconds(10)));
}

TEST(Ring, AWakeEndsAWaitOnTheWord) {
  Pair pair(256);
  pair.reader.announce_sleep(Sleeper::AtWord);
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    pair.writer.write({});
    if (pair.writer.take_sleeper() == Sleeper::AtWord) pair.writer.wake_at_word();
  });
  EXPECT_TRUE(pair.reader.sleep_at_word(std::chrono::hours(1)));
  writer.join();
  EXPECT_TRUE(pair.reader.has_record());
}

TEST(Ring, AWriterThatFindsNoRoomIsToBeWokenOnce) {
  Pair pair(64);
  while (pair.writer.write({record(0, 20)})) continue;
  pair.writer.announce_sleep();
  std::array<std::byte, 60> buffer{};
  EXPECT_TRUE(pair.reader.read(buffer));
  EXPECT_TRUE(pair.reader.must_wake_writer());
  EXPECT_FALSE(pair.reader.must_wake_writer());
}

TEST(Ring, ReaderRefusesImpossibleCounters) {
  std::array<std::byte, 256> buffer{};
  for (const std::uint64_t forged : {1ull, 257ull, 264ull, 1ull << 40, ~0ull}) {
    Pair pair(256);
    pair.control.written = forged;
    EXPECT_THROW(pair.reader.read(buffer), PeerViolation) << forged;
  }
  Pair pair(256);
  pair.writer.write({record(0, 30)});
  EXPECT_TRUE(pair.reader.read(buffer));
  pair.control.written = 8;  // less than what has been read
  EXPECT_THROW(pair.reader.read(buffer), PeerViolation);
}

TEST(Ring, ReaderRefusesImpossibleSizes) {
  std::array<std::byte, 100> buffer{};
  for (const std::uint32_t forged : {29u, 101u, 0x7fff'ffffu, ~0u, ~0u - 10}) {
    Pair pair(256);
    pair.writer.write({record(0, 28)});
    std::memcpy(pair.memory.data(), &forged, sizeof(forged));
    EXPECT_THROW(pair.reader.read(buffer), PeerViolation) << forged;
  }
}

TEST(Ring, WriterRefusesImpossibleCounters) {
  for (const std::uint64_t forged : {1'000ull, ~0ull}) {
    Pair pair(64);
    while (pair.writer.write({record(0, 4)})) continue;
    pair.control.read = forged;
    EXPECT_THROW(pair.writer.write({record(0, 4)}), PeerViolation) << forged;
  }
  Pair pair(64);
  std::array<std::byte, 60> buffer{};
  for (int time = 0; time < 20; ++time) {
    while (pair.writer.write({record(0, 4)})) continue;
    while (pair.reader.read(buffer)) continue;
  }
  while (pair.writer.write({record(0, 4)})) continue;
  pair.control.read = 0;  // less than it has read
  EXPECT_THROW(pair.writer.write({record(0, 4)}), PeerViolation);
}

}  // namespace
}  // namespace gpushare::daemon
