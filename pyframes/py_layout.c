#include "pyframes/py_layout.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"

/* Rows are printed by tools/gen-layout, but for their traits; a test holds them against the headers
 * found. */
/* clang-format off */
static const struct py_layout rows[] = {
    {.minor = 6,
     .traits = {.chain = PY_CHAIN_OBJECTS, .lines = PY_LNOTAB, .lasti_unit = 1,
         .dicts = PY_DICTS_36, .join = PY_JOIN_LOCK, .code_first = true,
         .trace_refs_links = true},
     .runtime = {.interpreters = 0, .main_interpreter = PY_ABSENT, .gil = PY_ABSENT,
         .collecting = PY_ABSENT},
     .interp = {.next = 0, .threads = 8, .gil = PY_ABSENT, .collecting = PY_ABSENT,
         .gc_frame = PY_ABSENT, .modules = 16},
     .thread = {.next = 8, .interp = 16, .frame = 24, .cframe = PY_ABSENT, .root_cframe = PY_ABSENT,
         .base_frame = PY_ABSENT, .thread_id = 152, .native_id = PY_ABSENT, .dict = PY_ABSENT,
         .loop = PY_ABSENT,
         .datastack = PY_ABSENT},
     .cframe = {.current_frame = PY_ABSENT, .previous = PY_ABSENT},
     .frame = {.previous = 24, .code = 32, .lasti = 120, .instr = PY_ABSENT, .owner = PY_ABSENT,
         .is_entry = PY_ABSENT, .copy = PY_ABSENT, .bytes = 124, .locals = 376, .top = PY_ABSENT,
         .stack = PY_ABSENT},
     .code = {.filename = 96, .name = 104, .qualname = PY_ABSENT, .first_line = 36,
         .linetable = 112, .consts = 48, .names = 56, .version = PY_ABSENT, .bytecode = 40,
         .copies = PY_ABSENT, .argcount = 16, .kwonly = 20, .flags = 32, .variables = 64},
     .object = {.type = 8}, .type = {.cached_keys = PY_ABSENT},
     .generator = {.frame = PY_ABSENT, .state = PY_ABSENT},
     .unicode = {.length = 16, .state = 32, .ascii_bytes = 48, .compact_bytes = 72,
         .kind_shift = 2}, .bytes = {.size = 16, .data = 32},
     .gil = {.last_holder = PY_ABSENT, .locked = PY_ABSENT, .enabled = PY_ABSENT, .bytes = 0}},
    {.minor = 7,
     .traits = {.chain = PY_CHAIN_OBJECTS, .lines = PY_LNOTAB, .lasti_unit = 1,
         .dicts = PY_DICTS_36, .join = PY_JOIN_LOCK, .code_first = true,
         .trace_refs_links = true},
     .runtime = {.interpreters = 24, .main_interpreter = 32, .gil = 1264, .collecting = 632},
     .interp = {.next = 0, .threads = 8, .gil = PY_ABSENT, .collecting = PY_ABSENT,
         .gc_frame = PY_ABSENT, .modules = 40},
     .thread = {.next = 8, .interp = 16, .frame = 24, .cframe = PY_ABSENT, .root_cframe = PY_ABSENT,
         .base_frame = PY_ABSENT, .thread_id = 176, .native_id = PY_ABSENT, .dict = PY_ABSENT,
         .loop = PY_ABSENT,
         .datastack = PY_ABSENT},
     .cframe = {.current_frame = PY_ABSENT, .previous = PY_ABSENT},
     .frame = {.previous = 24, .code = 32, .lasti = 104, .instr = PY_ABSENT, .owner = PY_ABSENT,
         .is_entry = PY_ABSENT, .copy = PY_ABSENT, .bytes = 108, .locals = 360, .top = PY_ABSENT,
         .stack = PY_ABSENT},
     .code = {.filename = 96, .name = 104, .qualname = PY_ABSENT, .first_line = 36,
         .linetable = 112, .consts = 48, .names = 56, .version = PY_ABSENT, .bytecode = 40,
         .copies = PY_ABSENT, .argcount = 16, .kwonly = 20, .flags = 32, .variables = 64},
     .object = {.type = 8}, .type = {.cached_keys = PY_ABSENT},
     .generator = {.frame = PY_ABSENT, .state = PY_ABSENT},
     .unicode = {.length = 16, .state = 32, .ascii_bytes = 48, .compact_bytes = 72,
         .kind_shift = 2}, .bytes = {.size = 16, .data = 32},
     .gil = {.last_holder = 8, .locked = 16, .enabled = PY_ABSENT, .bytes = 208}},
    {.minor = 8,
     .traits = {.chain = PY_CHAIN_OBJECTS, .lines = PY_LNOTAB, .lasti_unit = 1,
         .dicts = PY_DICTS_36, .join = PY_JOIN_LOCK, .code_first = true,
         .trace_refs_links = true},
     .runtime = {.interpreters = 32, .main_interpreter = 40, .gil = 1152, .collecting = 544},
     .interp = {.next = 0, .threads = 8, .gil = PY_ABSENT, .collecting = PY_ABSENT,
         .gc_frame = PY_ABSENT, .modules = 56},
     .thread = {.next = 8, .interp = 16, .frame = 24, .cframe = PY_ABSENT, .root_cframe = PY_ABSENT,
         .base_frame = PY_ABSENT, .thread_id = 176, .native_id = PY_ABSENT, .dict = PY_ABSENT,
         .loop = PY_ABSENT,
         .datastack = PY_ABSENT},
     .cframe = {.current_frame = PY_ABSENT, .previous = PY_ABSENT},
     .frame = {.previous = 24, .code = 32, .lasti = 104, .instr = PY_ABSENT, .owner = PY_ABSENT,
         .is_entry = PY_ABSENT, .copy = PY_ABSENT, .bytes = 108, .locals = 360, .top = PY_ABSENT,
         .stack = PY_ABSENT},
     .code = {.filename = 104, .name = 112, .qualname = PY_ABSENT, .first_line = 40,
         .linetable = 120, .consts = 56, .names = 64, .version = PY_ABSENT, .bytecode = 48,
         .copies = PY_ABSENT, .argcount = 16, .kwonly = 24, .flags = 36, .variables = 72},
     .object = {.type = 8}, .type = {.cached_keys = PY_ABSENT},
     .generator = {.frame = PY_ABSENT, .state = PY_ABSENT},
     .unicode = {.length = 16, .state = 32, .ascii_bytes = 48, .compact_bytes = 72,
         .kind_shift = 2}, .bytes = {.size = 16, .data = 32},
     .gil = {.last_holder = 8, .locked = 16, .enabled = PY_ABSENT, .bytes = 208}},
    {.minor = 9,
     .traits = {.chain = PY_CHAIN_OBJECTS, .lines = PY_LNOTAB, .lasti_unit = 1,
         .dicts = PY_DICTS_36, .join = PY_JOIN_LOCK, .code_first = true,
         .trace_refs_links = true},
     .runtime = {.interpreters = 32, .main_interpreter = 40, .gil = 352, .collecting = PY_ABSENT},
     .interp = {.next = 0, .threads = 8, .gil = PY_ABSENT, .collecting = 816, .gc_frame = PY_ABSENT,
         .modules = 856},
     .thread = {.next = 8, .interp = 16, .frame = 24, .cframe = PY_ABSENT, .root_cframe = PY_ABSENT,
         .base_frame = PY_ABSENT, .thread_id = 176, .native_id = PY_ABSENT, .dict = PY_ABSENT,
         .loop = PY_ABSENT,
         .datastack = PY_ABSENT},
     .cframe = {.current_frame = PY_ABSENT, .previous = PY_ABSENT},
     .frame = {.previous = 24, .code = 32, .lasti = 104, .instr = PY_ABSENT, .owner = PY_ABSENT,
         .is_entry = PY_ABSENT, .copy = PY_ABSENT, .bytes = 108, .locals = 360, .top = PY_ABSENT,
         .stack = PY_ABSENT},
     .code = {.filename = 104, .name = 112, .qualname = PY_ABSENT, .first_line = 40,
         .linetable = 120, .consts = 56, .names = 64, .version = PY_ABSENT, .bytecode = 48,
         .copies = PY_ABSENT, .argcount = 16, .kwonly = 24, .flags = 36, .variables = 72},
     .object = {.type = 8}, .type = {.cached_keys = PY_ABSENT},
     .generator = {.frame = PY_ABSENT, .state = PY_ABSENT},
     .unicode = {.length = 16, .state = 32, .ascii_bytes = 48, .compact_bytes = 72,
         .kind_shift = 2}, .bytes = {.size = 16, .data = 32},
     .gil = {.last_holder = 8, .locked = 16, .enabled = PY_ABSENT, .bytes = 208}},
    {.minor = 10,
     .traits = {.chain = PY_CHAIN_OBJECTS_CFRAME, .lines = PY_LINETABLE_310, .lasti_unit = 2,
         .dicts = PY_DICTS_36, .join = PY_JOIN_LOCK, .trace_refs_links = true},
     .runtime = {.interpreters = 32, .main_interpreter = 40, .gil = 352, .collecting = PY_ABSENT},
     .interp = {.next = 0, .threads = 8, .gil = PY_ABSENT, .collecting = 816, .gc_frame = PY_ABSENT,
         .modules = 856},
     .thread = {.next = 8, .interp = 16, .frame = 24, .cframe = 48, .root_cframe = 264,
         .base_frame = PY_ABSENT, .thread_id = 176, .native_id = PY_ABSENT, .dict = PY_ABSENT,
         .loop = PY_ABSENT,
         .datastack = PY_ABSENT},
     .cframe = {.current_frame = PY_ABSENT, .previous = 8},
     .frame = {.previous = 24, .code = 32, .lasti = 96, .instr = PY_ABSENT, .owner = PY_ABSENT,
         .is_entry = PY_ABSENT, .copy = PY_ABSENT, .bytes = 100, .locals = 352, .top = PY_ABSENT,
         .stack = PY_ABSENT},
     .code = {.filename = 104, .name = 112, .qualname = PY_ABSENT, .first_line = 40,
         .linetable = 120, .consts = 56, .names = 64, .version = PY_ABSENT, .bytecode = 48,
         .copies = PY_ABSENT, .argcount = 16, .kwonly = 24, .flags = 36, .variables = 72},
     .object = {.type = 8}, .type = {.cached_keys = PY_ABSENT},
     .generator = {.frame = PY_ABSENT, .state = PY_ABSENT},
     .unicode = {.length = 16, .state = 32, .ascii_bytes = 48, .compact_bytes = 72,
         .kind_shift = 2}, .bytes = {.size = 16, .data = 32},
     .gil = {.last_holder = 8, .locked = 16, .enabled = PY_ABSENT, .bytes = 208}},
    {.minor = 11,
     .traits = {.chain = PY_CHAIN_IS_ENTRY, .lines = PY_LOCATIONS, .dicts = PY_DICTS_311,
         .join = PY_JOIN_LOCK, .with_keeps = PY_WITH_KEEPS_BOUND, .trace_refs_links = true,
         .await_in_resume = true, .created = 0xfe, .awaiting = 0xff, .executing = 0,
         .tasks = PY_TASKS_SET_311, .task_state = 80, .task_waiter = 120},
     .runtime = {.interpreters = 40, .main_interpreter = 48, .gil = 360, .collecting = PY_ABSENT},
     .interp = {.next = 0, .threads = 16, .gil = PY_ABSENT, .collecting = 848,
         .gc_frame = PY_ABSENT, .modules = 888},
     .thread = {.next = 8, .interp = 16, .frame = PY_ABSENT, .cframe = 56, .root_cframe = 336,
         .base_frame = PY_ABSENT, .thread_id = 152, .native_id = 160, .dict = 128,
         .loop = PY_ABSENT,
         .datastack = 296},
     .cframe = {.current_frame = 8, .previous = 16},
     .frame = {.previous = 48, .code = 32, .lasti = PY_ABSENT, .instr = 56, .owner = 69,
         .is_entry = 68, .copy = PY_ABSENT, .bytes = 70, .locals = 72, .top = 64,
         .stack = PY_ABSENT},
     .code = {.filename = 112, .name = 120, .qualname = 128, .first_line = 72, .linetable = 136,
         .consts = 24, .names = 32, .version = PY_ABSENT, .bytecode = 184, .copies = PY_ABSENT,
         .argcount = 56, .kwonly = 64, .flags = 48, .variables = 96},
     .object = {.type = 8}, .type = {.cached_keys = 872},
     .generator = {.frame = 80, .state = 75},
     .unicode = {.length = 16, .state = 32, .ascii_bytes = 48, .compact_bytes = 72,
         .kind_shift = 2}, .bytes = {.size = 16, .data = 32},
     .gil = {.last_holder = 8, .locked = 16, .enabled = PY_ABSENT, .bytes = 208}},
    {.minor = 12,
     .traits = {.chain = PY_CHAIN_SHIM_CFRAME, .lines = PY_LOCATIONS, .dicts = PY_DICTS_312,
         .join = PY_JOIN_LOCK, .with_keeps = PY_WITH_KEEPS_BOUND, .trace_refs_links = true,
         .int_tags = true, .shim_code = true,
         .await_in_resume = true, .created = 0xfe, .awaiting = 0xff, .executing = 0,
         .tasks = PY_TASKS_SET, .task_state = 80, .task_waiter = 120},
     .runtime = {.interpreters = 40, .main_interpreter = 48, .gil = PY_ABSENT,
         .collecting = PY_ABSENT},
     .interp = {.next = 0, .threads = 72, .gil = 384, .collecting = 312, .gc_frame = PY_ABSENT,
         .modules = 944},
     .thread = {.next = 8, .interp = 16, .frame = PY_ABSENT, .cframe = 56, .root_cframe = 272,
         .base_frame = PY_ABSENT, .thread_id = 136, .native_id = 144, .dict = 112,
         .loop = PY_ABSENT,
         .datastack = 232},
     .cframe = {.current_frame = 0, .previous = 8},
     .frame = {.previous = 8, .code = 0, .lasti = PY_ABSENT, .instr = 56, .owner = 70,
         .is_entry = PY_ABSENT, .copy = PY_ABSENT, .bytes = 71, .locals = 72, .top = 64,
         .stack = PY_ABSENT},
     .code = {.filename = 112, .name = 120, .qualname = 128, .first_line = 68, .linetable = 136,
         .consts = PY_ABSENT, .names = PY_ABSENT, .version = 92, .bytecode = 192,
         .copies = PY_ABSENT, .argcount = 52, .kwonly = 60, .flags = 48, .variables = 96},
     .object = {.type = 8}, .type = {.cached_keys = 880},
     .generator = {.frame = 72, .state = 67},
     .unicode = {.length = 16, .state = 32, .ascii_bytes = 40, .compact_bytes = 56,
         .kind_shift = 2}, .bytes = {.size = 16, .data = 32},
     .gil = {.last_holder = 8, .locked = 16, .enabled = PY_ABSENT, .bytes = 208}},
};
/* clang-format on */

