// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch/table_reader.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "cuda/code/kernel_code.hpp"
#include "cuda/driver/driver.hpp"

namespace gpushare::cuda {
namespace {

constexpr unsigned threads = 128;
constexpr std::size_t bytes_per_thread = 16;

/// A single read by a kernel means little: two within five reads show that other applications copy. This is forgotten
/// after some tens of reads.
constexpr int per_read_by_kernel = 10;
constexpr int copies_are_late_from = 16;
constexpr int most_late = 64;

/// Copies `words` words of 16 bytes. Volatile, as other SMs write the words meanwhile.
constexpr std::string_view source = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry read_tables(.param .u64 from, .param .u64 to, .param .u32 words)
.maxntid 128
{
  .reg .pred %done;
  .reg .b32 %word;
  .reg .b32 %words;
  .reg .b32 %part<4>;
  .reg .b64 %from;
  .reg .b64 %to;
  .reg .b64 %offset;
  .reg .b64 %source;
  .reg .b64 %target;
  ld.param.u64 %from, [from];
  ld.param.u64 %to, [to];
  ld.param.u32 %words, [words];
  mov.u32 %word, %tid.x;
next:
  setp.ge.u32 %done, %word, %words;
  @%done ret;
  mul.wide.u32 %offset, %word, 16;
  add.u64 %source, %from, %offset;
  add.u64 %target, %to, %offset;
  ld.volatile.global.v4.u32 {%part0, %part1, %part2, %part3}, [%source];
  st.global.v4.u32 [%target], {%part0, %part1, %part2, %part3};
  add.u32 %word, %word, 128;
  bra next;
}
)";

}  // namespace

// The most urgent streams, for this alone: blocks that wait for room would be ahead of a kernel otherwise.
TableReader::TableReader(const SharedContext& context, Completions& completions, std::size_t most_bytes)
    : completions_(completions),
      module_(load_module(context, source)),
      function_(find_function(module_, "read_tables")),
      registers_(attribute(function_, CU_FUNC_ATTRIBUTE_NUM_REGS)),
      copy_{make_stream(context, context->stream_priorities().front()), make_pinned_memory(context, most_bytes)},
      kernel_{make_stream(context, context->stream_priorities().front()), make_pinned_memory(context, most_bytes)},
      target_of_kernel_(device_address(kernel_.memory)),
      data_(static_cast<const std::byte*>(copy_.memory.get())) {}

// A read may still be running: the last one of an earlier run, or one that was late.
TableReader::~TableReader() {
  drain(copy_.stream);
  drain(kernel_.stream);
}

void TableReader::start(CUdeviceptr tables, std::size_t bytes, CUevent behind) {
  tables_ = tables;
  bytes_ = bytes;
  is_reading_ = true;
  behind_ = behind;
  copy_.counts = kernel_.counts = false;
  if (is_free(copy_)) {
    copy();
  } else if (is_free(kernel_)) {
    launch();
  }
}

bool TableReader::is_free(Way& way) {
  if (way.is_under_way() && !way.end.reached()) return false;
  if (way.is_under_way()) completions_.give_back(way.end);
  way.end = {};
  return true;
}

void TableReader::wait_on(const Way& way) {
  if (behind_ != nullptr) GPUSHARE_CU(cuStreamWaitEvent(way.stream.get(), behind_, CU_EVENT_WAIT_DEFAULT));
}

void TableReader::copy() {
  wait_on(copy_);
  GPUSHARE_CU(cuMemcpyDtoHAsync(copy_.memory.get(), tables_, bytes_, copy_.stream.get()));
  copy_.end = completions_.mark(copy_.stream.get());
  copy_.counts = true;
}

void TableReader::launch() {
  wait_on(kernel_);
  auto words = static_cast<unsigned>(bytes_ / bytes_per_thread);
  std::array<void*, 3> arguments{&tables_, &target_of_kernel_, &words};
  GPUSHARE_CU(cuLaunchKernel(function_, 1, 1, 1, threads, 1, 1, 0, kernel_.stream.get(), arguments.data(), nullptr));
  kernel_.end = completions_.mark(kernel_.stream.get());
  kernel_.counts = true;
  lateness_ = std::min(lateness_ + per_read_by_kernel, most_late);
}

void TableReader::end() {
  data_ = static_cast<const std::byte*>((copy_.has_ended() ? copy_ : kernel_).memory.get());
  if (!kernel_.counts) lateness_ = std::max(lateness_ - 1, 0);
  copy_.counts = kernel_.counts = false;
  is_reading_ = false;
}

bool TableReader::hurry() {
  if (!is_reading_ || has_ended()) return false;
  if (!kernel_.counts && is_free(kernel_)) {
    launch();
    return true;
  }
  if (copy_.counts || !is_free(copy_)) return false;
  copy();
  return true;
}

std::optional<BlockNeeds> TableReader::room() const {
  if (lateness_ < copies_are_late_from) return std::nullopt;
  return BlockNeeds{.threads = threads, .registers_per_thread = registers_};
}

}  // namespace gpushare::cuda
