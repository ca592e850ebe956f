// SPDX-License-Identifier: Apache-2.0
// The fast ways to post-dominators and divergent blocks against their definitions, on random control flow.
#include "core/transform/flow/divergent_blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "core/transform/waits/divergence.hpp"
#include "transform/random_control_flow.hpp"
#include "transform/sample_ptx.hpp"

namespace gpushare::ptx {
namespace {

/// All blocks, and the exit, that every way from this block to the exit passes.
std::vector<bool> meetings_of(const ControlFlow& flow, std::size_t block) {
  std::vector<bool> meetings(flow.exit_block() + 1, false);
  if (!reached(flow, block, meetings)[flow.exit_block()]) return meetings;
  for (std::size_t other = 0; other <= flow.exit_block(); ++other) {
    std::vector<bool> barred(flow.exit_block() + 1, false);
    barred[other] = other != block;
    meetings[other] = barred[other] && !reached(flow, block, barred)[flow.exit_block()];
  }
  return meetings;
}

TEST(DivergentBlocks, MeetAtTheFirstBlockThatEveryWayPasses) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    const Module module(module_with(random_body(random)));
    const ControlFlow flow(module, module.entry("k"));
    for (std::size_t block = 0; block < flow.exit_block(); ++block) {
      const std::vector<bool> meetings = meetings_of(flow, block);
      const auto number = static_cast<std::size_t>(std::ranges::count(meetings, true));
      const std::size_t first = flow.blocks()[block].meets_at;
      if (number == 0) {
        EXPECT_EQ(first, ControlFlow::never) << module.text;
        continue;
      }
      ASSERT_NE(first, ControlFlow::never) << module.text;
      EXPECT_TRUE(meetings[first]) << module.text;
      EXPECT_EQ(flow.blocks()[block].meetings, number) << module.text;
    }
  }
}

TEST(DivergentBlocks, AreThoseBetweenAChoiceAndItsMeeting) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 300; ++round) {
    const Module module(module_with(random_body(random)));
    const Function& kernel = module.entry("k");
    const ControlFlow flow(module, kernel);
    std::vector<bool> expected(flow.exit_block() + 1, false);
    for (std::size_t block = 0; block < flow.exit_block(); ++block) {
      const auto* last = std::get_if<Instruction>(&kernel.statements[flow.blocks()[block].end - 1]);
      if (!flow.blocks()[block].decides() || last->predicate != "%p1") continue;
      const std::vector<bool> between = reached(flow, block, meetings_of(flow, block));
      for (std::size_t other = 0; other < flow.exit_block(); ++other)
        expected[other] = expected[other] || between[other];
    }
    const std::vector<bool> divergent = divergent_statements(module, kernel, flow, ThreadGroup{});
    for (std::size_t block = 0; block < flow.exit_block(); ++block) {
      EXPECT_EQ(divergent[flow.blocks()[block].begin], expected[block]) << "block " << block << "\n" << module.text;
    }
  }
}

}  // namespace
}  // namespace gpushare::ptx
