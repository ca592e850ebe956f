// SPDX-License-Identifier: Apache-2.0
// In which mode should a launch run: as workers, which obey quotas, or in its original form, which needs no polling but
// runs to its end? A pure function of the kernel's history, the share that the policy gives, and the device.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/runtime/launch/kernel_history.hpp"

namespace gpushare {

enum class ModeReason {
  NoWorker,           ///< the kernel cannot be preempted, or not with such blocks
  PartialSms,         ///< the share has some SMs not entirely: only workers obey that
  UnknownTime,        ///< no earlier launch has shown how long it takes
  Mispredicted,       ///< the last launch in its original form took much longer than it should
  Brief,              ///< it ends before an order to leave could reach it
  TooLong,            ///< it takes longer than the policy lets a launch keep its SMs
  FasterAsWorkers,    ///< earlier launches took less time as workers, or have not shown that they do not
  ShortAndNotSlower,  ///< it is short enough, and earlier launches took no longer in their original form
};

struct ModeChoice {
  ExecutionMode mode{};
  ModeReason reason{};
  Duration expected{};  ///< its time on these SMs, where the history shows it
  /// In its original form it should end within this; zero where that is not known, or where it has no worker and takes
  /// longer than the policy lets a launch keep its SMs.
  Duration longest{};
};

/// A launch as its share has it.
struct LaunchShare {
  KernelId kernel{};
  bool has_worker = false;
  std::int64_t blocks = 0;
  int max_residency = 0;                        ///< blocks that an SM holds
  const std::optional<std::vector<SmId>>& sms;  ///< fully_shared_sms() of its quota
  Duration original_up_to{};                    ///< the policy does not need to stop it if it ends within this
  bool is_behind_workers = false;               ///< it waits for workers of its application: a brief one can as workers
};

/// What does not depend on the launch.
struct ModeLimits {
  std::size_t sms = 0;  ///< of the device
  /// A launch is brief if its blocks all begin at once and take no longer than this.
  Duration brief{};
  /// One that takes longer than this has waited for long blocks of another launch, or was mispredicted.
  Duration brief_at_most() const { return 10 * brief; }
};

/// The SMs of the quota, if it has all or nothing of each; nothing otherwise, or if it has none.
std::optional<std::vector<SmId>> fully_shared_sms(std::span<const int> wanted, int max_residency);

ModeChoice choose_mode(const KernelHistory& history, const LaunchShare& launch, const ModeLimits& limits);

}  // namespace gpushare
