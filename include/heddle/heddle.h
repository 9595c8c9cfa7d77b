/* Heddle as a library for C and whatever can call it; heddle.hpp says more of what the calls mean.
 *
 *   heddle_runtime* rt = heddle_open(NULL);
 *   heddle_buffer *x = heddle_buffer_make(rt, n * sizeof(float)), *y = heddle_buffer_make(rt, n * sizeof(float));
 *   heddle_kernel* saxpy = heddle_kernel_make(rt, "saxpy", source, "");
 *   heddle_argument arguments[] = {{.buffer = x}, {.buffer = y}, {.value = &a, .size = sizeof a}};
 *   heddle_grid grid = {.dimensions = 1, .items = {n}};
 *   heddle_launch* launch = heddle_launch_begin(rt, saxpy, &grid, 3, arguments);    returns at once
 *
 * Functions that make something answer NULL where they fail, the others a number that is not zero; heddle_error() then
 * says why. NULL is no error for functions that end something. */
#ifndef HEDDLE_H
#define HEDDLE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define HEDDLE_API_C __attribute__((visibility("default")))
#else
#define HEDDLE_API_C
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct heddle_runtime heddle_runtime;
typedef struct heddle_buffer heddle_buffer;
typedef struct heddle_kernel heddle_kernel;
typedef struct heddle_launch heddle_launch;

/* What the last call of this thread that failed has to say; with the log of a compiler where there is one. */
HEDDLE_API_C const char* heddle_error(void);

/* `devices` as HEDDLE_DEVICES; NULL or empty: as that variable says, or all. */
HEDDLE_API_C heddle_runtime* heddle_open(const char* devices);
HEDDLE_API_C void heddle_close(heddle_runtime* runtime); /* waits for all launches */

HEDDLE_API_C heddle_buffer* heddle_buffer_make(heddle_runtime* runtime, size_t size);
/* On memory of the program's, which must outlive the buffer. */
HEDDLE_API_C heddle_buffer* heddle_buffer_on(heddle_runtime* runtime, void* memory, size_t size);
HEDDLE_API_C void heddle_buffer_free(heddle_buffer* buffer);
HEDDLE_API_C size_t heddle_buffer_size(const heddle_buffer* buffer);
/* All bytes; `size` must be the buffer's. Reading waits for launches that write it. */
HEDDLE_API_C int heddle_buffer_write(heddle_buffer* buffer, const void* from, size_t size);
HEDDLE_API_C int heddle_buffer_read(heddle_buffer* buffer, void* to, size_t size);
/* Its bytes in host memory, to read and change until the next launch that uses them. */
HEDDLE_API_C void* heddle_buffer_host(heddle_buffer* buffer);

HEDDLE_API_C heddle_kernel* heddle_kernel_make(heddle_runtime* runtime, const char* name, const char* source,
                                               const char* options);
/* A kernel of several implementations, which are added one by one; the first must be able to compute all of a launch.
 * heddle.hpp says more. */
HEDDLE_API_C heddle_kernel* heddle_kernel_open(heddle_runtime* runtime, const char* name);
/* A variant may make the arguments of its kernel of those of the launch; heddle.hpp says when. The function sees the
 * launch's arguments in host memory (NULL: it does not depend on that one), and adds those of its kernel in their
 * order. Not 0: it failed. */
typedef struct {
  const void* bytes;
  size_t size;
} heddle_input;
typedef struct heddle_prepared heddle_prepared;
typedef int (*heddle_prepare)(void* user, const int64_t points[3], size_t count, const heddle_input* inputs,
                              heddle_prepared* out);
HEDDLE_API_C int heddle_prepared_given(heddle_prepared* out, size_t argument);               /* as in the launch */
HEDDLE_API_C int heddle_prepared_array(heddle_prepared* out, const void* from, size_t size); /* which is copied */
/* NULL: local memory of `size` bytes. */
HEDDLE_API_C int heddle_prepared_value(heddle_prepared* out, const void* value, size_t size);

/* Extents of 0 count as 1. */
typedef struct {
  int64_t points[3];      /* of the launch, that one group computes */
  int64_t group[3];       /* work-items of it */
  int guarded;            /* not 0: its last group may reach over the end of the launch */
  const char* options;    /* for its compiler; NULL: none */
  const char* entry;      /* the function's name; NULL: the kernel's */
  heddle_prepare prepare; /* NULL: it takes the launch's arguments */
  void* user;             /* what that is given */
  const size_t* reads;    /* numbers of the launch's arguments that it depends on; NULL: all that are only read */
  size_t read_count;
  int same_points; /* not 0: a group computes the points of its place, as without preparation */
} heddle_covers;
HEDDLE_API_C int heddle_kernel_add(heddle_kernel* kernel, const char* variant, const char* source,
                                   const heddle_covers* covers);
HEDDLE_API_C void heddle_kernel_free(heddle_kernel* kernel);

/* A buffer (`size` bytes from `begin` on; size 0: all), a value of `size` bytes, or, with neither, local memory of
 * `size` bytes. */
typedef struct {
  heddle_buffer* buffer;
  const void* value;
  size_t begin, size;
} heddle_argument;

/* Work-items; a group of 0: Heddle chooses. Dimensions that are left out count as 1. */
typedef struct {
  int dimensions;
  int64_t items[3], group[3], offset[3];
  int tasks;      /* slices into which each device's share is cut; 0: Heddle decides */
  int everywhere; /* not 0: on all devices */
  /* For a kernel with variants, items are points, and: */
  int profile;         /* 0: once for each kind of launch, 1: at each launch, -1: never */
  const char* initial; /* variant to begin with; NULL: the first */
  int meanwhile;       /* 1: it begins with the rest while variants are compared */
  int how;             /* 0: as known of the kernel, 1: own parts, 2: same part, 3: private outputs */
} heddle_grid;

HEDDLE_API_C heddle_launch* heddle_launch_begin(heddle_runtime* runtime, heddle_kernel* kernel, const heddle_grid* grid,
                                                size_t count, const heddle_argument* arguments);
HEDDLE_API_C int heddle_launch_wait(heddle_launch* launch);
HEDDLE_API_C int heddle_launch_done(heddle_launch* launch);  /* 1 or 0, without waiting */
HEDDLE_API_C void heddle_launch_free(heddle_launch* launch); /* the launch itself goes on */

#ifdef __cplusplus
}
#endif

#endif
