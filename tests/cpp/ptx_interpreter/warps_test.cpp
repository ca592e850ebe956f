// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "ptx_interpreter/sample_kernels.hpp"

namespace gpushare::interpreter {
namespace {

using namespace test;
using testing::Each;

const std::string widened_store = " cvt.u64.u32 %q0, %r0; st.global.u64 [%o], %q0;";

std::vector<std::uint64_t> warp(const std::string& body, std::uint32_t threads = 32, std::uint64_t seed = 1) {
  return words_of(snippet(body + widened_store), {}, {.threads = {threads}}, seed);
}

TEST(Warps, ShuffleValues) {
  EXPECT_EQ(warp("shfl.sync.up.b32 %r0, %t, 3, 0, -1;")[10], 7u);
  EXPECT_EQ(warp("shfl.sync.up.b32 %r0, %t, 3, 0, -1;")[2], 2u) << "out of range: the lane's own";
  EXPECT_EQ(warp("shfl.sync.down.b32 %r0, %t, 3, 31, -1;")[10], 13u);
  EXPECT_EQ(warp("shfl.sync.down.b32 %r0, %t, 3, 0x1807, -1;")[6], 6u) << "segments of eight";
  EXPECT_EQ(warp("shfl.sync.bfly.b32 %r0, %t, 16, 31, -1;")[3], 19u);
  EXPECT_EQ(warp("shfl.sync.idx.b32 %r0, %t, 5, 31, -1;")[20], 5u);
  EXPECT_EQ(warp("shfl.sync.down.b32 %r1|%p1, %t, 3, 31, -1; selp.u32 %r0, 1, 0, %p1;")[29], 0u);
}

TEST(Warps, Vote) {
  EXPECT_THAT(warp("setp.lt.u32 %p1, %t, 4; vote.sync.ballot.b32 %r0, %p1, -1;"), Each(15u));
  EXPECT_THAT(warp("setp.lt.u32 %p1, %t, 4; vote.sync.all.pred %p2, %p1, -1; selp.u32 %r0, 1, 0, %p2;"), Each(0u));
  EXPECT_THAT(warp("setp.lt.u32 %p1, %t, 4; vote.sync.any.pred %p2, %p1, -1; selp.u32 %r0, 1, 0, %p2;"), Each(1u));
  EXPECT_THAT(warp("setp.lt.u32 %p1, %t, 99; vote.sync.uni.pred %p2, !%p1, -1; selp.u32 %r0, 1, 0, %p2;"), Each(1u));
}

TEST(Warps, ReduceAndMatch) {
  EXPECT_THAT(warp("redux.sync.add.u32 %r0, %t, -1;"), Each(496u));
  EXPECT_THAT(warp("sub.s32 %r1, %t, 9; redux.sync.min.s32 %r0, %r1, -1;"), Each(0xfffffff7u));
  EXPECT_EQ(warp("and.b32 %r1, %t, 1; match.any.sync.b32 %r0, %r1, -1;")[3], 0xaaaaaaaau);
  EXPECT_THAT(warp("mov.u32 %r1, 4; match.all.sync.b32 %r0|%p1, %r1, -1;"), Each(0xffffffffu));
  EXPECT_EQ(warp("elect.sync %r1|%p1, -1; selp.u32 %r0, 1, 0, %p1;")[0], 1u);
}

TEST(Warps, LanesOfAMaskMeetOnBothSidesOfABranch) {
  const std::string body = R"(
    setp.lt.u32 %p1, %t, 16;
    @%p1 bra LOW;
    shfl.sync.idx.b32 %r0, %t, 31, 31, 0xffff0000;
    bra END;
   LOW: shfl.sync.idx.b32 %r0, %t, 2, 31, 0x0000ffff;
   END: bar.warp.sync -1;)";
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const auto words = warp(body, 32, seed);
    for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(words[i], i < 16 ? 2u : 31u);
  }
}

TEST(Warps, DoNotWaitForLanesThatHaveExited) {
  EXPECT_EQ(warp("setp.ge.u32 %p1, %t, 20; @%p1 exit; mov.pred %p2, 1; vote.sync.ballot.b32 %r0, %p2, -1;")[3],
            0xfffffu);
}

TEST(Warps, DeadlockWhereALaneDoesNotCome) {
  const std::string body = "setp.eq.u32 %p1, %t, 5; @%p1 bar.sync 0;\n@!%p1 bar.warp.sync -1;\n";
  EXPECT_THROW(warp(body), Deadlock);
  EXPECT_THROW(warp("bar.warp.sync 1;"), Fault) << "the mask must contain the lane";
}

TEST(Warps, ActiveMaskGathersAsManyAsPossible) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    EXPECT_THAT(warp("activemask.b32 %r0;", 32, seed), Each(0xffffffffu));
    const auto partial = warp("setp.lt.u32 %p1, %t, 9; @%p1 activemask.b32 %r0; @!%p1 mov.u32 %r0, 0;", 20, seed);
    EXPECT_EQ(partial[0], 0x1ffu);
  }
}

TEST(Warps, ActiveMaskDoesNotWaitForASpinningLane) {
  // Lane 1 spins until lane 0 has passed activemask.
  const std::string body = R"(.shared .u32 flag;
    setp.eq.u32 %p1, %t, 0;
    @%p1 st.shared.u32 [flag], 0;
    bar.warp.sync -1;
    @%p1 bra FIRST;
   SPIN: ld.volatile.shared.u32 %r1, [flag];
    setp.eq.u32 %p2, %r1, 0;
    @%p2 bra SPIN;
    bra END;
   FIRST: activemask.b32 %r0;
    st.shared.u32 [flag], 1;
   END:)";
  EXPECT_EQ(warp(body, 2)[0], 1u);
}

TEST(Warps, KnowTheirLanes) {
  EXPECT_EQ(warp("mov.u32 %r0, %lanemask_lt;")[4], 15u);
  EXPECT_EQ(warp("mov.u32 %r0, %lanemask_ge;")[30], 0xc0000000u);
  EXPECT_EQ(warp("mov.u32 %r0, %warpid;", 70)[64], 2u);
  EXPECT_EQ(warp("mov.u32 %r0, %laneid;", 70)[65], 1u);
}

}  // namespace
}  // namespace gpushare::interpreter
