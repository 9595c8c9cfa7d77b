// Images: all shapes, their transfers, maps and samplers.
#include "program.h"

static struct Machine m;

enum { most = 4096 };  // bytes of any image here, with room

// One of each shape: RGBA of 8 bits each, so that an element is a cl_uint.
struct Shape {
  const char* name;
  cl_mem_object_type type;
  size_t size[3];  // as regions count it: for arrays the last used one counts layers
};

static const struct Shape shapes[] = {
    {"1D", CL_MEM_OBJECT_IMAGE1D, {37, 1, 1}},  {"1D array", CL_MEM_OBJECT_IMAGE1D_ARRAY, {19, 5, 1}},
    {"2D", CL_MEM_OBJECT_IMAGE2D, {17, 11, 1}}, {"2D array", CL_MEM_OBJECT_IMAGE2D_ARRAY, {9, 7, 4}},
    {"3D", CL_MEM_OBJECT_IMAGE3D, {7, 6, 5}},
};

static const cl_image_format bytes4 = {CL_RGBA, CL_UNSIGNED_INT8};

static cl_image_desc describe(const struct Shape* shape) {
  cl_image_desc desc = {.image_type = shape->type, .image_width = shape->size[0]};
  if (shape->type == CL_MEM_OBJECT_IMAGE1D_ARRAY) {
    desc.image_array_size = shape->size[1];
  } else if (shape->type != CL_MEM_OBJECT_IMAGE1D) {
    desc.image_height = shape->size[1];
  }
  if (shape->type == CL_MEM_OBJECT_IMAGE2D_ARRAY) desc.image_array_size = shape->size[2];
  if (shape->type == CL_MEM_OBJECT_IMAGE3D) desc.image_depth = shape->size[2];
  return desc;
}

static size_t at(const struct Shape* shape, size_t x, size_t y, size_t z) {
  return (z * shape->size[1] + y) * shape->size[0] + x;
}

static const size_t zero[3] = {0, 0, 0};

static void check_image(cl_mem image, const struct Shape* shape, const cl_uint* model) {
  cl_uint got[most / 4];
  poison(got, sizeof got);
  OK(clEnqueueReadImage(m.queue, image, CL_TRUE, zero, shape->size, 0, 0, got, 0, NULL, NULL));
  CHECK(memcmp(got, model, shape->size[0] * shape->size[1] * shape->size[2] * 4) == 0);
}

static size_t image_info(cl_mem image, cl_image_info what) {
  size_t value = 99;
  OK(clGetImageInfo(image, what, sizeof value, &value, NULL));
  return value;
}

static void random_box(const struct Shape* shape, size_t* origin, size_t* region) {
  for (int d = 0; d < 3; ++d) {
    origin[d] = random_below((uint32_t)shape->size[d]);
    region[d] = 1 + random_below((uint32_t)(shape->size[d] - origin[d]));
  }
}

#define EACH_POINT(region)                   \
  for (size_t z = 0; z < (region)[2]; ++z)   \
    for (size_t y = 0; y < (region)[1]; ++y) \
      for (size_t x = 0; x < (region)[0]; ++x)

