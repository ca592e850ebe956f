// SPDX-License-Identifier: Apache-2.0
#include "core/transform/flow/cycles.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "transform/random_control_flow.hpp"
#include "transform/sample_ptx.hpp"

namespace gpushare::ptx {
namespace {

TEST(Cycles, HoldTheBlocksThatReachEachOther) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    const Module module(module_with(random_body(random)));
    const ControlFlow flow(module, module.entry("k"));
    const Cycles cycles(flow);
    std::vector<std::vector<bool>> reaches;
    for (std::size_t block = 0; block < flow.exit_block(); ++block) {
      reaches.push_back(reached(flow, block, std::vector<bool>(flow.exit_block() + 1, false)));
    }
    EXPECT_EQ(cycles.of(flow.exit_block()), Cycles::none);
    for (std::size_t block = 0; block < flow.exit_block(); ++block) {
      ASSERT_EQ(cycles.of(block) != Cycles::none, reaches[block][block]) << module.text;
      for (std::size_t other = 0; reaches[block][block] && other < flow.exit_block(); ++other) {
        EXPECT_EQ(cycles.of(block) == cycles.of(other), reaches[block][other] && reaches[other][block]) << module.text;
      }
    }
    for (std::size_t cycle = 0; cycle < cycles.all().size(); ++cycle) {
      for (const std::size_t block : cycles.all()[cycle]) EXPECT_EQ(cycles.of(block), cycle);
    }
  }
}

TEST(Cycles, LongTextsNeedNoDeepStack) {
  std::string body;
  for (int label = 0; label < 200'000; ++label) body += "$L" + std::to_string(label) + ":\n";
  const Module module(module_with(body + "@%p1 bra $L7;\nret;\n"));
  const ControlFlow flow(module, module.entry("k"));
  ASSERT_EQ(Cycles(flow).all().size(), 1u);
}

}  // namespace
}  // namespace gpushare::ptx
