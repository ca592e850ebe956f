// SPDX-License-Identifier: Apache-2.0
// Launches that are too short to be preempted, and the ways to run their original kernels on some SMs.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/model/units.hpp"
#include "cuda/program.hpp"
#include "cuda/stream_pool.hpp"

namespace gpushare::cuda {

struct LaunchResources;

/// An original kernel in a context that has these SMs and no others.
struct WholeWay {
  CUfunction function = nullptr;
  std::vector<SmId> sms{};
  std::vector<SmId> wanted{};             ///< of which the context may lack some
  std::shared_ptr<StreamPool> streams{};  ///< none: those of the GPU
  Duration longest{};                     ///< it should end within this; zero where the kernel has no worker
  bool is_fleeting = false;               ///< it ends before a poll could show the places of its blocks
};

/// The SMs of the quota, if it has all or nothing of each; nothing otherwise, or if it has none.
std::optional<std::vector<SmId>> whole_sms(std::span<const int> wanted, int max_residency);

/// The time of a launch without others on its SMs, as measured for its kernel; nothing without measurements.
std::optional<Duration> expected_time(const LaunchResources& resources, const DeviceLaunch& code, int max_residency,
                                      std::size_t sms);

/// For a launch on all SMs that is not worth stopping, according to earlier ones of its kernel: its blocks all begin at
/// once, and take no longer than an order needs to reach them.
std::optional<WholeWay> way_for_fleeting(const LaunchResources& resources, const DeviceLaunch& code, int max_residency,
                                         const std::vector<SmId>& sms);

/// For a launch that should end within `longest` on these SMs, according to earlier ones of its kernel. Nothing where
/// that is not known, or where the hardware cannot confine it to these SMs, or not yet.
std::optional<WholeWay> way_for_short(LaunchResources& resources, const DeviceLaunch& code, int max_residency,
                                      const std::vector<SmId>& sms, Duration longest);

/// One of these two; the first needs no `longest`.
std::optional<WholeWay> way_to_run_whole(LaunchResources& resources, const DeviceLaunch& code, int max_residency,
                                         const std::vector<SmId>& sms, Duration longest);

}  // namespace gpushare::cuda
