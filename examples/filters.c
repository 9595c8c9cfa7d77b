// Frames of a grey film go through a chain of filters: an ordinary OpenCL 1.2 program.
#define PROGRAM "filters"
#include "opencl.h"

static const char* const source =
    "constant float weights[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};\n"
    "float at(global const float* image, int x, int y, int width, int height) {\n"
    "  return image[clamp(y, 0, height - 1) * width + clamp(x, 0, width - 1)];\n"
    "}\n"
    "kernel void blur(global const float* image, global float* blurred, int width, int height) {\n"
    "  int x = get_global_id(0), y = get_global_id(1);\n"
    "  float sum = 0.0f;\n"
    "  for (int j = -2; j <= 2; ++j)\n"
    "    for (int i = -2; i <= 2; ++i)\n"
    "      sum += weights[j + 2] * weights[i + 2] * at(image, x + i, y + j, width, height);\n"
    "  blurred[y * width + x] = sum;\n"
    "}\n"
    "kernel void sobel(global const float* image, global float* edges, int width, int height) {\n"
    "  int x = get_global_id(0), y = get_global_id(1);\n"
    "  float across = 0.0f, down = 0.0f;\n"
    "  for (int i = -1; i <= 1; ++i) {\n"
    "    float weight = i == 0 ? 2.0f : 1.0f;\n"
    "    across += weight * (at(image, x + 1, y + i, width, height) - at(image, x - 1, y + i, width, height));\n"
    "    down += weight * (at(image, x + i, y + 1, width, height) - at(image, x + i, y - 1, width, height));\n"
    "  }\n"
    "  edges[y * width + x] = sqrt(across * across + down * down);\n"
    "}\n"
    "kernel void sharpen(global const float* image, global const float* blurred, global const float* edges,\n"
    "                    global float* sharp, int width) {\n"
    "  int i = get_global_id(1) * width + get_global_id(0);\n"
    "  sharp[i] = image[i] + 1.5f * fmin(edges[i], 1.0f) * (image[i] - blurred[i]);\n"
    "}\n"
    "kernel void tone(global const float* image, global float* toned, int width) {\n"
    "  int i = get_global_id(1) * width + get_global_id(0);\n"
    "  toned[i] = sqrt(1.0f - exp(-1.8f * fmax(image[i], 0.01f)));\n"
    "}\n";

static float at(const float* image, int x, int y, int width, int height) {
  x = x < 0 ? 0 : x < width ? x : width - 1;
  y = y < 0 ? 0 : y < height ? y : height - 1;
  return image[(size_t)y * (size_t)width + (size_t)x];
}

