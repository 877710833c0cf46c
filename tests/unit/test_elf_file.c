#include "target/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "target/elf_guard.h"
#include "target/elf_strings.h"
#include "target/maps.h"
#include "target/mem.h"
#include "tests/support/check_main.h"
#include "tests/support/files.h"
#include "tests/support/mem_image.h"

static char tmp[] = "/tmp/wallspy-elf-XXXXXX";
static char copy[TEST_PATH_BYTES];

/* A copy of NAME, which lies beside this binary, at COPY. */
static void make_copy(const char *name)
{
    char from[TEST_PATH_BYTES];
    ck_assert_ptr_nonnull(mkdtemp(tmp));
    (void)snprintf(copy, sizeof copy, "%s/copy.so", tmp);
    beside_binary(name, from);
    copy_file(from, copy);
}

static void drop_copy(void)
{
    unlink(copy);
    rmdir(tmp);
}

static struct elf_file *open_beside(const char *name)
{
    char path[TEST_PATH_BYTES];
    struct elf_file *f = NULL;
    struct err err = {0};
    beside_binary(name, path);
    ck_assert_msg(elf_file_open(&f, path, &err) == 0, "%s", err.text);
    ck_assert_str_eq(elf_file_path(f), path);
    return f;
}

/* What each build of the plugin must give, also through its dynamic symbols alone. */
static void check_plugin(struct elf_file *f, bool has_local)
{
    struct addr_range r = {0};
    int32_t data = 0;
    ck_assert_int_eq(elf_file_symbol(f, "plugin_data", &r), 0);
    ck_assert_uint_eq(r.len, sizeof data);
    ck_assert_int_eq(elf_file_read(f, r.start, &data, sizeof data), 0);
    ck_assert_int_eq(data, 0x12345678);
    ck_assert(!elf_file_is_code(f, r.start));

    ck_assert_int_eq(elf_file_symbol(f, "plugin_zeros", &r), 0);
    ck_assert_uint_eq(r.len, 100000);
    char zeros[64];
    memset(zeros, 1, sizeof zeros);
    ck_assert_int_eq(elf_file_read(f, r.start + 90000, zeros, sizeof zeros), 0);
    for (size_t i = 0; i < sizeof zeros; i++)
        ck_assert_int_eq(zeros[i], 0);

    ck_assert_int_eq(elf_file_symbol(f, "plugin_answer", &r), 0);
    ck_assert(elf_file_is_code(f, r.start));
    ck_assert_int_eq(elf_file_symbol(f, "plugin_local", &r), has_local ? 0 : -ENOENT);
    ck_assert_int_eq(elf_file_symbol(f, "plugin", &r), -ENOENT);
    ck_assert_int_eq(elf_file_symbol(f, "", &r), -ENOENT);
}

START_TEST(every_build_of_a_library_gives_its_symbols)
{
    static const struct {
        const char *name;
        bool has_local, has_id;
    } builds[] = {{"libplugin.so", true, true},
                  {"libplugin_stripped.so", false, true},
                  {"libplugin_sysv.so", false, false}};
    for (size_t i = 0; i < sizeof builds / sizeof *builds; i++) {
        struct elf_file *f = open_beside(builds[i].name);
        check_plugin(f, builds[i].has_local);
        ck_assert_uint_eq(elf_file_build_id(f)->len, builds[i].has_id ? 20 : 0);
        ck_assert(elf_file_is_file(f));
        elf_file_free(f);
    }
    ck_assert_ptr_null(elf_file_free(NULL));
}
END_TEST

START_TEST(sections_and_segments)
{
    struct elf_file *f = open_beside("libplugin.so");
    struct addr_range text;
    struct addr_range r;
    ck_assert_int_eq(elf_file_section(f, ".text", &text), 0);
    ck_assert(elf_file_is_code(f, text.start) && text.len);
    ck_assert_int_eq(elf_file_section(f, ".eh_frame_hdr", &r), 0);
    ck_assert_int_eq(elf_file_section(f, ".nothing", &r), -ENOENT);
    uint64_t bias = 0;
    ck_assert(elf_file_bias(f, 0x7f0000000000, 0, &bias));
    ck_assert_uint_eq(bias, 0x7f0000000000);
    ck_assert(!elf_file_bias(f, 0x7f0000000000, 1 << 30, &bias));
    GElf_Ehdr h;
    ck_assert_ptr_nonnull(gelf_getehdr(elf_file_elf(f), &h));
    elf_file_free(f);
}
END_TEST

