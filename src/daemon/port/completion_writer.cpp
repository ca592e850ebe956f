// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/completion_writer.hpp"

#include <string_view>
#include <utility>

#include "daemon/channel/peer_errors.hpp"

namespace gpushare::daemon {
namespace {

/// Names may make a message long. Its beginning describes the end of the job, and its end the device's error.
std::string shortened(const std::string& message) {
  static constexpr std::string_view gap = " ... ";
  static constexpr std::size_t half = (wire::most_message_bytes - gap.size()) / 2;
  if (message.size() <= wire::most_message_bytes) return message;
  return message.substr(0, half).append(gap).append(message, message.size() - half);
}

}  // namespace

void CompletionWriter::put(std::uint64_t job, std::int64_t accepted, const JobOutcome& outcome) {
  LateCompletion late{.completion = {.job = job,
                                     .status = static_cast<std::uint16_t>(outcome.status),
                                     .accepted = accepted,
                                     .started = outcome.started,
                                     .ended = outcome.ended != 0 ? outcome.ended : monotonic_now()},
                      .message = shortened(outcome.message)};
  late.completion.message_bytes = static_cast<std::uint16_t>(late.message.size());
  ++completions_;
  if (outcome.status == JobStatus::Refused) ++refused_;
  if (!late_.empty() || !try_write(late)) late_.push_back(std::move(late));
}

bool CompletionWriter::try_write(const LateCompletion& late) {
  try {
    return write({part_of(late.completion), std::as_bytes(std::span(late.message))});
  } catch (const PeerViolation& violation) {
    violation_ = violation.what();
    return true;
  }
}

void CompletionWriter::flush() {
  while (!late_.empty() && try_write(late_.front())) late_.pop_front();
}

}  // namespace gpushare::daemon
