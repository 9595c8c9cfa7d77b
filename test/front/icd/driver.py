#!/usr/bin/env python3
"""A driver as Python programs use it: arrays, images, events, copies, maps, linking, binaries."""

import os
import sys
import threading
import warnings

os.environ["PYOPENCL_NO_CACHE"] = "1"  # every build is to reach the driver

import numpy as np  # noqa: E402
import pyopencl as cl  # noqa: E402
import pyopencl.array as cl_array  # noqa: E402

warnings.simplefilter("ignore")  # compiling by parts has no cache, which is what is wanted
failures = 0
mf = cl.mem_flags
seed = int(sys.argv[1]) if len(sys.argv) > 1 else int.from_bytes(os.urandom(4), "little")
random = np.random.default_rng(seed)


def junk(shape, dtype):
    """An output that nobody has written yet."""
    out = np.empty(shape, dtype)
    out.view(np.uint8).fill(0xA5)
    return out


def words(*shape):
    return random.integers(0, 2**32, shape, dtype=np.uint32)


def group(name, right):
    global failures
    if not right:
        failures += 1
        print(f"{name}: seed {seed}", file=sys.stderr)
    print(f"{name}: {'right' if right else 'WRONG'}", flush=True)


def arrays(context, queue):
    a, b = (random.random(10000, dtype=np.float32) for _ in range(2))
    on_a, on_b = cl_array.to_device(queue, a), cl_array.to_device(queue, b)
    c = (2 * on_a + on_b * on_a - 1).get()
    right = np.allclose(c, 2 * a + b * a - 1, rtol=1e-5, atol=1e-6)
    total = float(cl_array.sum(on_a).get())
    right &= abs(total - a.sum(dtype=np.float64)) < 1e-2
    right &= float(cl_array.max(on_b).get()) == float(b.max())
    numbers = words(1000)
    right &= np.array_equal((cl_array.to_device(queue, numbers) * 3 + 7).get(), numbers * np.uint32(3) + np.uint32(7))
    group("arrays", bool(right))


def images(context, queue, device):
    if not device.image_support:
        return group("images", True)
    pixels = random.integers(0, 256, (11, 17, 4), dtype=np.uint8)
    form = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.UNSIGNED_INT8)
    source = cl.Image(context, mf.READ_ONLY | mf.COPY_HOST_PTR, form, shape=(17, 11), hostbuf=pixels)
    to = cl.Image(context, mf.READ_WRITE, form, shape=(17, 11))
    sampler = cl.Sampler(context, False, cl.addressing_mode.CLAMP_TO_EDGE, cl.filter_mode.NEAREST)
    program = cl.Program(context, """
        kernel void mirror(read_only image2d_t from, write_only image2d_t to, sampler_t how) {
          int2 p = (int2)(get_global_id(0), get_global_id(1));
          write_imageui(to, p, read_imageui(from, how, (int2)(get_image_width(from) - 1 - p.x, p.y))); }
        """).build()
    program.mirror(queue, (17, 11), None, source, to, sampler)
    got = junk(pixels.shape, np.uint8)
    cl.enqueue_copy(queue, got, to, origin=(0, 0), region=(17, 11))
    right = np.array_equal(got, pixels[:, ::-1])
    other = cl.Image(context, mf.READ_WRITE, form, shape=(17, 11))
    cl.enqueue_copy(queue, other, to, src_origin=(0, 0), dest_origin=(0, 0), region=(17, 11))
    mapped, *_ = cl.enqueue_map_image(queue, other, cl.map_flags.READ, (0, 0), (17, 11), (11, 17, 4), np.uint8)
    right &= np.array_equal(mapped, pixels[:, ::-1])
    mapped.base.release(queue)
    group("images", bool(right))