START_TEST(reads_stay_within_the_segments)
{
    struct elf_file *f = open_beside("libplugin.so");
    char buf[32];
    ck_assert_int_eq(elf_file_read(f, 0, buf, 4), 0);
    ck_assert_mem_eq(buf, ELFMAG, 4);
    static const uint64_t nowhere[] = {1 << 30, 1ULL << 47, UINT64_MAX - 31, UINT64_MAX};
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++)
        ck_assert_int_eq(elf_file_read(f, nowhere[i], buf, sizeof buf), -EFAULT);
    elf_file_free(f);
}
END_TEST

START_TEST(without_section_headers_symbols_and_build_id_remain)
{
    make_copy("libplugin.so");
    static const Elf64_Ehdr zero;
    patch_file(copy, offsetof(Elf64_Ehdr, e_shoff), &zero.e_shoff, sizeof zero.e_shoff);
    patch_file(copy, offsetof(Elf64_Ehdr, e_shnum), &zero.e_shnum, sizeof zero.e_shnum);
    patch_file(copy, offsetof(Elf64_Ehdr, e_shstrndx), &zero.e_shnum, sizeof zero.e_shnum);
    struct elf_file *f;
    struct elf_file *whole = open_beside("libplugin.so");
    ck_assert_int_eq(elf_file_open(&f, copy, NULL), 0);
    check_plugin(f, false);
    struct addr_range r;
    ck_assert_int_eq(elf_file_section(f, ".text", &r), -ENOENT);
    ck_assert_uint_eq(elf_file_build_id(f)->len, 20);
    ck_assert_mem_eq(elf_file_build_id(f)->bytes, elf_file_build_id(whole)->bytes, 20);
    elf_file_free(whole);
    elf_file_free(f);
    drop_copy();
}
END_TEST

START_TEST(what_is_no_program_is_refused)
{
    make_copy("libplugin.so");
    static const struct {
        long offset;
        uint8_t byte;
    } patches[] = {{0, 'x'},
                   {EI_CLASS, ELFCLASS32},
                   {EI_DATA, ELFDATA2MSB},
                   {offsetof(Elf64_Ehdr, e_type), 1},
                   {offsetof(Elf64_Ehdr, e_machine), 3},
                   {offsetof(Elf64_Ehdr, e_phoff) + 6, 1},
                   {offsetof(Elf64_Ehdr, e_phnum) + 1, 1},
                   {offsetof(Elf64_Ehdr, e_phentsize), 1}};
    char original[TEST_PATH_BYTES];
    beside_binary("libplugin.so", original);
    struct elf_file *f = NULL;
    for (size_t i = 0; i < sizeof patches / sizeof *patches; i++) {
        copy_file(original, copy);
        patch_file(copy, patches[i].offset, &patches[i].byte, 1);
        ck_assert_msg(elf_file_open(&f, copy, NULL) == -ENOEXEC, "patch %zu", i);
    }
    static const long lengths[] = {0, 1, 4, 63, 64, 100};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        copy_file(original, copy);
        ck_assert_int_eq(truncate(copy, lengths[i]), 0);
        ck_assert_int_eq(elf_file_open(&f, copy, NULL), -ENOEXEC);
    }
    struct err err;
    ck_assert_int_eq(elf_file_open(&f, "/nonexistent", &err), -ENOENT);
    ck_assert_str_eq(err.text, "/nonexistent: No such file or directory");
    ck_assert_int_eq(elf_file_open(&f, "/dev/null", NULL), -ENOEXEC);
    ck_assert_int_eq(elf_file_open(&f, "/", NULL), -ENOEXEC);
    unlink(copy);
    ck_assert_int_eq(mkfifo(copy, 0600), 0); /* opening it would block */
    ck_assert_int_eq(elf_file_open(&f, copy, NULL), -ENOEXEC);
    drop_copy();
}
END_TEST

/* Asks a file for everything, to see that nothing crashes. */
static void exercise(struct elf_file *f)
{
    struct addr_range r;
    uint64_t bias;
    char buf[256];
    for (uint64_t at = 0; at < 0x6000; at += 0x333)
        (void)elf_file_read(f, at, buf, sizeof buf);
    (void)elf_file_symbol(f, "plugin_answer", &r);
    (void)elf_file_symbol(f, "no_such_symbol", &r);
    (void)elf_file_section(f, ".text", &r);
    (void)elf_file_is_code(f, 0x1000);
    (void)elf_file_bias(f, 0x7f0000000000, 0x1000, &bias);
}

