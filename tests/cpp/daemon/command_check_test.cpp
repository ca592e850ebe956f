// SPDX-License-Identifier: Apache-2.0
#include "daemon/command_check.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "daemon/channel/peer_errors.hpp"
#include "daemon/channel/ring.hpp"
#include "sample_devices.hpp"

namespace gpushare::daemon {
namespace {

using test::Dice;

constexpr std::uint64_t array_address = 0x7000'0000;
constexpr std::uint64_t array_bytes = 1000;

/// A client with one of each, and correct commands that a test spoils.
class CommandCheck : public ::testing::Test {
 protected:
  CommandCheck() {
    launch_ = {.header = {.kind = wire::CommandKind::Launch, .job = 1},
               .application = tables_.applications.add(std::make_shared<ApplicationEntry>("alice")),
               .kernel = tables_.kernels.add(std::make_shared<KernelEntry>("scale", 24)),
               .grid = {7, 5, 3},
               .argument_bytes = 24,
               .references = 1};
    const Handle array = tables_.arrays.add(std::make_shared<ArrayEntry>(array_address, array_bytes));
    reference_ = {.array = array, .offset = 16, .position = 8};
    const Handle arena = tables_.arenas.add(std::make_shared<ArenaEntry>(SharedMemory::create("test", 4096), nullptr));
    copy_ = {.header = {.kind = wire::CommandKind::CopyIn, .bytes = sizeof(wire::Copy), .job = 1},
             .application = launch_.application,
             .array = array,
             .array_offset = 900,
             .arena = arena,
             .arena_offset = 3996,
             .bytes = 100};
  }

  std::vector<std::byte> record() {
    std::vector<std::byte> bytes;
    const std::vector arguments(launch_.argument_bytes <= 4096 ? launch_.argument_bytes : 0, std::byte{9});
    launch_.header.bytes = static_cast<std::uint32_t>(sizeof(launch_) + sizeof(reference_) + arguments.size());
    for (const Part part : {part_of(launch_), part_of(reference_), Part(arguments)}) {
      bytes.insert(bytes.end(), part.begin(), part.end());
    }
    return bytes;
  }
  LaunchCommand checked() {
    const auto bytes = record();
    return check_launch(bytes, tables_, most_blocks_);
  }
  CopyCommand checked_copy() { return check_copy(part_of(copy_), tables_); }

