// SPDX-License-Identifier: Apache-2.0
// Runs a kernel twice in the interpreter: as it is, and as workers that are resized, evicted and resumed.
#pragma once

#include <cstddef>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "core/transform/worker/preemptible.hpp"
#include "core/transform/worker/worker_control.hpp"
#include "ptx_interpreter/kernel.hpp"
#include "ptx_interpreter/run.hpp"

namespace gpushare::interpreter {

/// A kernel with its input. `set_up` makes the same allocations in every memory.
struct KernelLaunch {
  std::string kernel;
  Grid grid;
  std::function<std::vector<Argument>(GlobalMemory&)> set_up;
};

/// Writes a quota of an SM.
using SetQuota = std::function<void(std::uint32_t sm, std::uint32_t quota)>;

/// How the workers are run.
struct WorkerPlan {
  std::uint32_t workers = 4;
  std::uint32_t chunk = 1;
  std::uint32_t guide = 0;
  /// Called at each look at a quota, before it, with the number of looks so far; writes quotas or does nothing.
  std::function<void(std::size_t look, const SetQuota& set)> at_look;
};

constexpr std::uint32_t sms = 3;
constexpr std::uint32_t blocks_per_sm = 2;

struct Outcome {
  GlobalMemory memory;
  std::uint64_t control = 0;
  std::uint64_t sm_table = 0;
  std::uint64_t orders = 0;
  std::size_t looks = 0;
  std::size_t launches = 0;

  /// Tasks that the workers say they have done, and places on SMs that they have not given back.
  std::uint64_t tasks_done() const { return sum(&WorkerSm::tasks_done); }
  std::uint64_t chunks_done() const { return sum(&WorkerSm::chunks_done); }
  std::uint64_t places_kept() const { return sum(&WorkerSm::workers); }

 private:
  std::uint64_t sum(std::uint32_t WorkerSm::* field) const {
    std::uint64_t total = 0;
    for (const WorkerSm& sm : memory.read<WorkerSm>(sm_table, sms)) total += sm.*field;
    return total;
  }
};

inline std::uint32_t tasks(const Grid& grid) { return static_cast<std::uint32_t>(grid.blocks.count()); }

constexpr Machine machine{.sms = sms, .blocks_per_sm = blocks_per_sm, .most_instructions = 50'000'000};

/// Changes a quota at every third look or so.
inline auto resized_at_random(std::mt19937_64& random) {
  return [&random](std::size_t, const SetQuota& set) {
    const auto pick = [&random](std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); };
    if (pick(3) != 0) return;
    const std::uint32_t sm = pick(sms);
    set(sm, pick(blocks_per_sm + 1));
  };
}

/// What the host and the workers share lies behind the kernel's own allocations.
inline void allocate_control(Outcome& outcome, std::uint32_t chunk) {
  const WorkerOrder order{.chunk = static_cast<std::uint16_t>(chunk)};
  outcome.control = outcome.memory.allocate(std::vector<WorkerControl>(1), "control");
  outcome.sm_table = outcome.memory.allocate(std::vector<WorkerSm>(sms), "SMs");
  outcome.orders = outcome.memory.allocate(std::vector<WorkerOrder>(sms, order), "orders");
}

inline Argument worker_parameters(const Outcome& outcome, const Grid& grid, const WorkerPlan& plan) {
  return arguments(WorkerParameters{.control = outcome.control,
                                    .sm_table = outcome.sm_table,
                                    .tasks = tasks(grid),
                                    .guide = plan.guide,
                                    .grid_x = FastDivisor::of(grid.blocks.x),
                                    .grid_y = FastDivisor::of(grid.blocks.y),
                                    .grid_z = grid.blocks.z,
                                    .orders = outcome.orders})
      .front();
}

/// Launches workers until all tasks are done, every time with full quotas at first.
inline void run_workers(const KernelLaunch& launch, const Kernel& kernel, const WorkerPlan& plan, Scheduler& scheduler,
                        Outcome& outcome, const Machine& on = machine) {
  GlobalMemory& memory = outcome.memory;
  memory.load(kernel.program);
  std::vector<Argument> values = launch.set_up(memory);
  allocate_control(outcome, plan.chunk);
  const auto set_quota = [&](std::uint32_t sm, std::uint32_t quota) {
    memory.write(outcome.orders + sm * sizeof(WorkerOrder), static_cast<std::uint16_t>(quota));
  };
  for (std::uint32_t sm = 0; sm < sms; ++sm) {
    memory.watch(outcome.orders + sm * sizeof(WorkerOrder), sizeof(std::uint32_t), [&](GlobalMemory&, const Access&) {
      if (plan.at_look) plan.at_look(outcome.looks, set_quota);
      ++outcome.looks;
    });
  }
  values.push_back(worker_parameters(outcome, launch.grid, plan));
  Grid workers = launch.grid;
  workers.blocks = {plan.workers};
  do {
    ++outcome.launches;
    memory.write(outcome.control + offsetof(WorkerControl, workers_gone), std::uint32_t{0});
    for (std::uint32_t sm = 0; sm < sms; ++sm) set_quota(sm, blocks_per_sm);
    run(kernel.program, ptx::worker_name(launch.kernel), values, workers, memory, scheduler, on);
  } while (outcome.tasks_done() < tasks(launch.grid) && outcome.launches < 1000);
}

/// The original's memory with the workers' bookkeeping beside it, so that all the rest can be compared.
inline void run_original(const KernelLaunch& launch, const Kernel& kernel, const Outcome& workers, Scheduler& scheduler,
                         Outcome& outcome) {
  outcome.memory.load(kernel.program);
  const std::vector<Argument> values = launch.set_up(outcome.memory);
  allocate_control(outcome, 0);
  run(kernel.program, launch.kernel, values, launch.grid, outcome.memory, scheduler, machine);
  outcome.memory.write(outcome.control, workers.memory.read<WorkerControl>(workers.control));
  outcome.memory.write(outcome.sm_table, workers.memory.read<WorkerSm>(workers.sm_table, sms));
  outcome.memory.write(outcome.orders, workers.memory.read<WorkerOrder>(workers.orders, sms));
}

}  // namespace gpushare::interpreter