/* Where in _Py_DebugOffsets each value stands.  CPython promises this order within a minor version;
 * the values differ between patch levels and build options, which is what the block is for. */
struct positions {
    uint32_t minor;
    struct py_traits traits;
    uint32_t bytes, free_threaded;
    uint32_t runtime_interpreters;
    uint32_t interp_next, interp_threads, interp_gil, interp_gc, interp_modules;
    uint32_t own_gil, own_gil_enabled, own_gil_locked, own_gil_holder;
    uint32_t thread_next, thread_interp, thread_frame, thread_base_frame;
    uint32_t thread_id, thread_native_id, thread_datastack, thread_loop;
    uint32_t frame_previous, frame_executable, frame_instr, frame_owner, frame_locals, frame_copy;
    uint32_t frame_stack;
    uint32_t code_filename, code_name, code_qualname, code_linetable, code_first_line;
    uint32_t code_argcount, code_variables, code_bytecode, code_copies;
    uint32_t object_type, bytes_size, bytes_data;
    uint32_t gc_collecting, gc_frame, generator_frame, generator_state;
    uint32_t unicode_state, unicode_length, unicode_ascii_bytes, unicode_compact_bytes;
    /* Not in the block: how far a field is behind its neighbour, the same in all builds. */
    uint32_t main_past_interpreters, version_past_first_line, kwonly_past_argcount;
    uint32_t argcount_past_flags, cached_keys_past_type;
    uint32_t top_past_instr, generator_past_type, generator_past_state;
};
/* clang-format off */
static const struct positions positions[] = {
    {.minor = 13,
     .traits = {.chain = PY_CHAIN_SHIM, .lines = PY_LOCATIONS, .dicts = PY_DICTS_313,
         .join = PY_JOIN_HANDLE, .with_keeps = PY_WITH_KEEPS_BOUND, .int_tags = true,
         .shim_code = true, .init_helper = true, .collector_sets_flag = true,
         .anonymous_jit = true,
         .created = 0xfd, .awaiting = 0xff, .executing = 0,
         .tasks = PY_TASKS_SET, .task_state = 88, .task_waiter = 104},
     .bytes = 584, .free_threaded = 16, .runtime_interpreters = 40, .interp_next = 64,
     .interp_threads = 72, .interp_gil = 112, .interp_gc = 80, .interp_modules = 88, .own_gil = 120,
     .own_gil_enabled = 128, .own_gil_locked = 136, .own_gil_holder = 144, .thread_next = 168,
     .thread_interp = 176, .thread_frame = 184, .thread_base_frame = PY_ABSENT, .thread_id = 192,
     .thread_native_id = 200, .thread_datastack = 208, .thread_loop = 152, .frame_previous = 232,
     .frame_executable = 240, .frame_instr = 248, .frame_owner = 264, .frame_locals = 256,
     .frame_copy = PY_ABSENT, .frame_stack = PY_ABSENT, .code_filename = 280, .code_name = 288,
     .code_qualname = 296,
     .code_linetable = 304, .code_first_line = 312, .code_argcount = 320, .code_variables = 328,
     .code_bytecode = 344, .code_copies = PY_ABSENT, .object_type = 360, .bytes_size = 520,
     .bytes_data = 528, .gc_collecting = 576, .gc_frame = PY_ABSENT, .generator_frame = PY_ABSENT,
     .generator_state = PY_ABSENT,
     .unicode_state = 544, .unicode_length = 552, .unicode_ascii_bytes = 560,
     .unicode_compact_bytes = PY_ABSENT, .main_past_interpreters = 8, .version_past_first_line = 24,
     .kwonly_past_argcount = 8, .argcount_past_flags = 4, .cached_keys_past_type = 872,
     .top_past_instr = 8, .generator_past_type = 64, .generator_past_state = 5},
    {.minor = 14,
     .traits = {.chain = PY_CHAIN_SHIM, .lines = PY_LOCATIONS, .dicts = PY_DICTS_313,
         .join = PY_JOIN_OS_HANDLE, .executable_tags = 1, .with_keeps = PY_WITH_KEEPS_BOTH,
         .int_tags = true, .shim_code = true, .init_helper = true, .collector_sets_flag = true,
         .anonymous_jit = true, .interned_is_byte = true, .names_kernel_threads = true,
         .hashed_tuples = true, .asyncio_debug = true,
         .created = 0xfd, .awaiting = 0xff, .executing = 0, .tasks = PY_TASKS_LISTS},
     .bytes = 760, .free_threaded = 16, .runtime_interpreters = 40, .interp_next = 64,
     .interp_threads = 72, .interp_gil = 120, .interp_gc = 88, .interp_modules = 96,
     .own_gil = 128, .own_gil_enabled = 136, .own_gil_locked = 144, .own_gil_holder = 152,
     .thread_next = 192, .thread_interp = 200, .thread_frame = 208,
     .thread_base_frame = PY_ABSENT, .thread_id = 216, .thread_native_id = 224,
     .thread_datastack = 232, .thread_loop = PY_ABSENT, .frame_previous = 256,
     .frame_executable = 264, .frame_instr = 272,
     .frame_owner = 288, .frame_locals = 280, .frame_copy = 304, .frame_stack = 296,
     .code_filename = 320,
     .code_name = 328, .code_qualname = 336, .code_linetable = 344, .code_first_line = 352,
     .code_argcount = 360, .code_variables = 368, .code_bytecode = 384, .code_copies = 392,
     .object_type = 408, .bytes_size = 600, .bytes_data = 608, .gc_collecting = 656,
     .gc_frame = PY_ABSENT, .generator_frame = 680, .generator_state = 688, .unicode_state = 624,
     .unicode_length = 632,
     .unicode_ascii_bytes = 640, .unicode_compact_bytes = PY_ABSENT, .main_past_interpreters = 8,
     .version_past_first_line = 24, .kwonly_past_argcount = 8, .argcount_past_flags = 4,
     .cached_keys_past_type = 872, .top_past_instr = PY_ABSENT,
     .generator_past_type = PY_ABSENT, .generator_past_state = PY_ABSENT},
    {.minor = 15,
     .traits = {.chain = PY_CHAIN_SHIM, .lines = PY_LOCATIONS, .dicts = PY_DICTS_313,
         .join = PY_JOIN_OS_HANDLE, .executable_tags = 1, .with_keeps = PY_WITH_KEEPS_BOTH,
         .int_tags = true, .shim_code = true, .init_helper = true, .collector_sets_flag = true,
         .interned_is_byte = true, .names_kernel_threads = true, .hashed_tuples = true,
         .asyncio_debug = true, .created = 0, .awaiting = 2, .two_awaited = true, .executing = 4,
         .tasks = PY_TASKS_LISTS},
     .bytes = 888, .free_threaded = 16, .runtime_interpreters = 40, .interp_next = 64,
     .interp_threads = 72, .interp_gil = 120, .interp_gc = 88, .interp_modules = 96,
     .own_gil = 128, .own_gil_enabled = 136, .own_gil_locked = 144, .own_gil_holder = 152,
     .thread_next = 192, .thread_interp = 200, .thread_frame = 208, .thread_base_frame = 216,
     .thread_id = 240, .thread_native_id = 248, .thread_datastack = 256, .thread_loop = PY_ABSENT,
     .frame_previous = 320,
     .frame_executable = 328, .frame_instr = 336, .frame_owner = 352, .frame_locals = 344,
     .frame_copy = 368, .frame_stack = 360, .code_filename = 384, .code_name = 392,
     .code_qualname = 400,
     .code_linetable = 408, .code_first_line = 416, .code_argcount = 424, .code_variables = 432,
     .code_bytecode = 448, .code_copies = 456, .object_type = 472, .bytes_size = 696,
     .bytes_data = 704, .gc_collecting = 760, .gc_frame = 768, .generator_frame = 808,
     .generator_state = 816,
     .unicode_state = 720, .unicode_length = 728, .unicode_ascii_bytes = 736,
     .unicode_compact_bytes = 744, .main_past_interpreters = 8, .version_past_first_line = 24,
     .kwonly_past_argcount = 8, .argcount_past_flags = 4, .cached_keys_past_type = 880,
     .top_past_instr = PY_ABSENT, .generator_past_type = PY_ABSENT,
     .generator_past_state = PY_ABSENT},
};
/* clang-format on */

