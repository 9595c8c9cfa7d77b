// Runs a case on a device, whole, in box form or in window form, on given memory.
#pragma once

#include <map>

#include "core/box_form.hpp"
#include "kernel/compiler.hpp"
#include "test/device/any_device.hpp"
#include "test/kernel/case.hpp"

namespace heddle::kernel {

using Memory = std::vector<std::vector<std::byte>>;  // per argument; of buffers and values

struct Draw {
  core::Grid grid;
  Memory memory;
};

// A launch of the case. `fixed`: at its largest, in the first group size.
inline Draw draw(const Case& c, std::mt19937_64& random, bool fixed) {
  Draw out;
  out.grid.dimensions = c.dimensions;
  out.grid.local = fixed ? c.locals.front() : c.locals[random() % c.locals.size()];
  for (std::size_t d = 0; d < 3; ++d) {
    const bool whole = fixed || !c.any_grid;
    out.grid.groups[d] =
        whole ? c.groups[d] : 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(c.groups[d]));
    out.grid.offset[d] = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(c.offset[d] + 1));
  }
  for (const CaseArgument& a : c.arguments)
    out.memory.push_back(a.kind == CaseArgument::Kind::shared ? std::vector<std::byte>{} : fill(a, random));
  return out;
}

inline core::Box random_box(const core::Index& groups, std::mt19937_64& random) {
  core::Box out;
  for (std::size_t d = 0; d < 3; ++d) {
    out.begin[d] = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(groups[d]));
    out.end[d] =
        out.begin[d] + 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(groups[d] - out.begin[d]));
  }
  return out;
}

// What a launch's facts are bound with.
inline Memory scalars_of(const Case& c, const Memory& memory) {
  Memory out = memory;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (c.arguments[i].kind != CaseArgument::Kind::value) out[i].clear();
  }
  return out;
}

// With the bytes that devices may overwrite, though they are no data.
inline core::KernelFacts with_padding(core::KernelFacts facts) {
  for (core::AccessFacts& access : facts.accesses) access.bytes += access.padding;
  return facts;
}

inline core::NdRange range_of(const core::Grid& grid) {
  core::NdRange out{grid.offset, {}, grid.local, grid.dimensions};
  for (std::size_t d = 0; d < 3; ++d) out.global[d] = grid.groups[d] * grid.local[d];
  return out;
}

class CaseOnDevice {
 public:
  // For sources that are given when they are run.
  CaseOnDevice(device::Device& device, const Case& c)
      : device_(&device), case_(&c), queue_(device::must(device.open_queue(device::Device::Timing::off))) {}

  // Nothing where the device cannot build the original. The window form is built when it is run.
  static std::optional<CaseOnDevice> open(device::Device& device, const Case& c, const Analysis& analysis) {
    const Form& form = analysis.forms.at("box");
    CaseOnDevice out(device, c);
    out.window_form_ = {analysis.forms.at("window").source, analysis.options};
    out.merge_form_ = {analysis.forms.at("merge").source, analysis.options};
    auto original = device.build({c.text, c.options + " -I " HEDDLE_TEST_DATA "/cases"});
    if (!original && c.may_not_build) return std::nullopt;
    out.original_ = device::must(std::move(original));
    if (!form.refused.empty()) throw std::runtime_error(form.refused);
    out.form_ = device::must(device.build({form.source, analysis.options}));
    out.counted_ = device::must(device.build({form.source, analysis.options + " " + core::counted_option}));
    if (c.entry.empty()) return out;
    out.whole_ = device::must(out.original_->kernel(c.entry));
    out.box_ = device::must(out.form_->kernel(c.entry));
    out.counted_box_ = device::must(out.counted_->kernel(c.entry));
    return out;
  }

  Memory run_whole(const core::Grid& grid, const Memory& memory) {
    return run({{whole_.get(), range_of(grid), {}}}, memory);
  }

  // Another source in its place, as `range` says.
  Memory run_source(const device::Source& source, const core::NdRange& range, const Memory& memory) {
    const auto program = device::must(device_->build(source));
    return run_kernel(*device::must(program->kernel(case_->entry)), range, memory);
  }
  Memory run_kernel(device::Kernel& kernel, const core::NdRange& range, const Memory& memory) {
    return run({{&kernel, range, {}}}, memory);
  }

  Memory run_boxes(const core::Grid& grid, const std::vector<core::Box>& boxes, const Memory& memory) {
    std::vector<Step> steps;
    for (const core::Box& box : boxes) steps.push_back(step(*box_, core::box_launch(grid, box)));
    return run(steps, memory);
  }

  // In the form that tests its count.
  Memory run_counted(const core::Grid& grid, bool nothing, const Memory& memory) {
    const core::Box all{{0, 0, 0}, grid.groups};
    return run({step(*counted_box_, nothing ? core::preparing_launch(grid) : core::box_launch(grid, all))}, memory);
  }

