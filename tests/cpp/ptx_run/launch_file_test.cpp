// SPDX-License-Identifier: Apache-2.0
#include "ptx_run/launch_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/model/errors.hpp"
#include "messages.hpp"

namespace gpushare::interpreter {
namespace {

using gpushare::test::message_of;
using gpushare::test::naming;
using testing::ElementsAre;

class LaunchFolder : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }

  LaunchFile read(const std::string& text) {
    std::ofstream(folder / "launch.txt") << text;
    return read_launch(folder);
  }
  std::string complaint(const std::string& text) {
    return message_of<InvalidInput>([&] { read(text); });
  }

  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) /
      (std::string("launch ") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(LaunchFolder, ReadsEveryKey) {
  const LaunchFile launch = read(
      "ptx a.ptx\nentry scale\ngrid 4 3 2\nblock 32 2 1\nshared 64\narray x.bin\nvalue 0102fF\n\nrun worker\n"
      "seed 12345678901\nworkers 9\nchunk 3\nguide 2\nquotas random\n");
  EXPECT_EQ(launch.ptx, folder / "a.ptx");
  EXPECT_EQ(launch.entry, "scale");
  EXPECT_EQ(launch.grid.blocks.count(), 24u);
  EXPECT_EQ(launch.grid.threads.y, 2u);
  EXPECT_EQ(launch.grid.dynamic_shared_bytes, 64u);
  ASSERT_EQ(launch.parameters.size(), 2u);
  EXPECT_EQ(launch.parameters[0].array, folder / "x.bin");
  EXPECT_THAT(launch.parameters[1].value, ElementsAre(std::byte{1}, std::byte{2}, std::byte{255}));
  EXPECT_TRUE(launch.by_workers && launch.random_quotas);
  EXPECT_EQ(launch.seed, 12345678901u);
  EXPECT_THAT((std::vector{launch.workers, launch.chunk, launch.guide}), ElementsAre(9, 3, 2));
}

TEST_F(LaunchFolder, AWrongLineIsNamed) {
  EXPECT_THAT(complaint("colour red\n"), naming("colour red"));
  EXPECT_THAT(complaint("grid 1 2\n"), naming("grid 1 2"));
  EXPECT_THAT(complaint("chunk 3x\n"), naming("3x"));
  EXPECT_THAT(complaint("value 012\n"), naming("012"));
  EXPECT_THAT(complaint("value 0g\n"), naming("0g"));
  EXPECT_THAT(complaint("run sideways\n"), naming("sideways"));
  EXPECT_THAT(complaint("entry k\n"), naming("ptx"));
  EXPECT_THAT(complaint("ptx a\nentry k\nchunk 0\n"), naming("chunk", 1));
}

TEST_F(LaunchFolder, BytesComeBack) {
  const std::vector<std::byte> bytes = {std::byte{0}, std::byte{10}, std::byte{255}};
  write_bytes(folder / "x.bin", bytes);
  EXPECT_EQ(read_bytes(folder / "x.bin"), bytes);
  EXPECT_THROW(read_bytes(folder / "y.bin"), InvalidInput);
  EXPECT_THROW(write_bytes(folder / "no" / "x.bin", bytes), InvalidInput);
}

}  // namespace
}  // namespace gpushare::interpreter
