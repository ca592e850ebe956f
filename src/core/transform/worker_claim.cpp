// SPDX-License-Identifier: Apache-2.0
#include "core/transform/worker_claim.hpp"

#include "core/transform/text_template.hpp"
#include "core/transform/worker_returns.hpp"

namespace gpushare::ptx::worker_text {
namespace {

/// %gpushare_j: how many tasks to claim. Where the grid has come to is known from the claim before, which is good
/// enough for chunks that shrink towards the end, and costs no wait.
constexpr const char* chunk_size = R"(	sub.u32 	%gpushare_i, %gpushare_i, %gpushare_k;
	ld.param.u32 	%gpushare_j, [gpushare_worker+20];
	shr.u32 	%gpushare_i, %gpushare_i, %gpushare_j;  // smaller chunks towards the end
	shr.u32 	%gpushare_j, {order}, 16;
	min.u32 	%gpushare_j, %gpushare_j, %gpushare_i;
	max.u32 	%gpushare_j, %gpushare_j, 1;
{one_at_a_time})";

constexpr const char* take = R"(	ld.param.u64 	%gpushare_b, [gpushare_worker];
	cvta.to.global.u64 	%gpushare_b, %gpushare_b;
	{guard}atom.global.add.u32 	%gpushare_next, [%gpushare_b], %gpushare_j;
)";

std::string with_chunk_size(const std::string& text, const std::string& order, const std::string& guard,
                            const WorkerNeeds& needs) {
  const std::string size = filled(chunk_size, "order", order);
  const char* one = needs.waits_for_blocks ? "\tmov.u32 \t%gpushare_j, 1;\n" : "";
  return filled(filled(filled(text, "chunk_size", size), "one_at_a_time", one), "take", filled(take, "guard", guard));
}

/// Goes to $gpushare_allowed_{place} unless the worker has to leave; then its place is given back.
constexpr const char* unless_too_many = R"(	and.b32 	%gpushare_i, %gpushare_order, 65535;  // the quota
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
)";

/// Registers that live across the body may cost the kernel its own; then the leader waits for what it has asked for,
/// and keeps it in memory.
constexpr const char* keep_in_memory =
    R"(	@%gpushare_p st.shared.u32 	[gpushare_claim+56], %gpushare_next;
	@%gpushare_p st.shared.v2.u32 	[gpushare_claim+64], {%gpushare_order, %gpushare_workers};
)";
constexpr const char* load_from_memory = R"(	ld.shared.u32 	%gpushare_next, [gpushare_claim+56];
	ld.shared.v2.u32 	{%gpushare_order, %gpushare_workers}, [gpushare_claim+64];
)";

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

// Without a branch that only the leader takes: its warp must not be apart when the body begins. What only some threads
// load is set first, or the registers would be kept for it through the body before.
std::string claim_ahead(const WorkerNeeds& needs) {
  if (needs.waits_for_blocks) return "";
  const std::string text = R"({mask_left}	setp.ne.u32 	%gpushare_p, {left}, 1;
	@%gpushare_p bra 	$gpushare_body;
	// gpushare: the leader claims the next chunk while the last task of this one runs, but not near the end of the grid
	mov.u32 	%gpushare_k, 0;
	mov.u32 	%gpushare_m, 0;
	mov.u64 	%gpushare_a, 0;
	mov.u64 	%gpushare_b, 0;
	mov.u32 	%gpushare_workers, 0;
	mov.u32 	%gpushare_order, 0;
	mov.u32 	%gpushare_next, 0;
	@%gpushare_leader ld.shared.u32 	%gpushare_k, [gpushare_claim+56];  // where the grid had come at the claim before
	@%gpushare_leader ld.shared.u32 	%gpushare_m, [gpushare_claim+64];
	@%gpushare_leader ld.shared.u64 	%gpushare_a, [gpushare_claim+32];
	@%gpushare_leader ld.shared.u64 	%gpushare_b, [gpushare_claim+72];
	ld.param.u32 	%gpushare_i, [gpushare_worker+16];  // tasks
	ld.param.u32 	%gpushare_j, [gpushare_worker+52];
	add.u32 	%gpushare_j, %gpushare_k, %gpushare_j;
	setp.lt.and.u32 	%gpushare_p, %gpushare_j, %gpushare_i, %gpushare_leader;
	@%gpushare_p ld.volatile.global.u32 	%gpushare_workers, [%gpushare_a];
	@%gpushare_p ld.volatile.global.u32 	%gpushare_order, [%gpushare_b];
{chunk_size}{take}	@%gpushare_p st.shared.u32 	[gpushare_claim+60], %gpushare_j;
{keep}$gpushare_body:
)";
  const std::string kept = filled(with_chunk_size(text, "%gpushare_m", "@%gpushare_p ", needs), "keep",
                                  needs.claims_in_memory ? keep_in_memory : "");
  return with_tasks_left(kept, needs);
}