static void one_shape(const struct Shape* shape) {
  const size_t points = shape->size[0] * shape->size[1] * shape->size[2];
  const cl_image_desc desc = describe(shape);
  cl_uint *model = random_bytes(points * 4), *other_model = random_bytes(points * 4), host[most];
  cl_mem image = NULL, other = NULL;
  MAKE(image, clCreateImage(m.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, &bytes4, &desc, model, &error));
  MAKE(other, clCreateImageWithProperties(m.context, NULL, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, &bytes4, &desc,
                                          other_model, &error));
  check_image(image, shape, model);
  check_image(other, shape, other_model);

  cl_mem_object_type type = 0;
  cl_image_format format = {0, 0};
  cl_context context = NULL;
  cl_mem behind = image;
  OK(clGetMemObjectInfo(image, CL_MEM_TYPE, sizeof type, &type, NULL));
  CHECK(type == shape->type);
  OK(clGetMemObjectInfo(image, CL_MEM_CONTEXT, sizeof context, &context, NULL));
  CHECK(context == m.context);
  OK(clGetImageInfo(image, CL_IMAGE_FORMAT, sizeof format, &format, NULL));
  CHECK(format.image_channel_order == CL_RGBA && format.image_channel_data_type == CL_UNSIGNED_INT8);
  OK(clGetImageInfo(image, CL_IMAGE_BUFFER, sizeof behind, &behind, NULL));
  CHECK(behind == NULL);
  CHECK(image_info(image, CL_IMAGE_ELEMENT_SIZE) == 4);
  CHECK(image_info(image, CL_IMAGE_WIDTH) == desc.image_width);
  CHECK(image_info(image, CL_IMAGE_HEIGHT) == desc.image_height);
  CHECK(image_info(image, CL_IMAGE_DEPTH) == desc.image_depth);
  CHECK(image_info(image, CL_IMAGE_ARRAY_SIZE) == desc.image_array_size);
  CHECK(image_info(image, CL_IMAGE_ROW_PITCH) >= desc.image_width * 4);

  for (int round = 0; round < 6; ++round) {
    size_t origin[3], region[3], to[3];
    // Write, with pitches wider than needed.
    random_box(shape, origin, region);
    const size_t row = (region[0] + 2) * 4;
    const bool layers = shape->type == CL_MEM_OBJECT_IMAGE1D_ARRAY;  // there, a layer is a slice, and one row
    const size_t slice = shape->type == CL_MEM_OBJECT_IMAGE1D || shape->type == CL_MEM_OBJECT_IMAGE2D ? 0
                         : layers                                                                     ? row
                                  : row * (region[1] + 1);
    const size_t y_step = layers ? slice : row, z_step = layers ? 0 : slice;
    fill_random(host, sizeof host);
    if (y_step * region[1] + z_step * region[2] <= sizeof host) {
      OK(clEnqueueWriteImage(m.queue, image, round % 2 ? CL_TRUE : CL_FALSE, origin, region, row, slice, host, 0, NULL,
                             NULL));
      EACH_POINT(region)
      model[at(shape, origin[0] + x, origin[1] + y, origin[2] + z)] = host[(z * z_step + y * y_step) / 4 + x];
      check_image(image, shape, model);
      cl_uint got[most];
      cl_event event = NULL;
      poison(got, sizeof got);
      OK(clEnqueueReadImage(m.queue, image, CL_FALSE, origin, region, row, slice, got, 0, NULL, &event));
      OK(clWaitForEvents(1, &event));
      OK(clReleaseEvent(event));
      bool same = true;
      EACH_POINT(region) same &= got[(z * z_step + y * y_step) / 4 + x] == host[(z * z_step + y * y_step) / 4 + x];
      CHECK(same && got[region[0]] == 0xA5A5A5A5u);
    }
    // Copy to another place of the other image.
    random_box(shape, origin, region);
    for (int d = 0; d < 3; ++d) to[d] = random_below((uint32_t)(shape->size[d] - region[d] + 1));
    OK(clEnqueueCopyImage(m.queue, image, other, origin, to, region, 0, NULL, NULL));
    EACH_POINT(region)
    other_model[at(shape, to[0] + x, to[1] + y, to[2] + z)] =
        model[at(shape, origin[0] + x, origin[1] + y, origin[2] + z)];
    check_image(other, shape, other_model);
    // Fill.
    random_box(shape, origin, region);
    const cl_uint4 colour = {{random_below(256), random_below(256), random_below(256), random_below(256)}};
    OK(clEnqueueFillImage(m.queue, image, &colour, origin, region, 0, NULL, NULL));
    EACH_POINT(region)
    model[at(shape, origin[0] + x, origin[1] + y, origin[2] + z)] =
        colour.s[0] | colour.s[1] << 8 | colour.s[2] << 16 | colour.s[3] << 24;
    check_image(image, shape, model);
    // To a buffer and back to another place.
    random_box(shape, origin, region);
    const size_t bytes = region[0] * region[1] * region[2] * 4;
    cl_mem buffer = buffer_of(m, CL_MEM_READ_WRITE, bytes + 64, NULL);
    cl_uint got[most / 4];
    OK(clEnqueueCopyImageToBuffer(m.queue, image, buffer, origin, region, 64, 0, NULL, NULL));
    poison(got, sizeof got);
    OK(clEnqueueReadBuffer(m.queue, buffer, CL_TRUE, 64, bytes, got, 0, NULL, NULL));
    bool same = true;
    EACH_POINT(region)
    same &= got[(z * region[1] + y) * region[0] + x] == model[at(shape, origin[0] + x, origin[1] + y, origin[2] + z)];
    CHECK(same);
    for (int d = 0; d < 3; ++d) to[d] = random_below((uint32_t)(shape->size[d] - region[d] + 1));
    OK(clEnqueueCopyBufferToImage(m.queue, buffer, other, 64, to, region, 0, NULL, NULL));
    EACH_POINT(region)
    other_model[at(shape, to[0] + x, to[1] + y, to[2] + z)] = got[(z * region[1] + y) * region[0] + x];
    check_image(other, shape, other_model);
    OK(clReleaseMemObject(buffer));
    // Map, look, change, unmap.
    random_box(shape, origin, region);
    size_t row_pitch = 0, slice_pitch = 0;
    char* mapped = NULL;
    MAKE(mapped, clEnqueueMapImage(m.queue, image, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, origin, region, &row_pitch,
                                   &slice_pitch, 0, NULL, NULL, &error));
    CHECK(row_pitch >= region[0] * 4);
    const size_t y_map = layers ? slice_pitch : row_pitch, z_map = layers ? 0 : slice_pitch;
    same = true;
    EACH_POINT(region) {
      cl_uint* point = (cl_uint*)(void*)(mapped + z * z_map + y * y_map + x * 4);
      cl_uint* expected = &model[at(shape, origin[0] + x, origin[1] + y, origin[2] + z)];
      same &= *point == *expected;
      *point = *expected = next_random();
    }
    CHECK(same);
    OK(clEnqueueUnmapMemObject(m.queue, image, mapped, 0, NULL, NULL));
    check_image(image, shape, model);
  }
  const size_t outside[3] = {shape->size[0], 0, 0}, one[3] = {1, 1, 1};
  GIVES(CL_INVALID_VALUE, clEnqueueReadImage(m.queue, image, CL_TRUE, outside, one, 0, 0, host, 0, NULL, NULL));
  GIVES(CL_INVALID_VALUE, clEnqueueWriteImage(m.queue, image, CL_TRUE, outside, one, 0, 0, host, 0, NULL, NULL));
  GIVES(CL_INVALID_VALUE, clEnqueueReadImage(m.queue, image, CL_TRUE, zero, one, 0, 0, NULL, 0, NULL, NULL));
  OK(clReleaseMemObject(image));
  OK(clReleaseMemObject(other));
  free(model);
  free(other_model);
  char line[64];
  snprintf(line, sizeof line, "%s images", shape->name);
  group(line);
}

