// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/transform/waits/divergence.hpp"
#include "core/transform/waits/executed_reads.hpp"

namespace gpushare::ptx {

/// Caches the analyses of functions, however many kernels of the module call them.
class FunctionAnalyses {
 public:
  explicit FunctionAnalyses(const Module& module) : module_(module) {}

  const ControlFlow& flow(const Function& function);
  const std::vector<bool>& divergent_statements(const Function& function, const ThreadGroup& group);
  const std::vector<bool>& abandoned_statements(const Function& function, const ThreadGroup& group);
  /// `reads`: those of any kernel that calls the function, or is it.
  bool waits_in_loop(const Function& function, const ExecutedReads& reads);

 private:
  struct FunctionResults {
    std::unique_ptr<ControlFlow> flow;
    std::map<ThreadGroup, std::vector<bool>> divergent;
    std::map<ThreadGroup, std::vector<bool>> abandoned;
    std::optional<bool> waits_in_loop;
  };

  const Module& module_;
  std::unordered_map<const Function*, FunctionResults> known_;
};

}  // namespace gpushare::ptx
