// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include "bindings/arguments.hpp"
#include "bindings/bindings.hpp"
#include "core/model/errors.hpp"
#include "core/model/residency.hpp"
#include "core/tuning/allocation/allocation_search.hpp"

namespace gpushare::bindings {
namespace {

using Groups = std::vector<std::pair<int, std::vector<int>>>;  // SMs, blocks of each kernel on each of them

std::vector<Contender> contenders_of(const Device& device, const std::vector<const Kernel*>& kernels,
                                     double min_speed = 0) {
  require(kernels.size() > 1, "at least two kernels are needed to share a GPU");
  std::vector<Contender> contenders;
  for (const Kernel* kernel : kernels) {
    require(kernel->is_profiled, "kernel '" + kernel->name + "' has no profile, so its speed cannot be predicted");
    contenders.push_back(
        {.kernel = kernel, .max_residency = max_residency(device, kernel->needs), .min_speed = min_speed});
    require(contenders.back().max_residency > 0, "no block of kernel '" + kernel->name + "' fits an SM");
  }
  return contenders;
}

}  // namespace

void bind_allocation(py::module_& module) {
  module.def(
      "can_share_an_sm",
      [](const Device& device, const std::vector<const Kernel*>& kernels, const std::vector<int>& blocks) {
        require(blocks.size() == kernels.size(), "a number of blocks is needed for every kernel");
        std::vector<Contender> contenders;
        for (const Kernel* kernel : kernels) contenders.push_back({kernel, max_residency(device, kernel->needs)});
        return can_share_an_sm(device, contenders, blocks);
      },
      py::arg("device"), py::arg("kernels"), py::arg("blocks"), "Can so many blocks of each run on one SM?");
  module.def(
      "best_allocation",
      [](const Device& device, const std::vector<const Kernel*>& kernels, double min_speed, bool same_everywhere) {
        require_in("min_speed", min_speed, 0, 1);
        const std::vector<Contender> contenders = contenders_of(device, kernels, min_speed);
        const ContentionModel model(device, contenders);
        const AllocationChoice best = same_everywhere ? best_vector(model, {}) : best_allocation(model, {});
        Groups groups;
        for (const SmGroup& group : best.allocation) groups.emplace_back(group.sms, group.blocks);
        return py::make_tuple(groups, best.estimate.speeds);
      },
      py::arg("device"), py::arg("kernels"), py::kw_only(), py::arg("min_speed") = 0.0,
      py::arg("same_everywhere") = false,
      "What `mix` would choose: (SMs, blocks per SM of each kernel) of every group, and every kernel's speed relative "
      "to that alone.");
  module.def(
      "co_run_speeds",
      [](const Device& device, const std::vector<const Kernel*>& kernels, const Groups& groups) {
        const std::vector<Contender> contenders = contenders_of(device, kernels);
        SmAllocation allocation;
        int sms = 0;
        for (const auto& [count, blocks] : groups) {
          require(count >= 0 && blocks.size() == kernels.size(), "a group is (SMs, blocks of each kernel)");
          allocation.push_back({.sms = count, .blocks = blocks});
          sms += count;
        }
        require(sms <= device.sms, "the groups have more SMs than the device");
        return ContentionModel(device, contenders).estimate(allocation).speeds;
      },
      py::arg("device"), py::arg("kernels"), py::arg("groups"),
      "Every kernel's speed relative to that alone under this allocation, by the contention model.");
}

}  // namespace gpushare::bindings
