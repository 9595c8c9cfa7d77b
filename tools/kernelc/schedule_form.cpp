// Schedule form: one work-item computes a tile of points, with loops over the tile's dimensions written out around,
// between and inside of the kernel's own loops, in a given order. Expressions stay as they are.
#include <algorithm>

#include <clang/AST/ASTContext.h>
#include <clang/AST/Expr.h>
#include <clang/AST/Stmt.h>

#include "core/schedule.hpp"
#include "tools/kernelc/edits.hpp"
#include "tools/kernelc/renamed_text.hpp"
#include "tools/kernelc/rewrite.hpp"

namespace heddle::kernelc {

namespace {

// What a tile's variables may take of a stack, with room for a dozen of them.
constexpr std::int64_t most_points = 4096;

// Which points take part: those for which the test holds; an empty one holds for all.
struct Who {
  Piece test = {};
  bool some = true;  // there is one at least
};

class ScheduleForm {
 public:
  ScheduleForm(clang::ASTContext& context, const LoopNest& nest, const core::Schedule& schedule,
               const std::string& text)
      : nest_(nest),
        tile_(schedule.tile),
        text_(text),
        prefix_(free_prefix(text)),
        plan_(plan_of(nest, schedule.order, prefix_)),
        names_(context, text, plan_, prefix_) {}

  Rewritten run() {
    const clang::Stmt& body = *nest_.kernel->getBody();
    const auto [begin, end] = names_.range(body.getBeginLoc(), body.getEndLoc());
    if (text_.substr(begin, end - begin).find('#') != std::string::npos) return {"", "a pragma stands in its body"};
    std::string out = "{\n";
    for (int d : nest_.facts.dimensions)
      out += "const size_t " + names_.first(d) + " = get_global_id(" + std::to_string(d) + ") * " + extent("xyz"[d]) +
             ";\n";
    out += level(0, {}, {}) + "}";
    if (!names_.refused().empty()) return {"", names_.refused()};
    Edits edits;
    edits.erase(begin, end - begin);
    edits.insert(begin, out);
    return {edits.apply(text_), ""};
  }

 private:
  std::string extent(char dimension) const { return std::to_string(tile_[static_cast<std::size_t>(dimension - 'x')]); }
  std::string extents(std::size_t level) const {
    std::string out;
    for (char d : plan_.levels[level].inner) out += "[" + extent(d) + "]";
    return out;
  }

  std::string loops(const std::string& dimensions) const {
    std::string out;
    for (char d : dimensions)
      out +=
          "for (size_t " + names_.at(d) + " = 0; " + names_.at(d) + " < " + extent(d) + "; ++" + names_.at(d) + ")\n";
    return out;
  }

  void compute(const Variable& v, std::set<const Variable*>& done, std::string& out) {
    if (!done.insert(&v).second) return;
    const Piece from = names_.expression(v.declaration->getInit());
    for (const Variable* needed : from.needs) compute(*needed, done, out);
    out += "const " + names_.declared(v, v.name) + " = " + from.text + ";\n";
  }
  std::string computed(const std::set<const Variable*>& needs) {
    std::set<const Variable*> done;
    std::vector<const Variable*> sorted(needs.begin(), needs.end());  // not by where they lie in memory
    std::sort(sorted.begin(), sorted.end(), [](const Variable* a, const Variable* b) { return a->name < b->name; });
    std::string out;
    for (const Variable* v : sorted) compute(*v, done, out);
    return out;
  }

  // `what` for all points of these dimensions that take part; `always` for all points, before it.
  std::string part(const std::string& dimensions, const Piece& what, const Who& who, const std::string& always = "") {
    if (what.text.empty()) return "";
    Piece all = what;
    if (!who.test.text.empty()) all = {"if (" + who.test.text + ") {\n" + what.text + "}\n", what.needs};
    all.needs.insert(who.test.needs.begin(), who.test.needs.end());
    return loops(dimensions) + "{\n" + always + computed(all.needs) + all.text + "}\n";
  }

