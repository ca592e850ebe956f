// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/catalogue.hpp"

#include "core/kernel_rates/corun.hpp"

namespace gpushare {

std::shared_ptr<CataloguedKernel> Catalogue::of(const Device& device, const Kernel& kernel) {
  // What an unprofiled kernel costs is nobody's to know, so it cannot tell two of them apart either.
  const Key key{kernel.name, kernel.needs, kernel.is_profiled ? kernel.cost : BlockCost{}, kernel.is_profiled};
  const std::shared_ptr<CataloguedKernel>& found = kernels_.find_or(key, [&] {
    const double rate = kernel.is_profiled ? rate_alone(device, kernel) : 0;
    return std::make_shared<CataloguedKernel>(CataloguedKernel{.number = met_++, .kernel = kernel, .rate_alone = rate});
  });
  found->kernel.rate_as_written = kernel.rate_as_written;  // somebody may have measured it since
  return found;
}

}  // namespace gpushare
