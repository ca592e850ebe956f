// SPDX-License-Identifier: Apache-2.0
#include "core/session/reachable_terms.hpp"

#include <cmath>
#include <optional>
#include <string>

#include "core/kernel_rates/launch_rate.hpp"
#include "core/model/errors.hpp"

namespace gpushare {
namespace {

/// The part of a predicted time that is taken as the least. Predictions are some percent off, and more where the
/// profile is from another host or driver than this one. A refusal must never hit work that could have been in time,
/// while what is let in by mistake is merely late: so the margin is many times the usual error.
constexpr double least_of_predicted = 2.0 / 3;

}  // namespace

void require_reachable_terms(const Application& application, const Operation& first, const Device& device) {
  const auto* launch = std::get_if<Launch>(&first);
  if (!application.deadline && !application.latency) return;
  if (launch == nullptr || !launch->kernel.is_profiled) return;
  const double predicted = static_cast<double>(launch->blocks) / launch_rate_alone(device, *launch);
  const auto require_enough = [&](const std::optional<Duration>& time, const char* before, const char* after) {
    require_lazily(!time || nanoseconds(*time) >= least_of_predicted * predicted, [&] {
      return "application '" + application.name + "': a " + before + std::to_string(time->count()) + " ns" + after +
             " cannot be met: '" + launch->kernel.name + "' takes about " + std::to_string(std::llround(predicted)) +
             " ns with the GPU to itself";
    });
  };
  require_enough(application.deadline, "deadline ", " after its first launch");
  require_enough(application.latency, "latency of ", "");
}

}  // namespace gpushare