/* Values that are copied: from a position to a field of struct py_layout, bounded by MAX. */
enum {
    MAX_RUNTIME_BYTES = 16 << 20, /* _PyRuntime 3.13 is 0.7 MB, an interpreter 0.2 MB */
    MAX_OBJECT_BYTES = 4096,
};
static const struct {
    size_t position, field;
    uint32_t max;
} copied[] = {
#define COPY(name, to, max)                                                                        \
    {                                                                                              \
        offsetof(struct positions, name), offsetof(struct py_layout, to), max                      \
    }
    COPY(runtime_interpreters, runtime.interpreters, MAX_RUNTIME_BYTES),
    COPY(interp_next, interp.next, MAX_RUNTIME_BYTES),
    COPY(interp_threads, interp.threads, MAX_RUNTIME_BYTES),
    COPY(interp_gil, interp.gil, MAX_RUNTIME_BYTES),
    COPY(interp_modules, interp.modules, MAX_RUNTIME_BYTES),
    COPY(thread_next, thread.next, PY_THREAD_MAX_BYTES - 8),
    COPY(thread_interp, thread.interp, PY_THREAD_MAX_BYTES - 8),
    COPY(thread_frame, thread.frame, PY_THREAD_MAX_BYTES - 8),
    COPY(thread_base_frame, thread.base_frame, PY_THREAD_MAX_BYTES - 8),
    COPY(thread_id, thread.thread_id, PY_THREAD_MAX_BYTES - 8),
    COPY(thread_native_id, thread.native_id, PY_THREAD_MAX_BYTES - 8),
    COPY(thread_datastack, thread.datastack, PY_THREAD_MAX_BYTES - 8),
    COPY(thread_loop, thread.loop, MAX_OBJECT_BYTES),
    COPY(frame_previous, frame.previous, PY_FRAME_MAX_BYTES - 8),
    COPY(frame_executable, frame.code, PY_FRAME_MAX_BYTES - 8),
    COPY(frame_instr, frame.instr, PY_FRAME_MAX_BYTES - 8),
    COPY(frame_owner, frame.owner, PY_FRAME_MAX_BYTES - 8),
    COPY(frame_locals, frame.locals, PY_FRAME_MAX_BYTES - 8),
    COPY(frame_copy, frame.copy, PY_FRAME_MAX_BYTES - 8),
    COPY(frame_stack, frame.stack, PY_FRAME_MAX_BYTES - 8),
    COPY(code_filename, code.filename, MAX_OBJECT_BYTES),
    COPY(code_name, code.name, MAX_OBJECT_BYTES),
    COPY(code_qualname, code.qualname, MAX_OBJECT_BYTES),
    COPY(code_linetable, code.linetable, MAX_OBJECT_BYTES),
    COPY(code_first_line, code.first_line, MAX_OBJECT_BYTES),
    COPY(code_argcount, code.argcount, MAX_OBJECT_BYTES),
    COPY(code_variables, code.variables, MAX_OBJECT_BYTES),
    COPY(code_bytecode, code.bytecode, MAX_OBJECT_BYTES),
    COPY(code_copies, code.copies, MAX_OBJECT_BYTES),
    COPY(object_type, object.type, MAX_OBJECT_BYTES),
    COPY(bytes_size, bytes.size, MAX_OBJECT_BYTES),
    COPY(bytes_data, bytes.data, MAX_OBJECT_BYTES),
    COPY(generator_frame, generator.frame, MAX_OBJECT_BYTES),
    COPY(generator_state, generator.state, MAX_OBJECT_BYTES),
    COPY(unicode_state, unicode.state, MAX_OBJECT_BYTES),
    COPY(unicode_length, unicode.length, MAX_OBJECT_BYTES),
    COPY(unicode_ascii_bytes, unicode.ascii_bytes, MAX_OBJECT_BYTES),
    COPY(unicode_compact_bytes, unicode.compact_bytes, MAX_OBJECT_BYTES),
#undef COPY
};

