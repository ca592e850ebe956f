// SPDX-License-Identifier: Apache-2.0
// On which of its devices each application of a run is, and which are on their way to another one.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/engine/application_streams.hpp"
#include "core/engine/devices/placement.hpp"

namespace gpushare {

/// Where an application is; while it is moved, where it goes.
struct Whereabouts {
  DeviceId device{};
  DeviceId wanted{};  ///< if another one, it is moved there when its due operations have ended
  bool has_memory = false;
  bool next_is_announced = false;  ///< to the device, which has to get it
  bool is_moving = false;
};

class PlacedApplications {
 public:
  struct Move {
    ApplicationId application{};
    DeviceId from{};
  };

  explicit PlacedApplications(std::size_t applications) : places_(applications) {}

  Whereabouts& at(ApplicationId application) { return places_[index(application)]; }
  DeviceId device_of(ApplicationId application) const { return places_[index(application)].device; }

  void arrive(ApplicationId application, DeviceId device);
  void leave(ApplicationId application) { std::erase(present_, application); }

  /// The application goes to the device where it is wanted, and is there at this time.
  void move(ApplicationId application, Time until);
  /// When the first of those that are on their way will be there.
  std::optional<Time> next_move_end() const;
  /// Ends a move that ends now; nullopt where there is none.
  std::optional<Move> end_move(Time now);

  /// The present applications and those that have just arrived, as a placement sees them. `part_ended`: by application,
  /// of its operation under way.
  std::vector<PresentApplication> present(const ApplicationStreams& streams, const std::vector<double>& part_ended,
                                          std::span<const ApplicationId> arrived) const;

 private:
  std::vector<Whereabouts> places_;     // by ApplicationId
  std::vector<ApplicationId> present_;  // in order of arrival
  std::multimap<Time, Move> moves_;     // by their ends; equal times in the order in which they began
};

}  // namespace gpushare