  // In window form, one box after the other, each in buffers that hold no more than what the facts say it touches.
  // `moved` counts those that do not begin where their argument does.
  Memory run_windows(const core::KernelFacts& facts, const core::Grid& grid, const std::vector<core::Box>& boxes,
                     Memory memory, int& moved) {
    if (!window_) {
      windows_ = device::must(device_->build(window_form_));
      window_ = device::must(windows_->kernel(case_->entry));
    }
    const Memory scalars = scalars_of(*case_, memory);
    const core::KernelFacts padded = with_padding(facts);
    const core::BoundKernel bound(facts, grid, scalars), reaching(padded, grid, scalars);
    for (const core::Box& box : boxes) {
      const auto touched = bound.touched(box), reached = reaching.touched(box);
      Step s = step(*window_, core::box_launch(grid, box));
      Memory parts = memory;
      std::vector<core::Span> windows(memory.size());
      for (std::size_t i = 0; i < memory.size(); ++i) {
        if (!core::windowed(facts.arguments[i])) continue;
        windows[i] = core::window_around(hull(touched[i], memory[i].size()), memory[i].size());
        parts[i] = {memory[i].begin() + windows[i].begin, memory[i].begin() + windows[i].end};
        s.hidden.push_back(device::scalar(static_cast<std::uint64_t>(windows[i].begin)));
        moved += windows[i].begin > 0;
      }
      parts = run({s}, parts);
      for (std::size_t i = 0; i < memory.size(); ++i) {
        for (const core::ByteRanges* ranges : {&reached[i].written, &reached[i].updated}) {
          for (const core::Span& span : core::spans(*ranges, memory[i].size())) {
            const core::Span there = core::intersect(span, windows[i]);
            if (there.empty()) continue;
            const auto begin = parts[i].begin() + (there.begin - windows[i].begin);
            std::copy(begin, begin + there.size(), memory[i].begin() + there.begin);
          }
        }
      }
    }
    return memory;
  }

  // In merge form: what another memory holds where these boxes write.
  Memory run_merge(const core::KernelFacts& facts, const core::Grid& grid, const std::vector<core::Box>& boxes,
                   const Memory& memory, const Memory& other) {
    if (!merge_) {
      merging_ = device::must(device_->build(merge_form_));
      merge_ = device::must(merging_->kernel(case_->entry));
    }
    std::vector<std::unique_ptr<device::Buffer>> others;
    std::vector<device::Argument> hidden;
    for (std::size_t i = 0; i < other.size(); ++i) {
      if (!core::windowed(facts.arguments[i])) continue;
      others.push_back(device::must(device_->allocate(other[i].size())));
      device::must(device::must(queue_->copy_in(*others.back(), 0, other[i]))->wait());
      hidden.push_back(device::BufferArgument{others.back().get()});
      hidden.push_back(device::scalar(static_cast<std::uint64_t>(other[i].size())));
    }
    std::vector<Step> steps;
    for (const core::Box& box : boxes) {
      steps.push_back(step(*merge_, core::box_launch(grid, box)));
      steps.back().hidden.insert(steps.back().hidden.end(), hidden.begin(), hidden.end());
    }
    return run(steps, memory);
  }

 private:
  struct Step {
    device::Kernel* kernel;
    core::NdRange range;
    std::vector<device::Argument> hidden;
  };

  static core::Span hull(const core::Touched& touched, core::Bytes size) {
    core::SpanSet all;
    for (const core::ByteRanges* ranges : {&touched.read, &touched.written, &touched.updated})
      all.add(core::SpanSet::of_sorted(core::spans(*ranges, size)));
    return all.empty() ? core::Span{} : core::Span{all.spans().front().begin, all.spans().back().end};
  }

  static Step step(device::Kernel& kernel, const core::BoxLaunch& launch) {
    const auto& a = launch.arguments;
    return {&kernel,
            launch.range,
            {device::scalar(a.base), device::scalar(a.count), device::scalar(a.groups), device::scalar(a.offset)}};
  }

  Memory run(const std::vector<Step>& steps, const Memory& memory) {
    std::vector<std::unique_ptr<device::Buffer>> buffers(memory.size());
    std::vector<device::Argument> arguments;
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const CaseArgument& a = case_->arguments[i];
      if (a.kind == CaseArgument::Kind::value) arguments.push_back(device::Scalar(memory[i]));
      if (a.kind == CaseArgument::Kind::shared) arguments.push_back(device::LocalMemory{a.size});
      if (a.kind != CaseArgument::Kind::buffer) continue;
      buffers[i] = device::must(device_->allocate(memory[i].size()));
      device::must(device::must(queue_->copy_in(*buffers[i], 0, memory[i]))->wait());
      arguments.push_back(device::BufferArgument{buffers[i].get(), core::Access::read_write});
    }
    for (const Step& s : steps) {
      std::vector<device::Argument> all = arguments;
      all.insert(all.end(), s.hidden.begin(), s.hidden.end());
      device::must(device::must(queue_->launch({*s.kernel, all, s.range}))->wait());
    }
    Memory out = memory;
    for (std::size_t i = 0; i < memory.size(); ++i) {
      if (buffers[i]) device::must(device::must(queue_->copy_out(out[i], *buffers[i], 0))->wait());
    }
    return out;
  }

  device::Device* device_;
  const Case* case_;
  std::unique_ptr<device::Queue> queue_;
  device::Source window_form_, merge_form_;
  std::unique_ptr<device::Program> original_, form_, counted_, windows_, merging_;
  std::unique_ptr<device::Kernel> whole_, box_, counted_box_, window_, merge_;
};

}  // namespace heddle::kernel
