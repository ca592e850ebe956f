// SPDX-License-Identifier: Apache-2.0
#include "core/transform/worker_claim.hpp"

#include "core/transform/text_template.hpp"

namespace gpushare::ptx::worker_text {
namespace {

constexpr const char* unless_near_the_end = R"(
	ld.param.u32 	%gpushare_m, [gpushare_worker+52];
	add.u32 	%gpushare_m, %gpushare_next, %gpushare_m;
	setp.ge.u32 	%gpushare_p, %gpushare_m, %gpushare_k;{forget}
	@%gpushare_p bra 	$gpushare_body;)";

/// Registers that live across the body may cost the kernel its own; then the leader waits for the claim and keeps it in
/// memory, where only its own branch loads it. Elsewhere it goes on while the claim is under way.
constexpr const char* keep_in_memory =
    R"(	st.shared.v2.u32 	[gpushare_claim+56], {%gpushare_next, %gpushare_count};
)";
constexpr const char* load_from_memory =
    R"(	ld.shared.v2.u32 	{%gpushare_next, %gpushare_count}, [gpushare_claim+56];
)";

/// Near the end of the grid nothing is claimed early: a count of -1 says so to the end of the chunk.
std::string forget(const WorkerNeeds& needs) {
  const std::string text = "\n\t@%gpushare_p mov.u32 \t%gpushare_count, -1;";
  return needs.claims_in_memory ? text + "\n\t@%gpushare_p st.shared.u32 \t[gpushare_claim+60], %gpushare_count;"
                                : text;
}

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

/// Which slot comes next is one more register, or, where there is none to spare, the top bit of %gpushare_left.
std::string next_slot(const WorkerNeeds& needs) {
  if (!needs.claims_in_memory) return "\txor.b32 \t%gpushare_slot, %gpushare_slot, 16;\n";
  return R"(	and.b32 	%gpushare_i, %gpushare_left, -2147483648;
	xor.b32 	%gpushare_left, %gpushare_i, -2147483648;
	shr.u32 	%gpushare_i, %gpushare_i, 27;
	mov.u32 	%gpushare_slot, gpushare_claim;
	add.u32 	%gpushare_slot, %gpushare_slot, %gpushare_i;
)";
}

/// Instead of a claim ahead: a count of -1 tells the end of the chunk that there is none.
std::string claim_nothing(const WorkerNeeds& needs) {
  const std::string text = "\n\tmov.u32 \t%gpushare_count, -1;\n";
  return needs.claims_in_memory ? text + "\tst.shared.u32 \t[gpushare_claim+60], %gpushare_count;\n" : text;
}

}  // namespace

std::string claim(Claim when, const WorkerNeeds& needs) {
  if (when == Claim::Early && needs.waits_for_blocks) return claim_nothing(needs);
  const std::string text = R"(
	ld.shared.u64 	%gpushare_a, [gpushare_claim+32];
	ld.volatile.global.v2.u32 	{%gpushare_i, %gpushare_j}, [%gpushare_a];  // quota, workers
	ld.volatile.global.v2.u32 	{%gpushare_next, %gpushare_count}, [%gpushare_control];  // next task, chunk
{one_at_a_time}	ld.param.u32 	%gpushare_k, [gpushare_worker+16];  // tasks{unless_near_the_end}
	setp.le.u32 	%gpushare_p, %gpushare_j, %gpushare_i;
	@%gpushare_p bra 	$gpushare_{when}_allowed;
	// gpushare: more workers than the quota allows
	atom.global.add.u32 	%gpushare_j, [%gpushare_a+4], -1;
	setp.gt.u32 	%gpushare_p, %gpushare_j, %gpushare_i;
	@%gpushare_p mov.u32 	%gpushare_count, 0;
	@%gpushare_p st.shared.u32 	[gpushare_claim+52], 0;  // its place is given back already
	@%gpushare_p bra 	$gpushare_{when}_claimed;
	red.global.add.u32 	[%gpushare_a+4], 1;  // others have left in the meantime
$gpushare_{when}_allowed:
	setp.ge.u32 	%gpushare_p, %gpushare_next, %gpushare_k;
	@%gpushare_p mov.u32 	%gpushare_count, 0;
	@%gpushare_p bra 	$gpushare_{when}_claimed;
	sub.u32 	%gpushare_i, %gpushare_k, %gpushare_next;
	ld.param.u32 	%gpushare_j, [gpushare_worker+20];
	shr.u32 	%gpushare_i, %gpushare_i, %gpushare_j;  // smaller chunks towards the end
	min.u32 	%gpushare_count, %gpushare_count, %gpushare_i;
	max.u32 	%gpushare_count, %gpushare_count, 1;
	atom.global.add.u32 	%gpushare_next, [%gpushare_control], %gpushare_count;
$gpushare_{when}_claimed:
{keep})";
  const char* keep = needs.claims_in_memory ? keep_in_memory : "";
  const char* one = needs.waits_for_blocks ? "\tmov.u32 \t%gpushare_count, 1;\n" : "";
  const char* name = when == Claim::First ? "first" : when == Claim::Early ? "early" : "late";
  const std::string early = when == Claim::Early ? filled(unless_near_the_end, "forget", forget(needs)) : "";
  return filled(filled(filled(filled(text, "when", name), "unless_near_the_end", early), "keep", keep), "one_at_a_time",
                one);
}

// Without the bit that next_slot() may keep beside it.
std::string with_tasks_left(const std::string& text, const WorkerNeeds& needs) {
  const char* mask = "\tand.b32 \t%gpushare_i, %gpushare_left, 2147483647;\n";
  return filled(filled(text, "mask_left", needs.claims_in_memory ? mask : ""), "left",
                needs.claims_in_memory ? "%gpushare_i" : "%gpushare_left");
}

// Two slots in turn: a fast leader must not overwrite what a slow thread has yet to read.
std::string publish(const std::string& place, const WorkerNeeds& needs, const BlockIndexUse& use) {
  const std::string begin = R"(	@!%gpushare_leader bra 	$gpushare_{place}_published;
{load}	add.u32 	%gpushare_j, %gpushare_next, %gpushare_count;
	ld.param.u32 	%gpushare_k, [gpushare_worker+16];
	min.u32 	%gpushare_j, %gpushare_j, %gpushare_k;
	max.u32 	%gpushare_j, %gpushare_j, %gpushare_next;
	sub.u32 	%gpushare_j, %gpushare_j, %gpushare_next;
	{put}.b32 	%gpushare_left, {rest}%gpushare_j;)";
  const std::string end = R"(
	st.shared.v4.u32 	[%gpushare_slot], {%gpushare_x, %gpushare_y, %gpushare_z, %gpushare_left};
$gpushare_{place}_published:
	bar.sync 	0;
	ld.shared.v4.u32 	{%gpushare_x, %gpushare_y, %gpushare_z, %gpushare_left}, [%gpushare_slot];
)";
  std::string text = next_slot(needs) + filled(begin + first_block_index(use) + end, "place", place);
  text = filled(filled(text, "put", needs.claims_in_memory ? "or" : "mov"), "rest",
                needs.claims_in_memory ? "%gpushare_left, " : "");
  return filled(text, "load", needs.claims_in_memory ? load_from_memory : "");
}

}  // namespace gpushare::ptx::worker_text
