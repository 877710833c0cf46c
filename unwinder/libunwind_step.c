#include "unwinder/libunwind_step.h"

#include <errno.h>
#include <libunwind.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "unwinder/code.h"

struct libunwind {
    struct modules *modules;
    unw_addr_space_t space;
    struct stack_view *view; /* of the step under way */
    const struct regs *regs;
};

/* The parameters' types are libunwind's. */
/* NOLINTBEGIN(readability-non-const-parameter) */
static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info, int need,
                          void *ctx)
{
    (void)space, (void)ip, (void)info, (void)need, (void)ctx;
    return -UNW_ENOINFO;
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *ctx)
{
    (void)space, (void)info, (void)ctx;
}

static int get_dyn_info_list_addr(unw_addr_space_t space, unw_word_t *addr, void *ctx)
{
    (void)space, (void)addr, (void)ctx;
    return -UNW_ENOINFO;
}

static int access_mem(unw_addr_space_t space, unw_word_t addr, unw_word_t *value, int write,
                      void *ctx)
{
    struct libunwind *o = ctx;
    (void)space;
    if (write)
        return -UNW_EINVAL;
    if (stack_view_u64(o->view, addr, value) == 0 ||
        code_read(o->modules, addr, value, sizeof *value) == 0)
        return 0;
    return -UNW_EINVAL;
}

static int access_reg(unw_addr_space_t space, unw_regnum_t reg, unw_word_t *value, int write,
                      void *ctx)
{
    const struct libunwind *o = ctx;
    (void)space;
    if (write || reg < 0 || reg >= X86_COUNT || !(o->regs->known & 1U << reg))
        return -UNW_EBADREG;
    *value = o->regs->r[reg];
    return 0;
}

static int access_fpreg(unw_addr_space_t space, unw_regnum_t reg, unw_fpreg_t *value, int write,
                        void *ctx)
{
    (void)space, (void)reg, (void)value, (void)write, (void)ctx;
    return -UNW_EBADREG;
}

static int resume(unw_addr_space_t space, unw_cursor_t *cursor, void *ctx)
{
    (void)space, (void)cursor, (void)ctx;
    return -UNW_EINVAL;
}

static int get_proc_name(unw_addr_space_t space, unw_word_t addr, char *buf, size_t len,
                         unw_word_t *offset, void *ctx)
{
    (void)space, (void)addr, (void)buf, (void)len, (void)offset, (void)ctx;
    return -UNW_ENOINFO;
}

/* NOLINTEND(readability-non-const-parameter) */

/* It takes 26 KB, and few processes ever need it. */
static unw_addr_space_t new_space(void)
{
    unw_accessors_t accessors = {
        .find_proc_info = find_proc_info,
        .put_unwind_info = put_unwind_info,
        .get_dyn_info_list_addr = get_dyn_info_list_addr,
        .access_mem = access_mem,
        .access_reg = access_reg,
        .access_fpreg = access_fpreg,
        .resume = resume,
        .get_proc_name = get_proc_name,
    };
    return unw_create_addr_space(&accessors, 0);
}

struct libunwind *libunwind_new(struct modules *modules)
{
    struct libunwind *o = xcalloc(1, sizeof *o);
    o->modules = modules;
    return o;
}

static bool has_pc_and_sp(const struct regs *regs)
{
    uint32_t both = 1U << X86_PC | 1U << X86_RSP;
    return (regs->known & both) == both;
}

int libunwind_step(struct libunwind *o, struct stack_view *view, const struct regs *frame,
                   struct regs *caller)
{
    unw_cursor_t cursor;
    o->view = view;
    o->regs = frame;
    o->space = o->space ? o->space : new_space();
    if (!o->space || unw_init_remote(&cursor, o->space, o) < 0 || unw_step(&cursor) <= 0)
        return -ENOENT;
    *caller = (struct regs){0};
    for (int reg = 0; reg < X86_COUNT; reg++)
        if (unw_get_reg(&cursor, reg, &caller->r[reg]) == 0)
            caller->known |= 1U << reg;
    return has_pc_and_sp(caller) ? 0 : -ENOENT;
}

struct libunwind *libunwind_free(struct libunwind *o)
{
    if (!o)
        return NULL;
    if (o->space)
        unw_destroy_addr_space(o->space);
    free(o);
    return NULL;
}
