// SPDX-License-Identifier: Apache-2.0
// The worker's side of the ring of completions. Those for which the ring has no room wait here, in their order: no
// thread waits for a client. Any thread may end a job, so what a client has done to its ring is found by one that
// cannot report it, and kept.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>

#include "daemon/channel/ring.hpp"
#include "daemon/channel/wire.hpp"
#include "daemon/job_reply.hpp"

namespace gpushare::daemon {

class CompletionWriter : private RingWriter {
 public:
  using RingWriter::RingWriter;
  // For the client that sleeps.
  using RingWriter::announce_sleep;
  using RingWriter::take_sleeper;
  using RingWriter::wake_at_word;

  void put(std::uint64_t job, std::int64_t accepted, const JobOutcome& outcome);
  /// Writes those that wait, as far as there is room.
  void flush();

  /// How many wait.
  std::size_t late() const { return late_.size(); }
  /// How the client has broken the protocol; empty: it has not.
  const std::string& violation() const { return violation_; }
  std::uint64_t completions() const { return completions_; }  ///< so far, those that wait included
  std::uint64_t refused() const { return refused_; }          ///< of these

 private:
  struct LateCompletion {
    wire::Completion completion;
    std::string message;
  };

  bool try_write(const LateCompletion& late);

  std::deque<LateCompletion> late_;
  std::string violation_;
  std::uint64_t completions_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace gpushare::daemon
