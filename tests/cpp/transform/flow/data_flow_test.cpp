// SPDX-License-Identifier: Apache-2.0
#include "core/transform/flow/data_flow.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "transform/sample_ptx.hpp"

namespace gpushare::ptx {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

struct ReadAndWritten {
  std::vector<std::string> read, written;
};

ReadAndWritten names_of(const std::string& statement) {
  const Module module(module_with(statement + "\nret;\n"));
  for (const Statement& each : module.entry("k").statements) {
    const auto* instruction = std::get_if<Instruction>(&each);
    if (instruction == nullptr) continue;
    const auto read = names_read(module, *instruction), written = names_written(module, *instruction);
    return {{read.begin(), read.end()}, {written.begin(), written.end()}};
  }
  return {};
}

TEST(DataFlow, RegistersWithoutTheirComponents) {
  EXPECT_THAT(names_of("@!%p1 add.u32 %r1, %r2, %r3;").read, UnorderedElementsAre("%p1", "%r2", "%r3"));
  EXPECT_THAT(names_of("@!%p1 add.u32 %r1, %r2, %r3;").written, ElementsAre("%r1"));
  EXPECT_THAT(names_of("mov.u32 %v.x, %w.y;").read, ElementsAre("%w"));
  EXPECT_THAT(names_of("mov.u32 %v.x, %w.y;").written, ElementsAre("%v"));
  EXPECT_THAT(names_of("setp.eq.u32 %p1|%p2, %r1, 0;").written, UnorderedElementsAre("%p1", "%p2"));
  EXPECT_THAT(names_of("ld.global.v2.u32 {%r1, %r2}, [%rd1+8];").written, UnorderedElementsAre("%r1", "%r2"));
}

TEST(DataFlow, TheCarryFlagOfChains) {
  EXPECT_THAT(names_of("add.cc.u32 %r1, %r2, %r3;").written, UnorderedElementsAre("%r1", "CC.CF"));
  EXPECT_THAT(names_of("add.cc.u32 %r1, %r2, %r3;").read, UnorderedElementsAre("%r2", "%r3"));
  EXPECT_THAT(names_of("madc.hi.u32 %r1, %r2, %r3, %r4;").read, UnorderedElementsAre("%r2", "%r3", "%r4", "CC.CF"));
}

TEST(DataFlow, MemoryOfTheBlockAndOfTheThreadAsAWhole) {
  EXPECT_THAT(names_of("st.shared.u32 [%r1], %r2;").read, UnorderedElementsAre("%r1", "%r2"));
  EXPECT_THAT(names_of("st.shared.u32 [%r1], %r2;").written, ElementsAre("[shared]"));
  EXPECT_THAT(names_of("ld.shared.u32 %r2, [%r1];").read, UnorderedElementsAre("%r1", "[shared]"));
  EXPECT_THAT(names_of("ld.local.u32 %r2, [%r1];").read, UnorderedElementsAre("%r1", "[local]"));
  EXPECT_THAT(names_of("st.u32 [%rd1], %r2;").written, UnorderedElementsAre("[shared]", "[local]"));
  EXPECT_THAT(names_of("st.global.u32 [%rd1], %r2;").written, IsEmpty());
  EXPECT_THAT(names_of("atom.shared.add.u32 %r1, [%r2], 1;").written, UnorderedElementsAre("%r1", "[shared]"));
}

TEST(DataFlow, WhatGoesIntoACallAndComesOut) {
  EXPECT_THAT(names_of("st.param.b32 [param0+0], %r1;").written, ElementsAre("param0"));
  EXPECT_THAT(names_of("call.uni (retval0), f, (param0);").read,
              UnorderedElementsAre("f", "param0", "[shared]", "[local]"));
  EXPECT_THAT(names_of("call.uni (retval0), f, (param0);").written,
              UnorderedElementsAre("retval0", "[shared]", "[local]"));
  EXPECT_THAT(names_of("call.uni f, (param0);").written, UnorderedElementsAre("[shared]", "[local]"));
  EXPECT_THAT(names_of("ld.param.b32 %r1, [retval0+0];").read, ElementsAre("retval0"));
}

TEST(DataFlow, NotEveryFirstOperandIsAResult) {
  EXPECT_THAT(names_of("bar.sync %r1;").written, IsEmpty());
  EXPECT_THAT(names_of("bar.red.or.pred %p1, 0, %p2;").written, ElementsAre("%p1"));
  EXPECT_THAT(names_of("mbarrier.init.shared.b64 [%r1], 1;").written, IsEmpty());
  EXPECT_THAT(names_of("mbarrier.arrive.shared.b64 %rd1, [%r1];").written, ElementsAre("%rd1"));
}

}  // namespace
}  // namespace gpushare::ptx
