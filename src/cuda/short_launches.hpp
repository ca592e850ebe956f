// SPDX-License-Identifier: Apache-2.0
// Launches so short that nobody needs to preempt them, and the ways to run them as they were written on some SMs.
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
  std::shared_ptr<StreamPool> streams{};  ///< none: the GPU's own
  Duration longest{};                     ///< it should end within this; zero where the kernel leaves no choice
  bool is_fleeting = false;               ///< it is over before anybody could see where its blocks are
};

/// The SMs that it has, if it has all or nothing of each; nothing otherwise, or if it has none.
std::optional<std::vector<SmId>> whole_sms(std::span<const int> wanted, int max_residency);

/// Of a launch with nobody else on its SMs, as earlier ones of its kernel have shown; nothing where there were none.
std::optional<Duration> expected_time(const LaunchResources& resources, const DeviceLaunch& code, int max_residency,
                                      std::size_t sms);

/// For a launch on all SMs that is worth nobody's while to stop, as earlier ones of its kernel have shown: its blocks
/// all begin at once, and are as short as the way of an order to them.
std::optional<WholeWay> way_for_fleeting(const LaunchResources& resources, const DeviceLaunch& code, int max_residency,
                                         const std::vector<SmId>& sms);

/// For a launch that should end within `longest` on these SMs, as earlier ones of its kernel have shown. Nothing where
/// that is not known, or where the hardware cannot keep it to these SMs, or not yet.
std::optional<WholeWay> way_for_short(LaunchResources& resources, const DeviceLaunch& code, int max_residency,
                                      const std::vector<SmId>& sms, Duration longest);

/// One of these two, of which the first asks for no `longest`.
std::optional<WholeWay> way_to_run_whole(LaunchResources& resources, const DeviceLaunch& code, int max_residency,
                                         const std::vector<SmId>& sms, Duration longest);

}  // namespace gpushare::cuda
