// SPDX-License-Identifier: Apache-2.0
#include "cuda/code/kernel_module.hpp"

#include "cuda/launch/launch_factory.hpp"
#include "cuda/memory/host_copies.hpp"
#include "on_stand_in.hpp"

namespace gpushare::cuda::test {
namespace {

const std::string counting = R"(.version 8.0
.target sm_90
.address_size 64
.global .align 4 .u32 total = 5;
.const .align 4 .u32 step = 1;
.visible .entry count()
{
  .reg .b32 %r<3>;
  ld.const.u32 %r1, [step];
  atom.global.add.u32 %r2, [total], %r1;
  ret;
}
.visible .entry copy(.param .u64 out)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [out];
  ld.global.u32 %r1, [total];
  st.global.u32 [%rd1], %r1;
  ret;
}
)";

class KernelModules : public OnStandIn {
 protected:
  std::uint32_t value_of(const VariableMemory& variable) {
    std::uint32_t value = 0;
    copy_to_host(*context, &value, variable.get(), sizeof value);
    return value;
  }
  void set(const VariableMemory& variable, std::uint32_t value) {
    copy_to_device(*context, variable.get(), &value, sizeof value);
  }
  void run(CUfunction function, unsigned blocks, void** parameters = nullptr) {
    const CurrentContext current(*context);
    GPUSHARE_CU(cuLaunchKernel(function, blocks, 1, 1, 1, 1, 1, 0, CU_STREAM_PER_THREAD, parameters, nullptr));
    GPUSHARE_CU(cuStreamSynchronize(CU_STREAM_PER_THREAD));
  }
};

TEST_F(KernelModules, KernelsShareVariablesThatBeginAsTheSourceSays) {
  const auto module = load_module(counting, ModuleState::Variables);
  const auto count = load(module, "count");
  const auto copy = load(module, "copy");
  const VariableMemory total(module, "total");
  EXPECT_EQ(total.bytes(), 4u);
  EXPECT_EQ(value_of(total), 5u);
  run(count->original(), 3);
  EXPECT_EQ(value_of(total), 8u);
  const DeviceMemory out = array(std::vector<std::uint32_t>{0});
  CUdeviceptr address = out.get();
  void* parameters[] = {&address};
  run(copy->original(), 1, parameters);
  EXPECT_EQ(values<std::uint32_t>(out, 1).front(), 8u);
  EXPECT_NE(count->worker(), nullptr);
}

TEST_F(KernelModules, EachCopyHasItsOwn) {
  const auto one = load_module(counting, ModuleState::Variables);
  const auto other = load_module(counting, ModuleState::Variables);
  run(load(one, "count")->original(), 3);
  EXPECT_EQ(value_of(VariableMemory(one, "total")), 8u);
  EXPECT_EQ(value_of(VariableMemory(other, "total")), 5u);
}

TEST_F(KernelModules, ConstantsCanBeSet) {
  const auto module = load_module(counting, ModuleState::Variables);
  set(VariableMemory(module, "step"), 10);
  run(load(module, "count")->original(), 2);
  EXPECT_EQ(value_of(VariableMemory(module, "total")), 25u);
}

TEST_F(KernelModules, WhatIsNotThereIsAnErrorOfTheDriver) {
  const auto module = load_module(counting, ModuleState::Variables);
  EXPECT_THROW(VariableMemory(module, "nothing"), CudaError);
  EXPECT_THROW(load(module, "nothing"), CudaError);
}

TEST_F(KernelModules, AreGoneWithTheLastThatUsesThem) {
  auto module = load_module(counting, ModuleState::Variables);
  auto count = load(module, "count");
  VariableMemory total(module, "total");
  module.reset();
  count.reset();
  EXPECT_EQ(value_of(total), 5u);
  const CUdeviceptr address = total.get();
  total = VariableMemory(load_module(counting, ModuleState::Variables), "total");
  std::uint32_t value = 0;
  EXPECT_THROW(copy_to_host(*context, &value, address, sizeof value), CudaError);
  forget_misuse();
}

TEST_F(KernelModules, AreCopiedOnlyWhereNoLaunchCouldTell) {
  EXPECT_TRUE(load(load_module(counting, ModuleState::None), "count")->may_be_copied());
  EXPECT_FALSE(load(load_module(counting, ModuleState::Variables), "count")->may_be_copied());
  const auto constants = load_module(counting, ModuleState::Constants);
  const auto count = load(constants, "count");
  EXPECT_TRUE(count->may_be_copied());
  const VariableMemory step(constants, "step");  // with which the host may set it
  EXPECT_FALSE(count->may_be_copied());
}

TEST_F(KernelModules, WithVariablesRunOnAllSmsOrAsWorkers) {
  resources->history = KernelHistory(0, std::numeric_limits<double>::infinity());  // the original wins
  const std::vector<SmId> all{SmId{0}, SmId{1}, SmId{2}, SmId{3}};
  const std::vector<SmId> some{SmId{0}, SmId{1}};
  for (const ModuleState state : {ModuleState::None, ModuleState::Variables}) {
    const DeviceLaunch launch{.kernel = load(load_module(counting, state), "count"), .grid = {64, 1, 1}};
    resources->history.set_block_time(launch.kernel->id(), Duration(1000));
    const auto way = [&](const std::vector<SmId>& sms) { return setup_for(launch, 4, sms, Duration(1'000'000'000)); };
    for (int time = 0; time < 4; ++time) {
      for (const ExecutionMode way : {ExecutionMode::Worker, ExecutionMode::Original}) {
        for (const std::size_t sms : {2u, 4u}) resources->history.add({launch.kernel->id(), sms, way, 1}, Duration(1));
      }
    }
    EXPECT_EQ(way(all)->function, launch.kernel->original());
    for (int time = 0; time < 1'000'000 && state == ModuleState::None && !way(some); ++time) {
      resources->partitions.wait_ready();
    }
    EXPECT_EQ(way(some).has_value(), state == ModuleState::None);
  }
}

}  // namespace
}  // namespace gpushare::cuda::test
