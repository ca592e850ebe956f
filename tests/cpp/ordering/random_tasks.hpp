// SPDX-License-Identifier: Apache-2.0
// Workloads of CuMAS's tasks: copies in, kernels, copies out.
#pragma once

#include <string>

#include "sample_workloads.hpp"

namespace gpushare::test {

/// Tasks with several launches each, as many blocks as let the host see that workers stay.
inline Workload workload_of_tasks(Dice& dice, int applications, int most_tasks = 3) {
  Workload workload{.name = "tasks"};
  for (int i = 0; i < applications; ++i) {
    Application application = application_of("application" + std::to_string(i), {});
    for (int task = dice.between(1, most_tasks); task > 0; --task) {
      for (int n = dice.between(0, 2); n > 0; --n)
        application.operations.push_back(copy_to_device(dice.between(1, 9000)));
      for (int n = dice.between(1, 4); n > 0; --n) {
        application.operations.push_back(
            launch_of(dice.between(20, 60), dice.between(100, 900), "kernel" + std::to_string(dice.between(0, 3))));
      }
      if (!dice.once_in(3)) application.operations.push_back(copy_to_host(dice.between(1, 9000)));
    }
    workload.applications.push_back(std::move(application));
  }
  return workload;
}

}  // namespace gpushare::test
