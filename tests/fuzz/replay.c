/* Runs a fuzz target on files, in the place of libFuzzer: usage: replay_NAME FILE|DIRECTORY...
 * Every input must end within seconds and in little memory. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tests/fuzz/fuzz.h"

enum {
    INPUT_SECONDS = 60, /* with a sanitizer, under valgrind, on a busy machine */
    MEMORY_BYTES = 1 << 30,
    MAX_INPUT_BYTES = 1 << 20,
};

#ifndef __has_feature /* clang's way to tell */
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
static const bool sanitized = true; /* shadow memory takes terabytes of address space */
#else
static const bool sanitized = false;
#endif

static void limit_memory(void)
{
    struct rlimit limit = {MEMORY_BYTES, MEMORY_BYTES};
    if (!sanitized && !getenv("WALLSPY_NO_RLIMIT") && setrlimit(RLIMIT_AS, &limit) < 0)
        perror("setrlimit");
}

/* The bytes are copied to where they just fit, so that a checker sees what is read past them. */
static int replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        return -1;
    }
    uint8_t *room = xmalloc(MAX_INPUT_BYTES);
    size_t len = fread(room, 1, MAX_INPUT_BYTES, f);
    (void)fclose(f);
    uint8_t *bytes = xmalloc(len ? len : 1);
    memcpy(bytes, room, len);
    free(room);
    (void)fprintf(stderr, "%s\n", path); /* the last one stands in the log of a crash */
    (void)alarm(INPUT_SECONDS);
    (void)LLVMFuzzerTestOneInput(bytes, len);
    (void)alarm(0);
    free(bytes);
    return 1;
}

static int replay_directory(const char *path)
{
    struct dirent **entries;
    int n = scandir(path, &entries, NULL, alphasort);
    int replayed = 0;
    for (int i = 0; i < n; i++) {
        char *file = xasprintf("%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            replayed += replay_file(file) > 0;
        free(file);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return replayed ? replayed : -1;
}

int main(int argc, char **argv)
{
    int all = 0;
    limit_memory();
    for (int i = 1; i < argc; i++) {
        struct stat st;
        bool directory = stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode);
        int n = directory ? replay_directory(argv[i]) : replay_file(argv[i]);
        if (n < 0) {
            (void)fprintf(stderr, "%s: nothing to replay\n", argv[i]);
            return 1;
        }
        all += n;
    }
    printf("%d inputs replayed\n", all);
    return all ? 0 : 1;
}
