// SPDX-License-Identifier: Apache-2.0
// Makes launches in the mode that suits them.
#pragma once

#include <functional>
#include <utility>

#include "core/runtime/launch_set.hpp"
#include "cuda/code/program.hpp"
#include "cuda/launch/gpu_resources.hpp"
#include "cuda/launch/original_setup.hpp"

namespace gpushare::cuda {

class LaunchFactory final : public LaunchHardware {
 public:
  /// `wake`: the thread that schedules, from any thread.
  LaunchFactory(
      GpuResources& resources, const Program& program, std::function<void()> wake = [] {})
      : resources_(resources), program_(program), wake_(std::move(wake)) {}

  const Device& device() const override { return resources_.device; }
  KernelHistory& history() override { return resources_.history; }
  int levels() const override { return resources_.streams.levels(); }
  std::optional<BlockNeeds> place_for_poll() const override { return resources_.tables.place_for_poll(); }

  std::unique_ptr<GpuLaunch> make(const Submission& submission) override;
  std::unique_ptr<GpuLaunch> make_on_reserved_sms(const GpuLaunch& launch) override;
  std::unique_ptr<GpuLaunch> in_better_mode(const GpuLaunch& launch) override;

  GpuResources& resources() const { return resources_; }
  const std::function<void()>& wake() const { return wake_; }
  const DeviceOperation& operation_of(const Submission& submission) const;
  LaunchTraits traits_of(const Submission& submission, const DeviceLaunch& code) const;
  /// How a launch would run in its original form with such a share, within a time that is known beforehand. Nothing
  /// where workers suit it better, where its time is too long or not known, or where what it needs is not ready yet.
  std::optional<OriginalSetup> setup_for(const LaunchTraits& traits, const DeviceLaunch& code,
                                         const std::optional<std::vector<SmId>>& sms, Duration original_up_to,
                                         bool is_behind_workers = false) const;

 private:
  GpuResources& resources_;
  const Program& program_;
  std::function<void()> wake_;
};

}  // namespace gpushare::cuda
