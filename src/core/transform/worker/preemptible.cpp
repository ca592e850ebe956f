// SPDX-License-Identifier: Apache-2.0
#include "core/transform/worker/preemptible.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "core/model/errors.hpp"
#include "core/transform/ptx/block_index_reads.hpp"
#include "core/transform/ptx/called_functions.hpp"
#include "core/transform/ptx/distinct_registers.hpp"
#include "core/transform/ptx/instructions.hpp"
#include "core/transform/ptx/text_edits.hpp"
#include "core/transform/waits/divergence.hpp"
#include "core/transform/worker/system_scope.hpp"
#include "core/transform/worker/worker_text.hpp"

namespace gpushare::ptx {
namespace {

/// Maps a register or parameter to its replacement in a worker.
struct Component {
  std::string_view name;
  const char* in_entry;  // a register; "" where it is a field of the parameter
  int parameter_offset;  // of the field
  int slot_offset;       // in the memory that called functions read
};

constexpr std::array components{
    Component{"%ctaid.x", "%gpushare_x", 0, 0}, Component{"%ctaid.y", "%gpushare_y", 0, 4},
    Component{"%ctaid.z", "%gpushare_z", 0, 8}, Component{"%nctaid.x", "", 24, 16},
    Component{"%nctaid.y", "", 36, 20},         Component{"%nctaid.z", "", 48, 24},
};

const Component* find_component(std::string_view name) {
  const auto* found = std::ranges::find(components, name, &Component::name);
  return found == components.end() ? nullptr : found;
}

std::string guard(const Instruction& instruction, bool inverse = false) {
  if (instruction.predicate.empty()) return "";
  return (instruction.negated != inverse ? "@!" : "@") + std::string(instruction.predicate) + " ";
}

std::string read_in_entry(const Component& component, const std::string& destination) {
  if (*component.in_entry != '\0') return "mov.b32 \t" + destination + ", " + component.in_entry + ";";
  return "ld.param.b32 \t" + destination + ", [gpushare_worker+" + std::to_string(component.parameter_offset) + "];";
}

std::string read_in_callee(const Component& component, const std::string& destination) {
  return "ld.shared.b32 \t" + destination + ", [gpushare_block_index+" + std::to_string(component.slot_offset) + "];";
}

/// A read of all components at once, as one read of each. The fourth is 0.
template <typename Read>
std::string instead_of_vector_read(const Module& module, const Instruction& instruction, Read read) {
  const std::string source(module.source(instruction.operands[1]));
  const std::vector<std::string> destinations = vector_destinations(module, instruction);
  std::string text;
  for (std::size_t index = 0; index < destinations.size(); ++index) {
    if (destinations[index] == "_") continue;
    const Component* component = find_component(source + "." + "xyzw"[index]);
    text += text.empty() ? "" : "\n\t";
    text += guard(instruction);
    text += component == nullptr ? "mov.b32 \t" + destinations[index] + ", 0;" : read(*component, destinations[index]);
  }
  return text;
}

std::size_t first_token(const Statement& statement) {
  if (const auto* block = std::get_if<Block>(&statement)) return block->token;
  if (const auto* label = std::get_if<Label>(&statement)) return label->tokens.begin;
  return std::get<Instruction>(statement).tokens.begin;
}

/// The beginning of the first statement behind the leading declarations.
std::size_t body_offset(const Module& module, const Function& entry) {
  for (std::size_t index = 1; index < entry.statements.size(); ++index) {
    const Statement& statement = entry.statements[index];
    if (!std::holds_alternative<Declaration>(statement)) return module.token(first_token(statement)).offset;
  }
  return module.token(entry.body.end - 1).offset;
}

/// Writes the worker of an entry: a copy of it, changed.
class WorkerWriter {
 public:
  WorkerWriter(const Module& module, const Function& entry, const WorkerNeeds& needs)
      : module_(module), entry_(entry), needs_(needs) {}

