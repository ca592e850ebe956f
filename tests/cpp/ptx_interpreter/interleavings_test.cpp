// SPDX-License-Identifier: Apache-2.0
// Blocks side by side: every order can happen, and the same seed gives the same one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "ptx_interpreter/kernels_in_order.hpp"

namespace gpushare::interpreter {
namespace {

using namespace test;
using testing::Each;

std::vector<std::uint64_t> tickets(std::uint64_t seed, const std::string& body, const Machine& machine = {}) {
  static std::map<std::string, std::unique_ptr<Kernel>> kernels;
  auto& kernel = kernels[body];
  if (!kernel) kernel = std::make_unique<Kernel>(snippet(body));
  GlobalMemory memory;
  const auto out = memory.allocate(64), in = memory.allocate(64);
  const auto scheduler = order(static_cast<int>(seed));
  run(kernel->program, "test", arguments(out, in), {.blocks = {4}, .threads = {2}}, memory, *scheduler, machine);
  auto words = memory.read<std::uint64_t>(out, 8);
  words.push_back(memory.read<std::uint64_t>(in));
  return words;
}

const std::string take_ticket = "atom.global.add.u64 %q0, [%in], 1; st.global.u64 [%o], %q0;";

TEST(Interleavings, AtomicsOfAllBlocksSumUpInAThousandOrders) {
  std::set<std::vector<std::uint64_t>> orders;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    auto words = tickets(seed, take_ticket);
    ASSERT_EQ(words.back(), 8u);
    orders.insert(words);
    std::ranges::sort(words);
    for (std::size_t i = 0; i < words.size(); ++i) ASSERT_EQ(words[i], i);
  }
  EXPECT_GT(orders.size(), 300u);
}

TEST(Interleavings, UpdatesThatAreNotAtomicAreLostInSomeOrder) {
  std::set<std::uint64_t> sums;
  const std::string body = "ld.global.u64 %q0, [%in]; add.u64 %q0, %q0, 1; st.global.u64 [%in], %q0;";
  for (std::uint64_t seed = 0; seed < 300; ++seed) sums.insert(tickets(seed, body).back());
  EXPECT_GE(sums.size(), 4u);
}

TEST(Interleavings, SameSeedSameOrder) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ(tickets(seed, take_ticket), tickets(seed, take_ticket));
}

TEST(Interleavings, OneResidentBlockMeansOneAfterTheOther) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto words = tickets(seed, take_ticket, {.sms = 1, .blocks_per_sm = 1});
    for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(words[i] / 2, i / 2);
  }
}

TEST(Interleavings, WaitingForABlockThatIsNotResidentIsEndless) {
  // All four blocks wait until all four have come.
  const std::string body = R"(atom.global.add.u64 %q0, [%in], 1;
   SPIN: ld.volatile.global.u64 %q1, [%in]; setp.lt.u64 %p1, %q1, 8; @%p1 bra SPIN;)";
  EXPECT_THROW(tickets(0, body, {.sms = 1, .blocks_per_sm = 3, .most_instructions = 100'000}), Endless);
  EXPECT_EQ(tickets(0, body, {.sms = 2, .blocks_per_sm = 2}).back(), 8u);
}

TEST(Interleavings, BlocksSpreadOverTheSms) {
  const auto words = tickets(0, "mov.u32 %r0, %smid; cvt.u64.u32 %q0, %r0; st.global.u64 [%o], %q0;", {.sms = 3});
  EXPECT_THAT(words, testing::ElementsAre(0, 0, 1, 1, 2, 2, 0, 0, 0));
}

class AllOnSeven : public Scheduler {
 public:
  std::uint32_t pick_sm(std::size_t, std::uint32_t) override { return 7; }
};

TEST(Interleavings, ASchedulerMayPlaceBlocks) {
  const Kernel kernel(snippet("mov.u32 %r0, %smid; cvt.u64.u32 %q0, %r0; st.global.u64 [%o], %q0;"));
  GlobalMemory memory;
  const auto out = memory.allocate(64), in = memory.allocate(8);
  AllOnSeven scheduler;
  run(kernel.program, "test", arguments(out, in), {.blocks = {8}}, memory, scheduler, {.sms = 8});
  EXPECT_THAT(memory.read<std::uint64_t>(out, 8), Each(7u));
}

TEST(Interleavings, SharedMemoryStartsWithAnything) {
  std::set<std::uint64_t> seen;
  const std::string body = ".shared .u32 s; ld.shared.u32 %r0, [s]; cvt.u64.u32 %q0, %r0; st.global.u64 [%o], %q0;";
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    for (const std::uint64_t each : tickets(seed, body)) seen.insert(each);
  }
  EXPECT_GT(seen.size(), 8u);
}

}  // namespace
}  // namespace gpushare::interpreter
