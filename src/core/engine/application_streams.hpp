// SPDX-License-Identifier: Apache-2.0
// The position of every application in its in-order stream of operations, and the order of arrivals.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/engine/gpu.hpp"
#include "core/model/workload.hpp"

namespace gpushare {

/// Identifies the operation that has `before` operations before it in its application. The work of its blocks is drawn
/// from this.
std::uint64_t identity_of(std::string_view application, std::size_t before);

class ApplicationStreams {
 public:
  explicit ApplicationStreams(const Workload& workload);

  bool finished() const { return unfinished_ == 0; }

  /// When the next application arrives, or nullopt when all have.
  std::optional<Time> next_arrival() const;

  /// Takes the next arrival; equal arrivals come in the workload's order.
  ApplicationId arrive();

  /// The application's next operation, or nullopt when it has ended.
  std::optional<Submission> next(ApplicationId application);
  /// The result of next(), without taking it.
  std::optional<Submission> peek(ApplicationId application) const;
  /// How many operations next() has given, of those there are.
  std::size_t given(ApplicationId application) const { return next_operation_[index(application)]; }

 private:
  const Workload* workload_;
  std::vector<ApplicationId> by_arrival_;
  std::vector<std::size_t> first_operation_;  // by application: id of its first operation
  std::vector<std::size_t> next_operation_;   // by application: index into its operations
  std::size_t arrived_ = 0;
  std::size_t unfinished_;
};

}  // namespace gpushare