static void old_ways(void) {
  cl_uint model[10 * 8 * 4];
  fill_random(model, sizeof model);
  const struct Shape flat = {"", CL_MEM_OBJECT_IMAGE2D, {10, 8, 1}}, deep = {"", CL_MEM_OBJECT_IMAGE3D, {10, 8, 4}};
  cl_mem image = NULL;
  MAKE(image, clCreateImage2D(m.context, CL_MEM_COPY_HOST_PTR, &bytes4, 10, 8, 0, model, &error));
  check_image(image, &flat, model);
  OK(clReleaseMemObject(image));
  MAKE(image, clCreateImage3D(m.context, CL_MEM_COPY_HOST_PTR, &bytes4, 10, 8, 4, 40, 320, model, &error));
  check_image(image, &deep, model);
  OK(clReleaseMemObject(image));
  REFUSES(CL_INVALID_CONTEXT, clCreateImage2D(NULL, 0, &bytes4, 10, 8, 0, NULL, &error));
  group("images of OpenCL 1.1");

  // An image over a buffer: the same memory.
  cl_uint got[40];
  cl_mem buffer = buffer_of(m, CL_MEM_COPY_HOST_PTR, sizeof got, model);
  const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = 40, .mem_object = buffer};
  MAKE(image, clCreateImage(m.context, CL_MEM_READ_WRITE, &bytes4, &desc, NULL, &error));
  cl_mem behind = NULL;
  OK(clGetImageInfo(image, CL_IMAGE_BUFFER, sizeof behind, &behind, NULL));
  CHECK(behind == buffer);
  behind = NULL;
  OK(clGetMemObjectInfo(image, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof behind, &behind, NULL));
  CHECK(behind == buffer);
  cl_program program = build(m,
                             "kernel void look(read_only image1d_buffer_t from, global uint4* to) {\n"
                             "  int i = get_global_id(0); to[i] = read_imageui(from, i); }\n",
                             NULL);
  cl_kernel look = kernel_of(program, "look");
  cl_uint4 seen[40];
  cl_mem out = buffer_of(m, CL_MEM_READ_WRITE, sizeof seen, NULL);
  const size_t global = 40;
  OK(clSetKernelArg(look, 0, sizeof image, &image));
  OK(clSetKernelArg(look, 1, sizeof out, &out));
  OK(clEnqueueNDRangeKernel(m.queue, look, 1, NULL, &global, NULL, 0, NULL, NULL));
  poison(seen, sizeof seen);
  OK(clEnqueueReadBuffer(m.queue, out, CL_TRUE, 0, sizeof seen, seen, 0, NULL, NULL));
  for (int i = 0; i < 40; ++i) {
    CHECK((seen[i].s[0] | seen[i].s[1] << 8 | seen[i].s[2] << 16 | seen[i].s[3] << 24) == model[i]);
  }
  OK(clReleaseMemObject(buffer));  // the image still holds it
  OK(clGetImageInfo(image, CL_IMAGE_BUFFER, sizeof behind, &behind, NULL));
  CHECK(behind == buffer);
  OK(clReleaseMemObject(image));
  OK(clReleaseMemObject(out));
  OK(clReleaseKernel(look));
  OK(clReleaseProgram(program));
  group("image of a buffer");
}

