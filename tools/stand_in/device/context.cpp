// SPDX-License-Identifier: Apache-2.0
#include "device/context.hpp"

#include "device/refusal.hpp"

namespace gpushare::stand_in {

std::vector<std::shared_ptr<const Context>>& contexts_pushed() {
  thread_local std::vector<std::shared_ptr<const Context>> pushed;
  return pushed;
}

const std::shared_ptr<const Context>& current_context() {
  expect(!contexts_pushed().empty(), CUDA_ERROR_INVALID_CONTEXT, "the thread has no current context");
  return contexts_pushed().back();
}

}  // namespace gpushare::stand_in
