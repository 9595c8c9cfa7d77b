// Programs and kernels: building, linking, binaries, arguments, launches, and what is refused.
#include "program.h"

static struct Machine m;

static const char* plain =
    "kernel void fill(global uint* to, uint value) { to[get_global_id(0)] = value; }\n"
    "kernel void twice(global uint* to, global const uint* from) {\n"
    "  size_t i = get_global_id(0); to[i] = 2 * from[i]; }\n";

static void run(cl_kernel kernel, size_t global) {
  OK(clEnqueueNDRangeKernel(m.queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
}

static void read_back(cl_mem buffer, void* to, size_t bytes) {
  poison(to, bytes);
  OK(clEnqueueReadBuffer(m.queue, buffer, CL_TRUE, 0, bytes, to, 0, NULL, NULL));
}

// Runs kernel `fill` of this program and checks what it did.
static void check_fill(cl_program program, cl_uint value, cl_uint expected) {
  cl_uint got[64];
  cl_kernel kernel = kernel_of(program, "fill");
  cl_mem buffer = buffer_of(m, CL_MEM_READ_WRITE, sizeof got, NULL);
  OK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
  OK(clSetKernelArg(kernel, 1, sizeof value, &value));
  run(kernel, 64);
  read_back(buffer, got, sizeof got);
  bool same = true;
  for (int i = 0; i < 64; ++i) same &= got[i] == expected;
  CHECK(same);
  OK(clReleaseMemObject(buffer));
  OK(clReleaseKernel(kernel));
}

static void sources(void) {
  const char* pieces[4] = {"kernel void fill(global uint* to, ", "uint value) {@@@", " to[get_global_id(0)] = value;\n",
                           "}\n#error beyond the length"};
  const size_t lengths[4] = {0, 13, strlen(pieces[2]), 2};  // 0: it ends with a zero byte
  cl_program program = NULL;
  MAKE(program, clCreateProgramWithSource(m.context, 4, pieces, lengths, &error));
  OK(clBuildProgram(program, 0, NULL, "", NULL, NULL));
  const cl_uint value = next_random();
  check_fill(program, value, value);
  OK(clReleaseProgram(program));

  const char* whole[2] = {"kernel void fill(global uint* to, uint value) {\n", "to[get_global_id(0)] = value + 1; }\n"};
  MAKE(program, clCreateProgramWithSource(m.context, 2, whole, NULL, &error));
  char text[256] = "";
  size_t size = 0;
  OK(clGetProgramInfo(program, CL_PROGRAM_SOURCE, sizeof text, text, &size));
  CHECK(size == strlen(whole[0]) + strlen(whole[1]) + 1);
  CHECK(strncmp(text, whole[0], strlen(whole[0])) == 0 && strcmp(text + strlen(whole[0]), whole[1]) == 0);
  OK(clBuildProgram(program, 1, &m.device, NULL, NULL, NULL));
  check_fill(program, value, value + 1);
  OK(clReleaseProgram(program));

  const char* holes[2] = {plain, NULL};
  REFUSES(CL_INVALID_VALUE, clCreateProgramWithSource(m.context, 0, whole, NULL, &error));
  REFUSES(CL_INVALID_VALUE, clCreateProgramWithSource(m.context, 2, holes, NULL, &error));
  REFUSES(CL_INVALID_CONTEXT, clCreateProgramWithSource(NULL, 1, &plain, NULL, &error));
  group("sources");
}

static void building(void) {
  const char* text =
      "#ifndef ADD\n#error ADD is missing\n#endif\n"
      "kernel void fill(global uint* to, uint value) { to[get_global_id(0)] = value * FACTOR + ADD; }\n";
  cl_program program = NULL;
  MAKE(program, clCreateProgramWithSource(m.context, 1, &text, NULL, &error));
  cl_build_status status = 99;
  OK(clGetProgramBuildInfo(program, m.device, CL_PROGRAM_BUILD_STATUS, sizeof status, &status, NULL));
  CHECK(status == CL_BUILD_NONE);
  REFUSES(CL_INVALID_PROGRAM_EXECUTABLE, clCreateKernel(program, "fill", &error));

  GIVES(CL_BUILD_PROGRAM_FAILURE, clBuildProgram(program, 1, &m.device, "-DFACTOR=1", NULL, NULL));
  OK(clGetProgramBuildInfo(program, m.device, CL_PROGRAM_BUILD_STATUS, sizeof status, &status, NULL));
  CHECK(status == CL_BUILD_ERROR);
  size_t size = 0;
  OK(clGetProgramBuildInfo(program, m.device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size));
  CHECK(size > 1);
  char* log = malloc(size + 1);
  log[size] = 0;
  OK(clGetProgramBuildInfo(program, m.device, CL_PROGRAM_BUILD_LOG, size, log, NULL));
  CHECK(strstr(log, "ADD is missing") != NULL);
  CHECK(log[size - 1] == 0);
  free(log);
  REFUSES(CL_INVALID_PROGRAM_EXECUTABLE, clCreateKernel(program, "fill", &error));

  const char* options = "-DFACTOR=3 -D ADD=17 -cl-mad-enable";
  OK(clBuildProgram(program, 1, &m.device, options, NULL, NULL));
  OK(clGetProgramBuildInfo(program, m.device, CL_PROGRAM_BUILD_STATUS, sizeof status, &status, NULL));
  CHECK(status == CL_BUILD_SUCCESS);
  char back[200] = "";
  OK(clGetProgramBuildInfo(program, m.device, CL_PROGRAM_BUILD_OPTIONS, sizeof back, back, &size));
  CHECK(strcmp(back, options) == 0 && size == strlen(options) + 1);
  cl_program_binary_type kind = 0;
  OK(clGetProgramBuildInfo(program, m.device, CL_PROGRAM_BINARY_TYPE, sizeof kind, &kind, NULL));
  CHECK(kind == CL_PROGRAM_BINARY_TYPE_EXECUTABLE);
  check_fill(program, 5, 32);
  // Again, with other options.
  OK(clBuildProgram(program, 1, &m.device, "-DFACTOR=4 -DADD=1", NULL, NULL));
  check_fill(program, 5, 21);

  cl_device_id none = NULL;
  GIVES(CL_INVALID_VALUE, clBuildProgram(program, 0, &m.device, NULL, NULL, NULL));
  GIVES(CL_INVALID_VALUE, clBuildProgram(program, 1, NULL, NULL, NULL, NULL));
  if (m.heddle) GIVES(CL_INVALID_DEVICE, clBuildProgram(program, 1, &none, NULL, NULL, NULL));  // others may crash
  GIVES(CL_INVALID_VALUE, clBuildProgram(program, 1, &m.device, "-DFACTOR=4 -DADD=1", NULL, &none));
  GIVES(CL_INVALID_BUILD_OPTIONS, clBuildProgram(program, 1, &m.device, "-cl-no-such-option", NULL, NULL));
  GIVES(CL_INVALID_PROGRAM, clBuildProgram(NULL, 0, NULL, NULL, NULL, NULL));
  GIVES(CL_INVALID_DEVICE, clGetProgramBuildInfo(program, NULL, CL_PROGRAM_BUILD_STATUS, sizeof status, &status, NULL));
  GIVES(CL_INVALID_VALUE, clGetProgramBuildInfo(program, m.device, CL_PROGRAM_SOURCE, 0, NULL, &size));
  GIVES(CL_INVALID_VALUE, clGetProgramBuildInfo(program, m.device, CL_PROGRAM_BUILD_STATUS, 1, &status, NULL));
  OK(clReleaseProgram(program));
  group("building");
}

struct Built {
  cl_program program;  // none: whatever comes, as it is not known yet
  _Atomic int calls;
  cl_build_status status;
};

static void CL_CALLBACK built(cl_program program, void* data) {
  struct Built* b = data;
  CHECK(!b->program || program == b->program);
  cl_context context = NULL;
  OK(clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof context, &context, NULL));
  CHECK(context == m.context);
  OK(clGetProgramBuildInfo(program, m.device, CL_PROGRAM_BUILD_STATUS, sizeof b->status, &b->status, NULL));
  ++b->calls;
}

static void build_callbacks(void) {
  static struct Built right, wrong;
  const char* broken = "kernel void fill(global uint* to) { to[0] = nowhere; }\n";
  MAKE(right.program, clCreateProgramWithSource(m.context, 1, &plain, NULL, &error));
  MAKE(wrong.program, clCreateProgramWithSource(m.context, 1, &broken, NULL, &error));
  OK(clBuildProgram(right.program, 1, &m.device, NULL, built, &right));
  CHECK(soon(&right.calls, 1));
  CHECK(right.status == CL_BUILD_SUCCESS);
  check_fill(right.program, 77, 77);
  // It may come back before the failure is known.
  const cl_int code = clBuildProgram(wrong.program, 1, &m.device, NULL, built, &wrong);
  CHECK(code == CL_SUCCESS || code == CL_BUILD_PROGRAM_FAILURE);
  CHECK(soon(&wrong.calls, 1));
  CHECK(wrong.status == CL_BUILD_ERROR);
  pause_ms(5);
  CHECK(right.calls == 1 && wrong.calls == 1);
  OK(clReleaseProgram(right.program));
  OK(clReleaseProgram(wrong.program));
  group("build callbacks");
}

static cl_program source_of(const char* text) {
  cl_program program = NULL;
  MAKE(program, clCreateProgramWithSource(m.context, 1, &text, NULL, &error));
  return program;
}

static void linking(void) {
  cl_program header = source_of("#define STEP 5u\nuint grow(uint x);\n");
  cl_program inner = source_of("#define DEEP 100u\n");
  cl_program part =
      source_of("#include \"grow.h\"\n#include \"deep/deep.h\"\nuint grow(uint x) { return x * STEP + DEEP; }\n");
  cl_program user = source_of(
      "#include \"grow.h\"\n"
      "kernel void fill(global uint* to, uint value) { to[get_global_id(0)] = grow(value) + STEP; }\n");
  const cl_program headers[2] = {header, inner};
  const char* names[2] = {"grow.h", "deep/deep.h"};
  OK(clCompileProgram(part, 1, &m.device, NULL, 2, headers, names, NULL, NULL));
  OK(clCompileProgram(user, 1, &m.device, "-DUNUSED", 1, headers, names, NULL, NULL));
  cl_program_binary_type kind = 0;
  OK(clGetProgramBuildInfo(part, m.device, CL_PROGRAM_BINARY_TYPE, sizeof kind, &kind, NULL));
  CHECK(kind == CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT);

  const cl_program both[2] = {part, user};
  cl_program linked = NULL;
  MAKE(linked, clLinkProgram(m.context, 1, &m.device, NULL, 2, both, NULL, NULL, &error));
  check_fill(linked, 7, 140);
  cl_context context = NULL;
  cl_device_id device = NULL;
  OK(clGetProgramInfo(linked, CL_PROGRAM_CONTEXT, sizeof context, &context, NULL));
  CHECK(context == m.context);
  OK(clGetProgramInfo(linked, CL_PROGRAM_DEVICES, sizeof device, &device, NULL));
  CHECK(device == m.device);
  OK(clReleaseProgram(linked));

  static struct Built done;
  MAKE(linked, clLinkProgram(m.context, 0, NULL, "", 2, both, built, &done, &error));
  CHECK(soon(&done.calls, 1));
  CHECK(done.status == CL_BUILD_SUCCESS);
  check_fill(linked, 8, 145);
  OK(clReleaseProgram(linked));

  cl_program library = NULL;
  MAKE(library, clLinkProgram(m.context, 1, &m.device, "-create-library", 1, &part, NULL, NULL, &error));
  OK(clGetProgramBuildInfo(library, m.device, CL_PROGRAM_BINARY_TYPE, sizeof kind, &kind, NULL));
  CHECK(kind == CL_PROGRAM_BINARY_TYPE_LIBRARY);
  const cl_program with_library[2] = {user, library};
  MAKE(linked, clLinkProgram(m.context, 1, &m.device, NULL, 2, with_library, NULL, NULL, &error));
  check_fill(linked, 9, 150);
  OK(clReleaseProgram(linked));
  OK(clReleaseProgram(library));

  static struct Built compiled;
  compiled.program = source_of("uint other(uint x) { return x; }\n");
  OK(clCompileProgram(compiled.program, 1, &m.device, NULL, 0, NULL, NULL, built, &compiled));
  CHECK(soon(&compiled.calls, 1));
  CHECK(compiled.status == CL_BUILD_SUCCESS);
  OK(clReleaseProgram(compiled.program));
  cl_program broken = source_of("uint other(uint x) { return nowhere; }\n");
  GIVES(CL_COMPILE_PROGRAM_FAILURE, clCompileProgram(broken, 1, &m.device, NULL, 0, NULL, NULL, NULL, NULL));
  OK(clReleaseProgram(broken));

  if (m.heddle) {  // others may crash
    GIVES(CL_INVALID_VALUE, clCompileProgram(user, 1, &m.device, NULL, 1, NULL, names, NULL, NULL));
    GIVES(CL_INVALID_VALUE, clCompileProgram(user, 1, &m.device, NULL, 1, headers, NULL, NULL, NULL));
    GIVES(CL_INVALID_VALUE, clCompileProgram(user, 1, &m.device, NULL, 0, headers, names, NULL, NULL));
  }
  GIVES(CL_INVALID_VALUE, clCompileProgram(user, 1, NULL, NULL, 0, NULL, NULL, NULL, NULL));
  GIVES(CL_INVALID_PROGRAM, clCompileProgram(NULL, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL));
  REFUSES(CL_INVALID_VALUE, clLinkProgram(m.context, 1, &m.device, NULL, 0, NULL, NULL, NULL, &error));
  REFUSES(CL_INVALID_VALUE, clLinkProgram(m.context, 1, &m.device, NULL, 1, NULL, NULL, NULL, &error));
  const cl_program holes[2] = {user, NULL};
  if (m.heddle) REFUSES(CL_INVALID_PROGRAM, clLinkProgram(m.context, 1, &m.device, NULL, 2, holes, NULL, NULL, &error));
  REFUSES(CL_INVALID_CONTEXT, clLinkProgram(NULL, 1, &m.device, NULL, 2, both, NULL, NULL, &error));
  OK(clReleaseProgram(header));
  OK(clReleaseProgram(inner));
  OK(clReleaseProgram(part));
  OK(clReleaseProgram(user));
  group("compiling and linking");
}

static void binaries(void) {
  cl_program program = build(m, plain, "-DNOTHING");
  cl_uint devices = 0;
  OK(clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof devices, &devices, NULL));
  CHECK(devices == 1);
  cl_device_id device = NULL;
  OK(clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof device, &device, NULL));
  CHECK(device == m.device);
  size_t length = 0, size = 0;
  OK(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof length, &length, &size));
  CHECK(length > 0 && size == sizeof length);
  unsigned char* binary = malloc(length + 1);
  binary[length] = 0xA5;
  OK(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, &size));
  CHECK(size == sizeof binary && binary[length] == 0xA5);
  OK(clReleaseProgram(program));

  const unsigned char* given = binary;
  cl_int status = -12345;
  MAKE(program, clCreateProgramWithBinary(m.context, 1, &m.device, &length, &given, &status, &error));
  OK(status);
  OK(clBuildProgram(program, 1, &m.device, NULL, NULL, NULL));
  const cl_uint value = next_random();
  check_fill(program, value, value);
  size_t kernels = 0;
  OK(clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof kernels, &kernels, NULL));
  CHECK(kernels == 2);
  OK(clReleaseProgram(program));

  const size_t zero = 0;
  const unsigned char junk[16] = "no binary at all";
  const unsigned char *no_binary = NULL, *is_junk = junk;
  const size_t junk_length = sizeof junk;
  REFUSES(CL_INVALID_VALUE, clCreateProgramWithBinary(m.context, 1, &m.device, &zero, &given, NULL, &error));
  REFUSES(CL_INVALID_VALUE, clCreateProgramWithBinary(m.context, 1, &m.device, &length, &no_binary, NULL, &error));
  REFUSES(CL_INVALID_VALUE, clCreateProgramWithBinary(m.context, 0, &m.device, &length, &given, NULL, &error));
  REFUSES(CL_INVALID_VALUE, clCreateProgramWithBinary(m.context, 1, NULL, &length, &given, NULL, &error));
  REFUSES(CL_INVALID_VALUE, clCreateProgramWithBinary(m.context, 1, &m.device, NULL, &given, NULL, &error));
  REFUSES(CL_INVALID_BINARY,
          clCreateProgramWithBinary(m.context, 1, &m.device, &junk_length, &is_junk, &status, &error));
  CHECK(status == CL_INVALID_BINARY);
  free(binary);
  group("binaries");
}