/* A file of LEN bytes at COPY, whose sections are all of TYPE, and all the rest of it. */
static void write_sections(uint32_t type, size_t len)
{
    enum { ALL = 60000 };
    Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                         .e_type = ET_DYN,
                         .e_machine = EM_X86_64,
                         .e_version = EV_CURRENT,
                         .e_ehsize = sizeof header,
                         .e_phentsize = sizeof(Elf64_Phdr),
                         .e_shoff = sizeof header,
                         .e_shentsize = sizeof(Elf64_Shdr),
                         .e_shnum = ALL};
    Elf64_Shdr s = {.sh_type = type, .sh_link = 1, .sh_entsize = sizeof(Elf64_Sym)};
    s.sh_offset = sizeof header + ALL * sizeof s;
    s.sh_size = len - s.sh_offset;
    FILE *f = fopen(copy, "wb");
    ck_assert_uint_eq(fwrite(&header, sizeof header, 1, f), 1);
    for (int i = 0; i < ALL; i++)
        ck_assert_uint_eq(fwrite(&s, sizeof s, 1, f), 1);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_int_eq(truncate(copy, (off_t)len), 0);
}

START_TEST(many_sections_cost_no_more_than_one)
{
    static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM, SHT_NOTE};
    make_copy("libplugin.so");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct elf_file *f;
        struct addr_range r;
        write_sections(types[i], 64 << 20);
        ck_assert_int_eq(elf_file_open(&f, copy, NULL), 0);
        ck_assert_int_eq(elf_file_symbol(f, "plugin_answer", &r), -ENOENT);
        ck_assert_uint_eq(elf_file_build_id(f)->len, 0);
        elf_file_free(f);
    }
    drop_copy();
}
END_TEST

/* elf_strptr() would unpack the names, however many they are. */
START_TEST(packed_names_are_none)
{
    static _Alignas(8) char bytes[1 << 18];
    size_t names;
    make_copy("libplugin.so");
    FILE *file = fopen(copy, "re");
    ck_assert_ptr_nonnull(file);
    size_t len = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file);
    Elf *elf = elf_memory(bytes, len);
    ck_assert_int_eq(elf_getshdrstrndx(elf, &names), 0);
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        GElf_Shdr h;
        ck_assert_ptr_nonnull(gelf_getshdr(scn, &h));
        ck_assert_str_eq(elf_string(elf, names, h.sh_name), elf_strptr(elf, names, h.sh_name));
    }
    ck_assert_ptr_null(elf_string(elf, names, SIZE_MAX));
    (void)elf_end(elf);
    Elf64_Ehdr *head = (Elf64_Ehdr *)(void *)bytes;
    Elf64_Shdr *sections = (Elf64_Shdr *)(void *)(bytes + head->e_shoff);
    sections[names].sh_flags |= SHF_COMPRESSED;
    elf = elf_memory(bytes, len);
    ck_assert_ptr_null(elf_string(elf, names, sections[names].sh_name));
    (void)elf_end(elf);
    drop_copy();
}
END_TEST

START_TEST(random_damage_does_no_harm)
{
    make_copy("libplugin.so");
    char original[TEST_PATH_BYTES];
    beside_binary("libplugin.so", original);
    struct stat st;
    ck_assert_int_eq(stat(copy, &st), 0);
    struct mem *image = NULL;
    unsigned seed = 1;
    for (int round = 0; round < 1500; round++) {
        copy_file(original, copy);
        /* Headers and tables are worth most of the damage. */
        long limit = round % 3 ? 0x800 : (long)st.st_size - 8;
        for (int i = 0; i < 6; i++) {
            static const uint64_t values[] = {0, 1, UINT64_MAX, 1ULL << 63, 0x7fffffff, 0x1000};
            uint64_t value =
                rand_r(&seed) % 2 ? values[rand_r(&seed) % 6] : (uint64_t)rand_r(&seed);
            patch_file(copy, (rand_r(&seed) % limit) & ~7L, &value, 1U << rand_r(&seed) % 4);
        }
        struct elf_file *f = NULL;
        if (elf_file_open(&f, copy, NULL) == 0)
            exercise(f);
        elf_file_free(f);

        char bytes[0x3000];
        FILE *in = fopen(copy, "rb");
        size_t n = fread(bytes, 1, sizeof bytes, in);
        fclose(in);
        image = mem_image_new();
        ck_assert_int_eq(mem_image_add(image, 0x10000, bytes, n), 0);
        f = NULL;
        if (elf_file_from_memory(&f, image, 0x10000, NULL) == 0)
            exercise(f);
        elf_file_free(f);
        mem_free(image);
    }
    drop_copy();
}
END_TEST

