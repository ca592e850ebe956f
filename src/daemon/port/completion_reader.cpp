// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/completion_reader.hpp"

#include <cstring>

#include "daemon/channel/peer_errors.hpp"
#include "daemon/channel/wire.hpp"

namespace gpushare::daemon {

CompletionReader::CompletionReader(RingControl& control, std::span<const std::byte> bytes)
    : RingReader(control, bytes), record_(wire::most_completion_bytes) {}

std::optional<std::pair<JobNumber, JobResult>> CompletionReader::read_end() {
  const std::optional<std::size_t> size = read(record_);
  if (!size) return std::nullopt;
  wire::Completion wire{};
  require_peer(*size >= sizeof(wire), "a completion is too short");
  std::memcpy(&wire, record_.data(), sizeof(wire));
  require_peer(*size == sizeof(wire) + wire.message_bytes, "a completion's size is wrong");
  const auto* text = reinterpret_cast<const char*>(record_.data() + sizeof(wire));
  return std::pair(wire.job, JobResult{.status = static_cast<JobStatus>(wire.status),
                                       .accepted = wire.accepted,
                                       .started = wire.started,
                                       .ended = wire.ended,
                                       .message = std::string(text, wire.message_bytes)});
}

}  // namespace gpushare::daemon
