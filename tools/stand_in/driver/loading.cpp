// SPDX-License-Identifier: Apache-2.0
#include "driver/loading.hpp"

#include "core/model/errors.hpp"

namespace gpushare::stand_in {
namespace {

Function* own_function(const Machine& machine, CUfunction handle) {
  for (const auto& [name, function] : machine.functions) {
    if (reinterpret_cast<CUfunction>(function.get()) == handle) return function.get();
  }
  return nullptr;
}

}  // namespace

CUmodule load(const std::shared_ptr<const Context>& context, const void* image) {
  Machine& machine = context->gpu.machine();
  std::shared_ptr<Module> module;
  try {
    module = std::make_shared<Module>(ptx_of(image));
  } catch (const InvalidInput& error) {
    throw Refusal(CUDA_ERROR_INVALID_PTX, error.what());
  }
  machine.memory.load(module->program);
  machine.memory.let_access(module->program, context->gpu.accessible_to(MemoryKind::Plain));
  module->context = context;
  auto* handle = reinterpret_cast<CUmodule>(module.get());
  machine.modules.emplace(handle, std::move(module));
  return handle;
}

void unload(Machine& machine, CUmodule handle) {
  machine.memory.unload(module_behind(machine, handle)->program);
  std::erase_if(machine.functions, [handle](const auto& each) { return each.first.first == handle; });
  machine.modules.erase(handle);
}

const std::shared_ptr<const Module>& module_behind(const Machine& machine, CUmodule handle) {
  const auto found = machine.modules.find(handle);
  expect(found != machine.modules.end(), CUDA_ERROR_INVALID_HANDLE, "no such module");
  return found->second;
}

CUfunction find_function(Machine& machine, CUmodule handle, const std::string& name) {
  const std::shared_ptr<const Module>& module = module_behind(machine, handle);
  std::unique_ptr<Function>& found = machine.functions[{handle, name}];
  try {
    if (found == nullptr) found = std::make_unique<Function>(function_of(module, name));
  } catch (const InvalidInput& error) {
    machine.functions.erase({handle, name});
    throw Denial(CUDA_ERROR_NOT_FOUND, error.what());
  }
  return reinterpret_cast<CUfunction>(found.get());
}

Library& library_behind(const Machine& machine, CUlibrary handle) {
  const auto found = machine.libraries.find(handle);
  expect(found != machine.libraries.end(), CUDA_ERROR_INVALID_HANDLE, "no such library");
  return *found->second;
}

CUmodule module_on(Gpu& gpu, Library& library) {
  const auto found = library.modules.find(&gpu);
  if (found != library.modules.end()) return found->second;
  return library.modules[&gpu] = load(gpu.primary(), library.image.c_str());
}

CUfunction function_on(Gpu& gpu, CUkernel handle) {
  const auto found = gpu.machine().kernels.find(handle);
  if (found == gpu.machine().kernels.end()) throw Denial(CUDA_ERROR_INVALID_HANDLE, "this is no kernel");
  const LibraryKernel& kernel = *found->second;
  const CUmodule module = module_on(gpu, library_behind(gpu.machine(), kernel.library));
  return find_function(gpu.machine(), module, kernel.name);
}

Function& function_behind(Gpu& gpu, CUfunction handle) {
  auto* kernel = reinterpret_cast<CUkernel>(handle);
  const bool is_kernel = gpu.machine().kernels.contains(kernel);
  Function* found = own_function(gpu.machine(), is_kernel ? function_on(gpu, kernel) : handle);
  expect(found != nullptr, CUDA_ERROR_INVALID_HANDLE, "no such function: it may have gone with its module");
  return *found;
}

Gpu& current_or_first(const Machine& machine) {
  return contexts_pushed().empty() ? machine.gpu(0) : current_context()->gpu;
}

Gpu& device_of(const Machine& machine, CUfunction handle) {
  const Function* found = own_function(machine, handle);
  return found != nullptr ? found->module->context->gpu : current_or_first(machine);
}

}  // namespace gpushare::stand_in