static void kernels(void) {
  cl_program program =
      build(m,
            "kernel void shift(read_only image2d_t from, write_only image2d_t to, sampler_t how, int2 by) {\n"
            "  int2 p = (int2)(get_global_id(0), get_global_id(1));\n"
            "  write_imageui(to, p, read_imageui(from, how, p + by)); }\n"
            "constant sampler_t own = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;\n"
            "kernel void deepen(read_only image3d_t from, global uint4* to) {\n"
            "  int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n"
            "  to[(z * get_image_height(from) + y) * get_image_width(from) + x] =\n"
            "    read_imageui(from, own, (int4)(x, y, z, 0)) * 2; }\n",
            NULL);
  enum { w = 23, h = 14 };
  cl_uint pixels[w * h], got[w * h];
  fill_random(pixels, sizeof pixels);
  const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = w, .image_height = h};
  cl_mem from = NULL, to = NULL;
  MAKE(from, clCreateImage(m.context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &bytes4, &desc, pixels, &error));
  MAKE(to, clCreateImage(m.context, CL_MEM_WRITE_ONLY, &bytes4, &desc, NULL, &error));
  cl_sampler samplers[3] = {NULL, NULL, NULL};
  const cl_sampler_properties edge[] = {CL_SAMPLER_NORMALIZED_COORDS,
                                        CL_FALSE,
                                        CL_SAMPLER_ADDRESSING_MODE,
                                        CL_ADDRESS_CLAMP_TO_EDGE,
                                        CL_SAMPLER_FILTER_MODE,
                                        CL_FILTER_NEAREST,
                                        0};
  MAKE(samplers[0], clCreateSampler(m.context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &error));
  MAKE(samplers[1], clCreateSamplerWithProperties(m.context, edge, &error));
  MAKE(samplers[2], clCreateSampler(m.context, CL_FALSE, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_NEAREST, &error));
  cl_kernel shift = kernel_of(program, "shift");
  const size_t global[2] = {w, h}, region[3] = {w, h, 1};
  for (int round = 0; round < 9; ++round) {
    const cl_int2 by = {{(cl_int)random_below(11) - 5, (cl_int)random_below(11) - 5}};
    const cl_uint4 junk = {{1, 2, 3, 4}};
    OK(clEnqueueFillImage(m.queue, to, &junk, zero, region, 0, NULL, NULL));
    OK(clSetKernelArg(shift, 0, sizeof from, &from));
    OK(clSetKernelArg(shift, 1, sizeof to, &to));
    OK(clSetKernelArg(shift, 2, sizeof(cl_sampler), &samplers[round % 3]));
    OK(clSetKernelArg(shift, 3, sizeof by, &by));
    OK(clEnqueueNDRangeKernel(m.queue, shift, 2, NULL, global, NULL, 0, NULL, NULL));
    poison(got, sizeof got);
    OK(clEnqueueReadImage(m.queue, to, CL_TRUE, zero, region, 0, 0, got, 0, NULL, NULL));
    bool same = true;
    for (int y = 0; y < h; ++y) {
      for (int x = 0; x < w; ++x) {
        const int u = x + by.s[0], v = y + by.s[1];
        const bool inside = u >= 0 && u < w && v >= 0 && v < h;
        const int cu = u < 0 ? 0 : u >= w ? w - 1 : u, cv = v < 0 ? 0 : v >= h ? h - 1 : v;
        same &= got[y * w + x] == (inside || round % 3 ? pixels[cv * w + cu] : 0);
      }
    }
    CHECK(same);
  }
  group("kernels on 2D images");

  for (int i = 0; i < 3; ++i) {
    cl_context context = NULL;
    cl_uint references = 0;
    cl_bool normalized = CL_TRUE;
    cl_addressing_mode addressing = 0;
    cl_filter_mode filter = 0;
    OK(clGetSamplerInfo(samplers[i], CL_SAMPLER_CONTEXT, sizeof context, &context, NULL));
    CHECK(context == m.context);
    OK(clGetSamplerInfo(samplers[i], CL_SAMPLER_NORMALIZED_COORDS, sizeof normalized, &normalized, NULL));
    CHECK(normalized == CL_FALSE);
    OK(clGetSamplerInfo(samplers[i], CL_SAMPLER_ADDRESSING_MODE, sizeof addressing, &addressing, NULL));
    CHECK(addressing == (i ? CL_ADDRESS_CLAMP_TO_EDGE : CL_ADDRESS_CLAMP));
    OK(clGetSamplerInfo(samplers[i], CL_SAMPLER_FILTER_MODE, sizeof filter, &filter, NULL));
    CHECK(filter == CL_FILTER_NEAREST);
    OK(clRetainSampler(samplers[i]));
    OK(clGetSamplerInfo(samplers[i], CL_SAMPLER_REFERENCE_COUNT, sizeof references, &references, NULL));
    CHECK(references >= 2);
    OK(clReleaseSampler(samplers[i]));
    GIVES(CL_INVALID_VALUE, clGetSamplerInfo(samplers[i], CL_MEM_SIZE, sizeof references, &references, NULL));
    GIVES(CL_INVALID_VALUE, clGetSamplerInfo(samplers[i], CL_SAMPLER_CONTEXT, 2, &references, NULL));
    OK(clReleaseSampler(samplers[i]));
  }
  const cl_sampler_properties unknown[] = {0x7777, 1, 0};
  REFUSES(CL_INVALID_VALUE, clCreateSamplerWithProperties(m.context, unknown, &error));
  REFUSES(CL_INVALID_CONTEXT, clCreateSampler(NULL, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &error));
  GIVES(CL_INVALID_SAMPLER, clReleaseSampler(NULL));
  group("samplers");

  const struct Shape* deep = &shapes[4];
  const cl_image_desc deep_desc = describe(deep);
  const size_t points = deep->size[0] * deep->size[1] * deep->size[2];
  cl_uint* model = random_bytes(points * 4);
  cl_uint4* seen = malloc(points * sizeof *seen);
  cl_mem image = NULL, out = buffer_of(m, CL_MEM_READ_WRITE, points * sizeof *seen, NULL);
  MAKE(image, clCreateImage(m.context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &bytes4, &deep_desc, model, &error));
  cl_kernel deepen = kernel_of(program, "deepen");
  OK(clSetKernelArg(deepen, 0, sizeof image, &image));
  OK(clSetKernelArg(deepen, 1, sizeof out, &out));
  OK(clEnqueueNDRangeKernel(m.queue, deepen, 3, NULL, deep->size, NULL, 0, NULL, NULL));
  poison(seen, points * sizeof *seen);
  OK(clEnqueueReadBuffer(m.queue, out, CL_TRUE, 0, points * sizeof *seen, seen, 0, NULL, NULL));
  bool same = true;
  for (size_t i = 0; i < points; ++i) {
    for (int c = 0; c < 4; ++c) same &= seen[i].s[c] == 2 * (model[i] >> (8 * c) & 255);
  }
  CHECK(same);
  free(model);
  free(seen);
  OK(clReleaseKernel(deepen));
  OK(clReleaseKernel(shift));
  OK(clReleaseMemObject(image));
  OK(clReleaseMemObject(out));
  OK(clReleaseMemObject(from));
  OK(clReleaseMemObject(to));
  OK(clReleaseProgram(program));
  group("kernels on 3D images");
}

