// SPDX-License-Identifier: Apache-2.0
#include "core/transform/worker/worker_text.hpp"

#include "core/transform/worker/text_template.hpp"
#include "core/transform/worker/worker_claim.hpp"

namespace gpushare::ptx::worker_text {
namespace {

constexpr const char* store_block_index = R"(	// gpushare: called functions read blockIdx and gridDim from memory
	@%gpushare_leader st.shared.v4.u32 	[gpushare_block_index], {%gpushare_x, %gpushare_y, %gpushare_z, %gpushare_left};
	bar.sync 	0;
)";

constexpr const char* store_grid_size = R"(	ld.param.u32 	%gpushare_i, [gpushare_worker+24];
	st.shared.u32 	[gpushare_block_index+16], %gpushare_i;
	ld.param.u32 	%gpushare_i, [gpushare_worker+36];
	st.shared.u32 	[gpushare_block_index+20], %gpushare_i;
	ld.param.u32 	%gpushare_i, [gpushare_worker+48];
	st.shared.u32 	[gpushare_block_index+24], %gpushare_i;
)";

constexpr const char* find_leader = R"(	mov.u32 	%gpushare_i, %tid.x;
	mov.u32 	%gpushare_j, %tid.y;
	or.b32 	%gpushare_i, %gpushare_i, %gpushare_j;
	mov.u32 	%gpushare_j, %tid.z;
	or.b32 	%gpushare_i, %gpushare_i, %gpushare_j;
	setp.eq.u32 	%gpushare_leader, %gpushare_i, 0;
)";

/// Counted in before looking at the quota, so that two newcomers cannot both take the last place.
constexpr const char* enter = R"(	// gpushare: the leader takes a place on this SM
	mov.u32 	%gpushare_x, 0;
	mov.u32 	%gpushare_y, 0;
	mov.u32 	%gpushare_z, 0;
	mov.u32 	%gpushare_left, 0;
{find_leader}{next_slot}	@!%gpushare_leader bra 	$gpushare_published_first;
{store_grid_size}	ld.param.u64 	%gpushare_a, [gpushare_worker+8];
	cvta.to.global.u64 	%gpushare_a, %gpushare_a;
	mov.u32 	%gpushare_i, %smid;
	mad.wide.u32 	%gpushare_a, %gpushare_i, 24, %gpushare_a;
	st.shared.u64 	[gpushare_claim+32], %gpushare_a;  // this SM's entry
	red.global.add.u32 	[%gpushare_a], 1;
	ld.param.u64 	%gpushare_b, [gpushare_worker+56];
	cvta.to.global.u64 	%gpushare_b, %gpushare_b;
	mad.wide.u32 	%gpushare_b, %gpushare_i, 4, %gpushare_b;
	st.shared.u64 	[gpushare_claim+64], %gpushare_b;  // this SM's order
	mov.u64 	%gpushare_c, %globaltimer;
	st.shared.u64 	[gpushare_claim+40], %gpushare_c;
	mov.u32 	%gpushare_i, 1;
	st.shared.u32 	[gpushare_claim+52], %gpushare_i;  // it holds a place
	mov.u32 	%gpushare_i, 0;
	st.shared.u32 	[gpushare_claim+56], %gpushare_i;  // it knows of no claim
)";

constexpr const char* begin_task = R"(	setp.lt.u32 	%gpushare_p, %gpushare_left, 2;
	@%gpushare_p bra 	$gpushare_leave;
$gpushare_task:
)";

constexpr const char* end_task = R"(	sub.u32 	%gpushare_left, %gpushare_left, 2;
	setp.lt.u32 	%gpushare_p, %gpushare_left, 2;
	@%gpushare_p bra 	$gpushare_chunk_ended;
)";

/// The next task's block index is the next one in order.
std::string advance(const BlockIndexUse& use) {
  std::string text;
  if (use.any())
    text += R"(	add.u32 	%gpushare_x, %gpushare_x, 1;
	ld.param.u32 	%gpushare_i, [gpushare_worker+24];
	setp.ne.u32 	%gpushare_p, %gpushare_x, %gpushare_i;
	@%gpushare_p bra 	$gpushare_task;
	mov.u32 	%gpushare_x, 0;
)";
  if (use.y || use.z)
    text += R"(	add.u32 	%gpushare_y, %gpushare_y, 1;
	ld.param.u32 	%gpushare_i, [gpushare_worker+36];
	setp.ne.u32 	%gpushare_p, %gpushare_y, %gpushare_i;
	@%gpushare_p bra 	$gpushare_task;
	mov.u32 	%gpushare_y, 0;
	add.u32 	%gpushare_z, %gpushare_z, 1;
)";
  return text + "\tbra \t$gpushare_task;\n";
}