  /// Edits at the same place keep their order, so what surrounds the body comes before what changes it.
  std::string write() {
    const Token& name = module_.token(entry_.name_token);
    edits_.replace(name.offset, name.text.size(), worker_name(name.text));
    add_parameter();
    const Token& closing = module_.token(entry_.body.end - 1);
    edits_.insert(module_.token(entry_.body.begin).end(), worker_text::declarations(needs_));
    edits_.insert(body_offset(module_, entry_), worker_text::before_body(needs_, block_index_use()));
    for (const Statement& statement : entry_.statements) {
      if (const auto* instruction = std::get_if<Instruction>(&statement)) rewrite(*instruction);
    }
    edits_.insert(closing.offset, worker_text::after_body(needs_, block_index_use(), barriers_));
    return edits_.apply(module_.text, module_.token(entry_.tokens.begin).offset, closing.end());
  }

 private:
  worker_text::BlockIndexUse block_index_use() const {
    if (needs_.functions_read_block_index) return {true, true, true};
    worker_text::BlockIndexUse use;
    for (std::size_t token = entry_.body.begin; token < entry_.body.end; ++token) {
      const bool all = module_.token(token).is("%ctaid");
      use.x |= all || module_.token(token).is("%ctaid.x");
      use.y |= all || module_.token(token).is("%ctaid.y");
      use.z |= all || module_.token(token).is("%ctaid.z");
    }
    return use;
  }

  void add_parameter() {
    const std::string parameter = worker_text::parameter();
    if (entry_.parameter_list.size() == 0) {
      edits_.insert(module_.token(entry_.name_token).end(), "(\n\t" + parameter + "\n)");
      return;
    }
    const Token& closing = module_.token(entry_.parameter_list.end - 1);
    edits_.insert(closing.offset, (entry_.parameters.empty() ? "\n\t" : ",\n\t") + parameter + "\n");
  }

  void rewrite(const Instruction& instruction) {
    const std::string_view operation = instruction.operation();
    if (operation == "ret" || operation == "exit") {
      return replace(instruction, worker_text::instead_of_return(guard(instruction)));
    }
    if (needs_.single_barrier_site && is_block_barrier(instruction)) {
      ++barriers_;
      return replace(instruction,
                     worker_text::instead_of_barrier(barriers_, guard(instruction), guard(instruction, true)));
    }
    if (std::ranges::find(needs_.loads_for_all, instruction.tokens.begin) != needs_.loads_for_all.end()) {
      return replace(instruction, load_for_all(instruction));
    }
    if (std::ranges::find(needs_.lasting_mbarriers, instruction.tokens.begin) != needs_.lasting_mbarriers.end()) {
      return invalidate_before(instruction);
    }
    if (reads_block_index_as_vector(module_, instruction)) {
      return replace(instruction, instead_of_vector_read(module_, instruction, read_in_entry));
    }
    if (reads_block_index(module_, instruction)) rewrite_block_index(instruction);
  }

  void invalidate_before(const Instruction& init) {
    std::string opcode(init.opcode);
    opcode.replace(opcode.find("init"), 4, "inval");
    const std::string inval = guard(init) + opcode + " \t" + std::string(module_.source(init.operands[0])) + ";";
    edits_.insert(module_.token(init.tokens.begin).offset, worker_text::unless_first_task(++invalidations_, inval));
  }

  /// The memory at the address may change meanwhile, so all threads get the value that one has found.
  std::string load_for_all(const Instruction& load) {
    const std::string_view type = load.opcode.substr(load.opcode.rfind('.'));
    std::string vector;
    for (const std::string_view each : {"v2", "v4", "v8"}) {
      if (load.has(each)) vector = "." + std::string(each);
    }
    const std::string_view whole = module_.source(load.tokens);
    const auto behind_guard = static_cast<std::size_t>(load.opcode.data() - whole.data());
    return worker_text::load_for_all(++loads_for_all_, guard(load, true), std::string(whole.substr(behind_guard)),
                                     vector + std::string(type), std::string(module_.source(load.operands[0])));
  }

