// Platforms, devices, contexts, and what every entry point answers to handles that are none.
#include "program.h"

static struct Machine m;

static void platforms(void) {
  cl_uint count = 0;
  cl_platform_id platform = NULL;
  OK(clGetPlatformIDs(0, NULL, &count));
  CHECK(count >= 1);
  OK(clGetPlatformIDs(1, &platform, NULL));
  CHECK(platform == m.platform);
  GIVES(CL_INVALID_VALUE, clGetPlatformIDs(0, &platform, &count));
  GIVES(CL_INVALID_VALUE, clGetPlatformIDs(1, NULL, NULL));
  const cl_platform_info texts[] = {CL_PLATFORM_PROFILE, CL_PLATFORM_VERSION, CL_PLATFORM_NAME, CL_PLATFORM_VENDOR,
                                    CL_PLATFORM_EXTENSIONS};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
    size_t size = 0;
    OK(clGetPlatformInfo(m.platform, texts[i], 0, NULL, &size));
    char* text = malloc(size + 1);
    poison(text, size + 1);
    OK(clGetPlatformInfo(m.platform, texts[i], size, text, NULL));
    CHECK(size >= 1 && memchr(text, 0, size) == text + size - 1);
    if (texts[i] == CL_PLATFORM_VERSION) CHECK(strncmp(text, "OpenCL 3.0 ", 11) == 0);
    if (texts[i] == CL_PLATFORM_PROFILE) CHECK(strcmp(text, "FULL_PROFILE") == 0);
    if (texts[i] == CL_PLATFORM_EXTENSIONS) CHECK(strstr(text, "cl_khr_icd") != NULL);
    if (size > 1) GIVES(CL_INVALID_VALUE, clGetPlatformInfo(m.platform, texts[i], size - 1, text, NULL));
    free(text);
  }
  cl_version version = 0;
  OK(clGetPlatformInfo(m.platform, CL_PLATFORM_NUMERIC_VERSION, sizeof version, &version, NULL));
  CHECK(version == CL_MAKE_VERSION(3, 0, 0));
  size_t size = 0;
  OK(clGetPlatformInfo(m.platform, CL_PLATFORM_EXTENSIONS_WITH_VERSION, 0, NULL, &size));
  CHECK(size > 0 && size % sizeof(cl_name_version) == 0);
  GIVES(CL_INVALID_VALUE, clGetPlatformInfo(m.platform, CL_DEVICE_NAME, 0, NULL, &size));
  group("platforms");
}

