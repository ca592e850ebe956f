// SPDX-License-Identifier: Apache-2.0
// The tunables of co-scheduling in one place, each with its reason. What depends on the device is not here but in
// CoRunTuning (model/device.hpp); what a user may set is an option of `mix` or `auto`; figures of a paper stand in the
// policy that follows it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/model/units.hpp"

namespace gpushare {

struct Tuning {
  // --- Classification of launches ---------------------------------------------------------------------------------

  /// More launches than this are not run side by side: the part of each would be too small.
  static constexpr std::size_t most_slots = 8;
  /// A launch that fills less than this share of the GPU costs the others little, even if it returns at once.
  static constexpr double small_share_of_gpu = 0.25;
  /// From this share of the blocks that fit on the GPU at once, a launch leaves none of it idle that would be missed.
  static constexpr double share_that_fills = 0.75;
  /// A launch of an unprofiled kernel is small if it has at most one block for this many SMs.
  static constexpr int sms_per_block_of_small = 4;

  // --- Promises: minimum speeds and latency bounds ----------------------------------------------------------------

  /// Measured speeds fall short of predicted ones, because blocks are whole and last waves are not full.
  static constexpr double min_speed_margin = 1.03;
  /// Speeds that follow from latency bounds are rounded up to 1/20: launches of one application differ a little, and
  /// every other minimum speed makes another co-run set.
  static constexpr double speed_steps_per_one = 20;
  /// Without a minimum speed of its own an application gets this share of an equal part of what the others leave.
  static constexpr double default_min_speed_share = 0.5;
  /// At least this part of the GPU is taken to be left by the minimum speeds of others, so that none starves.
  static constexpr double least_unpromised_part = 0.2;
  /// A verdict on a shortfall needs this many nanoseconds of launches: single launches differ.
  static constexpr double deficit_window_ns = 2e6;
  /// The most by which a shortfall raises the share at a time: the effect of more would be seen too late.
  static constexpr double largest_deficit_step = 1.1;
  /// Above this multiple of the minimum speed the raise is reduced,
  static constexpr double deficit_surplus = 1.1;
  /// by this factor each time.
  static constexpr double deficit_decay = 0.97;

  // --- Speed estimates ----------------------------------------------------------------------------------------------

  /// Two bands below every allocation that keeps all bounds: those that break the ANTT bound, then those that break a
  /// minimum speed.
  static constexpr double value_above_antt = -1e3;
  static constexpr double value_below_min_speed = -1e6;
  /// Between allocations of about the same throughput the one with the faster slowest kernel wins: 1 % of throughput
  /// for half a speed.
  static constexpr double weight_of_slowest = 0.02;
  /// Every kernel has to run at least at this speed, whatever its weight and whatever others were promised.
  static constexpr double least_speed = 0.01;

  // --- Search for an allocation --------------------------------------------------------------------------------------

