// SPDX-License-Identifier: Apache-2.0
// Entering and leaving functions.
#include <string>

#include "ptx_interpreter/block.hpp"

namespace gpushare::interpreter {
namespace {

constexpr std::size_t local_alignment = 16;
constexpr std::size_t deepest_call = 1000;

std::uint64_t value_of(const FrameValue& value, const Thread& thread, const Frame& frame) {
  const Launch& launch = thread.block->launch;
  switch (value.kind) {
    case FrameValue::Kind::Special:
      return value.special.read(thread);
    case FrameValue::Kind::Variable:
      return launch.memory.variable(launch.program, value.index) + static_cast<std::uint64_t>(value.plus);
    case FrameValue::Kind::DynamicShared:
      return launch.entry.static_shared_bytes + value.index;
    case FrameValue::Kind::Local:
      return frame.local + value.index;
  }
  return 0;
}

void enter(Thread& thread, const Frame& frame) {
  thread.code = frame.function->operations.data();
  thread.registers = thread.stack.data() + frame.registers;
}

/// Copies parameters from one frame's part of local memory to the other's.
void hand_over(Thread& thread, const LocalBytes& from, std::size_t from_base, const LocalBytes& to,
               std::size_t to_base) {
  if (from.bytes != to.bytes) fail(thread, "the parameters of this call do not fit those of the function");
  std::memmove(thread.local.data() + to_base + to.offset, thread.local.data() + from_base + from.offset, to.bytes);
}

void hand_over_all(Thread& thread, const std::vector<LocalBytes>& from, std::size_t from_base,
                   const std::vector<LocalBytes>& to, std::size_t to_base) {
  if (from.size() != to.size()) fail(thread, "the number of parameters of this call does not fit the function");
  for (std::size_t i = 0; i < from.size(); ++i) hand_over(thread, from[i], from_base, to[i], to_base);
}

}  // namespace

void push_frame(Thread& thread, const FunctionCode& function, std::uint32_t call_site) {
  if (thread.frames.size() >= deepest_call) fail(thread, "calls nest too deeply");
  const std::size_t caller_local = thread.frames.empty() ? 0 : thread.frames.back().local;
  const std::size_t local_top = thread.local.size();
  const Frame frame{.function = &function,
                    .return_to = thread.next,
                    .call_site = call_site,
                    .registers = thread.stack.size(),
                    .local = align_up(local_top, local_alignment)};
  if (!thread.frames.empty() && function.local_bytes + frame.local > (1u << 20)) fail(thread, "local memory is full");
  thread.stack.insert(thread.stack.end(), function.slots.begin(), function.slots.end());
  thread.local.resize(frame.local + function.local_bytes, std::byte{0xa5});
  for (const FrameValue& value : function.frame_values) {
    thread.stack[frame.registers + value.slot] = value_of(value, thread, frame);
  }
  if (!thread.frames.empty()) {
    const CallSite& call = thread.frames.back().function->calls[call_site];
    hand_over_all(thread, call.arguments, caller_local, function.parameters, frame.local);
  }
  thread.frames.push_back(frame);
  thread.next = 0;
  enter(thread, frame);
}

void pop_frame(Thread& thread) {
  const Frame frame = thread.frames.back();
  if (thread.frames.size() == 1) {
    thread.status = Status::Exited;
    return;
  }
  thread.frames.pop_back();
  const Frame& caller = thread.frames.back();
  const CallSite& call = caller.function->calls[frame.call_site];
  hand_over_all(thread, frame.function->results, frame.local, call.results, caller.local);
  thread.stack.resize(frame.registers);
  // The caller's frame ended where this one's alignment began.
  thread.local.resize(caller.local + caller.function->local_bytes);
  thread.next = frame.return_to;
  enter(thread, caller);
}

}  // namespace gpushare::interpreter
