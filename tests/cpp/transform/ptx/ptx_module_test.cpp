// SPDX-License-Identifier: Apache-2.0
#include "core/transform/ptx/ptx_module.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/errors.hpp"
#include "messages.hpp"
#include "transform/sample_ptx.hpp"

namespace gpushare::ptx {
namespace {

using test::message_of;
using test::naming;
using testing::ElementsAre;
using testing::HasSubstr;

const Instruction& instruction(const Function& function, std::size_t number) {
  for (const Statement& statement : function.statements) {
    const auto* found = std::get_if<Instruction>(&statement);
    if (found != nullptr && number-- == 0) return *found;
  }
  throw std::out_of_range("no such instruction");
}

TEST(PtxModule, ReadsTheHeader) {
  const Module module(module_with("ret;\n"));
  EXPECT_EQ(module.version, "8.0");
  EXPECT_EQ(module.target, "sm_90");
}

TEST(PtxModule, ReadsParametersWithTheirSizes) {
  const Module module(
      ptx_header + ".entry k(.param .u64 .ptr .global .align 4 a, .param .align 16 .b8 b[24], .param .f32 c) { ret; }");
  const auto& parameters = module.entry("k").parameters;
  ASSERT_EQ(parameters.size(), 3u);
  EXPECT_EQ(parameters[0].name, "a");
  EXPECT_EQ(parameters[0].bytes, 8u);
  EXPECT_EQ(parameters[1].bytes, 24u);
  EXPECT_EQ(parameters[1].alignment, 16u);
  EXPECT_EQ(parameters[2].bytes, 4u);
}

TEST(PtxModule, ReadsParametersWhoseSpaceAndTypeAreOneWord) {
  const Module module(ptx_header + ".func (.param.u64 r) f(.param.f32 a, .reg.v4.u16 b) { ret; }");
  const auto& parameters = module.functions.at(0).parameters;
  ASSERT_EQ(parameters.size(), 2u);
  EXPECT_EQ(parameters[0].bytes, 4u);
  EXPECT_EQ(parameters[1].type, ".u16");
}

TEST(PtxModule, ReadsAKernelWithoutParameterList) {
  const Module module(ptx_header + ".visible .entry k\n{ ret; }");
  EXPECT_EQ(module.entry("k").parameter_list.size(), 0u);
}

TEST(PtxModule, ReadsGuardOpcodeAndOperands) {
  const Module module(module_with("@!%p1 ld.global.v2.u32 {%r1, %r2}, [%rd1+8];\nret;\n"));
  const Instruction& load = instruction(module.entry("k"), 0);
  EXPECT_EQ(load.predicate, "%p1");
  EXPECT_TRUE(load.negated);
  EXPECT_EQ(load.operation(), "ld");
  EXPECT_TRUE(load.has("v2"));
  EXPECT_FALSE(load.has("v"));
  ASSERT_EQ(load.operands.size(), 2u);
  EXPECT_EQ(module.source(load.operands[0]), "{%r1, %r2}");
  EXPECT_EQ(module.source(load.operands[1]), "[%rd1+8]");
}

TEST(PtxModule, AStateSpaceMayHaveASubspace) {
  const Module module(module_with("cp.async.bulk.shared::cluster.global [%r1], [%rd1], 16, [%r2];\nret;\n"));
  const Instruction& copy = instruction(module.entry("k"), 0);
  EXPECT_TRUE(copy.names_space("shared"));
  EXPECT_TRUE(copy.names_space("global"));
  EXPECT_FALSE(copy.names_space("local"));
  EXPECT_FALSE(copy.has("shared"));
}

TEST(PtxModule, ReadsDirectivesBetweenParametersAndBody) {
  const Module module(module_with("ret;\n", "", "\n.maxntid 256, 1, 1\n.minnctapersm 2\n"));
  const auto& directives = module.entry("k").directives;
  ASSERT_EQ(directives.size(), 2u);
  EXPECT_EQ(module.source(directives[0]), ".maxntid 256, 1, 1");
  EXPECT_EQ(module.source(directives[1]), ".minnctapersm 2");
}

TEST(PtxModule, VariablesSectionsAndPrototypesAreNotFunctions) {
  const Module module(ptx_header +
                      ".global .align 4 .b8 s[3] = {1, 2, 3};\n.extern .shared .align 16 .b8 e[];\n"
                      ".extern .func (.param .b32 r) vprintf (.param .b64 a);\n"
                      ".section .debug_abbrev { .b8 1\n.b8 2 }\n.entry k() { ret; }");
  EXPECT_THAT(module.entry_names(), ElementsAre("k"));
  EXPECT_EQ(module.functions.size(), 2u);
  EXPECT_FALSE(module.functions[0].has_body);
}

TEST(PtxModule, AnUnknownKernelIsRefusedWithTheKnownOnes) {
  const Module module(ptx_header + ".entry a() { ret; }\n.entry b() { ret; }");
  EXPECT_THAT(message_of<InvalidInput>([&] { module.entry("c"); }), naming("c", "a", "b"));
}

TEST(PtxModule, ATextWithoutAVersionFirstIsRefused) {
  for (const char* text : {"int main() {}", ".target sm_90\n.version 8.0\n"}) {
    EXPECT_THAT(message_of<InvalidInput>([&] { const Module module(text); }), naming(".version")) << text;
  }
}

TEST(PtxModule, AnErrorInAFunctionIsNotedByLineAndLeftUnchanged) {
  const auto noted = [](const std::string& entry) {
    const Module module(ptx_header + entry + "\n.entry next() { ret; }");
    EXPECT_EQ(module.entry_names().back(), "next") << entry;
    return module.functions.front().not_understood;
  };
  EXPECT_THAT(noted(".entry k() { mov.u32 %r1, (2; }"), naming("line 4"));
  EXPECT_THAT(noted(".entry k(.param .b8 a[x]) { ret; }"), naming("'x'"));
  EXPECT_THAT(noted(".entry k(.param .b8 a[0x]) { ret; }"), naming("'0x'"));
  EXPECT_THAT(noted(".entry k(.param .b8 a[4294967296][2]) { ret; }"), naming("'a'"));
  EXPECT_THAT(noted(".entry k(.param .b8 a,) { ret; }"), naming("'.param'", "')'"));
  EXPECT_THAT(noted(".entry k() 4 { ret; }"), naming("'4'"));
  EXPECT_THAT(noted(".entry k()\n.pragma \"a\";\n{ mov.u32 %r1, [2; { ret; } }"), naming("line"));
  EXPECT_EQ(noted(".entry k() { ret; }"), "");
  EXPECT_THAT(Module(ptx_header + ".entry k() { mov.u32 %r1, 2").functions.front().not_understood, naming("line"));
}

TEST(PtxModule, AnErrorOutsideOfFunctionsIsSkipped) {
  for (const std::string before : {"} ", ".global .u32 x } ", ".global .u32 x ", "? ", ".novel 1, 2 "}) {
    EXPECT_THAT(Module(ptx_header + before + ".visible .entry k() { ret; }").entry_names(), ElementsAre("k")) << before;
  }
}

TEST(PtxModule, ABlankBeforeASuffixHidesNothing) {
  const Module module(
      module_with("shfl .sync.bfly\n.b32 %r1|%p1, %r2, 1, 31, -1;\n@%p1 st/* there */.shared .u32 [%r1], %r2;\n"
                  "mov .u32 %r3, %tid .x;\nret .uni;\n"));
  const Function& kernel = module.entry("k");
  EXPECT_EQ(instruction(kernel, 0).opcode, "shfl.sync.bfly.b32");
  EXPECT_EQ(instruction(kernel, 1).opcode, "st.shared.u32");
  EXPECT_EQ(module.source(instruction(kernel, 2).operands[1]), "%tid.x");
  EXPECT_EQ(instruction(kernel, 3).opcode, "ret.uni");
  EXPECT_THAT(module.text, HasSubstr("st.shared.u32/* there */  [%r1]"));
}

TEST(PtxModule, BlanksInSectionsAndDirectivesStay) {
  const std::string text = ptx_header +
                           ".section .debug_info\n{\n.b32 $L__x\n.b8 1\n}\n.visible .entry k\n.maxntid 32 {\n"
                           ".reg .b32 %r<2>;\n.loc 1 1 1\nret;\n}\n";
  EXPECT_EQ(Module(text).text, text);
}

TEST(PtxModule, ALocationMayTakeSeveralLinesOrShareOne) {
  const Module module(
      module_with(".loc 1 12 5\nmov.u32 %r1, 1;\n.loc 1 7 9,\n\tfunction_name $L__info_string0+4,\n"
                  "\tinlined_at 1 12 5\nmov.u32 %r2, 1;\n.loc 1 1 1 mov.u32 %r3, 1;\nret;\n"));
  const Function& kernel = module.entry("k");
  for (std::size_t number = 0; number < 3; ++number) EXPECT_EQ(instruction(kernel, number).opcode, "mov.u32");
  EXPECT_EQ(instruction(kernel, 3).opcode, "ret");
}

TEST(PtxModule, EveryTruncationIsReadOrRefused) {
  const std::string text = module_with("@%p1 bra $L;\nmov.u32 %r1, %tid.x;\n$L:\nret;\n", "", ".maxntid 4\n");
  for (std::size_t length = 0; length <= text.size(); ++length) {
    try {
      const Module module(text.substr(0, length));
    } catch (const InvalidInput&) {
      continue;
    }
  }
}

TEST(PtxModule, SizesInAllNotations) {
  const Module module(ptx_header +
                      ".entry k(.param .align 0x8 .b8 a[0x10], .param .b8 b[010], .param .b8 c[2U]) { ret; }");
  const auto& parameters = module.entry("k").parameters;
  EXPECT_EQ(parameters[0].alignment, 8u);
  EXPECT_EQ(parameters[0].bytes, 16u);
  EXPECT_EQ(parameters[1].bytes, 8u);
  EXPECT_EQ(parameters[2].bytes, 2u);
}

TEST(PtxModule, AHeaderMayShareItsLine) {
  const Module module(".version 8.0 .target sm_90, debug .address_size 64 .entry k() { ret; }");
  EXPECT_EQ(module.target, "sm_90");
  EXPECT_THAT(module.entry_names(), ElementsAre("k"));
}

TEST(PtxModule, APragmaOfAnEntryIsNotItsEnd) {
  const Module module(module_with("ret;\n", "", "\n.maxntid 4\n.pragma \"nounroll\";\n"));
  EXPECT_THAT(module.entry_names(), ElementsAre("k"));
  EXPECT_EQ(module.source(module.entry("k").directives.at(1)), ".pragma \"nounroll\";");
}

TEST(PtxModule, OldFunctionsTakeRegisters) {
  const Module module(ptx_header + ".func (.reg .u32 r) f (.reg .u32 a) { mov.u32 r, a; ret; }");
  EXPECT_EQ(module.functions.at(0).parameters.at(0).name, "a");
}

}  // namespace
}  // namespace gpushare::ptx
