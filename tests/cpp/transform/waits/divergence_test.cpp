// SPDX-License-Identifier: Apache-2.0
#include "core/transform/waits/divergence.hpp"

#include <gtest/gtest.h>

#include "transform/sample_ptx.hpp"

namespace gpushare::ptx {
namespace {

/// Is the last barrier of this body one that some threads may skip?
bool barrier_is_divergent(const std::string& body) {
  const Module module(module_with(body));
  const Function& kernel = module.entry("k");
  const std::vector<bool> divergent = divergent_statements(module, kernel, ControlFlow(module, kernel), ThreadGroup{});
  for (std::size_t index = kernel.statements.size(); index-- > 0;) {
    const auto* instruction = std::get_if<Instruction>(&kernel.statements[index]);
    if (instruction != nullptr && is_block_barrier(*instruction)) return divergent[index];
  }
  throw std::logic_error("the body has no barrier");
}

TEST(Divergence, ABarrierBehindAnEarlyReturnByThread) {
  EXPECT_TRUE(
      barrier_is_divergent("mov.u32 %r1, %tid.x;\nsetp.gt.u32 %p1, %r1, 5;\n@%p1 bra $L;\nbar.sync 0;\n$L:\nret;\n"));
}

TEST(Divergence, APredicatedReturnCountsToo) {
  EXPECT_TRUE(barrier_is_divergent("mov.u32 %r1, %tid.x;\nsetp.gt.u32 %p1, %r1, 5;\n@%p1 ret;\nbar.sync 0;\nret;\n"));
}

TEST(Divergence, AThreadThatEndsTheGridIsNotMissed) {
  const std::string begin = "mov.u32 %r1, %tid.x;\nsetp.gt.u32 %p1, %r1, 5;\n";
  EXPECT_FALSE(barrier_is_divergent(begin + "@%p1 trap;\nbar.sync 0;\nret;\n"));
  EXPECT_FALSE(barrier_is_divergent(begin + "@%p1 bra $L;\nbar.sync 0;\nret;\n$L:\ntrap;\nexit;\n"));
  EXPECT_FALSE(barrier_is_divergent(begin +
                                    "@%p1 bra $L;\nbar.sync 0;\nret;\n$L:\n"
                                    "setp.eq.u32 %p2, %r1, 9;\n@%p2 bra $M;\ntrap;\n$M:\ncall __assertfail, ();\n"));
  EXPECT_TRUE(barrier_is_divergent(begin + "@%p1 bra $L;\nbar.sync 0;\nret;\n$L:\n"
                                           "setp.eq.u32 %p2, %r1, 9;\n@%p2 trap;\nret;\n"));
}

TEST(Divergence, AReturnByBlockIsUniform) {
  EXPECT_FALSE(
      barrier_is_divergent("mov.u32 %r1, %ctaid.x;\nsetp.gt.u32 %p1, %r1, 5;\n@%p1 bra $L;\nbar.sync 0;\n$L:\nret;\n"));
}

TEST(Divergence, UnwrittenMemoryAtOneAddressIsUniform) {
  const auto skips_if_loaded = [](const std::string& load, const std::string& address) {
    return barrier_is_divergent("mov.u32 %r2, %tid.x;\nmov.u32 %r3, %ctaid.x;\nmul.wide.u32 %rd1, " + address +
                                ", 4;\n" + load +
                                " %r1, [%rd1];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra $L;\nbar.sync 0;\n$L:\nret;\n");
  };
  for (const char* load : {"ld.global.nc.u32", "ld.const.u32"}) {
    EXPECT_FALSE(skips_if_loaded(load, "%r3")) << load;
    EXPECT_TRUE(skips_if_loaded(load, "%r2")) << load;
  }
  EXPECT_TRUE(skips_if_loaded("ld.global.u32", "%r3"));
}

TEST(Divergence, AReturnByParameterIsUniform) {
  EXPECT_FALSE(barrier_is_divergent(
      "ld.param.u64 %rd1, [k_param_0];\nsetp.eq.u64 %p1, %rd1, 0;\n@%p1 bra $L;\nbar.sync 0;\n$L:\nret;\n"));
}

TEST(Divergence, ALoadedValueMayDifferBetweenThreads) {
  EXPECT_TRUE(
      barrier_is_divergent("ld.param.u64 %rd1, [k_param_0];\nld.global.u32 %r1, [%rd1];\nsetp.eq.u32 %p1, %r1, "
                           "0;\n@%p1 bra $L;\nbar.sync 0;\n$L:\nret;\n"));
}

TEST(Divergence, ABarrierWhereAllMeetAgainIsUniform) {
  EXPECT_FALSE(barrier_is_divergent(
      "mov.u32 %r1, %tid.x;\nsetp.gt.u32 %p1, %r1, 5;\n@%p1 bra $L;\nadd.u32 %r2, %r1, 1;\n$L:\nbar.sync 0;\nret;\n"));
}

TEST(Divergence, WhatIsAssignedUnderADivergentBranchDiffers) {
  // %r2 is 0 or 1 by thread, although neither value comes from %tid.
  EXPECT_TRUE(barrier_is_divergent(
      "mov.u32 %r2, 0;\nmov.u32 %r1, %tid.x;\nsetp.gt.u32 %p1, %r1, 5;\n@%p1 bra $A;\nmov.u32 %r2, 1;\n$A:\n"
      "setp.eq.u32 %p2, %r2, 0;\n@%p2 bra $L;\nbar.sync 0;\n$L:\nret;\n"));
}

TEST(Divergence, ABarrierInALoopThatThreadsLeaveAtDifferentTimes) {
  EXPECT_TRUE(
      barrier_is_divergent("mov.u32 %r1, %tid.x;\n$T:\nbar.sync 0;\nadd.u32 %r1, %r1, 64;\nsetp.lt.u32 %p1, %r1, "
                           "1000;\n@%p1 bra $T;\nret;\n"));
}

TEST(Divergence, ABarrierInALoopByParameterIsUniform) {
  EXPECT_FALSE(
      barrier_is_divergent("ld.param.u64 %rd1, [k_param_0];\n$T:\nbar.sync 0;\nadd.s64 %rd1, %rd1, -1;\nsetp.ne.s64 "
                           "%p1, %rd1, 0;\n@%p1 bra $T;\nret;\n"));
}

TEST(Divergence, AnIndexedBranchByThread) {
  EXPECT_TRUE(barrier_is_divergent(
      "mov.u32 %r1, %tid.x;\n$targets: .branchtargets $A, $B;\nbrx.idx %r1, $targets;\n$A:\nbar.sync 0;\n$B:\nret;\n"));
}

TEST(Divergence, AGuardedBarrierByThread) {
  EXPECT_TRUE(barrier_is_divergent("mov.u32 %r1, %tid.x;\nsetp.gt.u32 %p1, %r1, 5;\n@%p1 bar.sync 0;\nret;\n"));
  EXPECT_FALSE(barrier_is_divergent("mov.u32 %r1, %ctaid.x;\nsetp.gt.u32 %p1, %r1, 5;\n@%p1 bar.sync 0;\nret;\n"));
}

/// Does the barrier behind this depend on %r2, or on %p1 where that is made already?
bool parts_threads(const std::string& made) {
  const std::string predicate = made.find("%p1") == std::string::npos ? "setp.eq.u32 %p1, %r2, 0;\n" : "";
  return barrier_is_divergent("mov.u32 %r1, %tid.x;\n" + made + "\n" + predicate + "@%p1 ret;\nbar.sync 0;\nret;\n");
}

TEST(Divergence, TheCarryOfAChainIsAValue) {
  EXPECT_TRUE(parts_threads("sub.cc.u32 %r3, %r1, %r4;\nsubc.u32 %r2, 0, 0;"));
  EXPECT_TRUE(parts_threads("mad.lo.cc.u32 %r3, %r1, %r4, %r4;\naddc.cc.u32 %r5, 0, 0;\nmadc.hi.u32 %r2, 0, 0, 0;"));
  EXPECT_FALSE(parts_threads("sub.cc.u32 %r3, %r5, %r4;\nsubc.u32 %r2, 0, 0;"));
}

TEST(Divergence, AVectorsComponentsAreWhatItIs) {
  EXPECT_TRUE(parts_threads("mov.v4.u32 %v, %tid;\nmov.u32 %r2, %v.x;"));
  EXPECT_TRUE(parts_threads("mov.u32 %v.y, %r1;\nmov.v4.u32 %w, %v;\nmov.u32 %r2, %w.y;"));
}

TEST(Divergence, WhatIsReadForThreadsOneByOneDiffers) {
  for (const std::string read :
       {"wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {%r2, %r3}, [%rd1], %r4;",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r2, %r3}, %rd1, %rd2, 1, 1, 1, 0, 0;",
        "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%r4];", "call (%r2), f, ();",
        "mbarrier.test_wait.shared.b64 %p1, [%r4], %rd1;", "mbarrier.try_wait.shared.b64 %p1, [%r4], %rd1;"}) {
    EXPECT_TRUE(parts_threads(read)) << read;
  }
}

TEST(Divergence, ABarrierOfAllTellsAllTheSame) {
  const std::string own = "setp.eq.u32 %p2, %r1, 3;\n";
  EXPECT_FALSE(parts_threads(own + "bar.red.or.pred %p1, 0, %p2;"));
  EXPECT_TRUE(parts_threads(own + "barrier.cta.red.or.aligned.pred %p1, %r3, %p2;"));
  EXPECT_TRUE(parts_threads(own + "bar.red.or.pred %p1, 1, 32, %p2;"));
}

TEST(Divergence, BarriersOfWarpsAndClustersAreNotOfTheBlock) {
  EXPECT_FALSE(is_block_barrier(Instruction{.opcode = "bar.warp.sync"}));
  EXPECT_FALSE(is_block_barrier(Instruction{.opcode = "barrier.cluster.arrive"}));
  EXPECT_TRUE(is_block_barrier(Instruction{.opcode = "bar.red.popc.u32"}));
  EXPECT_TRUE(is_block_barrier(Instruction{.opcode = "barrier.sync.aligned"}));
}

}  // namespace
}  // namespace gpushare::ptx
