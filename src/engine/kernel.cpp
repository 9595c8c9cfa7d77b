// Builds, and what launches of a shape touch.
#include "engine/kernel.hpp"

#include <algorithm>
#include <cstring>

#include "core/answers.hpp"
#include "core/box_form.hpp"
#include "core/errors.hpp"

namespace heddle::engine {

namespace {

constexpr std::size_t shapes_kept = 16;    // more than the shapes that a loop of a program goes through
constexpr std::int64_t most_spans = 4096;  // of one argument: beyond, copying the whole of it costs less than looking

Touch all_of(core::Bytes size, bool read, bool written) {
  const core::Span all{0, static_cast<std::int64_t>(size)};
  return {core::SpanSet(read ? all : core::Span{}), core::SpanSet(written ? all : core::Span{}), false};
}

Touch touch_of(const core::Touched& touched, core::Bytes size) {
  auto bytes = [&](const core::ByteRanges& ranges) {
    return core::SpanSet::of_sorted(core::spans(ranges, size, most_spans));
  };
  Touch out;
  if (!touched.read.none()) out.read = bytes(touched.read);
  if (!touched.written.none()) out.written = bytes(touched.written);
  out.exact = touched.written.certainty == core::Certainty::exact && touched.written.pieces() <= most_spans;
  if (!touched.updated.none()) {  // atomics read and write
    const core::SpanSet updated = bytes(touched.updated);
    out.read.add(updated), out.written.add(updated);
    out.exact = false;
  }
  return out;
}

// Every memory's size, every integer's value, and the groups: as many for all launches of a kernel.
std::vector<double> variables_of(const Shape& shape, const core::KernelFacts* facts) {
  std::vector<double> out{static_cast<double>(core::Box{{0, 0, 0}, shape.grid.groups}.volume())};
  for (std::size_t i = 0; i < shape.sizes.size(); ++i) {
    out.push_back(static_cast<double>(shape.sizes[i]));
    const auto& scalar = shape.scalars[i];
    if (!facts || scalar.empty()) continue;
    const std::string& type = facts->arguments[i].type;
    const bool real = type.find("float") != type.npos || type.find("double") != type.npos || type == "half";
    if (real) continue;
    std::int32_t narrow = 0;
    std::int64_t wide = 0;
    if (scalar.size() == sizeof narrow) std::memcpy(&narrow, scalar.data(), sizeof narrow), wide = narrow;
    if (scalar.size() == sizeof wide) std::memcpy(&wide, scalar.data(), sizeof wide);
    out.back() = static_cast<double>(wide);
  }
  return out;
}

}  // namespace

core::SpanSet Touch::needed() const {
  core::SpanSet out = read;
  if (!exact && !picked) out.add(written);
  return out;
}

core::SpanSet Touch::all() const {
  core::SpanSet out = read;
  out.add(written);
  return out;
}

Kernel::Kernel(KernelSource source, std::optional<kernel::Analysis> analysis, std::string no_facts, std::size_t members,
               core::BytesAre bytes)
    : built(members), paces(members), source_(std::move(source)), analysis_(std::move(analysis)), bytes_(bytes) {
  if (!analysis_) {
    why_not_ = no_facts;
    return;
  }
  for (const core::KernelFacts& facts : analysis_->facts.kernels) {
    if (facts.name == source_.name) facts_ = &facts;
  }
  if (!facts_) {
    why_not_ = "the kernel compiler found no such kernel";
    return;
  }
  const auto form = analysis_->forms.find("box");
  if (!facts_->obstacles.empty())
    why_not_ = facts_->obstacles.front();
  else if (core::offset_is_enough(*facts_))
    cut_by_ = CutBy::offset;
  else if (form == analysis_->forms.end() || !form->second.refused.empty())
    why_not_ = form == analysis_->forms.end() ? "no box form" : form->second.refused;
  else
    cut_by_ = CutBy::box;
}

Built Kernel::build_on(device::Device& device) const {
  Built out;
  auto fail = [&](const core::Failure& failure) {
    out = {};
    out.state = Built::State::failed;
    out.failure = failure;
  };
  auto program = device.build({source_.text, source_.options});
  if (!program) return fail(program.failure()), std::move(out);
  auto original = (*program)->kernel(source_.name);
  if (!original) return fail(original.failure()), std::move(out);
  out.program = std::move(*program), out.original = std::move(*original);
  out.state = Built::State::ready;
  if (cut_by_ != CutBy::box) return out;
  auto form = device.build({analysis_->forms.at("box").source, analysis_->options});
  auto box = form ? (*form)->kernel(source_.name) : core::Result<std::unique_ptr<device::Kernel>>(form.failure());
  if (box) out.form = std::move(*form), out.box = std::move(*box);  // without it, whole launches still run there
  return out;
}

RareForm Kernel::build_on(device::Device& device, const kernel::Analysis& analysis, const std::string& name) const {
  RareForm out{.state = RareForm::State::failed};
  const auto form = analysis.forms.find(name);
  if (form == analysis.forms.end() || !form->second.refused.empty()) {
    const std::string why = form == analysis.forms.end() ? "no " + name + " form" : form->second.refused;
    out.failure = core::Failure{core::FailureKind::unsupported, why, ""};
    return out;
  }
  auto program = device.build({form->second.source, analysis.options});
  auto kernel =
      program ? (*program)->kernel(source_.name) : core::Result<std::unique_ptr<device::Kernel>>(program.failure());
  if (!kernel) {
    out.failure = kernel.failure();
    return out;
  }
  out.program = std::move(*program), out.kernel = std::move(*kernel);
  out.state = RareForm::State::ready;
  return out;
}

std::shared_ptr<const Shape> Kernel::shape(const core::Grid& grid, const std::vector<std::vector<std::byte>>& scalars,
                                           const std::vector<core::Bytes>& sizes) {
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const Shape& s = *shapes_[i];
    if (s.grid.groups != grid.groups || s.grid.local != grid.local || s.grid.offset != grid.offset ||
        s.grid.dimensions != grid.dimensions || s.sizes != sizes || s.scalars != scalars)
      continue;
    std::rotate(shapes_.begin(), shapes_.begin() + static_cast<std::ptrdiff_t>(i),
                shapes_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return shapes_.front();
  }
  auto made = std::make_shared<Shape>();
  made->grid = grid, made->scalars = scalars, made->sizes = sizes;
  const core::Box all{{0, 0, 0}, grid.groups};
  made->undivided = why_not_;
  if (facts_) {
    made->bound = std::make_unique<core::BoundKernel>(*facts_, grid, scalars);
    if (cut_by_ == CutBy::box && !core::fits_box_form(grid))
      made->undivided = "more groups than the box form can count";
    const auto axis = core::best_axis(*made->bound, all, bytes_);
    made->axis = axis.value_or(0);
    if (!axis && made->undivided.empty()) made->undivided = "it is one group";
  }
  made->whole = touches(*made, all);
  made->variables = variables_of(*made, facts_);
  made->rates.resize(built.size());
  made->forms.resize(built.size());
  made->one_space = std::any_of(made->whole.begin(), made->whole.end(),
                                [](const Touch& t) { return !t.written.empty() && !t.exact; });
  for (std::size_t i = 0; made->one_space && made->undivided.empty() && made->bound && i < sizes.size(); ++i) {
    made->merges.push_back(sizes[i] == 0 ? core::Merge::nothing : core::merge_of(*made->bound, i, all));
    if (made->merges.back() != core::Merge::none) continue;
    made->merges.clear();
    break;
  }
  shapes_.insert(shapes_.begin(), std::move(made));
  if (shapes_.size() > shapes_kept) shapes_.pop_back();
  return shapes_.front();
}

std::vector<Touch> Kernel::touches(const Shape& shape, const core::Box& groups) const {
  std::vector<Touch> out(shape.sizes.size());
  const auto touched = shape.bound ? shape.bound->touched(groups) : std::vector<core::Touched>{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (shape.sizes[i] == 0) continue;
    out[i] = shape.bound ? touch_of(touched[i], shape.sizes[i]) : all_of(shape.sizes[i], true, true);
  }
  return out;
}

}  // namespace heddle::engine
