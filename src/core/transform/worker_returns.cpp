// SPDX-License-Identifier: Apache-2.0
#include "core/transform/worker_returns.hpp"

#include "core/transform/text_template.hpp"
#include "core/transform/worker_control.hpp"

namespace gpushare::ptx::worker_text {
namespace {

/// The slot of a turn.
constexpr const char* slot_of_turn = R"(	and.b32 	%gpushare_k, %gpushare_k, {last_slot};
	ld.param.u64 	%gpushare_c, [gpushare_worker+56];
	cvta.to.global.u64 	%gpushare_c, %gpushare_c;
	mad.wide.u32 	%gpushare_c, %gpushare_k, 8, %gpushare_c;
)";

std::string with_slot(const std::string& text) {
  static_assert((returned_slots & (returned_slots - 1)) == 0);
  return filled(filled(text, "slot_of_turn", slot_of_turn), "last_slot", std::to_string(returned_slots - 1));
}

}  // namespace

std::string hand_back() {
  return with_slot(R"(	// gpushare: hand back what was claimed ahead
	ld.param.u32 	%gpushare_k, [gpushare_worker+16];
	setp.ge.u32 	%gpushare_p, %gpushare_next, %gpushare_k;
	@%gpushare_p bra 	$gpushare_nothing;
	sub.u32 	%gpushare_k, %gpushare_k, %gpushare_next;
	min.u32 	%gpushare_j, %gpushare_j, %gpushare_k;
	ld.param.u64 	%gpushare_a, [gpushare_worker];
	cvta.to.global.u64 	%gpushare_a, %gpushare_a;
	red.global.add.u32 	[%gpushare_a+8], %gpushare_j;
	mov.b64 	%gpushare_b, {%gpushare_next, %gpushare_j};
$gpushare_draw:
	atom.global.add.u32 	%gpushare_k, [%gpushare_a+16], 1;
{slot_of_turn}	atom.global.cas.b64 	%gpushare_d, [%gpushare_c], 0, %gpushare_b;
	setp.eq.u64 	%gpushare_p, %gpushare_d, 0;
	@%gpushare_p bra 	$gpushare_nothing;
	atom.global.cas.b64 	%gpushare_d, [%gpushare_c], -1, 0;  // whose turn it was to take has come too early
	bra 	$gpushare_draw;
)");
}

std::string take_back() {
  return with_slot(R"($gpushare_take_back_{place}:
	ld.param.u64 	%gpushare_a, [gpushare_worker];
	cvta.to.global.u64 	%gpushare_a, %gpushare_a;
	ld.volatile.global.v2.u32 	{%gpushare_i, %gpushare_k}, [%gpushare_a+16];
	sub.u32 	%gpushare_i, %gpushare_i, %gpushare_k;
	setp.le.s32 	%gpushare_p, %gpushare_i, 0;
	@%gpushare_p bra 	$gpushare_none_back_{place};
	atom.global.add.u32 	%gpushare_k, [%gpushare_a+20], 1;
{slot_of_turn}	atom.global.exch.b64 	%gpushare_b, [%gpushare_c], -1;
	add.s64 	%gpushare_d, %gpushare_b, 1;
	setp.le.u64 	%gpushare_p, %gpushare_d, 1;  // too early: still empty, or another one was
	@%gpushare_p bra 	$gpushare_take_back_{place};
	atom.global.cas.b64 	%gpushare_d, [%gpushare_c], -1, 0;
	mov.b64 	{%gpushare_next, %gpushare_j}, %gpushare_b;
	neg.s32 	%gpushare_k, %gpushare_j;
	red.global.add.u32 	[%gpushare_a+8], %gpushare_k;
	bra 	$gpushare_claimed_{place};
$gpushare_none_back_{place}:
)");
}

}  // namespace gpushare::ptx::worker_text
