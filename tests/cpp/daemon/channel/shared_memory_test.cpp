// SPDX-License-Identifier: Apache-2.0
#include "daemon/channel/shared_memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "core/model/errors.hpp"
#include "daemon/channel/port_memory.hpp"
#include "daemon/channel/wire.hpp"

namespace gpushare::daemon {
namespace {

FileDescriptor memory_file(off_t bytes, int seals) {
  FileDescriptor file(::memfd_create("test", MFD_ALLOW_SEALING | MFD_CLOEXEC));
  EXPECT_EQ(::ftruncate(file.number(), bytes), 0);
  EXPECT_EQ(::fcntl(file.number(), F_ADD_SEALS, seals), 0);
  return file;
}

TEST(SharedMemory, IsOneMemoryForBothSides) {
  const SharedMemory mine = SharedMemory::create("test", 10'000);
  const SharedMemory theirs = SharedMemory::map(FileDescriptor::duplicate(mine.descriptor()), 10'000);
  ASSERT_EQ(theirs.bytes().size(), 10'000u);
  mine.bytes()[9'999] = std::byte{7};
  EXPECT_EQ(theirs.bytes()[9'999], std::byte{7});
}

TEST(SharedMemory, CannotBeShrunkByAProcessThatMapsIt) {
  const SharedMemory memory = SharedMemory::create("test", 8192);
  EXPECT_NE(::ftruncate(memory.descriptor(), 0), 0);
  EXPECT_NE(::ftruncate(memory.descriptor(), 1 << 20), 0);
}

TEST(SharedMemory, IsRefusedWithoutItsSeals) {
  const int complete = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  for (const int seals : {0, F_SEAL_SHRINK | F_SEAL_GROW, F_SEAL_GROW | F_SEAL_SEAL, complete | F_SEAL_WRITE}) {
    EXPECT_THROW(SharedMemory::map(memory_file(4096, seals), 1 << 20), InvalidInput) << seals;
  }
  EXPECT_NO_THROW(SharedMemory::map(memory_file(4096, complete), 1 << 20));
}

TEST(SharedMemory, IsRefusedWithAnImpossibleSize) {
  const int complete = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  EXPECT_THROW(SharedMemory::map(memory_file(0, complete), 1 << 20), InvalidInput);
  EXPECT_THROW(SharedMemory::map(memory_file((1 << 20) + 1, complete), 1 << 20), InvalidInput);
  EXPECT_THROW(SharedMemory::create("test", 0), InvalidInput);
}

TEST(SharedMemory, IsNoOrdinaryFile) {
  FileDescriptor null(::open("/dev/null", O_RDWR));
  EXPECT_THROW(SharedMemory::map(std::move(null), 1 << 20), InvalidInput);
}

TEST(PortMemory, HasTheSameRingsOnBothSides) {
  const PortMemory mine = PortMemory::create(4096, 8192);
  const PortMemory theirs = PortMemory::map(FileDescriptor::duplicate(mine.descriptor()));
  EXPECT_EQ(theirs.commands().bytes.size(), 4096u);
  EXPECT_EQ(theirs.completions().bytes.size(), 8192u);
  mine.commands().control->written = 17;
  EXPECT_EQ(theirs.commands().control->written, 17u);
}

TEST(PortMemory, RefusesWhatIsNoPort) {
  const auto map_with = [](auto change) {
    PortMemory made = PortMemory::create(4096, 4096);
    const SharedMemory memory = SharedMemory::map(FileDescriptor::duplicate(made.descriptor()), 1 << 20);
    change(*reinterpret_cast<wire::PortHeader*>(memory.bytes().data()));
    PortMemory::map(FileDescriptor::duplicate(made.descriptor()));
  };
  EXPECT_NO_THROW(map_with([](wire::PortHeader&) {}));
  EXPECT_THROW(map_with([](wire::PortHeader& header) { header.magic[0] = 'G'; }), InvalidInput);
  EXPECT_THROW(map_with([](wire::PortHeader& header) { ++header.version; }), InvalidInput);
  EXPECT_THROW(map_with([](wire::PortHeader& header) { header.command_bytes = 1ull << 63; }), InvalidInput);
  EXPECT_THROW(map_with([](wire::PortHeader& header) { header.command_bytes = 4097; }), InvalidInput);
  EXPECT_THROW(map_with([](wire::PortHeader& header) { header.command_offset = ~63ull; }), InvalidInput);
  EXPECT_THROW(map_with([](wire::PortHeader& header) { header.completion_offset += 64; }), InvalidInput);
}

}  // namespace
}  // namespace gpushare::daemon
