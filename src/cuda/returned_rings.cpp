// SPDX-License-Identifier: Apache-2.0
#include "cuda/returned_rings.hpp"

#include "core/transform/worker_control.hpp"
#include "cuda/driver.hpp"

namespace gpushare::cuda {
namespace {

constexpr std::size_t ring_bytes = returned_slots * sizeof(std::uint64_t);
constexpr std::size_t rings_at_first = 128;
constexpr std::size_t rings_more = 16;

CUdeviceptr ring_of(const DeviceMemory& bank, std::size_t number) { return bank.get() + number * ring_bytes; }

}  // namespace

ReturnedRings::ReturnedRings(const SharedContext& context, CUstream writes)
    : context_(context), writes_(writes), zeros_(make_pinned_memory(context, ring_bytes)) {
  banks_.push_back(make_device_memory(context, rings_at_first * ring_bytes));
  for (std::size_t ring = 0; ring < rings_at_first; ++ring) empty_.push_back(ring_of(banks_.front(), ring));
}

// Cleared by a copy: a memset may be a kernel, and where that waits for room on an SM, so does every order behind it.
CUdeviceptr ReturnedRings::take() {
  if (empty_.empty() && used_.empty()) grow();
  std::vector<CUdeviceptr>& from = empty_.empty() ? used_ : empty_;
  const CUdeviceptr ring = from.back();
  if (empty_.empty()) GPUSHARE_CU(cuMemcpyHtoDAsync(ring, zeros_.get(), ring_bytes, writes_));
  from.pop_back();
  return ring;
}

// In the stream, so that nobody waits for what runs.
void ReturnedRings::grow() {
  CUdeviceptr address = 0;
  GPUSHARE_CU(cuMemAllocAsync(&address, rings_more * ring_bytes, writes_));
  banks_.emplace_back(context_, address);
  for (std::size_t ring = 0; ring < rings_more; ++ring) used_.push_back(ring_of(banks_.back(), ring));
}

}  // namespace gpushare::cuda