START_TEST(the_vdso_comes_from_memory_with_its_sections)
{
    struct mem *mem;
    struct elf_file *f;
    struct addr_range r;
    uint64_t base = getauxval(AT_SYSINFO_EHDR);
    if (check_skips(!base, "no vdso: valgrind hides it"))
        return;
    ck_assert_int_eq(mem_live_open(&mem, getpid(), NULL), 0);
    ck_assert_int_eq(elf_file_from_memory(&f, mem, base, NULL), 0);
    ck_assert_str_eq(elf_file_path(f), "");
    ck_assert(!elf_file_is_file(f));
    ck_assert_int_eq(elf_file_reopen(f), -EBADF);
    ck_assert_int_eq(elf_file_symbol(f, "__vdso_clock_gettime", &r), 0);
    ck_assert(elf_file_is_code(f, r.start));
    ck_assert_int_eq(elf_file_section(f, ".eh_frame_hdr", &r), 0);
    ck_assert_uint_gt(elf_file_build_id(f)->len, 0);
    elf_file_free(f);
    mem_free(mem);
}
END_TEST

START_TEST(libc_from_memory_is_as_from_its_file)
{
    struct maps maps = {0};
    struct mem *mem;
    ck_assert_int_eq(maps_load(&maps, getpid()), 0);
    ck_assert_int_eq(mem_live_open(&mem, getpid(), NULL), 0);
    const struct mapping *m;
    for (m = maps.items; !str_ends(m->path, "/libc.so.6") || m->file_offset; m++)
        ck_assert_ptr_ne(m, maps.items + maps.n);
    struct elf_file *file;
    struct elf_file *memory;
    ck_assert_int_eq(elf_file_open(&file, m->path, NULL), 0);
    ck_assert_int_eq(elf_file_from_memory(&memory, mem, m->start, NULL), 0);
    const struct build_id *id = elf_file_build_id(memory);
    ck_assert_uint_gt(id->len, 0);
    ck_assert_mem_eq(id->bytes, elf_file_build_id(file)->bytes, id->len);
    static const char *const names[] = {"printf", "memcpy", "environ", "pthread_create"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct addr_range a;
        struct addr_range b;
        ck_assert_int_eq(elf_file_symbol(file, names[i], &a), 0);
        ck_assert_int_eq(elf_file_symbol(memory, names[i], &b), 0);
        ck_assert_uint_eq(a.start, b.start);
        ck_assert_uint_eq(a.len, b.len);
    }
    struct addr_range text;
    ck_assert_int_eq(elf_file_section(file, ".text", &text), 0);
    ck_assert_int_eq(elf_file_section(memory, ".text", &text), -ENOENT);
    char a[4096];
    char b[4096];
    for (uint64_t at = 0; at + sizeof a <= text.len; at += sizeof a) {
        ck_assert_int_eq(elf_file_read(file, text.start + at, a, sizeof a), 0);
        ck_assert_int_eq(elf_file_read(memory, text.start + at, b, sizeof b), 0);
        ck_assert_mem_eq(a, b, sizeof a);
    }
    elf_file_free(file);
    elf_file_free(memory);
    mem_free(mem);
    maps_release(&maps);
}
END_TEST

