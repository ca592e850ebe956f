// SPDX-License-Identifier: Apache-2.0
// Branches, calls, the end of threads.
#include <array>
#include <string>

#include "ptx_interpreter/block.hpp"
#include "ptx_interpreter/encoder.hpp"
#include "ptx_interpreter/rules/rules.hpp"

namespace gpushare::interpreter {
namespace {

void branch(Thread& thread, const Operation& operation) { thread.next = operation.target; }

void encode_branch(Encoder& encoder) {
  encoder.branch_to(0);
  encoder.use(&branch);
}

void branch_by_index(Thread& thread, const Operation& operation) {
  const auto index = thread.read<std::uint32_t>(operation.slot[0]);
  const std::vector<std::uint32_t>& table = thread.frames.back().function->branch_tables[operation.target];
  if (index >= table.size()) fail(thread, "branch " + std::to_string(index) + " of " + std::to_string(table.size()));
  thread.next = table[index];
}

void encode_branch_by_index(Encoder& encoder) {
  encoder.operation().slot[0] = encoder.source(0, Scalar::U32);
  encoder.branch_table(1);
  encoder.use(&branch_by_index);
}

void call(Thread& thread, const Operation& operation) {
  const CallSite& site = thread.frames.back().function->calls[operation.target];
  const Program& program = thread.block->launch.program;
  const FunctionCode* function =
      site.function ? &program.function(*site.function) : program.function_at(thread.registers[site.address]);
  if (function == nullptr) fail(thread, "calls what is no function");
  if (!function->has_body) fail(thread, "calls '" + function->name + "', which has no body in this module");
  push_frame(thread, *function, operation.target);
}

std::vector<LocalBytes> handed_over(const Encoder& encoder, std::size_t operand) {
  std::vector<LocalBytes> found;
  for (const std::string_view name : encoder.list(operand)) {
    const Symbol* symbol = encoder.find(name);
    if (symbol == nullptr || symbol->kind != Symbol::Kind::Local) {
      encoder.fail("'" + std::string(name) + "' is no .param declared here");
    }
    found.push_back({symbol->place, symbol->bytes});
  }
  return found;
}

/// call (results), function, (arguments), prototype: all but the function may be missing.
void encode_call(Encoder& encoder) {
  CallSite site;
  std::size_t operand = 0;
  if (encoder.word(operand) == "(") site.results = handed_over(encoder, operand++);
  const std::string_view name = encoder.word(operand);
  const Symbol* symbol = encoder.find(name);
  if (symbol == nullptr) encoder.fail("there is no function '" + std::string(name) + "'");
  if (symbol->kind == Symbol::Kind::Function) {
    site.function = symbol->place;
  } else {
    site.address = encoder.source(operand, Scalar::U64);
  }
  if (++operand < encoder.operands() && encoder.word(operand) == "(") site.arguments = handed_over(encoder, operand);
  encoder.operation().target = static_cast<std::uint32_t>(encoder.code().calls.size());
  encoder.code().calls.push_back(std::move(site));
  encoder.use(&call);
}

void give_up_turn(Thread& thread, const Operation&) { thread.yields = true; }
void exit_thread(Thread& thread, const Operation&) { thread.status = Status::Exited; }
void return_from_function(Thread& thread, const Operation&) { pop_frame(thread); }
void trap(Thread& thread, const Operation&) { fail(thread, "trap"); }
void encode_nothing(Encoder&) {}

template <Handler handler>
void encode_plain(Encoder& encoder) {
  encoder.use(handler);
}

constexpr std::array rules = {
    Rule{"bra", encode_branch},
    Rule{"brx", encode_branch_by_index},
    Rule{"call", encode_call},
    Rule{"ret", encode_plain<return_from_function>},
    Rule{"exit", encode_plain<exit_thread>},
    Rule{"trap", encode_plain<trap>},
    Rule{"nanosleep", encode_plain<give_up_turn>},
    Rule{"brkpt", encode_nothing},
    Rule{"pmevent", encode_nothing},
};

}  // namespace

std::span<const Rule> control_rules() { return rules; }

}  // namespace gpushare::interpreter
