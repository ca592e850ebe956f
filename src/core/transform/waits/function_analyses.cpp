// SPDX-License-Identifier: Apache-2.0
#include "core/transform/waits/function_analyses.hpp"

#include "core/transform/waits/waits.hpp"

namespace gpushare::ptx {

const ControlFlow& FunctionAnalyses::flow(const Function& function) {
  auto& flow = known_[&function].flow;
  if (!flow) flow = std::make_unique<ControlFlow>(module_, function);
  return *flow;
}

const std::vector<bool>& FunctionAnalyses::divergent_statements(const Function& function, const ThreadGroup& group) {
  const auto [found, is_new] = known_[&function].divergent.try_emplace(group);
  if (is_new) found->second = ptx::divergent_statements(module_, function, flow(function), group);
  return found->second;
}

const std::vector<bool>& FunctionAnalyses::abandoned_statements(const Function& function, const ThreadGroup& group) {
  const auto [found, is_new] = known_[&function].abandoned.try_emplace(group);
  if (is_new) found->second = ptx::abandoned_statements(module_, function, flow(function), group);
  return found->second;
}

bool FunctionAnalyses::waits_in_loop(const Function& function, const ExecutedReads& reads) {
  auto& waits = known_[&function].waits_in_loop;
  if (!waits) waits = has_waiting_loop(module_, function, flow(function), reads);
  return *waits;
}

}  // namespace gpushare::ptx
