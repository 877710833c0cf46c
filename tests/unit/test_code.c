/* Where calls of this program lead.  They are never made. */
#include "unwinder/code.h"

#include <dlfcn.h>
#include <unistd.h>

#include "tests/support/check_main.h"

__asm__(".text\n"
        "through_stub: call getppid@PLT\n"
        "behind_stub: ret\n"
        "through_slot: call *getppid@GOTPCREL(%rip)\n"
        "behind_slot: ret\n"
        "through_pointer: call *the_pointer(%rip)\n"
        "behind_pointer: ret\n"
        ".data\n"
        ".balign 8\n"
        "the_pointer: .quad through_stub\n"
        "other_data: .quad 0\n"
        ".text\n"
        "through_other: call *other_data(%rip)\n"
        "behind_other: ret\n");
extern const char through_stub[], behind_stub[], behind_slot[], behind_pointer[], behind_other[];

static struct mem *mem;
static struct modules *modules;

static enum call_target_check target_check(const char *behind, const void *function)
{
    return code_check_call_target(modules, (uint64_t)(uintptr_t)behind,
                                  (uint64_t)(uintptr_t)function);
}

START_TEST(a_call_through_a_slot_leads_to_what_its_relocation_names)
{
    ck_assert_int_eq(mem_live_open(&mem, getpid(), NULL), 0);
    modules = modules_new(getpid(), mem);
    ck_assert_int_eq(modules_refresh(modules), 0);
    const void *wanted = dlsym(RTLD_DEFAULT, "getppid");
    const void *other = dlsym(RTLD_DEFAULT, "getpid");
    ck_assert_int_eq(target_check(behind_stub, wanted), CALL_TO_IT);
    ck_assert_int_eq(target_check(behind_slot, wanted), CALL_TO_IT);
    ck_assert_int_eq(target_check(behind_stub, other), CALL_ELSEWHERE);
    ck_assert_int_eq(target_check(behind_slot, other), CALL_ELSEWHERE);
    /* Within the file, by its address. */
    ck_assert_int_eq(target_check(behind_pointer, through_stub), CALL_TO_IT);
    ck_assert_int_eq(target_check(behind_pointer, wanted), CALL_ELSEWHERE);
    /* The content of a slot that the program writes is not known, nor is a function outside of
     * all files. */
    ck_assert_int_eq(target_check(behind_other, wanted), CALL_UNKNOWN);
    ck_assert_int_eq(target_check(behind_slot, (const void *)8), CALL_UNKNOWN);
    modules_free(modules);
    mem_free(mem);
}
END_TEST

CHECK_MAIN("code", 20, a_call_through_a_slot_leads_to_what_its_relocation_names)
