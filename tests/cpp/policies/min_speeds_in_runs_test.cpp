// SPDX-License-Identifier: Apache-2.0
// Minimum speeds in whole runs, where what launches really took is known.
#include <gtest/gtest.h>

#include "core/kernel_rates/corun.hpp"
#include "recorded_run.hpp"
#include "tuning/sample_kernels.hpp"

namespace gpushare {
namespace {

using namespace test;

constexpr double min_speed = 0.6;
constexpr double alone = 500e3;  // nanoseconds of a launch as it was written
constexpr int launches = 100;

/// Two applications of the same kernel, whose workers take 1.25 times as long as the kernel as it was written. The
/// first has a min_speed.
Workload with_a_min_speed(bool is_known) {
  Kernel kernel = issuing_kernel();
  const double rate = 1.25 * rate_alone(mixing_device(), kernel);
  if (is_known) kernel.rate_as_written = rate;
  const Launch launch{.kernel = kernel, .blocks = static_cast<std::int64_t>(rate * alone)};
  Workload workload;
  for (const char* name : {"asking", "other"}) {
    workload.applications.push_back({.name = name, .operations = std::vector<Operation>(launches, launch)});
  }
  workload.applications.front().min_speed = min_speed;
  return workload;
}

/// Of its launches from the middle on, all of which end before the other's do.
double speed_of_the_first(const Workload& workload) {
  const Trace trace = record(mixing_device(), workload, "mix");
  Time middle{};
  Time end{};
  for (const Event& event : trace.events) {
    if (event.kind != EventKind::LaunchEnded) continue;
    if (event.operation == operation(launches / 2 - 1)) middle = event.time;
    if (event.operation == operation(launches - 1)) end = event.time;
  }
  return launches / 2 * alone / nanoseconds(end - middle);
}

TEST(MinSpeedInARun, IsOfTheKernelAsItWasWritten) {
  EXPECT_LT(speed_of_the_first(with_a_min_speed(false)), 0.97 * min_speed);
  EXPECT_GE(speed_of_the_first(with_a_min_speed(true)), min_speed);
}

}  // namespace
}  // namespace gpushare