std::string first_chunk(const WorkerNeeds& needs) {
  const std::string text = R"(	ld.volatile.global.u32 	%gpushare_workers, [%gpushare_a];
	ld.volatile.global.u32 	%gpushare_order, [%gpushare_b];
	mov.u32 	%gpushare_j, 0;
{unless_too_many}	bra 	$gpushare_claimed_first;
$gpushare_allowed_first:
	// gpushare: a newcomer takes first what others have handed back
{take_back}	mov.u32 	%gpushare_k, 0;
	ld.param.u32 	%gpushare_i, [gpushare_worker+16];
{chunk_size}{take}$gpushare_claimed_first:
)";
  const std::string sized = with_chunk_size(text, "%gpushare_order", "", needs);
  const std::string checked = filled(sized, "unless_too_many", unless_too_many);
  return filled(filled(checked, "take_back", take_back()), "place", "first");
}

std::string next_chunk(const WorkerNeeds& needs) {
  const std::string text = R"(	ld.shared.u32 	%gpushare_m, [gpushare_claim+48];
	ld.shared.u64 	%gpushare_a, [gpushare_claim+32];
	ld.shared.u64 	%gpushare_b, [gpushare_claim+72];
	ld.shared.u32 	%gpushare_j, [gpushare_claim+60];  // -1: nothing was claimed ahead
{load}	setp.eq.u32 	%gpushare_p, %gpushare_j, -1;
	@%gpushare_p ld.volatile.global.u32 	%gpushare_workers, [%gpushare_a];
	@%gpushare_p ld.volatile.global.u32 	%gpushare_order, [%gpushare_b];
{unless_too_many}	setp.eq.u32 	%gpushare_p, %gpushare_j, -1;
	@%gpushare_p bra 	$gpushare_nothing;
{hand_back}$gpushare_allowed_next:
	setp.ne.u32 	%gpushare_p, %gpushare_j, -1;
	@%gpushare_p bra 	$gpushare_taken;
	ld.shared.u32 	%gpushare_k, [gpushare_claim+56];
	ld.param.u32 	%gpushare_i, [gpushare_worker+16];
{chunk_size}{take}$gpushare_taken:
	ld.param.u32 	%gpushare_i, [gpushare_worker+16];
	setp.lt.u32 	%gpushare_p, %gpushare_next, %gpushare_i;
	@%gpushare_p bra 	$gpushare_claimed_next;
	// gpushare: nobody leaves for good while there are tasks that others have handed back
{take_back}$gpushare_nothing:
	mov.u32 	%gpushare_j, 0;
$gpushare_claimed_next:
)";
  const std::string sized = with_chunk_size(text, "%gpushare_order", "", needs);
  const std::string checked = filled(filled(sized, "unless_too_many", unless_too_many), "hand_back", hand_back());
  const std::string whole = filled(filled(checked, "take_back", take_back()), "place", "next");
  return filled(whole, "load", needs.claims_in_memory ? load_from_memory : "");
}

// Which slot comes next is one more register, or, where there is none to spare, the top bit of %gpushare_left.
std::string next_slot(const WorkerNeeds& needs) {
  if (!needs.claims_in_memory) return "\txor.b32 \t%gpushare_slot, %gpushare_slot, 16;\n";
  return R"(	and.b32 	%gpushare_i, %gpushare_left, -2147483648;
	xor.b32 	%gpushare_left, %gpushare_i, -2147483648;
	shr.u32 	%gpushare_i, %gpushare_i, 27;
	mov.u32 	%gpushare_slot, gpushare_claim;
	add.u32 	%gpushare_slot, %gpushare_slot, %gpushare_i;
)";
}

// Without the bit that next_slot() may keep beside it.
std::string with_tasks_left(const std::string& text, const WorkerNeeds& needs) {
  const char* mask = "\tand.b32 \t%gpushare_i, %gpushare_left, 2147483647;\n";
  return filled(filled(text, "mask_left", needs.claims_in_memory ? mask : ""), "left",
                needs.claims_in_memory ? "%gpushare_i" : "%gpushare_left");
}

std::string publish(const std::string& place, const WorkerNeeds& needs, const BlockIndexUse& use) {
  const std::string begin = R"(	st.shared.u32 	[gpushare_claim+56], %gpushare_next;
	st.shared.u32 	[gpushare_claim+64], %gpushare_order;
	ld.param.u32 	%gpushare_k, [gpushare_worker+16];
	add.u32 	%gpushare_j, %gpushare_next, %gpushare_j;
	min.u32 	%gpushare_j, %gpushare_j, %gpushare_k;
	max.u32 	%gpushare_j, %gpushare_j, %gpushare_next;
	sub.u32 	%gpushare_j, %gpushare_j, %gpushare_next;
	st.shared.u32 	[gpushare_claim+48], %gpushare_j;
	{put}.b32 	%gpushare_left, {rest}%gpushare_j;
	mov.u32 	%gpushare_j, -1;
	st.shared.u32 	[gpushare_claim+60], %gpushare_j;)";
  const std::string end = R"(
	st.shared.v4.u32 	[%gpushare_slot], {%gpushare_x, %gpushare_y, %gpushare_z, %gpushare_left};
$gpushare_published_{place}:
	bar.sync 	0;
	ld.shared.v4.u32 	{%gpushare_x, %gpushare_y, %gpushare_z, %gpushare_left}, [%gpushare_slot];
)";
  const std::string whole = filled(begin + first_block_index(use) + end, "place", place);
  const std::string text = filled(whole, "put", needs.claims_in_memory ? "or" : "mov");
  return filled(text, "rest", needs.claims_in_memory ? "%gpushare_left, " : "");
}

}  // namespace gpushare::ptx::worker_text
