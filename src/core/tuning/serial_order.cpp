// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/serial_order.hpp"

#include <algorithm>
#include <utility>

namespace gpushare {
namespace {

constexpr double preference_for_the_begun = 0.1;
constexpr double hand_over = 100e3;  // nanoseconds: some 25 us to evict, as much to resume, and a block

double sum_alone(const Seating& seating) {
  double sum = 0;
  for (const Seat& seat : seating.seats) sum += seat.alone;
  return sum;
}

double sum_of_weights(const Seating& seating) {
  double sum = 0;
  for (const Seat& seat : seating.seats) sum += seat.contender.weight;
  return sum;
}

/// Weights are 1 in the mean.
double weight(const Seat& seat, const Seating& seating) {
  return seat.contender.weight / sum_of_weights(seating) * static_cast<double>(seating.seats.size());
}

}  // namespace

void LaunchGaps::observe(const Event& event, const State& /*state*/) {
  if (event.kind == EventKind::ApplicationEnded) applications_.erase(event.application);
  if (event.kind != EventKind::BlockStarted && event.kind != EventKind::BlockEnded &&
      event.kind != EventKind::LaunchEnded) {
    return;
  }
  Known& known = applications_[event.application];
  if (event.kind == EventKind::BlockEnded) {
    known.last_end = event.time;
  } else if (event.kind == EventKind::LaunchEnded) {
    known.is_open = true;
  } else if (known.is_open) {
    const double gap = nanoseconds(event.time - known.last_end);
    known.shortest = known.shortest < 0 ? gap : std::min(known.shortest, gap);
    known.is_open = false;
  }
}

double LaunchGaps::of(ApplicationId application, const Device& device) const {
  const auto found = applications_.find(application);
  if (found != applications_.end() && found->second.shortest >= 0) return found->second.shortest;
  return nanoseconds(device.delays.launch + device.delays.completion);
}

std::vector<OperationId> serial_order(const Seating& seating, const RemainingTime& remaining, const State& state) {
  struct Turn {
    OperationId launch;
    double cost;
    Time arrival;
  };
  const double round = sum_alone(seating);
  std::vector<Turn> turns;
  for (const Seat& seat : seating.seats) {
    if (!seat.running) continue;
    const RunningLaunch& launch = *state.find(*seat.running);
    const double left = nanoseconds(remaining.of(launch, state).value_or(Duration{}));
    const bool has_waited_out = nanoseconds(state.now() - launch.arrival) > round;
    const double cost = launch.started > 0 ? preference_for_the_begun * left : left + hand_over;
    turns.push_back({launch.id, has_waited_out ? 0 : cost, launch.arrival});
  }
  std::ranges::stable_sort(turns, {}, [](const Turn& turn) { return std::pair(turn.cost, turn.arrival); });
  std::vector<OperationId> order;
  for (const Turn& turn : turns) order.push_back(turn.launch);
  return order;
}

std::vector<OperationId> order_of_arrival(const Seating& seating, const State& state) {
  std::vector<OperationId> order;
  for (const Seat& seat : seating.seats) {
    if (seat.running) order.push_back(*seat.running);
  }
  std::ranges::sort(order, {}, [&state](OperationId id) { return std::pair(state.find(id)->arrival, id); });
  return order;
}

double serial_throughput(const Seating& seating, const LaunchGaps& gaps, const Device& device) {
  const double round = sum_alone(seating);
  double throughput = 0;
  for (const Seat& seat : seating.seats) {
    const double hidden = std::min(gaps.of(seat.application, device), round - seat.alone);
    throughput += weight(seat, seating) * (seat.alone + hidden) / round;
  }
  return throughput;
}

double mixed_throughput(const Seating& seating, const std::vector<double>& speeds, const LaunchGaps& gaps,
                        const Device& device) {
  double throughput = 0;
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    const Seat& seat = seating.seats[i];
    const double gap = gaps.of(seat.application, device);
    throughput += weight(seat, seating) * (seat.alone + gap) / (seat.alone / speeds[i] + gap);
  }
  return throughput;
}

double measured_throughput(const Seating& seating, const std::vector<double>& speeds, const LaunchGaps& gaps,
                           const Device& device) {
  double throughput = 0;
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    const Seat& seat = seating.seats[i];
    throughput += weight(seat, seating) * speeds[i] * (1 + gaps.of(seat.application, device) / seat.alone);
  }
  return throughput;
}

double serial_antt(const Seating& seating) {
  std::vector<double> times;
  for (const Seat& seat : seating.seats) times.push_back(seat.alone);
  std::ranges::sort(times);
  double end = 0;
  double sum = 0;
  for (const double time : times) {
    end += time;
    sum += end / time;
  }
  return sum / static_cast<double>(times.size());
}

}  // namespace gpushare
