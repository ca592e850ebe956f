// SPDX-License-Identifier: Apache-2.0
#include "cuda/table_reader.hpp"

#include <array>
#include <string_view>

#include "cuda/driver.hpp"
#include "cuda/kernel_code.hpp"

namespace gpushare::cuda {
namespace {

constexpr unsigned threads = 128;
constexpr std::size_t bytes_per_thread = 16;

/// Looks are 15 to 500 us apart: some hundred milliseconds, after which a copy is tried again.
constexpr int kernels_after_late_copy = 2000;

/// Copies `words` words of 16 bytes. Volatile, for other SMs write what it reads.
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

// The most urgent streams, for what they do is short and somebody waits for it.
TableReader::TableReader(const SharedContext& context, Completions& completions, std::size_t most_bytes)
    : completions_(completions),
      copies_(make_stream(context, context->stream_priorities().front())),
      kernels_(make_stream(context, context->stream_priorities().front())),
      module_(load_module(context, source)),
      kernel_(find_function(module_, "read_tables")),
      registers_(attribute(kernel_, CU_FUNC_ATTRIBUTE_NUM_REGS)),
      copied_(make_pinned_memory(context, most_bytes)),
      written_(make_pinned_memory(context, most_bytes)),
      written_address_(device_address(written_)),
      data_(static_cast<const std::byte*>(copied_.get())) {}

void TableReader::start(CUdeviceptr tables, std::size_t bytes, CUevent behind) {
  tables_ = tables;
  bytes_ = bytes;
  is_copy_ = !by_kernel();
  const Stream& stream = is_copy_ ? copies_ : kernels_;
  GPUSHARE_CU(cuStreamWaitEvent(stream.get(), behind, CU_EVENT_WAIT_DEFAULT));
  is_copy_ ? copy() : launch();
}

void TableReader::copy() {
  GPUSHARE_CU(cuMemcpyDtoHAsync(copied_.get(), tables_, bytes_, copies_.get()));
  read_ = completions_.mark(copies_.get());
}

void TableReader::launch() {
  auto words = static_cast<unsigned>(bytes_ / bytes_per_thread);
  std::array<void*, 3> arguments{&tables_, &written_address_, &words};
  GPUSHARE_CU(cuLaunchKernel(kernel_, 1, 1, 1, threads, 1, 1, 0, kernels_.get(), arguments.data(), nullptr));
  read_ = completions_.mark(kernels_.get());
}

void TableReader::end() {
  completions_.give_back(read_);
  read_ = {};
  data_ = static_cast<const std::byte*>(is_copy_ ? copied_.get() : written_.get());
  if (!is_copy_ && kernels_to_come_ > 0) --kernels_to_come_;
  if (late_copy_.word == nullptr || !late_copy_.reached()) return;
  completions_.give_back(late_copy_);
  late_copy_ = {};
}

bool TableReader::hurry() {
  if (!is_copy_ || !is_reading() || has_ended()) return false;
  late_copy_ = read_;
  kernels_to_come_ = kernels_after_late_copy;
  is_copy_ = false;
  launch();
  return true;
}

std::optional<BlockNeeds> TableReader::room() const {
  if (!by_kernel()) return std::nullopt;
  return BlockNeeds{.threads = threads, .registers_per_thread = registers_};
}

}  // namespace gpushare::cuda
