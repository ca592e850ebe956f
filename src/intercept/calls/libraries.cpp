// SPDX-License-Identifier: Apache-2.0
#include "intercept/calls/libraries.hpp"

#include <array>
#include <atomic>
#include <cstdint>

#include "intercept/driver.hpp"
#include "intercept/membership.hpp"

namespace gpushare::intercept {
namespace {

constexpr std::size_t most_kernel_handles = 1 << 17;
/// A lookup stops after this many neighbours, too: a handle without a free place among them is not stored.
constexpr std::size_t most_neighbours = 64;

/// Open addressing, without locks; nothing is removed.
std::array<std::atomic<std::uintptr_t>, most_kernel_handles> kernel_handles;

/// The handle's place, or the free one where it would be; nullptr where there is none near.
std::atomic<std::uintptr_t>* place_of_kernel(std::uintptr_t handle) {
  const std::uint64_t hash = handle * 0x9e3779b97f4a7c15 >> 32;
  for (std::size_t step = 0; step < most_neighbours; ++step) {
    auto& place = kernel_handles[(hash + step) % most_kernel_handles];
    const std::uintptr_t found = place.load(std::memory_order_relaxed);
    if (found == 0 || found == handle) return &place;
  }
  return nullptr;
}

void remember_kernel(CUkernel kernel) {
  const auto handle = reinterpret_cast<std::uintptr_t>(kernel);
  while (auto* place = place_of_kernel(handle)) {
    std::uintptr_t found = 0;
    if (place->compare_exchange_strong(found, handle) || found == handle) return;
  }
}

}  // namespace

bool is_kernel_of_library(const void* handle) {
  const auto* place = place_of_kernel(reinterpret_cast<std::uintptr_t>(handle));
  return place != nullptr && place->load(std::memory_order_relaxed) != 0;
}

}  // namespace gpushare::intercept

using namespace gpushare::intercept;

extern "C" {

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  const CUresult result = call(real.cuLibraryGetKernel, kernel, library, name);
  if (result == CUDA_SUCCESS && this_member() != nullptr) remember_kernel(*kernel);
  return result;
}

CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary library) {
  const CUresult result = call(real.cuLibraryEnumerateKernels, kernels, count, library);
  if (result != CUDA_SUCCESS || this_member() == nullptr) return result;
  unsigned there = 0;
  if (call(real.cuLibraryGetKernelCount, &there, library) != CUDA_SUCCESS) return result;
  for (unsigned index = 0; index < count && index < there; ++index) remember_kernel(kernels[index]);
  return result;
}

}  // extern "C"
