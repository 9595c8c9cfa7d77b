// Heddle as a library: kernels in OpenCL C, launched on whatever devices there are.
//
//   heddle::Runtime rt;                                              // all devices
//   auto x = rt.buffer<float>(n), y = rt.buffer<float>(n);
//   auto saxpy = rt.kernel("saxpy", source);
//   rt.launch(saxpy, heddle::grid(n), x, y, 2.5f);                    // returns at once; y.host() waits
//
// Launches that share a buffer take effect in the order of their calls. Everything here may be used from several
// threads. Mistakes of the caller are std::invalid_argument, what goes wrong on devices is heddle::Error.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#if defined(__GNUC__)
#define HEDDLE_API __attribute__((visibility("default")))
#else
#define HEDDLE_API
#endif

namespace heddle {

// A kernel that does not build, a device that fails, memory that is too small. The log is the driver's own words where
// it gave any, such as those of its compiler.
class HEDDLE_API Error : public std::runtime_error {
 public:
  Error(const std::string& what, std::string log) : std::runtime_error(what), log_(std::move(log)) {}
  const std::string& log() const { return log_; }

 private:
  std::string log_;
};

// For kernels that have variants: when and how the best is found on each device.
struct Selection {
  enum class When {
    once,    // at the first launch of a kind: of the same size and with buffers of the same sizes
    always,  // at each launch
    never    // the initial variant does everything
  } when = When::once;
  enum class How {
    as_known,   // by what is known of the kernel: if all its groups do the same work or not, and what they change
    own_parts,  // each variant computes another part of the launch
    same_part,  // all compute the same part in turn; as below where that would do something twice
    // All compute the same part in turn, one of them for the program, the others on copies of what they change. On
    // devices that work in the host's memory, if not too much is to be copied; else in parts of their own. Not
    // together with `meanwhile`.
    private_outputs
  } how = How::as_known;
  std::string initial;  // variant to begin with; empty: the first
  // The initial variant begins with the rest at once, in small parts, and whoever turns out to be better goes on. Else
  // a device computes nothing but the parts that are compared until it knows.
  bool meanwhile = false;
};

// How many work-items a launch has, and in which groups. Without groups, Heddle chooses. For a kernel that has
// variants: how many points, whatever their groups.
struct Grid {
  std::array<std::int64_t, 3> items{1, 1, 1};
  std::array<std::int64_t, 3> group_size{0, 0, 0};
  std::array<std::int64_t, 3> offset{0, 0, 0};
  int dimensions = 1;
  int task_count = 0;       // slices into which each device's share is cut; 0: Heddle decides
  bool everywhere = false;  // on all devices, also where nothing is known that speaks for it
  Selection selection;      // of variants

  Grid group(std::int64_t x, std::int64_t y = 1, std::int64_t z = 1) const {
    Grid out = *this;
    out.group_size = {x, y, z};
    return out;
  }
  Grid from(std::int64_t x, std::int64_t y = 0, std::int64_t z = 0) const {
    Grid out = *this;
    out.offset = {x, y, z};
    return out;
  }
  Grid tasks(int count) const {
    Grid out = *this;
    out.task_count = count;
    return out;
  }
  Grid select(Selection how) const {
    Grid out = *this;
    out.selection = std::move(how);
    return out;
  }
  Grid on_all_devices() const {
    Grid out = *this;
    out.everywhere = true;
    return out;
  }
};

inline Grid grid(std::int64_t x) { return {{x, 1, 1}}; }
inline Grid grid(std::int64_t x, std::int64_t y) { return {.items = {x, y, 1}, .dimensions = 2}; }
inline Grid grid(std::int64_t x, std::int64_t y, std::int64_t z) { return {.items = {x, y, z}, .dimensions = 3}; }

namespace detail {

struct RuntimeState;
struct BufferState;
struct KernelState;
struct LaunchState;

struct BufferArgument {
  std::shared_ptr<BufferState> buffer;
  std::size_t begin, size;  // bytes
};
struct LocalArgument {
  std::size_t size;
};
using Argument = std::variant<BufferArgument, std::vector<std::byte>, LocalArgument>;

class HEDDLE_API AnyBuffer {
 public:
  std::size_t size() const;  // bytes
  std::span<std::byte> host();
  std::span<const std::byte> read() const;
  void write(std::span<const std::byte> bytes);

