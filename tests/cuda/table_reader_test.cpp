// SPDX-License-Identifier: Apache-2.0
// Reads of tables, alone and beside copies of other applications.
#include "cuda/launch/table_reader.hpp"

#include "cuda/driver/driver.hpp"
#include "on_stand_in.hpp"

namespace gpushare::cuda::test {
namespace {

class TableReaders : public OnStandIn {
 protected:
  static constexpr std::size_t bytes = 1024;
  static constexpr std::size_t bytes_of_others = 4 << 20;  // a millisecond each

  TableReaders()
      : current(*context),
        completions(context),
        tables(array(std::vector<int>(bytes / sizeof(int), 7))),
        of_others(make_device_memory(context, bytes_of_others)),
        to_others(make_pinned_memory(context, bytes_of_others)),
        copies(make_stream(context)),
        reader(context, completions, bytes) {}
  ~TableReaders() override { drain(copies); }

  void read() {
    reader.start(tables.get(), bytes, nullptr);
    while (!reader.has_ended()) reader.hurry();
    reader.end();
    const auto* words = reinterpret_cast<const int*>(reader.data());
    EXPECT_EQ(std::vector(words, words + bytes / sizeof(int)), std::vector(bytes / sizeof(int), 7));
  }
  void others_copy() {
    constexpr int at_a_time = 10;
    for (int copy = 0; copy < at_a_time; ++copy)
      GPUSHARE_CU(cuMemcpyDtoHAsync(to_others.get(), of_others.get(), bytes_of_others, copies.get()));
  }

  CurrentContext current;
  Completions completions;
  DeviceMemory tables, of_others;
  PinnedMemory to_others;
  Stream copies;
  TableReader reader;  // goes first, and waits for what it has started
};

// Who hurries every read has each of them done in both ways, and that one copy was late says little.
TEST_F(TableReaders, KeepNoRoomAfterASingleLateCopy) {
  EXPECT_FALSE(reader.room());
  read();
  EXPECT_FALSE(reader.room());
}

TEST_F(TableReaders, KeepRoomForAKernelWhereCopiesAreLate) {
  for (int time = 0; time < 3; ++time) {
    others_copy();
    read();
  }
  ASSERT_TRUE(reader.room());
  EXPECT_GT(reader.room()->threads, 0);
}

TEST_F(TableReaders, ForgetThatCopiesWereLate) {
  for (int time = 0; time < 3; ++time) {
    others_copy();
    read();
  }
  drain(copies);
  for (int time = 0; time < 100; ++time) {
    reader.start(tables.get(), bytes, nullptr);
    while (!reader.has_ended()) continue;
    reader.end();
  }
  EXPECT_FALSE(reader.room());
}

}  // namespace
}  // namespace gpushare::cuda::test
