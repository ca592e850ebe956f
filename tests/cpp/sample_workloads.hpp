// SPDX-License-Identifier: Apache-2.0
// Workloads to compute by hand, and random ones.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/model/residency.hpp"
#include "core/model/workload.hpp"
#include "sample_devices.hpp"

namespace gpushare::test {

/// Blocks of 64 threads: four to an SM of small_device(). They never slow one another down.
inline Launch launch_of(std::int64_t blocks, std::int64_t block_time_ns, std::string kernel = "kernel") {
  return {.kernel = {.name = std::move(kernel), .needs = {.threads = 64}, .cost = {.latency = Duration(block_time_ns)}},
          .blocks = blocks};
}

inline Launch launch_of_threads(int threads, std::int64_t blocks, std::int64_t block_time_ns) {
  Launch launch = launch_of(blocks, block_time_ns);
  launch.kernel.needs.threads = threads;
  return launch;
}

inline Launch with_alone(Launch launch, std::int64_t alone_ns) {
  launch.alone = Duration(alone_ns);
  return launch;
}

inline Copy copy_to_device(std::int64_t bytes) { return {.size = Bytes{bytes}}; }
inline Copy copy_to_host(std::int64_t bytes) { return {.direction = Copy::Direction::ToHost, .size = Bytes{bytes}}; }

inline Application application_of(std::string name, std::vector<Operation> operations, std::int64_t arrival_ns = 0) {
  return {.name = std::move(name), .arrival = Duration(arrival_ns), .operations = std::move(operations)};
}

/// One application per launch, named a, b, c...; operation n is the launch of application n.
inline Workload workload_of(const std::vector<Launch>& launches, const std::vector<std::int64_t>& arrivals_ns = {}) {
  Workload workload{.name = "sample"};
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const std::int64_t arrival = i < arrivals_ns.size() ? arrivals_ns[i] : 0;
    workload.applications.push_back(application_of(std::string(1, static_cast<char>('a' + i)), {launches[i]}, arrival));
  }
  return workload;
}

/// A kernel with any needs of which at least one block fits an SM of the device.
inline BlockNeeds random_needs(Dice& dice, const Device& device) {
  while (true) {
    const BlockNeeds needs{.threads = dice.between(1, 512),
                           .registers_per_thread = dice.between(0, 128),
                           .shared_memory = Bytes{dice.once_in(2) ? 0 : dice.between(0, 12000)}};
    if (max_residency(device, needs) > 0) return needs;
  }
}

inline BlockCost random_cost(Dice& dice) {
  const int latency = dice.between(200, 5000);
  return {.latency = Duration(latency),
          .issue = Duration(dice.between(0, latency)),
          .off_sm = Bytes{dice.once_in(2) ? 0 : dice.between(1, 20000)},
          .llc_hit_ratio = dice.ratio(),
          .memory = Duration(dice.once_in(2) ? 0 : dice.between(0, latency)),
          .variation_ratio = dice.once_in(3) ? 0 : dice.ratio() / 2,
          .startup_ratio = dice.once_in(2) ? 0 : dice.ratio() / 2};
}

/// With a rough runtime alone, so that oracle policies can decide.
inline Launch random_launch(Dice& dice, const Device& device) {
  Launch launch{.kernel = {.name = "kernel" + std::to_string(dice.between(0, 999)),
                           .needs = random_needs(dice, device),
                           .cost = random_cost(dice)},
                .blocks = dice.between(1, 60)};
  const int room = max_residency(device, launch.kernel.needs) * device.sms;
  launch.alone = launch.kernel.cost.latency * (1 + launch.blocks / room);
  return launch;
}

inline Operation random_operation(Dice& dice, const Device& device) {
  if (dice.once_in(3))
    return dice.once_in(2) ? copy_to_device(dice.between(1, 9000)) : copy_to_host(dice.between(1, 9000));
  return random_launch(dice, device);
}

inline Workload random_workload(Dice& dice, const Device& device, int applications) {
  Workload workload{.name = "random"};
  for (int i = 0; i < applications; ++i) {
    Application application = application_of("application" + std::to_string(i), {}, dice.between(0, 20000));
    application.priority = dice.between(0, 3);
    for (int left = dice.between(1, 4); left > 0; --left) {
      application.operations.push_back(random_operation(dice, device));
    }
    workload.applications.push_back(std::move(application));
  }
  return workload;
}

/// The operations of all applications, by OperationId.
inline std::vector<Operation> operations_of(const Workload& workload) {
  std::vector<Operation> operations;
  for (const Application& application : workload.applications) {
    operations.insert(operations.end(), application.operations.begin(), application.operations.end());
  }
  return operations;
}

}  // namespace gpushare::test