  std::shared_ptr<BufferState> state;
};

}  // namespace detail

template <class T>
class Buffer;

// A part of a buffer as an argument. It must begin where every device lets parts begin: at multiples of 512 bytes to be
// safe.
template <class T>
struct Part {
  detail::BufferArgument argument;
};

// Memory of T that kernels work on, wherever they run.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  std::size_t size() const { return any_.size() / sizeof(T); }

  // The elements in host memory, to read and to change until the next launch that uses them. Waits for all launches
  // that use them.
  std::span<T> host() { return as<T>(any_.host()); }
  // To read only: the devices' copies stay as good as this one. Waits for launches that write them.
  std::span<const T> read() const { return as<const T>(any_.read()); }
  // All elements become these. Waits for nobody: launches on their way keep what they were given.
  void write(std::span<const T> elements) { any_.write(std::as_bytes(elements)); }

  Part<T> part(std::size_t first, std::size_t count) const {
    return {{any_.state, first * sizeof(T), count * sizeof(T)}};
  }
  detail::BufferArgument argument() const { return {any_.state, 0, any_.size()}; }

 private:
  friend class Runtime;
  template <class U, class Bytes>
  static std::span<U> as(Bytes bytes) {
    return {reinterpret_cast<U*>(bytes.data()), bytes.size() / sizeof(U)};
  }
  detail::AnyBuffer any_;
};

// Local memory for `count` elements: the argument of a `local` pointer.
template <class T>
detail::LocalArgument local(std::size_t count) {
  return {count * sizeof(T)};
}

// What a launch was given, as the preparation of a variant sees it: in host memory, to read only. Arguments have the
// numbers of their places in the launch. std::invalid_argument for one that the preparation does not depend on, or that
// is something else.
class HEDDLE_API Inputs {
 public:
  explicit Inputs(const std::array<std::int64_t, 3>& points_of_launch) : points(points_of_launch) {}

  const std::array<std::int64_t, 3> points;  // of the launch
  template <class T>
  std::span<const T> array(std::size_t argument) const {
    const auto bytes = bytes_of(argument, false, sizeof(T));
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <class T>
  T value(std::size_t argument) const {
    T out;
    std::memcpy(&out, bytes_of(argument, true, sizeof(T)).data(), sizeof(T));
    return out;
  }
  std::size_t size() const { return all_.size(); }  // of the launch's arguments
  // Of a buffer or a value; none of those that the preparation does not depend on.
  std::span<const std::byte> bytes(std::size_t argument) const { return all_.at(argument).bytes; }

 private:
  friend class Kernel;
  std::span<const std::byte> bytes_of(std::size_t argument, bool value, std::size_t element) const;
  struct One {
    std::span<const std::byte> bytes;
    bool value;
  };
  std::vector<One> all_;
};

// An argument of the launch, by its place there.
struct Given {
  std::size_t argument;
};
inline Given given(std::size_t argument) { return {argument}; }

// The arguments of a variant's own kernel, in its order: see prepared().
struct Prepared {
  struct Array {
    std::shared_ptr<const void> owner;
    std::span<const std::byte> bytes;
  };
  std::vector<std::variant<Given, Array, std::vector<std::byte>, detail::LocalArgument>> arguments;
};

namespace detail {

inline void add(Prepared& to, Given argument) { to.arguments.emplace_back(argument); }
inline void add(Prepared& to, LocalArgument memory) { to.arguments.emplace_back(memory); }
template <class T>
void add(Prepared& to, std::vector<T> elements) {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>);
  const auto owner = std::make_shared<const std::vector<T>>(std::move(elements));
  to.arguments.emplace_back(Prepared::Array{owner, std::as_bytes(std::span(*owner))});
}
template <class T, std::size_t N>
void add(Prepared& to, std::span<T, N> elements) {
  add(to, std::vector<std::remove_const_t<T>>(elements.begin(), elements.end()));
}
template <class T>
requires std::is_trivially_copyable_v<T>
void add(Prepared& to, const T& value) {
  static_assert(!std::is_pointer_v<T>, "kernels take arrays, not pointers");
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  to.arguments.emplace_back(std::vector<std::byte>(bytes, bytes + sizeof(T)));
}

}  // namespace detail

