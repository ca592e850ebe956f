// SPDX-License-Identifier: Apache-2.0
// The driver's functions about libraries of code, which need no context, and their kernels.
#include "driver/call.hpp"
#include "driver/loading.hpp"

namespace gpushare::stand_in {
namespace {

CUmodule module_of(Gpu& device, CUlibrary library) {
  const auto found = device.libraries.find(library);
  expect(found != device.libraries.end(), CUDA_ERROR_INVALID_HANDLE, "no such library");
  return found->second;
}

/// A handle that is none of a function, and can be launched as one.
CUkernel kernel_of(Gpu& device, CUfunction function) {
  auto* kernel = reinterpret_cast<CUkernel>(reinterpret_cast<std::uintptr_t>(function) + 1);
  device.kernels[kernel] = function;
  return kernel;
}

CUfunction function_of_kernel(Gpu& device, CUkernel kernel) {
  const auto found = device.kernels.find(kernel);
  if (found == device.kernels.end()) throw Denial(CUDA_ERROR_INVALID_HANDLE, "this is no kernel");
  return found->second;
}

}  // namespace
}  // namespace gpushare::stand_in

using namespace gpushare::stand_in;

extern "C" {

CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option*, void**, unsigned, CUlibraryOption*,
                           void**, unsigned) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn& turn) {
    turn.wait_until(device.end_of_kernels());
    const CUmodule module = load(device, image, nullptr);
    *library = reinterpret_cast<CUlibrary>(module);
    device.libraries[*library] = module;
  });
}

CUresult cuLibraryUnload(CUlibrary library) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn& turn) {
    turn.wait_until(device.end_of_kernels());
    const CUmodule module = module_of(device, library);
    std::erase_if(device.kernels, [&](const auto& kernel) {
      return reinterpret_cast<CUmodule>(const_cast<Module*>(device.function(kernel.second).module.get())) == module;
    });
    device.libraries.erase(library);
    unload(device, module);
  });
}

CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  return answer_in_context(__func__, [&](Gpu& device, Gpu::Turn&) { *module = module_of(device, library); });
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) {
    *kernel = kernel_of(device, find_function(device, module_of(device, library), name));
  });
}

CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary library) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) {
    *count = static_cast<unsigned>(device.modules.at(module_of(device, library))->text.entry_names().size());
  });
}

CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary library) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) {
    const CUmodule module = module_of(device, library);
    for (const std::string& name : device.modules.at(module)->text.entry_names()) {
      if (count-- == 0) return;
      *kernels++ = kernel_of(device, find_function(device, module, name));
    }
  });
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  return answer_in_context(__func__, [&](Gpu& device, Gpu::Turn&) { *function = function_of_kernel(device, kernel); });
}

CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  CUfunction function = nullptr;
  const CUresult result =
      answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) { function = function_of_kernel(device, kernel); });
  return result != CUDA_SUCCESS ? result : cuFuncGetName(name, function);
}

}  // extern "C"