static void kernels_and_queries(void) {
  cl_program program =
      build(m,
            "kernel void one(global const float* restrict a, constant int* b, local uint* c, uint4 d) {\n"
            "  c[0] = b[0] + (int)a[0] + d.x; }\n"
            "kernel __attribute__((reqd_work_group_size(4, 2, 1))) void two(global int* out) { out[0] = 1; }\n",
            "-cl-kernel-arg-info");
  size_t kernels = 0;
  char names[64] = "";
  OK(clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof kernels, &kernels, NULL));
  CHECK(kernels == 2);
  OK(clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, sizeof names, names, NULL));
  CHECK(strcmp(names, "one;two") == 0 || strcmp(names, "two;one") == 0);
  cl_uint count = 0;
  cl_kernel both[3] = {NULL, NULL, NULL};
  OK(clCreateKernelsInProgram(program, 0, NULL, &count));
  CHECK(count == 2);
  GIVES(CL_INVALID_VALUE, clCreateKernelsInProgram(program, 1, both, &count));
  OK(clCreateKernelsInProgram(program, 3, both, &count));
  CHECK(count == 2 && both[0] && both[1] && !both[2]);
  bool seen[2] = {false, false};
  for (int i = 0; i < 2; ++i) {
    cl_context context = NULL;
    cl_program of = NULL;
    cl_uint references = 0, arguments = 99;
    size_t size = 0;
    OK(clGetKernelInfo(both[i], CL_KERNEL_FUNCTION_NAME, sizeof names, names, &size));
    const int which = strcmp(names, "two") == 0;
    CHECK(size == 4);
    seen[which] = true;
    OK(clGetKernelInfo(both[i], CL_KERNEL_CONTEXT, sizeof context, &context, NULL));
    CHECK(context == m.context);
    OK(clGetKernelInfo(both[i], CL_KERNEL_PROGRAM, sizeof of, &of, NULL));
    CHECK(of == program);
    OK(clGetKernelInfo(both[i], CL_KERNEL_NUM_ARGS, sizeof arguments, &arguments, NULL));
    CHECK(arguments == (which ? 1u : 4u));
    OK(clGetKernelInfo(both[i], CL_KERNEL_REFERENCE_COUNT, sizeof references, &references, NULL));
    CHECK(references == 1);
    OK(clRetainKernel(both[i]));
    OK(clGetKernelInfo(both[i], CL_KERNEL_REFERENCE_COUNT, sizeof references, &references, NULL));
    CHECK(references == 2);
    OK(clReleaseKernel(both[i]));
    GIVES(CL_INVALID_VALUE, clGetKernelInfo(both[i], CL_KERNEL_CONTEXT, 2, &context, NULL));
    GIVES(CL_INVALID_VALUE, clGetKernelInfo(both[i], CL_MEM_SIZE, 0, NULL, &size));

    size_t group_size = 0, compiled[3] = {9, 9, 9}, multiple = 0, device_most = 0;
    cl_ulong local = 0, hidden = 0;
    OK(clGetDeviceInfo(m.device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof device_most, &device_most, NULL));
    OK(clGetKernelWorkGroupInfo(both[i], m.device, CL_KERNEL_WORK_GROUP_SIZE, sizeof group_size, &group_size, NULL));
    CHECK(group_size >= 1 && group_size <= device_most);
    OK(clGetKernelWorkGroupInfo(both[i], NULL, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof compiled, compiled, NULL));
    CHECK(compiled[0] == (which ? 4 : 0) && compiled[1] == (which ? 2 : 0) && compiled[2] == (which ? 1 : 0));
    OK(clGetKernelWorkGroupInfo(both[i], m.device, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, sizeof multiple,
                                &multiple, NULL));
    CHECK(multiple >= 1);
    OK(clGetKernelWorkGroupInfo(both[i], m.device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local, &local, NULL));
    OK(clGetKernelWorkGroupInfo(both[i], m.device, CL_KERNEL_PRIVATE_MEM_SIZE, sizeof hidden, &hidden, NULL));
    GIVES(CL_INVALID_VALUE, clGetKernelWorkGroupInfo(both[i], m.device, CL_MEM_SIZE, 0, NULL, &size));
    GIVES(CL_INVALID_VALUE,
          clGetKernelWorkGroupInfo(both[i], m.device, CL_KERNEL_WORK_GROUP_SIZE, 1, &group_size, NULL));
    OK(clReleaseKernel(both[i]));
  }
  CHECK(seen[0] && seen[1]);

  cl_kernel one = kernel_of(program, "one");
  const cl_kernel_arg_address_qualifier spaces[4] = {CL_KERNEL_ARG_ADDRESS_GLOBAL, CL_KERNEL_ARG_ADDRESS_CONSTANT,
                                                     CL_KERNEL_ARG_ADDRESS_LOCAL, CL_KERNEL_ARG_ADDRESS_PRIVATE};
  const char* types[4] = {"float*", "int*", "uint*", "uint4"};
  const char* called[4] = {"a", "b", "c", "d"};
  for (cl_uint i = 0; i < 4; ++i) {
    cl_kernel_arg_address_qualifier space = 0;
    cl_kernel_arg_access_qualifier access = 0;
    cl_kernel_arg_type_qualifier type = 99;
    OK(clGetKernelArgInfo(one, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, NULL));
    CHECK(space == spaces[i]);
    OK(clGetKernelArgInfo(one, i, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof access, &access, NULL));
    CHECK(access == CL_KERNEL_ARG_ACCESS_NONE);
    OK(clGetKernelArgInfo(one, i, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof type, &type, NULL));
    if (i == 0) CHECK(type == (CL_KERNEL_ARG_TYPE_CONST | CL_KERNEL_ARG_TYPE_RESTRICT));
    if (i > 1) CHECK(type == CL_KERNEL_ARG_TYPE_NONE);
    OK(clGetKernelArgInfo(one, i, CL_KERNEL_ARG_TYPE_NAME, sizeof names, names, NULL));
    CHECK(strcmp(names, types[i]) == 0);
    OK(clGetKernelArgInfo(one, i, CL_KERNEL_ARG_NAME, sizeof names, names, NULL));
    CHECK(strcmp(names, called[i]) == 0);
  }
  GIVES(CL_INVALID_ARG_INDEX, clGetKernelArgInfo(one, 4, CL_KERNEL_ARG_NAME, sizeof names, names, NULL));
  GIVES(CL_INVALID_VALUE, clGetKernelArgInfo(one, 0, CL_MEM_SIZE, sizeof names, names, NULL));
  GIVES(CL_INVALID_KERNEL, clGetKernelArgInfo(NULL, 0, CL_KERNEL_ARG_NAME, sizeof names, names, NULL));
  OK(clReleaseKernel(one));

  cl_context context = NULL;
  cl_uint references = 0;
  size_t size = 0;
  OK(clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof context, &context, NULL));
  CHECK(context == m.context);
  OK(clGetProgramInfo(program, CL_PROGRAM_REFERENCE_COUNT, sizeof references, &references, NULL));
  CHECK(references >= 1);
  GIVES(CL_INVALID_VALUE, clGetProgramInfo(program, CL_MEM_SIZE, 0, NULL, &size));
  GIVES(CL_INVALID_VALUE, clGetProgramInfo(program, CL_PROGRAM_CONTEXT, 2, &context, NULL));
  REFUSES(CL_INVALID_KERNEL_NAME, clCreateKernel(program, "three", &error));
  REFUSES(CL_INVALID_VALUE, clCreateKernel(program, NULL, &error));
  REFUSES(CL_INVALID_PROGRAM, clCreateKernel(NULL, "one", &error));
  OK(clReleaseProgram(program));
  group("kernels and queries");
}