// Of any of the launch's arguments, given(i), new arrays, as vectors or spans, local<T>(n), and values of exactly the
// kernel's types:
//
//   return heddle::prepared(std::move(order), std::move(lengths), heddle::given(3), heddle::given(4), rows);
template <class... A>
Prepared prepared(A&&... arguments) {
  Prepared out;
  (detail::add(out, std::forward<A>(arguments)), ...);
  return out;
}

// What one implementation of a kernel computes, and of what.
struct Covers {
  std::array<std::int64_t, 3> points{1, 1, 1};  // of the launch, by one of its groups
  std::array<std::int64_t, 3> group{1, 1, 1};   // work-items of that group
  bool guarded = false;                         // it checks bounds: its last group may reach over the end of the launch
  std::string options = "";                     // for its compiler
  std::string entry = "";                       // the function's name, if it is not the kernel's

  // Makes the arguments of its kernel of those of the launch, on the host: a matrix in another layout. Done when the
  // variant is first to run, and again when what it depends on has changed; in between, what it made is used again. Its
  // kernel only reads those arrays. It runs on a thread of Heddle's while the launch waits, and must not use the
  // runtime. Where it throws, or what it gives does not fit its kernel, the variant is left out. Empty: the kernel
  // takes what the launch is given. Not for the first variant.
  std::function<Prepared(const Inputs&)> prepare = {};
  // Places of the arguments that it depends on, and sees. Empty: all that the launch only reads.
  std::vector<std::size_t> reads = {};
  // A group computes the points of its place, as without preparation. Else, say where rows are sorted, only whole
  // launches are given to one variant or another, on one device.
  bool same_points = false;
};

// A parameter, or what is computed of parameters: `bx * t <= 256` is no truth value but a constraint. Whole numbers
// divide as in Python: 7 / 2 is 3.5. Its text is what `heddle tune` reads, too.
class Expr {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> Expr(T value) : text_(of(value)) {}
  Expr(const char* name) : text_("'" + std::string(name) + "'") {}  // one of the values of a parameter of names
  static Expr text(std::string text) {
    Expr out(0);
    out.text_ = std::move(text);
    return out;
  }
  const std::string& text() const { return text_; }

  friend Expr operator+(const Expr& a, const Expr& b) { return join(a, " + ", b); }
  friend Expr operator-(const Expr& a, const Expr& b) { return join(a, " - ", b); }
  friend Expr operator*(const Expr& a, const Expr& b) { return join(a, " * ", b); }
  friend Expr operator/(const Expr& a, const Expr& b) { return join(a, " / ", b); }
  friend Expr operator%(const Expr& a, const Expr& b) { return join(a, " % ", b); }
  friend Expr operator==(const Expr& a, const Expr& b) { return join(a, " == ", b); }
  friend Expr operator!=(const Expr& a, const Expr& b) { return join(a, " != ", b); }
  friend Expr operator<(const Expr& a, const Expr& b) { return join(a, " < ", b); }
  friend Expr operator<=(const Expr& a, const Expr& b) { return join(a, " <= ", b); }
  friend Expr operator>(const Expr& a, const Expr& b) { return join(a, " > ", b); }
  friend Expr operator>=(const Expr& a, const Expr& b) { return join(a, " >= ", b); }
  friend Expr operator&&(const Expr& a, const Expr& b) { return join(a, " && ", b); }
  friend Expr operator||(const Expr& a, const Expr& b) { return join(a, " || ", b); }
  friend Expr operator!(const Expr& a) { return text("!(" + a.text_ + ")"); }
  friend Expr operator-(const Expr& a) { return text("-(" + a.text_ + ")"); }

