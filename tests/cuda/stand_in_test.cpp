// SPDX-License-Identifier: Apache-2.0
// The stand-in does what the driver's manual says, as far as src/cuda relies on it.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <numeric>
#include <thread>

#include "core/model/residency.hpp"
#include "cuda/driver/completions.hpp"
#include "on_stand_in.hpp"

namespace gpushare::cuda::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class StandIn : public OnStandIn {
 protected:
  StandIn() : current_(*context) {}

  CurrentContext current_;
};

TEST_F(StandIn, IsDescribed) {
  const Device& device = context->description();
  EXPECT_EQ(device.sms, 4);
  EXPECT_EQ(device.per_sm.blocks, 4);
  EXPECT_EQ(context->architecture(), "sm_90");
  EXPECT_EQ(context->stream_priorities(), (std::vector{-5, -4, -3, -2, -1, 0}));
}

TEST_F(StandIn, StreamsKeepTheirOrderAndWaitForEvents) {
  const Stream first = make_stream(context);
  const Stream second = make_stream(context);
  const Event event = make_event(context);
  const DeviceMemory word = array(std::vector{0});
  constexpr std::size_t bytes = 8 << 20;
  const DeviceMemory large = make_device_memory(context, bytes);
  const PinnedMemory host = make_pinned_memory(context, bytes);
  // 2 ms of copying before the event: what does not wait for it comes too early.
  GPUSHARE_CU(cuMemcpyDtoHAsync(host.get(), large.get(), bytes, first.get()));
  GPUSHARE_CU(cuMemsetD8Async(word.get(), 1, 4, first.get()));
  GPUSHARE_CU(cuEventRecord(event.get(), first.get()));
  GPUSHARE_CU(cuStreamWaitEvent(second.get(), event.get(), CU_EVENT_WAIT_DEFAULT));
  GPUSHARE_CU(cuMemsetD8Async(word.get(), 2, 4, second.get()));
  GPUSHARE_CU(cuStreamSynchronize(second.get()));
  EXPECT_EQ(values<int>(word, 1), std::vector{0x02020202});
}

TEST_F(StandIn, SmallPageableSourcesMayChangeAtOnce) {
  const Stream stream = make_stream(context);
  const DeviceMemory words = make_device_memory(context, 16);
  std::vector source{1, 2, 3, 4};
  GPUSHARE_CU(cuMemcpyHtoDAsync(words.get(), source.data(), 16, stream.get()));
  source.assign(4, 9);
  GPUSHARE_CU(cuStreamSynchronize(stream.get()));
  EXPECT_THAT(values<int>(words, 4), ElementsAre(1, 2, 3, 4));
}

TEST_F(StandIn, CopiesRowsOfAPlane) {
  std::vector<int> plane(4 * 8);
  std::iota(plane.begin(), plane.end(), 0);
  const DeviceMemory device = array(plane);
  std::vector<int> part(2 * 3, -1);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = device.get();
  copy.srcPitch = 8 * sizeof(int);
  copy.srcXInBytes = 5 * sizeof(int);
  copy.srcY = 1;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = part.data();
  copy.dstPitch = 3 * sizeof(int);
  copy.WidthInBytes = 3 * sizeof(int);
  copy.Height = 2;
  GPUSHARE_CU(cuMemcpy2DAsync(&copy, CU_STREAM_PER_THREAD));
  EXPECT_THAT(part, ElementsAre(13, 14, 15, 21, 22, 23));
}

TEST_F(StandIn, MemoryEnds) {
  CUdeviceptr address = 0;
  EXPECT_EQ(driver().cuMemAllocAsync(&address, std::size_t{1} << 40, CU_STREAM_PER_THREAD), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(misuse(), "");
}

TEST_F(StandIn, MisuseIsRefusedAndNoted) {
  const DeviceMemory word = array(std::vector{0});
  int more[2] = {};
  EXPECT_EQ(driver().cuMemcpyHtoDAsync(word.get(), more, sizeof more, CU_STREAM_PER_THREAD), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(misuse(), HasSubstr("cuMemcpyHtoDAsync_v2: no 8 bytes at "));
  forget_misuse();
  EXPECT_EQ(driver().cuMemFreeAsync(word.get() + 4, CU_STREAM_PER_THREAD), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuStreamDestroy(reinterpret_cast<CUstream>(&more)), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_THAT(misuse(), HasSubstr("no such stream"));
  forget_misuse();
}

TEST_F(StandIn, AnotherThreadNeedsTheContextToo) {
  CUdeviceptr address = 0;
  CUresult result = CUDA_SUCCESS;
  std::thread([&] { result = driver().cuMemAllocAsync(&address, 4, CU_STREAM_PER_THREAD); }).join();
  EXPECT_EQ(result, CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_THAT(misuse(), HasSubstr("no current context"));
  forget_misuse();
}

TEST_F(StandIn, AForkedProcessCannotUseIt) {
  const pid_t child = fork();
  if (child == 0) {
    int count = 0;
    _exit(driver().cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(StandIn, OccupancyIsWhatTheCoreSays) {
  for (const char* name : {"saxpy", "reduce", "matmul"}) {
    const auto kernel = load(name);
    for (const int threads : {1, 32, 100, 256, 700, 1024}) {
      for (const unsigned shared : {0u, 1000u, 40'000u, 100'000u}) {
        const BlockNeeds needs = kernel->needs({static_cast<unsigned>(threads), 1, 1}, shared);
        EXPECT_EQ(driver_occupancy(*context, kernel->worker(), threads, shared),
                  max_residency(context->description(), needs))
            << name << ", " << threads << " threads, " << shared << " bytes";
      }
    }
  }
}

TEST_F(StandIn, CompletionsAreReachedInOrder) {
  const Stream stream = make_stream(context);
  Completions completions(context);
  const Completion first = completions.mark(stream.get());
  const Completion second = completions.mark(stream.get());
  while (!second.reached()) {
  }
  EXPECT_TRUE(first.reached());
  EXPECT_FALSE(Completion{}.reached());
}

}  // namespace
}  // namespace gpushare::cuda::test