START_TEST(images_share_what_they_may_take)
{
    struct maps maps = {0};
    struct mem *mem;
    struct elf_file *f = NULL;
    struct addr_range r;
    uint8_t byte;
    ck_assert_int_eq(maps_load(&maps, getpid()), 0);
    ck_assert_int_eq(mem_live_open(&mem, getpid(), NULL), 0);
    const struct mapping *m;
    for (m = maps.items; !str_ends(m->path, "/libc.so.6") || m->file_offset; m++)
        ck_assert_ptr_ne(m, maps.items + maps.n);
    struct elf_budget budget = {.bytes = 2 << 20}; /* its tables are 0.5 MB, its code 1.4 MB */
    ck_assert_int_eq(elf_file_from_memory(&f, mem, m->start, &budget), 0);
    ck_assert_uint_ge(budget.bytes, 1 << 20);
    ck_assert_uint_lt(budget.bytes, (1 << 20) + 4096);
    ck_assert_uint_eq(budget.cut, 1);
    ck_assert_int_eq(elf_file_symbol(f, "printf", &r), 0);
    const struct mapping *code = m + 1;
    ck_assert_uint_eq(code->prot, PROT_READ | PROT_EXEC);
    ck_assert_int_eq(elf_file_read(f, code->start - m->start, &byte, 1), 0);
    ck_assert_int_eq(elf_file_read(f, code->end - m->start - 8192, &byte, 1), -EFAULT);
    elf_file_free(f);
    f = NULL;
    budget = (struct elf_budget){.bytes = 4096};
    ck_assert_int_eq(elf_file_from_memory(&f, mem, m->start, &budget), -ENOSPC);
    ck_assert_ptr_null(f);
    ck_assert_uint_eq(budget.bytes, 4096);
    ck_assert_uint_eq(budget.cut, 1);
    mem_free(mem);
    maps_release(&maps);
}
END_TEST

/* This process's writable memory, in pages, which RLIMIT_DATA bounds. */
static long data_pages(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    ck_assert_int_eq(fscanf(f, "%*d %*d %*d %*d %*d %ld", &pages), 1);
    fclose(f);
    return pages;
}

START_TEST(images_do_not_count_as_data)
{
    struct maps maps = {0};
    struct mem *mem;
    struct elf_file *f = NULL;
    ck_assert_int_eq(maps_load(&maps, getpid()), 0);
    ck_assert_int_eq(mem_live_open(&mem, getpid(), NULL), 0);
    const struct mapping *m;
    for (m = maps.items; !str_ends(m->path, "/libc.so.6") || m->file_offset; m++)
        ck_assert_ptr_ne(m, maps.items + maps.n);
    long before = data_pages();
    ck_assert_int_eq(elf_file_from_memory(&f, mem, m->start, NULL), 0);
    ck_assert_int_lt(data_pages() - before, 100); /* of some 480 */
    ck_assert_int_eq(elf_file_reopen(f), -EBADF);
    elf_file_free(f);
    mem_free(mem);
    maps_release(&maps);
}
END_TEST

START_TEST(memory_without_an_elf_file_is_refused)
{
    struct mem *image = mem_image_new();
    struct elf_file *f = NULL;
    ck_assert_int_eq(elf_file_from_memory(&f, image, 0x1000, NULL), -EFAULT);
    ck_assert_int_eq(mem_image_add(image, 0x1000, "\177ELF and no more", 16), 0);
    ck_assert_int_eq(elf_file_from_memory(&f, image, 0x1000, NULL), -ENOEXEC);
    ck_assert_ptr_null(f);
    mem_free(image);
}
END_TEST

START_TEST(a_file_cut_short_while_open_reads_as_zeros)
{
    make_copy("libplugin.so");
    struct elf_file *f;
    ck_assert_int_eq(elf_guard_install(), 0);
    ck_assert_int_eq(elf_file_open(&f, copy, NULL), 0);
    ck_assert_int_eq(truncate(copy, 0), 0);
    struct addr_range r;
    char buf[16];
    ck_assert_int_eq(elf_file_read(f, 0x1000, buf, sizeof buf), 0);
    for (size_t i = 0; i < sizeof buf; i++)
        ck_assert_int_eq(buf[i], 0);
    ck_assert_int_eq(elf_file_symbol(f, "plugin_answer", &r), -ENOENT);
    ck_assert_uint_gt(elf_guard_pages(), 0);
    elf_file_free(f);
    drop_copy();
}
END_TEST

START_TEST(other_bus_errors_still_end_the_process)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (elf_guard_install() == 0)
            raise(SIGBUS);
        _exit(0);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}
END_TEST

CHECK_MAIN("elf_file", 60, every_build_of_a_library_gives_its_symbols, sections_and_segments,
           reads_stay_within_the_segments, without_section_headers_symbols_and_build_id_remain,
           what_is_no_program_is_refused, packed_names_are_none,
           many_sections_cost_no_more_than_one, random_damage_does_no_harm,
           the_vdso_comes_from_memory_with_its_sections, libc_from_memory_is_as_from_its_file,
           images_share_what_they_may_take, images_do_not_count_as_data,
           memory_without_an_elf_file_is_refused, a_file_cut_short_while_open_reads_as_zeros,
           other_bus_errors_still_end_the_process)