 private:
  static std::string of(bool value) { return value ? "true" : "false"; }
  template <class T>
  static std::string of(T value) {
    if constexpr (std::is_integral_v<T>) return std::to_string(value);
    std::ostringstream out;
    out.precision(17);
    out << value;
    const bool whole = out.str().find_first_of(".en") == std::string::npos;  // 1.0 is no integer
    return out.str() + (whole ? ".0" : "");
  }
  static Expr join(const Expr& a, const char* by, const Expr& b) { return text("(" + a.text_ + by + b.text_ + ")"); }
  std::string text_;
};

// When to stop tuning, as an expression over how far it is: `evaluations() >= 400 || seconds() >= 60`.
namespace tuned {
inline Expr evaluations() { return Expr::text("evaluations"); }
inline Expr seconds() { return Expr::text("seconds"); }
inline Expr since() { return Expr::text("since"); }        // evaluations since the best was found
inline Expr best() { return Expr::text("best"); }          // milliseconds
inline Expr attained() { return Expr::text("attained"); }  // of the machine's speed: floor_ms / best
}  // namespace tuned

// One configuration that was tried.
struct Trial {
  std::string configuration;  // "BX=8 TILE=2"
  double ms = 0;              // 0: it failed
  std::string failure;        // constraints, compile, runtime, timeout or correctness; empty: it did not
  std::string why;            // in words
};

struct Tuning {
  std::string strategy;  // as `heddle tune --help` lists them; empty: the default
  std::uint64_t seed = 1;
  Expr until = tuned::evaluations() >= 400 || (tuned::seconds() >= 60 && tuned::since() >= 50);
  double floor_ms = 0;                           // what any run takes, if that is known: for attained()
  double relative = 1e-4, absolute = 1e-6;       // by how much real numbers of results may differ
  std::function<bool(const Trial&)> heard = {};  // told of each; false: stop, and keep what was found
};

struct Tuned {
  std::string configuration;
  double ms = 0;
  std::vector<Trial> trials;
  std::string stopped;  // why
};

// One implementation, or several that take the same arguments, or prepare their own, and leave the same results:
//
//   auto spmv = rt.kernel("spmv")
//       .variant("scalar", scalar_source, {.points = {128}, .group = {128}, .guarded = true})
//       .variant("vector", vector_source, {.points = {4}, .group = {128}, .guarded = true});
//   rt.launch(spmv, heddle::grid(rows), values, columns, offsets, x, y);
//
// Each device finds out at the first launch which is its fastest, on parts of that launch. The first variant must be
// able to compute all of a launch: what others leave is for it.
class HEDDLE_API Kernel {
 public:
  const std::string& name() const { return name_; }
  // Another one; it is built at the first launch. Extents that are left out, or 0, count as 1.
  Kernel& variant(const std::string& name, const std::string& source, const Covers& covers);
  // What was found out about them in this run, and what they prepared: the next launch compares them.
  void forget();

  // A kernel with parameters, which its source knows as macros:
  //
  //   auto k = rt.kernel("convolve").source(text);
  //   auto bx = k.tune("BX", {8, 16, 32, 64}), t = k.tune("TILE", {1, 2, 4, 8});
  //   k.constraint(bx * t <= 256).group(bx, 8).points(bx * t, 8);
  //   rt.tune(k, heddle::grid(width, height), in, out);
  //   rt.launch(k, heddle::grid(width, height), in, out);
  //
  // Launches take the configuration that was found for the nearest shape on the device, in this run or an earlier one;
  // before anything was found, the first that fits. A variant that is added becomes the base: it computes what the
  // groups of a configuration leave over, and says what is right; else the first configuration does. The source may
  // also say all of this itself (docs/search.md).
  Kernel& source(const std::string& text, const std::string& options = "");
  Expr tune(const std::string& parameter, const std::vector<Expr>& values);
  Expr derive(const std::string& name, const Expr& value);  // another macro, computed of parameters
  Kernel& constraint(const Expr& holds);
  Kernel& group(const Expr& x, const Expr& y = 1, const Expr& z = 1);   // work-items
  Kernel& points(const Expr& x, const Expr& y = 1, const Expr& z = 1);  // of the launch, that one group computes
  Kernel& guarded(bool checks_bounds = true);

 private:
  friend class Runtime;
  std::string name_;
  std::shared_ptr<detail::KernelState> state_;
};

