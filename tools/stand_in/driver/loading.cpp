// SPDX-License-Identifier: Apache-2.0
#include "driver/loading.hpp"

#include "core/model/errors.hpp"

namespace gpushare::stand_in {

CUmodule load(Gpu& device, const void* image, CUgreenCtx context) {
  std::shared_ptr<Module> module;
  try {
    module = std::make_shared<Module>(ptx_of(image));
  } catch (const InvalidInput& error) {
    throw Refusal(CUDA_ERROR_INVALID_PTX, error.what());
  }
  device.memory.load(module->program);
  module->context = context;
  auto* handle = reinterpret_cast<CUmodule>(module.get());
  device.modules.emplace(handle, std::move(module));
  return handle;
}

void unload(Gpu& device, CUmodule handle) {
  const auto found = device.modules.find(handle);
  expect(found != device.modules.end(), CUDA_ERROR_INVALID_HANDLE, "no such module");
  device.memory.unload(found->second->program);
  std::erase_if(device.functions, [handle](const auto& each) { return each.first.first == handle; });
  device.modules.erase(found);
}

CUfunction find_function(Gpu& device, CUmodule handle, const std::string& name) {
  const auto module = device.modules.find(handle);
  expect(module != device.modules.end(), CUDA_ERROR_INVALID_HANDLE, "no such module");
  std::unique_ptr<Function>& found = device.functions[{handle, name}];
  try {
    if (found == nullptr) found = std::make_unique<Function>(function_of(module->second, name));
  } catch (const InvalidInput& error) {
    device.functions.erase({handle, name});
    throw Denial(CUDA_ERROR_NOT_FOUND, error.what());
  }
  return reinterpret_cast<CUfunction>(found.get());
}

}  // namespace gpushare::stand_in
