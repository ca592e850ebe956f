// SPDX-License-Identifier: Apache-2.0
#include "programs/copy_gates.hpp"

#include <algorithm>

namespace gpushare::programs {
namespace {

const PhaseCode& code_of(const Submission& copy) { return *static_cast<const PhaseCode*>(copy.code); }

/// The last phase that has a part in front of this end of a piece.
std::uint64_t last_phase_before(const PhaseRun& run, std::int64_t end) {
  std::int64_t begin = 0;
  for (std::size_t phase = 0; phase < run.bytes.size(); ++phase) {
    begin += run.bytes[phase];
    if (begin >= end) return run.first + phase;
  }
  return run.last();
}

Event event_of(const Submission& copy, EventKind kind, Time started, Time now) {
  return {.time = now, .started = started, .application = copy.application, .operation = copy.id, .kind = kind};
}

}  // namespace

void CopyGates::submit(const Submission& copy, Time now, std::deque<Event>& events) {
  const bool is_to_device = std::get<Copy>(*copy.operation).direction == Copy::Direction::ToDevice;
  Engine& engine = engines_[is_to_device ? 0 : 1];
  engine.waiting.add(copy);
  begin_some(engine, now, events);
}

void CopyGates::begin_some(Engine& engine, Time now, std::deque<Event>& events) {
  const auto takes_another = [&] {
    if (engine.waiting.empty()) return false;
    const std::size_t pieces = engine.under_way.size();
    return pieces == 0 || (engine.under_way.back().piece.lets_follow(pieces) && engine.waiting.next_may_join(pieces));
  };
  while (takes_another()) {
    const CopyPiece piece = engine.waiting.take();
    const PhaseCode& code = code_of(piece.copy);
    const std::uint64_t up_to =
        piece.is_last ? code.run.last() : last_phase_before(code.run, piece.offset + piece.size.count);
    code.program->tasks().open(code.run, up_to);
    engine.under_way.push_back({.piece = piece, .up_to = up_to, .opened = now});
    if (!piece.is_first()) continue;
    engine.starts.begin(piece, now);
    events.push_back(event_of(piece.copy, EventKind::CopyStarted, now, now));
  }
}

bool CopyGates::end_first(Engine& engine, Time now, std::deque<Event>& events) {
  if (engine.under_way.empty()) return false;
  const UnderWay first = engine.under_way.front();
  const PhaseCode& code = code_of(first.piece.copy);
  ProgramTasks& tasks = code.program->tasks();
  if (!tasks.have_ended(code.run, first.up_to, now - first.opened)) return false;
  engine.under_way.erase(engine.under_way.begin());
  if (!first.piece.is_last) return true;
  const Time started = engine.starts.end(first.piece);
  tasks.notice(code.run, first.piece.is_part() ? std::nullopt : std::optional(now - started));
  events.push_back(event_of(first.piece.copy, EventKind::CopyEnded, started, now));
  return true;
}

void CopyGates::poll(Time now, std::deque<Event>& events) {
  for (Engine& engine : engines_) {
    while (end_first(engine, now, events)) begin_some(engine, now, events);
  }
}

bool CopyGates::has_any_under_way() const {
  return std::ranges::any_of(engines_, [](const Engine& engine) { return !engine.under_way.empty(); });
}

bool CopyGates::is_idle() const {
  return !has_any_under_way() && std::ranges::all_of(engines_, [](const Engine& each) { return each.waiting.empty(); });
}

void CopyGates::add_begun(std::vector<BegunOperation>& all) const {
  for (const Engine& engine : engines_) {
    for (const UnderWay& each : engine.under_way) {
      if (each.piece.is_first()) all.push_back({each.piece.copy.id, Stage::OnDevice});
    }
  }
}

}  // namespace gpushare::programs
