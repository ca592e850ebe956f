// SPDX-License-Identifier: Apache-2.0
// The driver's functions about libraries of code, which need no context, and their kernels.
#include <fstream>
#include <iterator>

#include "driver/call.hpp"
#include "driver/loading.hpp"

namespace gpushare::stand_in {
namespace {

/// The one of this name, made if it is new. Throws Denial where the library has none.
CUkernel kernel_named(Machine& machine, CUlibrary library, const std::string& name) {
  for (const auto& [handle, kernel] : machine.kernels) {
    if (kernel->library == library && kernel->name == name) return handle;
  }
  Gpu& gpu = current_or_first(machine);
  static_cast<void>(find_function(machine, module_on(gpu, library_behind(machine, library)), name));
  auto made = std::make_unique<LibraryKernel>(LibraryKernel{library, name});
  auto* handle = reinterpret_cast<CUkernel>(made.get());
  machine.kernels.emplace(handle, std::move(made));
  return handle;
}

std::vector<std::string> kernel_names(Machine& machine, CUlibrary library) {
  const CUmodule module = module_on(current_or_first(machine), library_behind(machine, library));
  return module_behind(machine, module)->text.entry_names();
}

}  // namespace
}  // namespace gpushare::stand_in

using namespace gpushare::stand_in;

extern "C" {

CUresult cuLibraryLoadData(CUlibrary* handle, const void* image, CUjit_option*, void**, unsigned, CUlibraryOption*,
                           void**, unsigned) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock& lock) {
    Gpu& gpu = current_or_first(all);
    lock.wait_until(gpu, gpu.end_of_kernels());
    auto library = std::make_unique<Library>(Library{.image = ptx_of(image)});
    static_cast<void>(module_on(gpu, *library));
    *handle = reinterpret_cast<CUlibrary>(library.get());
    all.libraries.emplace(*handle, std::move(library));
  });
}

CUresult cuLibraryLoadFromFile(CUlibrary* handle, const char* path, CUjit_option* jit_options, void** jit_values,
                               unsigned jit_count, CUlibraryOption* options, void** values, unsigned count) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  const std::string image{std::istreambuf_iterator<char>(file), {}};
  return cuLibraryLoadData(handle, image.c_str(), jit_options, jit_values, jit_count, options, values, count);
}

CUresult cuLibraryUnload(CUlibrary handle) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock& lock) {
    lock.wait_until(current_or_first(all), all.end_of_kernels());
    for (const auto& [gpu, module] : library_behind(all, handle).modules) unload(all, module);
    std::erase_if(all.kernels, [&](const auto& each) { return each.second->library == handle; });
    all.libraries.erase(handle);
  });
}

CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  return answer_in_context(
      __func__, [&](Gpu& gpu, Machine::Lock&) { *module = module_on(gpu, library_behind(gpu.machine(), library)); });
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) { *kernel = kernel_named(all, library, name); });
}

CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary library) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    *count = static_cast<unsigned>(kernel_names(all, library).size());
  });
}

CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary library) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    for (const std::string& name : kernel_names(all, library)) {
      if (count-- == 0) return;
      *kernels++ = kernel_named(all, library, name);
    }
  });
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  return answer_in_context(__func__, [&](Gpu& gpu, Machine::Lock&) { *function = function_on(gpu, kernel); });
}

CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel kernel) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    const auto found = all.kernels.find(kernel);
    if (found == all.kernels.end()) throw Denial(CUDA_ERROR_INVALID_HANDLE, "this is no kernel");
    *library = found->second->library;
  });
}

CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    const auto found = all.kernels.find(kernel);
    if (found == all.kernels.end()) throw Denial(CUDA_ERROR_INVALID_HANDLE, "this is no kernel");
    *name = found->second->name.c_str();
  });
}

}  // extern "C"
