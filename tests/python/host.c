/* usage: host LIBPYTHON ARGUMENT...: an application without symbols of its own that says when it is
 * ready, loads libpython when a line comes in, and runs it with the arguments. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

enum { MAX_ARGUMENTS = 8 };

int main(int argc, char **argv)
{
    wchar_t *wide[MAX_ARGUMENTS + 1] = {0};
    char line[8];
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    printf("ready\n");
    fflush(stdout);
    if (argc < 2 || argc > MAX_ARGUMENTS || !fgets(line, sizeof line, stdin))
        return 2;
    for (int i = 1; i < argc; i++) {
        enum { MAX_CHARS = 4096 };
        wide[i - 1] = calloc(MAX_CHARS, sizeof *wide[0]);
        if (!wide[i - 1] || mbstowcs(wide[i - 1], argv[i], MAX_CHARS - 1) == (size_t)-1)
            return 2;
    }
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        fprintf(stderr, "host: %s\n", dlerror());
        return 1;
    }
    int (*run)(int, wchar_t **) = (int (*)(int, wchar_t **))dlsym(library, "Py_Main");
    return run ? run(argc - 1, wide) : 1;
}
