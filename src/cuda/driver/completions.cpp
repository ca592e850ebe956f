// SPDX-License-Identifier: Apache-2.0
#include "cuda/driver/completions.hpp"

#include "cuda/driver/driver.hpp"

namespace gpushare::cuda {

Completions::Completions(const SharedContext& context, std::size_t most)
    : memory_(make_pinned_memory(context, most * sizeof(std::uint32_t))),
      idle_(make_stream(context)),
      address_(device_address(memory_)) {
  auto* first = static_cast<std::uint32_t*>(memory_.get());
  for (std::size_t index = most; index > 0; --index) free_.push_back(first + index - 1);
}

Completion Completions::mark(CUstream stream) {
  GPUSHARE_EXPECT(!free_.empty(), "marks are given back");
  const Completion completion{.word = free_.back(), .value = ++value_};
  const auto offset = completion.word - static_cast<std::uint32_t*>(memory_.get());
  GPUSHARE_CU(cuStreamWriteValue32(stream, address_ + static_cast<CUdeviceptr>(offset) * sizeof(std::uint32_t),
                                   completion.value, CU_STREAM_WRITE_VALUE_DEFAULT));
  free_.pop_back();
  return completion;
}

void Completions::give_back(const Completion& completion) { free_.push_back(completion.word); }

// A fault shows in every stream of the context.
void Completions::require_healthy() const { GPUSHARE_CU(cuStreamQuery(idle_.get())); }

}  // namespace gpushare::cuda