def user_events(context, queue):
    data = words(64)
    buffer = cl.Buffer(context, mf.READ_WRITE, data.nbytes)
    gate = cl.UserEvent(context)
    written = cl.enqueue_copy(queue, buffer, data, is_blocking=False, wait_for=[gate])
    queue.flush()
    right = written.command_execution_status > cl.command_execution_status.RUNNING
    gate.set_status(cl.command_execution_status.COMPLETE)
    written.wait()
    got = junk(64, np.uint32)
    cl.enqueue_copy(queue, got, buffer)
    right &= np.array_equal(got, data) and written.command_queue == queue and written.context == context
    # One that fails.
    gate = cl.UserEvent(context)
    loose = cl.CommandQueue(context, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    marker = cl.enqueue_marker(loose, wait_for=[gate])
    loose.flush()
    gate.set_status(-5)
    try:
        marker.wait()
        right = False
    except cl.Error as error:
        right &= error.code == cl.status_code.EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
    group("user events", bool(right))


def rectangles(context, queue):
    model = random.integers(0, 256, (6, 8, 16), dtype=np.uint8)
    buffer = cl.Buffer(context, mf.READ_WRITE | mf.COPY_HOST_PTR, hostbuf=model)
    host = junk((4, 5, 12), np.uint8)
    expected = host.copy()
    cl.enqueue_copy(queue, host, buffer, buffer_origin=(3, 2, 1), host_origin=(1, 1, 0), region=(7, 3, 3),
                    buffer_pitches=(16, 128), host_pitches=(12, 60))
    expected[0:3, 1:4, 1:8] = model[1:4, 2:5, 3:10]
    right = np.array_equal(host, expected)
    patch = random.integers(0, 256, (4, 5, 12), dtype=np.uint8)
    cl.enqueue_copy(queue, buffer, patch, buffer_origin=(5, 1, 2), host_origin=(2, 0, 1), region=(6, 4, 2),
                    buffer_pitches=(16, 128), host_pitches=(12, 60))
    model[2:4, 1:5, 5:11] = patch[1:3, 0:4, 2:8]
    got = junk(model.shape, np.uint8)
    cl.enqueue_copy(queue, got, buffer)
    right &= np.array_equal(got, model)
    group("rect copies", bool(right))


def maps(context, queue):
    model = words(256)
    buffer = cl.Buffer(context, mf.READ_WRITE | mf.COPY_HOST_PTR, hostbuf=model)
    flags = cl.map_flags.READ | cl.map_flags.WRITE
    mapped, event = cl.enqueue_map_buffer(queue, buffer, flags, 64, (100,), np.uint32, is_blocking=False)
    event.wait()
    right = np.array_equal(mapped, model[16:116])
    mapped += 5
    mapped.base.release(queue)
    model[16:116] += 5
    got = junk(256, np.uint32)
    cl.enqueue_copy(queue, got, buffer)
    group("maps", bool(right and np.array_equal(got, model)))


def parts(context, queue, device):
    step = device.mem_base_addr_align // 8
    model = random.integers(0, 256, 4 * step, dtype=np.uint8)
    whole = cl.Buffer(context, mf.READ_WRITE | mf.COPY_HOST_PTR, hostbuf=model)
    part = whole[step:3 * step]
    right = part.offset == step and part.associated_memobject == whole
    cl.enqueue_fill_buffer(queue, part, np.uint32(0x01020304), step, step)
    model[2 * step:3 * step] = np.frombuffer(np.uint32(0x01020304).tobytes() * (step // 4), np.uint8)
    got = junk(4 * step, np.uint8)
    cl.enqueue_copy(queue, got, whole)
    group("sub-buffers", bool(right and np.array_equal(got, model)))


def out_of_order(context):
    queue = cl.CommandQueue(context, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    program = cl.Program(context, "kernel void advance(global uint* data, uint by) {"
                                  " size_t i = get_global_id(0); data[i] = data[i] * 3 + by; }").build()
    kernel = cl.Kernel(program, "advance")
    model = words(500)
    buffer = cl.Buffer(context, mf.READ_WRITE | mf.COPY_HOST_PTR, hostbuf=model)
    event = None
    for by in words(30):
        kernel.set_args(buffer, by)
        event = cl.enqueue_nd_range_kernel(queue, kernel, (500,), None, wait_for=[event] if event else None)
        model = model * np.uint32(3) + by
    got = junk(500, np.uint32)
    cl.enqueue_copy(queue, got, buffer, wait_for=[event])
    group("out-of-order queue", np.array_equal(got, model))


def run_fill(context, queue, program, value):
    buffer = cl.Buffer(context, mf.READ_WRITE, 256)
    cl.Kernel(program, "fill")(queue, (64,), None, buffer, np.uint32(value))
    got = junk(64, np.uint32)
    cl.enqueue_copy(queue, got, buffer)
    return got


def programs(context, queue, device):
    header = cl.Program(context, "uint grow(uint x);\n")
    part = cl.Program(context, '#include "grow.h"\nuint grow(uint x) { return x * FACTOR; }\n')
    user = cl.Program(context, '#include "grow.h"\nkernel void fill(global uint* to, uint value) {'
                               " to[get_global_id(0)] = grow(value) + 1; }\n")
    part.compile(options=["-DFACTOR=7"], headers=[("grow.h", header)])
    user.compile(headers=[("grow.h", header)])
    linked = cl.link_program(context, [part, user])
    group("compile and link", bool((run_fill(context, queue, linked, 5) == 36).all()))

    program = cl.Program(context, "kernel void fill(global uint* to, uint value) {"
                                  " to[get_global_id(0)] = value ^ 0x55; }").build()
    binary = program.get_info(cl.program_info.BINARIES)[0]
    again = cl.Program(context, [device], [binary]).build()
    right = len(binary) > 0 and bool((run_fill(context, queue, again, 9) == 9 ^ 0x55).all())
    group("binary and back", right)

    try:
        cl.Program(context, "kernel void broken(global uint* to) { to[0] = nowhere; }").build()
        right = False
    except cl.Error as error:  # the message holds the log
        right = "nowhere" in str(error)
    group("log of a failed build", right)


def shared_memory(context, queue, device):
    right = True
    if device.svm_capabilities & cl.device_svm_capabilities.COARSE_GRAIN_BUFFER:
        data = cl.SVM(cl.csvm_empty(context, 300, np.uint32))
        model = words(300)
        with data.map_rw(queue) as mapped:
            mapped[:] = model
        program = cl.Program(context, "kernel void advance(global uint* data) {"
                                      " data[get_global_id(0)] += 11; }").build()
        program.advance(queue, (300,), None, data)
        with data.map_ro(queue) as mapped:
            right = np.array_equal(mapped, model + np.uint32(11))
        queue.finish()
    group("shared virtual memory", bool(right))


def callbacks(context, queue):
    called = threading.Event()
    seen = []

    def done(status):
        seen.append(status)
        called.set()

    buffer = cl.Buffer(context, mf.READ_WRITE, 64)
    event = cl.enqueue_fill_buffer(queue, buffer, np.uint32(1), 0, 64)
    event.set_callback(cl.command_execution_status.COMPLETE, done)
    queue.finish()
    right = called.wait(5) and seen == [cl.command_execution_status.COMPLETE]
    called.clear()
    event.set_callback(cl.command_execution_status.COMPLETE, done)  # it is over
    group("callbacks", bool(right and called.wait(5)))


def main():
    platform = cl.get_platforms()[0]
    device = platform.get_devices()[0]
    context = cl.Context([device])
    queue = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
    arrays(context, queue)
    images(context, queue, device)
    user_events(context, queue)
    rectangles(context, queue)
    maps(context, queue)
    parts(context, queue, device)
    out_of_order(context)
    programs(context, queue, device)
    shared_memory(context, queue, device)
    callbacks(context, queue)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
