// SPDX-License-Identifier: Apache-2.0
#include "ptx_interpreter/special_registers.hpp"

#include <array>

#include "ptx_interpreter/block.hpp"

namespace gpushare::interpreter {
namespace {

const Block& block(const Thread& thread) { return *thread.block; }
const Launch& launch(const Thread& thread) { return thread.block->launch; }
std::uint64_t bit(const Thread& thread) { return std::uint64_t{1} << thread.lane; }

struct Entry {
  std::string_view name;
  SpecialRegister value;
};

const std::array entries = {
    Entry{"%tid.x", {[](const Thread& t) -> std::uint64_t { return t.position[0]; }}},
    Entry{"%tid.y", {[](const Thread& t) -> std::uint64_t { return t.position[1]; }}},
    Entry{"%tid.z", {[](const Thread& t) -> std::uint64_t { return t.position[2]; }}},
    Entry{"%ntid.x", {[](const Thread& t) -> std::uint64_t { return launch(t).grid.threads.x; }}},
    Entry{"%ntid.y", {[](const Thread& t) -> std::uint64_t { return launch(t).grid.threads.y; }}},
    Entry{"%ntid.z", {[](const Thread& t) -> std::uint64_t { return launch(t).grid.threads.z; }}},
    Entry{"%ctaid.x", {[](const Thread& t) -> std::uint64_t { return block(t).position[0]; }}},
    Entry{"%ctaid.y", {[](const Thread& t) -> std::uint64_t { return block(t).position[1]; }}},
    Entry{"%ctaid.z", {[](const Thread& t) -> std::uint64_t { return block(t).position[2]; }}},
    Entry{"%nctaid.x", {[](const Thread& t) -> std::uint64_t { return launch(t).grid.blocks.x; }}},
    Entry{"%nctaid.y", {[](const Thread& t) -> std::uint64_t { return launch(t).grid.blocks.y; }}},
    Entry{"%nctaid.z", {[](const Thread& t) -> std::uint64_t { return launch(t).grid.blocks.z; }}},
    Entry{"%tid.w", {[](const Thread&) -> std::uint64_t { return 0; }}},
    Entry{"%ntid.w", {[](const Thread&) -> std::uint64_t { return 0; }}},
    Entry{"%ctaid.w", {[](const Thread&) -> std::uint64_t { return 0; }}},
    Entry{"%nctaid.w", {[](const Thread&) -> std::uint64_t { return 0; }}},
    Entry{"%laneid", {[](const Thread& t) -> std::uint64_t { return t.lane; }}},
    Entry{"%warpid", {[](const Thread& t) -> std::uint64_t { return t.index / warp_size; }}},
    Entry{"%nwarpid", {[](const Thread&) -> std::uint64_t { return 64; }}},
    Entry{"%smid", {[](const Thread& t) -> std::uint64_t { return block(t).sm; }}},
    Entry{"%nsmid", {[](const Thread& t) -> std::uint64_t { return launch(t).sms; }}},
    Entry{"%gridid", {[](const Thread&) -> std::uint64_t { return 1; }}},
    Entry{"%lanemask_eq", {[](const Thread& t) -> std::uint64_t { return bit(t); }}},
    Entry{"%lanemask_lt", {[](const Thread& t) -> std::uint64_t { return bit(t) - 1; }}},
    Entry{"%lanemask_le", {[](const Thread& t) -> std::uint64_t { return 2 * bit(t) - 1; }}},
    Entry{"%lanemask_gt", {[](const Thread& t) -> std::uint64_t { return ~(2 * bit(t) - 1) & 0xffffffffu; }}},
    Entry{"%lanemask_ge", {[](const Thread& t) -> std::uint64_t { return ~(bit(t) - 1) & 0xffffffffu; }}},
    Entry{"%dynamic_smem_size", {[](const Thread& t) -> std::uint64_t { return launch(t).grid.dynamic_shared_bytes; }}},
    Entry{"%total_smem_size", {[](const Thread& t) -> std::uint64_t { return block(t).shared.size(); }}},
    Entry{"%clock", {[](const Thread& t) -> std::uint64_t { return launch(t).clock(); }, true}},
    Entry{"%clock64", {[](const Thread& t) -> std::uint64_t { return launch(t).clock(); }, true}},
    Entry{"%clock_hi", {[](const Thread& t) -> std::uint64_t { return launch(t).clock() >> 32; }, true}},
    Entry{"%globaltimer", {[](const Thread& t) -> std::uint64_t { return launch(t).clock(); }, true}},
    Entry{"%globaltimer_lo", {[](const Thread& t) -> std::uint64_t { return launch(t).clock(); }, true}},
    Entry{"%globaltimer_hi", {[](const Thread& t) -> std::uint64_t { return launch(t).clock() >> 32; }, true}},
};

}  // namespace

std::optional<SpecialRegister> special_register(std::string_view name) {
  for (const Entry& each : entries) {
    if (each.name == name) return each.value;
  }
  return std::nullopt;
}

}  // namespace gpushare::interpreter
