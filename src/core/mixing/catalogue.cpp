// SPDX-License-Identifier: Apache-2.0
#include "core/mixing/catalogue.hpp"

#include "core/predictors/corun.hpp"

namespace gpushare {

std::shared_ptr<CataloguedKernel> Catalogue::of(const Device& device, const Kernel& kernel) {
  // What an unprofiled kernel costs is nobody's to know, so it cannot tell two of them apart either.
  const std::int64_t latency = kernel.is_profiled ? kernel.cost.latency.count() : 0;
  const std::int64_t bytes = kernel.is_profiled ? kernel.cost.off_sm.count : 0;
  const Key key{
      kernel.name, kernel.needs.threads, kernel.needs.registers_per_thread, kernel.needs.shared_memory.count, latency,
      bytes,       kernel.is_profiled};
  return kernels_.find_or(key, [&] {
    const double rate = kernel.is_profiled ? rate_alone(device, kernel) : 0;
    return std::make_shared<CataloguedKernel>(CataloguedKernel{.number = met_++, .kernel = kernel, .rate_alone = rate});
  });
}

}  // namespace gpushare
