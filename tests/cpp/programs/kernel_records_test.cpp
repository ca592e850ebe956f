// SPDX-License-Identifier: Apache-2.0
#include "programs/kernel_records.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

namespace gpushare::programs {
namespace {

constexpr LaunchShape shape_of(std::uint32_t blocks) { return {{blocks, 1, 1}, {128, 1, 1}, 0}; }

class KernelRecords : public testing::Test {
 protected:
  std::optional<std::size_t> record(std::string_view name, std::uint32_t blocks) {
    return record_of(*page, name, LaunchKind::Kernel, shape_of(blocks), 0);
  }

  std::unique_ptr<ProgramPage> page = std::make_unique<ProgramPage>();  // zeros, as the scheduler makes it
};

TEST_F(KernelRecords, KeyIsTheSameInEveryRun) {
  EXPECT_EQ(kernel_key("gemm", LaunchKind::Kernel, shape_of(7)), 14550149507169649397u);
}

TEST_F(KernelRecords, KeyTellsNamesKindsAndShapesApart) {
  const LaunchShape shape{{2, 3, 4}, {5, 6, 7}, 8};
  std::set<std::uint64_t> keys = {kernel_key("a", LaunchKind::Kernel, shape),
                                  kernel_key("b", LaunchKind::Kernel, shape),
                                  kernel_key("a", LaunchKind::Cluster, shape)};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    LaunchShape other = shape;
    ++other.grid[axis];
    keys.insert(kernel_key("a", LaunchKind::Kernel, other));
    other = shape;
    ++other.block[axis];
    keys.insert(kernel_key("a", LaunchKind::Kernel, other));
  }
  LaunchShape other = shape;
  ++other.shared_bytes;
  keys.insert(kernel_key("a", LaunchKind::Kernel, other));
  EXPECT_EQ(keys.size(), 10u);
}

TEST_F(KernelRecords, RecordHasWhatItWasMadeOfAndIsFoundAgain) {
  const auto made = record_of(*page, "gemm", LaunchKind::Cluster, {{1, 2, 3}, {4, 5, 6}, 7}, 9);
  ASSERT_TRUE(made.has_value());
  const KernelRecord& record = page->kernels[*made];
  EXPECT_EQ(record.is_named, 1u);
  EXPECT_STREQ(record.name.data(), "gemm");
  EXPECT_EQ(record.kind, LaunchKind::Cluster);
  EXPECT_EQ(record.grid, (std::array<std::uint32_t, 3>{1, 2, 3}));
  EXPECT_EQ(record.block, (std::array<std::uint32_t, 3>{4, 5, 6}));
  EXPECT_EQ(record.shared_bytes, 7u);
  EXPECT_EQ(record.library, 9u);
  EXPECT_EQ(record_of(*page, "gemm", LaunchKind::Cluster, {{1, 2, 3}, {4, 5, 6}, 7}, 9), made);
}

TEST_F(KernelRecords, LongNameIsCutAndItsKeyIsThatOfTheCutOne) {
  const std::string name(3 * most_name_bytes, 'x');
  const auto made = record(name, 1);
  ASSERT_TRUE(made.has_value());
  const std::string kept = page->kernels[*made].name.data();
  EXPECT_EQ(kept, std::string(most_name_bytes - 1, 'x'));
  EXPECT_EQ(page->kernels[*made].key, kernel_key(kept, LaunchKind::Kernel, shape_of(1)));
}

TEST_F(KernelRecords, ShapesOfAKernelShareARecordWhereThereIsNoRoomForMore) {
  std::set<std::size_t> places;
  constexpr std::uint32_t shapes = 2 * most_kernels;
  for (std::uint32_t blocks = 1; blocks <= shapes; ++blocks) {
    const auto place = record("many shapes", blocks);
    ASSERT_TRUE(place.has_value());
    places.insert(*place);
  }
  EXPECT_GT(places.size(), most_kernels * 9 / 10);
  std::size_t without_shape = 0;
  for (const std::size_t place : places) without_shape += page->kernels[place].grid[0] == 0 ? 1 : 0;
  EXPECT_EQ(without_shape, 1u);
}

TEST_F(KernelRecords, NothingIsFoundWhereThePageIsFullOfOtherKernels) {
  for (std::size_t index = 0; index < most_kernels; ++index) page->kernels[index].key = index + 1;
  EXPECT_FALSE(record("one more", 1).has_value());
}

TEST_F(KernelRecords, LibrariesHaveAnIndexEachUntilThereAreTooMany) {
  const std::uint32_t first = library_of(*page, "libcublas.so.13");
  EXPECT_EQ(library_of(*page, "libcublas.so.13"), first);
  EXPECT_STREQ(page->libraries[first].name.data(), "libcublas.so.13");
  std::set<std::uint32_t> others;
  for (int number = 0; number < 200; ++number) others.insert(library_of(*page, "lib" + std::to_string(number)));
  EXPECT_EQ(others.size() + 1, most_libraries);
}

}  // namespace
}  // namespace gpushare::programs