// Every query of OpenCL 3.0: the size first, then exactly that.
static void device_queries(void) {
  static const cl_device_info all[] = {CL_DEVICE_TYPE,
                                       CL_DEVICE_VENDOR_ID,
                                       CL_DEVICE_MAX_COMPUTE_UNITS,
                                       CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS,
                                       CL_DEVICE_MAX_WORK_ITEM_SIZES,
                                       CL_DEVICE_MAX_WORK_GROUP_SIZE,
                                       CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR,
                                       CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT,
                                       CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT,
                                       CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG,
                                       CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT,
                                       CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE,
                                       CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF,
                                       CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR,
                                       CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT,
                                       CL_DEVICE_NATIVE_VECTOR_WIDTH_INT,
                                       CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG,
                                       CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT,
                                       CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE,
                                       CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF,
                                       CL_DEVICE_MAX_CLOCK_FREQUENCY,
                                       CL_DEVICE_ADDRESS_BITS,
                                       CL_DEVICE_MAX_MEM_ALLOC_SIZE,
                                       CL_DEVICE_IMAGE_SUPPORT,
                                       CL_DEVICE_MAX_READ_IMAGE_ARGS,
                                       CL_DEVICE_MAX_WRITE_IMAGE_ARGS,
                                       CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS,
                                       CL_DEVICE_IMAGE2D_MAX_WIDTH,
                                       CL_DEVICE_IMAGE2D_MAX_HEIGHT,
                                       CL_DEVICE_IMAGE3D_MAX_WIDTH,
                                       CL_DEVICE_IMAGE3D_MAX_HEIGHT,
                                       CL_DEVICE_IMAGE3D_MAX_DEPTH,
                                       CL_DEVICE_IMAGE_MAX_BUFFER_SIZE,
                                       CL_DEVICE_IMAGE_MAX_ARRAY_SIZE,
                                       CL_DEVICE_MAX_SAMPLERS,
                                       CL_DEVICE_IMAGE_PITCH_ALIGNMENT,
                                       CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT,
                                       CL_DEVICE_MAX_PIPE_ARGS,
                                       CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS,
                                       CL_DEVICE_PIPE_MAX_PACKET_SIZE,
                                       CL_DEVICE_MAX_PARAMETER_SIZE,
                                       CL_DEVICE_MEM_BASE_ADDR_ALIGN,
                                       CL_DEVICE_SINGLE_FP_CONFIG,
                                       CL_DEVICE_DOUBLE_FP_CONFIG,
                                       CL_DEVICE_GLOBAL_MEM_CACHE_TYPE,
                                       CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE,
                                       CL_DEVICE_GLOBAL_MEM_CACHE_SIZE,
                                       CL_DEVICE_GLOBAL_MEM_SIZE,
                                       CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE,
                                       CL_DEVICE_MAX_CONSTANT_ARGS,
                                       CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE,
                                       CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE,
                                       CL_DEVICE_LOCAL_MEM_TYPE,
                                       CL_DEVICE_LOCAL_MEM_SIZE,
                                       CL_DEVICE_ERROR_CORRECTION_SUPPORT,
                                       CL_DEVICE_HOST_UNIFIED_MEMORY,
                                       CL_DEVICE_PROFILING_TIMER_RESOLUTION,
                                       CL_DEVICE_ENDIAN_LITTLE,
                                       CL_DEVICE_AVAILABLE,
                                       CL_DEVICE_COMPILER_AVAILABLE,
                                       CL_DEVICE_LINKER_AVAILABLE,
                                       CL_DEVICE_EXECUTION_CAPABILITIES,
                                       CL_DEVICE_QUEUE_ON_HOST_PROPERTIES,
                                       CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES,
                                       CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE,
                                       CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE,
                                       CL_DEVICE_MAX_ON_DEVICE_QUEUES,
                                       CL_DEVICE_MAX_ON_DEVICE_EVENTS,
                                       CL_DEVICE_BUILT_IN_KERNELS,
                                       CL_DEVICE_PLATFORM,
                                       CL_DEVICE_NAME,
                                       CL_DEVICE_VENDOR,
                                       CL_DRIVER_VERSION,
                                       CL_DEVICE_PROFILE,
                                       CL_DEVICE_VERSION,
                                       CL_DEVICE_NUMERIC_VERSION,
                                       CL_DEVICE_OPENCL_C_VERSION,
                                       CL_DEVICE_OPENCL_C_ALL_VERSIONS,
                                       CL_DEVICE_OPENCL_C_FEATURES,
                                       CL_DEVICE_EXTENSIONS,
                                       CL_DEVICE_EXTENSIONS_WITH_VERSION,
                                       CL_DEVICE_PRINTF_BUFFER_SIZE,
                                       CL_DEVICE_PREFERRED_INTEROP_USER_SYNC,
                                       CL_DEVICE_PARENT_DEVICE,
                                       CL_DEVICE_PARTITION_MAX_SUB_DEVICES,
                                       CL_DEVICE_PARTITION_PROPERTIES,
                                       CL_DEVICE_PARTITION_AFFINITY_DOMAIN,
                                       CL_DEVICE_PARTITION_TYPE,
                                       CL_DEVICE_REFERENCE_COUNT,
                                       CL_DEVICE_SVM_CAPABILITIES,
                                       CL_DEVICE_PREFERRED_PLATFORM_ATOMIC_ALIGNMENT,
                                       CL_DEVICE_PREFERRED_GLOBAL_ATOMIC_ALIGNMENT,
                                       CL_DEVICE_PREFERRED_LOCAL_ATOMIC_ALIGNMENT,
                                       CL_DEVICE_MAX_NUM_SUB_GROUPS,
                                       CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS,
                                       CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES,
                                       CL_DEVICE_ATOMIC_FENCE_CAPABILITIES,
                                       CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT,
                                       CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT,
                                       CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT,
                                       CL_DEVICE_PIPE_SUPPORT,
                                       CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
                                       CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED,
                                       CL_DEVICE_ILS_WITH_VERSION,
                                       CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION,
                                       CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES,
                                       CL_DEVICE_IL_VERSION};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
    size_t size = 0, again = 0;
    const cl_int code = clGetDeviceInfo(m.device, all[i], 0, NULL, &size);
    if (code != CL_SUCCESS) fprintf(stderr, "device query %#x: %d\n", all[i], code);
    CHECK(code == CL_SUCCESS);
    unsigned char* value = malloc(size + 8);
    poison(value, size + 8);
    OK(clGetDeviceInfo(m.device, all[i], size, value, &again));
    CHECK(again == size);
    for (int k = 0; k < 8; ++k) CHECK(value[size + (size_t)k] == 0xA5);
    if (size > 1) GIVES(CL_INVALID_VALUE, clGetDeviceInfo(m.device, all[i], size - 1, value, NULL));
    free(value);
  }
  cl_platform_id platform = NULL;
  cl_device_id parent = m.device;
  size_t size = 0;
  OK(clGetDeviceInfo(m.device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL));
  CHECK(platform == m.platform);
  OK(clGetDeviceInfo(m.device, CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, NULL));
  CHECK(parent == NULL);
  GIVES(CL_INVALID_VALUE, clGetDeviceInfo(m.device, CL_PLATFORM_NAME, 0, NULL, &size));
  group("device queries");
}