/* The end of the last field that is read of a frame: owner has one byte, copy four. */
static uint32_t frame_bytes(const struct py_layout *l)
{
    uint32_t ends[] = {l->frame.previous + 8, l->frame.code + 8, l->frame.instr + 8,
                       l->frame.owner + 1, l->frame.copy == PY_ABSENT ? 0 : l->frame.copy + 4};
    uint32_t most = 0;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        most = ends[i] > most ? ends[i] : most;
    return most;
}

/* The block gives `locked` and `last_holder` as offsets in PyInterpreterState, of its own GIL, but
 * `enabled` from the start of the structure; every GIL, shared or own, has the same structure. */
static int decode_gil(struct py_layout *l, const struct positions *p, const uint8_t *bytes)
{
    /* sizeof(struct _gil_runtime_state), by the headers; `enabled` comes first if it exists. */
    enum { GIL_BYTES = 208, GIL_ENABLED_BYTES = 8 };
    uint64_t own = get_u64(bytes + p->own_gil);
    uint64_t locked = get_u64(bytes + p->own_gil_locked) - own;
    uint64_t holder = get_u64(bytes + p->own_gil_holder) - own;
    uint64_t enabled = get_u64(bytes + p->own_gil_enabled);
    uint32_t size = GIL_BYTES + (l->free_threaded ? GIL_ENABLED_BYTES : 0);
    if (locked > size - 4 || holder > size - 8 || (l->free_threaded && enabled > size - 4))
        return -EPROTO;
    l->gil.locked = (uint32_t)locked;
    l->gil.last_holder = (uint32_t)holder;
    l->gil.enabled = l->free_threaded ? (uint32_t)enabled : PY_ABSENT;
    l->gil.bytes = size;
    return 0;
}