  /// Block index components become registers. Grid sizes are loaded from the parameter first.
  void rewrite_block_index(const Instruction& instruction) {
    for (std::size_t index = instruction.tokens.begin; index < instruction.tokens.end; ++index) {
      const Token& token = module_.token(index);
      const Component* component = find_component(token.text);
      if (component == nullptr) continue;
      std::string replacement = component->in_entry;
      if (replacement.empty()) {
        replacement = "%gpushare_i";
        edits_.insert(
            module_.token(instruction.tokens.begin).offset,
            "ld.param.u32 \t%gpushare_i, [gpushare_worker+" + std::to_string(component->parameter_offset) + "];\n\t");
      }
      edits_.replace(token.offset, token.text.size(), std::move(replacement));
    }
    narrow(instruction);
  }

  /// A 16-bit read of a special register takes its lower half; of an ordinary one it has to be a conversion.
  void narrow(const Instruction& instruction) {
    if (!is_any_of(instruction.opcode, {"mov.u16", "mov.b16", "mov.s16"})) return;
    const auto offset = static_cast<std::size_t>(instruction.opcode.data() - module_.text.data());
    edits_.replace(offset, instruction.opcode.size(), "cvt.u16.u32");
  }

  void replace(const Instruction& instruction, std::string text) {
    const std::string_view source = module_.source(instruction.tokens);
    edits_.replace(module_.token(instruction.tokens.begin).offset, source.size(), std::move(text));
  }

