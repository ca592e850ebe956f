// SPDX-License-Identifier: Apache-2.0
#include "core/transform/worker_text.hpp"

namespace gpushare::ptx::worker_text {
namespace {

/// When the leader claims the next chunk: while the last task of this one runs, so that nobody waits for it, or after
/// that task. Towards the end of the grid a worker in a long task must not sit on tasks that others could run.
enum class Claim { First, Early, Late };

/// The leader looks at its SM's quota and claims %gpushare_count tasks from %gpushare_next on; none if it has to leave.
std::string claim(Claim when) {
  const std::string label = when == Claim::First   ? "$gpushare_first"
                            : when == Claim::Early ? "$gpushare_early"
                                                   : "$gpushare_late";
  std::string text =
      "\tld.shared.u64 \t%gpushare_a, [gpushare_claim+16];\n"
      "\tld.volatile.global.v2.u32 \t{%gpushare_i, %gpushare_j}, [%gpushare_a];  // quota, workers\n"
      "\tld.volatile.global.v2.u32 \t{%gpushare_next, %gpushare_count}, [%gpushare_control];  // next task, chunk\n"
      "\tld.param.u32 \t%gpushare_k, [gpushare_worker+16];  // tasks\n";
  if (when == Claim::Early) {
    text +=
        "\tld.param.u32 \t%gpushare_m, [gpushare_worker+20];\n"
        "\tadd.u32 \t%gpushare_m, %gpushare_next, %gpushare_m;\n"
        "\tsetp.ge.u32 \t%gpushare_p, %gpushare_m, %gpushare_k;\n"
        "\tmov.u32 \t%gpushare_m, %gpushare_count;\n"
        "\tmov.u32 \t%gpushare_count, -1;  // not yet\n"
        "\t@%gpushare_p bra \t$gpushare_body;\n"
        "\tmov.u32 \t%gpushare_count, %gpushare_m;\n";
  }
  text +=
      "\tsetp.le.u32 \t%gpushare_p, %gpushare_j, %gpushare_i;\n"
      "\t@%gpushare_p bra \t" +
      label +
      "_allowed;\n"
      "\t// gpushare: more workers than the quota allows\n"
      "\tatom.global.add.u32 \t%gpushare_j, [%gpushare_a+4], -1;\n"
      "\tsetp.gt.u32 \t%gpushare_p, %gpushare_j, %gpushare_i;\n"
      "\t@%gpushare_p mov.u32 \t%gpushare_count, 0;\n"
      "\t@%gpushare_p st.shared.u32 \t[gpushare_claim+40], 0;  // its place is given back already\n"
      "\t@%gpushare_p bra \t" +
      label +
      "_claimed;\n"
      "\tred.global.add.u32 \t[%gpushare_a+4], 1;  // others have left in the meantime\n" +
      label +
      "_allowed:\n"
      "\tsetp.ge.u32 \t%gpushare_p, %gpushare_next, %gpushare_k;\n"
      "\t@%gpushare_p mov.u32 \t%gpushare_count, 0;\n"
      "\t@%gpushare_p bra \t" +
      label +
      "_claimed;\n"
      "\tsub.u32 \t%gpushare_i, %gpushare_k, %gpushare_next;\n"
      "\tld.param.u32 \t%gpushare_j, [gpushare_worker+20];\n"
      "\tdiv.u32 \t%gpushare_i, %gpushare_i, %gpushare_j;  // smaller chunks towards the end\n"
      "\tmin.u32 \t%gpushare_count, %gpushare_count, %gpushare_i;\n"
      "\tmax.u32 \t%gpushare_count, %gpushare_count, 1;\n"
      "\tatom.global.add.u32 \t%gpushare_next, [%gpushare_control], %gpushare_count;\n" +
      label + "_claimed:\n";
  return text;
}

/// All threads learn the chunk. Two slots in turn: a fast leader must not overwrite what a slow thread has yet to read.
std::string publish_and_read() {
  return "\tadd.u32 \t%gpushare_count, %gpushare_next, %gpushare_count;\n"
         "\tld.param.u32 \t%gpushare_i, [gpushare_worker+16];\n"
         "\tmin.u32 \t%gpushare_count, %gpushare_count, %gpushare_i;\n"
         "\t@%gpushare_leader st.shared.v2.u32 \t[%gpushare_slot], {%gpushare_next, %gpushare_count};\n"
         "\tbar.sync \t0;\n"
         "\tld.shared.v2.u32 \t{%gpushare_task, %gpushare_end}, [%gpushare_slot];\n"
         "\txor.b32 \t%gpushare_slot, %gpushare_slot, 8;\n";
}

/// Splits `value` by the FastDivisor at this offset of the parameter: value = quotient * divisor + remainder.
std::string divide(const std::string& quotient, const std::string& remainder, const std::string& value, int offset) {
  const auto at = [&](int field) { return "[gpushare_worker+" + std::to_string(offset + field) + "]"; };
  return "\tld.param.u32 \t%gpushare_i, " + at(4) +
         ";\n"
         "\tmul.wide.u32 \t%gpushare_a, " +
         value +
         ", %gpushare_i;\n"
         "\tld.param.u32 \t%gpushare_i, " +
         at(8) +
         ";\n"
         "\tshr.u64 \t%gpushare_a, %gpushare_a, %gpushare_i;\n"
         "\tcvt.u32.u64 \t%gpushare_j, %gpushare_a;\n"
         "\tld.param.u32 \t%gpushare_i, " +
         at(0) +
         ";\n"
         "\tmul.lo.u32 \t%gpushare_i, %gpushare_j, %gpushare_i;\n"
         "\tsub.u32 \t" +
         remainder + ", " + value +
         ", %gpushare_i;\n"
         "\tmov.u32 \t" +
         quotient + ", %gpushare_j;\n";
}

std::string logical_block_index(const BlockIndexUse& use) {
  if (!use.x && !use.y && !use.z) return "";
  std::string text = "\t// gpushare: blockIdx from the task number\n";
  text += divide("%gpushare_y", "%gpushare_x", "%gpushare_task", 24);
  if (use.y || use.z) text += divide("%gpushare_z", "%gpushare_y", "%gpushare_y", 36);
  return text;
}

std::string store_block_index() {
  return "\t// gpushare: called functions read blockIdx and gridDim from memory\n"
         "\t@%gpushare_leader st.shared.u32 \t[gpushare_block_index], %gpushare_x;\n"
         "\t@%gpushare_leader st.shared.u32 \t[gpushare_block_index+4], %gpushare_y;\n"
         "\t@%gpushare_leader st.shared.u32 \t[gpushare_block_index+8], %gpushare_z;\n"
         "\tld.param.u32 \t%gpushare_i, [gpushare_worker+24];\n"
         "\t@%gpushare_leader st.shared.u32 \t[gpushare_block_index+12], %gpushare_i;\n"
         "\tld.param.u32 \t%gpushare_i, [gpushare_worker+36];\n"
         "\t@%gpushare_leader st.shared.u32 \t[gpushare_block_index+16], %gpushare_i;\n"
         "\tld.param.u32 \t%gpushare_i, [gpushare_worker+48];\n"
         "\t@%gpushare_leader st.shared.u32 \t[gpushare_block_index+20], %gpushare_i;\n"
         "\tbar.sync \t0;\n";
}

/// A place on the SM, or an empty claim: then the worker leaves at once.
std::string enter() {
  return "\t// gpushare: the leader takes a place on this SM\n"
         "\tmov.u32 \t%gpushare_next, 0;\n"
         "\tmov.u32 \t%gpushare_count, 0;\n"
         "\tld.param.u64 \t%gpushare_control, [gpushare_worker];\n"
         "\tcvta.to.global.u64 \t%gpushare_control, %gpushare_control;\n"
         "\tmov.u32 \t%gpushare_slot, gpushare_claim;\n"
         "\tmov.u32 \t%gpushare_i, %tid.x;\n"
         "\tmov.u32 \t%gpushare_j, %tid.y;\n"
         "\tor.b32 \t%gpushare_i, %gpushare_i, %gpushare_j;\n"
         "\tmov.u32 \t%gpushare_j, %tid.z;\n"
         "\tor.b32 \t%gpushare_i, %gpushare_i, %gpushare_j;\n"
         "\tsetp.eq.u32 \t%gpushare_leader, %gpushare_i, 0;\n"
         "\t@!%gpushare_leader bra \t$gpushare_entered;\n"
         "\tld.param.u64 \t%gpushare_a, [gpushare_worker+8];\n"
         "\tcvta.to.global.u64 \t%gpushare_a, %gpushare_a;\n"
         "\tmov.u32 \t%gpushare_i, %smid;\n"
         "\tmad.wide.u32 \t%gpushare_a, %gpushare_i, 24, %gpushare_a;\n"
         "\tst.shared.u64 \t[gpushare_claim+16], %gpushare_a;  // this SM's entry\n"
         "\tst.shared.u32 \t[gpushare_claim+40], 1;  // it holds a place\n"
         "\tmov.u64 \t%gpushare_b, %globaltimer;\n"
         "\tst.shared.u64 \t[gpushare_claim+24], %gpushare_b;\n"
         "\tred.global.add.u32 \t[%gpushare_a+4], 1;\n" +
         claim(Claim::First) + "$gpushare_entered:\n" + publish_and_read() +
         "\tsetp.ge.u32 \t%gpushare_p, %gpushare_task, %gpushare_end;\n"
         "\t@%gpushare_p bra \t$gpushare_leave;\n";
}

std::string single_site(int barriers) {
  std::string targets = "$gpushare_returned";
  for (int number = 1; number <= barriers; ++number) targets += ", $gpushare_after_" + std::to_string(number);
  return "$gpushare_site:\n"
         "\t// gpushare: every barrier of the kernel. Threads that have returned wait here too, for the others\n"
         "\tbar.warp.sync \t%gpushare_warp;\n"
         "\tsetp.ne.u32 \t%gpushare_p, %gpushare_continue, 0;\n"
         "\tbar.red.or.pred \t%gpushare_any, 0, %gpushare_p;\n"
         "$gpushare_targets: .branchtargets " +
         targets +
         ";\n"
         "\tbrx.idx \t%gpushare_continue, $gpushare_targets;\n"
         "$gpushare_returned:\n"
         "\t@%gpushare_any bra \t$gpushare_site;\n";
}

/// Told behind the barrier, when the other warps are at work again.
std::string account() {
  return "\t// gpushare: what was done, for the scheduler\n"
         "\tmov.u64 \t%gpushare_b, %globaltimer;\n"
         "\tld.shared.u64 \t%gpushare_a, [gpushare_claim+24];\n"
         "\tst.shared.u64 \t[gpushare_claim+24], %gpushare_b;\n"
         "\tsub.u64 \t%gpushare_b, %gpushare_b, %gpushare_a;\n"
         "\tld.shared.u64 \t%gpushare_a, [gpushare_claim+16];\n"
         "\tred.global.add.u64 \t[%gpushare_a+16], %gpushare_b;\n"
         "\tred.global.add.u32 \t[%gpushare_a+12], 1;\n"
         "\tred.global.add.u32 \t[%gpushare_a+8], %gpushare_m;\n";
}

std::string leave() {
  return "$gpushare_leave:\n"
         "\t// gpushare: give the place back; the last worker of the launch tells the host\n"
         "\t@!%gpushare_leader bra \t$gpushare_end;\n"
         "\tld.shared.u32 \t%gpushare_i, [gpushare_claim+40];\n"
         "\tsetp.eq.u32 \t%gpushare_p, %gpushare_i, 0;\n"
         "\t@%gpushare_p bra \t$gpushare_left;\n"
         "\tld.shared.u64 \t%gpushare_a, [gpushare_claim+16];\n"
         "\tred.global.add.u32 \t[%gpushare_a+4], -1;\n"
         "$gpushare_left:\n"
         "\tatom.global.add.u32 \t%gpushare_i, [%gpushare_control+8], 1;\n"
         "\tadd.u32 \t%gpushare_i, %gpushare_i, 1;\n"
         "\tmov.u32 \t%gpushare_j, %nctaid.x;\n"
         "\tsetp.ne.u32 \t%gpushare_p, %gpushare_i, %gpushare_j;\n"
         "\t@%gpushare_p bra \t$gpushare_end;\n"
         "\tld.global.u64 \t%gpushare_a, [%gpushare_control+16];\n"
         "\tsetp.eq.u64 \t%gpushare_p, %gpushare_a, 0;\n"
         "\t@%gpushare_p bra \t$gpushare_end;\n"
         "\tmov.u32 \t%gpushare_i, 1;\n"
         "\tst.volatile.u32 \t[%gpushare_a], %gpushare_i;\n"
         "$gpushare_end:\n"
         "\tret;\n";
}

}  // namespace

std::string parameter() { return ".param .align 8 .b8 gpushare_worker[56]"; }

std::string block_index_slot() {
  return "// gpushare: blockIdx and gridDim of the present task, for called functions\n"
         ".shared .align 8 .b8 gpushare_block_index[24];\n";
}

std::string declarations(const WorkerNeeds& needs) {
  std::string text =
      "\n\t// gpushare: registers of the worker, and 48 bytes in which its leader publishes claims\n"
      "\t.reg .pred \t%gpushare_leader, %gpushare_p, %gpushare_any;\n"
      "\t.reg .b32 \t%gpushare_x, %gpushare_y, %gpushare_z, %gpushare_task, %gpushare_end, %gpushare_slot;\n"
      "\t.reg .b32 \t%gpushare_next, %gpushare_count, %gpushare_i, %gpushare_j, %gpushare_k, %gpushare_m;\n"
      "\t.reg .b64 \t%gpushare_control, %gpushare_a, %gpushare_b;\n";
  if (needs.single_barrier_site) text += "\t.reg .b32 \t%gpushare_continue, %gpushare_warp;\n";
  // 0, 8: two slots of {first task, end}; 16: the SM's entry; 24: start of the chunk; 32: its first task; 40: holds a
  // place.
  return text + "\t.shared .align 16 .b8 gpushare_claim[48];\n";
}

std::string before_body(const WorkerNeeds& needs, const BlockIndexUse& use) {
  std::string text;
  if (needs.single_barrier_site) text += "\tactivemask.b32 \t%gpushare_warp;\n";
  text += enter();
  text +=
      "$gpushare_chunk:\n"
      "\t@%gpushare_leader st.shared.u32 \t[gpushare_claim+32], %gpushare_task;\n"
      "$gpushare_task:\n"
      "\tadd.u32 \t%gpushare_i, %gpushare_task, 1;\n"
      "\tsetp.ne.u32 \t%gpushare_p, %gpushare_i, %gpushare_end;\n"
      "\t@%gpushare_p bra \t$gpushare_body;\n"
      "\t@!%gpushare_leader bra \t$gpushare_body;\n"
      "\t// gpushare: the leader claims the next chunk while the last task of this one runs\n" +
      claim(Claim::Early) + "$gpushare_body:\n" + logical_block_index(use);
  if (needs.functions_read_block_index) text += store_block_index();
  return text + "\t// gpushare: the kernel's own body\n";
}

std::string instead_of_return(const WorkerNeeds&, const std::string& guard) {
  return guard + "bra \t$gpushare_return;";
}

std::string instead_of_barrier(int number, const std::string& guard, const std::string& inverse_guard) {
  const std::string after = "$gpushare_after_" + std::to_string(number);
  const std::string skip = guard.empty() ? "" : inverse_guard + "bra \t" + after + ";\n\t";
  return skip + "mov.u32 \t%gpushare_continue, " + std::to_string(number) + ";\n\tbra \t$gpushare_site;\n" + after +
         ":";
}

std::string after_body(const WorkerNeeds& needs, int barriers) {
  std::string text = "\n$gpushare_return:\n\t// gpushare: the end of a task\n";
  if (needs.waits_for_copies) text += "\tcp.async.wait_all;\n";
  if (needs.waits_for_bulk_copies) text += "\tcp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group \t0;\n";
  if (needs.single_barrier_site) text += "\tmov.u32 \t%gpushare_continue, 0;\n" + single_site(barriers);
  text +=
      "\tadd.u32 \t%gpushare_task, %gpushare_task, 1;\n"
      "\tsetp.ge.u32 \t%gpushare_p, %gpushare_task, %gpushare_end;\n"
      "\t@%gpushare_p bra \t$gpushare_chunk_ended;\n";
  // Behind the last task of a chunk the barrier that publishes the next one does this too.
  if (needs.barrier_between_tasks && !needs.single_barrier_site) text += "\tbar.sync \t0;\n";
  text +=
      "\tbra \t$gpushare_task;\n"
      "$gpushare_chunk_ended:\n"
      "\t@!%gpushare_leader bra \t$gpushare_publish;\n"
      "\tld.shared.u32 \t%gpushare_m, [gpushare_claim+32];\n"
      "\tsub.u32 \t%gpushare_m, %gpushare_task, %gpushare_m;\n"
      "\tsetp.ne.u32 \t%gpushare_p, %gpushare_count, -1;\n"
      "\t@%gpushare_p bra \t$gpushare_publish;\n" +
      claim(Claim::Late) + "$gpushare_publish:\n" + publish_and_read() +
      "\t@!%gpushare_leader bra \t$gpushare_accounted;\n" + account() +
      "$gpushare_accounted:\n"
      "\tsetp.lt.u32 \t%gpushare_p, %gpushare_task, %gpushare_end;\n"
      "\t@%gpushare_p bra \t$gpushare_chunk;\n";
  return text + leave();
}

}  // namespace gpushare::ptx::worker_text
