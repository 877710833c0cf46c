#include "target/container.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/text.h"
#include "target/cursor.h"
#include "target/proc.h"

enum {
    CAPABILITY_NET_BIND_SERVICE = 10, /* linux/capability.h */
    CAPABILITY_SYS_PTRACE = 19,
    MAX_MOUNT_LINES = 4096, /* a node has some thousands, a container some dozens */
};

/* What an engine leaves in its containers.  The last row that is there counts: a pod's container
 * may be Docker's or Podman's. */
static const struct {
    const char *name;
    const char *variable;
    const char *file;    /* also in virtual machines made of images, which have all capabilities */
    const char *mounted; /* in the path, on the host, of files such as /etc/hosts */
} engines[CONTAINER_KINDS] = {
    [CONTAINER_DOCKER] = {"docker", NULL, "/.dockerenv", "/docker/containers/"},
    [CONTAINER_PODMAN] = {"podman", NULL, "/run/.containerenv", "/overlay-containers/"},
    [CONTAINER_KUBERNETES] = {"kubernetes", "KUBERNETES_SERVICE_HOST", NULL, "/kubelet/pods/"},
};

const char *container_name(enum container_kind kind)
{
    return kind ? engines[kind].name : "";
}

/* Which engines have mounted files from their folders; a bit for each.  The fourth word of a line
 * is the path in the mounted file system. */
static unsigned find_mounted(void)
{
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    char *line = NULL;
    size_t capacity = 0;
    unsigned found = 0;
    for (int i = 0; mounts && i < MAX_MOUNT_LINES && getline(&line, &capacity, mounts) > 0; i++) {
        char *rest = line;
        const char *word = NULL;
        for (int n = 0; n < 4 && rest; n++)
            word = strsep(&rest, " ");
        for (unsigned k = CONTAINER_NONE + 1; word && rest && k < CONTAINER_KINDS; k++)
            found |= strstr(word, engines[k].mounted) ? 1U << k : 0;
    }
    free(line);
    if (mounts)
        (void)fclose(mounts);
    return found;
}

static enum container_kind find_kind(bool grantable)
{
    unsigned mounted = find_mounted();
    for (unsigned k = CONTAINER_KINDS - 1; k > CONTAINER_NONE; k--) {
        const char *variable = engines[k].variable;
        const char *file = engines[k].file;
        if (mounted & 1U << k || (variable && getenv(variable)) ||
            (file && !grantable && access(file, F_OK) == 0))
            return (enum container_kind)k;
    }
    return CONTAINER_NONE;
}

/* The first bytes of the file at PATH; "" where it cannot be read. */
static void read_start(const char *path, char *ret, size_t capacity)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, ret, capacity - 1);
    ret[n > 0 ? n : 0] = '\0';
    if (fd >= 0)
        close(fd);
}

/* Its version is of the same date in each release, and newer ones also call the kernel so.
 * Source: gVisor, pkg/sentry/syscalls/linux/linux64.go. */
bool container_is_gvisor(void)
{
    char version[512];
    read_start("/proc/version", version, sizeof version);
    return strstr(version, "#1 SMP Sun Jan 10 15:06:54 PST 2016") || strstr(version, "-gvisor ");
}

bool uid_map_is_whole(const char *text)
{
    struct cursor c = {text, text + strlen(text)};
    uint64_t field[3];
    for (int i = 0; i < 3; i++) {
        while (cursor_take(&c, " "))
            ;
        if (!cursor_u64(&c, 10, &field[i]))
            return false;
    }
    return field[0] == 0 && field[1] == 0 && field[2] == UINT32_MAX;
}

static bool is_in_user_namespace(void)
{
    char map[PROC_TEXT_BYTES];
    ssize_t n = proc_read_text(getpid(), 0, "uid_map", map, sizeof map);
    return n >= 0 && !uid_map_is_whole(map); /* empty: no user is mapped */
}

/* What the standards ask of every container.  Source: kubernetes.io, Pod Security Standards. */
static enum pod_security find_pod_security(const struct task_status *own)
{
    uint64_t allowed = UINT64_C(1) << CAPABILITY_NET_BIND_SERVICE;
    if (own->no_new_privs && own->uid != 0 && !(own->bounding & ~allowed))
        return POD_RESTRICTED;
    return own->bounding & UINT64_C(1) << CAPABILITY_SYS_PTRACE ? POD_PRIVILEGED : POD_BASELINE;
}

void container_look(struct container *ret)
{
    uint64_t ptrace = UINT64_C(1) << CAPABILITY_SYS_PTRACE;
    struct task_status own = {0};
    (void)proc_status(getpid(), 0, &own); /* else there are no capabilities */
    *ret = (struct container){.gvisor = container_is_gvisor(),
                              .user_namespace = is_in_user_namespace(),
                              .capable = (own.effective & ptrace) != 0,
                              .grantable = (own.bounding & ptrace) != 0,
                              .pod_security = find_pod_security(&own)};
    ret->kind = find_kind(ret->grantable);
}
