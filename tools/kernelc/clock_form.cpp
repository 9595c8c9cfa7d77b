// Clock form: the kernel as it is, with one more argument in which every group notes when it began and when it ended,
// by a clock of the device's own (core/clock_form.hpp reads it). For launches that are too short for the clocks of
// events and of the host.
#include "core/clock_form.hpp"

#include <vector>

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/AST/Stmt.h>
#include <clang/Lex/Token.h>

#include "tools/kernelc/kernel_text.hpp"
#include "tools/kernelc/rewrite.hpp"

namespace heddle::kernelc {

namespace {

// Clocks that all groups of a launch agree on; counters of cycles differ between the units of a GPU. The device's
// compiler knows which there is, so it chooses, and says so where there is none.
// "memory": compilers must not move a reading among the kernel's accesses. What the hardware does out of order (a few
// dozen ns) is let be: waiting for it, as by isb, takes as long as a small group does.
constexpr const char* preamble = R"(typedef __global ulong* @clock_t;
@STATIC ulong @now(void) {
  ulong t;
#if defined(__NV_CL_C_VERSION)
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t) : : "memory");
#elif defined(__opencl_c_kernel_clock_scope_device)
  t = clock_read_device();
#elif defined(__x86_64__)
  t = __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t) : : "memory");
#else
#error this device has no clock that a kernel can read
#endif
  return t;
}
@STATIC void @note(@clock_t clock, uint end) {
  size_t group = (get_group_id(2) * get_num_groups(1) + get_group_id(1)) * get_num_groups(0) + get_group_id(0);
  if (get_local_id(0) == 0 && get_local_id(1) == 0 && get_local_id(2) == 0) clock[2 * group + end] = @now();
}
@STATIC void @begin(@clock_t clock) { @note(clock, 0); }
@STATIC void @end(@clock_t clock) {
  barrier(CLK_LOCAL_MEM_FENCE);
  @note(clock, 1);
}
)";

// Those of a function, but not of blocks inside of it.
class Returns : public clang::RecursiveASTVisitor<Returns> {
 public:
  std::vector<clang::ReturnStmt*> all;
  bool VisitReturnStmt(clang::ReturnStmt* statement) {
    all.push_back(statement);
    return true;
  }
  bool TraverseBlockExpr(clang::BlockExpr*) { return true; }
};

class ClockForm {
 public:
  ClockForm(clang::ASTContext& context, const Syntax& syntax, const std::string& text)
      : syntax_(syntax), text_(text), at_(context, syntax, text) {
    for (const Call& call : syntax.calls) {
      if (call.callee && is_kernel(*call.callee)) called_.insert(call.callee);
    }
  }

  Rewritten run() {
    for (clang::FunctionDecl* declaration : syntax_.declarations) declare(*declaration);
    for (const Call& call : syntax_.calls) change(call);
    if (!at_.refused().empty()) return {"", at_.refused()};
    return {named(std::string(static_macro) + preamble) + at_.edits.apply(text_), ""};
  }

 private:
  std::string named(const std::string& text) const { return with_prefix(text, at_.prefix); }

  void declare(clang::FunctionDecl& function) {
    if (!is_kernel(function)) return;
    const auto parameters = at_.parameters(function);
    if (!parameters) return;
    at_.edits.insert(parameters->close, named(parameters->any ? ", @clock_t @clock" : "@clock_t @clock"));
    if (!function.doesThisDeclarationHaveABody()) return;
    const auto& body = *llvm::cast<clang::CompoundStmt>(function.getBody());
    const auto begin = at_.inside(body), end = at_.position(body.getRBracLoc());
    if (!begin || !end)
      return at_.refuse("the body of '" + function.getNameAsString() + "' cannot be found in the text");
    // Called by another function, it has no clock, and that function may call it in only some of a group's work-items.
    const std::string asks = called_.count(function.getCanonicalDecl()) ? "if (@clock) " : "";
    at_.edits.insert(*begin, named("\n  " + asks + "@begin(@clock);\n"));
    const bool leaves = leave_at_end(function);
    at_.edits.insert(*end, named((leaves ? "\n@done:;" : "") + ("\n  " + asks) + "@end(@clock);\n"));
  }

  // Work-items that return go to the end, where they wait for the others. (A function around the body would be no way:
  // only kernels have variables in local memory, and only outside of all braces.)
  bool leave_at_end(clang::FunctionDecl& function) {
    Returns returns;
    returns.TraverseStmt(function.getBody());
    for (const clang::ReturnStmt* statement : returns.all) {
      const auto word = at_.position(statement->getReturnLoc());
      const auto semicolon = at_.token_after(statement->getEndLoc());
      const auto last = semicolon ? at_.position(semicolon->getLocation()) : std::nullopt;
      if (!word || !last || !semicolon->is(clang::tok::semi)) {
        at_.refuse("a return of '" + function.getNameAsString() + "' cannot be found in the text");
        return true;
      }
      at_.edits.erase(*word, std::string("return").size());
      at_.edits.insert(*word, named(statement->getRetValue() ? "{ " : "goto @done"));
      if (statement->getRetValue()) at_.edits.insert(*last + 1, named(" goto @done; }"));  // of type void
    }
    return !returns.all.empty();
  }

  void change(const Call& call) {
    if (!call.callee || !called_.count(call.callee)) return;
    if (const auto where = at_.call(call)) at_.edits.insert(where->close, where->any ? ", 0" : "0");
  }

  const Syntax& syntax_;
  const std::string& text_;
  KernelText at_;
  std::set<const clang::FunctionDecl*> called_;  // kernels that functions of the program call
};

}  // namespace

Rewritten clock_form(clang::ASTContext& context, const Syntax& syntax, const std::string& text, const std::string&) {
  return ClockForm(context, syntax, text).run();
}

}  // namespace heddle::kernelc