  /// The most evaluations of the contention model in a search, so that a decision stays short: eight kernels have more
  /// vectors than could be tried.
  static constexpr int most_evaluations = 400;
  /// Evaluations in one step of an incremental search: 2.4 us each in the mean, up to 30.
  static constexpr int evaluations_per_step = 4;
  /// From one step of an incremental search to the next: searches take some 10 us of every 100.
  static constexpr Duration between_search_steps{100'000};
  /// Vectors of two kernels that are tried one by one; where there are more, every other one, or fewer.
  static constexpr int most_vectors = 120;
  /// An allocation with several groups must promise this much more than one with all SMs alike: the model is not exact
  /// to 1 %.
  static constexpr double gain_of_groups = 1.01;
  /// A smaller improvement of the value is rounding.
  static constexpr double least_gain = 1e-6;

  // --- Online tuning -------------------------------------------------------------------------------------------------

  /// The step of the hill climb: the share of one kernel's blocks per SM, or of the SMs, that goes to another kernel.
  static constexpr double largest_step = 1.0 / 4;
  /// A sixteenth of the SMs, and one block of sixteen: less can hardly be measured.
  static constexpr double smallest_step = 1.0 / 16;
  /// What a probe is taken to lose that could not be measured.
  static constexpr double loss_if_unknown = 0.1;
  /// Serial execution reaches this throughput only beside kernels whose last blocks leave SMs idle for long. Where a
  /// partition does, shared SMs are tried first.
  static constexpr double beyond_serial = 1.2;
  /// A better allocation is adopted from this gain in throughput on.
  static constexpr double gain_to_adopt = 0.01;
  /// The best allocation of the other kind is explored if it is worse by no more than this.
  static constexpr double nearly_as_good = 0.02;
  /// An allocation that is worse by this in its first window is rejected without a measurement: up to a third of the
  /// work is missing from that window.
  static constexpr double hopeless = 0.35;
  /// The same while a bound is broken.
  static constexpr double hopeless_while_broken = 0.15;
  /// The noise of one window. A result this close to the threshold is measured for longer, in windows,
  static constexpr double window_noise = 0.05;
  static constexpr int windows_if_unclear = 8;
  /// Windows for which the best allocation rests after it has changed, or before its third sample.
  static constexpr int windows_of_short_rest = 8;
  /// Windows between two samples of the best allocation once the search is over.
  static constexpr int windows_between_checks = 40;
  /// From this share of its minimum speed on a kernel lacks little: one small step, and others keep what a larger one
  /// would cost them.
  static constexpr double nearly_kept = 0.8;
  /// A probe that is interrupted more often than this cannot be measured.
  static constexpr int most_interruptions = 5;
  /// A smaller change of a minimum speed is ignored.
  static constexpr double least_change_of_min_speed = 0.01;
  /// Samples of one allocation that are remembered.
  static constexpr std::size_t samples_remembered = 3;
  /// A window is valid only when so many blocks of every kernel have ended in it.
  static constexpr std::int64_t least_blocks_per_window = 64;
  /// In window lengths: how long the end of a launch is waited for,
  static constexpr int lengths_until_late = 8;
  /// and after how long a kernel's blocks are too long to be measured.
  static constexpr int most_lengths = 40;

  // --- Serial execution ----------------------------------------------------------------------------------------------

  /// A launch that has started is preempted only for one that needs less than this share of its remaining time.
  static constexpr double preemption_threshold = 0.1;
  /// What co-running must promise over serial execution.
  static constexpr double gain_of_co_running = 1.02;

  // --- Headroom ------------------------------------------------------------------------------------------------------

  /// SMs are reserved for so many urgent launches at once.
  static constexpr int urgent_launches_at_once = 2;
  /// Reserved SMs are kept for this long at least while an admitted launch runs: its end cannot be predicted.
  static constexpr Duration least_patience{1'000'000};
  /// A launch for which a start and an end were seen at once counts as this long.
  static constexpr Duration least_service_time{1'000};
  /// Quarters and thirds of SMs are added up: tolerance of the sum.
  static constexpr double sm_rounding = 1e-6;
  /// A launch was delayed by others if it took so many times as long as the shortest one.
  static constexpr int delayed_slowdown = 3;
  /// An application's first launches, for which no SMs are reserved.
  static constexpr int launches_without_headroom = 4;
  /// Launches with reserved SMs that show how short they can be; the first may come before these SMs are free.
  static constexpr int launches_on_trial = 8;
  /// An application that gained nothing by reserved SMs is tried again after so many launches: its neighbours change.
  static constexpr int launches_between_trials = 100;

  // --- Fair allocation -----------------------------------------------------------------------------------------------

  /// A fair allocation that moves no application by more SMs than this is not worth the move.
  static constexpr int sms_not_worth_moving = 1;
  /// An application that lags by this share of a period is served at once.
  static constexpr double most_lag = 0.99;
};

}  // namespace gpushare
