// SPDX-License-Identifier: Apache-2.0
// The devices on which the contention model predicts the highest STP, within the memory of each. Where up to eight
// applications are present, all assignments count (by dynamic programming over sets); of more, those without memory are
// placed one by one. Applications that have memory are moved where that promises more, the time of the move included.
//
// Suits: profiled kernels that differ in what they need. Fails: where the policy does something else than the model
// assumes (company.hpp), or a kernel stands for an application that has others.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/model/move_time.hpp"
#include "core/placement_support/company.hpp"
#include "core/placement_support/room.hpp"
#include "core/policy_support/options.hpp"

namespace gpushare {
namespace {

constexpr std::size_t most_for_all_assignments = 8;
/// Where nothing else decides, applications are spread: launches that are too small to get in one another's way may
/// grow.
constexpr double weight_of_spreading = 1e-9;

constexpr double never_fits = -std::numeric_limits<double>::infinity();

/// Which of the present applications: the last one in the state is the lowest bit.
using Subset = std::uint32_t;

class Predicted : public Placement {
 public:
  explicit Predicted(double gain) : gain_(gain) {}

  std::vector<DeviceId> decide(const PlacementState& state) override {
    state_ = &state;
    companions_.assign(state.devices.size(), {});
    for (std::size_t device = 0; device < state.devices.size(); ++device) {
      for (const PresentApplication& each : state.present) companions_[device].push_back(companion(each, device));
    }
    if (state.present.size() > most_for_all_assignments) return one_by_one();
    const Assignment stay = best_assignment([&](const auto& each) { return each.has_memory; });
    const Assignment move = best_assignment([&](const auto& each) { return each.has_memory && !can_leave(each); });
    if (move.value > (1 + gain_) * stay.value) return move.devices;
    return stay.value > never_fits ? stay.devices : one_by_one();
  }

 private:
  struct Assignment {
    double value = never_fits;
    std::vector<DeviceId> devices{};
  };

  bool has(Subset subset, std::size_t place) const {
    return (subset >> (state_->present.size() - 1 - place) & 1U) != 0;
  }

  /// The application as it would be on this device.
  Companion companion(const PresentApplication& each, std::size_t device) {
    const PlacementDevice& on = state_->devices[device];
    Companion made{.application = each.id, .work = work_.left(on, each), .alone = time_alone(each.id)};
    const Application& application = on.workload->applications[index(each.id)];
    made.waited = nanoseconds(state_->now - Time(application.arrival));
    if (!each.has_memory || index(*each.device) == device) return made;
    const PlacementDevice& from = state_->devices[index(*each.device)];
    made.comes = work_.left(from, each).due + nanoseconds(move_time(*from.device, *on.device, application.memory));
    made.work.total -= made.work.due;
    return made;
  }

  double time_alone(ApplicationId application) {
    double least = std::numeric_limits<double>::infinity();
    for (const PlacementDevice& each : state_->devices) {
      if (each.can_run[index(application)]) least = std::min(least, work_.total(each, application));
    }
    return least;
  }

  /// Has it an operation left behind those that are due?
  bool can_leave(const PresentApplication& each) const {
    const PlacementDevice& on = state_->devices[index(*each.device)];
    return each.ended_operations + each.due_operations < on.workload->applications[index(each.id)].operations.size();
  }

  double worth(std::size_t device, const std::vector<std::size_t>& places) {
    std::vector<Companion> companions;
    for (const std::size_t place : places) companions.push_back(companions_[device][place]);
    std::ranges::sort(companions, {}, &Companion::application);
    const auto count = static_cast<double>(companions.size());
    return company_.worth(state_->devices[device], companions) - weight_of_spreading * count * count;
  }

