// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/kernel_catalogue.hpp"

#include "core/kernel_rates/corun.hpp"

namespace gpushare {

std::shared_ptr<CatalogueEntry> KernelCatalogue::find(const Device& device, const Kernel& kernel) {
  // The cost of an unprofiled kernel is unknown to policies, so it must not tell two kernels apart either.
  const Key key{kernel.name, kernel.needs, kernel.is_profiled ? kernel.cost : BlockCost{}, kernel.is_profiled};
  const std::shared_ptr<CatalogueEntry>& found = kernels_.find_or(key, [&] {
    const double rate = kernel.is_profiled ? rate_alone(device, kernel) : 0;
    return std::make_shared<CatalogueEntry>(
        CatalogueEntry{.number = numbers_used_++, .kernel = kernel, .rate_alone = rate});
  });
  found->kernel.rate_as_written = kernel.rate_as_written;  // it may have been measured since
  return found;
}

}  // namespace gpushare
