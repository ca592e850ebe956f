// SPDX-License-Identifier: Apache-2.0
// bar and barrier: .sync, .arrive, .red and .warp.sync.
#include <array>

#include "ptx_interpreter/block.hpp"
#include "ptx_interpreter/encoder.hpp"
#include "ptx_interpreter/rules/rules.hpp"
#include "ptx_interpreter/warp_operations.hpp"

namespace gpushare::interpreter {
namespace {

BarrierKind kind_of(const Encoder& encoder) {
  if (encoder.has("arrive")) return BarrierKind::Arrive;
  if (!encoder.has("red")) return BarrierKind::Sync;
  if (encoder.has("popc")) return BarrierKind::ReducePopulation;
  return encoder.has("and") ? BarrierKind::ReduceAnd : BarrierKind::ReduceOr;
}

/// Operands: [destination,] barrier [, count] [, predicate]
void encode_block_barrier(Encoder& encoder) {
  Operation& operation = encoder.operation();
  const BarrierKind kind = kind_of(encoder);
  const bool reduces = encoder.has("red");
  std::size_t operand = 0;
  operation.mode = static_cast<std::uint8_t>(kind);
  operation.aligned = encoder.opcode().starts_with("bar.") || encoder.has("aligned");
  if (reduces) operation.slot[0] = encoder.destination(operand++);
  operation.slot[1] = encoder.source(operand++, Scalar::U32);
  const bool has_count = operand + (reduces ? 1 : 0) < encoder.operands();
  operation.slot[2] = has_count ? encoder.source(operand++, Scalar::U32) : no_slot;
  if (reduces) operation.slot[3] = encoder.source(operand, Scalar::Pred);
  if (kind == BarrierKind::Arrive && !has_count) encoder.fail("an arrival needs a count");
  encoder.use(&arrive);
}

void encode_barrier(Encoder& encoder) {
  if (encoder.has("cluster")) encoder.fail("the interpreter does not know clusters");
  if (!encoder.has("warp")) return encode_block_barrier(encoder);
  encoder.operation().slot[mask_slot] = encoder.source(0, Scalar::B32);
  encoder.operation().collective = &leave_warp_barrier;
  encoder.use(&wait_for_lanes);
}

constexpr std::array rules = {
    Rule{"bar", encode_barrier},
    Rule{"barrier", encode_barrier},
};

}  // namespace

std::span<const Rule> barrier_rules() { return rules; }

}  // namespace gpushare::interpreter
