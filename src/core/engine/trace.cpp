// SPDX-License-Identifier: Apache-2.0
#include "core/engine/trace.hpp"

#include <limits>

#include "core/model/errors.hpp"

namespace gpushare {
namespace {

// Version 5: magic, then events, then decisions; every list is preceded by its length. Version 1 had no Event::blocks,
// version 2 no Share::whole_up_to, version 3 one for all of a plan, and version 4 no Share::leaves_rest.
constexpr std::string_view magic = "gpushare-trace-5";

/// Beside the kind of an event.
constexpr std::int64_t next_is_known = 1 << 8;

class Writer {
 public:
  void integer(std::int64_t value) {
    auto bits = static_cast<std::uint64_t>(value);
    for (int byte = 0; byte < 8; ++byte, bits >>= 8) bytes_.push_back(static_cast<char>(bits & 0xff));
  }
  void time(Time value) { integer(value.time_since_epoch().count()); }
  void size(std::size_t value) { integer(static_cast<std::int64_t>(value)); }
  void text(std::string_view value) { bytes_ += value; }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class TraceReader {
 public:
  explicit TraceReader(std::string_view bytes) : left_(bytes) {}

  std::int64_t integer() {
    const std::string_view piece = text(8);
    std::uint64_t bits = 0;
    for (int byte = 7; byte >= 0; --byte) {
      bits = bits << 8 | static_cast<unsigned char>(piece[static_cast<std::size_t>(byte)]);
    }
    return static_cast<std::int64_t>(bits);
  }
  Time time() { return Time(Duration(integer())); }
  /// A length, which cannot be larger than the rest of the bytes.
  std::size_t size() {
    const std::int64_t value = integer();
    require(value >= 0 && static_cast<std::size_t>(value) <= left_.size(), "this trace is damaged: a length is wrong");
    return static_cast<std::size_t>(value);
  }
  std::string_view text(std::size_t length) {
    require(left_.size() >= length, "this trace is cut short");
    const std::string_view piece = left_.substr(0, length);
    left_.remove_prefix(length);
    return piece;
  }
  bool at_end() const { return left_.empty(); }

 private:
  std::string_view left_;
};

void write(Writer& writer, const Event& event) {
  writer.time(event.time);
  writer.time(event.started);
  writer.integer(event.block);
  writer.integer(static_cast<std::int64_t>(event.application));
  writer.integer(static_cast<std::int64_t>(event.operation));
  writer.integer(static_cast<std::int64_t>(event.sm));
  writer.integer(event.blocks);
  writer.integer(static_cast<std::int64_t>(event.kind) | (event.next_is_known ? next_is_known : 0));
}

Event read_event(TraceReader& reader) {
  Event event;
  event.time = reader.time();
  event.started = reader.time();
  event.block = reader.integer();
  event.application = static_cast<ApplicationId>(reader.integer());
  event.operation = static_cast<OperationId>(reader.integer());
  event.sm = static_cast<SmId>(reader.integer());
  const std::int64_t blocks = reader.integer();
  require(blocks >= 1 && blocks <= std::numeric_limits<std::int32_t>::max(),
          "this trace is damaged: an event is of no block, or of too many");
  event.blocks = static_cast<std::int32_t>(blocks);
  const std::int64_t kind_and_next = reader.integer();
  event.next_is_known = (kind_and_next & next_is_known) != 0;
  const std::int64_t kind = kind_and_next & ~next_is_known;
  require(kind >= 0 && kind <= static_cast<std::int64_t>(EventKind::BlocksExpected),
          "this trace is damaged: it holds an unknown event");
  event.kind = static_cast<EventKind>(kind);
  return event;
}

void write(Writer& writer, const Quota& quota) {
  writer.size(quota.size());
  if (quota.is_uniform()) return writer.integer(quota.at(SmId{}));
  for (std::size_t sm = 0; sm < quota.size(); ++sm) writer.integer(quota.at(static_cast<SmId>(sm)));
}

Quota read_quota(TraceReader& reader) {
  const std::size_t size = reader.size();
  if (size == 0) return Quota::everywhere(static_cast<int>(reader.integer()));
  std::vector<int> blocks;
  for (std::size_t sm = 0; sm < size; ++sm) blocks.push_back(static_cast<int>(reader.integer()));
  return Quota::per_sm(std::move(blocks));
}

void write(Writer& writer, const Decision& decision) {
  writer.size(decision.after_event);
  writer.integer(decision.plan.wake_at.has_value());
  writer.time(decision.plan.wake_at.value_or(Time{}));
  writer.size(decision.plan.shares.size());
  for (const Share& share : decision.plan.shares) {
    writer.integer(static_cast<std::int64_t>(share.launch));
    write(writer, share.quota);
    writer.integer(share.whole_up_to.count());
    writer.integer(share.leaves_rest ? 1 : 0);
  }
}

Decision read_decision(TraceReader& reader) {
  Decision decision;
  decision.after_event = static_cast<std::size_t>(reader.integer());
  const bool wakes = reader.integer() != 0;
  const Time wake_at = reader.time();
  if (wakes) decision.plan.wake_at = wake_at;
  for (std::size_t left = reader.size(); left > 0; --left) {
    const auto launch = static_cast<OperationId>(reader.integer());
    Quota quota = read_quota(reader);
    const Duration whole_up_to(reader.integer());
    const std::int64_t leaves_rest = reader.integer();
    require(leaves_rest == 0 || leaves_rest == 1, "this trace is damaged: a share neither leaves nor keeps the rest");
    decision.plan.shares.push_back(
        {.launch = launch, .quota = std::move(quota), .whole_up_to = whole_up_to, .leaves_rest = leaves_rest == 1});
  }
  return decision;
}

void require_readable(std::string_view bytes) {
  const std::string_view name = magic.substr(0, magic.size() - 1);  // all but the version
  require(bytes.starts_with(name) && bytes.size() >= magic.size(), "these bytes are not a gpushare trace");
  require(bytes.starts_with(magic), "this gpushare trace is of version " + std::string(1, bytes[name.size()]) +
                                        ", but version " + magic.back() + " is due: record the run again");
}

}  // namespace

std::string to_bytes(const Trace& trace) {
  Writer writer;
  writer.text(magic);
  writer.size(trace.events.size());
  for (const Event& event : trace.events) write(writer, event);
  writer.size(trace.decisions.size());
  for (const Decision& decision : trace.decisions) write(writer, decision);
  return writer.take();
}

Trace trace_from_bytes(const std::string& bytes) {
  require_readable(bytes);
  TraceReader reader(std::string_view(bytes).substr(magic.size()));
  Trace trace;
  for (std::size_t left = reader.size(); left > 0; --left) trace.events.push_back(read_event(reader));
  for (std::size_t left = reader.size(); left > 0; --left) {
    trace.decisions.push_back(read_decision(reader));
    require(trace.decisions.back().after_event < trace.events.size(),
            "this trace is damaged: a decision follows an event that is not there");
  }
  require(reader.at_end(), "this trace is damaged: bytes follow its end");
  return trace;
}

}  // namespace gpushare
