// One configuration of a kernel on a device: built, run, checked and timed.
#pragma once

#include <future>
#include <map>
#include <memory>

#include "engine/tuning.hpp"

namespace heddle::engine {

class Tuner {
 public:
  Tuner(device::Device& device, const core::Tunable& tunable, const core::Box& space,
        const std::vector<TuningArgument>& arguments, const std::optional<core::Variant>& base,
        const TuningOptions& options)
      : device_(device), tunable_(tunable), space_(space), given_(arguments), base_(base), options_(options) {}

  core::Status open();

  // Whether what is right is still to be found out.
  bool needs_reference() const;
  core::Status make_reference();

  // What becomes of a configuration; `best` is the least time so far in milliseconds, 0: none.
  Trial run(const core::Configuration& configuration, double best);

  // One more sample of a configuration that ran before.
  std::optional<double> again(const core::Configuration& configuration);

  // What a process of its own says of those that are tried next, while others run. On a CPU that would disturb them.
  bool builds_ahead() const { return options_.worker && device_.info().kind != device::Kind::cpu; }
  void expect(const core::Configuration& configuration);
  void expect_nothing() { coming_.clear(); }  // waits for what is at work

 private:
  // One of several boxes that a run consists of, and who computes it.
  struct Part {
    bool by_base;
    core::Box box;
  };
  struct Built {
    core::Variant variant;
    std::unique_ptr<device::Program> program;
    std::unique_ptr<device::Kernel> kernel;
  };
  struct Refused {
    std::string failure, why;
  };
  static Refused refused(const char* word, const core::Failure& failure);

  // Whether it can be built, and launched on zeros, in a process of its own.
  core::Status try_build(const core::Variant& variant, bool launch) const;

  // PoCL compiles at the first launch, so on a CPU that is tried, too. A kernel may not stand zeros, though: after
  // three that do not, and none that does, it is only built.
  core::Status try_build_now(const core::Variant& variant);

  bool is_output(std::size_t a) const;
  device::Buffer& buffer_of(std::size_t a) const { return *std::get<device::BufferArgument>(arguments_[a]).buffer; }

  bool in_place() const;

  // Inputs as they were given, outputs so that what was left out shows.
  core::Status fill(bool all);

  core::Result<Built> build(const core::Variant& variant);

  // The space as parts: as many as are wanted for the variant, and what its footprints leave for the base. Empty where
  // that cannot be done.
  std::vector<Part> cut(const core::Variant& variant, int wanted) const;
  device::Run run_of(const Built* built, const Part& part) const;

  core::Status prepare(const Built* built, const std::vector<Part>& run);

  // One after the other. What runs cannot be stopped, so it is waited for in any case.
  core::Result<core::Nanoseconds> run_all(const Built* built, const std::vector<Part>& run);

  // A first part that the driver compiles nothing else for: PoCL has a form for parts that do not begin at zero, and
  // one for long launches.
  std::optional<Part> first_part(const Built& built, const std::vector<Part>& whole) const;

  // All of it, unless a part shows that it is hopeless: a failure of kind `hang`. A part of a GPU's work may take as
  // long as all of it, a CPU's takes its share, if not exactly.
  core::Status run_watched(const Built& built, const std::vector<Part>& whole, core::Nanoseconds limit);

  core::Result<core::Sample> time_of(const Built* built, const std::vector<Part>& run);

  core::Status read(std::size_t a, std::vector<std::byte>& to);

  core::Status keep_as_reference();

  template <class T>
  std::optional<std::string> compare(std::size_t a, const std::vector<std::byte>& actual) const;

  core::Result<std::optional<std::string>> what_is_wrong();

  std::variant<double, Refused> attempt(const core::Variant& variant, double best, core::Nanoseconds& build_time);

  device::Device& device_;
  const core::Tunable& tunable_;
  const core::Box space_;
  const std::vector<TuningArgument>& given_;
  const std::optional<core::Variant>& base_;
  const TuningOptions& options_;
  std::unique_ptr<device::Queue> queue_;
  std::vector<std::unique_ptr<device::Buffer>> buffers_;
  std::vector<device::Argument> arguments_;
  std::vector<std::vector<std::byte>> expected_;
  std::optional<Built> base_built_;
  std::map<std::string, std::unique_ptr<Built>> finalists_;
  enum class Zeros { unknown, harmless, harmful } zeros_ = Zeros::unknown;
  int died_of_zeros_ = 0;
  std::map<std::string, std::future<core::Status>> coming_;  // last: they use what is above
};

}  // namespace heddle::engine
