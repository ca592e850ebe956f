// SPDX-License-Identifier: Apache-2.0
#include "cuda/code/kernel_code.hpp"

#include <algorithm>
#include <atomic>

#include "cuda/driver/driver.hpp"

namespace gpushare::cuda {
namespace {

KernelId next_id() {
  static std::atomic<std::uint64_t> ids = 0;
  return KernelId{++ids};
}

}  // namespace

int attribute(CUfunction function, CUfunction_attribute which) {
  int value = 0;
  GPUSHARE_CU(cuFuncGetAttribute(&value, which, function));
  return value;
}

int most_dynamic_shared(const Context& context, CUfunction function) {
  int of_block = 0;
  GPUSHARE_CU(cuDeviceGetAttribute(&of_block, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, context.device()));
  return std::max(of_block - attribute(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 0);
}

int driver_occupancy(const Context& context, CUfunction function, int threads, unsigned dynamic_shared_bytes) {
  const CurrentContext current(context);
  int blocks = 0;
  GPUSHARE_CU(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads, dynamic_shared_bytes));
  return blocks;
}

KernelCode::KernelCode(std::shared_ptr<KernelModule> module, std::string symbol, const std::string& worker,
                       ptx::BlockShapes blocks)
    : id_(next_id()), symbol_(std::move(symbol)), module_(std::move(module)), worker_blocks_(blocks) {
  const Drain drain = module_->context()->drain_requests().ask();  // one for all of it
  original_ = module_->find_kernel(symbol_);
  if (worker.empty()) return;
  worker_ = module_->find_kernel(worker);
  const CurrentContext current(*module_->context());
  worker_limits_ = limits_of(worker_);
}

KernelCode::Limits KernelCode::limits_of(CUfunction function) const {
  return {.threads = attribute(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
          .dynamic_shared = most_dynamic_shared(*module_->context(), function)};
}

BlockNeeds KernelCode::needs(const Extent& block, unsigned dynamic_shared_bytes) {
  const std::pair key(block, dynamic_shared_bytes);
  const auto known = needs_.find(key);
  if (known != needs_.end()) return known->second;
  return needs_[key] = ask_for_needs(block, dynamic_shared_bytes);
}

BlockNeeds KernelCode::ask_for_needs(const Extent& block, unsigned dynamic_shared_bytes) const {
  const std::int64_t threads = count(block);
  const CurrentContext current(*module_->context());
  const auto [most_threads, most_shared] = limits_of(original_);
  require(threads <= most_threads, "kernel '" + symbol_ + "': a block may have at most " +
                                       std::to_string(most_threads) + " threads, got " + std::to_string(threads));
  require(std::cmp_less_equal(dynamic_shared_bytes, most_shared),
          "kernel '" + symbol_ + "': a block may have at most " + std::to_string(most_shared) +
              " bytes of dynamic shared memory here, got " + std::to_string(dynamic_shared_bytes));
  const bool is_worker = can_be_worker(block, dynamic_shared_bytes);
  allow_shared_memory(original_, dynamic_shared_bytes);
  if (is_worker) allow_shared_memory(worker_, dynamic_shared_bytes);
  const CUfunction runs = is_worker ? worker_ : original_;
  const int static_shared = attribute(runs, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  return {.threads = static_cast<int>(threads),
          .registers_per_thread = attribute(runs, CU_FUNC_ATTRIBUTE_NUM_REGS),
          .shared_memory = Bytes{static_shared + std::int64_t{dynamic_shared_bytes}}};
}

void KernelCode::allow_shared_memory(CUfunction function, unsigned dynamic_shared_bytes) const {
  const int allowed = attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  if (std::cmp_less_equal(dynamic_shared_bytes, allowed)) return;
  GPUSHARE_CU(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                 static_cast<int>(dynamic_shared_bytes)));
}

}  // namespace gpushare::cuda
