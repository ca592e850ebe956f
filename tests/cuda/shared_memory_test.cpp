// SPDX-License-Identifier: Apache-2.0
// Memory that processes share, on the stand-in: what the driver promises of it, and what it refuses.
#include <gmock/gmock.h>
#include <sys/mman.h>

#include "cuda/memory/host_copies.hpp"
#include "cuda/memory/registered_memory.hpp"
#include "cuda/memory/shared_device_memory.hpp"
#include "on_stand_in.hpp"

namespace gpushare::cuda::test {
namespace {

using testing::HasSubstr;

constexpr std::size_t unit = std::size_t{2} << 20;

class SharedMemoryOnStandIn : public OnStandIn {
 protected:
  std::vector<std::byte> read(const SharedDeviceMemory& memory, std::size_t bytes = unit) {
    std::vector<std::byte> found(bytes);
    copy_to_host(*context, found.data(), memory.get(), bytes);
    return found;
  }
};

TEST_F(SharedMemoryOnStandIn, IsZeroedAndComesInWholeUnits) {
  EXPECT_EQ(SharedDeviceMemory::rounded_up(*context, 1), unit);
  EXPECT_EQ(SharedDeviceMemory::rounded_up(*context, unit + 1), 2 * unit);
  const auto memory = SharedDeviceMemory::create(context, 3);
  EXPECT_EQ(memory->bytes(), unit);
  EXPECT_EQ(read(*memory), std::vector<std::byte>(unit));
}

TEST_F(SharedMemoryOnStandIn, IsOneMemoryAtTwoAddressesAndOutlivesTheFirst) {
  auto made = SharedDeviceMemory::create(context, unit);
  const int descriptor = made->descriptor();
  const auto imported = SharedDeviceMemory::imported(visit(uuid_of(*context)), descriptor, unit);
  close(descriptor);
  EXPECT_NE(imported->get(), made->get());
  const std::vector<std::byte> content(unit, std::byte{7});
  copy_to_device(*context, made->get(), content.data(), unit);
  made.reset();
  EXPECT_EQ(read(*imported), content);
}

TEST_F(SharedMemoryOnStandIn, GoesBackWhenItIsReleased) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  const std::size_t more_than_half = std::size_t{600} << 20;
  CUmemGenericAllocationHandle first = 0;
  CUmemGenericAllocationHandle second = 0;
  GPUSHARE_CU(cuMemCreate(&first, more_than_half, &properties, 0));
  EXPECT_EQ(driver().cuMemCreate(&second, more_than_half, &properties, 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_THROW(make_device_memory(context, more_than_half), CudaError);
  GPUSHARE_CU(cuMemRelease(first));
  EXPECT_EQ(driver().cuMemRelease(first), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(misuse(), HasSubstr("no such memory: it was released"));
  forget_misuse();
  GPUSHARE_CU(cuMemCreate(&second, more_than_half, &properties, 0));
  GPUSHARE_CU(cuMemRelease(second));
}

TEST_F(SharedMemoryOnStandIn, ForeignFilesAndSizesAreRefused) {
  const int other = memfd_create("other", MFD_CLOEXEC);
  EXPECT_THROW(SharedDeviceMemory::imported(context, other, unit), CudaError);
  close(other);
  const auto memory = SharedDeviceMemory::create(context, unit);
  const int descriptor = memory->descriptor();
  EXPECT_THROW(SharedDeviceMemory::imported(context, descriptor, 2 * unit), CudaError);
  close(descriptor);
  DeviceUuid unknown = uuid_of(*context);
  unknown[0] ^= 1;
  EXPECT_THROW(visit(unknown), CudaError);
  EXPECT_THAT(misuse(), HasSubstr("the memory has another size"));
  forget_misuse();
}

TEST_F(SharedMemoryOnStandIn, HostMemoryIsPinnedWhereItIs) {
  std::vector<std::byte> host(1 << 20, std::byte{3});
  const auto device = SharedDeviceMemory::create(context, host.size());
  {
    const RegisteredMemory registered = register_memory(context, host);
    EXPECT_THROW(register_memory(context, host), CudaError);
    copy_to_device(*context, device->get(), host.data(), host.size());
    std::ranges::fill(host, std::byte{0});
    copy_to_host(*context, host.data(), device->get(), host.size());
  }
  EXPECT_EQ(host, std::vector<std::byte>(host.size(), std::byte{3}));
  EXPECT_THAT(misuse(), HasSubstr("it is pinned already"));
  forget_misuse();
  const RegisteredMemory again = register_memory(context, host);
}

TEST_F(SharedMemoryOnStandIn, WrongUseOfPinnedMemoryIsNoted) {
  const CurrentContext current(*context);
  std::vector<std::byte> host(8 << 20);
  const DeviceMemory device = make_device_memory(context, host.size());
  const auto half = std::span(host).first(host.size() / 2);
  EXPECT_EQ(driver().cuMemHostUnregister(host.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  GPUSHARE_CU(cuMemHostRegister(half.data(), half.size(), 0));
  EXPECT_EQ(driver().cuMemcpyHtoDAsync(device.get(), host.data(), host.size(), CU_STREAM_PER_THREAD),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(misuse(), HasSubstr("only a part of this is registered"));
  GPUSHARE_CU(cuMemHostUnregister(half.data()));
  forget_misuse();
}

TEST_F(SharedMemoryOnStandIn, MemoryIsNotUnpinnedUnderACopy) {
  const CurrentContext current(*context);
  std::vector<std::byte> host(8 << 20);
  const DeviceMemory device = make_device_memory(context, host.size());
  bool is_refused = false;
  for (int tries = 0; tries < 100 && !is_refused; ++tries) {  // a copy may have ended before the host goes on
    GPUSHARE_CU(cuMemHostRegister(host.data(), host.size(), 0));
    GPUSHARE_CU(cuMemcpyHtoDAsync(device.get(), host.data(), host.size(), CU_STREAM_PER_THREAD));
    is_refused = driver().cuMemHostUnregister(host.data()) != CUDA_SUCCESS;
    GPUSHARE_CU(cuStreamSynchronize(CU_STREAM_PER_THREAD));
  }
  EXPECT_THAT(misuse(), HasSubstr("a copy from or to it has not ended"));
  GPUSHARE_CU(cuMemHostUnregister(host.data()));
  forget_misuse();
}

TEST_F(SharedMemoryOnStandIn, WhatIsUnmappedMustNotBeRegistered) {
  const CurrentContext current(*context);
  void* pages = mmap(nullptr, unit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  GPUSHARE_CU(cuMemHostRegister(pages, unit, 0));
  munmap(pages, unit);
  EXPECT_EQ(driver().cuMemHostUnregister(pages), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(misuse(), HasSubstr("it was unmapped while registered"));
  EXPECT_EQ(driver().cuMemHostRegister(pages, unit, 0), CUDA_ERROR_INVALID_VALUE);
  forget_misuse();
}

}  // namespace
}  // namespace gpushare::cuda::test