static void arguments(const char* options) {
  cl_program program =
      build(m,
            "typedef struct { uint a; ulong b; float4 c; uchar d[5]; } Big;\n"
            "typedef struct { int width, height; } image_size;\n"
            "typedef struct { int a, b; } pipe_size;\n"
            "struct Pair { uint a, b; };\n"
            "kernel void values(global ulong* out, char c, short s, int i, ulong u, float f, uint3 v, Big big,\n"
            "                   struct Pair pair, ulong2 two) {\n"
            "  out[0] = c; out[1] = s; out[2] = i; out[3] = u; out[4] = as_uint(f); out[5] = v.x; out[6] = v.y;\n"
            "  out[7] = v.z; out[8] = big.a; out[9] = big.b; out[10] = as_uint(big.c.w); out[11] = big.d[4];\n"
            "  out[12] = pair.a; out[13] = pair.b; out[14] = two.x; out[15] = two.y; }\n"
            "kernel void eights(global ulong* out, ulong a, long b, image_size c, pipe_size d, uint2 e, float2 f) {\n"
            "  out[0] = a; out[1] = b; out[2] = c.width; out[3] = c.height; out[4] = d.a; out[5] = d.b;\n"
            "  out[6] = e.x; out[7] = e.y; out[8] = as_uint(f.x); out[9] = as_uint(f.y); }\n"
            "kernel void reverse(global uint* to, global const uint* from, local uint* room, local uint* more) {\n"
            "  size_t i = get_local_id(0), n = get_local_size(0), g = get_group_id(0) * n;\n"
            "  room[i] = from[g + i]; more[n - 1 - i] = from[g + i]; barrier(CLK_LOCAL_MEM_FENCE);\n"
            "  to[g + i] = room[n - 1 - i] + 7 * more[i]; }\n"
            "kernel void maybe(global uint* to, global uint* other, constant uint* third) {\n"
            "  to[0] = (other ? 1 : 0) + (third ? 2 : 0); }\n",
            options);
  struct Big {
    cl_uint a;
    cl_ulong b;
    cl_float4 c;
    cl_uchar d[5];
  } big;
  cl_ulong got[16];
  cl_mem out = buffer_of(m, CL_MEM_WRITE_ONLY, sizeof got, NULL);
  cl_kernel values = kernel_of(program, "values");
  cl_char c = (cl_char)(next_random() & 0x7F);
  cl_short s = (cl_short)(next_random() & 0x7FFF);
  cl_int i = (cl_int)(next_random() & 0x7FFFFFFF);
  cl_ulong u = next_of(&random_state);
  cl_uint float_bits = 0x3F800000u + random_below(1 << 20), w_bits = 0x40000000u + random_below(1 << 20);
  cl_uint3 v;
  cl_uint pair[2] = {next_random(), next_random()};
  cl_ulong2 two;
  fill_random(&v, sizeof v);
  fill_random(&big, sizeof big);
  fill_random(&two, sizeof two);
  memcpy(&big.c.s[3], &w_bits, 4);
  OK(clSetKernelArg(values, 0, sizeof out, &out));
  OK(clSetKernelArg(values, 1, sizeof c, &c));
  OK(clSetKernelArg(values, 2, sizeof s, &s));
  OK(clSetKernelArg(values, 3, sizeof i, &i));
  OK(clSetKernelArg(values, 4, sizeof u, &u));
  OK(clSetKernelArg(values, 5, sizeof float_bits, &float_bits));
  OK(clSetKernelArg(values, 6, sizeof v, &v));
  OK(clSetKernelArg(values, 7, sizeof big, &big));
  OK(clSetKernelArg(values, 8, sizeof pair, pair));
  OK(clSetKernelArg(values, 9, sizeof two, &two));
  run(values, 1);
  read_back(out, got, sizeof got);
  const cl_ulong expected[16] = {(cl_ulong)c, (cl_ulong)s, (cl_ulong)i, u,       float_bits, v.s[0],
                                 v.s[1],      v.s[2],      big.a,       big.b,   w_bits,     big.d[4],
                                 pair[0],     pair[1],     two.s[0],    two.s[1]};
  CHECK(memcmp(got, expected, sizeof got) == 0);
  OK(clReleaseKernel(values));
  group(options ? "values and structures, arguments described" : "values and structures");

  // Eight bytes are as long as a handle. These look like one, and are none.
  cl_sampler sampler = NULL;
  MAKE(sampler, clCreateSampler(m.context, CL_FALSE, CL_ADDRESS_NONE, CL_FILTER_NEAREST, &error));
  const cl_ulong looks[4] = {(cl_ulong)(uintptr_t)out, (cl_ulong)(uintptr_t)sampler, (cl_ulong)(uintptr_t)m.queue,
                             next_of(&random_state)};
  cl_kernel eights = kernel_of(program, "eights");
  OK(clSetKernelArg(eights, 0, sizeof out, &out));
  for (int k = 0; k < 4; ++k) {
    const cl_ulong look = looks[k];
    for (cl_uint a = 1; a < 7; ++a) OK(clSetKernelArg(eights, a, sizeof look, &look));
    run(eights, 1);
    read_back(out, got, sizeof got);
    CHECK(got[0] == look && got[1] == look);
    for (int a = 2; a < 10; a += 2) {
      CHECK((cl_uint)got[a] == (cl_uint)look);
      CHECK((cl_uint)got[a + 1] == (cl_uint)(look >> 32));
    }
  }
  OK(clReleaseKernel(eights));
  OK(clReleaseSampler(sampler));
  group(options ? "values of eight bytes, arguments described" : "values of eight bytes");

  enum { n = 256, local = 32 };
  cl_uint* from = random_bytes(n * 4);
  cl_uint* to = malloc(n * 4);
  cl_mem buffers[2] = {buffer_of(m, CL_MEM_READ_WRITE, n * 4, NULL), buffer_of(m, CL_MEM_COPY_HOST_PTR, n * 4, from)};
  cl_kernel reverse = kernel_of(program, "reverse");
  const size_t global = n, group_size = local;
  OK(clSetKernelArg(reverse, 0, sizeof(cl_mem), &buffers[0]));
  OK(clSetKernelArg(reverse, 1, sizeof(cl_mem), &buffers[1]));
  OK(clSetKernelArg(reverse, 2, local * 4, NULL));
  OK(clSetKernelArg(reverse, 3, local * 4, NULL));
  OK(clEnqueueNDRangeKernel(m.queue, reverse, 1, NULL, &global, &group_size, 0, NULL, NULL));
  read_back(buffers[0], to, n * 4);
  bool same = true;
  for (int k = 0; k < n; ++k) same &= to[k] == 8 * from[k / local * local + local - 1 - k % local];
  CHECK(same);
  GIVES(CL_INVALID_ARG_SIZE, clSetKernelArg(reverse, 2, 0, NULL));
  GIVES(CL_INVALID_ARG_VALUE, clSetKernelArg(reverse, 2, 16, from));
  OK(clReleaseKernel(reverse));
  group(options ? "local memory, arguments described" : "local memory");

  cl_kernel maybe = kernel_of(program, "maybe");
  cl_mem none = NULL;
  for (cl_uint k = 0; k < 4; ++k) {
    OK(clSetKernelArg(maybe, 0, sizeof(cl_mem), &buffers[0]));
    OK(clSetKernelArg(maybe, 1, sizeof(cl_mem), k & 1 ? &buffers[1] : &none));
    OK(clSetKernelArg(maybe, 2, sizeof(cl_mem), k & 2 ? &buffers[1] : k ? &none : NULL));  // null both ways
    run(maybe, 1);
    read_back(buffers[0], to, 4);
    CHECK(to[0] == k);
  }
  OK(clReleaseKernel(maybe));
  for (int k = 0; k < 2; ++k) OK(clReleaseMemObject(buffers[k]));
  free(from);
  free(to);
  OK(clReleaseMemObject(out));
  OK(clReleaseProgram(program));
  group(options ? "null buffers, arguments described" : "null buffers");
}