/* The interpreter's gc, and where in it. */
static int decode_gc(struct py_layout *l, const struct positions *p, const uint8_t *bytes)
{
    uint64_t gc = get_u64(bytes + p->interp_gc);
    uint64_t collecting = get_u64(bytes + p->gc_collecting);
    uint64_t frame = p->gc_frame == PY_ABSENT ? 0 : get_u64(bytes + p->gc_frame);
    if (gc > MAX_RUNTIME_BYTES || collecting > MAX_OBJECT_BYTES || frame > MAX_OBJECT_BYTES)
        return -EPROTO;
    l->interp.collecting = (uint32_t)(gc + collecting);
    if (p->gc_frame != PY_ABSENT)
        l->interp.gc_frame = (uint32_t)(gc + frame);
    return 0;
}

static uint32_t past(uint32_t neighbour, uint32_t distance)
{
    return distance == PY_ABSENT ? PY_ABSENT : neighbour + distance;
}

static void derive(struct py_layout *l, const struct positions *p)
{
    enum { INTERNED_BITS = 2, INTERNED_BYTE_BITS = 8 };
    bool is_byte = l->free_threaded && l->traits.interned_is_byte;
    l->unicode.kind_shift = is_byte ? INTERNED_BYTE_BITS : INTERNED_BITS;
    l->runtime.main_interpreter = past(l->runtime.interpreters, p->main_past_interpreters);
    l->code.version = past(l->code.first_line, p->version_past_first_line);
    l->code.kwonly = past(l->code.argcount, p->kwonly_past_argcount);
    l->code.flags = l->code.argcount - p->argcount_past_flags;
    l->type.cached_keys = past(l->object.type, p->cached_keys_past_type);
    l->frame.top = past(l->frame.instr, p->top_past_instr);
    if (p->generator_past_type != PY_ABSENT) {
        l->generator.frame = l->object.type + p->generator_past_type;
        l->generator.state = l->generator.frame - p->generator_past_state;
    }
    if (!l->free_threaded) /* the block has 0 for them */
        l->frame.copy = l->code.copies = PY_ABSENT;
    l->frame.bytes = frame_bytes(l);
    /* PyCompactUnicodeObject adds utf8_length and utf8. */
    if (l->unicode.compact_bytes == PY_ABSENT)
        l->unicode.compact_bytes = l->unicode.ascii_bytes + 16;
}