static void device_types(void) {
  cl_uint count = 0, found = 0;
  cl_device_type type = 0;
  cl_device_id devices[64];
  OK(clGetDeviceIDs(m.platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count));
  CHECK(count >= 1);
  OK(clGetDeviceIDs(m.platform, CL_DEVICE_TYPE_ALL, 64, devices, &found));
  CHECK(found == count && devices[0] == m.device);
  OK(clGetDeviceIDs(m.platform, CL_DEVICE_TYPE_DEFAULT, 64, devices, &found));
  CHECK(found == 1);
  OK(clGetDeviceInfo(m.device, CL_DEVICE_TYPE, sizeof type, &type, NULL));
  const cl_device_type kinds[3] = {CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR};
  cl_uint sum = 0;
  for (int i = 0; i < 3; ++i) {
    found = 0;
    const cl_int code = clGetDeviceIDs(m.platform, kinds[i], 64, devices, &found);
    CHECK(code == CL_SUCCESS ? found >= 1 : code == CL_DEVICE_NOT_FOUND);
    if (type & kinds[i]) CHECK(code == CL_SUCCESS);
    if (code == CL_SUCCESS) sum += found;
  }
  CHECK(sum == count);
  GIVES(CL_INVALID_VALUE, clGetDeviceIDs(m.platform, CL_DEVICE_TYPE_ALL, 0, devices, NULL));
  GIVES(CL_INVALID_VALUE, clGetDeviceIDs(m.platform, CL_DEVICE_TYPE_ALL, 0, NULL, NULL));
  if (m.heddle) GIVES(CL_INVALID_DEVICE_TYPE, clGetDeviceIDs(m.platform, 1u << 20, 1, devices, NULL));
  OK(clRetainDevice(m.device));  // root devices are not counted
  OK(clReleaseDevice(m.device));
  OK(clReleaseDevice(m.device));
  group("device types");

  if (m.heddle) {
    const cl_device_partition_property equally[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    cl_device_id part = NULL;
    cl_uint most = 99;
    GIVES(CL_INVALID_VALUE, clCreateSubDevices(m.device, equally, 1, &part, NULL));
    OK(clGetDeviceInfo(m.device, CL_DEVICE_PARTITION_MAX_SUB_DEVICES, sizeof most, &most, NULL));
    CHECK(most == 0);
  }
  group("sub-devices");
}

static _Atomic int destroyed;
static _Atomic int order[4];

static void CL_CALLBACK on_destruction(cl_context context, void* which) {
  CHECK(context != NULL);
  order[destroyed] = *(int*)which;
  ++destroyed;
}

static void CL_CALLBACK on_error(const char* text, const void* data, size_t size, void* user) {
  (void)text, (void)data, (void)size, (void)user;
}

static cl_uint references_of(cl_context context) {
  cl_uint references = 0;
  OK(clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof references, &references, NULL));
  return references;
}