// What became of a launch.
struct Slice {
  std::string device;
  std::string variant;                         // empty where the kernel has none
  std::array<std::int64_t, 3> begin, end;      // work-items
  std::chrono::nanoseconds started, finished;  // on the host's steady clock
  bool repeat = false;                         // to compare variants: its result was there already, or came once more
  bool first = false;                          // the first of its form: the driver may have compiled for it
};
struct Report {
  std::vector<Slice> slices;
  std::vector<std::string> decisions;  // in words
  std::size_t bytes_to_devices = 0, bytes_to_host = 0;
  int retries = 0;                   // slices that failed and ran again
  std::chrono::nanoseconds time{0};  // from the call to the end
};

class HEDDLE_API Launch {
 public:
  void wait() const;      // Error where it failed; its outputs are then undefined
  bool done() const;      // without waiting
  Report report() const;  // waits

 private:
  friend class Runtime;
  std::shared_ptr<detail::LaunchState> state_;
};

struct Options {
  std::string devices;  // as HEDDLE_DEVICES; empty: as that variable says, or all
  bool locked = false;  // buffers in page-locked memory: faster to and from devices with memory of their own
};

class HEDDLE_API Runtime {
 public:
  Runtime();
  explicit Runtime(const Options& options);
  ~Runtime();  // waits for all launches
  Runtime(Runtime&&) noexcept;
  Runtime& operator=(Runtime&&) noexcept;

  template <class T>
  Buffer<T> buffer(std::size_t count) {
    Buffer<T> out;
    out.any_ = make_buffer(count * sizeof(T));
    return out;
  }
  // On memory of the program's, which must outlive the buffer and is only to be touched through it.
  template <class T>
  Buffer<T> buffer_on(std::span<T> memory) {
    Buffer<T> out;
    out.any_ = make_buffer_on(std::as_writable_bytes(memory));
    return out;
  }

  // `source` is OpenCL C, `options` are those of clBuildProgram. Error, with the log, where no device builds it.
  Kernel kernel(const std::string& name, const std::string& source, const std::string& options = "");

  // One that has no implementation yet: variants are added to it.
  Kernel kernel(const std::string& name);

  // Arguments in the order of the kernel: buffers, parts of them, local<T>(n), and values of exactly the kernel's
  // types.
  template <class... A>
  Launch launch(const Kernel& kernel, const Grid& grid, const A&... arguments) {
    return launch_all(kernel, grid, {argument(arguments)...});
  }
  Launch launch_all(const Kernel& kernel, const Grid& grid, std::vector<detail::Argument> arguments);

  // Finds the best configuration of a kernel's parameters for such a launch, by trying some of them on the device that
  // would run it; the buffers stay as they are. What was found is used by launches of this kernel, and kept for later
  // runs. Error where no configuration runs.
  template <class... A>
  Tuned tune(const Kernel& kernel, const Grid& grid, const Tuning& how, const A&... arguments) {
    return tune_all(kernel, grid, how, {argument(arguments)...});
  }
  template <class... A>
  Tuned tune(const Kernel& kernel, const Grid& grid, const A&... arguments) {
    return tune_all(kernel, grid, {}, {argument(arguments)...});
  }
  Tuned tune_all(const Kernel& kernel, const Grid& grid, const Tuning& how, std::vector<detail::Argument> arguments);

  std::vector<std::string> devices() const;  // "cpu: name"

 private:
  detail::AnyBuffer make_buffer(std::size_t size);
  detail::AnyBuffer make_buffer_on(std::span<std::byte> memory);

  template <class T>
  static detail::Argument argument(const Buffer<T>& buffer) {
    return buffer.argument();
  }
  template <class T>
  static detail::Argument argument(const Part<T>& part) {
    return part.argument;
  }
  static detail::Argument argument(const detail::LocalArgument& memory) { return memory; }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  static detail::Argument argument(const T& value) {
    static_assert(!std::is_pointer_v<T>, "kernels take buffers, not pointers");
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    return std::vector<std::byte>(bytes, bytes + sizeof(T));
  }

  std::shared_ptr<detail::RuntimeState> state_;  // shared: buffers keep what they need of it alive
};

}  // namespace heddle