  static Piece both(const Piece& a, const Piece& b) {
    if (a.text.empty()) return b;
    Piece out{"(" + a.text + ") && (" + b.text + ")", a.needs};
    out.needs.insert(b.needs.begin(), b.needs.end());
    return out;
  }

  // From here on no dimension is left to begin: levels stand as they stood.
  Piece rest(std::size_t k) {
    const Level& level = nest_.levels[k];
    Piece out = names_.statements(level.before);
    if (level.condition) {
      out.text += "if (";
      out.add(names_.condition(level));
      out.text += ")";
    } else if (const clang::ForStmt* loop = level.loop) {
      out.add(names_.head(*loop));
    } else {
      return out;
    }
    out.text += " {\n";
    out.add(rest(k + 1));
    out.text += "}\n";
    out.add(names_.statements(level.after));
    return out;
  }

  // `who` takes part in level k; `then` is for each of them to do behind a level without dimensions inside.
  std::string level(std::size_t k, const Who& who, const Piece& then = {}) {
    const LevelPlan& plan = plan_.levels[k];
    if (plan.inner.empty()) {
      Piece all = rest(k);
      all.text = "{\n" + all.text + "}\n";
      all.add(then);
      return part(plan.opened, all, who);
    }
    const std::string inside = nest_.levels[k].condition ? branch(k, who)
                               : plan.alike              ? counted(k, who)
                                                         : in_step(k, who);
    return loops(plan.opened) + "{\n" + variables(k) + inside +
           part(plan.inner, names_.statements(nest_.levels[k].after), who) + "}\n";
  }

  // Those of a level that are shared or arrays.
  std::string variables(std::size_t k) {
    std::map<std::string, std::string> sorted;
    for (const auto& [declaration, v] : plan_.variables) {
      const bool counter = plan_.levels[k].alike && nest_.levels[k].loop &&
                           llvm::cast<clang::DeclStmt>(nest_.levels[k].loop->getInit())->getSingleDecl() == declaration;
      if (v.level != k || counter) continue;
      if (v.life == Life::shared) sorted[v.name] = names_.declared(v, v.name) + ";\n";
      if (v.life == Life::each) sorted[v.name] = names_.declared(v, v.name + extents(k)) + ";\n";
    }
    std::string out;
    for (const auto& [name, text] : sorted) out += text;
    return out;
  }

  // A condition of ids and parameters is tested wherever it is asked for; any other one once, and kept.
  std::string branch(std::size_t k, const Who& who) {
    const Level& here = nest_.levels[k];
    const std::string& inner = plan_.levels[k].inner;
    Piece before = names_.statements(here.before);
    if (computable(plan_, *here.condition, false))
      return part(inner, before, who) + level(k + 1, {both(who.test, names_.condition(here)), false});
    const std::string flag = prefix_ + "go" + std::to_string(k);
    before.add(set(flag + names_.element(k), here));
    return "uchar " + flag + extents(k) + ";\n" + part(inner, before, who, flag + names_.element(k) + " = 0;\n") +
           level(k + 1, {{flag + names_.element(k)}, false});
  }
  Piece set(const std::string& flag, const Level& by) {
    Piece out = by.condition ? names_.condition(by) : names_.expression(by.loop->getCond());
    out.text = flag + " = (" + out.text + ") ? 1 : 0;\n";
    return out;
  }

