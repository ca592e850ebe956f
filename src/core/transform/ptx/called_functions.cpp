// SPDX-License-Identifier: Apache-2.0
#include "core/transform/ptx/called_functions.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/transform/ptx/instructions.hpp"

namespace gpushare::ptx {
namespace {

/// The functions with a body that these tokens name.
template <typename Use>
void for_each_named_function(const Module& module, TokenRange range, Use use) {
  for (std::size_t token = range.begin; token < range.end; ++token) {
    const char first = module.token(token).text.front();
    if (module.token(token).kind != TokenKind::Word || first == '%' || first == '.') continue;
    const Function* named = module.definition(module.token(token).text);
    if (named != nullptr && !named->is_entry) use(*named);
  }
}

bool calls_through_pointer(const Function& function) {
  return std::ranges::any_of(function.statements, [](const Statement& statement) {
    const auto* declaration = std::get_if<Declaration>(&statement);
    return declaration != nullptr && declaration->directive == ".callprototype";
  });
}

}  // namespace

std::vector<const Function*> callees(const Module& module, const Function& function) {
  std::vector<const Function*> found;
  if (!module.has_functions()) return found;
  std::unordered_set<const Function*> seen;
  const auto add = [&](const Function& callee) {
    if (seen.insert(&callee).second) found.push_back(&callee);
  };
  // A pointer from memory, as to a virtual function, may lead to any function.
  const auto follow = [&](const Function& caller) {
    // A name anywhere in the body counts, so functions of which only the address is taken are found too.
    for_each_named_function(module, caller.body, add);
    if (!calls_through_pointer(caller)) return;
    for (const Function& each : module.functions) {
      if (each.has_body && !each.is_entry) add(each);
    }
  };
  follow(function);
  for (std::size_t next = 0; next < found.size(); ++next) follow(*found[next]);
  return found;
}

std::vector<std::string> called_functions(const std::string& ptx, const std::string& entry) {
  const Module module(ptx);
  std::vector<std::string> names;
  for (const Function* each : callees(module, module.entry(entry))) names.emplace_back(each->name);
  return names;
}

/// Walks from the functions that hold such an instruction to their callers.
CalledInstructions::CalledInstructions(const Module& module, const std::vector<const Function*>& called,
                                       IsOfKind is_of_kind)
    : module_(module), is_of_kind_(std::move(is_of_kind)) {
  std::vector<const Function*> open;
  const auto reach = [&](const Function* function) {
    if (reaching_.insert(function).second) open.push_back(function);
  };
  for (const Function* callee : called) {
    if (any_instruction(*callee, is_of_kind_)) reach(callee);
  }
  if (open.empty()) return;
  std::unordered_map<const Function*, std::vector<const Function*>> callers;
  for (const Function* callee : called) {
    if (calls_through_pointer(*callee)) reach(callee);
    for_each_named_function(module, callee->body, [&](const Function& named) { callers[&named].push_back(callee); });
  }
  while (!open.empty()) {
    const Function* function = open.back();
    open.pop_back();
    for (const Function* caller : callers[function]) reach(caller);
  }
}

bool CalledInstructions::may_be_executed_by(const Instruction& instruction) const {
  return is_of_kind_(instruction) || (instruction.operation() == "call" && may_be_reached(instruction));
}

bool CalledInstructions::may_be_reached(const Instruction& call) const {
  if (reaching_.empty()) return false;
  bool named = false;
  bool reached = false;
  for_each_named_function(module_, call.tokens, [&](const Function& callee) {
    named = true;
    reached |= reaching_.contains(&callee);
  });
  return reached || !named;
}

}  // namespace gpushare::ptx