  ClientTables tables_;
  std::uint64_t most_blocks_ = 1ull << 40;
  wire::Launch launch_{};
  wire::ArrayReference reference_{};
  wire::Copy copy_{};
};

TEST_F(CommandCheck, ResolvesALaunch) {
  const LaunchCommand command = checked();
  EXPECT_EQ(command.kernel->name, "scale");
  EXPECT_EQ(command.application->name, "alice");
  EXPECT_EQ(command.grid, (std::array<std::uint32_t, 3>{7, 5, 3}));
  ASSERT_EQ(command.arguments.size(), 24u);
  EXPECT_EQ(command.arguments[7], std::byte{9});
  std::uint64_t address = 0;
  std::memcpy(&address, command.arguments.data() + 8, 8);
  EXPECT_EQ(address, array_address + 16);
  ASSERT_EQ(command.arrays.size(), 1u);
}

TEST_F(CommandCheck, RefusesImpossibleLaunches) {
  using Spoil = std::function<void()>;
  const std::vector<Spoil> spoils{
      [&] { launch_.application += 1; },
      [&] { launch_.kernel = 0; },
      [&] { launch_.grid[0] = 0; },
      [&] { launch_.grid[0] = 0x8000'0000; },
      [&] { launch_.grid[1] = 65'536; },
      [&] { launch_.grid = {0x7fff'ffff, 65'535, 65'535}; },
      [&] { launch_.argument_bytes = 16; },
      [&] { reference_.array ^= 1; },
      [&] { reference_.array += 1ull << 32; },
      [&] { reference_.offset = array_bytes + 1; },
      [&] { reference_.offset = ~0ull; },
      [&] { reference_.position = 4; },
      [&] { reference_.position = 24; },
      [&] { reference_.position = 0xffff'fff8; },
  };
  const auto launch = launch_;
  const auto reference = reference_;
  for (std::size_t which = 0; which < spoils.size(); ++which) {
    spoils[which]();
    EXPECT_THROW(checked(), InvalidInput) << which;
    launch_ = launch;
    reference_ = reference;
  }
  EXPECT_NO_THROW(checked());
}

TEST_F(CommandCheck, RefusesNumbersWherePointersAre) {
  launch_.kernel = tables_.kernels.add(
      std::make_shared<KernelEntry>(KernelEntry{.name = "k", .argument_bytes = 24, .pointers = {8, 16}}));
  EXPECT_THROW(checked(), InvalidInput);  // no byte of the arguments is 0, and one pointer has no array
  launch_.kernel = tables_.kernels.add(std::make_shared<KernelEntry>(KernelEntry{.name = "k", .argument_bytes = 24}));
  EXPECT_NO_THROW(checked());
}

TEST_F(CommandCheck, AServerMayAllowFewerBlocks) {
  most_blocks_ = 105;
  EXPECT_NO_THROW(checked());
  most_blocks_ = 104;
  EXPECT_THROW(checked(), InvalidInput);
}

TEST_F(CommandCheck, SizesThatDisagreeAreViolations) {
  launch_.references = 2;
  EXPECT_THROW(checked(), PeerViolation);
  launch_.references = ~0u;
  EXPECT_THROW(checked(), PeerViolation);
  launch_.references = 1;
  launch_.argument_bytes = ~0u;
  EXPECT_THROW(checked(), PeerViolation);
  EXPECT_THROW(check_launch(Part(), tables_, most_blocks_), PeerViolation);
}

TEST_F(CommandCheck, ResolvesACopyToTheLastByte) {
  const CopyCommand command = checked_copy();
  EXPECT_EQ(command.direction, CopyDirection::In);
  EXPECT_EQ(command.array->address, array_address);
  copy_.header.kind = wire::CommandKind::CopyOut;
  EXPECT_EQ(checked_copy().direction, CopyDirection::Out);
}

TEST_F(CommandCheck, RefusesCopiesOutsideArrayOrArena) {
  const auto copy = copy_;
  const std::vector<std::function<void()>> spoils{
      [&] { ++copy_.bytes; },
      [&] { ++copy_.array_offset; },
      [&] { ++copy_.arena_offset; },
      [&] { copy_.bytes = ~0ull; },
      [&] { copy_.array_offset = ~0ull - 50; },  // the sum overflows to something small
      [&] { copy_.arena_offset = ~0ull - 50; },
      [&] { copy_.array = copy_.arena ^ 0xff; },
      [&] { copy_.arena += 1ull << 40; },
      [&] { copy_.application = 0; },
  };
  for (std::size_t which = 0; which < spoils.size(); ++which) {
    spoils[which]();
    EXPECT_THROW(checked_copy(), InvalidInput) << which;
    copy_ = copy;
  }
}

// Whatever the bytes are: a command, or one of the two errors. Most are correct commands with some bytes changed,
// because random ones get no further than the header.
TEST_F(CommandCheck, AnyBytesAreACommandOrAnError) {
  Dice dice(11);
  int commands = 0, refused = 0, violations = 0;
  for (int time = 0; time < 200'000; ++time) {
    std::vector<std::byte> bytes = record();
    if (dice.once_in(2)) bytes.assign(part_of(copy_).begin(), part_of(copy_).end());
    if (dice.once_in(20)) bytes.resize(static_cast<std::size_t>(dice.between(0, 200)));
    for (int changes = dice.between(0, 3); changes > 0 && !bytes.empty(); --changes) {
      bytes[static_cast<std::size_t>(dice.between(0, static_cast<int>(bytes.size()) - 1))] =
          static_cast<std::byte>(dice.between(0, 255));
    }
    try {
      const wire::CommandHeader header = header_of(bytes);
      if (header.kind == wire::CommandKind::Launch) {
        const LaunchCommand command = check_launch(bytes, tables_, most_blocks_);
        ASSERT_LE(command.arrays.size(), 1u);
      } else {
        const CopyCommand command = check_copy(bytes, tables_);
        ASSERT_LE(command.array_offset + command.bytes, array_bytes);
        ASSERT_LE(command.arena_offset + command.bytes, 4096u);
      }
      ++commands;
    } catch (const InvalidInput&) {
      ++refused;
    } catch (const PeerViolation&) {
      ++violations;
    }
  }
  EXPECT_GT(commands, 1000);
  EXPECT_GT(refused, 1000);
  EXPECT_GT(violations, 1000);
}

}  // namespace
}  // namespace gpushare::daemon
