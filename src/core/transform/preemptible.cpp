// SPDX-License-Identifier: Apache-2.0
#include "core/transform/preemptible.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "core/errors.hpp"
#include "core/transform/block_index_reads.hpp"
#include "core/transform/called_functions.hpp"
#include "core/transform/divergence.hpp"
#include "core/transform/instructions.hpp"
#include "core/transform/text_edits.hpp"
#include "core/transform/worker_text.hpp"

namespace gpushare::ptx {
namespace {

/// Register or parameter -> what stands for it in a worker.
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

class EntryRewriter {
 public:
  EntryRewriter(const Module& module, const Function& entry, const WorkerNeeds& needs, TextEdits& edits)
      : module_(module), entry_(entry), needs_(needs), edits_(edits) {}

  /// Edits at the same place keep their order, so what surrounds the body comes before what changes it.
  void rewrite() {
    add_parameter();
    if (!entry_.has_body) return;  // a declaration
    const Token& closing = module_.token(entry_.body.end - 1);
    edits_.insert(module_.token(entry_.body.begin).end(), worker_text::declarations(needs_));
    edits_.insert(body_offset(), worker_text::before_body(needs_, block_index_use()));
    for (const Statement& statement : entry_.statements) {
      if (const auto* instruction = std::get_if<Instruction>(&statement)) rewrite(*instruction);
    }
    edits_.insert(closing.offset, worker_text::after_body(needs_, block_index_use(), barriers_));
  }

 private:
  /// Where the first statement behind the leading declarations begins.
  std::size_t body_offset() const {
    for (std::size_t index = 1; index < entry_.statements.size(); ++index) {
      const Statement& statement = entry_.statements[index];
      if (!std::holds_alternative<Declaration>(statement)) return module_.token(first_token(statement)).offset;
    }
    return module_.token(entry_.body.end - 1).offset;
  }

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

  static std::size_t first_token(const Statement& statement) {
    if (const auto* block = std::get_if<Block>(&statement)) return block->token;
    if (const auto* label = std::get_if<Label>(&statement)) return label->tokens.begin;
    return std::get<Instruction>(statement).tokens.begin;
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
    if (reads_block_index_as_vector(module_, instruction)) {
      return replace(instruction, instead_of_vector_read(module_, instruction, read_in_entry));
    }
    if (reads_block_index(module_, instruction)) rewrite_block_index(instruction);
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
  TextEdits& edits_;
  int barriers_ = 0;
};

/// In a called function, a read of the block index becomes a load from where the worker has put it.
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

/// Behind the header, on a line of its own.
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

/// Called functions that read the block index are changed for the workers' sake: a kernel that stays as it is must
/// not call one of them.
std::vector<KernelVerdict> find_verdicts(const Module& module) {
  std::vector<KernelVerdict> verdicts;
  FunctionAnalyses analyses(module);
  bool any_refused = false;
  for (const Function& function : module.functions) {
    if (!function.is_entry || !function.has_body) continue;
    verdicts.push_back({std::string(function.name), judge(module, function, analyses)});
    any_refused |= !verdicts.back().preemptible();
  }
  if (!any_refused) return verdicts;
  for (KernelVerdict& verdict : verdicts) {
    const auto* needs = std::get_if<WorkerNeeds>(&verdict.outcome);
    if (needs != nullptr && needs->functions_read_block_index) {
      verdict.outcome =
          Refusal{"it shares functions that read the block index with a kernel of this module that was refused"};
    }
  }
  return verdicts;
}

}  // namespace

Transformed make_preemptible(const std::string& ptx) {
  const Module module(ptx);
  Transformed result{.kernels = find_verdicts(module)};
  std::unordered_map<std::string_view, const WorkerNeeds*> workers;
  for (const KernelVerdict& verdict : result.kernels) {
    if (const auto* needs = std::get_if<WorkerNeeds>(&verdict.outcome)) workers[verdict.name] = needs;
  }
  TextEdits edits;
  std::unordered_set<const Function*> readers;
  for (const Function& function : module.functions) {
    const auto worker = function.is_entry ? workers.find(function.name) : workers.end();
    if (worker == workers.end()) continue;
    const WorkerNeeds& needs = *worker->second;
    EntryRewriter(module, function, needs, edits).rewrite();
    if (!needs.functions_read_block_index) continue;
    for (const Function* callee : callees(module, *module.definition(function.name))) readers.insert(callee);
  }
  if (!readers.empty()) insert_block_index_slot(module, edits);
  for (const Function* reader : readers) rewrite_callee(module, *reader, edits);
  result.ptx = edits.apply(module.text);
  return result;
}

}  // namespace gpushare::ptx
