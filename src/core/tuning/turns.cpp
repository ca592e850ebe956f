// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/turns.hpp"

namespace gpushare {
namespace {

/// What a mix must promise, over turns.
constexpr double worth_mixing = 1.02;
/// Where promises are doubted: those of equal parts were up to 13 % off in nine pairs of ten
/// (docs/results/simulator-accuracy.md).
constexpr double worth_mixing_in_doubt = 1 / 1.1;
/// Launches that are left whole leave no gaps, and in turns they fill each other's last waves: 1.07 of one after the
/// other in the mean of 136 pairs on an H100. Chosen on half of these pairs, checked on the others
/// (docs/internals/tuner.md).
constexpr double worth_mixing_whole = 1.05;

}  // namespace

bool may_take_turns(const Mixer& mixer) {
  const Seating& seating = mixer.seating();
  return seating.seats.size() > 1 && can_take_turns(seating) && !mixer.outlook().speeds.empty();
}

bool turns_promise_more(const Mixer& mixer, const LaunchGaps& gaps, const Device& device, bool are_whole, double antt) {
  const Seating& seating = mixer.seating();
  const Outlook& mixed = mixer.outlook();
  const double in_turns = serial_antt(seating);
  if (mixed.antt > antt || in_turns > antt) return in_turns < mixed.antt;
  if (are_whole) return mixed.throughput < worth_mixing_whole;
  const auto throughput = mixer.has_measured() ? measured_throughput : mixed_throughput;
  const double worth = mixer.is_cautious(device) ? worth_mixing_in_doubt : worth_mixing;
  return throughput(seating, mixed.speeds, gaps, device) < worth * serial_throughput(seating, gaps, device);
}

}  // namespace gpushare
