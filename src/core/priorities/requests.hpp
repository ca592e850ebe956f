// SPDX-License-Identifier: Apache-2.0
// Requests for the GPU, as EffiSha (sections 6.1 and 7) defines them: a request is everything that one application has
// running, on all its streams, and has one priority. Streams of one application share the part of their names before
// the first '/': "alice/1" and "alice/2" belong to alice. A later '@' separates clients: the server adds its client's
// number to every name, and "alice/1@1" and "alice/1@2" are unrelated.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/policy.hpp"

namespace gpushare {

/// In order of the owners' first arrival; never used again.
using RequestId = std::uint64_t;

struct Request {
  std::string owner;
  int priority = 0;  ///< of the stream it began with, or as changed since; all should have one
  Time arrival{};
  std::optional<Time> ended{};          ///< when it last had nothing left to run
  std::vector<OperationId> launches{};  ///< that run, in order of arrival
  int streams = 0;                      ///< that have arrived and not ended

  bool is_there() const { return !launches.empty(); }
};

class Requests {
 public:
  /// Call it for every event. A stream with a launch that arrives at the very time at which its last one ended
  /// continues the same request; after any pause it is a new one. A request without streams is forgotten at the next
  /// arrival of another one.
  void observe(const Event& event, const State& state);

  /// All requests that are not forgotten.
  const std::map<RequestId, Request>& all() const { return all_; }

 private:
  Request* find(const std::string& owner);
  Request& of(const std::string& owner);
  void begin_stream(ApplicationId application, const State& state);
  void end_stream(ApplicationId application, const State& state);
  void arrive(const RunningLaunch& launch, const State& state);

  std::map<RequestId, Request> all_;
  std::map<std::string, RequestId> by_owner_;
  std::vector<RequestId> request_of_;  // by OperationId
  RequestId next_ = 0;
};

/// Adds the launches of a request at full quota: they share the GPU as the streams of one application do.
void add_shares(Plan& plan, const Request& request, const State& state);

}  // namespace gpushare
