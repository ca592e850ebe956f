// SPDX-License-Identifier: Apache-2.0
// Who asks for the GPU, as EffiSha (sections 6.1 and 7) sees it: a request is everything that one application has
// running, on all its streams, and has one priority. Streams of one application share the part of their names before
// the first '/': "alice/1" and "alice/2" are alice's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/policy.hpp"

namespace gpushare {

struct Request {
  std::string owner;
  int priority = 0;  ///< of the stream it began with, or as changed since; all should have one
  Time arrival{};
  std::optional<Time> ended{};          ///< when it last had nothing left to run
  std::vector<OperationId> launches{};  ///< that run, in order of arrival

  bool is_there() const { return !launches.empty(); }
};

class Requests {
 public:
  /// Call it for every event. A stream whose next launch arrives at the very time at which the last one ended goes on
  /// with the same request; after any pause it is a new one.
  void observe(const Event& event, const State& state);

  /// Everybody who ever asked, in order of their first arrival.
  const std::vector<Request>& all() const { return all_; }

 private:
  void arrive(const RunningLaunch& launch, const State& state);

  std::vector<Request> all_;
  std::vector<std::size_t> request_of_;  // by OperationId
};

/// Adds the launches of a request at full quota: they share the GPU as the streams of one application do.
void add_shares(Plan& plan, const Request& request, const State& state);

}  // namespace gpushare