static void contexts(void) {
  const cl_context_properties with[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)m.platform, 0};
  const cl_context_properties unknown[] = {0x7777, 1, 0};
  const cl_context_properties twice[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)m.platform, CL_CONTEXT_PLATFORM,
                                         (cl_context_properties)m.platform, 0};
  cl_context context = NULL;
  size_t size = 0;
  for (int way = 0; way < 3; ++way) {
    if (way == 0) MAKE(context, clCreateContext(with, 1, &m.device, on_error, &m, &error));
    if (way == 1) MAKE(context, clCreateContext(NULL, 1, &m.device, NULL, NULL, &error));
    if (way == 2) MAKE(context, clCreateContextFromType(with, CL_DEVICE_TYPE_ALL, NULL, NULL, &error));
    cl_uint count = 0;
    cl_device_id devices[64] = {NULL};
    cl_context_properties back[3] = {9, 9, 9};
    OK(clGetContextInfo(context, CL_CONTEXT_NUM_DEVICES, sizeof count, &count, NULL));
    CHECK(count >= 1);
    OK(clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, &size));
    CHECK(size == count * sizeof(cl_device_id) && devices[0] == m.device);
    OK(clGetContextInfo(context, CL_CONTEXT_PROPERTIES, sizeof back, back, &size));
    if (way != 1) CHECK(size == sizeof with && memcmp(back, with, sizeof with) == 0);
    CHECK(references_of(context) == 1);
    OK(clRetainContext(context));
    CHECK(references_of(context) == 2);
    OK(clReleaseContext(context));
    GIVES(CL_INVALID_VALUE, clGetContextInfo(context, CL_DEVICE_NAME, 0, NULL, &size));
    GIVES(CL_INVALID_VALUE, clGetContextInfo(context, CL_CONTEXT_NUM_DEVICES, 2, &count, NULL));
    OK(clReleaseContext(context));
  }
  cl_device_id no_device = NULL;
  REFUSES(CL_INVALID_PROPERTY, clCreateContext(unknown, 1, &m.device, NULL, NULL, &error));
  REFUSES(CL_INVALID_VALUE, clCreateContext(with, 0, &m.device, NULL, NULL, &error));
  REFUSES(CL_INVALID_VALUE, clCreateContext(with, 1, NULL, NULL, NULL, &error));
  REFUSES(CL_INVALID_VALUE, clCreateContext(with, 1, &m.device, NULL, &m, &error));
  REFUSES(CL_INVALID_DEVICE, clCreateContext(with, 1, &no_device, NULL, NULL, &error));
  REFUSES(CL_INVALID_VALUE, clCreateContextFromType(with, CL_DEVICE_TYPE_ALL, NULL, &m, &error));
  if (m.heddle) {  // others take these
    REFUSES(CL_INVALID_PROPERTY, clCreateContext(twice, 1, &m.device, NULL, NULL, &error));
    REFUSES(CL_INVALID_DEVICE_TYPE, clCreateContextFromType(with, 1u << 20, NULL, NULL, &error));
  }
  group("contexts");

  static int numbers[3] = {1, 2, 3};
  MAKE(context, clCreateContext(with, 1, &m.device, NULL, NULL, &error));
  for (int i = 0; i < 3; ++i) OK(clSetContextDestructorCallback(context, on_destruction, &numbers[i]));
  GIVES(CL_INVALID_VALUE, clSetContextDestructorCallback(context, NULL, NULL));
  cl_mem buffer = NULL;
  MAKE(buffer, clCreateBuffer(context, 0, 64, NULL, &error));
  OK(clReleaseContext(context));
  CHECK(destroyed == 0);  // the buffer needs it
  OK(clReleaseMemObject(buffer));
  CHECK(soon(&destroyed, 3));
  CHECK(order[0] == 3 && order[1] == 2 && order[2] == 1);
  group("context destructor callbacks");
}

