// SPDX-License-Identifier: Apache-2.0
// Workers have registers and shared memory of their own: what has no room for them runs as it was written.
#include <gmock/gmock.h>

#include "telling_launches.hpp"

namespace gpushare::cuda::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::Ge;
using testing::Lt;

constexpr unsigned warp = 32;
constexpr unsigned all_shared_memory = 232'448;

class WorkerRoom : public TellingLaunches {
 protected:
  WorkerRoom() {
    let_win(ExecutionMode::Worker);
    kernel = load_kernel(".maxntid 64, 1, 1\n");
  }

  /// What the blocks of a launch say that has so many threads and so much dynamic shared memory in each.
  std::vector<int> told_by(unsigned threads, unsigned shared_bytes = 0) {
    const DeviceMemory where = array(std::vector<int>(blocks, -1));
    work = {};
    work.add_application("only");
    work.add_launch(kernel, blocks, threads, arguments(where.get()));
    auto& launch = std::get<Launch>(work.workload.applications.front().operations.front());
    launch.kernel.needs = kernel->needs({threads, 1, 1}, shared_bytes);
    std::get<DeviceLaunch>(work.program.front()).shared_bytes = shared_bytes;
    run_under("even");
    return values<int>(where, blocks);
  }
};

TEST_F(WorkerRoom, LaunchesThatFindItAreWorkers) { EXPECT_THAT(told_by(2 * warp), Each(Ge(of_worker))); }

TEST_F(WorkerRoom, BlocksOfTooManyThreadsRunAsTheyWereWritten) {
  EXPECT_THAT(told_by(3 * warp), Each(AllOf(Ge(0), Lt(of_worker))));
}

TEST_F(WorkerRoom, BlocksOfTooMuchSharedMemoryRunAsTheyWereWritten) {
  EXPECT_FALSE(kernel->can_be_worker({warp, 1, 1}, all_shared_memory));
  EXPECT_EQ(kernel->needs({warp, 1, 1}, all_shared_memory).shared_memory, Bytes{all_shared_memory});
  EXPECT_THAT(told_by(warp, all_shared_memory), Each(AllOf(Ge(0), Lt(of_worker))));
}

TEST_F(WorkerRoom, WhatTheOriginalCannotHaveIsRefused) {
  EXPECT_THROW(kernel->needs({1024 + warp, 1, 1}, 0), InvalidInput);
  EXPECT_THROW(kernel->needs({warp, 1, 1}, all_shared_memory + 1), InvalidInput);
}

}  // namespace
}  // namespace gpushare::cuda::test
