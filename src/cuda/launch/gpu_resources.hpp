// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "core/runtime/launch/kernel_history.hpp"
#include "core/runtime/launch/mode_selector.hpp"
#include "cuda/launch/partitions.hpp"
#include "cuda/launch/worker_tables.hpp"

namespace gpushare::cuda {

/// The resources that all launches on one GPU share. Making them takes tens of milliseconds, so they outlive the runs,
/// which use them one after the other.
struct GpuResources {
  SharedContext context;
  const Device& device;
  Completions completions;
  StreamPool streams;
  WorkerTables tables;
  Partitions partitions;
  KernelHistory history;
  ModeLimits mode_limits;
  std::mutex in_use;  ///< held by the run that uses them

  explicit GpuResources(const SharedContext& shared, Slot slots = WorkerTables::usual_slots,
                        Duration worth_a_partition = RuntimeTuning().partition_worth)
      : context(shared),
        device(context->description()),
        completions(context),
        streams(context),
        tables(context, completions, device.sms, slots),
        partitions(context, worth_a_partition),
        mode_limits{.sms = static_cast<std::size_t>(device.sms), .brief = device.runtime.brief_launch} {}

  /// Adds what a model of such a GPU knows. Not during a run.
  void know_as(const Device& model) {
    context->know_as(model);
    mode_limits.brief = device.runtime.brief_launch;
    partitions.set_worth(device.runtime.partition_worth);
  }
};

}  // namespace gpushare::cuda
