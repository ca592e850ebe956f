// SPDX-License-Identifier: Apache-2.0
#include "core/engine/trace_check.hpp"

#include <limits>
#include <map>

#include "core/model/errors.hpp"

namespace gpushare {
namespace {

template <typename Id>
std::string number(Id id) {
  return std::to_string(static_cast<int>(id));
}

/// How far an application or a launch has come.
class Stay {
 public:
  bool arrive() { return move(Stage::Awaited, Stage::Present); }
  /// An application that was moved to another device may come back.
  bool arrive_again() {
    if (stage_ == Stage::Over) stage_ = Stage::Awaited;
    return arrive();
  }
  bool is_present() const { return stage_ == Stage::Present; }
  bool leave() { return move(Stage::Present, Stage::Over); }

 private:
  enum class Stage { Awaited, Present, Over };

  bool move(Stage from, Stage to) {
    const bool is_possible = stage_ == from;
    stage_ = to;
    return is_possible;
  }

  Stage stage_ = Stage::Awaited;
};

struct OperationSoFar {
  ApplicationId owner{};
  bool is_launch = false;
  std::int64_t unstarted = 0;
  Stay stay{};
  std::map<SmId, std::int64_t> resident{};  // where there are any
};

class EventCheck {
 public:
  EventCheck(const Workload& workload, int sms) : sms_(sms), applications_(workload.applications.size()) {
    for (std::size_t owner = 0; owner < workload.applications.size(); ++owner) {
      for (const Operation& operation : workload.applications[owner].operations) {
        const auto* launch = std::get_if<Launch>(&operation);
        operations_.push_back({.owner = static_cast<ApplicationId>(owner),
                               .is_launch = launch != nullptr,
                               .unstarted = launch == nullptr ? 0 : launch->blocks});
      }
    }
  }

  void see(const Plan& plan) const {
    for (const Share& share : plan.shares) {
      require_lazily(index(share.launch) < operations_.size(), [&] {
        return "this trace is damaged, or of another workload: a plan names launch " + number(share.launch) +
               ", which is not there";
      });
    }
  }

  void see(const Event& event) {
    require_known(event);
    switch (event.kind) {
      case EventKind::ApplicationArrived:
        return expect(applications_[index(event.application)].arrive_again(), event,
                      "an application arrives that is there");
      case EventKind::ApplicationEnded:
        return expect(applications_[index(event.application)].leave(), event, "an application ends that is not there");
      case EventKind::LaunchArrived:
        return arrive(event);
      case EventKind::BlockStarted:
        return start_blocks(event);
      case EventKind::BlockEnded:
        return end_blocks(event);
      case EventKind::BlocksExpected:
        running(event);
        return;
      case EventKind::LaunchEnded:
        return end_launch(event);
      default:
        return;
    }
  }

 private:
  void expect(bool is_possible, const Event& event, std::string_view what_is_wrong) const {
    if (is_possible) return;
    throw InvalidInput("this trace is damaged, or of another workload or device: " + std::string(what_is_wrong) +
                       ", at " + std::to_string(event.time.time_since_epoch().count()) + " ns (application " +
                       number(event.application) + ", operation " + number(event.operation) + ", SM " +
                       number(event.sm) + ")");
  }

  void require_known(const Event& event) const {
    const bool is_known = index(event.application) < applications_.size() &&
                          index(event.operation) < operations_.size() &&
                          index(event.sm) < static_cast<std::size_t>(sms_);
    expect(is_known, event, "an event names what is not there");
  }

  void arrive(const Event& event) {
    OperationSoFar& launch = operations_[index(event.operation)];
    expect(launch.is_launch, event, "a copy arrives as a launch");
    expect(launch.stay.arrive(), event, "a launch arrives twice");
    require_running(launch, event);
  }

  OperationSoFar& running(const Event& event) {
    OperationSoFar& launch = operations_[index(event.operation)];
    require_running(launch, event);
    return launch;
  }

  void require_running(const OperationSoFar& launch, const Event& event) const {
    expect(launch.owner == event.application, event, "a launch is of another application");
    expect(applications_[index(event.application)].is_present() && launch.stay.is_present(), event,
           "something happens to a launch before its arrival or after its end");
  }

  void start_blocks(const Event& event) {
    OperationSoFar& launch = running(event);
    expect(event.blocks > 0 && event.blocks <= launch.unstarted, event,
           "a launch starts more blocks than its grid has");
    launch.unstarted -= event.blocks;
    launch.resident[event.sm] += event.blocks;
  }

  void end_blocks(const Event& event) {
    OperationSoFar& launch = running(event);
    const auto here = launch.resident.find(event.sm);
    expect(here != launch.resident.end() && event.blocks > 0 && event.blocks <= here->second, event,
           "more blocks of a launch end on an SM than are there");
    here->second -= event.blocks;
    if (here->second == 0) launch.resident.erase(here);
  }

  void end_launch(const Event& event) {
    OperationSoFar& launch = running(event);
    expect(launch.resident.empty(), event, "a launch ends before its blocks");
    launch.stay.leave();
  }

  int sms_;
  std::vector<Stay> applications_;
  std::vector<OperationSoFar> operations_;
};

void require_possible(const Trace& trace, const Workload& workload, int sms) {
  EventCheck check(workload, sms);
  for (const Event& event : trace.events) check.see(event);
  for (const Decision& decision : trace.decisions) check.see(decision.plan);
}

}  // namespace

void require_possible(const Trace& trace, const Workload& workload, const Device& device) {
  require_possible(trace, workload, device.sms);
}

void require_possible(const Trace& trace, const Workload& workload) {
  require_possible(trace, workload, std::numeric_limits<int>::max());
}

}  // namespace gpushare