/// Each thread jumps from the single site to its continuation. A chain of branches is faster than an indirect one (a
/// kernel of nothing but barriers: 2.4 times its original time instead of 3.3), as long as it is short.
std::string continuations(int barriers) {
  constexpr int longest_chain = 8;
  const auto behind = [](int number) { return "$gpushare_after_" + std::to_string(number); };
  std::string text;
  if (barriers <= longest_chain) {
    for (int number = 1; number <= barriers; ++number) {
      text += "\tsetp.eq.u32 \t%gpushare_p, %gpushare_continue, " + std::to_string(number) +
              ";\n\t@%gpushare_p bra \t" + behind(number) + ";\n";
    }
    return text;
  }
  text = "$gpushare_targets: .branchtargets $gpushare_returned";
  for (int number = 1; number <= barriers; ++number) text += ", " + behind(number);
  return text + ";\n\tbrx.idx \t%gpushare_continue, $gpushare_targets;\n";
}

std::string single_site(int barriers) {
  return filled(R"(	mov.u32 	%gpushare_continue, 0;
$gpushare_site:
	// gpushare: every barrier of the kernel. Threads that have returned wait here too, for the others
	bar.warp.sync 	%gpushare_warp;
	setp.ne.u32 	%gpushare_p, %gpushare_continue, 0;
	bar.red.or.pred 	%gpushare_any, 0, %gpushare_p;
{continuations}$gpushare_returned:
	@%gpushare_any bra 	$gpushare_site;
)",
                "continuations", continuations(barriers));
}

constexpr const char* end_chunk = "$gpushare_chunk_ended:\n";

constexpr const char* ask = R"(	// gpushare: the leader claims the next chunk, or leaves
	mov.u32 	%gpushare_m, 0;
	@!%gpushare_leader bra 	$gpushare_published_next;
	ld.shared.u32 	%gpushare_m, [gpushare_claim+48];
	ld.shared.u64 	%gpushare_a, [gpushare_claim+32];
	ld.shared.u64 	%gpushare_b, [gpushare_claim+64];
)";

/// Told behind the barrier, when the other warps are at work again. %gpushare_m: tasks of the chunk that has ended.
constexpr const char* account = R"(	// gpushare: what was done, for the scheduler
	mov.u64 	%gpushare_a, 0;
	mov.u64 	%gpushare_b, 0;
	mov.u64 	%gpushare_c, 0;
	@%gpushare_leader mov.u64 	%gpushare_b, %globaltimer;
	@%gpushare_leader ld.shared.v2.u64 	{%gpushare_a, %gpushare_c}, [gpushare_claim+32];
	@%gpushare_leader st.shared.u64 	[gpushare_claim+40], %gpushare_b;
	sub.u64 	%gpushare_b, %gpushare_b, %gpushare_c;
	@%gpushare_leader red.global.add.u64 	[%gpushare_a+16], %gpushare_b;
	mov.u32 	%gpushare_i, 1;
	mov.b64 	%gpushare_b, {%gpushare_m, %gpushare_i};  // tasks and chunks, side by side
	@%gpushare_leader red.global.add.u64 	[%gpushare_a+8], %gpushare_b;
	setp.ge.u32 	%gpushare_p, %gpushare_left, 2;
	@%gpushare_p bra 	$gpushare_task;
)";

constexpr const char* leave = R"($gpushare_leave:
	// gpushare: give the place back
	@!%gpushare_leader bra 	$gpushare_end;
	ld.shared.u32 	%gpushare_i, [gpushare_claim+52];
	setp.eq.u32 	%gpushare_p, %gpushare_i, 0;
	@%gpushare_p bra 	$gpushare_left_behind;
	ld.shared.u64 	%gpushare_a, [gpushare_claim+32];
	red.global.add.u32 	[%gpushare_a], -1;
$gpushare_left_behind:
	ld.param.u64 	%gpushare_a, [gpushare_worker];
	cvta.to.global.u64 	%gpushare_a, %gpushare_a;
	red.global.add.u32 	[%gpushare_a+4], 1;
$gpushare_end:
	ret;
)";

std::size_t claim_bytes(const WorkerNeeds& needs) {
  if (needs.keeps_shared_alignment) return 1024;
  return needs.loads_for_all.empty() ? 80 : 128;
}

}  // namespace

std::size_t shared_bytes(const WorkerNeeds& needs) {
  return claim_bytes(needs) + (needs.functions_read_block_index ? 32 : 0);
}

std::string parameter() { return ".param .align 8 .b8 gpushare_worker[72]"; }

std::string block_index_slot() {
  return "// gpushare: blockIdx and gridDim of the present task, for called functions\n"
         ".shared .align 16 .b8 gpushare_block_index[32];\n";
}

std::string fill_block_index_slot() {
  std::string text = R"(
	{  // gpushare: blockIdx and gridDim, for called functions
	.reg .pred 	%gpushare_leader;
	.reg .b32 	%gpushare_i, %gpushare_j;
)";
  text += find_leader;
  int offset = 0;
  for (const std::string of : {"%ctaid", "%nctaid"}) {
    for (const std::string component : {".x", ".y", ".z"}) {
      text += "\tmov.u32 \t%gpushare_i, " + of + component + ";\n\t@%gpushare_leader st.shared.u32 " +
              "\t[gpushare_block_index+" + std::to_string(offset) + "], %gpushare_i;\n";
      offset += 4;
    }
    offset = 16;
  }
  return text + "\tbar.sync \t0;\n\t}";
}

