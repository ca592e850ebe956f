// SPDX-License-Identifier: Apache-2.0
#include "bindings/python_policy.hpp"

#include <pybind11/stl.h>

#include <algorithm>

#include "bindings/state_views.hpp"
#include "core/model/errors.hpp"

namespace gpushare::bindings {
namespace {

namespace py = pybind11;

std::string shown(const py::handle& value) { return py::repr(value).cast<std::string>(); }

/// Accepts any whole number; an array of one is rejected.
bool is_whole(const py::handle& value) { return PyIndex_Check(value.ptr()) && !PySequence_Check(value.ptr()); }

/// The whole number; PolicyError where it is out of range.
template <typename Integer>
Integer to_whole(const py::handle& value, const char* what) {
  try {
    return value.cast<Integer>();
  } catch (const py::cast_error&) {
    throw PolicyError(std::string(what) + " " + shown(value) + " is out of range");
  }
}

OperationId to_launch(const py::handle& key) {
  if (py::isinstance<LaunchView>(key)) return (*key.cast<const LaunchView&>()).id;
  if (is_whole(key)) return static_cast<OperationId>(to_whole<int>(key, "launch"));
  throw PolicyError("a plan names launches from state.running, got " + shown(key));
}

Quota to_quota(const py::handle& value) {
  try {
    if (is_whole(value)) return Quota::everywhere(value.cast<int>());
    auto per_sm = value.cast<std::vector<int>>();
    if (!per_sm.empty()) return Quota::per_sm(std::move(per_sm));
  } catch (const py::cast_error&) {
    // Reported below, together with the empty sequence.
  }
  throw PolicyError("a quota must be a whole number of blocks, or one whole number per SM, got " + shown(value));
}

Duration to_whole_up_to(const py::object& value) {
  if (!is_whole(value)) {
    throw PolicyError("whole_up_to_ns must be a whole number of nanoseconds, got " + shown(value));
  }
  const auto whole = to_whole<std::int64_t>(value, "whole_up_to_ns");
  if (whole < 0) throw PolicyError("whole_up_to_ns must be 0 or more, got " + shown(value));
  return Duration(whole);
}

void leave_rest(Plan& plan, const py::object& launches) {
  if (!py::isinstance<py::iterable>(launches)) {
    throw PolicyError("leaves_rest must be a collection of launches, got " + shown(launches));
  }
  for (const py::handle each : launches) {
    const auto share = std::ranges::find(plan.shares, to_launch(each), &Share::launch);
    if (share == plan.shares.end()) {
      throw PolicyError("leaves_rest names " + shown(each) + ", to which the plan gives no quota: add it to shares");
    }
    share->leaves_rest = true;
  }
}

Plan to_plan(const py::object& answer, const py::object& plan_type) {
  if (!py::isinstance(answer, plan_type)) {
    throw PolicyError("decide() must return a gpushare.Plan, got " + shown(answer));
  }
  Plan plan;
  for (const auto& [launch, quota] : answer.attr("shares").cast<py::dict>()) {
    plan.shares.push_back({.launch = to_launch(launch), .quota = to_quota(quota)});
  }
  if (const py::object wake_at = answer.attr("wake_at_ns"); !wake_at.is_none()) {
    if (!is_whole(wake_at)) {
      throw PolicyError("wake_at_ns must be a whole number of nanoseconds, got " + shown(wake_at));
    }
    plan.wake_at = Time(Duration(to_whole<std::int64_t>(wake_at, "wake_at_ns")));
  }
  const Duration whole_up_to = to_whole_up_to(answer.attr("whole_up_to_ns"));
  for (Share& share : plan.shares) share.whole_up_to = whole_up_to;
  leave_rest(plan, answer.attr("leaves_rest"));
  return plan;
}

class PythonPolicy : public Policy {
 public:
  PythonPolicy(py::object policy, std::shared_ptr<const void> world)
      : policy_(std::move(policy)),
        plan_type_(py::module_::import("gpushare.policy").attr("Plan")),
        world_(std::move(world)),
        begins_(overrides("begin")),
        admits_(overrides("admits")),
        observes_(overrides("observe")),
        asks_(overrides("wants")) {}

  ~PythonPolicy() override {
    const py::gil_scoped_acquire gil;
    policy_ = py::object();
    plan_type_ = py::object();
  }

  void begin(std::uint64_t seed) override {
    if (!begins_) return;
    const py::gil_scoped_acquire gil;
    policy_.attr("begin")(seed);
  }

  bool admits(const RunningLaunch& launch, const State& state) override {
    if (!admits_) return false;
    const py::gil_scoped_acquire gil;
    const auto position = static_cast<std::size_t>(&launch - state.running().data());
    const std::shared_ptr<Snapshot> snapshot = view(state);
    return py::bool_(policy_.attr("admits")(LaunchView{snapshot, position}, snapshot));
  }

  void observe(const Event& event, const State& state) override {
    if (!observes_) return;
    const py::gil_scoped_acquire gil;
    policy_.attr("observe")(event, view(state));
  }

  bool wants(const Event& event) const override {
    if (!asks_) return Policy::wants(event);
    const py::gil_scoped_acquire gil;
    return py::bool_(policy_.attr("wants")(event));
  }

  Plan decide(const State& state) const override {
    const py::gil_scoped_acquire gil;
    return to_plan(policy_.attr("decide")(view(state)), plan_type_);
  }

 private:
  bool overrides(const char* method) const {
    const py::object base = py::module_::import("gpushare.policy").attr("Policy");
    return !py::type::of(policy_).attr(method).is(base.attr(method));
  }

  std::shared_ptr<Snapshot> view(const State& state) const {
    return std::make_shared<Snapshot>(Snapshot{state, world_});
  }

  py::object policy_;
  py::object plan_type_;
  std::shared_ptr<const void> world_;
  bool begins_;
  bool admits_;
  bool observes_;
  bool asks_;
};

}  // namespace

std::unique_ptr<Policy> wrap_python_policy(py::object policy, std::shared_ptr<const void> world) {
  return std::make_unique<PythonPolicy>(std::move(policy), std::move(world));
}

}  // namespace gpushare::bindings
