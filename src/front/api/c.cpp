// The C face of the library: one catch per call, which turns exceptions into what heddle_error() says.
#include <algorithm>
#include <cstring>

#include "heddle/heddle.h"
#include "heddle/heddle.hpp"

struct heddle_runtime {
  heddle::Runtime runtime;
};
struct heddle_buffer {
  heddle::Buffer<std::byte> buffer;
};
struct heddle_kernel {
  heddle::Kernel kernel;
};
struct heddle_launch {
  heddle::Launch launch;
};
struct heddle_prepared {
  heddle::Prepared prepared;
};

namespace {

thread_local std::string last_error;

template <class Result, class Call>
Result guarded(Result failed, Call call) {
  try {
    return call();
  } catch (const heddle::Error& error) {
    last_error = error.what();
    if (!error.log().empty()) last_error += "\n" + error.log();
  } catch (const std::exception& error) {
    last_error = error.what();
  } catch (...) {
    last_error = "something that is no exception was thrown";
  }
  return failed;
}

void need(const void* pointer, const char* what) {
  if (!pointer) throw std::invalid_argument(std::string(what) + " is NULL");
}

heddle::detail::Argument argument_of(const heddle_argument& given) {
  if (given.buffer && given.value) throw std::invalid_argument("an argument that is both a buffer and a value");
  if (given.buffer) {
    auto whole = given.buffer->buffer.argument();
    if (given.size > 0 || given.begin > 0) whole.begin = given.begin, whole.size = given.size;
    return whole;
  }
  if (!given.value) return heddle::detail::LocalArgument{given.size};
  const auto* bytes = static_cast<const std::byte*>(given.value);
  return std::vector<std::byte>(bytes, bytes + given.size);
}

}  // namespace