static void formats_and_refusals(void) {
  cl_uint count = 0;
  OK(clGetSupportedImageFormats(m.context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 0, NULL, &count));
  CHECK(count >= 10);
  cl_image_format* formats = malloc(count * sizeof *formats);
  OK(clGetSupportedImageFormats(m.context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, count, formats, NULL));
  bool found = false;
  for (cl_uint i = 0; i < count; ++i) {
    found |= formats[i].image_channel_order == CL_RGBA && formats[i].image_channel_data_type == CL_UNSIGNED_INT8;
  }
  CHECK(found);  // the specification demands it of every device with images
  GIVES(CL_INVALID_CONTEXT,
        clGetSupportedImageFormats(NULL, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 0, NULL, &count));
  GIVES(CL_INVALID_VALUE, clGetSupportedImageFormats(m.context, CL_MEM_READ_WRITE, 0x7777, 0, NULL, &count));
  free(formats);

  cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 8};
  REFUSES(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, clCreateImage(m.context, 0, NULL, &desc, NULL, &error));
  REFUSES(CL_INVALID_IMAGE_DESCRIPTOR, clCreateImage(m.context, 0, &bytes4, NULL, NULL, &error));
  REFUSES(CL_INVALID_CONTEXT, clCreateImage(NULL, 0, &bytes4, &desc, NULL, &error));
  REFUSES(CL_INVALID_HOST_PTR, clCreateImage(m.context, CL_MEM_COPY_HOST_PTR, &bytes4, &desc, NULL, &error));
  cl_mem image = NULL, buffer = buffer_of(m, 0, 256, NULL);
  MAKE(image, clCreateImage(m.context, 0, &bytes4, &desc, NULL, &error));
  size_t size = 0;
  const size_t one[3] = {1, 1, 1};
  GIVES(CL_INVALID_VALUE, clGetImageInfo(image, CL_MEM_SIZE, 0, NULL, &size));
  GIVES(CL_INVALID_VALUE, clGetImageInfo(image, CL_IMAGE_WIDTH, 2, &size, NULL));
  GIVES(CL_INVALID_VALUE, clGetImageInfo(image, CL_IMAGE_BUFFER, 2, &size, NULL));
  GIVES(CL_INVALID_MEM_OBJECT, clGetImageInfo(NULL, CL_IMAGE_WIDTH, 0, NULL, &size));
  GIVES(CL_INVALID_MEM_OBJECT, clEnqueueReadImage(m.queue, NULL, CL_TRUE, zero, one, 0, 0, &size, 0, NULL, NULL));
  GIVES(CL_INVALID_EVENT_WAIT_LIST, clEnqueueReadImage(m.queue, image, CL_TRUE, zero, one, 0, 0, &size, 1, NULL, NULL));
  OK(clReleaseMemObject(image));
  OK(clReleaseMemObject(buffer));
  group("formats and refusals");
}

int main(int argc, char** argv) {
  seed_from(argc > 1 ? argv[1] : NULL);
  m = open_machine(0);
  cl_bool images = CL_FALSE;
  OK(clGetDeviceInfo(m.device, CL_DEVICE_IMAGE_SUPPORT, sizeof images, &images, NULL));
  if (images) {
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i) one_shape(&shapes[i]);
    old_ways();
    kernels();
    formats_and_refusals();
  } else {
    printf("no images: skipped\n");
  }
  close_machine(m);
  return result();
}