  const Module& module_;
  const Function& entry_;
  const WorkerNeeds& needs_;
  TextEdits edits_;
  int barriers_ = 0;
  int loads_for_all_ = 0;
  int invalidations_ = 0;
};

/// In a called function, a read of the block index becomes a load of the value that the worker has stored.
void rewrite_callee(const Module& module, const Function& function, TextEdits& edits) {
  for_each_instruction(function, [&](const Instruction& instruction) {
    if (!reads_block_index(module, instruction)) return;
    GPUSHARE_EXPECT(instruction.operands.size() == 2, "refused otherwise");
    std::string text;
    if (reads_block_index_as_vector(module, instruction)) {
      text = instead_of_vector_read(module, instruction, read_in_callee);
    } else {
      const Component* component = find_component(module.token(instruction.operands[1].begin).text);
      GPUSHARE_EXPECT(component != nullptr, "refused otherwise");
      text = guard(instruction) + read_in_callee(*component, std::string(module.source(instruction.operands[0])));
    }
    edits.replace(module.token(instruction.tokens.begin).offset, module.source(instruction.tokens).size(),
                  std::move(text));
  });
}

/// Inserted behind the header, on a separate line.
void insert_block_index_slot(const Module& module, TextEdits& edits) {
  const std::size_t header_end = module.token(module.header_end - 1).end();
  const std::size_t line_end = module.text.find('\n', header_end);
  const bool rest_is_empty = module.text.find_first_not_of(" \t\r", header_end) == line_end;
  if (line_end != std::string::npos && rest_is_empty) {
    edits.insert(line_end + 1, worker_text::block_index_slot());
  } else {
    edits.insert(header_end, "\n" + worker_text::block_index_slot());
  }
}

/// Entries that are named elsewhere than in their declarations: kernels of dynamic parallelism need them in their
/// module.
std::unordered_set<std::string_view> entries_in_use(const Module& module) {
  std::unordered_set<std::string_view> used;
  const auto look_at = [&](TokenRange tokens, std::string_view own_name) {
    for (std::size_t token = tokens.begin; token < tokens.end; ++token) {
      const Function* named = module.definition(module.token(token).text);
      if (named != nullptr && named->is_entry && named->name != own_name) used.insert(named->name);
    }
  };
  std::size_t outside = 0;
  for (const Function& function : module.functions) {
    look_at({outside, function.tokens.begin}, {});
    look_at(function.body, function.name);
    outside = function.tokens.end;
  }
  look_at({outside, module.tokens.size()}, {});
  return used;
}

void remove(const Module& module, const Function& function, TextEdits& edits) {
  edits.replace(module.token(function.tokens.begin).offset, module.source(function.tokens).size(), "");
}

std::vector<const Function*> chosen_entries(const Module& module, const std::vector<std::string>& names) {
  std::unordered_set<std::string_view> wanted;
  for (const std::string& name : names) wanted.insert(module.entry(name).name);
  std::vector<const Function*> chosen;
  for (const Function& function : module.functions) {
    const bool is_wanted = names.empty() || wanted.contains(function.name);
    const bool is_known = function.is_entry && function.has_body && !function.name.empty();
    if (is_known && is_wanted) chosen.push_back(&function);
  }
  return chosen;
}

std::vector<KernelVerdict> judge_all(const Module& module, const std::vector<const Function*>& entries, Reach reach) {
  FunctionAnalyses analyses(module);
  std::vector<KernelVerdict> verdicts;
  for (const Function* entry : entries) {
    auto outcome = judge(module, *entry, analyses, reach);
    if (module.definition(worker_name(entry->name)) != nullptr) {
      outcome = Refusal{"it has a worker in this module already", module.line(entry->name_token)};
    }
    verdicts.push_back({std::string(entry->name), std::move(outcome)});
  }
  return verdicts;
}

/// Functions that read the block index where a worker has stored it are called by originals too, which store it as
/// well.
void rewrite_readers(const Module& module, const std::unordered_set<const Function*>& readers,
                     const std::unordered_set<std::string_view>& entries, TextEdits& edits) {
  if (readers.empty()) return;
  insert_block_index_slot(module, edits);
  for (const Function* reader : readers) rewrite_callee(module, *reader, edits);
  for (const Function& entry : module.functions) {
    if (!entry.is_entry || !entry.has_body || !entries.contains(entry.name)) continue;
    const bool calls_reader =
        std::ranges::any_of(callees(module, entry), [&](const Function* callee) { return readers.contains(callee); });
    if (calls_reader) edits.insert(module.token(entry.body.begin).end(), worker_text::fill_block_index_slot());
  }
}

}  // namespace

std::string worker_name(std::string_view entry) { return std::string(entry) + "$worker"; }

Transformed make_preemptible(const std::string& ptx, const std::vector<std::string>& entries, Reach reach) {
  auto as_given = std::make_unique<const Module>(ptx);
  if (reach == Reach::SeveralDevices) as_given = std::make_unique<const Module>(with_system_scope(*as_given));
  const auto renamed = with_distinct_registers(*as_given);
  const auto distinct = renamed ? std::make_unique<const Module>(*renamed) : nullptr;
  const Module& module = distinct ? *distinct : *as_given;
  const std::vector<const Function*> chosen = chosen_entries(module, entries);
  Transformed result{.ptx = {}, .kernels = judge_all(module, chosen, reach)};
  TextEdits edits;
  std::unordered_set<std::string_view> kept = entries_in_use(module);
  for (const Function* entry : chosen) kept.insert(entry->name);
  for (const Function& function : module.functions) {
    const bool is_known = function.is_entry && !function.name.empty();
    if (is_known && !kept.contains(function.name)) remove(module, function, edits);
  }
  std::unordered_set<const Function*> readers;
  for (std::size_t index = 0; index < chosen.size(); ++index) {
    const auto* needs = std::get_if<WorkerNeeds>(&result.kernels[index].outcome);
    if (needs == nullptr) continue;
    const std::size_t end = module.token(chosen[index]->tokens.end - 1).end();
    edits.insert(end, "\n\n" + WorkerWriter(module, *chosen[index], *needs).write());
    if (!needs->functions_read_block_index) continue;
    for (const Function* callee : callees(module, *chosen[index])) readers.insert(callee);
  }
  rewrite_readers(module, readers, kept, edits);
  result.ptx = edits.apply(module.text);
  return result;
}

}  // namespace gpushare::ptx
