/* What wallspy itself runs in, and what it may do there: a container's engine, gVisor, a user
 * namespace, capabilities.
 * Source: capabilities(7), user_namespaces(7), proc_pid_mountinfo(5), proc_pid_uid_map(5). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum container_kind {
    CONTAINER_NONE, /* none is known */
    CONTAINER_DOCKER,
    CONTAINER_PODMAN,
    CONTAINER_KUBERNETES,
    CONTAINER_KINDS
};

/* As which Pod Security Standard a container of Kubernetes was admitted, as far as its process
 * shows: the namespace's label is not to be seen from inside. */
enum pod_security { POD_PRIVILEGED, POD_BASELINE, POD_RESTRICTED };

struct container {
    enum container_kind kind;
    bool gvisor;                    /* gVisor plays the kernel */
    bool user_namespace;            /* not the machine's first one: its root is none outside */
    bool capable;                   /* wallspy has CAP_SYS_PTRACE, in that namespace */
    bool grantable;                 /* its root has it, too: the bounding set does */
    enum pod_security pod_security; /* CONTAINER_KUBERNETES */
};

/* Reads what there is; what cannot be read is as outside of any container. */
void container_look(struct container *ret);

/* Does gVisor play the kernel? */
bool container_is_gvisor(void);

/* The engine's word as users type it ("docker"), "" for CONTAINER_NONE. */
const char *container_name(enum container_kind kind);

/* Does TEXT, of /proc/PID/uid_map, map all users to themselves, as the machine's first user
 * namespace does?  Pure. */
bool uid_map_is_whole(const char *text);
