// SPDX-License-Identifier: Apache-2.0
#include "intercept/calls/library_kernels.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "intercept/driver.hpp"
#include "intercept/membership.hpp"
#include "intercept/workers/worker_code.hpp"

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

/// Workers are no kernels of the program's: of all handles in some code, `take` gets those of the others.
template <class Handle, class Code, class Take>
CUresult enumerate_originals(CUresult (*count_all)(unsigned*, Code), CUresult (*enumerate)(Handle*, unsigned, Code),
                             CUresult (*name_of)(const char**, Handle), Code code, const Take& take) {
  unsigned there = 0;
  CUresult result = call(count_all, &there, code);
  if (result != CUDA_SUCCESS) return result;
  auto* const all = static_cast<Handle*>(std::calloc(there + 1, sizeof(Handle)));
  if (all == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  result = call(enumerate, all, there, code);
  for (unsigned index = 0; result == CUDA_SUCCESS && index < there; ++index) {
    const char* name = nullptr;
    if (call(name_of, &name, all[index]) == CUDA_SUCCESS && !is_name_of_worker(name)) take(all[index]);
  }
  std::free(all);
  return result;
}

template <class Code>
void leave_out_workers(unsigned* count, Code code) {
  const auto* made = makes_workers(this_member()) ? image_of(code) : nullptr;
  // Where there are fewer, the handle was that of code which has gone with its context.
  if (made != nullptr && made->kernel_count < *count) *count -= static_cast<unsigned>(made->kernel_count);
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

CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary library) {
  const CUresult result = call(real.cuLibraryGetKernelCount, count, library);
  if (result == CUDA_SUCCESS) leave_out_workers(count, library);
  return result;
}

CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary library) {
  const Membership* member = this_member();
  if (member == nullptr) return call(real.cuLibraryEnumerateKernels, kernels, count, library);
  if (makes_workers(member) && kernels != nullptr && image_of(library) != nullptr) {
    return enumerate_originals(real.cuLibraryGetKernelCount, real.cuLibraryEnumerateKernels, real.cuKernelGetName,
                               library, [&](CUkernel kernel) {
                                 remember_kernel(kernel);
                                 if (count > 0) *kernels++ = kernel;
                                 count -= count > 0 ? 1 : 0;
                               });
  }
  const CUresult result = call(real.cuLibraryEnumerateKernels, kernels, count, library);
  unsigned there = 0;
  if (result != CUDA_SUCCESS || call(real.cuLibraryGetKernelCount, &there, library) != CUDA_SUCCESS) return result;
  for (unsigned index = 0; index < count && index < there; ++index) remember_kernel(kernels[index]);
  return result;
}

CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule module) {
  const CUresult result = call(real.cuModuleGetFunctionCount, count, module);
  if (result == CUDA_SUCCESS) leave_out_workers(count, module);
  return result;
}

CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule module) {
  if (!makes_workers(this_member()) || functions == nullptr || image_of(module) == nullptr) {
    return call(real.cuModuleEnumerateFunctions, functions, count, module);
  }
  return enumerate_originals(real.cuModuleGetFunctionCount, real.cuModuleEnumerateFunctions, real.cuFuncGetName, module,
                             [&](CUfunction function) {
                               if (count > 0) *functions++ = function;
                               count -= count > 0 ? 1 : 0;
                             });
}

}  // extern "C"