uint64_t py_layout_word(const uint8_t *structure, uint32_t offset)
{
    return offset == PY_ABSENT ? 0 : get_u64(structure + offset);
}

static const struct positions *positions_of(uint32_t minor)
{
    for (size_t i = 0; i < sizeof positions / sizeof *positions; i++)
        if (positions[i].minor == minor)
            return &positions[i];
    return NULL;
}

const struct py_layout *py_layout_of(uint32_t minor)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].minor == minor)
            return &rows[i];
    return NULL;
}

const struct py_traits *py_traits_of(uint32_t minor)
{
    const struct py_layout *l = py_layout_of(minor);
    const struct positions *p = positions_of(minor);
    return l ? &l->traits : p ? &p->traits : NULL;
}

int py_layout_decode(uint32_t minor, const uint8_t *bytes, size_t len, struct py_layout *ret,
                     struct err *err)
{
    const struct positions *p = positions_of(minor);
    if (!p)
        return err_set(err, -ENOTSUP, "CPython 3.%u is unknown to this version", minor);
    if (len < p->bytes || memcmp(bytes, PY_DEBUG_COOKIE, sizeof PY_DEBUG_COOKIE - 1) != 0)
        return err_set(err, -EPROTO, "CPython 3.%u without its _Py_DebugOffsets", minor);
    struct py_layout l;
    memset(&l, 0xff, sizeof l); /* PY_ABSENT */
    l.minor = minor;
    l.traits = p->traits;
    l.free_threaded = get_u64(bytes + p->free_threaded) != 0;
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
        uint32_t position = get_u32((const uint8_t *)p + copied[i].position);
        if (position == PY_ABSENT)
            continue;
        uint64_t value = get_u64(bytes + position);
        if (value > copied[i].max)
            return err_set(err, -EPROTO, "CPython 3.%u: _Py_DebugOffsets+%u is %llu", minor,
                           position, (unsigned long long)value);
        uint32_t field = (uint32_t)value;
        memcpy((char *)&l + copied[i].field, &field, sizeof field);
    }
    derive(&l, p);
    if (decode_gil(&l, p, bytes) < 0 || decode_gc(&l, p, bytes) < 0)
        return err_set(err, -EPROTO, "CPython 3.%u: _Py_DebugOffsets has no sound GIL or GC",
                       minor);
    *ret = l;
    return 0;
}