  // A loop that counts the same for all points is one for all of them. In most tiles all points take part, and nobody
  // asks; where none does, the loop must not run: nobody knows that it ends.
  std::string counted(std::size_t k, const Who& who) {
    const clang::ForStmt& loop = *nest_.levels[k].loop;
    const auto* variable = llvm::cast<clang::VarDecl>(llvm::cast<clang::DeclStmt>(loop.getInit())->getSingleDecl());
    const Variable& counter = plan_.variables.at(variable);
    const Piece from = names_.expression(variable->getInit()), until = names_.expression(loop.getCond()),
                step = names_.expression(loop.getInc());
    Piece head{"for (" + names_.declared(counter, counter.name) + " = ", {}};
    for (const Piece& next : {from, Piece{"; "}, until, Piece{"; "}, step}) head.add(next);
    const std::string begin = "{\n" + computed(head.needs) + head.text + ") {\n", end = "}\n}\n";
    const std::string before = part(plan_.levels[k].inner, names_.statements(nest_.levels[k].before), who);
    if (who.some) return before + begin + level(k + 1, who) + end;
    std::int64_t points = 1;
    for (char d : plan_.levels[k].inner) points *= tile_[static_cast<std::size_t>(d - 'x')];
    const std::string count = prefix_ + "count" + std::to_string(k);
    return before + "uint " + count + " = 0;\n" + part(plan_.levels[k].inner, {"++" + count + ";\n"}, who) + "if (" +
           count + " == " + std::to_string(points) + ")\n" + begin + level(k + 1, {}) + end + "else if (" + count +
           " > 0)\n" + begin + level(k + 1, {who.test, true}) + end;
  }

  // Any other loop is gone through in step: each point counts for itself, until the last one is through.
  std::string in_step(std::size_t k, const Who& who) {
    const Level& here = nest_.levels[k];
    const std::string &inner = plan_.levels[k].inner, number = std::to_string(k);
    const std::string flag = prefix_ + "go" + number + names_.element(k), any = prefix_ + "any" + number;
    Piece test = set(flag, here);
    test.text += any + " |= " + flag + ";\n";
    Piece begin = names_.statements(here.before);
    if (here.loop->getInit()) begin.add(names_.statement(here.loop->getInit()));
    begin.add(test);
    Piece step = names_.statement(here.loop->getInc());
    step.add(test);
    const Who going{{flag}, true};
    const bool one_part = plan_.levels[k + 1].inner.empty();
    return "uchar " + prefix_ + "go" + number + extents(k) + ";\nuint " + any + " = 0;\n" +
           part(inner, begin, who, flag + " = 0;\n") + "while (" + any + ") {\n" + any + " = 0;\n" +
           level(k + 1, going, one_part ? step : Piece{}) + (one_part ? "" : part(inner, step, going)) + "}\n";
  }

  const LoopNest& nest_;
  const core::Index tile_;
  const std::string& text_;
  const std::string prefix_;
  const Plan plan_;
  RenamedText names_;
};

}  // namespace

Rewritten schedule_form(clang::ASTContext& context, const Syntax& syntax, const std::string& text,
                        const std::string& name) {
  const auto schedule = core::schedule_of(name);
  if (!schedule) return {"", "'" + name + "' is no schedule: schedule:kernel:y0x:16x16x1 expected"};
  clang::FunctionDecl* kernel = nullptr;
  for (clang::FunctionDecl* function : syntax.declarations) {
    if (is_kernel(*function) && function->doesThisDeclarationHaveABody() && function->getName() == schedule->kernel)
      kernel = function;
  }
  if (!kernel) return {"", "there is no kernel '" + schedule->kernel + "'"};
  const LoopNest nest = nest_of(context, syntax, *kernel);
  if (!nest.facts.refused.empty()) return {"", "no schedules: " + nest.facts.refused};
  const auto orders = core::orders_of(nest.facts);
  if (std::find(orders.begin(), orders.end(), schedule->order) == orders.end())
    return {"", "'" + schedule->order + "' is no order of its dimensions and loops, as '" + orders.front() + "' is"};
  std::int64_t points = 1;
  for (int d = 0; d < 3; ++d) {
    const std::int64_t extent = schedule->tile[static_cast<std::size_t>(d)];
    if (extent > 1 && schedule->order.find("xyz"[d]) == std::string::npos)
      return {"", std::string("the tile is wide along ") + "xyz"[d] + ", which the kernel does not ask for"};
    points = std::min(points * extent, most_points + 1);
  }
  if (points > most_points) return {"", "the tile has more than " + std::to_string(most_points) + " points"};
  return ScheduleForm(context, nest, *schedule, text).run();
}

}  // namespace heddle::kernelc
