// SPDX-License-Identifier: Apache-2.0
#include "cuda/code/kernel_module.hpp"

#include "cuda/driver/driver.hpp"

namespace gpushare::cuda {

KernelModule::KernelModule(const SharedContext& context, std::span<const char> cubin, ModuleState state)
    : cubin_(cubin.begin(), cubin.end()), module_(load_module(context, cubin_)), state_(state) {}

KernelModule::VariablePlace KernelModule::find_variable(const std::string& symbol) {
  const Drain drain = context()->drain_requests().ask();
  const CurrentContext current(*context());
  VariablePlace place;
  GPUSHARE_CU(cuModuleGetGlobal(&place.address, &place.bytes, module_.get(), symbol.c_str()));
  exposed_ = true;
  return place;
}

}  // namespace gpushare::cuda
