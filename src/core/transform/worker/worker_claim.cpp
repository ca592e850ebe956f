// SPDX-License-Identifier: Apache-2.0
#include "core/transform/worker/worker_claim.hpp"

#include "core/transform/worker/text_template.hpp"

namespace gpushare::ptx::worker_text {
namespace {

/// A worker counts itself out before it reads the quota again, so that of two workers too many for one place only one
/// leaves.
constexpr const char* stay_or_leave = R"(	ld.volatile.global.u32 	%gpushare_workers, [%gpushare_a];
	ld.volatile.global.u32 	%gpushare_order, [%gpushare_b];
	mov.u32 	%gpushare_next, 0;
	mov.u32 	%gpushare_j, 0;
	and.b32 	%gpushare_i, %gpushare_order, 65535;  // the quota
	setp.le.u32 	%gpushare_p, %gpushare_workers, %gpushare_i;
	@%gpushare_p bra 	$gpushare_allowed_{place};
	// gpushare: more workers than the quota allows
	atom.global.add.u32 	%gpushare_k, [%gpushare_a], -1;
	ld.volatile.global.u32 	%gpushare_order, [%gpushare_b];
	and.b32 	%gpushare_i, %gpushare_order, 65535;
	setp.le.u32 	%gpushare_p, %gpushare_k, %gpushare_i;
	@%gpushare_p red.global.add.u32 	[%gpushare_a], 1;  // others have left in the meantime, or more are allowed
	@%gpushare_p bra 	$gpushare_allowed_{place};
	mov.u32 	%gpushare_i, 0;
	st.shared.u32 	[gpushare_claim+52], %gpushare_i;  // its place is given back already
	bra 	$gpushare_claimed_{place};
$gpushare_allowed_{place}:
)";

/// The progress of the grid is known from the claim before, which is exact enough for chunks that shrink towards the
/// end, and costs no wait.
constexpr const char* take_chunk = R"(	ld.shared.u32 	%gpushare_k, [gpushare_claim+56];
	ld.param.u32 	%gpushare_i, [gpushare_worker+16];
	sub.u32 	%gpushare_i, %gpushare_i, %gpushare_k;
	ld.param.u32 	%gpushare_j, [gpushare_worker+20];
	shr.u32 	%gpushare_i, %gpushare_i, %gpushare_j;  // smaller chunks towards the end
	shr.u32 	%gpushare_j, %gpushare_order, 16;
	min.u32 	%gpushare_j, %gpushare_j, %gpushare_i;
	max.u32 	%gpushare_j, %gpushare_j, 1;
)";

constexpr const char* take_one = "\tmov.u32 \t%gpushare_j, 1;\n";

constexpr const char* take = R"(	ld.param.u64 	%gpushare_b, [gpushare_worker];
	cvta.to.global.u64 	%gpushare_b, %gpushare_b;
	atom.global.add.u32 	%gpushare_next, [%gpushare_b], %gpushare_j;
$gpushare_claimed_{place}:
)";

constexpr const char* take_from_all = R"(	ld.param.u64 	%gpushare_b, [gpushare_worker+64];
	cvta.to.global.u64 	%gpushare_b, %gpushare_b;
	atom.sys.global.add.u32 	%gpushare_next, [%gpushare_b], %gpushare_j;
$gpushare_claimed_{place}:
)";

/// %gpushare_j: the tasks claimed, %gpushare_k: all there are.
constexpr const char* note_claim = R"(
	// gpushare: what this device has claimed, and whether others have the rest
	ld.param.u64 	%gpushare_b, [gpushare_worker];
	cvta.to.global.u64 	%gpushare_b, %gpushare_b;
	red.global.add.u32 	[%gpushare_b], %gpushare_j;
	setp.ge.u32 	%gpushare_p, %gpushare_next, %gpushare_k;
	@%gpushare_p red.global.or.b32 	[%gpushare_b], -2147483648;)";

/// Splits a value by the FastDivisor at this offset of the parameter: value = quotient * divisor + remainder.
std::string divide(const std::string& value, const std::string& quotient, const std::string& remainder, int offset) {
  std::string text = R"(
	ld.param.u32 	%gpushare_i, [gpushare_worker+{multiplier}];
	mul.wide.u32 	%gpushare_a, {value}, %gpushare_i;
	ld.param.u32 	%gpushare_i, [gpushare_worker+{shift}];
	shr.u64 	%gpushare_a, %gpushare_a, %gpushare_i;
	cvt.u32.u64 	%gpushare_j, %gpushare_a;
	ld.param.u32 	%gpushare_i, [gpushare_worker+{divisor}];
	mul.lo.u32 	%gpushare_i, %gpushare_j, %gpushare_i;
	sub.u32 	{remainder}, {value}, %gpushare_i;
	mov.u32 	{quotient}, %gpushare_j;)";
  text = filled(filled(filled(text, "value", value), "quotient", quotient), "remainder", remainder);
  text = filled(filled(text, "divisor", std::to_string(offset)), "multiplier", std::to_string(offset + 4));
  return filled(text, "shift", std::to_string(offset + 8));
}

std::string first_block_index(const BlockIndexUse& use) {
  if (!use.any()) return "";
  std::string text = divide("%gpushare_next", "%gpushare_y", "%gpushare_x", 24);
  if (use.y || use.z) text += divide("%gpushare_y", "%gpushare_z", "%gpushare_y", 36);
  return text;
}

}  // namespace

std::string claim(const std::string& place, const WorkerNeeds& needs) {
  const std::string chunk = needs.waits_for_blocks ? take_one : take_chunk;
  return filled(stay_or_leave + chunk + (needs.reach == Reach::OneDevice ? take : take_from_all), "place", place);
}

// The bottom bit of %gpushare_left says which slot was read last.
std::string next_slot() {
  return R"(	xor.b32 	%gpushare_left, %gpushare_left, 1;
	shl.b32 	%gpushare_i, %gpushare_left, 4;
	mov.u32 	%gpushare_slot, gpushare_claim;
	add.u32 	%gpushare_slot, %gpushare_slot, %gpushare_i;
)";
}

std::string publish(const std::string& place, const WorkerNeeds& needs, const BlockIndexUse& use) {
  const std::string begin = R"(	st.shared.u32 	[gpushare_claim+56], %gpushare_next;
	ld.param.u32 	%gpushare_k, [gpushare_worker+16];
	add.u32 	%gpushare_j, %gpushare_next, %gpushare_j;
	min.u32 	%gpushare_j, %gpushare_j, %gpushare_k;
	max.u32 	%gpushare_j, %gpushare_j, %gpushare_next;
	sub.u32 	%gpushare_j, %gpushare_j, %gpushare_next;
	st.shared.u32 	[gpushare_claim+48], %gpushare_j;{note_claim}
	shl.b32 	%gpushare_j, %gpushare_j, 1;
	or.b32 	%gpushare_left, %gpushare_left, %gpushare_j;)";
  const std::string end = R"(
	st.shared.v4.u32 	[%gpushare_slot], {%gpushare_x, %gpushare_y, %gpushare_z, %gpushare_left};
$gpushare_published_{place}:
	bar.sync 	0;
	ld.shared.v4.u32 	{%gpushare_x, %gpushare_y, %gpushare_z, %gpushare_left}, [%gpushare_slot];
)";
  const std::string text = filled(begin, "note_claim", needs.reach == Reach::OneDevice ? "" : note_claim);
  return filled(text + first_block_index(use) + end, "place", place);
}

}  // namespace gpushare::ptx::worker_text