int py_layout_load(uint32_t minor, struct mem *mem, uint64_t addr, struct py_layout *ret,
                   struct err *err)
{
    uint8_t bytes[PY_DEBUG_OFFSETS_MAX_BYTES];
    const struct py_layout *l = py_layout_of(minor);
    if (minor < PY_OLDEST_MINOR)
        return err_set(err, -ENOTSUP, "CPython 3.%u is too old for this version", minor);
    if (l) {
        *ret = *l;
        return 0;
    }
    if (mem_read(mem, addr, bytes, sizeof bytes) < 0)
        return -EAGAIN;
    return py_layout_decode(minor, bytes, sizeof bytes, ret, err) < 0 ? -ENOTSUP : 0;
}

void py_layout_shift_objects(struct py_layout *l, uint32_t by)
{
    uint32_t *const fields[] = {
        &l->code.filename,  &l->code.name,           &l->code.qualname,         &l->code.first_line,
        &l->code.linetable, &l->code.bytecode,       &l->object.type,           &l->code.consts,
        &l->code.names,     &l->code.version,        &l->type.cached_keys,      &l->unicode.length,
        &l->unicode.state,  &l->unicode.ascii_bytes, &l->unicode.compact_bytes, &l->bytes.size,
        &l->bytes.data,     &l->code.argcount,       &l->code.kwonly,           &l->code.flags,
        &l->code.variables, &l->generator.frame,     &l->generator.state,
    };
    uint32_t *const frame[] = {
        &l->frame.previous, &l->frame.code, &l->frame.lasti, &l->frame.bytes, &l->frame.locals,
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (*fields[i] != PY_ABSENT)
            *fields[i] += by;
    /* From 3.11 on the interpreter's frame is no object. */
    bool frame_is_object = l->frame.lasti != PY_ABSENT;
    for (size_t i = 0; frame_is_object && i < sizeof frame / sizeof *frame; i++)
        *frame[i] += by;
}