std::string declarations(const WorkerNeeds& needs) {
  // The claim: 0, 16: two slots of {blockIdx, twice the tasks left and which slot this is}; 32: the SM's entry; 40:
  // when the chunk began; 48: its tasks; 52: does the worker hold a place? 56: the task claimed last; 64: the SM's
  // order; 96: what a load for all threads has found. The kernel's arrays follow, and if they began at a multiple of 16
  // they still have to.
  std::string text = R"(
	// gpushare: registers of the worker, and 80 bytes in which its leader keeps and publishes claims
	.reg .pred 	%gpushare_leader, %gpushare_p, %gpushare_any;
	.reg .b32 	%gpushare_x, %gpushare_y, %gpushare_z, %gpushare_left, %gpushare_slot;
	.reg .b32 	%gpushare_next, %gpushare_order, %gpushare_workers;
	.reg .b32 	%gpushare_i, %gpushare_j, %gpushare_k, %gpushare_m;
	.reg .b64 	%gpushare_a, %gpushare_b, %gpushare_c;
)";
  const std::string bytes = std::to_string(claim_bytes(needs));
  const std::string alignment = needs.keeps_shared_alignment ? bytes : needs.loads_for_all.empty() ? "16" : "32";
  text += "\t.shared .align " + alignment + " .b8 gpushare_claim[" + bytes + "];\n";
  if (needs.single_barrier_site) text += "\t.reg .b32 \t%gpushare_continue, %gpushare_warp;\n";
  if (!needs.lasting_mbarriers.empty()) text += "\t.reg .pred \t%gpushare_again;\n";
  return text;
}

std::string before_body(const WorkerNeeds& needs, const BlockIndexUse& use) {
  std::string text;
  if (needs.single_barrier_site) text += "\tactivemask.b32 \t%gpushare_warp;\n";
  if (!needs.lasting_mbarriers.empty()) text += "\tsetp.ne.u32 \t%gpushare_again, 0, 0;\n";
  const std::string entered = filled(filled(enter, "find_leader", find_leader), "next_slot", next_slot());
  text += filled(entered, "store_grid_size", needs.functions_read_block_index ? store_grid_size : "");
  text += claim("first", needs) + publish("first", needs, use) + begin_task;
  if (needs.functions_read_block_index) text += store_block_index;
  return text + "\t// gpushare: the kernel's own body\n";
}

std::string instead_of_return(const std::string& guard) { return guard + "bra \t$gpushare_return;"; }

std::string instead_of_barrier(int number, const std::string& guard, const std::string& inverse_guard) {
  const std::string after = "$gpushare_after_" + std::to_string(number);
  const std::string skip = guard.empty() ? "" : inverse_guard + "bra \t" + after + ";\n\t";
  return skip + "mov.u32 \t%gpushare_continue, " + std::to_string(number) + ";\n\tbra \t$gpushare_site;\n" + after +
         ":";
}

/// The first barrier: all threads have read what the load before this one has found.
std::string load_for_all(int number, const std::string& inverse_guard, const std::string& load, const std::string& type,
                         const std::string& values) {
  const std::string behind = "$gpushare_loaded_" + std::to_string(number);
  const std::string text = R"(bar.sync 	0;
	@%gpushare_leader {load}
	@%gpushare_leader st.shared{type} 	[gpushare_claim+96], {values};
	bar.sync 	0;
	ld.shared{type} 	{values}, [gpushare_claim+96];)";
  const std::string done = filled(filled(filled(text, "load", load), "type", type), "values", values);
  return inverse_guard.empty() ? done : inverse_guard + "bra \t" + behind + ";\n\t" + done + "\n" + behind + ":";
}

std::string unless_first_task(int number, const std::string& instruction) {
  const std::string first = "$gpushare_first_" + std::to_string(number);
  return "@!%gpushare_again bra \t" + first + ";\n\t" + instruction + "\n" + first + ":\n\t";
}

std::string after_body(const WorkerNeeds& needs, const BlockIndexUse& use, int barriers) {
  std::string text = "\n$gpushare_return:\n\t// gpushare: the end of a task\n";
  if (needs.waits_for_copies) text += "\tcp.async.wait_all;\n";
  if (needs.waits_for_bulk_copies) text += "\tcp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group \t0;\n";
  if (needs.single_barrier_site) text += single_site(barriers);
  if (!needs.lasting_mbarriers.empty()) text += "\tsetp.eq.u32 \t%gpushare_again, 0, 0;\n";
  text += end_task;
  // Behind the last task of a chunk the barrier that publishes the next one does this too.
  if (needs.barrier_between_tasks && !needs.single_barrier_site) text += "\tbar.sync \t0;\n";
  return text + advance(use) + end_chunk + next_slot() + ask + claim("next", needs) + publish("next", needs, use) +
         account + leave;
}

}  // namespace gpushare::ptx::worker_text
