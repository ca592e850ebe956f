// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/seating.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/tuning/owner_weights.hpp"

namespace gpushare {
namespace {

double time_alone(const CataloguedKernel& kernel, std::int64_t blocks) {
  return kernel.rate_alone > 0 ? static_cast<double>(blocks) / kernel.rate_alone : 0;
}

double time_as_written(const CataloguedKernel& kernel, std::int64_t blocks) {
  const double rate = kernel.kernel.rate_as_written;
  return rate > 0 ? static_cast<double>(blocks) / rate : time_alone(kernel, blocks);
}

bool is_small(const Device& device, const CataloguedKernel& kernel, std::int64_t blocks, Duration small) {
  if (small == Duration::zero()) return false;
  if (!kernel.kernel.is_profiled) return blocks * 4 <= device.sms;
  return kernel.kernel.cost.latency <= small && time_alone(kernel, blocks) < nanoseconds(small);
}

bool needs_everything(const Seat& seat) {
  return seat.has_latency_bound() && (seat.alone <= 0 || seat.alone >= seat.time_for_it);
}

/// Speeds fall short of what has been foretold, since blocks are whole and last waves are not full.
constexpr double to_spare = 1.03;

/// Launches of one application differ a little, and every other floor would make another company to be searched.
double in_steps(double speed) { return std::ceil(speed * 20) / 20; }

/// Of the SMs. Whoever takes less of them costs the others little, even if he always comes straight back.
constexpr double little = 0.25;

/// Takes launches in, one after the other.
class Usher {
 public:
  Usher(const State& state, const Attendance& attendance, Catalogue& catalogue, const SeatingOptions& options)
      : state_(state), attendance_(attendance), catalogue_(catalogue), options_(options) {}

  /// Of somebody who is expected there is nothing to serve yet.
  void take(const Attendance::Expected& guest, const RunningLaunch* running) {
    const std::shared_ptr<CataloguedKernel> kernel = catalogue_.of(state_.device(), guest.launch->kernel);
    const Seat seat = seat_for(guest, running, kernel);
    if (guest.priority > 0 || costs_little(guest, *kernel) || needs_everything(seat)) {
      if (running != nullptr) seating_.first.push_back(running->id);
    } else if (seating_.seats.size() < most_seats) {
      seating_.seats.push_back(seat);
    } else if (running != nullptr) {
      seating_.waiting.push_back(running->id);
    }
  }

  Seating all() && {
    // By priority, then in order of arrival.
    std::ranges::stable_sort(seating_.first, std::greater{},
                             [this](OperationId id) { return state_.find(id)->priority; });
    std::ranges::sort(seating_.seats, {}, [](const Seat& seat) { return seat.application; });
    weigh();
    return std::move(seating_);
  }

 private:
  void weigh() {
    std::vector<OwnWeight> own;
    for (const Seat& seat : seating_.seats) own.push_back({seat.application, seat.contender.weight});
    const std::vector<double> weights = weights_among_owners(own, state_);
    for (std::size_t i = 0; i < weights.size(); ++i) seating_.seats[i].contender.weight = weights[i];
  }

  bool costs_little(const Attendance::Expected& guest, const CataloguedKernel& kernel) const {
    if (!is_small(state_.device(), kernel, guest.launch->blocks, options_.small)) return false;
    const double places = static_cast<double>(state_.sms()) * guest.max_residency;
    return !attendance_.comes_straight_back(guest.application) ||
           static_cast<double>(guest.launch->blocks) <= little * places;
  }

  Seat seat_for(const Attendance::Expected& guest, const RunningLaunch* running,
                const std::shared_ptr<CataloguedKernel>& kernel) const {
    const Application& application = state_.application(guest.application);
    Seat seat{.application = guest.application,
              .running = running != nullptr ? std::optional(running->id) : std::nullopt,
              .kernel = kernel,
              .alone = time_alone(*kernel, guest.launch->blocks),
              .as_written = time_as_written(*kernel, guest.launch->blocks),
              .floor = application.floor ? application.floor : options_.floor,
              .fills_gpu = guest.launch->blocks >= std::int64_t{guest.max_residency} * state_.sms(),
              .contender = {&kernel->kernel, guest.max_residency, guest.weight}};
    if (application.latency) {
      seat.time_in_all = nanoseconds(*application.latency);
      seat.time_for_it = nanoseconds(*application.latency - unavoidable(kernel->kernel));
    }
    return seat;
  }

  /// The way to the GPU and back, and a last wave, however few blocks it has.
  Duration unavoidable(const Kernel& kernel) const {
    const CommandDelays& delays = state_.device().delays;
    return delays.launch + delays.completion + (kernel.is_profiled ? kernel.cost.latency : Duration::zero());
  }

  const State& state_;
  const Attendance& attendance_;
  Catalogue& catalogue_;
  const SeatingOptions& options_;
  Seating seating_;
};

}  // namespace

std::optional<double> Seat::least_speed() const {
  if (!floor && !has_latency_bound()) return std::nullopt;
  return std::min(1.0, to_spare * std::max(floor.value_or(0), in_steps(alone / time_for_it)));
}

Seating seated(const State& state, const std::set<OperationId>& left_out, const Attendance& attendance,
               Catalogue& catalogue, const SeatingOptions& options) {
  Usher usher(state, attendance, catalogue, options);
  for (const RunningLaunch& launch : state.running()) {
    if (!left_out.contains(launch.id)) usher.take(Attendance::Expected::like(launch), &launch);
  }
  for (const auto& each : attendance.expected(state.now())) usher.take(each, nullptr);
  return std::move(usher).all();
}

bool are_short(const Seating& seating, double longest_alone) {
  return std::ranges::all_of(
      seating.seats, [longest_alone](const Seat& seat) { return seat.alone > 0 && seat.alone <= longest_alone; });
}

bool has_latency_bound(const Seating& seating) { return std::ranges::any_of(seating.seats, &Seat::has_latency_bound); }

bool can_take_turns(const Seating& seating) {
  double round = 0;
  for (const Seat& seat : seating.seats) round += seat.alone;
  return std::ranges::all_of(seating.seats, [round](const Seat& seat) {
    return seat.fills_gpu && seat.floor.value_or(0) <= 0 && round <= seat.time_for_it;
  });
}

}  // namespace gpushare