static void no_handles(void) {
  size_t size = 0;
  const size_t one[3] = {1, 1, 1}, zero[3] = {0, 0, 0};
  char bytes[64] = "";
  cl_uint number = 0;
  cl_event event = NULL;
  cl_mem none = NULL;
  const char* text = "";
  const unsigned char* binary = (const unsigned char*)"";
  cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
  cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 1, .image_height = 1};
  const cl_uint word = 0;
  cl_device_id device = NULL;
  cl_ulong time[2];

  GIVES(CL_INVALID_DEVICE, clGetDeviceInfo(NULL, CL_DEVICE_NAME, 0, NULL, &size));
  GIVES(CL_INVALID_DEVICE, clCreateSubDevices(NULL, NULL, 0, &device, NULL));
  GIVES(CL_INVALID_DEVICE, clRetainDevice(NULL));
  GIVES(CL_INVALID_DEVICE, clReleaseDevice(NULL));
  GIVES(CL_INVALID_DEVICE, clGetDeviceAndHostTimer(NULL, &time[0], &time[1]));
  GIVES(CL_INVALID_DEVICE, clGetHostTimer(NULL, &time[0]));
  GIVES(CL_INVALID_CONTEXT, clRetainContext(NULL));
  GIVES(CL_INVALID_CONTEXT, clReleaseContext(NULL));
  GIVES(CL_INVALID_CONTEXT, clGetContextInfo(NULL, CL_CONTEXT_DEVICES, 0, NULL, &size));
  GIVES(CL_INVALID_CONTEXT, clSetContextDestructorCallback(NULL, on_destruction, NULL));
  GIVES(CL_INVALID_CONTEXT, clSetDefaultDeviceCommandQueue(NULL, m.device, m.queue));
  REFUSES(CL_INVALID_CONTEXT, clCreateCommandQueue(NULL, m.device, 0, &error));
  REFUSES(CL_INVALID_CONTEXT, clCreateCommandQueueWithProperties(NULL, m.device, NULL, &error));
  REFUSES(CL_INVALID_CONTEXT, clCreateBuffer(NULL, 0, 1, NULL, &error));
  REFUSES(CL_INVALID_CONTEXT, clCreateBufferWithProperties(NULL, NULL, 0, 1, NULL, &error));
  REFUSES(CL_INVALID_CONTEXT, clCreateImage(NULL, 0, &format, &desc, NULL, &error));
  REFUSES(CL_INVALID_CONTEXT, clCreateImageWithProperties(NULL, NULL, 0, &format, &desc, NULL, &error));
  REFUSES(CL_INVALID_CONTEXT, clCreateImage2D(NULL, 0, &format, 1, 1, 0, NULL, &error));
  REFUSES(CL_INVALID_CONTEXT, clCreateImage3D(NULL, 0, &format, 1, 1, 1, 0, 0, NULL, &error));
  REFUSES(CL_INVALID_CONTEXT, clCreatePipe(NULL, 0, 4, 4, NULL, &error));
  REFUSES(CL_INVALID_CONTEXT, clCreateSampler(NULL, CL_FALSE, CL_ADDRESS_NONE, CL_FILTER_NEAREST, &error));
  REFUSES(CL_INVALID_CONTEXT, clCreateSamplerWithProperties(NULL, NULL, &error));
  REFUSES(CL_INVALID_CONTEXT, clCreateProgramWithSource(NULL, 1, &text, NULL, &error));
  REFUSES(CL_INVALID_CONTEXT, clCreateProgramWithBinary(NULL, 1, &m.device, &size, &binary, NULL, &error));
  REFUSES(CL_INVALID_CONTEXT, clCreateProgramWithBuiltInKernels(NULL, 1, &m.device, "", &error));
  REFUSES(CL_INVALID_CONTEXT, clCreateProgramWithIL(NULL, bytes, 4, &error));
  REFUSES(CL_INVALID_CONTEXT, clLinkProgram(NULL, 0, NULL, NULL, 0, NULL, NULL, NULL, &error));
  REFUSES(CL_INVALID_CONTEXT, clCreateUserEvent(NULL, &error));
  GIVES(CL_INVALID_CONTEXT, clGetSupportedImageFormats(NULL, 0, CL_MEM_OBJECT_IMAGE2D, 0, NULL, &number));
  CHECK(clSVMAlloc(NULL, 0, 16, 0) == NULL);
  clSVMFree(NULL, NULL);
  group("no context or device");

  REFUSES(CL_INVALID_MEM_OBJECT, clCreateSubBuffer(NULL, 0, CL_BUFFER_CREATE_TYPE_REGION, &size, &error));
  GIVES(CL_INVALID_MEM_OBJECT, clRetainMemObject(NULL));
  GIVES(CL_INVALID_MEM_OBJECT, clReleaseMemObject(NULL));
  GIVES(CL_INVALID_MEM_OBJECT, clGetMemObjectInfo(NULL, CL_MEM_SIZE, 0, NULL, &size));
  GIVES(CL_INVALID_MEM_OBJECT, clGetImageInfo(NULL, CL_IMAGE_WIDTH, 0, NULL, &size));
  GIVES(CL_INVALID_MEM_OBJECT, clGetPipeInfo(NULL, CL_PIPE_PACKET_SIZE, 0, NULL, &size));
  GIVES(CL_INVALID_SAMPLER, clRetainSampler(NULL));
  GIVES(CL_INVALID_SAMPLER, clReleaseSampler(NULL));
  GIVES(CL_INVALID_SAMPLER, clGetSamplerInfo(NULL, CL_SAMPLER_CONTEXT, 0, NULL, &size));
  GIVES(CL_INVALID_PROGRAM, clRetainProgram(NULL));
  GIVES(CL_INVALID_PROGRAM, clReleaseProgram(NULL));
  GIVES(CL_INVALID_PROGRAM, clBuildProgram(NULL, 0, NULL, NULL, NULL, NULL));
  GIVES(CL_INVALID_PROGRAM, clCompileProgram(NULL, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL));
  GIVES(CL_INVALID_PROGRAM, clGetProgramInfo(NULL, CL_PROGRAM_SOURCE, 0, NULL, &size));
  GIVES(CL_INVALID_PROGRAM, clGetProgramBuildInfo(NULL, m.device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size));
  GIVES(CL_INVALID_PROGRAM, clSetProgramSpecializationConstant(NULL, 0, 4, &word));
  REFUSES(CL_INVALID_PROGRAM, clCreateKernel(NULL, "k", &error));
  GIVES(CL_INVALID_PROGRAM, clCreateKernelsInProgram(NULL, 0, NULL, &number));
  REFUSES(CL_INVALID_KERNEL, clCloneKernel(NULL, &error));
  GIVES(CL_INVALID_KERNEL, clRetainKernel(NULL));
  GIVES(CL_INVALID_KERNEL, clReleaseKernel(NULL));
  GIVES(CL_INVALID_KERNEL, clSetKernelArg(NULL, 0, 4, &word));
  GIVES(CL_INVALID_KERNEL, clSetKernelArgSVMPointer(NULL, 0, NULL));
  GIVES(CL_INVALID_KERNEL, clSetKernelExecInfo(NULL, CL_KERNEL_EXEC_INFO_SVM_PTRS, 8, &size));
  GIVES(CL_INVALID_KERNEL, clGetKernelInfo(NULL, CL_KERNEL_NUM_ARGS, 0, NULL, &size));
  GIVES(CL_INVALID_KERNEL, clGetKernelArgInfo(NULL, 0, CL_KERNEL_ARG_NAME, 0, NULL, &size));
  GIVES(CL_INVALID_KERNEL, clGetKernelWorkGroupInfo(NULL, m.device, CL_KERNEL_WORK_GROUP_SIZE, 0, NULL, &size));
  GIVES(CL_INVALID_KERNEL,
        clGetKernelSubGroupInfo(NULL, m.device, CL_KERNEL_MAX_NUM_SUB_GROUPS, 0, NULL, 0, NULL, &size));
  GIVES(CL_INVALID_EVENT, clRetainEvent(NULL));
  GIVES(CL_INVALID_EVENT, clReleaseEvent(NULL));
  GIVES(CL_INVALID_EVENT, clGetEventInfo(NULL, CL_EVENT_CONTEXT, 0, NULL, &size));
  GIVES(CL_INVALID_EVENT, clGetEventProfilingInfo(NULL, CL_PROFILING_COMMAND_END, 0, NULL, &size));
  GIVES(CL_INVALID_EVENT, clSetUserEventStatus(NULL, CL_COMPLETE));
  group("no memory, program, kernel or event");

  cl_command_queue no = NULL;
  GIVES(CL_INVALID_COMMAND_QUEUE, clRetainCommandQueue(no));
  GIVES(CL_INVALID_COMMAND_QUEUE, clReleaseCommandQueue(no));
  GIVES(CL_INVALID_COMMAND_QUEUE, clGetCommandQueueInfo(no, CL_QUEUE_CONTEXT, 0, NULL, &size));
  GIVES(CL_INVALID_COMMAND_QUEUE, clFlush(no));
  GIVES(CL_INVALID_COMMAND_QUEUE, clFinish(no));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueReadBuffer(no, none, CL_TRUE, 0, 1, bytes, 0, NULL, NULL));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueWriteBuffer(no, none, CL_TRUE, 0, 1, bytes, 0, NULL, NULL));
  GIVES(CL_INVALID_COMMAND_QUEUE,
        clEnqueueReadBufferRect(no, none, CL_TRUE, zero, zero, one, 0, 0, 0, 0, bytes, 0, NULL, NULL));
  GIVES(CL_INVALID_COMMAND_QUEUE,
        clEnqueueWriteBufferRect(no, none, CL_TRUE, zero, zero, one, 0, 0, 0, 0, bytes, 0, NULL, NULL));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueFillBuffer(no, none, &word, 4, 0, 4, 0, NULL, NULL));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueCopyBuffer(no, none, none, 0, 0, 1, 0, NULL, NULL));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueCopyBufferRect(no, none, none, zero, zero, one, 0, 0, 0, 0, 0, NULL, NULL));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueReadImage(no, none, CL_TRUE, zero, one, 0, 0, bytes, 0, NULL, NULL));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueWriteImage(no, none, CL_TRUE, zero, one, 0, 0, bytes, 0, NULL, NULL));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueFillImage(no, none, bytes, zero, one, 0, NULL, NULL));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueCopyImage(no, none, none, zero, zero, one, 0, NULL, NULL));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueCopyImageToBuffer(no, none, none, zero, one, 0, 0, NULL, NULL));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueCopyBufferToImage(no, none, none, 0, zero, one, 0, NULL, NULL));
  REFUSES(CL_INVALID_COMMAND_QUEUE, clEnqueueMapBuffer(no, none, CL_TRUE, CL_MAP_READ, 0, 1, 0, NULL, NULL, &error));
  REFUSES(CL_INVALID_COMMAND_QUEUE,
          clEnqueueMapImage(no, none, CL_TRUE, CL_MAP_READ, zero, one, &size, &size, 0, NULL, NULL, &error));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueUnmapMemObject(no, none, bytes, 0, NULL, NULL));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueMigrateMemObjects(no, 1, &none, 0, 0, NULL, NULL));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueNDRangeKernel(no, NULL, 1, NULL, one, NULL, 0, NULL, NULL));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueTask(no, NULL, 0, NULL, NULL));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueNativeKernel(no, NULL, NULL, 0, 0, NULL, NULL, 0, NULL, NULL));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueMarkerWithWaitList(no, 0, NULL, NULL));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueBarrierWithWaitList(no, 0, NULL, NULL));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueMarker(no, &event));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueWaitForEvents(no, 1, &event));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueBarrier(no));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueSVMFree(no, 0, NULL, NULL, NULL, 0, NULL, NULL));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueSVMMemcpy(no, CL_TRUE, bytes, bytes, 1, 0, NULL, NULL));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueSVMMemFill(no, bytes, &word, 4, 4, 0, NULL, NULL));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueSVMMap(no, CL_TRUE, CL_MAP_READ, bytes, 4, 0, NULL, NULL));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueSVMUnmap(no, bytes, 0, NULL, NULL));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueSVMMigrateMem(no, 0, NULL, NULL, 0, 0, NULL, NULL));
  group("no queue");
}

int main(int argc, char** argv) {
  seed_from(argc > 1 ? argv[1] : NULL);
  m = open_machine(0);
  platforms();
  device_queries();
  device_types();
  contexts();
  no_handles();
  close_machine(m);
  return result();
}
