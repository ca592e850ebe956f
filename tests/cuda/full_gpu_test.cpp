// SPDX-License-Identifier: Apache-2.0
// While one launch has every place of every SM and does not end: what others still can do, and what has to wait.
#include <gmock/gmock.h>

#include <chrono>
#include <future>
#include <thread>

#include "cuda/launch/grids.hpp"
#include "cuda/memory/host_copies.hpp"
#include "cuda/memory/registered_memory.hpp"
#include "cuda/memory/shared_device_memory.hpp"
#include "sample_work.hpp"

namespace gpushare::cuda::test {
namespace {

constexpr std::chrono::seconds patience_beside_launch(20);
constexpr std::size_t several_pieces = (std::size_t{9} << 20) + 7;  // in several pieces, the last of them short

class FullGpu : public OnStandIn {
 protected:
  FullGpu()
      : from(array(std::vector{1})),
        to(array(std::vector{2})),
        filled(array(std::vector{3})),
        gate_(array(std::vector{0})),
        arrived_(array(std::vector{0})),
        kernel_(load("wait_at_gate", wait_at_gate)),
        stream_(make_stream(context)) {
    const auto places = static_cast<unsigned>(context->description().sms * context->description().per_sm.blocks);
    const DeviceLaunch launch{.kernel = kernel_,
                              .grid = {2 * places, 1, 1},
                              .block = {1, 1, 1},
                              .arguments = arguments(gate_.get(), arrived_.get(), for_ever)};
    const CurrentContext current(*context);
    launch_grid(kernel_->original(), launch.grid, launch, {}, stream_.get());
    while (values<unsigned>(arrived_, 1).front() < places) std::this_thread::yield();
  }
  ~FullGpu() override {
    end_launch();
    drain(stream_);
  }

  void end_launch() { write(gate_, 1); }

  /// Whether it ends while the launch runs.
  template <class Action>
  bool ends_beside_the_launch(Action action) {
    std::future<void> end = std::async(std::launch::async, action);
    const bool has_ended = end.wait_for(patience_beside_launch) == std::future_status::ready;
    end_launch();
    end.get();
    return has_ended;
  }

  const DeviceMemory from, to, filled;  // made before the launch

 private:
  DeviceMemory gate_, arrived_;
  std::shared_ptr<KernelCode> kernel_;
  Stream stream_;
};

TEST_F(FullGpu, MemsetsAndCopiesWithinTheDeviceWaitForRoom) {
  const CurrentContext current(*context);
  const Stream copies = make_stream(context, context->stream_priorities().front());
  const Stream memsets = make_stream(context, context->stream_priorities().front());
  GPUSHARE_CU(cuMemcpyDtoDAsync(to.get(), from.get(), 4, copies.get()));
  GPUSHARE_CU(cuMemsetD8Async(filled.get(), 0, 4, memsets.get()));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(driver().cuStreamQuery(copies.get()), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(driver().cuStreamQuery(memsets.get()), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(values<int>(to, 1), std::vector{2});
  EXPECT_EQ(values<int>(filled, 1), std::vector{3});
  end_launch();
  drain(copies);
  drain(memsets);
  EXPECT_EQ(values<int>(to, 1), std::vector{1});
  EXPECT_EQ(values<int>(filled, 1), std::vector{0});
}

/// Where no scheduler could have the launch leave.
TEST_F(FullGpu, LoadingCodeAndFreeingHostMemoryWaitForKernels) {
  std::vector<std::byte> bytes(1000);
  PinnedMemory pinned = make_pinned_memory(context, 4);
  std::vector<std::future<void>> calls;
  calls.push_back(std::async(std::launch::async, [&] { load("saxpy"); }));
  calls.push_back(std::async(std::launch::async, [&] { register_memory(context, bytes); }));
  calls.push_back(std::async(std::launch::async, [&] { const PinnedMemory freed = std::move(pinned); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (const auto& each : calls) EXPECT_EQ(each.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  end_launch();
}

TEST_F(FullGpu, NewMemoryIsZeroWithoutWaiting) {
  EXPECT_TRUE(ends_beside_the_launch([&] {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{1000}, several_pieces}) {
      const DeviceMemory memory = make_device_memory(context, bytes);
      EXPECT_EQ(values<char>(memory, bytes), std::vector<char>(bytes));
    }
  }));
}

TEST_F(FullGpu, NewSharedMemoryIsZeroWithoutWaiting) {
  EXPECT_TRUE(ends_beside_the_launch([&] {
    const auto memory = SharedDeviceMemory::create(context, several_pieces);
    std::vector<char> found(memory->bytes(), 1);
    copy_to_host(*context, found.data(), memory->get(), found.size());
    EXPECT_EQ(found, std::vector<char>(found.size()));
  }));
}

TEST_F(FullGpu, ThreadsClearMemoryAtATime) {
  EXPECT_TRUE(ends_beside_the_launch([&] {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        for (int time = 0; time < 5; ++time) {
          EXPECT_EQ(values<char>(make_device_memory(context, several_pieces / 8), several_pieces / 8),
                    std::vector<char>(several_pieces / 8));
        }
      });
    }
  }));
}

TEST_F(FullGpu, WhatIsNotClearedIsWhatSomebodyCopiesThere) {
  const DeviceMemory memory = make_uncleared_memory(context, 8);
  EXPECT_THAT(values<unsigned char>(memory, 8), testing::Each(0xff));  // the stand-in's
  const std::array<char, 8> content{1, 2, 3, 4, 5, 6, 7, 8};
  copy_to_device(*context, memory.get(), content.data(), content.size());
  EXPECT_THAT(values<char>(memory, 8), testing::ElementsAreArray(content));
}

}  // namespace
}  // namespace gpushare::cuda::test
