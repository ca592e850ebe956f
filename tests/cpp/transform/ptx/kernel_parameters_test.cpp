// SPDX-License-Identifier: Apache-2.0
#include "core/transform/ptx/kernel_parameters.hpp"

#include <gtest/gtest.h>

#include "core/model/errors.hpp"

namespace gpushare::ptx {
namespace {

std::vector<KernelSignature> signatures_of(const std::string& functions) {
  return kernel_signatures(".version 8.0\n.target sm_90\n.address_size 64\n" + functions);
}

TEST(KernelParameters, HaveNamesSizesAndAlignments) {
  const auto kernels = signatures_of(".entry k(.param .u8 a, .param .f64 b, .param .align 16 .b8 c[20]) { ret; }");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].name, "k");
  const auto& parameters = kernels[0].parameters;
  ASSERT_EQ(parameters.size(), 3u);
  EXPECT_EQ(parameters[0].name, "a");
  EXPECT_EQ(parameters[0].bytes, 1u);
  EXPECT_EQ(parameters[1].type, ".f64");
  EXPECT_EQ(parameters[1].alignment, 8u);
  EXPECT_EQ(parameters[2].bytes, 20u);
  EXPECT_EQ(parameters[2].alignment, 16u);
}

TEST(KernelParameters, ArePointersWhereTheirValueIsUsedAsAnAddress) {
  const auto kernels = signatures_of(R"(
.entry k(.param .u64 used, .param .u64 number, .param .align 8 .b8 pair[16]) {
  .reg .b64 %rd<7>;
  ld.param.u64 %rd1, [used];
  cvta.to.global.u64 %rd2, %rd1;
  ld.param.u64 %rd3, [number];
  ld.param.u64 %rd5, [pair+8];
  cvta.to.global.u64 %rd6, %rd5;
  ret;
})");
  EXPECT_TRUE(kernels[0].parameters[0].is_pointer);
  EXPECT_FALSE(kernels[0].parameters[1].is_pointer);
  EXPECT_FALSE(kernels[0].parameters[2].is_pointer) << "a struct that holds one";
}

TEST(KernelParameters, ArePointersWhereTheyAreMarked) {
  const auto kernels = signatures_of(".entry k(.param .u64 a, .param .u64 .ptr .global .align 4 b) { ret; }");
  EXPECT_FALSE(kernels[0].parameters[0].is_pointer);
  EXPECT_TRUE(kernels[0].parameters[1].is_pointer);
}

TEST(KernelParameters, TheAlignmentOfWhatAPointerPointsToIsNotItsOwn) {
  const auto kernels = signatures_of(".entry k(.param .u64 .ptr .global .align 16 a, .param .align 4 .u64 b) { ret; }");
  EXPECT_EQ(kernels[0].parameters[0].alignment, 8u);
  EXPECT_EQ(kernels[0].parameters[1].alignment, 4u);
}

TEST(KernelParameters, AreThoseOfEntriesOnly) {
  const auto kernels = signatures_of(".func f(.param .u32 a) { ret; } .entry first { ret; } .entry second() { ret; }");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[1].name, "second");
  EXPECT_TRUE(kernels[0].parameters.empty());
}

TEST(KernelParameters, OfWhatIsNoPtx) { EXPECT_THROW(kernel_signatures("int main() {}"), InvalidInput); }

}  // namespace
}  // namespace gpushare::ptx