extern "C" {

const char* heddle_error(void) { return last_error.c_str(); }

heddle_runtime* heddle_open(const char* devices) {
  return guarded<heddle_runtime*>(
      nullptr, [&] { return new heddle_runtime{heddle::Runtime(heddle::Options{.devices = devices ? devices : ""})}; });
}

void heddle_close(heddle_runtime* runtime) { delete runtime; }

heddle_buffer* heddle_buffer_make(heddle_runtime* runtime, size_t size) {
  return guarded<heddle_buffer*>(nullptr, [&] {
    need(runtime, "the runtime");
    return new heddle_buffer{runtime->runtime.buffer<std::byte>(size)};
  });
}

heddle_buffer* heddle_buffer_on(heddle_runtime* runtime, void* memory, size_t size) {
  return guarded<heddle_buffer*>(nullptr, [&] {
    need(runtime, "the runtime"), need(memory, "the memory");
    return new heddle_buffer{runtime->runtime.buffer_on(std::span(static_cast<std::byte*>(memory), size))};
  });
}

void heddle_buffer_free(heddle_buffer* buffer) { delete buffer; }
size_t heddle_buffer_size(const heddle_buffer* buffer) { return buffer ? buffer->buffer.size() : 0; }

int heddle_buffer_write(heddle_buffer* buffer, const void* from, size_t size) {
  return guarded(-1, [&] {
    need(buffer, "the buffer"), need(from, "the bytes to write");
    buffer->buffer.write(std::span(static_cast<const std::byte*>(from), size));
    return 0;
  });
}

int heddle_buffer_read(heddle_buffer* buffer, void* to, size_t size) {
  return guarded(-1, [&] {
    need(buffer, "the buffer"), need(to, "the place to read to");
    if (size != buffer->buffer.size())
      throw std::invalid_argument("read of " + std::to_string(size) + " bytes from a buffer of " +
                                  std::to_string(buffer->buffer.size()));
    std::memcpy(to, buffer->buffer.read().data(), size);
    return 0;
  });
}

void* heddle_buffer_host(heddle_buffer* buffer) {
  return guarded<void*>(nullptr, [&]() -> void* {
    need(buffer, "the buffer");
    return buffer->buffer.host().data();
  });
}

heddle_kernel* heddle_kernel_make(heddle_runtime* runtime, const char* name, const char* source, const char* options) {
  return guarded<heddle_kernel*>(nullptr, [&] {
    need(runtime, "the runtime"), need(name, "the name"), need(source, "the source");
    return new heddle_kernel{runtime->runtime.kernel(name, source, options ? options : "")};
  });
}

heddle_kernel* heddle_kernel_open(heddle_runtime* runtime, const char* name) {
  return guarded<heddle_kernel*>(nullptr, [&] {
    need(runtime, "the runtime"), need(name, "the name");
    return new heddle_kernel{runtime->runtime.kernel(name)};
  });
}

int heddle_kernel_add(heddle_kernel* kernel, const char* variant, const char* source, const heddle_covers* covers) {
  return guarded(1, [&] {
    need(kernel, "the kernel"), need(variant, "the variant"), need(source, "the source"),
        need(covers, "what it covers");
    heddle::Covers out;
    std::copy(std::begin(covers->points), std::end(covers->points), out.points.begin());
    std::copy(std::begin(covers->group), std::end(covers->group), out.group.begin());
    out.guarded = covers->guarded != 0;
    if (covers->options) out.options = covers->options;
    if (covers->entry) out.entry = covers->entry;
    if (covers->reads) out.reads.assign(covers->reads, covers->reads + covers->read_count);
    out.same_points = covers->same_points != 0;
    if (covers->prepare) {
      out.prepare = [prepare = covers->prepare, user = covers->user](const heddle::Inputs& in) {
        std::vector<heddle_input> inputs;
        for (std::size_t i = 0; i < in.size(); ++i)
          inputs.push_back({in.bytes(i).empty() ? nullptr : in.bytes(i).data(), in.bytes(i).size()});
        heddle_prepared made;
        if (const int failed = prepare(user, in.points.data(), inputs.size(), inputs.data(), &made); failed != 0)
          throw std::runtime_error("it returned " + std::to_string(failed));
        return std::move(made.prepared);
      };
    }
    kernel->kernel.variant(variant, source, out);
    return 0;
  });
}

int heddle_prepared_given(heddle_prepared* out, size_t argument) {
  return guarded(-1, [&] {
    need(out, "what is prepared");
    out->prepared.arguments.emplace_back(heddle::given(argument));
    return 0;
  });
}

int heddle_prepared_array(heddle_prepared* out, const void* from, size_t size) {
  return guarded(-1, [&] {
    need(out, "what is prepared");
    if (size > 0) need(from, "the array");
    const auto* bytes = static_cast<const std::byte*>(from);
    heddle::detail::add(out->prepared, std::vector<std::byte>(bytes, bytes + size));
    return 0;
  });
}

int heddle_prepared_value(heddle_prepared* out, const void* value, size_t size) {
  return guarded(-1, [&] {
    need(out, "what is prepared");
    const auto* bytes = static_cast<const std::byte*>(value);
    if (bytes)
      out->prepared.arguments.emplace_back(std::vector<std::byte>(bytes, bytes + size));
    else
      out->prepared.arguments.emplace_back(heddle::detail::LocalArgument{size});
    return 0;
  });
}

void heddle_kernel_free(heddle_kernel* kernel) { delete kernel; }

heddle_launch* heddle_launch_begin(heddle_runtime* runtime, heddle_kernel* kernel, const heddle_grid* grid,
                                   size_t count, const heddle_argument* arguments) {
  return guarded<heddle_launch*>(nullptr, [&] {
    need(runtime, "the runtime"), need(kernel, "the kernel"), need(grid, "the grid");
    if (count > 0) need(arguments, "the arguments");
    if (grid->dimensions < 1 || grid->dimensions > 3)
      throw std::invalid_argument("a grid of " + std::to_string(grid->dimensions) + " dimensions; 1, 2 or 3 expected");
    heddle::Grid out;
    out.dimensions = grid->dimensions;
    out.task_count = grid->tasks, out.everywhere = grid->everywhere != 0;
    using When = heddle::Selection::When;
    out.selection.when = grid->profile > 0 ? When::always : grid->profile < 0 ? When::never : When::once;
    if (grid->initial) out.selection.initial = grid->initial;
    out.selection.meanwhile = grid->meanwhile != 0;
    using How = heddle::Selection::How;
    static constexpr How ways[] = {How::as_known, How::own_parts, How::same_part, How::private_outputs};
    if (grid->how < 0 || grid->how > 3)
      throw std::invalid_argument("how: " + std::to_string(grid->how) + "; 0 to 3 expected");
    out.selection.how = ways[grid->how];
    for (std::size_t d = 0; d < static_cast<std::size_t>(grid->dimensions); ++d)
      out.items[d] = grid->items[d], out.group_size[d] = grid->group[d], out.offset[d] = grid->offset[d];
    std::vector<heddle::detail::Argument> all;
    for (size_t i = 0; i < count; ++i) all.push_back(argument_of(arguments[i]));
    return new heddle_launch{runtime->runtime.launch_all(kernel->kernel, out, std::move(all))};
  });
}

int heddle_launch_wait(heddle_launch* launch) {
  return guarded(-1, [&] {
    need(launch, "the launch");
    launch->launch.wait();
    return 0;
  });
}

int heddle_launch_done(heddle_launch* launch) {
  return guarded(0, [&] { return launch && launch->launch.done() ? 1 : 0; });
}

void heddle_launch_free(heddle_launch* launch) { delete launch; }

}  // extern "C"