static void sampler_arguments(void) {
  cl_bool images = CL_FALSE;
  OK(clGetDeviceInfo(m.device, CL_DEVICE_IMAGE_SUPPORT, sizeof images, &images, NULL));
  if (images) {
    cl_program program =
        build(m,
              "kernel void look(global uint4* out, read_only image2d_t image, sampler_t how, int x) {\n"
              "  out[0] = read_imageui(image, how, (int2)(x, 0)); }\n",
              NULL);
    cl_uint pixels[4][4], got[4];
    fill_random(pixels, sizeof pixels);
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT32};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 4, .image_height = 1};
    cl_mem image = NULL, out = buffer_of(m, CL_MEM_READ_WRITE, sizeof got, NULL);
    cl_sampler sampler = NULL;
    MAKE(image, clCreateImage(m.context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &format, &desc, pixels, &error));
    MAKE(sampler, clCreateSampler(m.context, CL_FALSE, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_NEAREST, &error));
    cl_kernel look = kernel_of(program, "look");
    OK(clSetKernelArg(look, 0, sizeof out, &out));
    OK(clSetKernelArg(look, 1, sizeof image, &image));
    OK(clSetKernelArg(look, 2, sizeof sampler, &sampler));
    for (cl_int x = -1; x < 5; ++x) {
      OK(clSetKernelArg(look, 3, sizeof x, &x));
      run(look, 1);
      read_back(out, got, sizeof got);
      CHECK(memcmp(got, pixels[x < 0 ? 0 : x > 3 ? 3 : x], sizeof got) == 0);
    }
    GIVES(CL_INVALID_ARG_SIZE, clSetKernelArg(look, 2, 4, &sampler));
    OK(clReleaseKernel(look));
    OK(clReleaseSampler(sampler));
    OK(clReleaseMemObject(image));
    OK(clReleaseMemObject(out));
    OK(clReleaseProgram(program));
  }
  group("sampler arguments");
}

