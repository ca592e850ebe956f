// SPDX-License-Identifier: Apache-2.0
// How long a task's operations will take, before they have run: copies by the transfer model of the device, kernels by
// what their launches took, or by their profile if they have one.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "core/model/workload.hpp"
#include "core/ordering/kernel_time.hpp"
#include "core/ordering/solvers/copy_pieces.hpp"
#include "core/ordering/solvers/task.hpp"
#include "core/ordering/transfer_time.hpp"

namespace gpushare {

/// The source of a kernel's time before it has run here: its profile, or what is known of the launch; or none.
enum class FirstEstimate { Profile, Nowhere };

class TaskEstimates {
 public:
  /// `learnt` has the times of earlier runs; this one adds to them.
  TaskEstimates(const Device& device, FirstEstimate first, const CopyPieces& pieces,
                std::shared_ptr<KernelTimes> learnt)
      : device_(device),
        first_(first),
        pieces_(pieces),
        to_device_(device.to_device),
        to_host_(device.to_host),
        learnt_(learnt ? std::move(learnt) : std::make_shared<KernelTimes>()) {}

  struct Estimate {
    Task task;
    bool is_known = true;  ///< false: a kernel of it has never run; its time counts as none
  };
  /// The estimate for operations that are one task. Its memory is the size of its copies.
  Estimate of(std::span<const Operation* const> operations);

  /// A launch, alone on the GPU, took so long.
  void learn(const Launch& launch, Duration time) { learnt_->add(launch.kernel, launch.blocks, time); }

 private:
  std::optional<Duration> time_of(const Launch& launch, bool waits_in_hardware);
  Duration by_profile(const Launch& launch);
  bool may_be_followed(const Launch& launch) const;

  const Device& device_;
  FirstEstimate first_;
  CopyPieces pieces_;
  TransferTime to_device_;
  TransferTime to_host_;
  std::shared_ptr<KernelTimes> learnt_;
  std::optional<Launch> latest_{};  // by its profile, and
  Duration latest_time_{};          // how long it takes
};

}  // namespace gpushare
