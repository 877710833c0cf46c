/* usage: stand_in LIBRARY [PROGRAM ARGUMENT...]: loads what looks like an interpreter, waits for a
 * line, and becomes PROGRAM if there is one. */
#include <dlfcn.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char line[8];
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    if (argc < 2 || !dlopen(argv[1], RTLD_NOW)) {
        fprintf(stderr, "stand_in: %s\n", argc < 2 ? "what library?" : dlerror());
        return 1;
    }
    printf("ready\n");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin) || argc == 2)
        return 0;
    execv(argv[2], argv + 2);
    return 1;
}
