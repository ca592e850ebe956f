// SPDX-License-Identifier: Apache-2.0
// Sessions on several devices as one, and the choice of a device for an application.
#include <pybind11/stl.h>

#include "bindings/bindings.hpp"
#include "core/model/errors.hpp"
#include "core/placement_support/live_placement.hpp"
#include "core/session/several_devices.hpp"

namespace gpushare::bindings {
namespace {

template <typename Part>
Part merge(std::vector<Part> parts, const std::vector<std::int64_t>& offsets_ns) {
  require(!parts.empty() && parts.size() == offsets_ns.size(), "each device has an offset");
  std::vector<OfDevice<Part>> all;
  for (std::size_t i = 0; i < parts.size(); ++i) all.push_back({std::move(parts[i]), Duration(offsets_ns[i])});
  return merged(std::move(all));
}

using Described = std::tuple<std::string, std::int64_t, std::optional<int>, std::vector<std::optional<Launch>>>;

std::vector<int> place(const std::vector<const Device*>& devices, std::vector<Described> described,
                       const std::string& placement) {
  require(!devices.empty() && !described.empty(), "a placement needs devices and an application");
  std::vector<LiveApplication> applications;
  for (auto& [name, memory, device, first] : described) {
    require(first.empty() || first.size() == devices.size(), "a first launch is known for each device, or for none");
    const bool is_there = device && *device >= 0 && static_cast<std::size_t>(*device) < devices.size();
    require(!device || is_there, "there is no device " + std::to_string(device.value_or(0)));
    LiveApplication& each = applications.emplace_back();
    each = {.name = std::move(name), .memory = {memory}, .first_launch = std::move(first)};
    if (device) each.device = static_cast<DeviceId>(*device);
  }
  std::vector<int> chosen;
  for (const DeviceId each : place_live(devices, applications, placement)) chosen.push_back(static_cast<int>(each));
  return chosen;
}

}  // namespace

void bind_session_devices(py::module_& module) {
  module.def("merged_status", &merge<SessionStatus>, py::arg("parts"), py::arg("offsets_ns"),
             "The states of sessions, one for each device, as one; offsets as for finish_sessions().");
  module.def("merged_past", &merge<SessionPast>, py::arg("parts"), py::arg("offsets_ns"),
             "The pasts of sessions, one for each device, as one; offsets as for finish_sessions().");
  module.def(
      "place_applications", &place, py::arg("devices"), py::arg("applications"), py::arg("place"),
      "The numbers of the applications' devices. Each has a name, bytes of memory, the number of its device, where "
      "it stays, or None, and its first launch on each device (None: cannot run) or nothing. Throws InvalidInput "
      "where no device has room for one.");
}

}  // namespace gpushare::bindings
