// SPDX-License-Identifier: Apache-2.0
#include "core/session/reachable_deadline.hpp"

#include <cmath>

#include "core/errors.hpp"
#include "core/predictors/launch_rate.hpp"

namespace gpushare {
namespace {

constexpr double least_of_predicted = 2.0 / 3;

}  // namespace

void require_reachable_deadline(const Application& application, const Operation& first, const Device& device) {
  const auto* launch = std::get_if<Launch>(&first);
  if (!application.deadline || launch == nullptr || !launch->kernel.is_profiled) return;
  const double predicted = static_cast<double>(launch->blocks) / launch_rate_alone(device, *launch);
  require_lazily(nanoseconds(*application.deadline) >= least_of_predicted * predicted, [&] {
    return "application '" + application.name + "': a deadline " + std::to_string(application.deadline->count()) +
           " ns after its first launch cannot be met: '" + launch->kernel.name + "' takes about " +
           std::to_string(std::llround(predicted)) + " ns with the GPU to itself";
  });
}

}  // namespace gpushare