// One row of the blurred image, computed on the host.
static void blur(const float* image, float* row, int y, int width, int height) {
  const float weights[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
  for (int x = 0; x < width; ++x) {
    row[x] = 0.0f;
    for (int j = -2; j <= 2; ++j) {
      for (int i = -2; i <= 2; ++i) row[x] += weights[j + 2] * weights[i + 2] * at(image, x + i, y + j, width, height);
    }
  }
}

// The largest difference of one row of the result from the host's own, relative to that. There are three rows to use.
static float difference_in_row(const float* image, const float* result, float* blurred, int y, int width, int height) {
  for (int j = -1; j <= 1; ++j) {
    const int from = y + j < 0 ? 0 : y + j < height ? y + j : height - 1;
    blur(image, blurred + (size_t)(j + 1) * (size_t)width, from, width, height);
  }
  float difference = 0.0f;
  for (int x = 0; x < width; ++x) {
    float across = 0.0f, down = 0.0f;
    for (int i = -1; i <= 1; ++i) {
      const float weight = i == 0 ? 2.0f : 1.0f;
      across += weight * (at(blurred, x + 1, 1 + i, width, 3) - at(blurred, x - 1, 1 + i, width, 3));
      down += weight * (at(blurred, x + i, 2, width, 3) - at(blurred, x + i, 0, width, 3));
    }
    const float here = at(image, x, y, width, height), edges = sqrtf(across * across + down * down);
    const float sharp = here + 1.5f * fminf(edges, 1.0f) * (here - at(blurred, x, 1, width, 3));
    const float expected = sqrtf(1.0f - expf(-1.8f * fmaxf(sharp, 0.01f)));
    const float d = fabsf(at(result, x, y, width, height) - expected) / expected;
    if (!(d <= difference)) difference = d;  // also when it is not a number
  }
  return difference;
}

int main(int argc, char** argv) {
  if (argc > 4 || asks_for_help(argc, argv)) {
    printf(
        "Usage: filters [WIDTH [HEIGHT [FRAMES]]]\n"
        "Blurs, sharpens and tones FRAMES frames (default 10) of WIDTH x HEIGHT grey points (default 2048 x 2048)\n"
        "on the first OpenCL device, one after another, and compares some rows of each with the host's own.\n");
    return argc > 4 ? 2 : 0;
  }
  const int width = argc > 1 ? number(argv[1], "width", 1, 8192) : 2048;
  const int height = argc > 2 ? number(argv[2], "height", 1, 8192) : 2048;
  const int frames = argc > 3 ? number(argv[3], "frames", 1, 100000) : 10;
  const size_t points = (size_t)width * (size_t)height, bytes = points * sizeof(float);

  float* frame = calloc(points, sizeof(float));
  float* result = calloc(points, sizeof(float));
  float* rows = calloc(3 * (size_t)width, sizeof(float));
  if (!frame || !result || !rows) {
    fprintf(stderr, "filters: not enough memory for %d x %d points\n", width, height);
    return 1;
  }

  cl_int code = CL_SUCCESS;
  cl_device_id device = find_device();
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  check(code, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
  check(code, "clCreateCommandQueue");
  cl_program program = build(context, device, source);
  cl_kernel blur_it = kernel_of(program, "blur"), sobel = kernel_of(program, "sobel");
  cl_kernel sharpen = kernel_of(program, "sharpen"), tone = kernel_of(program, "tone");
  cl_mem image = buffer_of(context, CL_MEM_READ_ONLY, bytes, NULL);
  cl_mem blurred = buffer_of(context, CL_MEM_READ_WRITE, bytes, NULL);
  cl_mem edges = buffer_of(context, CL_MEM_READ_WRITE, bytes, NULL);
  cl_mem sharp = buffer_of(context, CL_MEM_READ_WRITE, bytes, NULL);
  cl_mem toned = buffer_of(context, CL_MEM_WRITE_ONLY, bytes, NULL);

  set(blur_it, 0, sizeof(cl_mem), &image);
  set(blur_it, 1, sizeof(cl_mem), &blurred);
  set(blur_it, 2, sizeof width, &width);
  set(blur_it, 3, sizeof height, &height);
  set(sobel, 0, sizeof(cl_mem), &blurred);
  set(sobel, 1, sizeof(cl_mem), &edges);
  set(sobel, 2, sizeof width, &width);
  set(sobel, 3, sizeof height, &height);
  set(sharpen, 0, sizeof(cl_mem), &image);
  set(sharpen, 1, sizeof(cl_mem), &blurred);
  set(sharpen, 2, sizeof(cl_mem), &edges);
  set(sharpen, 3, sizeof(cl_mem), &sharp);
  set(sharpen, 4, sizeof width, &width);
  set(tone, 0, sizeof(cl_mem), &sharp);
  set(tone, 1, sizeof(cl_mem), &toned);
  set(tone, 2, sizeof width, &width);

  const size_t grid[2] = {(size_t)width, (size_t)height};
  uint32_t state = 2463534242u;
  double ms[2] = {0.0, 0.0};  // the first frame, the others
  float difference = 0.0f;
  for (int i = 0; i < frames; ++i) {
    for (size_t k = 0; k < points; ++k) frame[k] = random_between(&state, 0.0f, 1.0f);
    const double start = now_ms();
    write_to(queue, image, CL_FALSE, bytes, frame);
    launch(queue, blur_it, 2, grid, NULL);
    launch(queue, sobel, 2, grid, NULL);
    launch(queue, sharpen, 2, grid, NULL);
    launch(queue, tone, 2, grid, NULL);
    read_from(queue, toned, CL_TRUE, bytes, result);
    ms[i > 0] += now_ms() - start;
    for (int k = 0; k < 8; ++k) {  // the upper edge, the lower one, and some rows between them
      const int y = k == 0 ? 0 : k == 1 ? height - 1 : (int)(next_random(&state) % (uint32_t)height);
      const float d = difference_in_row(frame, result, rows, y, width, height);
      if (!(d <= difference)) difference = d;
    }
  }

  const int right = difference < 1e-3f;  // rounding differs between devices
  printf("%d x %d points, %d frames through 4 filters\n", width, height, frames);
  print_times("frame", ms, frames);
  if (right) printf("the device agrees with the host\n");
  if (!right) printf("WRONG: the device differs from the host by up to %.3g of the value\n", (double)difference);

  clReleaseMemObject(toned);
  clReleaseMemObject(sharp);
  clReleaseMemObject(edges);
  clReleaseMemObject(blurred);
  clReleaseMemObject(image);
  clReleaseKernel(tone);
  clReleaseKernel(sharpen);
  clReleaseKernel(sobel);
  clReleaseKernel(blur_it);
  clReleaseProgram(program);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  free(frame);
  free(result);
  free(rows);
  return right ? 0 : 1;
}
