// SPDX-License-Identifier: Apache-2.0
#include "bindings/runs/run_record.hpp"

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <algorithm>

#include "bindings/arguments.hpp"
#include "bindings/python_policy.hpp"
#include "core/model/errors.hpp"
#include "core/ordering/ordering_registry.hpp"
#include "core/policies/registry.hpp"
#include "core/policy_support/policy_seed.hpp"

namespace gpushare::bindings {
namespace {

// Some milliseconds: at this interval the GIL costs nothing, and the delay is not noticeable.
constexpr std::int64_t events_between_looks = 1 << 16;

/// Requires the GIL.
template <typename HasEnded>
void heed(const py::object& ended, HasEnded has_ended) {
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  if (ended.is_none() || !py::bool_(has_ended())) return;
  PyErr_SetNone(PyExc_KeyboardInterrupt);
  throw py::error_already_set();
}

/// An operation has a duration on its device, and none on others.
void add(std::vector<std::int64_t>& sums, const std::vector<std::int64_t>& values) {
  sums.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) sums[i] += values[i];
}

}  // namespace

std::vector<std::int64_t> counts(const std::vector<Duration>& durations) {
  std::vector<std::int64_t> values;
  for (const Duration duration : durations) values.push_back(count(duration));
  return values;
}

RunRecord record_of(std::span<const UsageMeter> meters) {
  RunRecord record;
  for (const UsageMeter& meter : meters) {
    add(record.operation_durations, counts(meter.operation_durations()));
    const std::vector<std::int64_t> sm_busy = counts(meter.sm_busy());
    record.sm_busy.insert(record.sm_busy.end(), sm_busy.begin(), sm_busy.end());
    record.to_device_busy += count(meter.to_device_busy());
    record.to_host_busy += count(meter.to_host_busy());
    record.makespan = std::max(record.makespan, count(meter.makespan()));
    record.blocks += meter.blocks();
  }
  for (std::size_t application = 0; application < meters.front().applications().size(); ++application) {
    ApplicationTimes times = meters.front().applications()[application];
    for (const UsageMeter& meter : meters) times.end = std::max(times.end, meter.applications()[application].end);
    record.arrivals.push_back(count(times.arrival));
    record.ends.push_back(count(times.end));
    record.turnarounds.push_back(count(times.turnaround()));
  }
  return record;
}

void Interruption::saw(const Event& /*event*/) {
  if (++events_ % events_between_looks == 0) look();
}

void Interruption::look() const {
  const py::gil_scoped_acquire gil;
  heed(ended_, [this] { return ended_(); });
}

void Interruption::look(const std::function<std::vector<std::string>()>& on_gpu) const {
  const py::gil_scoped_acquire gil;
  heed(ended_, [&] { return ended_(on_gpu); });
}

std::pair<std::string, py::object> in_two_parts(const py::object& policy) {
  if (!py::isinstance<py::str>(policy)) return {"arrival", policy};
  const OrderedPolicy parts = ordered_policy(policy.cast<std::string>());
  return {parts.ordering, py::str(parts.policy)};
}

std::unique_ptr<Policy> to_policy(const py::object& policy, std::shared_ptr<const void> world, std::uint64_t run_seed) {
  if (py::isinstance<py::str>(policy)) {
    const auto name = policy.cast<std::string>();
    const OrderedPolicy parts = ordered_policy(name);
    require(parts.ordering == "arrival", "'" + name + "': here take '" + parts.policy + "'; '" + parts.ordering +
                                             "' is said where a session is opened (ordering=, serve --ordering), and "
                                             "stays");
    std::unique_ptr<Policy> made = make_policy(parts.policy);
    made->begin(policy_seed(run_seed, parts.policy));
    return made;
  }
  std::unique_ptr<Policy> wrapped = wrap_python_policy(policy, std::move(world));
  wrapped->begin(policy_seed(run_seed, policy.attr("name").cast<std::string>()));
  return wrapped;
}

}  // namespace gpushare::bindings
