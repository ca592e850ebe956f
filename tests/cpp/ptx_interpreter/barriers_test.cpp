// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages.hpp"
#include "ptx_interpreter/sample_kernels.hpp"

namespace gpushare::interpreter {
namespace {

using namespace test;
using gpushare::test::message_of;
using gpushare::test::naming;
using testing::Each;

const Grid one_block_of_96 = {.threads = {96}};

std::string barrier_fault(const std::string& body) {
  return message_of<Fault>([&] { words_of(snippet(body), {}, one_block_of_96); });
}

const std::string count_arrivals = ".shared .u32 sum; setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u32 [sum], 0; bar.sync 0;";

TEST(Barriers, KeepOrder) {
  const std::string body =
      count_arrivals + "red.shared.add.u32 [sum], %t; bar.sync 0; ld.shared.u32 %q0, [sum]; st.global.u64 [%o], %q0;";
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_THAT(words_of(snippet(body), {}, one_block_of_96, seed), Each(95u * 96 / 2));
  }
}

TEST(Barriers, DoNotWaitForThreadsThatHaveExited) {
  const std::string body = count_arrivals + R"(
    and.b32 %r1, %t, 3; setp.eq.u32 %p2, %r1, 0;
    @%p2 exit;
    red.shared.add.u32 [sum], 1;
    bar.sync 0;
    ld.shared.u32 %q0, [sum]; st.global.u64 [%o], %q0;)";
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto words = words_of(snippet(body), {}, one_block_of_96, seed);
    for (std::size_t i = 0; i < words.size(); ++i) EXPECT_EQ(words[i], i % 4 == 0 ? 0u : 72u);
  }
}

TEST(Barriers, Reduce) {
  EXPECT_THAT(words_of(snippet("setp.lt.u32 %p1, %t, 5; bar.red.popc.u32 %q0, 0, %p1; st.global.u64 [%o], %q0;"), {},
                       one_block_of_96),
              Each(5u));
  const auto truth = [](const std::string& what) {
    return words_of(snippet("setp.lt.u32 %p1, %t, 5; barrier.cta.red." + what +
                            ".pred %p2, 1, !%p1; selp.b64 %q0, 1, 0, %p2; st.global.u64 [%o], %q0;"),
                    {}, one_block_of_96);
  };
  EXPECT_THAT(truth("or.aligned"), Each(1u));
  EXPECT_THAT(truth("and"), Each(0u));
}

TEST(Barriers, WithACountConnectProducersAndConsumers) {
  // Warp 0 produces and goes on, warp 1 waits for it; warp 2 has nothing to do with it.
  const std::string body = R"(.shared .u32 value;
    shr.u32 %r1, %t, 5;
    setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 1;
    @%p1 st.shared.u32 [value], 77;
    @%p1 bar.arrive 3, 64;
    @%p2 bar.sync 3, 64;
    @%p2 ld.shared.u32 %q0, [value];
    @%p2 st.global.u64 [%o], %q0;)";
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto words = words_of(snippet(body), {}, one_block_of_96, seed);
    for (std::size_t i = 32; i < 64; ++i) EXPECT_EQ(words[i], 77u);
  }
}

TEST(Barriers, MayHaveTheirNumberInARegister) {
  EXPECT_THAT(words_of(snippet("mov.u32 %r1, 7; barrier.sync %r1; mov.u64 %q0, 1; st.global.u64 [%o], %q0;"), {},
                       one_block_of_96),
              Each(1u));
}

TEST(Barriers, DeadlockListsWhatEachThreadWaitsFor) {
  EXPECT_THAT(barrier_fault("setp.lt.u32 %p1, %t, 32; @%p1 bar.sync 1;\n@!%p1 bar.sync 2;\n"),
              naming("thread (31,0,0)", "@!%p1 bar.sync 2;"));
}

TEST(Barriers, AlignedOnesNeedTheWholeWarp) {
  const std::string body = "setp.lt.u32 %p1, %t, 7;\n@%p1 bar.sync 0;\n@!%p1 bar.sync 0;";
  EXPECT_THAT(barrier_fault(body), naming("bar.sync 0;"));
  const std::string unaligned = "setp.lt.u32 %p1, %t, 7;\n@%p1 barrier.sync 0;\n@!%p1 barrier.sync 0;";
  EXPECT_EQ(barrier_fault(unaligned), "");
}

TEST(Barriers, AreNotMixed) {
  EXPECT_THAT(barrier_fault("setp.lt.u32 %p1, %t, 32; @%p1 bar.sync 0, 96; @!%p1 bar.red.popc.u32 %r0, 0, 96, %p1;"),
              naming("bar.red.popc.u32"));
  EXPECT_THAT(barrier_fault("bar.sync 0, 33;"), naming("bar.sync 0, 33;"));
  EXPECT_THAT(barrier_fault("bar.sync 16;"), naming(16));
}

}  // namespace
}  // namespace gpushare::interpreter
