// SPDX-License-Identifier: Apache-2.0
// The launches that were on the GPU when it failed. After a fault nothing progresses there, and the words that streams
// set still show what had ended by then. A launch that was queued behind another begins when all of that one has ended.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/runtime/successors.hpp"
#include "core/session/live_gpu.hpp"

namespace gpushare {

/// `leader_of`: launches among these that are queued behind others of them.
std::vector<BegunOperation> begun_launches(std::span<const std::unique_ptr<GpuLaunch>> launches,
                                           const std::unordered_map<OperationId, OperationId>& leader_of,
                                           const Successors& successors);

}  // namespace gpushare