static void refused_arguments(void) {
  cl_program program = build(m, plain, NULL);
  cl_kernel kernel = kernel_of(program, "fill");
  cl_mem buffer = buffer_of(m, CL_MEM_READ_WRITE, 256, NULL);
  const cl_uint value = 3;
  const size_t global = 64, zero[3] = {0, 0, 0}, odd = 5;
  GIVES(CL_INVALID_KERNEL_ARGS, clEnqueueNDRangeKernel(m.queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
  OK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
  GIVES(CL_INVALID_KERNEL_ARGS, clEnqueueNDRangeKernel(m.queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
  GIVES(CL_INVALID_KERNEL_ARGS, clEnqueueTask(m.queue, kernel, 0, NULL, NULL));
  GIVES(CL_INVALID_ARG_INDEX, clSetKernelArg(kernel, 2, sizeof value, &value));
  GIVES(CL_INVALID_ARG_INDEX, clSetKernelArg(kernel, 1000000, sizeof value, &value));
  GIVES(CL_INVALID_ARG_SIZE, clSetKernelArg(kernel, 1, 2, &value));
  GIVES(CL_INVALID_ARG_SIZE, clSetKernelArg(kernel, 1, 8, &(cl_ulong){3}));
  GIVES(CL_INVALID_ARG_SIZE, clSetKernelArg(kernel, 0, 4, &buffer));
  GIVES(CL_INVALID_ARG_VALUE, clSetKernelArg(kernel, 1, sizeof value, NULL));
  GIVES(CL_INVALID_KERNEL, clSetKernelArg(NULL, 0, sizeof buffer, &buffer));
  OK(clSetKernelArg(kernel, 1, sizeof value, &value));
  GIVES(CL_INVALID_WORK_DIMENSION, clEnqueueNDRangeKernel(m.queue, kernel, 0, NULL, &global, NULL, 0, NULL, NULL));
  GIVES(CL_INVALID_WORK_DIMENSION, clEnqueueNDRangeKernel(m.queue, kernel, 4, NULL, &global, NULL, 0, NULL, NULL));
  size_t most = 0;
  OK(clGetDeviceInfo(m.device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof most, &most, NULL));
  const size_t too_many = 2 * most;
  const cl_int code = clEnqueueNDRangeKernel(m.queue, kernel, 1, NULL, &too_many, &too_many, 0, NULL, NULL);
  CHECK(code == CL_INVALID_WORK_GROUP_SIZE || code == CL_INVALID_WORK_ITEM_SIZE);
  if (m.heddle) {  // others may crash, or divide by nothing and say yes
    GIVES(CL_INVALID_WORK_GROUP_SIZE, clEnqueueNDRangeKernel(m.queue, kernel, 1, NULL, &global, zero, 0, NULL, NULL));
    GIVES(CL_INVALID_EVENT_WAIT_LIST, clEnqueueNDRangeKernel(m.queue, kernel, 1, NULL, &global, NULL, 1, NULL, NULL));
    GIVES(CL_INVALID_KERNEL, clEnqueueNDRangeKernel(m.queue, NULL, 1, NULL, &global, NULL, 0, NULL, NULL));
    cl_kernel_arg_address_qualifier space = 0;
    if (clGetKernelArgInfo(kernel, 0, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, NULL) == CL_SUCCESS) {
      cl_mem gone = buffer_of(m, CL_MEM_READ_WRITE, 256, NULL);
      OK(clSetKernelArg(kernel, 0, sizeof gone, &gone));
      OK(clReleaseMemObject(gone));
      GIVES(CL_INVALID_MEM_OBJECT, clSetKernelArg(kernel, 0, sizeof gone, &gone));
      OK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    }
  }
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueNDRangeKernel(NULL, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
  // A queue of another context.
  cl_context stranger = NULL;
  cl_command_queue far = NULL;
  MAKE(stranger, clCreateContext(NULL, 1, &m.device, NULL, NULL, &error));
  MAKE(far, clCreateCommandQueue(stranger, m.device, 0, &error));
  GIVES(CL_INVALID_CONTEXT, clEnqueueNDRangeKernel(far, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
  OK(clReleaseCommandQueue(far));
  OK(clReleaseContext(stranger));
  OK(clReleaseKernel(kernel));

  cl_program fixed = build(m,
                           "kernel __attribute__((reqd_work_group_size(4, 1, 1))) void four(global uint* to) {"
                           " to[get_global_id(0)] = 4; }",
                           NULL);
  kernel = kernel_of(fixed, "four");
  const size_t four = 4;
  OK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
  GIVES(CL_INVALID_WORK_GROUP_SIZE, clEnqueueNDRangeKernel(m.queue, kernel, 1, NULL, &global, &odd, 0, NULL, NULL));
  OK(clEnqueueNDRangeKernel(m.queue, kernel, 1, NULL, &global, &four, 0, NULL, NULL));
  OK(clFinish(m.queue));
  OK(clReleaseKernel(kernel));
  OK(clReleaseProgram(fixed));
  OK(clReleaseMemObject(buffer));
  OK(clReleaseProgram(program));
  group("refused arguments");
}

static void clones_and_tasks(void) {
  cl_program program = build(m, plain, NULL);
  cl_kernel kernel = kernel_of(program, "fill"), copy = NULL;
  cl_uint got[4], first = next_random(), second = next_random();
  cl_mem buffer = buffer_of(m, CL_MEM_READ_WRITE, sizeof got, NULL);
  OK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
  OK(clSetKernelArg(kernel, 1, sizeof first, &first));
  MAKE(copy, clCloneKernel(kernel, &error));
  CHECK(copy != kernel);
  OK(clSetKernelArg(kernel, 1, sizeof second, &second));
  run(copy, 4);
  read_back(buffer, got, sizeof got);
  CHECK(got[0] == first && got[3] == first);
  run(kernel, 4);
  read_back(buffer, got, sizeof got);
  CHECK(got[0] == second && got[3] == second);
  cl_program of = NULL;
  char name[8] = "";
  OK(clGetKernelInfo(copy, CL_KERNEL_PROGRAM, sizeof of, &of, NULL));
  CHECK(of == program);
  OK(clGetKernelInfo(copy, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL));
  CHECK(strcmp(name, "fill") == 0);
  OK(clReleaseKernel(kernel));
  // The copy stands on its own.
  OK(clSetKernelArg(copy, 1, sizeof second, &second));
  run(copy, 4);
  read_back(buffer, got, sizeof got);
  CHECK(got[0] == second);
  REFUSES(CL_INVALID_KERNEL, clCloneKernel(NULL, &error));
  group("clones");

  cl_event event = NULL;
  const cl_uint junk = 0xA5A5A5A5u;
  OK(clEnqueueFillBuffer(m.queue, buffer, &junk, 4, 0, sizeof got, 0, NULL, NULL));
  OK(clSetKernelArg(copy, 1, sizeof first, &first));
  OK(clEnqueueTask(m.queue, copy, 0, NULL, &event));
  OK(clWaitForEvents(1, &event));
  OK(clEnqueueReadBuffer(m.queue, buffer, CL_TRUE, 0, sizeof got, got, 0, NULL, NULL));
  CHECK(got[0] == first && got[1] == junk);
  OK(clReleaseEvent(event));
  OK(clReleaseKernel(copy));
  OK(clReleaseMemObject(buffer));
  OK(clReleaseProgram(program));
  group("tasks");
}

struct Native {
  cl_uint* data;
  cl_uint add;
};

static _Atomic int native_calls;

static void CL_CALLBACK native(void* data) {
  const struct Native* arguments = data;
  for (int i = 0; i < 16; ++i) arguments->data[i] += arguments->add;
  ++native_calls;
}

static void native_kernels(void) {
  cl_device_exec_capabilities can = 0;
  OK(clGetDeviceInfo(m.device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof can, &can, NULL));
  CHECK(can & CL_EXEC_KERNEL);
  if (can & CL_EXEC_NATIVE_KERNEL) {
    cl_uint data[16], got[16];
    fill_random(data, sizeof data);
    cl_mem buffer = buffer_of(m, CL_MEM_COPY_HOST_PTR, sizeof data, data);
    struct Native arguments = {NULL, next_random()};
    const cl_uint add = arguments.add;
    const void* place = &arguments.data;
    cl_event event = NULL;
    OK(clEnqueueNativeKernel(m.queue, native, &arguments, sizeof arguments, 1, &buffer, &place, 0, NULL, &event));
    poison(&arguments, sizeof arguments);  // was copied
    OK(clWaitForEvents(1, &event));
    read_back(buffer, got, sizeof got);
    for (int i = 0; i < 16; ++i) CHECK(got[i] == data[i] + add);
    CHECK(native_calls == 1);
    OK(clReleaseEvent(event));
    cl_mem none = NULL;
    GIVES(CL_INVALID_VALUE,
          clEnqueueNativeKernel(m.queue, NULL, &arguments, sizeof arguments, 1, &buffer, &place, 0, NULL, NULL));
    GIVES(CL_INVALID_VALUE,
          clEnqueueNativeKernel(m.queue, native, NULL, sizeof arguments, 1, &buffer, &place, 0, NULL, NULL));
    GIVES(CL_INVALID_VALUE,
          clEnqueueNativeKernel(m.queue, native, &arguments, sizeof arguments, 1, NULL, &place, 0, NULL, NULL));
    GIVES(CL_INVALID_MEM_OBJECT,
          clEnqueueNativeKernel(m.queue, native, &arguments, sizeof arguments, 1, &none, &place, 0, NULL, NULL));
    OK(clReleaseMemObject(buffer));
  }
  group("native kernels");
}

static void grids(void) {
  cl_program program =
      build(m,
            "kernel void where(global uint* out, uint4 size, uint4 base) {\n"
            "  uint x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n"
            "  uint at = ((z - base.z) * size.y + (y - base.y)) * size.x + (x - base.x);\n"
            "  bool right = get_global_offset(0) == base.x && get_global_offset(1) == base.y &&\n"
            "    get_global_offset(2) == base.z && get_global_size(0) == size.x && get_global_size(1) == size.y &&\n"
            "    get_global_size(2) == size.z &&\n"
            "    get_group_id(0) * get_local_size(0) + get_local_id(0) + base.x == x &&\n"
            "    get_num_groups(0) * get_local_size(0) == size.x;\n"
            "  out[at] = (right ? 0 : 1 << 31) | x | y << 10 | z << 20; }\n",
            NULL);
  cl_kernel where = kernel_of(program, "where");
  for (int round = 0; round < 24; ++round) {
    const cl_uint dimensions = 1 + (cl_uint)round % 3;
    size_t local[3] = {1, 1, 1}, global[3] = {1, 1, 1}, offset[3] = {0, 0, 0};
    for (cl_uint d = 0; d < dimensions; ++d) {
      local[d] = 1 + random_below(4);
      global[d] = local[d] * (1 + random_below(4));
      offset[d] = round % 2 ? random_below(100) : 0;
    }
    const size_t points = global[0] * global[1] * global[2];
    const cl_uint4 size = {{(cl_uint)global[0], (cl_uint)global[1], (cl_uint)global[2], 0}};
    const cl_uint4 base = {{(cl_uint)offset[0], (cl_uint)offset[1], (cl_uint)offset[2], 0}};
    cl_mem out = buffer_of(m, CL_MEM_WRITE_ONLY, points * 4, NULL);
    cl_uint* got = malloc(points * 4);
    const cl_uint junk = 0xA5A5A5A5u;
    OK(clEnqueueFillBuffer(m.queue, out, &junk, 4, 0, points * 4, 0, NULL, NULL));
    OK(clSetKernelArg(where, 0, sizeof out, &out));
    OK(clSetKernelArg(where, 1, sizeof size, &size));
    OK(clSetKernelArg(where, 2, sizeof base, &base));
    OK(clEnqueueNDRangeKernel(m.queue, where, dimensions, round % 2 ? offset : NULL, global,
                              random_below(3) ? local : NULL, 0, NULL, NULL));
    read_back(out, got, points * 4);
    bool right = true;
    for (size_t z = 0; z < global[2]; ++z)
      for (size_t y = 0; y < global[1]; ++y)
        for (size_t x = 0; x < global[0]; ++x)
          right &= got[(z * global[1] + y) * global[0] + x] ==
                   ((cl_uint)(x + offset[0]) | (cl_uint)(y + offset[1]) << 10 | (cl_uint)(z + offset[2]) << 20);
    CHECK(right);
    free(got);
    OK(clReleaseMemObject(out));
  }
  OK(clReleaseKernel(where));
  OK(clReleaseProgram(program));
  group("grids and offsets");
}

int main(int argc, char** argv) {
  seed_from(argc > 1 ? argv[1] : NULL);
  m = open_machine(0);
  sources();
  building();
  build_callbacks();
  linking();
  binaries();
  kernels_and_queries();
  arguments(NULL);
  arguments("-cl-kernel-arg-info");
  sampler_arguments();
  refused_arguments();
  clones_and_tasks();
  native_kernels();
  grids();
  close_machine(m);
  return result();
}