  /// What this device gets done with these applications.
  template <typename Stays>
  double value(std::size_t device, Subset subset, Stays stays) {
    const PlacementDevice& on = state_->devices[device];
    double memory = 0;
    std::vector<std::size_t> places;
    for (std::size_t place = 0; place < state_->present.size(); ++place) {
      const PresentApplication& each = state_->present[place];
      const bool is_kept = each.has_memory && stays(each);
      if (is_kept && (index(*each.device) == device) != has(subset, place)) return never_fits;
      if (!has(subset, place)) continue;
      if (!on.can_run[index(each.id)]) return never_fits;
      memory += static_cast<double>(on.workload->applications[index(each.id)].memory.count);
      places.push_back(place);
    }
    if (on.device->memory.count > 0 && memory > static_cast<double>(on.device->memory.count)) return never_fits;
    return worth(device, places);
  }

  /// Finds for every subset the best division among the first devices, device by device. Among equals a later device
  /// has the least subset: what could be on several devices is on the first, and the first application before others.
  template <typename Stays>
  Assignment best_assignment(Stays stays) {
    const std::size_t devices = state_->devices.size();
    const Subset all = static_cast<Subset>((std::uint64_t{1} << state_->present.size()) - 1);
    std::vector<double> best(all + 1, never_fits);
    best[0] = 0;
    std::vector<std::vector<Subset>> part(devices, std::vector<Subset>(all + 1, 0));  // that the device has
    for (std::size_t device = 0; device < devices; ++device) {
      std::vector<double> own;
      for (Subset subset = 0; subset <= all; ++subset) own.push_back(value(device, subset, stays));
      std::vector<double> with(all + 1, never_fits);
      for (Subset subset = 0; subset <= all; ++subset) {
        for (Subset mine = 0;; mine = (mine - subset) & subset) {
          const double sum = own[mine] + best[subset & ~mine];
          if (sum > with[subset] * (1 + 1e-12) || (with[subset] == never_fits && sum > never_fits)) {
            with[subset] = sum;
            part[device][subset] = mine;
          }
          if (mine == subset) break;
        }
      }
      best = std::move(with);
    }
    Assignment found{.value = best[all], .devices = std::vector<DeviceId>(state_->present.size())};
    Subset left = all;
    for (std::size_t device = devices; device-- > 0;) {
      const Subset mine = part[device][left];
      for (std::size_t place = 0; place < found.devices.size(); ++place) {
        if (has(mine, place)) found.devices[place] = static_cast<DeviceId>(device);
      }
      left &= ~mine;
    }
    return found;
  }

  std::vector<DeviceId> one_by_one() {
    std::vector<std::vector<std::size_t>> there(state_->devices.size());
    std::vector<double> value(state_->devices.size(), 0.0);
    for (std::size_t place = 0; place < state_->present.size(); ++place) {
      const PresentApplication& each = state_->present[place];
      if (each.has_memory) there[index(*each.device)].push_back(place);
    }
    for (std::size_t device = 0; device < there.size(); ++device) value[device] = worth(device, there[device]);
    std::size_t next = 0;
    const auto with_next = [&](std::size_t device) {
      std::vector<std::size_t> places = there[device];
      places.push_back(next);
      return worth(device, places);
    };
    return place_at_lowest_cost(
        *state_, [&](DeviceId device) { return value[index(device)] - with_next(index(device)); },
        [&](const PresentApplication& each, DeviceId device) {
          if (!each.has_memory) {
            value[index(device)] = with_next(index(device));
            there[index(device)].push_back(next);
          }
          ++next;
        });
  }

  double gain_;
  WorkAlone work_;
  Company company_;
  const PlacementState* state_ = nullptr;           // that is being decided on
  std::vector<std::vector<Companion>> companions_;  // by device and place in the state
};

}  // namespace

std::unique_ptr<Placement> make_predicted(const PolicyOptions& options) {
  return std::make_unique<Predicted>(
      options.number("gain", "share of the STP that moving applications has to promise in addition", 0.05, 0, 10));
}

}  // namespace gpushare
